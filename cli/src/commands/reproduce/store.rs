//! Results, one JSON line each, kept as they come.

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::plan::Cell;

/// What was found in one cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    pub key: String,
    /// The version of the program that found it.
    pub version: String,
    /// A checksum of the data.
    pub data: String,
    /// The method's parameters. Results from before they were kept have none.
    #[serde(default)]
    pub parameters: Map<String, Value>,
    pub state_bytes: usize,
    pub checkpoints: Vec<Point>,
    pub classes: Classes,
    /// Codes placed in the plane, where that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drawn: Vec<Drawn>,
    /// What other protocols than the paper's measure, by the names of `compare`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub measured: BTreeMap<String, f64>,
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
    /// What the classes are called, in the order of their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
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
    /// What these classes are called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
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

    /// The name of its data set.
    fn dataset(&self) -> &str {
        self.key.split(" | ").next().unwrap_or_default()
    }

    fn is_of_this_version(&self) -> bool {
        self.version == env!("CARGO_PKG_VERSION")
    }
}

/// The file of results. Nothing in it is ever changed: results of other data, of another version of the
/// program, or of a method with other parameters stay where they are and are not used.
pub struct Store {
    file: File,
    /// By key, in the order of the file.
    records: HashMap<String, Vec<Record>>,
    /// The checksum of the data whose results are used, by data set.
    data: BTreeMap<String, String>,
}

/// Results of a data set that are not used.
#[derive(Debug, PartialEq, Eq)]
pub struct Unused {
    pub dataset: String,
    /// How many are of other data.
    pub results: usize,
    /// The checksum of the data whose results are used.
    pub used: String,
}

impl Store {
    /// Opens the file, for this process alone, and drops a last line that was cut short.
    ///
    /// Of each data set the results of one version of its files are used: of those that came last,
    /// unless [`Store::use_data`] says otherwise.
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
                 would mix their results; choose a folder on a local disk for --out",
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

    /// Whether there are results of a data set, of whatever data.
    pub fn knows(&self, dataset: &str) -> bool {
        self.data.contains_key(dataset)
    }

    /// From now on uses the results of this data alone, named by its checksum.
    pub fn use_data(&mut self, dataset: &str, checksum: &str) {
        self.data.insert(dataset.to_owned(), checksum.to_owned());
    }

    /// The data sets, and the checksums of their data.
    pub fn data(&self) -> impl Iterator<Item = (&str, &str)> {
        self.data.iter().map(|(dataset, checksum)| (dataset.as_str(), checksum.as_str()))
    }

    /// The data sets with results of other data.
    pub fn unused(&self) -> Vec<Unused> {
        let all = || self.records.values().flatten().filter(|record| record.is_of_this_version());
        let of = |(dataset, used): (&str, &str)| Unused {
            dataset: dataset.to_owned(),
            results: all().filter(|r| r.dataset() == dataset && r.data != used).count(),
            used: used.to_owned(),
        };
        self.data().map(of).filter(|unused| unused.results > 0).collect()
    }

    /// How many results are of other versions of the program.
    pub fn of_other_versions(&self) -> usize {
        self.records.values().flatten().filter(|record| !record.is_of_this_version()).count()
    }

    /// How many results are of these cells, but of methods that had other parameters then: a default may
    /// have changed, or a preset.
    pub fn of_other_parameters(&self, cells: &[Cell]) -> usize {
        let other =
            |cell| self.of(cell).filter(|record| record.parameters != cell.parameters).count();
        cells.iter().map(other).sum()
    }

    /// The result of a cell, if it is there: of this version of the program, of the data in use, and of
    /// the method with the parameters it has.
    pub fn get(&self, cell: &Cell) -> Option<&Record> {
        self.of(cell).filter(|record| record.parameters == cell.parameters).last()
    }

    /// The results of a cell by this version of the program and of the data in use.
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
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
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
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        let mut store = Store::open(&path).unwrap();
        // As they were written before parameters were kept.
        let mut before = serde_json::to_value(record("a", "one", 1)).unwrap();
        before.as_object_mut().unwrap().remove("parameters");
        store.put(serde_json::from_value(before).unwrap()).unwrap();
        let now = cell("a");
        assert!(store.get(&now).is_none());
        assert_eq!(store.of_other_parameters(std::slice::from_ref(&now)), 1);
        // A number that is not the same in single and in double precision comes back as it was.
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
