//! Index files: mapped sections with the items of the last compaction, and a log of later changes.
//!
//! ```text
//! page 0    magic, version, checksum; where the sections are
//! pages 1-2 two commit marks that say in turn how far the log counts, each on a page of its own
//! sections  text (JSON), function (safetensors), the columns, their checksums, the search structure
//!           and its tables
//! log       records, each a change that is applied wholly or not at all
//! ```
//!
//! Sections never change, and nothing else is mapped. A change is appended to the log and synced to
//! disk. Then one of the two commit marks is written and synced, which commits the change. Only
//! then is the change acknowledged. Bytes after the end of the log given by the marks are the rest
//! of an interrupted write, and are overwritten. A file that is shorter than its log was truncated
//! by another program, which is an error. Compaction writes a new file and renames it over the old
//! file, which stays alive for processes that have it mapped. Other programs may change a file in
//! place; `opened.rs` describes how this is detected.
//!
//! # Why is a damaged or interrupted file never a wrong answer?
//!
//! Sections (ids, codes, labels, vectors, with checksums of blocks of items; the search structure)
//! never change, and only they are mapped. Each checksum is compared when an item of its block is
//! first read, so opening takes no time and a damaged file cannot give a wrong answer. Changes are
//! records in the log, which is read and not mapped. A record counts once one of two commit marks,
//! each on its own page, covers it; the mark is written after the record is on disk. A writer that
//! is killed at any time leaves all acknowledged changes and no partial change. A truncated file is
//! distinguished from a file whose writer was killed.
//!
//! Files are written one block of items at a time, in order of ids. The items are read from the
//! segments of an index (`segment/merge.rs`), or from sorted runs that `IndexBuilder` wrote when
//! its memory was full. Data that is read once is mapped separately, and its pages are released
//! after reading. So building, saving and compaction take the memory of a few blocks (`cargo bench
//! --bench server -- memory`).
//!
//! # What if other programs change the files?
//!
//! A writer locks the index file. If the file system cannot lock files, the writer fails
//! (`lock.rs`), unless the caller rules out other writers. `cp` and `mv` ignore locks. So before a
//! commit mark is written, and right before a rename, a writer compares device and inode of its
//! open file with those at the path (`opened.rs`). Each search checks the length of mapped files at
//! its start, and their headers at its end. No writer changes a header, and its checksum depends on
//! all sections. If a file is truncated during a search, a bus error ends the process: the command
//! then prints one line (`cli/src/bus_error.rs`); the library documents this and offers
//! `Index::load`.

mod change;
mod function;
mod header;
mod lock;
mod log;
mod opened;
mod read;
mod text;
mod write;

use std::sync::Arc;

use self::change::Change;
pub(super) use self::lock::Locking;
use self::log::{Log, Position};
pub(super) use self::opened::Opened;
pub(super) use self::read::{Access, OpenFor, open};
pub(super) use self::write::{Contents, Run, write};
use super::search::SearchSegment;
use super::segment::NewItems;
use super::state::State;
use crate::file::is_at;
use crate::{LabelNames, Result};

/// Operations of an index on its file, if it has one.
impl OpenFor {
    /// Returns the file, or `None` for an index in memory.
    pub(super) fn file(&self) -> Option<&Arc<Opened>> {
        match self {
            OpenFor::Nothing => None,
            OpenFor::Reading(reader) => Some(&reader.file),
            OpenFor::Changes(log) => Some(&log.file),
        }
    }

    /// Returns the bytes of the log of changes, which compaction empties.
    pub(super) fn log_bytes(&self) -> u64 {
        match self {
            OpenFor::Nothing => 0,
            OpenFor::Reading(reader) => reader.log_bytes(),
            OpenFor::Changes(log) => log.bytes(),
        }
    }

    pub(super) fn put(&mut self, items: NewItems<'_>) -> Result<()> {
        if items.ids.is_empty() {
            return self.check_writable();
        }
        self.append(|| Change::encode_put(items))
    }

    pub(super) fn remove(&mut self, ids: &[u64]) -> Result<()> {
        if ids.is_empty() {
            return self.check_writable();
        }
        self.append(|| Change::encode_remove(ids))
    }

    pub(super) fn name(&mut self, names: &LabelNames) -> Result<()> {
        let change = Change::encode_names(names)?;
        self.append(|| change)
    }

    /// Fails if the file was opened for reading.
    fn check_writable(&self) -> Result<()> {
        match self {
            OpenFor::Reading(reader) => Err(reader.file.read_only()),
            _ => Ok(()),
        }
    }

    fn append(&mut self, change: impl FnOnce() -> Vec<u8>) -> Result<()> {
        match self {
            OpenFor::Nothing => Ok(()),
            OpenFor::Reading(reader) => Err(reader.file.read_only()),
            OpenFor::Changes(log) => log.append(&change()),
        }
    }

    /// Writes a new file with one segment, renames it over the old file, and returns the mapped
    /// segment. Returns `None` for an index in memory.
    pub(super) fn rewrite(&mut self, contents: &Contents<'_>) -> Result<Option<SearchSegment>> {
        let log = match self {
            OpenFor::Nothing => return Ok(None),
            OpenFor::Reading(reader) => return Err(reader.file.read_only()),
            OpenFor::Changes(log) => log,
        };
        log.check_no_doubt()?;
        let (last, locking, path) = (log.position.last + 1, log.locking, log.path());
        let (mut target, header) = write::prepare(contents, last, path)?;
        lock::lock(target.file(), path, locking)?;
        let segment = read::written(target.file(), header, path)?;
        let path = path.to_path_buf();
        let file = target.commit_if(|| log.check_to_write())?;
        let (start, position) = (header.log, Position { last, end: header.log });
        let file = Arc::new(Opened::new(path, file, start, &header.to_bytes()));
        *self = OpenFor::Changes(Log { file, locking, start, position, in_doubt: false });
        Ok(Some(segment))
    }

    /// Returns the current state of a file that is open for reading, or `None` if nothing has
    /// changed since the file was opened or last refreshed.
    pub(super) fn refreshed(&mut self, state: &State) -> Result<Option<State>> {
        let OpenFor::Reading(reader) = self else { return Ok(None) };
        if is_at(&reader.file.file, &reader.file.path) {
            return reader.refreshed(state);
        }
        // Compaction or re-encoding has replaced the file.
        let (state, opened) = open(&reader.file.path.clone(), Access::Map)?;
        *self = opened;
        Ok(Some(state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, Index};

    #[test]
    fn changes_of_unknown_kinds_are_those_of_a_newer_version() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.index");
        for (change, newer) in [(&[5, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3][..], true), (&[5, 0], false)] {
            Index::of_codes(8).unwrap().save(&path).unwrap();
            let (_, opened) = open(&path, Access::Edit(Locking::Required)).unwrap();
            let OpenFor::Changes(mut log) = opened else { panic!("it was opened for changes") };
            log.append(change).unwrap();
            drop(log);
            let before = std::fs::read(&path).unwrap();
            for refused in [Index::open(&path), Index::load(&path), Index::edit(&path)] {
                let error = refused.map(drop).unwrap_err();
                match newer {
                    true => {
                        assert!(matches!(error, Error::NewerChange { kind: 5, .. }), "{error}");
                        assert!(error.to_string().contains("newer"), "{error}");
                    }
                    false => assert!(matches!(error, Error::Damaged { .. }), "{error}"),
                }
            }
            assert_eq!(std::fs::read(&path).unwrap(), before, "refused, and left as it was");
        }
    }
}
