//! Atomic writing: files appear completely or not at all.
//!
//! A file is written under a temporary name in the directory of its target, and renamed once its
//! bytes are on the disk. The new file keeps the permissions of the file it replaces, and a link
//! stays a link. If a process is killed, the next process that writes the same file removes the
//! temporary file.

mod standing;
mod temporary;

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

pub(crate) use self::standing::{destination, is_at, open_to_lock};
use self::standing::{directory, keep_rights};
use self::temporary::Temporary;
pub use self::temporary::{Halted, remove_unfinished};
pub(crate) use self::temporary::{is_part, is_temporary_of, remove_leftovers};
use crate::disk::{self, File, Mode};
use crate::{Error, Result};

/// File being written. It has a temporary name until [`commit`](AtomicFile::commit). If it is
/// dropped earlier, the temporary file is removed.
pub(crate) struct AtomicFile {
    file: File,
    temporary: Temporary,
    /// Path given by the caller, for messages.
    path: PathBuf,
    /// Final path: the target of `path` if `path` is a link, else `path`.
    destination: PathBuf,
}

impl AtomicFile {
    /// Creates a file that will replace `path`.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let started = AtomicFile::start(path)?;
        remove_leftovers(&started.destination);
        Ok(started)
    }

    fn start(path: &Path) -> Result<Self> {
        // Renaming over a device would destroy the device, and renaming over a directory would fail
        // late, so both are refused early.
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(Error::malformed(path, "is not a regular file, so it is not replaced"));
        }
        let destination = destination(path)?;
        let directory = directory(&destination);
        if !disk::is_dir(directory) {
            let problem = format!("there is no directory {}", directory.display());
            let cause = std::io::Error::new(std::io::ErrorKind::NotFound, problem);
            return Err(Error::Io { path: path.to_path_buf(), cause });
        }
        let replaced = fs::metadata(&destination).ok();
        let created = Temporary::create(&destination, replaced.as_ref());
        let (file, temporary) = created.map_err(Error::io(path))?;
        if let (Some(replaced), Some(file)) = (&replaced, file.real()) {
            keep_rights(file, replaced).map_err(Error::io(path))?;
        }
        Ok(AtomicFile { file, temporary, path: path.to_path_buf(), destination })
    }

    /// Returns the file to write to.
    pub(crate) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Returns the temporary path, which is valid until the commit.
    pub(crate) fn temporary(&self) -> &Path {
        self.temporary.path()
    }

    /// Returns the path given by the caller.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Moves the file to its final path once its bytes are on the disk.
    pub(crate) fn commit(self) -> Result<File> {
        self.commit_if(|| Ok(()))
    }

    /// Like [`commit`](AtomicFile::commit), if a last check of the file to be replaced succeeds.
    /// The check runs right before the renaming, because syncing the bytes to the disk can take
    /// long.
    pub(crate) fn commit_if(self, last_look: impl FnOnce() -> Result<()>) -> Result<File> {
        let AtomicFile { file, temporary, path, destination } = self;
        file.sync_all().map_err(Error::io(&path))?;
        last_look()?;
        temporary.rename(&destination).map_err(Error::io(&path))?;
        // The rename is durable once the directory is synced.
        disk::sync_dir(directory(&destination)).map_err(Error::io(&path))?;
        Ok(file)
    }
}

/// Writes a file atomically: it appears with all its bytes or not at all. The file keeps the
/// permissions of the file it replaces. If `path` is a link, the link stays and its target is
/// written.
///
/// # Errors
/// When the file cannot be written; an existing file is then unchanged.
pub fn write(path: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    let path = path.as_ref();
    let mut target = AtomicFile::create(path)?;
    target.file().write_all(bytes).map_err(Error::io(path))?;
    target.commit().map(drop)
}

/// Copies at most `most` bytes to a new file, and syncs them to the disk.
pub(crate) fn copy_to_new(from: &mut impl Read, most: u64, to: &Path) -> Result<()> {
    let mut copy = || {
        let mut file = disk::open(to, Mode::New(disk::PERMISSIONS))?;
        std::io::copy(&mut from.take(most), &mut file)?;
        file.sync_all()
    };
    copy().map_err(Error::io(to))
}

/// Like [`write()`], for bytes read from a reader.
///
/// # Errors
/// As for [`write()`], and when the bytes cannot be read.
pub fn write_from(path: impl AsRef<Path>, bytes: &mut impl Read) -> Result<()> {
    let path = path.as_ref();
    let mut target = AtomicFile::create(path)?;
    std::io::copy(bytes, target.file()).map_err(Error::io(path))?;
    target.commit().map(drop)
}

/// Checks that a file can be written, without changing an existing file.
///
/// # Errors
/// When the file cannot be written.
pub fn check_writable(path: impl AsRef<Path>) -> Result<()> {
    AtomicFile::start(path.as_ref()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Mode;

    #[test]
    fn what_was_put_there_while_the_bytes_went_to_the_disk_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.model");
        write(&path, b"old").unwrap();
        let standing = disk::open(&path, Mode::Read).unwrap();
        let mut target = AtomicFile::create(&path).unwrap();
        target.file().write_all(b"new").unwrap();
        let refused = target.commit_if(|| {
            // The last check must see every change that happens before it.
            let other = directory.path().join("other");
            fs::write(&other, b"other").unwrap();
            fs::rename(other, &path).unwrap();
            match is_at(&standing, &path) {
                true => Ok(()),
                false => Err(Error::malformed(&path, "replaced")),
            }
        });
        assert!(refused.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"other");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "no temporary file is left");
    }

    #[cfg(unix)]
    #[test]
    fn rights_and_links_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode() & 0o7777;
        fs::create_dir(at("deep")).unwrap();
        write(at("deep/real"), b"1").unwrap();
        for rights in [0o600, 0o640, 0o666, 0o444] {
            fs::set_permissions(at("deep/real"), fs::Permissions::from_mode(rights)).unwrap();
            write(at("deep/real"), b"2").unwrap();
            assert_eq!(mode("deep/real"), rights);
        }
        // A link to a link, a relative link, and a link to a file that does not exist yet.
        symlink("deep/real", at("relative")).unwrap();
        symlink(at("relative"), at("twice")).unwrap();
        symlink("deep/new", at("dangling")).unwrap();
        write(at("twice"), b"3").unwrap();
        write(at("dangling"), b"4").unwrap();
        for name in ["relative", "twice", "dangling"] {
            assert!(fs::symlink_metadata(at(name)).unwrap().is_symlink(), "{name}");
        }
        assert_eq!((fs::read(at("deep/real")).unwrap(), mode("deep/real")), (b"3".to_vec(), 0o444));
        assert_eq!(fs::read(at("deep/new")).unwrap(), b"4");
        // Links without a target are reported.
        symlink("round", at("round")).unwrap();
        symlink("nowhere/x", at("astray")).unwrap();
        assert!(write(at("round"), b"5").unwrap_err().to_string().contains("links"));
        assert!(write(at("astray"), b"5").unwrap_err().to_string().contains("no directory"));
        assert_eq!(fs::read_dir(at("deep")).unwrap().count(), 2, "no temporary file is left");
    }
}
