//! The journal of a store: all changes, in the order in which they were acknowledged. Everything
//! else in a store can be rebuilt from it.
//!
//! The journal is a sequence of append-only files. A change counts once its record is synced. A
//! separate file (`mark.rs`) records the acknowledged end: records before that end must be sound.
//! Opening cuts off whatever a crash left unfinished after that end. Complete records after the end
//! were not acknowledged, but count as well. Opening first rewrites and syncs these records,
//! because readable bytes may not be on the disk yet.

mod files;
mod mark;
mod record;
mod row;
mod salvage;
mod scan;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) use self::files::{
    Extent, Files, OpenFiles, Origin, START, create as create_file, file_of, place,
};
use self::files::{FIRST, offset_of};
use self::mark::{MARKS, Marks};
pub(super) use self::record::{Change, NewRecord, PutChange};
pub(super) use self::row::{NOWHERE, Row, RowShape, RowToPut, as_kept};
pub(super) use self::salvage::{Salvaged, salvage};
pub(super) use self::scan::{Cursor, Record};
use crate::disk::{self, File, Mode};
use crate::file::{copy_to_new, is_part};
use crate::{Error, Result};

/// File name of a store's description. The journal has a copy of the description for repairs.
pub(super) const DESCRIPTION: &str = "store.json";

/// Size in bytes above which another file is begun.
pub(super) const FILE_BYTES: u64 = 1 << 30;

/// Highest file number.
pub(super) const LAST_FILE: u32 = (1 << 24) - 1;

/// Number of bytes that are written to test whether a journal can be written.
const PROBE_BYTES: usize = 4096;

/// Number of bytes that are rewritten at once when a journal is opened.
const REWRITE_BYTES: u64 = 1 << 20;

/// A journal that is open to be written.
pub(super) struct Journal {
    files: Arc<Files>,
    file: Arc<File>,
    marks: Marks,
    /// Position of the next record.
    end: u64,
    /// Cause of a failed change that may have left bytes after the end; `None` if there are none.
    doubt: Option<String>,
    /// Error of the last attempt to record the end, if that attempt failed.
    unmarked: Option<Error>,
}

impl Journal {
    /// Creates a directory with an empty journal.
    pub(super) fn create(directory: &Path, shape: RowShape) -> Result<()> {
        disk::create_dir(directory).map_err(Error::io(directory))?;
        let files = Files::open(directory.to_path_buf(), shape, Extent::NEW)?;
        files.create(0, Origin::Appended)?;
        Marks::create(&marks_path(directory), START)
    }

    /// Returns whether a directory contains only a journal without changes, possibly one whose
    /// creation was cut off.
    pub(super) fn is_blank(directory: &Path) -> Result<bool> {
        for entry in disk::list(directory).map_err(Error::io(directory))? {
            let name = entry.name.to_str().unwrap_or_default();
            let is_derived = name == MARKS || name == DESCRIPTION || is_part(name);
            if !is_derived && (entry.is_dir || entry.len > FIRST) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Opens a journal and finds its end. `known` is the start of an acknowledged record; all
    /// records from there on are read and passed to `call`.
    pub(super) fn open(
        directory: &Path,
        shape: RowShape,
        extent: Extent,
        known: u64,
        call: &mut dyn FnMut(Record) -> Result<()>,
    ) -> Result<Journal> {
        let files = Arc::new(Files::open(directory.to_path_buf(), shape, extent)?);
        let (mut marks, acknowledged) = Marks::open(&marks_path(directory))?;
        let mut cursor = Cursor::new(files.clone(), known);
        while let Some(record) = cursor.next_to_recover(acknowledged)? {
            call(record)?;
        }
        let end = cursor.position();
        if end < acknowledged {
            let path = files.path(file_of(end));
            return Err(Error::damaged(
                &path,
                "is cut short: changes that were acknowledged are missing",
            ));
        }
        let number = file_of(end);
        make_durable(&files, acknowledged.max(known), end)?;
        for unfinished in files.numbers().into_iter().filter(|&other| other > number) {
            files.remove_unfinished(unfinished)?;
        }
        if end != acknowledged {
            marks.write(end, 0)?;
        }
        let file = files.file(number)?;
        Ok(Journal { files, file, marks, end, doubt: None, unmarked: None })
    }

    /// Copies a journal, up to the end of a record, into a new directory.
    pub(super) fn copy(files: &Files, end: u64, directory: &Path) -> Result<()> {
        disk::create_dir(directory).map_err(Error::io(directory))?;
        let pinned = files.pinned();
        let numbers = pinned.replaced.keys().chain(pinned.chain.keys());
        for &number in numbers.filter(|&&number| number <= file_of(end)) {
            let (from, to) = (files.path(number), files.path_in(directory, number));
            let mut file = disk::open(&from, Mode::Read).map_err(Error::io(&from))?;
            let most = if number == file_of(end) { offset_of(end) } else { u64::MAX };
            copy_to_new(&mut file, most, &to)?;
        }
        Marks::create(&marks_path(directory), end)
    }

    /// Records the end of a journal that was written without recording its end.
    pub(super) fn note_end(directory: &Path, end: u64) -> Result<()> {
        Marks::create(&marks_path(directory), end)
    }

    pub(super) fn files(&self) -> &Arc<Files> {
        &self.files
    }

    /// Returns the position of the next record.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Returns the position of the record that is appended next. Begins another file if the current
    /// one is large.
    pub(super) fn begin(&mut self) -> Result<u64> {
        self.settle()?;
        if offset_of(self.end) >= FILE_BYTES {
            self.roll(file_of(self.end) + 1)?;
        }
        Ok(self.end)
    }

    /// Begins a file with this number, which is above the number of the current file.
    pub(super) fn roll(&mut self, number: u32) -> Result<()> {
        self.settle()?;
        self.file = self.files.create(number, Origin::Appended)?;
        self.end = place(number, FIRST);
        Ok(())
    }

    /// Cuts off bytes that a failed change may have left after the end, so that changes can
    /// continue.
    fn settle(&mut self) -> Result<()> {
        let Some(cause) = &self.doubt else { return Ok(()) };
        let cut = self.file.set_len(offset_of(self.end)).and_then(|()| self.file.sync_data());
        if let Err(error) = cut {
            let path = self.files.path(file_of(self.end));
            let problem = format!("a change failed ({cause}) and could not be undone: {error}");
            return Err(Error::Stopped { path, problem });
        }
        self.doubt = None;
        Ok(())
    }

    /// Tests whether records could be appended, and leaves the journal as it is.
    pub(super) fn probe(&mut self) -> Result<()> {
        self.settle()?;
        // Bytes after the end are no record, whether or not they can be cut off again.
        self.doubt = Some("it was not finished".to_owned());
        let written = self.file.write_all_at(&[0; PROBE_BYTES], offset_of(self.end));
        let probed = written.and_then(|()| self.file.sync_data());
        let undone = self.settle();
        probed.map_err(Error::io(&self.files.path(file_of(self.end)))).and(undone)?;
        if self.unmarked.is_some() {
            self.marks.write(self.end, 0)?;
            self.unmarked = None;
        }
        Ok(())
    }

    /// Appends complete records and syncs them. If this fails, the records do not count, except
    /// that they may count if the process ends before the next change.
    pub(super) fn append(&mut self, records: &[u8]) -> Result<()> {
        let written = self.file.write_all_at(records, offset_of(self.end));
        if let Err(error) = written.and_then(|()| self.file.sync_data()) {
            // After a failed sync the system treats unwritten pages as clean.
            self.doubt = Some(error.to_string());
            let error = Error::io(&self.files.path(file_of(self.end)))(error);
            // If cutting off fails, it is retried before the next change.
            return self.settle().and(Err(error));
        }
        self.end += records.len() as u64;
        // The records are durable even if recording the end fails: opening finds records after an
        // older note.
        self.unmarked = self.marks.write(self.end, records.len() as u64).err();
        Ok(())
    }

    /// Returns the error of recording the end of the last change, if that failed. The next change
    /// records the end again.
    pub(super) fn unmarked(&self) -> Option<&Error> {
        self.unmarked.as_ref()
    }

    /// Records the end, if that failed before, and syncs the note.
    pub(super) fn close(&mut self) -> Result<()> {
        if self.unmarked.take().is_some() {
            self.marks.write(self.end, 0)?;
        }
        self.marks.sync()
    }
}

/// Makes the records between two positions durable: they are readable but may not be on the disk.
/// Cuts off whatever follows the last of these records in its file.
fn make_durable(files: &Files, from: u64, end: u64) -> Result<()> {
    for number in files.numbers() {
        if number < file_of(from) || number > file_of(end) {
            continue;
        }
        let (file, path) = (files.file(number)?, files.path(number));
        let rewrite = || {
            let length = file.len()?;
            let mut at = if number == file_of(from) { offset_of(from) } else { 0 };
            let stop = if number == file_of(end) { offset_of(end) } else { length };
            let is_changed = at < stop || length != stop;
            while at < stop {
                let mut bytes = vec![0; REWRITE_BYTES.min(stop - at) as usize];
                file.read_exact_at(&mut bytes, at)?;
                file.write_all_at(&bytes, at)?;
                at += bytes.len() as u64;
            }
            if length != stop {
                file.set_len(stop)?;
            }
            if is_changed { file.sync_data() } else { Ok(()) }
        };
        rewrite().map_err(Error::io(&path))?;
    }
    Ok(())
}

fn marks_path(directory: &Path) -> PathBuf {
    directory.join(MARKS)
}

#[cfg(test)]
mod tests;
