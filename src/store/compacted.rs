//! Journals without dead rows: a copy of a store, and compaction while a store is in use.
//!
//! Rows before the position of the saved model are copied if they are live. Later records have not
//! been learned. These records are copied one by one, together with the rows that they replace or
//! remove, so that learning continues in the copy as it would in the original.
//!
//! Compaction of a store in use replaces the files before a boundary, once all of their records are
//! learned:
//!
//! 1. The journal continues in a new file. File numbers before it are left free for compacted
//!    files.
//! 2. Once all records before that boundary are learned and the model is saved, compaction writes
//!    live rows to files with these numbers. It also writes an index with the rows' new positions.
//! 3. `current.json` commits the new files and the new index. The new index catches up on items
//!    that changed during compaction, and replaces the index in use.
//! 4. Changes between the boundary and the replacement of the index refer to rows by their old
//!    positions. The old files are removed once these changes are learned and the model is saved.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::current::{Current, JOURNAL};
use super::journal::{
    Change, Cursor, FILE_BYTES, Journal, NOWHERE, NewRecord, Origin, PutChange, Record, Row,
    RowShape, RowToPut, file_of, place,
};
use super::learning;
use super::rebuild::{self, abandon_unless, swap_in};
use super::shared::{Shared, lock};
use super::writer::{Boundary, Job, Jobs, ask, replay};
use crate::disk::File;
use crate::{Index, Result, Snapshot};

/// Number of rows that are written as one change.
const ROWS: usize = 1000;

/// Number of bytes that are buffered before they are written.
const BYTES: usize = 8 << 20;

/// Fills a directory with a copy of a store that has no dead rows.
pub(super) fn fill(shared: &Shared, to: &Path) -> Result<()> {
    let _layout = lock(&shared.layout);
    let function_steps = lock(&shared.progress).renewed_steps;
    let (model, position, learned) = {
        let learner = shared.learner()?;
        let learned = Current {
            model_rows: learner.rows_there,
            model_steps: learner.steps,
            function_steps,
            not_unlearned: learner.not_unlearned_there,
            ..Current::new()
        };
        (learner.model.clone(), learner.position, learned)
    };
    // The snapshot is taken after the learner was copied, so it includes all learned rows.
    let moment = shared.moment();
    let start = lock(&shared.current).journal_start;
    let records = |from: u64| Cursor::new(shared.files.clone(), from);
    let mut taken_out = HashSet::new();
    each(records(position), moment.position, |record| {
        taken_out.extend(record.change.takes_out());
        Ok(())
    })?;
    let journal = to.join(JOURNAL);
    Journal::create(&journal, shared.files.shape)?;
    let mut copy = Copy::begin(&journal, shared.files.shape, 0, Origin::Appended)?;
    copy.live(records(start), position, &moment.index, &taken_out)?;
    let model_position = copy.position()?;
    each(records(position), moment.position, |record| match record.change {
        Change::Put(put) => {
            let rows = put.rows.into_iter().map(|(offset, row)| (record.at + offset, row));
            copy.put(put.first, &put.names, rows.collect())
        }
        Change::Remove(items) => {
            let items: Vec<_> = items.iter().map(|&(id, old)| (id, copy.moved(old))).collect();
            copy.add(|bytes, start| NewRecord::remove(&items, start, bytes))
        }
    })?;
    let end = copy.position()?;
    let (rows, copy) = (copy.rows, copy.finish()?);
    Journal::note_end(&journal, end)?;
    let mut current =
        Current { version: moment.version, index_position: end, rows, model_position, ..learned };
    (current.index, current.model) = (current.next_name("index", 0), current.next_name("model", 0));
    model.save(current.model_path(to))?;
    rebuild::write(shared, None, &moment, &current.index_path(to), &|old| copy.moved(old))?;
    shared.description.save(&journal)?;
    shared.description.save(to)?;
    // Saved last: `current.json` makes the other files count.
    current.save(to)
}

/// Calls `call` with each record before `end`.
fn each(mut cursor: Cursor, end: u64, mut call: impl FnMut(Record) -> Result<()>) -> Result<()> {
    while let Some(record) = cursor.next(end)? {
        call(record)?;
    }
    Ok(())
}

/// Compaction of a store in use, step by step.
#[derive(Default)]
pub(super) struct Compaction {
    /// Boundary of a compaction in progress: everything before it is to be compacted.
    boundary: Option<Boundary>,
    /// Position up to which changes refer to rows of replaced files. Those files are removed once
    /// everything before this position is learned.
    replaced: Option<u64>,
}

impl Compaction {
    /// Returns the state of compaction for a store that was just opened.
    pub(super) fn new(shared: &Shared) -> Compaction {
        let has_replaced = lock(&shared.current).replaced.is_some();
        let end = lock(&shared.progress).end;
        Compaction { boundary: None, replaced: has_replaced.then_some(end) }
    }

    /// Tries again to replace the index in use, if this failed after the compacted index was
    /// committed. Until the replacement succeeds, no other index may be saved: the index in use has
    /// positions in files that are to be removed.
    pub(super) fn finish_exchange(&mut self, shared: &Shared, jobs: &Jobs) -> Result<bool> {
        if self.replaced.is_some() || lock(&shared.current).replaced.is_none() {
            return Ok(false);
        }
        self.replaced = Some(reload(shared, jobs)?);
        Ok(true)
    }

    /// Does the next step, if it is due and learning has progressed far enough; returns whether
    /// space was reclaimed.
    pub(super) fn step(&mut self, shared: &Shared, jobs: &Jobs) -> Result<bool> {
        if let Some(position) = self.replaced {
            if is_saved(shared, position)? {
                remove_replaced(shared)?;
                self.replaced = None;
                return Ok(true);
            }
            return Ok(false);
        }
        let boundary = match self.boundary {
            Some(boundary) => boundary,
            None if is_due(shared) => {
                let boundary = ask(jobs, shared, Job::Roll)?;
                *self.boundary.insert(boundary)
            }
            None => return Ok(false),
        };
        if is_saved(shared, boundary.position)? {
            // If compaction fails, the next attempt begins with a new boundary: more rows may be
            // dead by then.
            self.boundary = None;
            self.replaced = Some(compact(shared, jobs, boundary)?);
        }
        Ok(false)
    }
}

/// Returns whether the journal has enough dead bytes to be compacted.
fn is_due(shared: &Shared) -> bool {
    let moment = shared.moment();
    let dead = shared.dead_bytes(&moment);
    let bytes = shared.files.bytes_up_to(moment.position);
    let settings = &shared.settings;
    settings.compaction < 1.0
        && dead >= settings.compaction_bytes.max(1)
        && dead as f64 > bytes as f64 * settings.compaction
}

/// Returns whether everything before a position is learned and saved. Saves the model if everything
/// is learned but not yet saved.
fn is_saved(shared: &Shared, position: u64) -> Result<bool> {
    if lock(&shared.current).model_position >= position {
        return Ok(true);
    }
    // With learning off, the model does not change.
    if !shared.settings.learn || lock(&shared.progress).learned < position {
        return Ok(false);
    }
    let learner = shared.learner()?;
    Ok(learner.position >= position && {
        learning::save(&learner, shared)?;
        true
    })
}

/// Replaces all files before a boundary with compacted ones; returns the position up to which
/// changes refer to rows of the replaced files.
fn compact(shared: &Shared, jobs: &Jobs, boundary: Boundary) -> Result<u64> {
    let _layout = lock(&shared.layout);
    let begun = ask(jobs, shared, Job::Begin)?;
    let build = || {
        let (start, source) = {
            let current = lock(&shared.current);
            (current.journal_start, file_of(current.journal_start))
        };
        let origin = Origin::Compacted(source);
        let directory = shared.files.directory().to_path_buf();
        shared.check_place()?;
        let mut copy = Copy::begin(&directory, shared.files.shape, boundary.free, origin)?;
        let records = |from: u64| Cursor::new(shared.files.clone(), from);
        // Rows that later changes take out are copied as well: a model that starts over before the
        // end of its warm-up must find them in the journal.
        let mut taken_out = HashSet::new();
        each(records(boundary.position), begun.position, |record| {
            taken_out.extend(record.change.takes_out());
            Ok(())
        })?;
        copy.live(records(start), boundary.position, &begun.index, &taken_out)?;
        let copy = copy.finish()?;
        let reclaimed = boundary.rows.saturating_sub(copy.rows);
        let moved = |old: u64| if old < boundary.position { copy.moved(old) } else { old };
        let (path, name) = shared.new_file("index")?;
        rebuild::write(shared, None, &begun, &path, &moved)?;
        let compacted = copy.last_file();
        let new_start = place(boundary.free, super::journal::START);
        shared.change_current_and(
            |current| {
                current.index = name;
                (current.version, current.index_position) = (begun.version, begun.position);
                current.rows = begun.rows.saturating_sub(reclaimed);
                (current.journal_start, current.compacted) = (new_start, compacted);
                current.replaced = Some(start);
            },
            || shared.files.replace(copy.files.clone(), file_of(boundary.position)),
        )?;
        swap_in(shared, jobs, Index::over(&path)?, begun.version, reclaimed)
    };
    abandon_unless(build(), jobs)
}

/// Reads the committed index, catches it up with all later changes, and puts it in place of the
/// index in use. Returns the position up to which changes refer to the old index.
fn reload(shared: &Shared, jobs: &Jobs) -> Result<u64> {
    let _layout = lock(&shared.layout);
    let begun = ask(jobs, shared, Job::Begin)?;
    let build = || {
        let current = lock(&shared.current).clone();
        let mut index = Index::over(&current.index_path(&shared.directory))?;
        let mut texts = shared.texts.read().unwrap_or_else(|held| held.into_inner()).clone();
        let mut rows = current.rows;
        let records = Cursor::new(shared.files.clone(), current.index_position);
        each(records, begun.position, |record| {
            rows += replay(&mut index, record, &mut texts, &shared.directory)?;
            Ok(())
        })?;
        let reclaimed = begun.rows.saturating_sub(rows);
        swap_in(shared, jobs, index, current.version, reclaimed)
    };
    abandon_unless(build(), jobs)
}

/// Removes the files that compaction replaced.
fn remove_replaced(shared: &Shared) -> Result<()> {
    // The files are first marked as unused and then removed: after a crash in between, opening
    // removes them.
    shared.change_current(|current| current.replaced = None)?;
    shared.files.remove_replaced()
}

/// Journal that is being written from rows of another journal, with a map from the old positions of
/// rows to their new ones.
pub(super) struct Copy {
    directory: PathBuf,
    shape: RowShape,
    origin: Origin,
    number: u32,
    file: Arc<File>,
    /// Offset in the file at which the buffered records begin, and the buffered records.
    offset: u64,
    bytes: Vec<u8>,
    /// Number of the first buffered label name, and the buffered names.
    names: (u32, Vec<String>),
    written: Written,
    rows: u64,
}

/// Journal that was written.
#[derive(Default)]
pub(super) struct Written {
    files: Vec<(u32, Arc<File>)>,
    /// Old positions of rows in ascending order, each with its new position.
    places: Vec<(u64, u64)>,
    rows: u64,
}

impl Written {
    /// Returns the new position of a row.
    fn moved(&self, old: u64) -> u64 {
        let found = self.places.binary_search_by_key(&old, |(old, _)| *old);
        found.map_or(NOWHERE, |at| self.places[at].1)
    }

    fn last_file(&self) -> u32 {
        self.files.last().map_or(0, |(number, _)| *number)
    }
}

impl Copy {
    /// Creates a copy whose first file has this number.
    pub(super) fn begin(
        directory: &Path,
        shape: RowShape,
        number: u32,
        origin: Origin,
    ) -> Result<Copy> {
        let file = super::journal::create_file(directory, number, origin)?;
        Ok(Copy {
            directory: directory.to_path_buf(),
            shape,
            origin,
            number,
            file,
            offset: super::journal::START,
            bytes: Vec::new(),
            names: (0, Vec::new()),
            written: Written::default(),
            rows: 0,
        })
    }

    fn moved(&self, old: u64) -> u64 {
        self.written.moved(old)
    }

    /// Copies rows of the records before an end, if the index has them or their positions are in
    /// `needed`.
    fn live(
        &mut self,
        records: Cursor,
        end: u64,
        index: &Snapshot,
        needed: &HashSet<u64>,
    ) -> Result<()> {
        let mut live = Vec::new();
        each(records, end, |record| {
            let Change::Put(PutChange { first, names, rows }) = record.change else {
                return Ok(());
            };
            if self.names.1.is_empty() {
                self.names.0 = first;
            }
            self.names.1.extend(names);
            let ids: Vec<u64> = rows.iter().map(|(_, row)| row.id).collect();
            for ((offset, row), now) in rows.into_iter().zip(index.places(&ids)?) {
                let place = record.at + offset;
                if now == Some(place) || needed.contains(&place) {
                    live.push((place, Row { replaces: NOWHERE, ..row }));
                }
            }
            if live.len() >= ROWS { self.put_live(&mut live) } else { Ok(()) }
        })?;
        self.put_live(&mut live)
    }

    fn put_live(&mut self, rows: &mut Vec<(u64, Row)>) -> Result<()> {
        let (first, names) = std::mem::take(&mut self.names);
        if rows.is_empty() && names.is_empty() {
            return Ok(());
        }
        self.put(first, &names, std::mem::take(rows))
    }

    fn put(&mut self, first: u32, names: &[String], rows: Vec<(u64, Row)>) -> Result<()> {
        let replaced: Vec<u64> = rows.iter().map(|(_, row)| self.moved(row.replaces)).collect();
        self.put_rows(first, names, &rows, &replaced).map(drop)
    }

    /// Appends rows, each given with its old position, and returns their new positions. `replaced`
    /// has, for each row, the position in this journal of the row that it replaces.
    pub(super) fn put_rows(
        &mut self,
        first: u32,
        names: &[String],
        rows: &[(u64, Row)],
        replaced: &[u64],
    ) -> Result<Vec<u64>> {
        let shape = self.shape;
        let mut places = Vec::new();
        self.add(|bytes, start| {
            let record = NewRecord::put(first, names, rows.len(), bytes);
            for ((old, row), &replaces) in rows.iter().zip(replaced) {
                places.push((*old, start + bytes.len() as u64));
                let Row { id, vector, labels, text, payload, .. } = row;
                RowToPut { id: *id, replaces, vector, labels, text, payload }.encode(shape, bytes);
            }
            record.end(start, bytes);
        })?;
        self.rows += places.len() as u64;
        let positions = places.iter().map(|(_, new)| *new).collect();
        self.written.places.extend(places);
        Ok(positions)
    }

    /// Appends a record. `write` appends the record to the buffer, and is given the position of the
    /// buffer's first byte.
    pub(super) fn add(&mut self, write: impl FnOnce(&mut Vec<u8>, u64)) -> Result<()> {
        if self.offset + self.bytes.len() as u64 >= FILE_BYTES {
            self.next_file()?;
        }
        let start = place(self.number, self.offset);
        write(&mut self.bytes, start);
        if self.bytes.len() >= BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        let bytes = std::mem::take(&mut self.bytes);
        let written = self.file.write_all_at(&bytes, self.offset);
        written.map_err(crate::Error::io(&self.directory))?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    /// Finishes a file and makes its bytes durable.
    fn finish_file(&mut self) -> Result<()> {
        self.flush()?;
        self.file.sync_data().map_err(crate::Error::io(&self.directory))?;
        self.written.files.push((self.number, self.file.clone()));
        Ok(())
    }

    fn next_file(&mut self) -> Result<()> {
        self.finish_file()?;
        self.number += 1;
        self.file = super::journal::create_file(&self.directory, self.number, self.origin)?;
        self.offset = super::journal::START;
        Ok(())
    }

    /// Returns the position of the next record.
    pub(super) fn position(&mut self) -> Result<u64> {
        self.flush()?;
        Ok(place(self.number, self.offset))
    }

    pub(super) fn finish(mut self) -> Result<Written> {
        self.finish_file()?;
        self.written.rows = self.rows;
        Ok(self.written)
    }
}
