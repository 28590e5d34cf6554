//! Existing files at a path to be written, and locks.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use crate::disk::{self, File, Mode};
use crate::{Error, Result};

/// Number of links that are followed before they are assumed to form a cycle.
const LINKS: usize = 40;

/// Returns the final path after following all links. The target need not exist.
pub(crate) fn destination(path: &Path) -> Result<PathBuf> {
    let mut destination = path.to_path_buf();
    for _ in 0..LINKS {
        match fs::read_link(&destination) {
            Ok(next) => destination = directory(&destination).join(next),
            Err(_) if destination.file_name().is_some() => return Ok(destination),
            Err(_) => return Err(Error::malformed(path, "is not the name of a file")),
        }
    }
    Err(Error::malformed(path, format!("leads through more than {LINKS} links")))
}

pub(super) fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    }
}

/// Gives a new file the permissions of the file it replaces, and its owner and group if the process
/// is allowed to.
pub(super) fn keep_rights(file: &fs::File, replaced: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (replaced.uid(), replaced.gid()) {
            // Only the superuser may change the owner of a file. Members of a group may give a file
            // to the group.
            fchown(file, Some(replaced.uid()), Some(replaced.gid()))
                .or_else(|_| fchown(file, None, Some(replaced.gid())))
                .ok();
        }
    }
    // Some file systems cannot change permissions; they give all files the same permissions.
    match file.metadata()?.permissions() == replaced.permissions() {
        true => Ok(()),
        false => file.set_permissions(replaced.permissions()),
    }
}

/// Returns whether an open file is the file at a path. On systems without file identities, returns
/// whether the path leads to a file.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    match (file.identity(), disk::identity_at(path)) {
        (Ok(left), Ok(right)) => left == right,
        _ => false,
    }
}

/// Opens a file for locking only. Network file systems can only lock files that are open for
/// writing. Other file systems can also lock files without write permission, so reading is the
/// fallback.
pub(crate) fn open_to_lock(path: &Path) -> io::Result<File> {
    disk::open(path, Mode::Write).or_else(|_| disk::open(path, Mode::Read))
}
