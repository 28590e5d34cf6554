//! Changes that are written to disk together.

use std::collections::{HashMap, HashSet};
use std::sync::PoisonError;

use super::apply::Applied;
use super::job::{Job, OwnedPut, Replies, again, answer_to};
use crate::store::answer::{Acknowledged, Removed};
use crate::store::description::IdKind;
use crate::store::item::ItemId;
use crate::store::journal::{Journal, NOWHERE, NewRecord, RowToPut, as_kept};
use crate::store::learner::can_unlearn;
use crate::store::shared::Shared;
use crate::store::tasks::Task;
use crate::{Error, Features, Index, LabelList, LabelNames, Result};

/// Maximum payload size in bytes, so that items are read and written quickly.
const MOST_PAYLOAD: usize = 16 << 20;

#[derive(Default)]
pub(super) struct Group {
    bytes: Vec<u8>,
    changes: Vec<Applied>,
    replies: Replies,
    /// Positions that the group's changes give to items; `None` for removed items.
    places: HashMap<u64, Option<u64>>,
    /// Label names that the group adds, with their numbers.
    new_labels: HashMap<String, u32>,
    /// String ids that the group adds, with their numbers.
    new_texts: HashMap<String, u64>,
}

impl Group {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Returns whether the group must be durable before a job is processed: relabelling reads items
    /// from disk.
    pub(super) fn must_come_before(&self, job: &Job) -> bool {
        matches!(job, Job::Label(..)) && !self.is_empty()
    }

    /// Returns the bytes of the records, the changes to apply once they are durable, and the
    /// waiting callers.
    pub(super) fn finish(self) -> (Vec<u8>, Vec<Applied>, Replies) {
        let mut changes = self.changes;
        if !self.new_texts.is_empty() {
            let mut texts: Vec<(String, u64)> = self.new_texts.into_iter().collect();
            texts.sort_unstable_by_key(|(_, number)| *number);
            changes.insert(0, Applied::Texts(texts.into_iter().map(|(text, _)| text).collect()));
        }
        (self.bytes, changes, self.replies)
    }

    /// Adds a change to the group, or answers its caller with an error.
    pub(super) fn push(&mut self, job: Job, journal: &mut Journal, index: &Index, shared: &Shared) {
        match job {
            Job::Put(put, reply) => match self.put(put, journal, index, shared) {
                Ok(answer) => self.replies.put(answer, reply),
                Err(error) => answer_to(&reply, Err(error)),
            },
            Job::Label(ids, labels, reply) => match self.label(ids, labels, journal, index, shared)
            {
                Ok(answer) => self.replies.put(answer, reply),
                Err(error) => answer_to(&reply, Err(error)),
            },
            Job::Remove(ids, reply) => match self.remove(&ids, journal, index, shared) {
                Ok(answer) => self.replies.removed(answer, reply),
                Err(error) => answer_to(&reply, Err(error)),
            },
            _ => {}
        }
    }

    fn put(
        &mut self,
        put: OwnedPut,
        journal: &mut Journal,
        index: &Index,
        shared: &Shared,
    ) -> Result<Acknowledged> {
        // Everything that can fail comes first: a change is in the group completely or not at all.
        let start = begin(journal, shared)?;
        let (numbers, new_texts) = self.numbers(&put.ids, shared);
        let there = index.places(&numbers)?;
        self.new_texts.extend(new_texts);
        let shape = shared.files.shape;
        let dim = shape.dim;
        let (mut replaced, mut places, mut labels) = (0, Vec::new(), LabelList::new());
        let known = index.label_names();
        let (first, new) = self.name_labels(&put.labels, known);
        let record = NewRecord::put(first, &new, put.ids.len(), &mut self.bytes);
        if !new.is_empty() {
            self.changes.push(Applied::LabelNames(first, new));
        }
        for (row, (id, &number)) in put.ids.iter().zip(&numbers).enumerate() {
            // The position in the group is newer than the one in the index.
            let old = self.places.get(&number).copied().unwrap_or(there[row]);
            replaced += usize::from(old.is_some());
            let with = put.labels.get(row).map_or(&[][..], Vec::as_slice);
            let number_of = |name: &String| {
                let number = known.find(name).or_else(|| self.new_labels.get(name).copied());
                number.expect("all of them were named")
            };
            let mut with: Vec<u32> = with.iter().map(number_of).collect();
            with.sort_unstable();
            with.dedup();
            let place = start + self.bytes.len() as u64;
            let text = if let ItemId::Text(text) = id { text } else { "" };
            RowToPut {
                id: number,
                replaces: old.unwrap_or(NOWHERE),
                vector: &put.vectors[row * dim..(row + 1) * dim],
                labels: &with,
                text,
                payload: put.payloads.get(row).map_or(&[], Vec::as_slice),
            }
            .encode(shape, &mut self.bytes);
            labels.push_set(&with);
            places.push(place);
        }
        record.end(start, &mut self.bytes);
        for (&number, &place) in numbers.iter().zip(&places) {
            self.places.insert(number, Some(place));
        }
        let vectors = as_kept(shape, put.vectors);
        let items = numbers.len();
        self.changes.push(Applied::Put { ids: numbers, vectors, labels, places });
        let unlearned = replaced > 0 && unlearns(shared);
        Ok(Acknowledged { items, replaced, unlearned, position: 0 })
    }

    /// Relabels items by inserting them again with other labels.
    fn label(
        &mut self,
        ids: Vec<ItemId>,
        labels: Vec<Vec<String>>,
        journal: &mut Journal,
        index: &Index,
        shared: &Shared,
    ) -> Result<Acknowledged> {
        let mut put = OwnedPut { ids, vectors: Vec::new(), labels, payloads: Vec::new() };
        for id in &put.ids {
            let place = match find(id, shared)? {
                Some(number) => index.place(number)?,
                None => None,
            };
            let row = shared.files.row(place.ok_or_else(|| Error::NoItem(id.to_string()))?)?;
            put.vectors.extend(row.vector);
            put.payloads.push(row.payload);
        }
        self.put(put, journal, index, shared)
    }

    fn remove(
        &mut self,
        ids: &[ItemId],
        journal: &mut Journal,
        index: &Index,
        shared: &Shared,
    ) -> Result<Removed> {
        let (mut gone, mut seen) = (Vec::new(), HashSet::new());
        for id in ids {
            let number = match find(id, shared)? {
                Some(number) => Some(number),
                None => {
                    if let ItemId::Text(text) = id {
                        self.new_texts.get(text).copied()
                    } else {
                        None
                    }
                }
            };
            let Some(number) = number.filter(|&number| seen.insert(number)) else { continue };
            let place = match self.places.get(&number) {
                Some(place) => *place,
                None => index.place(number)?,
            };
            gone.extend(place.map(|place| (number, place)));
        }
        if gone.is_empty() {
            return Ok(Removed { removed: 0, unlearned: false, position: 0 });
        }
        NewRecord::remove(&gone, begin(journal, shared)?, &mut self.bytes);
        let numbers: Vec<u64> = gone.iter().map(|(number, _)| *number).collect();
        self.places.extend(numbers.iter().map(|&number| (number, None)));
        let removed = numbers.len();
        self.changes.push(Applied::Remove(numbers));
        Ok(Removed { removed, unlearned: removed > 0 && unlearns(shared), position: 0 })
    }

    /// Assigns numbers to new label names; returns the first of the numbers, and the names.
    fn name_labels(&mut self, labels: &[Vec<String>], known: &LabelNames) -> (u32, Vec<String>) {
        let first = (known.len() + self.new_labels.len()) as u32;
        let mut new = Vec::new();
        for name in labels.iter().flatten() {
            if known.find(name).is_none() && !self.new_labels.contains_key(name) {
                self.new_labels.insert(name.clone(), first + new.len() as u32);
                new.push(name.clone());
            }
        }
        (first, new)
    }

    /// Returns the numbers that ids stand for, and the new string ids with their numbers.
    fn numbers(&self, ids: &[ItemId], shared: &Shared) -> (Vec<u64>, HashMap<String, u64>) {
        let texts = shared.texts.read().unwrap_or_else(PoisonError::into_inner);
        let mut new = HashMap::new();
        let mut number = |id: &ItemId| {
            let text = match id {
                ItemId::Number(number) => return *number,
                ItemId::Text(text) => text,
            };
            if let Some(number) = texts.find(text).or_else(|| self.new_texts.get(text).copied()) {
                return number;
            }
            let next = (texts.len() + self.new_texts.len() + new.len()) as u64;
            *new.entry(text.clone()).or_insert(next)
        };
        (ids.iter().map(&mut number).collect(), new)
    }
}

/// Returns the position of the next record; reports an error if the journal cannot be written.
fn begin(journal: &mut Journal, shared: &Shared) -> Result<u64> {
    let begun = journal.begin();
    if let Err(error) = &begun {
        shared.tasks.report(Task::Journal, &Err(again(error, &shared.directory)));
    }
    begun
}

/// Returns whether replaced and removed rows are unlearned.
fn unlearns(shared: &Shared) -> bool {
    shared.settings.learn && can_unlearn(&shared.description.method)
}

/// Returns the number that an id stands for, if it is known. Fails if the id is of the wrong kind.
pub(in crate::store) fn find(id: &ItemId, shared: &Shared) -> Result<Option<u64>> {
    check_kind(id, shared.description.ids)?;
    Ok(match id {
        ItemId::Number(number) => Some(*number),
        ItemId::Text(text) => {
            shared.texts.read().unwrap_or_else(PoisonError::into_inner).find(text)
        }
    })
}

fn check_kind(id: &ItemId, kind: IdKind) -> Result<()> {
    let expected = match (id, kind) {
        (ItemId::Number(_), IdKind::Texts) => "texts",
        (ItemId::Text(_), IdKind::Numbers) => "numbers",
        (ItemId::Text(text), IdKind::Texts) if text.is_empty() => "texts that are not empty",
        _ => return Ok(()),
    };
    Err(Error::IdKind { expected, found: id.to_string() })
}

/// Fails if ids are of the wrong kind, or an id is given twice.
pub(in crate::store) fn check_ids(ids: &[ItemId], kind: IdKind) -> Result<()> {
    let mut seen = HashSet::with_capacity(ids.len());
    for id in ids {
        check_kind(id, kind)?;
        if !seen.insert(id) {
            return Err(match id {
                ItemId::Number(number) => Error::IdTwice(*number),
                ItemId::Text(text) => Error::TextIdTwice(text.clone()),
            });
        }
    }
    Ok(())
}

/// Fails if the squared length of a row exceeds the range of single precision. A few such rows in a
/// warm-up would ruin all codes: relative to these rows, every other row is zero.
pub(in crate::store) fn check_lengths(features: Features<'_>) -> Result<()> {
    let is_too_long = |row: &[f32]| !row.iter().map(|value| value * value).sum::<f32>().is_finite();
    for row in 0..features.len() {
        let values = features.row(row);
        if is_too_long(values) {
            let largest = values.iter().enumerate().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
            let (column, &value) = largest.unwrap_or((0, &f32::MAX));
            return Err(Error::TooLong { row, column, value });
        }
    }
    Ok(())
}

/// Fails if a payload is too large.
pub(in crate::store) fn check_payloads(ids: &[ItemId], payloads: &[Vec<u8>]) -> Result<()> {
    let most = MOST_PAYLOAD;
    match ids.iter().zip(payloads).find(|(_, payload)| payload.len() > most) {
        Some((id, payload)) => {
            Err(Error::PayloadSize { id: id.to_string(), bytes: payload.len(), most })
        }
        None => Ok(()),
    }
}
