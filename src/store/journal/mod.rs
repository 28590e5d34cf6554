//! The journal of a store: all changes, in the order in which they were acknowledged. It is the truth; all else
//! follows from it.
//!
//! It is a row of files that are only appended to. A change counts once its record is on the disk. How far
//! records are acknowledged is noted in a file of its own (`mark.rs`): what stands before that must be sound,
//! and behind it what a process that was killed left unfinished is cut off.

mod files;
mod mark;
mod record;
mod row;
mod scan;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::files::{FIRST, offset_of, write_at};
pub(super) use self::files::{Files, file_of, place};
use self::mark::Marks;
pub(super) use self::record::{Change, NewRecord};
pub(super) use self::row::{NOWHERE, Row, RowShape, RowToPut, as_kept};
pub(super) use self::scan::{Cursor, Record};
use crate::file::{copy_to_new, is_part};
use crate::{Error, Result};

/// Where the first record of the first file stands.
pub(super) const START: u64 = FIRST;

/// The file that says how far the journal is acknowledged.
const MARKS: &str = "end";

/// The bytes after which another file is begun.
const FILE_BYTES: u64 = 1 << 30;

/// A journal that is open to be written.
pub(super) struct Journal {
    files: Arc<Files>,
    file: Arc<File>,
    marks: Marks,
    /// Where the next record goes.
    end: u64,
    /// Whether something could not be brought to the disk, so that it is not known what is there.
    in_doubt: bool,
}

impl Journal {
    /// Makes an empty journal in a folder, which is made, too.
    pub(super) fn create(folder: &Path, shape: RowShape) -> Result<()> {
        std::fs::create_dir(folder).map_err(Error::io(folder))?;
        let files = Files::open(folder.to_path_buf(), shape)?;
        files.create(0)?;
        Marks::create(&marks_path(folder), START)
    }

    /// Whether a folder is that of a journal without changes, as far as it was made.
    pub(super) fn is_blank(folder: &Path) -> Result<bool> {
        for entry in std::fs::read_dir(folder).map_err(Error::io(folder))? {
            let entry = entry.map_err(Error::io(folder))?;
            let name = entry.file_name();
            let name = name.to_str().unwrap_or_default();
            let blank = match name == MARKS || is_part(name) {
                true => true,
                false => entry.metadata().is_ok_and(|file| file.is_file() && file.len() <= FIRST),
            };
            if !blank {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Opens a journal, and finds its end: from `known`, where a record that was acknowledged begins, all
    /// records are read and given to `call`.
    pub(super) fn open(
        folder: &Path,
        shape: RowShape,
        known: u64,
        call: &mut dyn FnMut(Record) -> Result<()>,
    ) -> Result<Journal> {
        let files = Arc::new(Files::open(folder.to_path_buf(), shape)?);
        let (marks, acknowledged) = Marks::open(&marks_path(folder))?;
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
        let path = files.path(number);
        let mut file = files.file(number)?;
        if files.len(number)? < FIRST {
            // It was just begun when the process ended.
            file = files.create(number)?;
        }
        // What was left unfinished: nobody was told that it counts.
        file.set_len(offset_of(end)).map_err(Error::io(&path))?;
        for unfinished in files.numbers().into_iter().filter(|&other| other > number) {
            files.remove(unfinished)?;
        }
        let mut journal = Journal { files, file, marks, end, in_doubt: false };
        journal.marks.write(end)?;
        Ok(journal)
    }

    /// Copies a journal, up to a place where a record ends, to a folder that is made for it.
    pub(super) fn copy(files: &Files, end: u64, folder: &Path) -> Result<()> {
        std::fs::create_dir(folder).map_err(Error::io(folder))?;
        for number in files.numbers().into_iter().filter(|&number| number <= file_of(end)) {
            let (from, to) = (files.path(number), files.path_in(folder, number));
            let mut file = File::open(&from).map_err(Error::io(&from))?;
            let most = if number == file_of(end) { offset_of(end) } else { u64::MAX };
            copy_to_new(&mut file, most, &to)?;
        }
        Marks::create(&marks_path(folder), end)
    }

    pub(super) fn files(&self) -> &Arc<Files> {
        &self.files
    }

    /// Where the next record will stand.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Where the first of the records will stand that are appended next; another file is begun if the one in
    /// use is large.
    pub(super) fn begin(&mut self) -> Result<u64> {
        if self.in_doubt {
            let path = self.files.path(file_of(self.end));
            let problem = "what was written before may or may not be on the disk".to_owned();
            return Err(Error::Stopped { path, problem });
        }
        if offset_of(self.end) >= FILE_BYTES {
            let number = file_of(self.end) + 1;
            self.file = self.files.create(number)?;
            self.end = place(number, FIRST);
        }
        Ok(self.end)
    }

    /// Appends whole records and brings them to the disk. If that fails the journal is as it was.
    pub(super) fn append(&mut self, records: &[u8]) -> Result<()> {
        let number = file_of(self.end);
        let path = || self.files.path(number);
        if let Err(error) = write_at(&self.file, records, offset_of(self.end)) {
            // Should this fail as well, what is there is written over by the next, or cut off when opened.
            let _ = self.file.set_len(offset_of(self.end));
            return Err(Error::io(&path())(error));
        }
        if let Err(error) = self.file.sync_data() {
            // The system may have dropped what it could not write, and would not tell again.
            self.in_doubt = true;
            return Err(Error::io(&path())(error));
        }
        self.end += records.len() as u64;
        self.marks.write(self.end)
    }

    /// Brings the note of its end to the disk.
    pub(super) fn close(&self) -> Result<()> {
        self.marks.sync()
    }
}

fn marks_path(folder: &Path) -> PathBuf {
    folder.join(MARKS)
}

#[cfg(test)]
mod tests;
