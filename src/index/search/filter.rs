//! [`Filter`]: conditions on the items that a search may return.

use std::sync::Arc;

use super::id_set::IdSet;
use super::segment::SearchSegment;
use super::selection::Selection;
use crate::Result;
use crate::index::segment::{Columns, set_bits};
use crate::similarity::LabelSets;

/// Conditions on the items that a search may return; without conditions, all items.
///
/// An item must meet all conditions. A clone shares lists of ids and bitmaps.
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
    /// Returns a filter that all items pass.
    pub const fn all() -> Self {
        Filter { conditions: Vec::new() }
    }

    /// Adds a condition: items with at least one of these labels.
    #[must_use]
    pub fn labels(mut self, labels: &[u32]) -> Self {
        self.conditions.push(Condition::Labels(labels.to_vec()));
        self
    }

    /// Adds a condition: items with none of these labels, including items without labels.
    #[must_use]
    pub fn without_labels(mut self, labels: &[u32]) -> Self {
        self.conditions.push(Condition::WithoutLabels(labels.to_vec()));
        self
    }

    /// Adds a condition: items with one of these ids. Ids that do not exist are ignored.
    #[must_use]
    pub fn ids(self, ids: &[u64]) -> Self {
        self.ids_in(ids.iter().copied())
    }

    /// Like [`ids`](Filter::ids), for ids from any iterator, in any order. Clustered ids take less
    /// than the usual 8 bytes each. The ids are sorted first, which a [bitmap](Filter::bitmap)
    /// avoids.
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

    /// Adds a condition: items whose bit is set. Id `i` is bit `i % 64` of word `i / 64`; bits
    /// beyond the words count as 0.
    #[must_use]
    pub fn bitmap(mut self, words: &[u64]) -> Self {
        self.conditions.push(Condition::Bitmap(words.into()));
        self
    }

    /// Returns whether the filter has no conditions, so that all items pass.
    pub fn is_all(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Returns the items of a segment that pass the filter.
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

/// Returns the items with these ids, which ascend.
fn by_ids(columns: &Columns, ids: impl Iterator<Item = u64>) -> Result<Selection> {
    let slots = columns.len();
    let mut found = Vec::new();
    let mut next = 0;
    for id in ids {
        // Successive ids are often close together, so an exponential search precedes the binary
        // search.
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
