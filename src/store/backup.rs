//! Copying a whole store, and verifying that all stored data is what was written.

use std::io;
use std::path::{Path, PathBuf};

use super::current::{Current, JOURNAL};
use super::journal::{Change, Cursor, Journal};
use super::shared::{Moment, Shared, lock};
use crate::disk::{self, Mode};
use crate::file::{AtomicFile, copy_to_new, is_temporary_of};
use crate::{Error, Features, IdNames, Model, Result};

/// Copies a store, including everything acknowledged so far, to a directory that does not exist
/// yet.
pub(super) fn copy(shared: &Shared, to: &Path) -> Result<()> {
    into_new(to, |made| {
        // The lock keeps files from being removed before they are copied, and allows one copy at a
        // time.
        let current = lock(&shared.current);
        let end = lock(&shared.progress).end;
        shared.check_place()?;
        fill(shared, &current, end, made)?;
        // Files are copied by name, so the directory is checked again.
        shared.check_place()
    })
}

/// Creates a directory that does not exist yet, completely or not at all. The directory is filled
/// under a temporary name, so that several processes may try; the first to finish gets the name.
pub(super) fn into_new(to: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    if disk::exists(to).map_err(Error::io(to))? {
        return Err(Error::NotEmpty(to.to_path_buf()));
    }
    let parent =
        to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let claimed = claim(parent, to).map_err(|error| match disk::exists(to) {
        // Another process was faster.
        Ok(true) => Error::NotEmpty(to.to_path_buf()),
        _ => error,
    });
    let (made, claim) = claimed?;
    let filled = fill_and_rename(&made, to, fill);
    if filled.is_err() {
        // If the removal fails, the next snapshot of this name removes the directory.
        disk::remove_dir_all(&made).ok();
    }
    drop(claim);
    filled?;
    disk::sync_dir(parent).map_err(Error::io(parent))
}

/// Suffix of the name of a directory that is being filled.
const DIRECTORY: &str = ".dir";

/// Creates a directory next to `to` and claims it: a locked file of the same name without the
/// suffix shows that it is not a leftover. Leftovers of killed processes are removed.
fn claim(parent: &Path, to: &Path) -> Result<(PathBuf, AtomicFile)> {
    remove_leftovers(parent, to);
    // The file is locked when it is created, and removed when the claim is dropped.
    let claim = AtomicFile::create(to)?;
    let made = directory_of(claim.temporary());
    disk::create_dir(&made).map_err(Error::io(&made))?;
    Ok((made, claim))
}

/// Returns the directory that a temporary file claims.
fn directory_of(claim: &Path) -> PathBuf {
    let mut name = claim.as_os_str().to_owned();
    name.push(DIRECTORY);
    name.into()
}

fn fill_and_rename(made: &Path, to: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    fill(made)?;
    disk::sync_dir(&made.join(JOURNAL)).map_err(Error::io(made))?;
    disk::sync_dir(made).map_err(Error::io(made))?;
    disk::rename(made, to).map_err(|error| match error.kind() {
        io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists => {
            Error::NotEmpty(to.to_path_buf())
        }
        _ => Error::io(to)(error),
    })
}

/// Removes leftovers of killed processes that were creating the same directory. Leftovers that
/// cannot be removed only take up space.
fn remove_leftovers(parent: &Path, to: &Path) {
    for entry in disk::list(parent).into_iter().flatten() {
        let claim = entry.name.to_str().and_then(|name| name.strip_suffix(DIRECTORY));
        let Some(claim) = claim.filter(|claim| is_temporary_of(claim.as_ref(), to)) else {
            continue;
        };
        let is_claimed = disk::open(&parent.join(claim), Mode::Write)
            .is_ok_and(|claim| claim.try_lock().is_err());
        if !is_claimed {
            disk::remove_dir_all(&parent.join(&entry.name)).ok();
        }
    }
}

fn fill(shared: &Shared, current: &Current, end: u64, to: &Path) -> Result<()> {
    let journal = to.join(JOURNAL);
    Journal::copy(&shared.files, end, &journal)?;
    shared.description.save(&journal)?;
    shared.description.save(to)?;
    let mut names = vec![current.index.clone(), current.model.clone()];
    let texts = IdNames::path_beside(current.index_path(&shared.directory));
    if disk::exists(&texts).map_err(Error::io(&texts))? {
        names.push(format!("{}.ids", current.index));
    }
    for name in names {
        let from = shared.directory.join(&name);
        let mut file = disk::open(&from, Mode::Read).map_err(Error::io(&from))?;
        copy_to_new(&mut file, u64::MAX, &to.join(&name))?;
    }
    // Saved last: `current.json` makes the other files count.
    current.save(to)
}

/// Reads all data of a store, compares it with its checksums, and compares items with the index.
pub(super) fn verify(shared: &Shared) -> Result<()> {
    let _layout = lock(&shared.layout);
    let (moment, start) = {
        let current = lock(&shared.current);
        // Loaded under the lock, so that no newer model replaces this file meanwhile.
        Model::load(current.model_path(&shared.directory))?;
        (shared.moment(), current.journal_start)
    };
    moment.index.verify()?;
    let mut cursor = Cursor::new(shared.files.clone(), start);
    let mut there = 0;
    while let Some(record) = cursor.next(moment.position)? {
        let Change::Put(put) = record.change else { continue };
        let mut live = Vec::new();
        for (at, row) in put.rows {
            if moment.index.place(row.id)? == Some(record.at + at) {
                live.push(row);
            }
        }
        there += live.len();
        let values: Vec<f32> = live.iter().flat_map(|row| row.vector.iter().copied()).collect();
        let function = moment.index.function().ok_or(Error::NoFunction)?;
        let codes = function.encode(Features::new(&values, shared.description.dim)?)?;
        for (row, code) in live.iter().zip(codes.iter()) {
            let item = moment.index.get(row.id)?.ok_or_else(|| differs(shared, row.id))?;
            if item.code != code || item.labels != row.labels {
                return Err(differs(shared, row.id));
            }
        }
    }
    check_count(shared, &moment, there)
}

fn check_count(shared: &Shared, moment: &Moment, there: usize) -> Result<()> {
    if there == moment.index.len() {
        return Ok(());
    }
    let items = moment.index.len();
    let problem = format!("is damaged: its journal has {there} items, and its index {items}");
    Err(Error::Damaged { path: shared.directory.clone(), problem })
}

fn differs(shared: &Shared, id: u64) -> Error {
    let problem =
        format!("is damaged: item {id} has another code or other labels than its journal says");
    Error::Damaged { path: shared.directory.clone(), problem }
}
