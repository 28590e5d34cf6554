//! What stands where a file is to be written.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use crate::disk::{self, File, Mode};
use crate::{Error, Result};

/// Links that are followed, one to the next, before they are taken to lead in a circle.
const LINKS: usize = 40;

/// Where a path leads: links are followed, also to what is not there.
pub(crate) fn destination(path: &Path) -> Result<PathBuf> {
    let mut destination = path.to_path_buf();
    for _ in 0..LINKS {
        match fs::read_link(&destination) {
            Ok(next) => destination = folder(&destination).join(next),
            Err(_) if destination.file_name().is_some() => return Ok(destination),
            Err(_) => return Err(Error::malformed(path, "is not the name of a file")),
        }
    }
    Err(Error::malformed(path, format!("leads through more than {LINKS} links")))
}

pub(super) fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Gives a new file the rights of the one it replaces, and its owner and group as far as one may.
pub(super) fn keep_rights(file: &fs::File, replaced: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (replaced.uid(), replaced.gid()) {
            // Only the superuser may give files away; members of a group may give them to it.
            fchown(file, Some(replaced.uid()), Some(replaced.gid()))
                .or_else(|_| fchown(file, None, Some(replaced.gid())))
                .ok();
        }
    }
    // Not all file systems can change rights; those have the same for all files.
    match file.metadata()?.permissions() == replaced.permissions() {
        true => Ok(()),
        false => file.set_permissions(replaced.permissions()),
    }
}

/// Returns whether an open file is the one at a path. Where files have no identity, whether the path leads to a file.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    match (file.identity(), disk::identity_at(path)) {
        (Ok(left), Ok(right)) => left == right,
        _ => false,
    }
}

/// Opens a file that is to be locked, and not written to. Network file systems lock what is open for
/// writing alone; files that may not be written can be locked on others.
pub(crate) fn open_to_lock(path: &Path) -> io::Result<File> {
    disk::open(path, Mode::Write).or_else(|_| disk::open(path, Mode::Read))
}
