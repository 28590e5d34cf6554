//! [`Opened`]: an open index file, and checks that no other program has changed it.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::header::HEADER_BYTES;
use crate::disk::File;
use crate::file::is_at;
use crate::index::state::State;
use crate::{Error, Result};

/// Open index file, of which parts are mapped. Other programs can change the file in ways that
/// hashbrook's writers never do. After another program truncates the file, reading mapped bytes
/// ends the process by a bus error. After another program overwrites the file, the mapped bytes are
/// meaningless.
pub(in crate::index) struct Opened {
    pub(super) path: PathBuf,
    pub(super) file: File,
    /// Least length of the file in bytes: hashbrook's writers only append to the file or replace
    /// it.
    least: AtomicU64,
    /// First bytes of the file, which hashbrook's writers never change. The checksum in the header
    /// depends on all mapped sections, so another index has a different header.
    header: Vec<u8>,
    /// Description of a change by another program. After a change, the file is never trusted again,
    /// even if its bytes are restored: wrong bytes read in the meantime may still be in use.
    changed: OnceLock<String>,
}

impl Opened {
    pub(super) fn new(path: PathBuf, file: File, least: u64, head: &[u8]) -> Self {
        let header = head[..head.len().min(HEADER_BYTES)].to_vec();
        Opened { path, file, least: AtomicU64::new(least), header, changed: OnceLock::new() }
    }

    /// Records that a writer has extended the file to `length` bytes.
    pub(super) fn grown(&self, length: u64) {
        self.least.fetch_max(length, Ordering::Relaxed);
    }

    /// Reads mapped parts of the file. Other programs can change the file at any time: the length
    /// is checked before, so that no bus error ends the process, and the header after, so that
    /// wrong results are discarded.
    pub(in crate::index) fn reading<T>(&self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        self.check_length()?;
        let found = read();
        self.check_header()?;
        found
    }

    /// Returns the state with the parts mapped from this file for reading once and in order.
    pub(in crate::index) fn to_read_once(&self, state: &State) -> Result<State> {
        state.to_read_once(&self.file).map_err(Error::io(&self.path))
    }

    /// Fails if the file was truncated, so that reading could cause a bus error.
    pub(super) fn check_length(&self) -> Result<()> {
        let least = self.least.load(Ordering::Relaxed);
        let found = self.file.len().map_err(Error::io(&self.path))?;
        if found < least {
            let cut = format!("another program cut it to {found} bytes, it had {least}");
            self.changed.get_or_init(|| cut);
        }
        self.check_unchanged()
    }

    /// Fails if another program overwrote the file, so that the bytes read are meaningless.
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

    /// Fails if the file is no longer at its path.
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

    /// Returns the error for attempts to change a file that is open for reading.
    pub(in crate::index) fn read_only(&self) -> Error {
        Error::ReadOnly(self.path.clone())
    }

    fn not_as_opened(&self, problem: &str) -> Error {
        Error::NotAsOpened { path: self.path.clone(), problem: problem.to_owned() }
    }
}
