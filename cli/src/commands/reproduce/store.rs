//! Results, one JSON line each, kept as they come.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::plan::Cell;

/// What was found in one cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    pub key: String,
    /// The version of the program that found it.
    pub version: String,
    /// A checksum of the data.
    pub data: String,
    pub state_bytes: usize,
    pub checkpoints: Vec<Point>,
    pub classes: Classes,
    /// Codes placed in the plane, where that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drawn: Vec<Drawn>,
    /// Why it could not be run, if it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// What was measured at one place of the stream.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Point {
    pub seen: usize,
    pub seconds: f64,
    #[serde(rename = "mAP")]
    pub map: f64,
    #[serde(rename = "mAP@1000")]
    pub map_top: f64,
    #[serde(rename = "precision_radius_2")]
    pub radius: f64,
    /// Of the nearest R.
    #[serde(rename = "precision_at")]
    pub precision_at: Vec<(usize, f64)>,
    /// Passes over the codes of batches since the last, and how many bits each changed.
    pub iterations: usize,
    pub changed_bits: Vec<u64>,
}

/// Codes of some rows, placed in the plane.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Drawn {
    pub name: String,
    /// Of each row.
    pub classes: Vec<u32>,
    pub points: Vec<[f64; 2]>,
}

/// The codes of some rows of each class, in the end.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Classes {
    /// How many classes there are, and how many different codes the most frequent of each are.
    pub classes: usize,
    pub distinct: usize,
    /// The mean share of equal bits between rows of two classes; for up to ten classes.
    pub similarity: Vec<Vec<f64>>,
    /// The share of rows in which each bit is set.
    pub balance: Vec<f64>,
    /// The codes that bsodh gave the classes, from which the function was learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taught: Option<Taught>,
}

/// `B_e`, a code for each class.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Taught {
    pub distinct: usize,
    /// Bits that are the same in the codes of all classes.
    pub same_bits: usize,
}

impl Record {
    pub fn last(&self) -> Option<&Point> {
        self.checkpoints.last()
    }
}

/// The file of results.
pub struct Store {
    file: File,
    records: HashMap<String, Record>,
}

impl Store {
    /// Opens the file, for this process alone, and drops a last line that was cut short.
    pub fn open(path: &Path) -> Result<Store> {
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(path)
            .with_context(|| path.display().to_string())?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                bail!("{} is being written by another run; wait for it, or stop it", path.display())
            }
            // Where files cannot be locked, that nobody else writes is for the user to see to.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let mut text = String::new();
        file.read_to_string(&mut text).with_context(|| path.display().to_string())?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut records = HashMap::new();
        for (number, line) in text[..whole].lines().enumerate() {
            let Ok(record) = serde_json::from_str::<Record>(line) else {
                bail!("line {} of {} is not a result; delete it", number + 1, path.display());
            };
            records.insert(record.key.clone(), record);
        }
        file.set_len(whole as u64).with_context(|| path.display().to_string())?;
        Ok(Store { file, records })
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The result of a cell, if it is there: of this version of the program.
    pub fn get(&self, cell: &Cell) -> Option<&Record> {
        self.records.get(&cell.key()).filter(|record| record.version == env!("CARGO_PKG_VERSION"))
    }

    pub fn put(&mut self, record: Record) -> Result<()> {
        let line = serde_json::to_string(&record)? + "\n";
        self.file.write_all(line.as_bytes()).context("a result cannot be kept")?;
        self.records.insert(record.key.clone(), record);
        Ok(())
    }
}
