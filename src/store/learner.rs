//! [`Learner`]: a model that learns the records of a journal.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::answer::Learning;
use super::description::Description;
use super::held_out::HeldOut;
use super::journal::{Change, Cursor, Files, PutChange, Record, Row};
use crate::labels::LabelList;
use crate::{Batch, Error, ErrorKind, Features, Method, Model, Result};

/// Rows to be learned or unlearned.
#[derive(Default)]
struct Rows {
    values: Vec<f32>,
    labels: LabelList,
}

impl Rows {
    fn len(&self) -> usize {
        self.labels.len()
    }

    fn push(&mut self, vector: &[f32], labels: &[u32]) {
        self.values.extend_from_slice(vector);
        self.labels.push_set(labels);
    }

    fn batch(&self, dim: usize) -> Result<Batch<'_>> {
        Batch::new(Features::new(&self.values, dim)?, self.labels.view())
    }
}

/// Source of the records that a learner learns.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) files: &'a Arc<Files>,
    /// Position of the journal's first record.
    pub(super) start: u64,
    pub(super) description: &'a Description,
}

/// Model, and its progress in the journal.
pub(super) struct Learner {
    pub(super) model: Model,
    /// Journal position of the first record that is not yet fully learned, and the number of its
    /// rows that are learned.
    pub(super) position: u64,
    pub(super) rows_there: usize,
    /// Journal position of the record to be read next, which is ahead of `position` while rows are
    /// buffered.
    pub(super) next: u64,
    /// Whether the learner may have learned only a part of a record, and must not be saved.
    is_spoilt: bool,
    /// Number of rows that could not be unlearned, up to `next` and up to `position`.
    not_unlearned: u64,
    pub(super) not_unlearned_there: u64,
    /// Number of rows that were learned or unlearned.
    pub(super) steps: u64,
    /// Reason why rows were last rejected.
    pub(super) refused: Option<String>,
    /// Rows buffered until a batch is full, for methods whose result depends on batches.
    waiting: Rows,
}

impl Learner {
    pub(super) fn new(
        model: Model,
        position: u64,
        rows_there: usize,
        not_unlearned: u64,
        steps: u64,
    ) -> Learner {
        let waiting = Rows::default();
        Learner {
            model,
            position,
            rows_there,
            next: position,
            is_spoilt: false,
            not_unlearned,
            not_unlearned_there: not_unlearned,
            steps,
            refused: None,
            waiting,
        }
    }

    /// Marks the learner as unfit to be saved or to learn further.
    pub(super) fn discard(&mut self) {
        self.is_spoilt = true;
    }

    pub(super) fn is_spoilt(&self) -> bool {
        self.is_spoilt
    }

    /// Continues at a later position; no record may be left before it.
    pub(super) fn skip_to(&mut self, position: u64) {
        self.next = position;
        if self.waiting.len() == 0 {
            self.reached(position, 0);
        }
    }

    /// Records that everything before a position is learned, and the first `rows` rows of the
    /// record at that position.
    fn reached(&mut self, position: u64, rows: usize) {
        (self.position, self.rows_there) = (position, rows);
        self.not_unlearned_there = self.not_unlearned;
    }

    /// Returns the state of learning that the statistics report.
    pub(super) fn learning(&self) -> Learning {
        Learning {
            rows: self.model.seen(),
            warm: self.model.is_warm(),
            warmup_rows: self.model.warmup(),
            not_unlearned: self.not_unlearned,
            problem: self.refused.clone(),
            ..Learning::default()
        }
    }

    /// Returns whether the buffer has rows that are not learned yet.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.len() > 0
    }

    /// Returns whether the learner learns a row. Held-out rows are never learned; rows without
    /// labels are learned only if the method needs no labels.
    fn takes(&self, row: &Row, description: &Description) -> bool {
        let has_enough = !row.labels.is_empty() || !self.model.method().is_supervised();
        has_enough && !HeldOut::new(description.held_out).contains(row.id, &row.text)
    }

    /// Learns records in order. The first record must follow those learned before.
    pub(super) fn learn(&mut self, records: Vec<Record>, from: Source<'_>) -> Result<()> {
        let Source { files, description, .. } = from;
        let mut forward = Rows::default();
        let mut back = Rows::default();
        let can_unlearn = can_unlearn(self.model.method());
        for record in records {
            if record.from != self.next {
                let (expected, found) = (self.next, record.from);
                let problem = format!("expected the change at {expected:#x}, found {found:#x}");
                return Err(Error::Stopped { path: files.directory().to_path_buf(), problem });
            }
            self.next = record.end;
            let skipped = if record.at == self.position { self.rows_there } else { 0 };
            if let Change::Put(put) = &record.change {
                self.name_labels(put, files)?;
            }
            let mut gone = Rows::default();
            // If a part of the record is already learned, the rows it replaces are already
            // unlearned.
            for place in record.change.takes_out().filter(|_| skipped == 0) {
                let row = files.row(place)?;
                match self.takes(&row, description) {
                    true if can_unlearn => gone.push(&row.vector, &row.labels),
                    true => self.not_unlearned += 1,
                    false => {}
                }
            }
            if gone.len() > 0 {
                // Buffered rows are learned first, because rows to be unlearned may be among them.
                self.flush(&mut forward, description)?;
                if !self.model.is_warm() {
                    self.steps += gone.len() as u64;
                    self.start_over(record.end, from)?;
                    self.reached(record.end, 0);
                    continue;
                }
                back.values.extend(gone.values);
                back.labels.append(&gone.labels);
            }
            if let Change::Put(put) = &record.change {
                for (number, (_, row)) in put.rows.iter().enumerate() {
                    if number < skipped || !self.takes(row, description) {
                        continue;
                    }
                    self.take_back(&mut back, description)?;
                    forward.push(&row.vector, &row.labels);
                    if batches_matter(description) {
                        self.fill(&mut forward, (record.at, number + 1), description)?;
                    }
                }
            }
            if self.waiting.len() == 0 {
                self.reached(record.end, 0);
            }
        }
        self.flush(&mut forward, description)?;
        self.take_back(&mut back, description)
    }

    /// Records the new label names of a change.
    fn name_labels(&mut self, put: &PutChange, files: &Files) -> Result<()> {
        let known = self.model.label_names_mut();
        for (number, name) in (put.first..).zip(&put.names) {
            let found = known.id(name);
            if found != number {
                let problem = format!(
                    "is damaged: expected number {number} for label {name:?}, found {found}"
                );
                return Err(Error::damaged(files.directory(), problem));
            }
        }
        Ok(())
    }

    /// Learns all of the rows, and empties the buffer.
    fn flush(&mut self, rows: &mut Rows, description: &Description) -> Result<()> {
        let rows = std::mem::take(rows);
        match rows.len() {
            0 => Ok(()),
            _ => self.learn_or_refuse(rows.batch(description.dim)?),
        }
    }

    /// Learns rows. Invalid rows can never be learned. They are dropped, so that they block neither
    /// the other rows of the batch nor later rows.
    fn learn_or_refuse(&mut self, batch: Batch<'_>) -> Result<()> {
        match self.model.learn(batch) {
            Ok(_) => self.steps += batch.len() as u64,
            Err(error) if error.kind() != ErrorKind::BadInput => return Err(error),
            Err(error) if batch.len() == 1 => self.refused = Some(error.to_string()),
            Err(_) => {
                let middle = batch.len() / 2;
                self.learn_or_refuse(batch.slice(0..middle))?;
                self.learn_or_refuse(batch.slice(middle..batch.len()))?;
            }
        }
        Ok(())
    }

    /// Buffers rows, and learns the buffered rows once they fill a batch; `at` is the position
    /// after these rows.
    fn fill(&mut self, rows: &mut Rows, at: (u64, usize), description: &Description) -> Result<()> {
        let rows = std::mem::take(rows);
        self.waiting.values.extend(rows.values);
        self.waiting.labels.append(&rows.labels);
        if self.waiting.len() >= description.batch {
            let mut full = std::mem::take(&mut self.waiting);
            self.flush(&mut full, description)?;
            self.reached(at.0, at.1);
        }
        Ok(())
    }

    /// Unlearns rows, and empties the buffer.
    fn take_back(&mut self, rows: &mut Rows, description: &Description) -> Result<()> {
        let rows = std::mem::take(rows);
        if rows.len() == 0 {
            return Ok(());
        }
        self.steps += rows.len() as u64;
        let batch = rows.batch(description.dim)?;
        if self.model.unlearn(batch).is_ok() {
            return Ok(());
        }
        // A row that cannot be unlearned makes the whole batch fail, so rows are unlearned one by
        // one.
        for row in 0..batch.len() {
            if self.model.unlearn(batch.slice(row..row + 1)).is_err() {
                self.not_unlearned += 1;
            }
        }
        Ok(())
    }

    /// Replaces the model with one that learned the items that exist at a position. Used only
    /// before the end of the warm-up, when few items exist.
    fn start_over(&mut self, end: u64, from: Source<'_>) -> Result<()> {
        let mut cursor = Cursor::new(from.files.clone(), from.start);
        // Rows are sorted by position, so that they are learned in the order of acknowledgement.
        let (mut rows, mut positions) = (BTreeMap::new(), BTreeMap::new());
        while let Some(record) = cursor.next(end)? {
            match record.change {
                Change::Put(put) => {
                    for (offset, row) in put.rows {
                        let position = record.at + offset;
                        if let Some(old) = positions.insert(row.id, position) {
                            rows.remove(&old);
                        }
                        rows.insert(position, row);
                    }
                }
                Change::Remove(items) => {
                    for (id, _) in items {
                        if let Some(old) = positions.remove(&id) {
                            rows.remove(&old);
                        }
                    }
                }
            }
        }
        let names = self.model.label_names().clone();
        self.model = from.description.start()?;
        *self.model.label_names_mut() = names;
        let mut left = Rows::default();
        for row in rows.values().filter(|row| self.takes(row, from.description)) {
            left.push(&row.vector, &row.labels);
        }
        let steps = self.steps;
        self.flush(&mut left, from.description)?;
        self.steps = steps;
        Ok(())
    }
}

/// Returns whether the result of the method depends on how rows are split into batches.
fn batches_matter(description: &Description) -> bool {
    matches!(description.method, Method::Bsodh(_))
}

/// Returns whether the method can unlearn rows.
pub(super) fn can_unlearn(method: &Method) -> bool {
    matches!(method, Method::Brook(_))
}
