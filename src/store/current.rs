//! Which of the files in a store's folder are in use, and how much of the journal they know of.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use super::description::Description;
use crate::{Error, IdNames, Result, file};

const DESCRIPTION: &str = "store.json";
const CURRENT: &str = "current.json";
pub(super) const JOURNAL: &str = "journal";
pub(super) const LOCK: &str = "lock";

/// The version of the folder's form.
const FORMAT: u32 = 1;

/// What follows from the journal, up to a place in it. Files are written whole before they are named here, and the
/// name makes them count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Current {
    /// Numbers the files that were written.
    pub(super) serial: u64,
    /// The version of the function in the index.
    pub(super) version: u64,
    /// The file of the index.
    pub(super) index: String,
    /// Where the journal goes on that it does not know of.
    pub(super) index_position: u64,
    /// Rows of the journal before that.
    pub(super) rows: u64,
    /// The file of the model.
    pub(super) model: String,
    /// Where the record stands that the model goes on with.
    pub(super) model_position: u64,
    /// How many rows of that record it has learned.
    pub(super) model_rows: usize,
    /// Rows that it should have taken back and could not.
    pub(super) not_unlearned: u64,
}

/// A text with its checksum.
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
    let text = fs::read(path).map_err(Error::io(path))?;
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
    pub(super) fn save(&self, folder: &Path) -> Result<()> {
        write_sealed(&folder.join(DESCRIPTION), self)
    }

    pub(super) fn load(folder: &Path) -> Result<Description> {
        let path = folder.join(DESCRIPTION);
        if let Ok(false) = path.try_exists() {
            let cause = io::Error::new(io::ErrorKind::NotFound, "there is no store in this folder");
            return Err(Error::Io { path: folder.to_path_buf(), cause });
        }
        read_sealed(&path)
    }

    /// Whether a folder has one.
    pub(super) fn is_in(folder: &Path) -> bool {
        folder.join(DESCRIPTION).exists()
    }
}

/// Whether a file of this name is one of a store that can be made again from its journal, or the beginning of one.
pub(super) fn follows_from_journal(name: &str) -> bool {
    let numbered = name.split('.').next().is_some_and(|stem| stem.parse::<u64>().is_ok());
    let kinds = [".index", ".index.ids", ".model"];
    name == CURRENT
        || numbered && kinds.iter().any(|end| name.ends_with(end))
        || file::is_part(name)
}

impl Current {
    pub(super) fn save(&self, folder: &Path) -> Result<()> {
        write_sealed(&folder.join(CURRENT), self)
    }

    pub(super) fn load(folder: &Path) -> Result<Current> {
        read_sealed(&folder.join(CURRENT))
    }

    pub(super) fn index_path(&self, folder: &Path) -> PathBuf {
        folder.join(&self.index)
    }

    pub(super) fn model_path(&self, folder: &Path) -> PathBuf {
        folder.join(&self.model)
    }

    /// The name of the next file of a kind.
    pub(super) fn next_name(&mut self, kind: &str) -> String {
        self.serial += 1;
        format!("{}.{kind}", self.serial)
    }

    /// Removes the files that others took the place of. Whoever reads them still can.
    pub(super) fn remove_replaced(&self, by: &Current, folder: &Path) {
        // What cannot be removed takes room, and is tried again when the store is opened.
        if self.index != by.index {
            let _ = fs::remove_file(self.index_path(folder));
            let _ = fs::remove_file(IdNames::path_beside(self.index_path(folder)));
        }
        if self.model != by.model {
            let _ = fs::remove_file(self.model_path(folder));
        }
    }

    /// Removes files that a process that was killed left behind.
    pub(super) fn remove_others(&self, folder: &Path) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let kept = [CURRENT, &self.index, &self.model, &format!("{}.ids", self.index)];
            if follows_from_journal(name) && !kept.contains(&name) {
                // What cannot be removed takes room, and is tried again the next time.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}
