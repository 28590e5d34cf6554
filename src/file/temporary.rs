//! Temporary files: whose they are, and who removes them.
//!
//! The temporary file of `digits.model` is `.digits.model.XXXXXXXX.hashbrook.part`, beside it, where
//! each X is a letter or digit drawn at random: the name says what it is and of which file, and of no
//! other. Its writer keeps it locked. So whoever writes `digits.model` next can tell what a process
//! left that was killed (it is not locked) from what another is writing, and removes it.
//!
//! A process that ends by a signal runs no destructors; for that it keeps a list of its own, see
//! [`remove_unfinished`].

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{Metadata, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::standing::{folder, is_at, open_to_lock};
use crate::disk::{self, File, Mode};

const DRAWN: usize = 8;
const SUFFIX: &str = ".hashbrook.part";
/// Names of more bytes are shortened: file systems take 255, and ours are longer than the target's.
const LONGEST_NAME: usize = 200;

/// How often a new temporary file is made for one that was taken away.
const TRIES: usize = 100;

/// The temporary files of this process.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a file of this name is one that its writer has not finished.
pub(crate) fn is_part(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(SUFFIX)
}

/// A name that is removed when it is dropped, unless it was renamed.
pub(super) struct Temporary {
    path: PathBuf,
}

impl Temporary {
    /// A new file beside its destination, which nobody can open who cannot open what it replaces.
    pub(super) fn create(
        destination: &Path,
        replaced: Option<&Metadata>,
    ) -> io::Result<(File, Temporary)> {
        #[cfg(unix)]
        let permissions = {
            // Nobody may open the new file who may not open the one that it replaces.
            use std::os::unix::fs::PermissionsExt;
            replaced.map_or(disk::PERMISSIONS, |replaced| replaced.permissions().mode() & 0o777)
        };
        #[cfg(not(unix))]
        let permissions = replaced.map_or(disk::PERMISSIONS, |_| disk::PERMISSIONS);
        for _ in 0..TRIES {
            let path = folder(destination).join(drawn_name(destination));
            // On the list as soon as it exists.
            let mut unfinished = unfinished();
            let file = match disk::open(&path, Mode::New(permissions)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                opened => opened?,
            };
            unfinished.insert(path.clone());
            drop(unfinished);
            let temporary = Temporary { path };
            // Before it was locked another process may have taken it for a leftover. Where files
            // cannot be locked, none takes anything for one.
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

    /// Gives the file its name for good, replacing what has it.
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

/// While it lives, this process can neither start a file nor put one in its place; see
/// [`remove_unfinished`].
#[derive(Debug)]
#[must_use = "files can be started again once it is dropped"]
pub struct Halted {
    _unfinished: MutexGuard<'static, BTreeSet<PathBuf>>,
}

/// Removes the temporary files of all files that this process has begun to write and not finished,
/// as a program should that ends without returning from what it does, for instance by
/// [`std::process::exit`] after Ctrl-C. Whoever would start or finish a file waits until what is
/// returned is dropped: keep it to the end, and nothing is left.
///
/// Not to be called from within a signal handler, as it takes a lock.
pub fn remove_unfinished() -> Halted {
    let mut unfinished = unfinished();
    while let Some(path) = unfinished.pop_first() {
        // The process ends: what cannot be removed now, the next writer of the same file removes.
        disk::remove_file(&path).ok();
    }
    Halted { _unfinished: unfinished }
}

/// Removes what processes left that were killed while they wrote this file, which must not be named
/// by a link.
pub(crate) fn remove_leftovers(destination: &Path) {
    let prefix = prefix(destination);
    for entry in disk::list(folder(destination)).into_iter().flatten() {
        if entry.is_dir || !is_temporary(&entry.name, &prefix) {
            continue;
        }
        let path = folder(destination).join(&entry.name);
        // Those who write still have it locked.
        if let Ok(file) = open_to_lock(&path)
            && file.try_lock().is_ok()
        {
            // What cannot be removed does no harm, and is tried again by the next writer.
            disk::remove_file(&path).ok();
        }
    }
}

/// Draws a name for a temporary file that is to take the name of `destination`.
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

/// How the names of a file's temporary files begin.
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

/// Whether this is the name of a temporary file of the file with this prefix. What was drawn has a
/// fixed length and no dot, so the name of one file's is never that of another's.
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

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn only_leftovers_of_the_same_file_go() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let long = "x".repeat(255);
        for name in ["hashbrook", "a", "a.b", "a.12345678", &long] {
            // Locked, as its writer is alive.
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
            assert_eq!(names(folder.path()), expected, "of {name}");
        }
    }

    #[test]
    fn nothing_is_left_of_what_is_given_up() {
        // Of all files of this process: in a process of its own, so that no other test loses any.
        const ALONE: &str = "HASHBROOK_TEST_IN";
        let Some(folder) = std::env::var_os(ALONE).map(PathBuf::from) else {
            let folder = tempfile::tempdir().unwrap();
            let name = "file::temporary::tests::nothing_is_left_of_what_is_given_up";
            let output = std::process::Command::new(std::env::current_exe().unwrap())
                .args([name, "--exact", "--nocapture"])
                .env(ALONE, folder.path())
                .output()
                .unwrap();
            assert_eq!(output.status.code(), Some(130), "{output:?}");
            assert_eq!(names(folder.path()), ["whole"]);
            return;
        };
        super::super::write(folder.join("whole"), b"all").unwrap();
        let held: Vec<_> =
            ["a", "b"].map(|name| Temporary::create(&folder.join(name), None).unwrap()).into();
        assert_eq!(names(&folder).len(), 3);
        let halted = remove_unfinished();
        assert_eq!(names(&folder), ["whole"]);
        // Who starts one meanwhile waits, to the end.
        let waiting = folder.clone();
        std::thread::spawn(move || Temporary::create(&waiting.join("c"), None).unwrap());
        std::thread::sleep(std::time::Duration::from_millis(50));
        let (_held, _halted) = (held, halted);
        std::process::exit(130);
    }
}
