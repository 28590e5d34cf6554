//! A file that is open, and whether it still is what it was.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::header::HEADER_BYTES;
use crate::disk::File;
use crate::file::is_at;
use crate::index::state::State;
use crate::{Error, Result};

/// An open index file. Parts of it are mapped, and other programs can do to it what no writer of
/// ours does: cut it short, after which looking at what was mapped ends the process by a bus error,
/// or write over it, after which what is found there means nothing.
pub(in crate::index) struct Opened {
    pub(super) path: PathBuf,
    pub(super) file: File,
    /// How long it is at least: writers of ours append to it, or replace it by another.
    least: AtomicU64,
    /// Its first bytes, which writers of ours leave alone. The checksum in them depends on all that
    /// is mapped, so another index has other ones.
    header: Vec<u8>,
    /// What another program did to it. Once seen it is never trusted again, even if all bytes come
    /// back: what was read meanwhile may have been kept.
    changed: OnceLock<String>,
}

impl Opened {
    pub(super) fn new(path: PathBuf, file: File, least: u64, head: &[u8]) -> Self {
        let header = head[..head.len().min(HEADER_BYTES)].to_vec();
        Opened { path, file, least: AtomicU64::new(least), header, changed: OnceLock::new() }
    }

    /// Takes note that the file has become longer.
    pub(super) fn grown(&self, length: u64) {
        self.least.fetch_max(length, Ordering::Relaxed);
    }

    /// Reads what is mapped of it. The file is looked at before, so that no bus error ends the process,
    /// and after, so that nothing wrong is found: other programs can change it at any time.
    pub(in crate::index) fn reading<T>(&self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        self.check_length()?;
        let found = read();
        self.check_header()?;
        found
    }

    /// A state of which parts are mapped from this file, with these to be read once and in order.
    pub(in crate::index) fn to_read_once(&self, state: &State) -> Result<State> {
        state.to_read_once(&self.file).map_err(Error::io(&self.path))
    }

    /// Fails if the file was cut short, so that reading could end in a bus error.
    pub(super) fn check_length(&self) -> Result<()> {
        let least = self.least.load(Ordering::Relaxed);
        let found = self.file.len().map_err(Error::io(&self.path))?;
        if found < least {
            let cut = format!("another program cut it to {found} bytes, it had {least}");
            self.changed.get_or_init(|| cut);
        }
        self.check_unchanged()
    }

    /// Fails if another program wrote over it, so that what was read means nothing.
    pub(super) fn check_header(&self) -> Result<()> {
        #[cfg(unix)]
        {
            let mut header = [0; HEADER_BYTES];
            let header = &mut header[..self.header.len()];
            let read = self.file.read_exact_at(header, 0);
            if read.is_err() || *header != self.header {
                self.changed.get_or_init(|| "another program wrote over it".to_owned());
            }
        }
        self.check_unchanged()
    }

    fn check_unchanged(&self) -> Result<()> {
        match self.changed.get() {
            None => Ok(()),
            Some(problem) => Err(self.not_as_opened(problem)),
        }
    }

    /// Fails if the file no longer stands where it did.
    pub(super) fn check_place(&self) -> Result<()> {
        match is_at(&self.file, &self.path) {
            true => Ok(()),
            false => {
                let problem = "another program moved, deleted or replaced it, and nothing was \
                               changed";
                Err(self.not_as_opened(problem))
            }
        }
    }

    /// The error of whoever would change it, where it is open for reading.
    pub(in crate::index) fn read_only(&self) -> Error {
        Error::ReadOnly(self.path.clone())
    }

    fn not_as_opened(&self, problem: &str) -> Error {
        Error::NotAsOpened { path: self.path.clone(), problem: problem.to_owned() }
    }
}
