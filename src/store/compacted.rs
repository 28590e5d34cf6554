//! A copy of a store without what was replaced or removed.
//!
//! Changes that are not learned yet are copied one by one, with the items that they take out, so that learning goes on in
//! the copy as it would have gone on here. Of what stands before them, items that are gone are left out.

use std::collections::HashSet;
use std::path::Path;

use super::current::{Current, JOURNAL};
use super::journal::{
    Change, Cursor, Files, Journal, NOWHERE, NewRecord, Record, Row, RowToPut, START,
};
use super::rebuild;
use super::shared::Shared;
use crate::Result;

/// Rows that are written as one change.
const ROWS: usize = 1000;

/// Bytes that are brought to the disk together.
const BYTES: usize = 8 << 20;

/// Fills a folder with the copy.
pub(super) fn fill(shared: &Shared, to: &Path) -> Result<()> {
    let (model, position, model_rows, not_unlearned) = {
        let learner = shared.learner()?;
        (learner.model.clone(), learner.position, learner.rows_there, learner.not_unlearned)
    };
    // What is learned was acknowledged before, so this moment knows of it.
    let moment = shared.moment();
    let records = |from: u64| Cursor::new(shared.files.clone(), from);
    let mut taken_out = HashSet::new();
    each(records(position), moment.position, |record| {
        match &record.change {
            Change::Put(rows) => taken_out.extend(rows.iter().map(|(_, row)| row.replaces)),
            Change::Remove(items) => taken_out.extend(items.iter().map(|(_, place)| *place)),
            Change::LabelNames(..) => {}
        }
        Ok(())
    })?;
    let mut copy = Copy::begin(&shared.files, &to.join(JOURNAL))?;
    let names: Vec<String> = model.label_names().iter().map(str::to_owned).collect();
    copy.add(|bytes, start| NewRecord::label_names(0, &names, start, bytes))?;
    let mut kept = Vec::new();
    each(records(START), position, |record| {
        let Change::Put(rows) = record.change else { return Ok(()) };
        let ids: Vec<u64> = rows.iter().map(|(_, row)| row.id).collect();
        for ((at, row), now) in rows.into_iter().zip(moment.index.places(&ids)?) {
            let place = record.at + at;
            if now == Some(place) || taken_out.contains(&place) {
                kept.push((place, Row { replaces: NOWHERE, ..row }));
            }
        }
        if kept.len() >= ROWS { copy.put(std::mem::take(&mut kept)) } else { Ok(()) }
    })?;
    copy.put(kept)?;
    let model_position = copy.position()?;
    each(records(position), moment.position, |record| match record.change {
        Change::Put(rows) => {
            copy.put(rows.into_iter().map(|(at, row)| (record.at + at, row)).collect())
        }
        Change::Remove(items) => {
            let items: Vec<_> = items.iter().map(|&(id, old)| (id, copy.moved(old))).collect();
            copy.add(|bytes, start| NewRecord::remove(&items, start, bytes))
        }
        Change::LabelNames(first, names) => {
            copy.add(|bytes, start| NewRecord::label_names(first, &names, start, bytes))
        }
    })?;
    let mut current = Current {
        serial: 0,
        version: moment.version,
        index: String::new(),
        index_position: copy.position()?,
        rows: copy.rows,
        model: String::new(),
        model_position,
        model_rows,
        not_unlearned,
    };
    copy.journal.close()?;
    (current.index, current.model) = (current.next_name("index"), current.next_name("model"));
    model.save(current.model_path(to))?;
    rebuild::write(shared, None, &moment, &current.index_path(to), &|old| copy.moved(old))?;
    shared.description.save(to)?;
    // Last, as it makes the others count.
    current.save(to)
}

/// Calls with each record up to an end.
fn each(mut cursor: Cursor, end: u64, mut call: impl FnMut(Record) -> Result<()>) -> Result<()> {
    while let Some(record) = cursor.next(end)? {
        call(record)?;
    }
    Ok(())
}

/// A journal that is written, and where in it the rows of another stand.
struct Copy<'a> {
    files: &'a Files,
    journal: Journal,
    /// Records that are not written yet, and where the first of them will stand.
    bytes: Vec<u8>,
    start: u64,
    /// Where rows stood, ascending, and where they stand.
    places: Vec<(u64, u64)>,
    rows: u64,
}

impl<'a> Copy<'a> {
    fn begin(files: &'a Files, folder: &Path) -> Result<Copy<'a>> {
        Journal::create(folder, files.shape)?;
        let journal = Journal::open(folder, files.shape, START, &mut |_| Ok(()))?;
        let start = journal.end();
        Ok(Copy { files, journal, bytes: Vec::new(), start, places: Vec::new(), rows: 0 })
    }

    /// Where a row stands that stood somewhere else.
    fn moved(&self, old: u64) -> u64 {
        let found = self.places.binary_search_by_key(&old, |(old, _)| *old);
        found.map_or(NOWHERE, |at| self.places[at].1)
    }

    fn put(&mut self, rows: Vec<(u64, Row)>) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let shape = self.files.shape;
        let (mut places, mut replaced) = (Vec::new(), Vec::new());
        for (_, row) in &rows {
            replaced.push(self.moved(row.replaces));
        }
        self.add(|bytes, start| {
            let record = NewRecord::put(rows.len(), bytes);
            for ((old, row), &replaces) in rows.iter().zip(&replaced) {
                places.push((*old, start + bytes.len() as u64));
                let Row { id, vector, labels, text, payload, .. } = row;
                RowToPut { id: *id, replaces, vector, labels, text, payload }.encode(shape, bytes);
            }
            record.end(start, bytes);
        })?;
        self.rows += places.len() as u64;
        self.places.extend(places);
        Ok(())
    }

    /// Appends a record, which `write` writes.
    fn add(&mut self, write: impl FnOnce(&mut Vec<u8>, u64)) -> Result<()> {
        if self.bytes.is_empty() {
            self.start = self.journal.begin()?;
        }
        write(&mut self.bytes, self.start);
        if self.bytes.len() >= BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        if self.bytes.is_empty() {
            Ok(())
        } else {
            self.journal.append(&std::mem::take(&mut self.bytes))
        }
    }

    /// Where the next record will stand.
    fn position(&mut self) -> Result<u64> {
        self.flush()?;
        self.journal.begin()
    }
}
