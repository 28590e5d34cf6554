//! Locks that admit one writer at a time, even when files are replaced.

use std::fs::TryLockError;
use std::path::Path;

use crate::disk::{self, File, Mode};
use crate::file::{is_at, open_to_lock};
use crate::{Error, Result};

/// Behaviour where the file system cannot lock files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::index) enum Locking {
    /// Refuse to write: two simultaneous writers would lose changes.
    Required,
    /// Continue: the caller ensures that no other process writes.
    WherePossible,
}

/// Number of attempts to open a file that other processes keep replacing.
const TRIES: usize = 100;

/// Opens and locks a file for writing or replacing it. Fails if another process has the file open
/// for changes.
pub(super) fn locked(path: &Path, to_write: bool, locking: Locking) -> Result<File> {
    for _ in 0..TRIES {
        let opened = match to_write {
            true => disk::open(path, Mode::Write),
            false => open_to_lock(path),
        };
        let file = opened.map_err(Error::io(path))?;
        lock(&file, path, locking)?;
        // Another writer may have replaced the file before releasing its lock.
        if is_at(&file, path) {
            return Ok(file);
        }
    }
    Err(Error::InUse(path.to_path_buf()))
}

/// Locks a file. Fails if another process has locked it.
pub(super) fn lock(file: &File, path: &Path, locking: Locking) -> Result<()> {
    match try_lock(file) {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(Error::InUse(path.to_path_buf())),
        Err(TryLockError::Error(_)) if locking == Locking::WherePossible => Ok(()),
        Err(TryLockError::Error(cause)) => {
            Err(Error::CannotLock { path: path.to_path_buf(), cause })
        }
    }
}

#[cfg(not(test))]
fn try_lock(file: &File) -> std::result::Result<(), TryLockError> {
    file.try_lock()
}

#[cfg(test)]
fn try_lock(file: &File) -> std::result::Result<(), TryLockError> {
    if tests::LOCKS_FAIL.get() {
        return Err(TryLockError::Error(std::io::Error::other("no locks available")));
    }
    file.try_lock()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use crate::{Codes, Error, Index};

    thread_local! {
        /// True if this thread simulates a file system that cannot lock.
        pub(super) static LOCKS_FAIL: Cell<bool> = const { Cell::new(false) };
    }

    #[test]
    fn without_locks_nothing_is_written_unless_told_to() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.index");
        let code = Codes::from_bytes(8, &[1]).unwrap();
        let mut index = Index::of_codes(8).unwrap();
        LOCKS_FAIL.set(true);
        index.save(&path).expect("nothing stands there that another could be writing");
        index.add_codes(&[1], &code, None).unwrap();
        let before = std::fs::read(&path).unwrap();
        for refused in [index.save(&path), Index::edit(&path).map(drop)] {
            let Err(Error::CannotLock { .. }) = &refused else { panic!("{refused:?}") };
            let text = refused.unwrap_err().to_string();
            for part in ["a.index", "no locks available", "edit_unlocked"] {
                assert!(text.contains(part), "{part:?} is not in {text:?}");
            }
        }
        assert_eq!(std::fs::read(&path).unwrap(), before);

        index.save_unlocked(&path).unwrap();
        let mut index = Index::edit_unlocked(&path).unwrap();
        index.add_codes(&[2], &code, None).unwrap();
        index.compact().unwrap();
        index.add_codes(&[3], &code, None).unwrap();
        assert_eq!(Index::open(&path).unwrap().ids().unwrap(), [1, 2, 3]);

        // Where locks work, the unlocked variants respect them, too.
        drop(index);
        LOCKS_FAIL.set(false);
        let _writer = Index::edit_unlocked(&path).unwrap();
        for refused in [Index::edit_unlocked(&path).map(drop), index_of(8).save_unlocked(&path)] {
            assert!(matches!(refused, Err(Error::InUse(_))), "{refused:?}");
        }
    }

    fn index_of(bits: usize) -> Index {
        Index::of_codes(bits).unwrap()
    }
}
