//! Results, one JSON line each, written as soon as they are measured.

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::plan::Cell;

/// Result of one cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    pub key: String,
    /// Version of the program that produced the result.
    pub version: String,
    /// Checksum of the data.
    pub data: String,
    /// Parameters of the method; empty in old results, which did not store them.
    #[serde(default)]
    pub parameters: Map<String, Value>,
    pub state_bytes: usize,
    pub checkpoints: Vec<Point>,
    pub classes: Classes,
    /// Codes embedded in the plane; empty unless requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drawn: Vec<Drawn>,
    /// Measures of a protocol other than the paper's, by their names in `compare`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub measured: BTreeMap<String, f64>,
    /// Reason why the cell could not be run, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// Measurements at one position of the stream.
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
    /// R, and precision among the R nearest items.
    #[serde(rename = "precision_at")]
    pub precision_at: Vec<(usize, f64)>,
    /// Number of passes over codes since the last point, and number of bits that each pass changed.
    pub iterations: usize,
    pub changed_bits: Vec<u64>,
}

/// Codes of some rows, embedded in the plane.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Drawn {
    pub name: String,
    /// Class of each row.
    pub classes: Vec<u32>,
    /// Names of the classes, in the order of their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    pub points: Vec<[f64; 2]>,
}

/// Measurements of the final codes of some rows of each class.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Classes {
    /// Number of classes, and of distinct codes if each class is given its most frequent code.
    pub classes: usize,
    pub distinct: usize,
    /// Mean share of equal bits between rows of two classes, for up to ten classes.
    pub similarity: Vec<Vec<f64>>,
    /// Names of the classes of `similarity`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Share of rows in which each bit is set.
    pub balance: Vec<f64>,
    /// Codes that bsodh assigned to the classes, and learned the function from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taught: Option<Taught>,
}

/// Measurements of `B_e`, which has a code for each class.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Taught {
    pub distinct: usize,
    /// Number of bits that are the same in the codes of all classes.
    pub same_bits: usize,
}

impl Record {
    pub fn last(&self) -> Option<&Point> {
        self.checkpoints.last()
    }

    /// Returns the name of the record's data set.
    fn dataset(&self) -> &str {
        self.key.split(" | ").next().unwrap_or_default()
    }

    fn is_of_this_version(&self) -> bool {
        self.version == env!("CARGO_PKG_VERSION")
    }
}

/// The append-only file of results. It keeps results of other data, another program version, or
/// other method parameters, but these are not used.
pub struct Store {
    file: File,
    /// Records by key, in the order of the file.
    records: HashMap<String, Vec<Record>>,
    /// Checksum of the data whose results are used, by data set.
    data: BTreeMap<String, String>,
}

/// Unused results of a data set.
#[derive(Debug, PartialEq, Eq)]
pub struct Unused {
    pub dataset: String,
    /// Number of results of other data.
    pub results: usize,
    /// Checksum of the data whose results are used.
    pub used: String,
}

impl Store {
    /// Opens the file exclusively for this process, and drops an incomplete last line.
    ///
    /// For each data set, only results of one version of its files are used: the version that its
    /// last result has, unless [`Store::use_data`] chooses another version.
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
            Err(TryLockError::Error(cause)) => bail!(
                "{} cannot be locked ({cause}), as on some network file systems, and two runs at once \
                 would mix their results; choose a directory on a local disk for --out",
                path.display()
            ),
            Ok(()) => {}
        }
        let mut text = String::new();
        file.read_to_string(&mut text).with_context(|| path.display().to_string())?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let (mut records, mut data) = (HashMap::<String, Vec<Record>>::new(), BTreeMap::new());
        for (number, line) in text[..whole].lines().enumerate() {
            let Ok(record) = serde_json::from_str::<Record>(line) else {
                bail!("line {} of {} is not a result; delete it", number + 1, path.display());
            };
            if record.is_of_this_version() {
                data.insert(record.dataset().to_owned(), record.data.clone());
            }
            records.entry(record.key.clone()).or_default().push(record);
        }
        file.set_len(whole as u64).with_context(|| path.display().to_string())?;
        Ok(Store { file, records, data })
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Returns whether a data set has results, of any version of its data.
    pub fn knows(&self, dataset: &str) -> bool {
        self.data.contains_key(dataset)
    }

    /// Restricts the used results of a data set to those of the data with this checksum.
    pub fn use_data(&mut self, dataset: &str, checksum: &str) {
        self.data.insert(dataset.to_owned(), checksum.to_owned());
    }

    /// Returns the data sets, and the checksums of their data.
    pub fn data(&self) -> impl Iterator<Item = (&str, &str)> {
        self.data.iter().map(|(dataset, checksum)| (dataset.as_str(), checksum.as_str()))
    }

    /// Returns the data sets that have results of other data.
    pub fn unused(&self) -> Vec<Unused> {
        let all = || self.records.values().flatten().filter(|record| record.is_of_this_version());
        let of = |(dataset, used): (&str, &str)| Unused {
            dataset: dataset.to_owned(),
            results: all().filter(|r| r.dataset() == dataset && r.data != used).count(),
            used: used.to_owned(),
        };
        self.data().map(of).filter(|unused| unused.results > 0).collect()
    }

    /// Returns the number of results of other program versions.
    pub fn of_other_versions(&self) -> usize {
        self.records.values().flatten().filter(|record| !record.is_of_this_version()).count()
    }

    /// Returns the number of results of these cells whose method had other parameters. A default or
    /// a preset may have changed since.
    pub fn of_other_parameters(&self, cells: &[Cell]) -> usize {
        let other =
            |cell| self.of(cell).filter(|record| record.parameters != cell.parameters).count();
        cells.iter().map(other).sum()
    }

    /// Returns the result of a cell, if there is one for this program version, the data in use, and
    /// the current parameters of the method.
    pub fn get(&self, cell: &Cell) -> Option<&Record> {
        self.of(cell).filter(|record| record.parameters == cell.parameters).last()
    }

    /// Returns the results of a cell for this program version and the data in use.
    fn of(&self, cell: &Cell) -> impl Iterator<Item = &Record> {
        let used = self.data.get(&cell.dataset);
        let usable = move |record: &&Record| {
            record.is_of_this_version() && used.is_some_and(|used| record.data == *used)
        };
        self.records.get(&cell.key()).into_iter().flatten().filter(usable)
    }

    pub fn put(&mut self, record: Record) -> Result<()> {
        let line = serde_json::to_string(&record)? + "\n";
        self.file.write_all(line.as_bytes()).context("a result cannot be kept")?;
        self.use_data(record.dataset(), &record.data);
        self.records.entry(record.key.clone()).or_default().push(record);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(dataset: &str) -> Cell {
        let (dataset, spec) = (dataset.to_owned(), "lsh".to_owned());
        let protocol = crate::commands::compare::Protocol::Paper;
        let parameters = parameters(0.5);
        let (bits, seed, batch, every, tsne) = (8, 1, 10, None, false);
        Cell { dataset, spec, bits, seed, batch, every, tsne, protocol, parameters }
    }

    fn parameters(rate: f32) -> Map<String, Value> {
        Map::from_iter([("method".to_owned(), "lsh".into()), ("rate".to_owned(), rate.into())])
    }

    fn record(dataset: &str, data: &str, state_bytes: usize) -> Record {
        Record {
            key: cell(dataset).key(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            data: data.to_owned(),
            parameters: parameters(0.5),
            state_bytes,
            checkpoints: Vec::new(),
            classes: Classes::default(),
            drawn: Vec::new(),
            measured: BTreeMap::new(),
            failed: None,
        }
    }

    #[test]
    fn results_of_other_data_are_not_used_and_not_lost() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.jsonl");
        let bytes = |store: &Store| store.get(&cell("a")).map(|record| record.state_bytes);
        let mut store = Store::open(&path).unwrap();
        assert!(!store.knows("a") && store.is_empty());
        store.put(record("a", "one", 1)).unwrap();
        store.put(record("b", "same", 9)).unwrap();
        assert_eq!(bytes(&store), Some(1));
        store.use_data("a", "two");
        assert_eq!(bytes(&store), None);
        assert!(store.get(&cell("b")).is_some(), "the other set is as it was");
        let unused =
            |used: &str| vec![Unused { dataset: "a".into(), results: 1, used: used.into() }];
        assert_eq!(store.unused(), unused("two"));
        store.put(record("a", "two", 2)).unwrap();
        assert_eq!(bytes(&store), Some(2));
        drop(store);
        let mut store = Store::open(&path).unwrap();
        assert_eq!(bytes(&store), Some(2), "without being told: those that came last");
        store.use_data("a", "one");
        assert_eq!((bytes(&store), store.unused()), (Some(1), unused("one")));
        store.put(Record { version: "0.0.0".into(), ..record("b", "same", 3) }).unwrap();
        assert_eq!(store.get(&cell("b")).map(|record| record.state_bytes), Some(9));
        assert_eq!(store.of_other_versions(), 1);
    }
    #[test]
    fn results_of_other_parameters_are_not_used_and_not_lost() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.jsonl");
        let mut store = Store::open(&path).unwrap();
        // A record in the old format, without parameters.
        let mut before = serde_json::to_value(record("a", "one", 1)).unwrap();
        before.as_object_mut().unwrap().remove("parameters");
        store.put(serde_json::from_value(before).unwrap()).unwrap();
        let now = cell("a");
        assert!(store.get(&now).is_none());
        assert_eq!(store.of_other_parameters(std::slice::from_ref(&now)), 1);
        // A number that differs between single and double precision survives a round trip.
        store.put(Record { parameters: parameters(0.3), ..record("a", "one", 2) }).unwrap();
        store.put(record("a", "one", 3)).unwrap();
        store.put(Record { parameters: parameters(0.7), ..record("a", "one", 4) }).unwrap();
        drop(store);
        let store = Store::open(&path).unwrap();
        let bytes = |parameters| {
            let cell = Cell { parameters, ..now.clone() };
            store.get(&cell).map(|record| record.state_bytes)
        };
        assert_eq!(bytes(parameters(0.5)), Some(3));
        assert_eq!(bytes(parameters(0.3)), Some(2), "when the default is that again");
        assert_eq!(bytes(parameters(0.1)), None);
        assert_eq!(store.of_other_parameters(&[now]), 3);
    }
}
