//! Temporary files: ownership and removal.
//!
//! The temporary file of `digits.model` is `.digits.model.XXXXXXXX.hashbrook.part`, in the same
//! directory, where each X is a random letter or digit. The name identifies it as the temporary
//! file of exactly one target. The process that writes a temporary file keeps it locked. The next
//! writer of `digits.model` can therefore distinguish leftovers of killed processes, which are not
//! locked, from files that are being written, and removes the leftovers.
//!
//! A process that a signal terminates runs no destructors. For this case the process keeps a list
//! of its temporary files; see [`remove_unfinished`].

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{Metadata, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::standing::{directory, is_at, open_to_lock};
use crate::disk::{self, File, Mode};

const DRAWN: usize = 8;
const SUFFIX: &str = ".hashbrook.part";
/// Longest target name in bytes that is used unchanged; longer names are shortened. File systems
/// allow 255 bytes, and temporary names are longer than the target's.
const LONGEST_NAME: usize = 200;

/// Number of attempts to create a temporary file that another process keeps removing.
const TRIES: usize = 100;

/// Paths of this process's temporary files.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether this is the name of a temporary file.
pub(crate) fn is_part(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(SUFFIX)
}

/// Path of a temporary file, which is removed on drop unless the file was renamed.
pub(super) struct Temporary {
    path: PathBuf,
}

impl Temporary {
    /// Creates a new file in the directory of its destination. Users who cannot open the replaced
    /// file cannot open the new one.
    pub(super) fn create(
        destination: &Path,
        replaced: Option<&Metadata>,
    ) -> io::Result<(File, Temporary)> {
        #[cfg(unix)]
        let permissions = {
            // The new file must not be accessible to users who cannot open the file that it
            // replaces.
            use std::os::unix::fs::PermissionsExt;
            replaced.map_or(disk::PERMISSIONS, |replaced| replaced.permissions().mode() & 0o777)
        };
        #[cfg(not(unix))]
        let permissions = replaced.map_or(disk::PERMISSIONS, |_| disk::PERMISSIONS);
        for _ in 0..TRIES {
            let path = directory(destination).join(drawn_name(destination));
            // The lock ensures that the file is on the list as soon as it exists.
            let mut unfinished = unfinished();
            let file = match disk::open(&path, Mode::New(permissions)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                opened => opened?,
            };
            unfinished.insert(path.clone());
            drop(unfinished);
            let temporary = Temporary { path };
            // Before the file was locked, another process may have taken it for a leftover and
            // removed it. Where files cannot be locked, no process removes leftovers.
            let taken = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
            if !taken && is_at(&file, &temporary.path) {
                return Ok((file, temporary));
            }
        }
        Err(io::Error::other("its temporary file is taken away again and again"))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Renames the file to its final name, replacing any existing file.
    pub(super) fn rename(self, name: &Path) -> io::Result<()> {
        let mut unfinished = unfinished();
        disk::rename(&self.path, name)?;
        unfinished.remove(&self.path);
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let mut unfinished = unfinished();
        if unfinished.remove(&self.path) {
            let _ = disk::remove_file(&self.path);
        }
    }
}

/// Guard that blocks this process from creating and finishing files while it exists; see
/// [`remove_unfinished`].
#[derive(Debug)]
#[must_use = "files can be started again once it is dropped"]
pub struct Halted {
    _unfinished: MutexGuard<'static, BTreeSet<PathBuf>>,
}

/// Removes the temporary files of all files that this process has begun to write and not finished.
/// A program should call this before it ends abruptly, for instance by [`std::process::exit`] after
/// Ctrl-C. Threads that create or finish a file block until the returned guard is dropped. Keep the
/// guard until the process ends, so that no temporary file is left.
///
/// Do not call this function from a signal handler: it takes a lock.
pub fn remove_unfinished() -> Halted {
    let mut unfinished = unfinished();
    while let Some(path) = unfinished.pop_first() {
        // The process ends. The next writer of the same file removes any file that cannot be
        // removed now.
        disk::remove_file(&path).ok();
    }
    Halted { _unfinished: unfinished }
}

/// Removes the temporary files that killed processes left while writing this file. `destination`
/// must not be a link.
pub(crate) fn remove_leftovers(destination: &Path) {
    let prefix = prefix(destination);
    for entry in disk::list(directory(destination)).into_iter().flatten() {
        if entry.is_dir || !is_temporary(&entry.name, &prefix) {
            continue;
        }
        let path = directory(destination).join(&entry.name);
        // Active writers keep their files locked.
        if let Ok(file) = open_to_lock(&path)
            && file.try_lock().is_ok()
        {
            // A leftover that cannot be removed does no harm, and the next writer tries again.
            disk::remove_file(&path).ok();
        }
    }
}

/// Draws a random name for a temporary file of `destination`.
fn drawn_name(destination: &Path) -> OsString {
    const LETTERS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut name = prefix(destination);
    let mut drawn = disk::draw(destination);
    for _ in 0..DRAWN {
        name.push(char::from(LETTERS[(drawn % 36) as usize]).to_string());
        drawn /= 36;
    }
    name.push(SUFFIX);
    name
}

/// Returns the common prefix of the names of a file's temporary files.
fn prefix(destination: &Path) -> OsString {
    let name = destination.file_name().unwrap_or_default();
    let mut prefix = OsString::from(".");
    if name.len() <= LONGEST_NAME {
        prefix.push(name);
    } else {
        // A character takes up to four bytes.
        let start: String = name.to_string_lossy().chars().take(LONGEST_NAME / 5).collect();
        let sum = crc32fast::hash(name.as_encoded_bytes());
        prefix.push(format!("{start}~{sum:08x}"));
    }
    prefix.push(".");
    prefix
}

/// Returns whether this is the name of a temporary file or directory of `destination`.
pub(crate) fn is_temporary_of(name: &OsStr, destination: &Path) -> bool {
    is_temporary(name, &prefix(destination))
}

/// Returns whether this is the name of a temporary file with this prefix. The random part has a
/// fixed length and no dots, so temporary names of different files are never equal.
fn is_temporary(name: &OsStr, prefix: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let drawn = name
        .strip_prefix(prefix.as_encoded_bytes())
        .and_then(|rest| rest.strip_suffix(SUFFIX.as_bytes()));
    drawn.is_some_and(|drawn| drawn.len() == DRAWN && drawn.iter().all(u8::is_ascii_alphanumeric))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn only_leftovers_of_the_same_file_go() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let long = "x".repeat(255);
        for name in ["hashbrook", "a", "a.b", "a.12345678", &long] {
            // The file is locked, because its writer is alive.
            let (_file, alive) = Temporary::create(&at(name), None).unwrap();
            let alive = alive.path.file_name().unwrap().to_str().unwrap();
            assert!(alive.len() <= 255 && alive.starts_with('.'), "{alive}");
            let stem = &alive[..alive.len() - DRAWN - SUFFIX.len()];
            let left = format!("{stem}abcdEF12{SUFFIX}");
            let others = [
                ".hashbrook-abcdEF.part".to_owned(),
                format!(".a.c.abcdEF12{SUFFIX}"),
                format!(".a.b.c.abcdEF12{SUFFIX}"),
                format!(".a.abcdEF123{SUFFIX}"),
                format!(".a.abcdEF12{SUFFIX}.kept"),
                format!("a.abcdEF12{SUFFIX}"),
            ];
            others.iter().chain([&left]).for_each(|name| fs::write(at(name), "half").unwrap());
            remove_leftovers(&at(name));
            let mut expected = others.to_vec();
            expected.push(alive.to_owned());
            expected.sort();
            assert_eq!(names(directory.path()), expected, "of {name}");
        }
    }

    #[test]
    fn nothing_is_left_of_what_is_given_up() {
        // `remove_unfinished` affects all files of a process, so this test runs in a child process.
        const ALONE: &str = "HASHBROOK_TEST_IN";
        let Some(directory) = std::env::var_os(ALONE).map(PathBuf::from) else {
            let directory = tempfile::tempdir().unwrap();
            let name = "file::temporary::tests::nothing_is_left_of_what_is_given_up";
            let output = std::process::Command::new(std::env::current_exe().unwrap())
                .args([name, "--exact", "--nocapture"])
                .env(ALONE, directory.path())
                .output()
                .unwrap();
            assert_eq!(output.status.code(), Some(130), "{output:?}");
            assert_eq!(names(directory.path()), ["whole"]);
            return;
        };
        super::super::write(directory.join("whole"), b"all").unwrap();
        let held: Vec<_> =
            ["a", "b"].map(|name| Temporary::create(&directory.join(name), None).unwrap()).into();
        assert_eq!(names(&directory).len(), 3);
        let halted = remove_unfinished();
        assert_eq!(names(&directory), ["whole"]);
        // A thread that creates a file now blocks until the process ends.
        let waiting = directory.clone();
        std::thread::spawn(move || Temporary::create(&waiting.join("c"), None).unwrap());
        std::thread::sleep(std::time::Duration::from_millis(50));
        let (_held, _halted) = (held, halted);
        std::process::exit(130);
    }
}
