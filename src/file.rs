//! Files that appear whole or not at all.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::{Error, Result};

/// A file under construction. It lives under a temporary name beside its destination until
/// [`commit`](AtomicFile::commit); dropped before that, it leaves no trace.
pub(crate) struct AtomicFile {
    temporary: NamedTempFile,
    path: PathBuf,
}

impl AtomicFile {
    /// Starts a file that is to stand at `path`, replacing what is there.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        AtomicFile::create_for(path, ".hashbrook-")
    }

    /// The same, with a temporary name that begins so.
    pub(crate) fn create_for(path: &Path, prefix: &str) -> Result<Self> {
        // Renaming over a device or a folder would destroy it or fail late: refuse early.
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(Error::malformed(path, "is not a regular file, so it is not replaced"));
        }
        if !folder(path).is_dir() {
            let problem = format!("there is no folder {}", folder(path).display());
            return Err(Error::malformed(path, problem));
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix(prefix).suffix(".part");
        #[cfg(unix)]
        {
            // Temporary files are private by default; this one becomes the user's own file.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let temporary = builder.tempfile_in(folder(path)).map_err(Error::io(path))?;
        Ok(AtomicFile { temporary, path: path.to_path_buf() })
    }

    /// The file to write to.
    pub(crate) fn file(&mut self) -> &mut File {
        self.temporary.as_file_mut()
    }

    /// Where the file will stand.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Puts the file in its place once its bytes are on the disk.
    pub(crate) fn commit(self) -> Result<File> {
        let path = self.path;
        self.temporary.as_file().sync_all().map_err(Error::io(&path))?;
        let file =
            self.temporary.persist(&path).map_err(|failed| Error::io(&path)(failed.error))?;
        // The new name is durable once the folder is; systems that cannot sync one are let be.
        if let Ok(folder) = File::open(folder(&path)) {
            let _ = folder.sync_all();
        }
        Ok(file)
    }
}

/// Writes a whole file: it appears with all its bytes, or not at all.
///
/// # Errors
/// When it cannot be written; what stood there before is as it was.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut target = AtomicFile::create(path)?;
    target.file().write_all(bytes).map_err(Error::io(path))?;
    target.commit().map(drop)
}

/// Like [`write`], of bytes that are read from elsewhere.
///
/// # Errors
/// As for [`write`], and when they cannot be read.
pub fn write_from(path: &Path, bytes: &mut impl Read) -> Result<()> {
    let mut target = AtomicFile::create(path)?;
    std::io::copy(bytes, target.file()).map_err(Error::io(path))?;
    target.commit().map(drop)
}

/// Whether a file can be written, found out without touching what stands there.
///
/// # Errors
/// When it cannot.
pub fn check_writable(path: &Path) -> Result<()> {
    AtomicFile::create(path).map(drop)
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
