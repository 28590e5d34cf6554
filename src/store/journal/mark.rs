//! How far a journal is acknowledged: two notes in turn, of which the newer sound one counts.
//!
//! A note is written once the records before it are on the disk. It is not brought to the disk itself: a process
//! that is killed leaves it all the same, and after a loss of power an older one is there, behind which whole
//! records still count.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use super::files::{read_at, write_at};
use super::row::number64;
use crate::{Error, Result, file};

/// Bytes of a note: where the journal ends, and a checksum.
const NOTE: usize = 16;

/// Each note on a page of its own.
const APART: u64 = 4096;

fn note(end: u64) -> [u8; NOTE] {
    let mut bytes = [0; NOTE];
    bytes[..8].copy_from_slice(&end.to_le_bytes());
    let checksum = u64::from(crc32fast::hash(&bytes[..8]));
    bytes[8..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Where a note says that the journal ends, if it is sound.
fn end_of(note: &[u8; NOTE]) -> Option<u64> {
    let sound = number64(note, 8) == u64::from(crc32fast::hash(&note[..8]));
    sound.then(|| number64(note, 0))
}

/// The file of the notes.
pub(super) struct Marks {
    path: PathBuf,
    file: File,
    turn: u64,
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
        let opened = OpenOptions::new().read(true).write(true).open(path);
        let file = opened.map_err(Error::io(path))?;
        let read = |turn: u64| {
            let mut bytes = [0; NOTE];
            read_at(&file, &mut bytes, turn * APART).ok().and_then(|()| end_of(&bytes))
        };
        let newest = [read(0), read(1)].into_iter().flatten().max();
        let end = newest.ok_or_else(|| {
            Error::damaged(path, "is damaged: it does not say how far the journal goes")
        })?;
        Ok((Marks { path: path.to_path_buf(), file, turn: 0 }, end))
    }

    pub(super) fn write(&mut self, end: u64) -> Result<()> {
        self.turn ^= 1;
        write_at(&self.file, &note(end), self.turn * APART).map_err(Error::io(&self.path))
    }

    pub(super) fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(Error::io(&self.path))
    }
}
