//! The only interface between durable data and the file system.
//!
//! Index files, journals, models, snapshots and id names are opened, written, synced, renamed and
//! locked only through this module. In a product build every function calls the operating system.
//! In tests of this crate, a path may lead to a [simulated disk](simulated) instead. That disk
//! loses, tears and reorders unsynced writes, and can fail any call.
//!
//! # How is crash safety tested?
//!
//! All durable data goes through this module: open, read, write, sync, rename, truncate, lock. In
//! the library's tests, a path below `/simulated-disk` leads to `disk/simulated/`, which tracks
//! what was synced. `store/simulation.rs` drives a store without threads (`store/inline.rs`)
//! through random changes, failures and crashes, all determined by one seed. Before about every
//! third call that changes the disk, the simulation also copies the disk, crashes the copy and
//! opens it. `index/simulation.rs` does the same for index files. `store/faults.rs` has one test
//! for each single fault.

#[cfg(test)]
pub(crate) mod simulated;

use std::ffi::OsString;
use std::fs::{self, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

pub(crate) enum File {
    Real(fs::File),
    #[cfg(test)]
    Simulated(simulated::Open),
}

/// Mode in which a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Reading a file that exists.
    Read,
    /// Reading and writing a file that exists.
    Write,
    /// Reading and writing; the file is created if it does not exist.
    WriteOrCreate,
    /// Reading and writing; an existing file is emptied, and a missing file is created.
    Empty,
    /// Reading and writing a file that must not exist yet, with these permissions if the system
    /// supports permissions.
    New(u32),
}

/// Default permissions of new files, before the umask is applied.
pub(crate) const PERMISSIONS: u32 = 0o666;

/// Device and inode number of a file, which stay the same for as long as the file exists.
pub(crate) type Identity = (u64, u64);

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: OsString,
    pub(crate) is_dir: bool,
    pub(crate) len: u64,
}

/// Calls the simulated disk that a path leads to, if there is one.
macro_rules! simulated {
    ($path:expr, $call:expr) => {
        #[cfg(test)]
        if let Some(disk) = simulated::Disk::at($path) {
            #[allow(clippy::redundant_closure_call)]
            return $call(disk);
        }
    };
}

pub(crate) fn open(path: &Path, mode: Mode) -> io::Result<File> {
    simulated!(path, |disk: simulated::Disk| disk.open(path, mode).map(File::Simulated));
    let mut options = OpenOptions::new();
    options.read(true).write(mode != Mode::Read);
    match mode {
        Mode::Read | Mode::Write => {}
        Mode::WriteOrCreate => {
            options.create(true).truncate(false);
        }
        Mode::Empty => {
            options.create(true).truncate(true);
        }
        Mode::New(permissions) => {
            options.create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, permissions);
            #[cfg(not(unix))]
            let _unused: u32 = permissions;
        }
    }
    options.open(path).map(File::Real)
}

pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path, Mode::Read)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Renames a file or directory within its directory, replacing any file that has the new name.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    simulated!(from, |disk: simulated::Disk| disk.rename(from, to));
    fs::rename(from, to)
}

pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    simulated!(path, |disk: simulated::Disk| disk.remove(path));
    fs::remove_file(path)
}

pub(crate) fn create_dir(path: &Path) -> io::Result<()> {
    simulated!(path, |disk: simulated::Disk| disk.create_dir(path));
    fs::create_dir(path)
}

/// Removes a directory and everything in it.
pub(crate) fn remove_dir_all(path: &Path) -> io::Result<()> {
    simulated!(path, |disk: simulated::Disk| disk.remove(path));
    fs::remove_dir_all(path)
}

/// Makes the creation, renaming and removal of names in a directory durable.
pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    simulated!(path, |disk: simulated::Disk| disk.sync_dir(path));
    #[cfg(unix)]
    {
        let synced = fs::File::open(path)?.sync_all();
        match synced {
            // Some network file systems cannot sync a directory, and write names to disk at once.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
                ) =>
            {
                Ok(())
            }
            synced => synced,
        }
    }
    // Other systems cannot open a directory, and keep its names consistent on their own.
    #[cfg(not(unix))]
    Ok(())
}

/// Returns whether a path exists. Errors other than "not found" are returned.
pub(crate) fn exists(path: &Path) -> io::Result<bool> {
    simulated!(path, |disk: simulated::Disk| Ok(disk.exists(path)));
    path.try_exists()
}

pub(crate) fn is_dir(path: &Path) -> bool {
    simulated!(path, |disk: simulated::Disk| disk.is_dir(path));
    path.is_dir()
}

/// Returns the names in a directory, in no particular order.
pub(crate) fn list(path: &Path) -> io::Result<Vec<Entry>> {
    simulated!(path, |disk: simulated::Disk| disk.list(path));
    let mut entries = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        match entry.metadata() {
            Ok(found) => {
                let (is_dir, len) = (found.is_dir(), found.len());
                entries.push(Entry { name: entry.file_name(), is_dir, len });
            }
            // Another process removed the file after it was listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(entries)
}

/// Returns the path without links and relative parts.
pub(crate) fn canonicalize(path: &Path) -> io::Result<PathBuf> {
    simulated!(path, |_| Ok(path.to_path_buf()));
    fs::canonicalize(path)
}

/// Returns the device and inode number of the file at a path; `None` if the system has no such
/// numbers.
pub(crate) fn identity_at(path: &Path) -> io::Result<Option<Identity>> {
    simulated!(path, |disk: simulated::Disk| disk.identity_at(path).map(Some));
    fs::metadata(path).map(|found| identity(&found))
}

#[cfg(unix)]
fn identity(found: &fs::Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    Some((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(_: &fs::Metadata) -> Option<Identity> {
    None
}

/// Returns a random number for a temporary name.
pub(crate) fn draw(path: &Path) -> u64 {
    use std::hash::{BuildHasher, Hasher};
    simulated!(path, |disk: simulated::Disk| disk.draw());
    #[cfg(not(test))]
    let _unused: &Path = path;
    std::hash::RandomState::new().build_hasher().finish()
}

impl File {
    /// Returns another handle of the same open file, with the same cursor. Simulated files do not
    /// support this.
    #[cfg(feature = "arrow")]
    pub(crate) fn try_clone(&self) -> io::Result<File> {
        let file = self.real().ok_or(io::ErrorKind::Unsupported)?;
        file.try_clone().map(File::Real)
    }

    /// Reads into `out` from an offset onwards; returns the number of bytes read, which may be less
    /// than requested.
    pub(crate) fn read_at(&self, out: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            #[cfg(unix)]
            File::Real(file) => std::os::unix::fs::FileExt::read_at(file, out, offset),
            #[cfg(windows)]
            File::Real(file) => std::os::windows::fs::FileExt::seek_read(file, out, offset),
            #[cfg(test)]
            File::Simulated(file) => file.read_at(out, offset),
        }
    }

    /// Writes bytes at an offset; returns the number of bytes written, which may be less than
    /// requested.
    pub(crate) fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        match self {
            #[cfg(unix)]
            File::Real(file) => std::os::unix::fs::FileExt::write_at(file, bytes, offset),
            #[cfg(windows)]
            File::Real(file) => std::os::windows::fs::FileExt::seek_write(file, bytes, offset),
            #[cfg(test)]
            File::Simulated(file) => file.write_at(bytes, offset),
        }
    }

    /// Reads up to `out.len()` bytes from an offset onwards. Reads fewer bytes only at the end of
    /// the file.
    pub(crate) fn read_up_to(&self, out: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut read = 0;
        while read < out.len() {
            match self.read_at(&mut out[read..], offset + read as u64) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }

    /// Fills `out` from an offset onwards; fails if the file ends before `out` is full.
    pub(crate) fn read_exact_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        match self.read_up_to(out, offset)? {
            read if read == out.len() => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    pub(crate) fn write_all_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.write_at(bytes, offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    (bytes, offset) = (&bytes[written..], offset + written as u64);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> io::Result<u64> {
        match self {
            File::Real(file) => file.metadata().map(|found| found.len()),
            #[cfg(test)]
            File::Simulated(file) => file.len(),
        }
    }

    pub(crate) fn set_len(&self, len: u64) -> io::Result<()> {
        match self {
            File::Real(file) => file.set_len(len),
            #[cfg(test)]
            File::Simulated(file) => file.set_len(len),
        }
    }

    /// Makes all bytes and the length durable.
    pub(crate) fn sync_data(&self) -> io::Result<()> {
        match self {
            File::Real(file) => file.sync_data(),
            #[cfg(test)]
            File::Simulated(file) => file.sync(),
        }
    }

    /// Makes all bytes, the length and the permissions durable.
    pub(crate) fn sync_all(&self) -> io::Result<()> {
        match self {
            File::Real(file) => file.sync_all(),
            #[cfg(test)]
            File::Simulated(file) => file.sync(),
        }
    }

    pub(crate) fn try_lock(&self) -> Result<(), TryLockError> {
        match self {
            File::Real(file) => file.try_lock(),
            #[cfg(test)]
            File::Simulated(file) => file.try_lock(),
        }
    }

    pub(crate) fn unlock(&self) -> io::Result<()> {
        match self {
            File::Real(file) => file.unlock(),
            #[cfg(test)]
            File::Simulated(file) => file.unlock(),
        }
    }

    /// Returns the device and inode number; `None` if the system has no such numbers.
    pub(crate) fn identity(&self) -> io::Result<Option<Identity>> {
        match self {
            File::Real(file) => file.metadata().map(|found| identity(&found)),
            #[cfg(test)]
            File::Simulated(file) => Ok(Some(file.identity())),
        }
    }

    /// Returns the operating system's file, to map it or set its permissions; `None` on a simulated
    /// disk.
    pub(crate) fn real(&self) -> Option<&fs::File> {
        match self {
            File::Real(file) => Some(file),
            #[cfg(test)]
            File::Simulated(_) => None,
        }
    }
}

impl Read for &File {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            File::Real(file) => (&*file).read(out),
            #[cfg(test)]
            File::Simulated(file) => file.read(out),
        }
    }
}

impl Write for &File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            File::Real(file) => (&*file).write(bytes),
            #[cfg(test)]
            File::Simulated(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for &File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            File::Real(file) => (&*file).seek(to),
            #[cfg(test)]
            File::Simulated(file) => file.seek(to),
        }
    }
}

impl Read for File {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        (&*self).read(out)
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self).flush()
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        (&*self).seek(to)
    }
}
