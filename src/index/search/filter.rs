//! Which items a search may find.

use std::sync::Arc;

use super::id_set::IdSet;
use super::segment::SearchSegment;
use super::selection::Selection;
use crate::Result;
use crate::index::segment::{Columns, set_bits};
use crate::similarity::LabelSets;

/// Which items a search may find: all of them, unless it says otherwise.
///
/// Conditions add up: an item must meet all of them. A clone shares ids and bitmaps, however many they are.
///
/// ```
/// use hashbrook::Filter;
///
/// let cats_or_dogs = Filter::all().labels(&[3, 5]);
/// let some_cats = Filter::all().labels(&[3]).ids(&[10, 11, 12]);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug, PartialEq)]
enum Condition {
    /// One of these labels.
    Labels(Vec<u32>),
    /// None of these labels.
    WithoutLabels(Vec<u32>),
    /// One of these ids.
    Ids(IdSet),
    /// An id whose bit is set.
    Bitmap(Arc<[u64]>),
}

impl Filter {
    /// All items.
    pub const fn all() -> Self {
        Filter { conditions: Vec::new() }
    }

    /// Items with at least one of these labels.
    #[must_use]
    pub fn labels(mut self, labels: &[u32]) -> Self {
        self.conditions.push(Condition::Labels(labels.to_vec()));
        self
    }

    /// Items with none of these labels, those without any label among them.
    #[must_use]
    pub fn without_labels(mut self, labels: &[u32]) -> Self {
        self.conditions.push(Condition::WithoutLabels(labels.to_vec()));
        self
    }

    /// Items with one of these ids; ids that are not there do no harm.
    #[must_use]
    pub fn ids(self, ids: &[u64]) -> Self {
        self.ids_in(ids.iter().copied())
    }

    /// The same of ids from anywhere, in any order. Ids that are near one another take less than the 8
    /// bytes that others take. They are sorted first; a [bitmap](Filter::bitmap) need not be.
    ///
    /// ```
    /// use hashbrook::Filter;
    ///
    /// let of_a_tenant = Filter::all().ids_in(1_000_000..2_000_000);
    /// assert_eq!(Filter::all().ids_in([7, 5]), Filter::all().ids(&[5, 7]));
    /// ```
    #[must_use]
    pub fn ids_in(mut self, ids: impl IntoIterator<Item = u64>) -> Self {
        self.conditions.push(Condition::Ids(ids.into_iter().collect()));
        self
    }

    /// Items whose id has its bit set: id `i` is bit `i % 64` of word `i / 64`, and what lies
    /// beyond the words is not set.
    #[must_use]
    pub fn bitmap(mut self, words: &[u64]) -> Self {
        self.conditions.push(Condition::Bitmap(words.into()));
        self
    }

    /// Whether it lets everything through.
    pub fn is_all(&self) -> bool {
        self.conditions.is_empty()
    }

    /// The items of a segment that it lets through.
    pub(super) fn select(&self, segment: &SearchSegment, sets: &LabelSets) -> Result<Selection> {
        let columns = segment.columns();
        let mut selection = Selection::All;
        for condition in &self.conditions {
            let of_condition = match condition {
                Condition::Labels(labels) => segment.of_sets(&sets.carriers_of_any(labels)),
                Condition::WithoutLabels(labels) => {
                    let carriers = sets.carriers_of_any(labels);
                    let others = 0..sets.len() as u32;
                    let others: Vec<u32> =
                        others.filter(|set| carriers.binary_search(set).is_err()).collect();
                    segment.of_sets(&others)
                }
                Condition::Ids(IdSet::Listed(ids)) => by_ids(columns, ids.iter().copied()),
                Condition::Ids(IdSet::Bitmap(ids)) => by_ids(columns, ids.iter()),
                Condition::Bitmap(words) => by_ids(columns, set_bits(words).map(|id| id as u64)),
            };
            selection = selection.and(columns, of_condition?)?;
        }
        Ok(selection)
    }
}

/// The items with these ids, which ascend.
fn by_ids(columns: &Columns, ids: impl Iterator<Item = u64>) -> Result<Selection> {
    let slots = columns.len();
    let mut found = Vec::new();
    let mut next = 0;
    for id in ids {
        // Neighbours are near one another: look ahead in growing steps before halving.
        let mut step = 1;
        while next + step < slots && columns.id(next + step)? < id {
            next += step;
            step *= 2;
        }
        let (mut low, mut high) = (next, slots.min(next + step + 1));
        while low < high {
            let middle = low + (high - low) / 2;
            if columns.id(middle)? < id { low = middle + 1 } else { high = middle }
        }
        next = low;
        if next >= slots {
            break;
        }
        if columns.id(next)? == id {
            found.push(next as u32);
        }
    }
    Selection::of_slots(columns, found)
}
