//! [`Learner`]: a model that is taught what a journal holds.

use std::collections::HashSet;
use std::sync::Arc;

use super::answer::Learning;
use super::description::Description;
use super::journal::{Change, Cursor, Files, NOWHERE, Record, START};
use crate::labels::LabelList;
use crate::{Batch, Error, ErrorKind, Features, Method, Model, Result};

/// Rows to be learned or taken back.
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

/// A model, and how far it is in the journal.
pub(super) struct Learner {
    pub(super) model: Model,
    /// Where the first record stands that it has not learned wholly, and how many rows of it it has.
    pub(super) position: u64,
    pub(super) rows_there: usize,
    /// Rows that could not be taken back.
    pub(super) not_unlearned: u64,
    /// Rows that were learned or taken back.
    pub(super) steps: u64,
    /// Why the last rows were not learned that could not be.
    pub(super) refused: Option<String>,
    /// Rows that wait for a batch to be full, for methods to which batches matter.
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
        Learner { model, position, rows_there, not_unlearned, steps, refused: None, waiting }
    }

    /// What is told of it.
    pub(super) fn learning(&self) -> Learning {
        Learning {
            rows: self.model.seen(),
            warm: self.model.is_warm(),
            not_unlearned: self.not_unlearned,
            problem: self.refused.clone(),
            behind_bytes: 0,
        }
    }

    /// Whether rows wait that it has not learned yet.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.len() > 0
    }

    /// Whether it learns items without labels.
    fn learns_all(&self) -> bool {
        !self.model.method().is_supervised()
    }

    /// Learns some records, one after the other.
    pub(super) fn learn(
        &mut self,
        records: Vec<Record>,
        files: &Arc<Files>,
        description: &Description,
    ) -> Result<()> {
        let mut forward = Rows::default();
        let mut back = Rows::default();
        let learns_all = self.learns_all();
        let takes = |labels: &[u32]| learns_all || !labels.is_empty();
        let can_unlearn = can_unlearn(self.model.method());
        for record in records {
            let skipped = if record.at == self.position { self.rows_there } else { 0 };
            let mut gone = Rows::default();
            for place in self.gone(&record.change, files)? {
                let row = files.row(place)?;
                if takes(&row.labels) && can_unlearn {
                    gone.push(&row.vector, &row.labels);
                } else if takes(&row.labels) {
                    self.not_unlearned += 1;
                }
            }
            if gone.len() > 0 {
                // In the order in which they were acknowledged: what is taken back was learned before.
                self.flush(&mut forward, description)?;
                if !self.model.is_warm() {
                    self.steps += gone.len() as u64;
                    self.begin_anew(record.end, files, description)?;
                    self.position = record.end;
                    continue;
                }
                back.values.extend(gone.values);
                back.labels.append(&gone.labels);
            }
            if let Change::Put(rows) = &record.change {
                for (number, (_, row)) in rows.iter().enumerate() {
                    if number < skipped || !takes(&row.labels) {
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
                (self.position, self.rows_there) = (record.end, 0);
            }
        }
        self.flush(&mut forward, description)?;
        self.take_back(&mut back, description)
    }

    /// Where the items stood that a change took out. Names of labels are taken note of.
    fn gone(&mut self, change: &Change, files: &Files) -> Result<Vec<u64>> {
        let mut gone: Vec<u64> = match change {
            Change::Put(rows) => rows.iter().map(|(_, row)| row.replaces).collect(),
            Change::Remove(items) => items.iter().map(|(_, place)| *place).collect(),
            Change::LabelNames(first, names) => {
                let known = self.model.label_names_mut();
                for (number, name) in (*first..).zip(names) {
                    if known.id(name) != number {
                        let problem = "is damaged: its labels are numbered otherwise";
                        return Err(Error::damaged(&files.path(0), problem));
                    }
                }
                Vec::new()
            }
        };
        gone.retain(|&place| place != NOWHERE);
        Ok(gone)
    }

    /// Learns all of the rows, and empties them.
    fn flush(&mut self, rows: &mut Rows, description: &Description) -> Result<()> {
        let rows = std::mem::take(rows);
        if rows.len() == 0 {
            return Ok(());
        }
        match self.model.learn(rows.batch(description.dim)?) {
            Ok(_) => self.steps += rows.len() as u64,
            // What cannot be learned would never be: the others need not wait for it.
            Err(error) if error.kind() == ErrorKind::BadInput => {
                self.refused = Some(error.to_string());
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Puts rows with those that wait, and learns these once they are a batch; `at` is where to go on from then.
    fn fill(&mut self, rows: &mut Rows, at: (u64, usize), description: &Description) -> Result<()> {
        let rows = std::mem::take(rows);
        self.waiting.values.extend(rows.values);
        self.waiting.labels.append(&rows.labels);
        if self.waiting.len() >= description.batch {
            let mut full = std::mem::take(&mut self.waiting);
            self.flush(&mut full, description)?;
            (self.position, self.rows_there) = at;
        }
        Ok(())
    }

    /// Takes rows back, and empties them.
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
        // One that cannot be taken back keeps the others from it.
        for row in 0..batch.len() {
            if self.model.unlearn(batch.slice(row..row + 1)).is_err() {
                self.not_unlearned += 1;
            }
        }
        Ok(())
    }

    /// A model that learned all that stands before a place, and was not taken back before it: while nothing is
    /// fixed, few rows came.
    fn begin_anew(
        &mut self,
        end: u64,
        files: &Arc<Files>,
        description: &Description,
    ) -> Result<()> {
        let mut cursor = Cursor::new(files.clone(), START);
        let (mut rows, mut gone) = (Vec::new(), HashSet::new());
        while let Some(record) = cursor.next(end)? {
            match record.change {
                Change::Put(put) => {
                    for (at, row) in put {
                        gone.insert(row.replaces);
                        rows.push((record.at + at, row));
                    }
                }
                Change::Remove(items) => gone.extend(items.iter().map(|(_, place)| *place)),
                Change::LabelNames(..) => {}
            }
        }
        let names = self.model.label_names().clone();
        let learns_all = self.learns_all();
        self.model = description.start()?;
        *self.model.label_names_mut() = names;
        let mut left = Rows::default();
        for (_, row) in rows.iter().filter(|(place, _)| !gone.contains(place)) {
            if learns_all || !row.labels.is_empty() {
                left.push(&row.vector, &row.labels);
            }
        }
        let steps = self.steps;
        self.flush(&mut left, description)?;
        self.steps = steps;
        Ok(())
    }
}

/// Whether the method makes something else of the same rows in other batches.
fn batches_matter(description: &Description) -> bool {
    matches!(description.method, Method::Bsodh(_))
}

/// Whether what was learned of a row can be taken back.
pub(super) fn can_unlearn(method: &Method) -> bool {
    matches!(method, Method::Brook(_))
}
