//! One writer at a time, also where files replace one another.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::Path;

use crate::{Error, Result};

/// Opens a file that no other process has open for changes; to write to it, or to replace it.
pub(super) fn locked(path: &Path, to_write: bool) -> Result<File> {
    loop {
        let opened = OpenOptions::new().read(true).write(to_write).open(path);
        let file = opened.map_err(Error::io(path))?;
        lock(&file, path)?;
        // Another may have put a new file in its place before it let go of this one.
        if is_at(&file, path) {
            return Ok(file);
        }
    }
}

/// Locks a file, unless another process has.
pub(super) fn lock(file: &File, path: &Path) -> Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(Error::InUse(path.to_path_buf())),
        // Where files cannot be locked, that nobody else writes is for the user to see to.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

#[cfg(unix)]
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let same = |left: fs::Metadata, right: fs::Metadata| {
        left.ino() == right.ino() && left.dev() == right.dev()
    };
    match (file.metadata(), fs::metadata(path)) {
        (Ok(left), Ok(right)) => same(left, right),
        _ => false,
    }
}

#[cfg(not(unix))]
pub(super) fn is_at(_: &File, _: &Path) -> bool {
    true
}

/// How the files begin that a writer leaves which is killed while it compacts.
pub(super) fn leftover_prefix(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!(".{name}-")
}

/// Removes what writers of this file left that were killed; those who write still have it locked.
pub(super) fn remove_leftovers(path: &Path) {
    let (Some(folder), prefix) = (path.parent(), leftover_prefix(path)) else { return };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_leftover = name.starts_with(&prefix) && name.ends_with(".part");
        if is_leftover && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
            // What cannot be removed does no harm.
            let _ = fs::remove_file(entry.path());
        }
    }
}
