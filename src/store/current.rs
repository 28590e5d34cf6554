//! Record of the files of a store that are in use, and of how much of the journal each of them
//! reflects.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::description::Description;
use super::journal::{DESCRIPTION, Extent, START};
use crate::{Error, IdNames, Result, disk, file};

const CURRENT: &str = "current.json";
pub(super) const JOURNAL: &str = "journal";
pub(super) const LOCK: &str = "lock";

/// Version of the directory's format.
const FORMAT: u32 = 1;

/// Files that are in use, and the journal position that each of them reflects. A file is complete
/// before it is named here, and counts once it is named here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Current {
    /// Number of the newest file.
    pub(super) serial: u64,
    /// Version of the function in the index.
    pub(super) version: u64,
    /// File name of the index.
    pub(super) index: String,
    /// Journal position after the last record that the index reflects.
    pub(super) index_position: u64,
    /// Number of rows of the journal before `index_position`.
    pub(super) rows: u64,
    /// File name of the model.
    pub(super) model: String,
    /// Journal position of the first record that the model has not fully learned.
    pub(super) model_position: u64,
    /// Number of rows of that record that the model has learned.
    pub(super) model_rows: usize,
    /// Number of rows learned or unlearned by the model since the store was created.
    #[serde(default)]
    pub(super) model_steps: u64,
    /// Number of these steps that the function in the index reflects.
    #[serde(default)]
    pub(super) function_steps: u64,
    /// Number of rows that should have been unlearned but could not be.
    pub(super) not_unlearned: u64,
    /// Position of the journal's first record.
    pub(super) journal_start: u64,
    /// Number of the last journal file that compaction wrote; 0 if there is none.
    pub(super) compacted: u32,
    /// Position of the first record of the files that compaction replaced, while records that are
    /// not yet learned refer to their rows.
    pub(super) replaced: Option<u64>,
}

/// JSON content with its checksum.
#[derive(Serialize, Deserialize)]
struct Sealed {
    format: String,
    version: u32,
    content: Box<serde_json::value::RawValue>,
    checksum: u32,
}

fn write_sealed(path: &Path, content: &impl Serialize) -> Result<()> {
    let content = serde_json::value::to_raw_value(content).expect("numbers and names serialise");
    let checksum = crc32fast::hash(content.get().as_bytes());
    let format = "hashbrook store".to_owned();
    let sealed = Sealed { format, version: FORMAT, content, checksum };
    file::write(path, &serde_json::to_vec(&sealed).expect("texts serialise"))
}

fn read_sealed<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T> {
    let text = disk::read(path).map_err(Error::io(path))?;
    let wrong = |problem: String| Error::damaged(path, problem);
    let sealed: Sealed = serde_json::from_slice(&text)
        .map_err(|problem| wrong(format!("is damaged, or no file of a store: {problem}")))?;
    if sealed.version > FORMAT {
        let (found, supported) = (sealed.version, FORMAT);
        return Err(Error::NewerVersion { path: path.to_path_buf(), found, supported });
    }
    let content = sealed.content.get();
    let checksum = crc32fast::hash(content.as_bytes());
    if checksum != sealed.checksum {
        let stored = sealed.checksum;
        let problem = format!("its checksum is {checksum:08x}, it should be {stored:08x}");
        return Err(wrong(format!("is damaged: {problem}")));
    }
    serde_json::from_str(content).map_err(|problem| wrong(format!("is incomplete: {problem}")))
}

impl Description {
    pub(super) fn save(&self, directory: &Path) -> Result<()> {
        write_sealed(&directory.join(DESCRIPTION), self)
    }

    /// Reads the description from the directory of a store, or from the directory of its journal,
    /// which has a copy for repairs.
    pub(super) fn load(directory: &Path) -> Result<Description> {
        let path = directory.join(DESCRIPTION);
        if let Ok(false) = disk::exists(&path) {
            let cause =
                io::Error::new(io::ErrorKind::NotFound, "there is no store in this directory");
            return Err(Error::Io { path: directory.to_path_buf(), cause });
        }
        read_sealed(&path)
    }

    /// Returns whether a directory has a description.
    pub(super) fn is_in(directory: &Path) -> bool {
        matches!(disk::exists(&directory.join(DESCRIPTION)), Ok(true))
    }
}

/// Returns whether a file name is that of a file derived from the journal, or of an unfinished
/// file.
pub(super) fn follows_from_journal(name: &str) -> bool {
    let numbered = name.split(['.', '-']).next().is_some_and(|stem| stem.parse::<u64>().is_ok());
    let kinds = [".index", ".index.ids", ".model"];
    name == CURRENT
        || numbered && kinds.iter().any(|end| name.ends_with(end))
        || file::is_part(name)
}

impl Current {
    pub(super) fn save(&self, directory: &Path) -> Result<()> {
        write_sealed(&directory.join(CURRENT), self)
    }

    pub(super) fn load(directory: &Path) -> Result<Current> {
        read_sealed(&directory.join(CURRENT))
    }

    pub(super) fn index_path(&self, directory: &Path) -> PathBuf {
        directory.join(&self.index)
    }

    pub(super) fn model_path(&self, directory: &Path) -> PathBuf {
        directory.join(&self.model)
    }

    /// Returns the record of a store without items, whose files have no names yet.
    pub(super) fn new() -> Current {
        Current {
            serial: 0,
            version: 1,
            index: String::new(),
            index_position: START,
            rows: 0,
            model: String::new(),
            model_position: START,
            model_rows: 0,
            model_steps: 0,
            function_steps: 0,
            not_unlearned: 0,
            journal_start: START,
            compacted: 0,
            replaced: None,
        }
    }

    pub(super) fn extent(&self) -> Extent {
        let (start, compacted) = (self.journal_start, self.compacted);
        Extent { start, compacted, replaced: self.replaced }
    }

    /// Returns the name of the next file of a kind. The mark distinguishes the files of two
    /// directories if one of them took the other's name.
    pub(super) fn next_name(&mut self, kind: &str, mark: u32) -> String {
        self.serial += 1;
        format!("{}-{mark:08x}.{kind}", self.serial)
    }

    /// Removes the files that `by` replaced. Readers that have these files open can still read
    /// them.
    pub(super) fn remove_replaced(&self, by: &Current, directory: &Path) -> Result<()> {
        let mut replaced = Vec::new();
        if self.index != by.index {
            replaced.push(self.index_path(directory));
            replaced.push(IdNames::path_beside(self.index_path(directory)));
        }
        if self.model != by.model {
            replaced.push(self.model_path(directory));
        }
        remove(replaced)
    }

    /// Removes files that a killed process left behind.
    pub(super) fn remove_others(&self, directory: &Path) -> Result<()> {
        let used = [CURRENT, &self.index, &self.model, &format!("{}.ids", self.index)];
        let mut others = Vec::new();
        for entry in disk::list(directory).map_err(Error::io(directory))? {
            let Some(name) = entry.name.to_str() else { continue };
            if follows_from_journal(name) && !used.contains(&name) {
                others.push(directory.join(name));
            }
        }
        remove(others)
    }
}

/// Removes those of the files that exist; returns the first error if some cannot be removed.
fn remove(paths: Vec<PathBuf>) -> Result<()> {
    let mut result = Ok(());
    for path in paths {
        match disk::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => result = result.and(removed.map_err(Error::io(&path))),
        }
    }
    result
}
