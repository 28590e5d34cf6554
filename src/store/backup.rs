//! A copy of a whole store, and whether all that is stored is what was written.

use std::fs::{self, File};
use std::path::Path;

use super::current::{Current, JOURNAL};
use super::journal::{Change, Cursor, Journal, START};
use super::shared::{Moment, Shared, lock};
use crate::file::copy_to_new;
use crate::{Error, Features, IdNames, Model, Result};

/// Copies a store, as it is acknowledged up to now, to a folder that is not there yet.
pub(super) fn copy(shared: &Shared, to: &Path) -> Result<()> {
    into_new(to, |made| {
        // No file is removed that is still to be copied, and there is one copy at a time.
        let current = lock(&shared.current);
        let end = lock(&shared.progress).end;
        fill(shared, &current, end, made)
    })
}

/// Makes a folder that is not there yet: whole, or not at all.
pub(super) fn into_new(to: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    if to.exists() {
        return Err(Error::NotEmpty(to.to_path_buf()));
    }
    let parent =
        to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = to.file_name().unwrap_or_default().to_string_lossy();
    let made = parent.join(format!(".{name}.hashbrook.part"));
    if made.exists() {
        // The process that made it was killed.
        fs::remove_dir_all(&made).map_err(Error::io(&made))?;
    }
    fs::create_dir(&made).map_err(Error::io(&made))?;
    if let Err(error) = fill(&made).and_then(|()| fs::rename(&made, to).map_err(Error::io(to))) {
        let _ = fs::remove_dir_all(&made);
        return Err(error);
    }
    if let Ok(folder) = File::open(parent) {
        let _ = folder.sync_all();
    }
    Ok(())
}

fn fill(shared: &Shared, current: &Current, end: u64, to: &Path) -> Result<()> {
    shared.description.save(to)?;
    Journal::copy(&shared.files, end, &to.join(JOURNAL))?;
    let mut names = vec![current.index.clone(), current.model.clone()];
    let texts = IdNames::path_beside(current.index_path(&shared.folder));
    if texts.exists() {
        names.push(format!("{}.ids", current.index));
    }
    for name in names {
        let from = shared.folder.join(&name);
        let mut file = File::open(&from).map_err(Error::io(&from))?;
        copy_to_new(&mut file, u64::MAX, &to.join(&name))?;
    }
    // Last, as it makes the others count.
    current.save(to)
}

/// Reads all of a store, and compares it with its checksums, and items with what the index has of them.
pub(super) fn verify(shared: &Shared) -> Result<()> {
    let (moment, model) = {
        let current = lock(&shared.current);
        (shared.moment(), current.model_path(&shared.folder))
    };
    moment.index.verify()?;
    // Another may have taken its place meanwhile, which was just written.
    if model.exists() {
        Model::load(&model)?;
    }
    let mut cursor = Cursor::new(shared.files.clone(), START);
    let mut there = 0;
    while let Some(record) = cursor.next(moment.position)? {
        let Change::Put(rows) = record.change else { continue };
        let mut live = Vec::new();
        for (at, row) in rows {
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
    Err(Error::Damaged { path: shared.folder.clone(), problem })
}

fn differs(shared: &Shared, id: u64) -> Error {
    let problem =
        format!("is damaged: item {id} has another code or other labels than its journal says");
    Error::Damaged { path: shared.folder.clone(), problem }
}
