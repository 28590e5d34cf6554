//! Repairing a store: sound changes are copied to a new journal, and everything else is rebuilt
//! from it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::answer::Repaired;
use super::backup::{into_new, verify};
use super::compacted::Copy;
use super::current::{Current, JOURNAL, LOCK};
use super::description::{Description, IdKind};
use super::inline::Inline;
use super::journal::{
    Change, Journal, NewRecord, Origin, PutChange, Record, Row, Salvaged, salvage,
};
use super::open::{locked, shape};
use super::settings::Settings;
use crate::{Error, IdNames, Index, LabelNames, Model, Result, disk};

/// Repairs the store in a directory, either into another directory or in place. In place, the
/// damaged store is moved aside.
pub(super) fn repair(directory: &Path, to: Option<&Path>) -> Result<Repaired> {
    // The lock keeps others from changing the store. If the lock file does not exist, no process
    // has the store open.
    let lock_path = directory.join(LOCK);
    let has_lock = disk::exists(&lock_path).map_err(Error::io(&lock_path))?;
    let _lock = if has_lock { Some(locked(directory)?) } else { None };
    let mut repaired = Repaired::default();
    let description = description(directory, &mut repaired)?;
    let make = |made: &Path, repaired: &mut Repaired| -> Result<()> {
        let kept = Kept::of(directory, &description, repaired);
        fill(directory, made, &description, kept, repaired)?;
        rebuild(made, repaired)
    };
    match to {
        Some(to) => {
            into_new(to, |made| make(made, &mut repaired))?;
            repaired.directory = to.to_path_buf();
        }
        None => {
            let directory = &disk::canonicalize(directory).map_err(Error::io(directory))?;
            let (aside, ready) = (beside(directory, "damaged")?, beside(directory, "repaired")?);
            into_new(&ready, |made| make(made, &mut repaired))?;
            disk::rename(directory, &aside).map_err(Error::io(directory))?;
            disk::rename(&ready, directory).map_err(Error::io(directory))?;
            let parent = directory.parent().unwrap_or(directory);
            disk::sync_dir(parent).map_err(Error::io(parent))?;
            (repaired.directory, repaired.damaged) = (directory.clone(), Some(aside));
        }
    }
    Ok(repaired)
}

/// Returns a free name next to a directory.
fn beside(directory: &Path, what: &str) -> Result<PathBuf> {
    let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for number in 1.. {
        let number = if number == 1 { String::new() } else { format!("-{number}") };
        let path = directory.with_file_name(format!("{name}.{what}{number}"));
        if !disk::exists(&path).map_err(Error::io(&path))? {
            return Ok(path);
        }
    }
    Err(Error::NotEmpty(directory.to_path_buf()))
}

/// Returns the description of a store, or its copy in the journal.
fn description(directory: &Path, repaired: &mut Repaired) -> Result<Description> {
    Description::load(directory).or_else(|error| {
        let copy = Description::load(&directory.join(JOURNAL)).map_err(|_| error)?;
        repaired.rebuilt.push("store.json: taken from its copy in the journal".to_owned());
        Ok(copy)
    })
}

/// Sound model, and its progress in the journal.
struct Kept {
    current: Current,
    model: Model,
}

impl Kept {
    /// Returns the model of a store, if the model and its recorded progress are sound. Reports
    /// other damaged files.
    fn of(directory: &Path, description: &Description, repaired: &mut Repaired) -> Option<Kept> {
        let mut sound =
            |what: &str, error: Error| repaired.rebuilt.push(format!("{what}: {error}"));
        let current = match Current::load(directory) {
            Ok(current) => current,
            Err(error) => {
                sound("current.json", error);
                return None;
            }
        };
        let index = Index::over(&current.index_path(directory)).and_then(|index| index.verify());
        if let Err(error) = index {
            sound("the index", error);
        }
        match Model::load(current.model_path(directory)) {
            Ok(model) if model.bits() == description.bits => Some(Kept { current, model }),
            Ok(_) => None,
            Err(error) => {
                sound("the model", error);
                None
            }
        }
    }
}

/// Writes a store whose journal has all sound changes and whose index has no items.
fn fill(
    directory: &Path,
    made: &Path,
    description: &Description,
    kept: Option<Kept>,
    repaired: &mut Repaired,
) -> Result<()> {
    let (from, journal) = (directory.join(JOURNAL), made.join(JOURNAL));
    Journal::create(&journal, shape(description))?;
    let mut rewrite = Rewrite {
        copy: Copy::begin(&journal, shape(description), 0, Origin::Appended)?,
        positions: HashMap::new(),
        learned: None,
        kept: kept.as_ref().map(|kept| kept.current.model_position),
        names: LabelNames::new(),
        lost_names: 0,
        texts: Vec::new(),
    };
    let salvaged = salvage(&from, shape(description), &mut |record| rewrite.record(record))?;
    let Salvaged { losses, unfinished, end, .. } = salvaged;
    let new_end = rewrite.copy.position()?;
    if kept.as_ref().is_some_and(|kept| kept.current.model_position == end) {
        rewrite.learned = Some(new_end);
    }
    let Rewrite { copy, learned, names, lost_names, texts, .. } = rewrite;
    copy.finish()?;
    Journal::note_end(&journal, new_end)?;
    let mut current = Current::new();
    // The saved model is used only if everything that it has learned still exists.
    let model = match (kept, learned) {
        (Some(kept), Some(position)) if losses.is_empty() => {
            (current.version, current.not_unlearned) =
                (kept.current.version + 1, kept.current.not_unlearned);
            (current.model_position, current.model_rows) = (position, kept.current.model_rows);
            let steps = kept.current.model_steps;
            (current.model_steps, current.function_steps) = (steps, steps);
            kept.model
        }
        (kept, _) => {
            if kept.is_some() {
                repaired.rebuilt.push("the model: not all it was learned from is there".to_owned());
            }
            let mut model = description.start()?;
            *model.label_names_mut() = names;
            model
        }
    };
    (current.index, current.model) = (current.next_name("index", 0), current.next_name("model", 0));
    model.save(current.model_path(made))?;
    let path = current.index_path(made);
    Index::with_places(model.try_hash_function()?).save(&path)?;
    if description.ids == IdKind::Texts {
        id_names(texts).save(IdNames::path_beside(&path))?;
    }
    description.save(&journal)?;
    description.save(made)?;
    current.save(made)?;
    (repaired.losses, repaired.unfinished_bytes) = (losses, unfinished);
    repaired.lost_label_names = lost_names;
    Ok(())
}

/// Returns the strings of all ids, in order of their numbers. A number whose string is in no row
/// any more gets a new string.
fn id_names(texts: Vec<Option<String>>) -> IdNames {
    let mut names = IdNames::new();
    for (number, text) in texts.iter().enumerate() {
        let taken = |text: &str| {
            names.find(text).is_some() || texts.iter().flatten().any(|other| other == text)
        };
        let mut name = text.clone().filter(|text| names.find(text).is_none());
        let mut free = format!("removed item {number}");
        while name.is_none() && taken(&free) {
            free.push('\'');
        }
        names.number(&name.take().unwrap_or(free));
    }
    names
}

/// Learns and encodes the items of the journal.
fn rebuild(made: &Path, repaired: &mut Repaired) -> Result<()> {
    let store = Inline::open(made, Settings::default())?;
    while store.learn()? {}
    store.save()?;
    store.renew()?;
    verify(&store.shared)?;
    repaired.items = store.shared.moment().index.len();
    store.close()
}

/// Journal that is written from the sound changes of another.
struct Rewrite {
    copy: Copy,
    /// Position of the row of each item, by id.
    positions: HashMap<u64, u64>,
    /// Position up to which the saved model learned: in the old journal, and in the new one once
    /// the rewrite has reached it.
    kept: Option<u64>,
    learned: Option<u64>,
    names: LabelNames,
    lost_names: usize,
    /// Strings that ids stand for, by number.
    texts: Vec<Option<String>>,
}

impl Rewrite {
    fn record(&mut self, record: Record) -> Result<()> {
        if self.kept == Some(record.at) {
            self.learned = Some(self.copy.position()?);
        }
        match record.change {
            Change::Put(put) => self.put(put, record.at),
            Change::Remove(items) => {
                let mut old = |id: u64| self.positions.remove(&id).map(|position| (id, position));
                let items: Vec<(u64, u64)> =
                    items.into_iter().filter_map(|(id, _)| old(id)).collect();
                self.copy.add(|bytes, start| NewRecord::remove(&items, start, bytes))
            }
        }
    }

    fn put(&mut self, put: PutChange, at: u64) -> Result<()> {
        let PutChange { first, names, rows } = put;
        let before = self.names.len();
        for (number, name) in (first..).zip(names) {
            self.fill_names(number);
            if self.names.len() == number as usize && self.names.find(&name).is_none() {
                self.names.id(&name);
            }
        }
        let labels = rows.iter().flat_map(|(_, row)| &row.labels).max();
        if let Some(&label) = labels {
            self.fill_names(label.saturating_add(1));
        }
        let all = self.names.iter();
        let new: Vec<String> = all.skip(before).map(str::to_owned).collect();
        for (_, row) in rows.iter().filter(|(_, row)| !row.text.is_empty()) {
            let number = row.id as usize;
            // Numbers count up from 0, so a number far above the row count is damage that the
            // checksum missed.
            if number < self.texts.len().max(1) * 2 + rows.len() + (1 << 20) {
                self.texts.resize(self.texts.len().max(number + 1), None);
                self.texts[number] = Some(row.text.clone());
            }
        }
        let replaced: Vec<u64> = rows
            .iter()
            .map(|(_, row)| self.positions.get(&row.id).copied().unwrap_or(super::journal::NOWHERE))
            .collect();
        let ids: Vec<u64> = rows.iter().map(|(_, row)| row.id).collect();
        let rows: Vec<(u64, Row)> =
            rows.into_iter().map(|(offset, row)| (at + offset, row)).collect();
        let positions = self.copy.put_rows(before as u32, &new, &rows, &replaced)?;
        self.positions.extend(ids.into_iter().zip(positions));
        Ok(())
    }

    /// Gives new names to the labels with numbers below `end` whose names were lost.
    fn fill_names(&mut self, end: u32) {
        while (self.names.len() as u64) < u64::from(end) {
            let mut name = format!("lost label {}", self.names.len());
            while self.names.find(&name).is_some() {
                name.push('\'');
            }
            self.names.id(&name);
            self.lost_names += 1;
        }
    }
}
