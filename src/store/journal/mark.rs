//! Acknowledged end of a journal, recorded in two notes that are written in turn. The newer sound
//! note counts.
//!
//! A note is written after the records before it were synced, so it never points past synced data.
//! The note itself is synced only from time to time. It survives a killed process. After a loss of
//! power an older note may count, and complete records after its end still count.

use std::io;
use std::path::{Path, PathBuf};

use super::row::number64;
use crate::disk::{self, File, Mode};
use crate::{Error, Result, file};

/// Name of the file with both notes, in the directory of a journal.
pub(super) const MARKS: &str = "end";

/// Bytes of a note: the end of the journal, and a checksum.
const NOTE: usize = 16;

/// Distance between the notes in bytes, so that each is on its own page.
const APART: u64 = 4096;

/// Number of bytes of records after which the newest note is synced. Opening rewrites all records
/// after the end in the note.
const SYNC_AFTER: u64 = 64 << 20;

fn note(end: u64) -> [u8; NOTE] {
    let mut bytes = [0; NOTE];
    bytes[..8].copy_from_slice(&end.to_le_bytes());
    let checksum = u64::from(crc32fast::hash(&bytes[..8]));
    bytes[8..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Returns the end that a note records, if the note is sound.
fn end_of(note: &[u8; NOTE]) -> Option<u64> {
    let sound = number64(note, 8) == u64::from(crc32fast::hash(&note[..8]));
    sound.then(|| number64(note, 0))
}

pub(super) struct Marks {
    path: PathBuf,
    file: File,
    turn: u64,
    /// Bytes of records since a note was last synced.
    unsynced: u64,
}

impl Marks {
    pub(super) fn create(path: &Path, end: u64) -> Result<()> {
        let mut bytes = vec![0; APART as usize + NOTE];
        for at in [0, APART as usize] {
            bytes[at..at + NOTE].copy_from_slice(&note(end));
        }
        file::write(path, &bytes)
    }

    pub(super) fn open(path: &Path) -> Result<(Marks, u64)> {
        let file = disk::open(path, Mode::Write).map_err(Error::io(path))?;
        let read = |turn: u64| -> Result<Option<u64>> {
            let mut bytes = [0; NOTE];
            let read = file.read_up_to(&mut bytes, turn * APART).map_err(Error::io(path))?;
            Ok(end_of(&bytes).filter(|_| read == NOTE))
        };
        let notes = [read(0)?, read(1)?];
        let newest = notes.into_iter().flatten().max();
        let end = newest.ok_or_else(|| {
            Error::damaged(path, "is damaged: it does not say how far the journal goes")
        })?;
        // The next note overwrites the older one.
        let turn = if notes[1] == Some(end) { 1 } else { 0 };
        Ok((Marks { path: path.to_path_buf(), file, turn, unsynced: 0 }, end))
    }

    /// Records a new end, after this number of bytes of records was synced.
    pub(super) fn write(&mut self, end: u64, bytes: u64) -> Result<()> {
        let (turn, note) = (self.turn ^ 1, note(end));
        let written = match self.file.write_at(&note, turn * APART) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            written => written.map_err(Error::io(&self.path))?,
        };
        let at = turn * APART + written as u64;
        self.file.write_all_at(&note[written..], at).map_err(Error::io(&self.path))?;
        self.turn = turn;
        self.unsynced += bytes;
        // A crash may tear a note that was written in pieces, so it is synced before the other note
        // is overwritten.
        if self.unsynced >= SYNC_AFTER || written < NOTE { self.sync() } else { Ok(()) }
    }

    pub(super) fn sync(&mut self) -> Result<()> {
        self.file.sync_data().map_err(Error::io(&self.path))?;
        self.unsynced = 0;
        Ok(())
    }
}
