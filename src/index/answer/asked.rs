//! What is asked of a search structure.

use crate::index::segment::is_set;
use crate::kernel::{Kernel, Weights};

/// What is asked of a search structure, by one query.
#[derive(Clone, Copy)]
pub(in crate::index) struct Asked<'a> {
    pub(in crate::index) kernel: Kernel,
    pub(in crate::index) code: &'a [u64],
    /// What each bit weighs; 1 if nothing is said.
    pub(in crate::index) weights: Option<&'a Weights>,
    /// How many of the nearest; all below the limit if not said.
    pub(in crate::index) k: Option<usize>,
    /// Distances from this on are not wanted.
    pub(in crate::index) limit: u32,
    /// Bitmaps of slots: items may be found that have a bit in each.
    pub(in crate::index) masks: &'a [&'a [u64]],
    /// What it may cost, in codes scanned; beyond it, nothing is found.
    pub(in crate::index) most: usize,
}

impl Asked<'_> {
    /// Whether an item may be found.
    fn lets_through(&self, slot: u32) -> bool {
        self.masks.iter().all(|mask| is_set(mask, slot as usize))
    }

    /// How many of the items with a code may be found, as far as that matters.
    #[inline]
    pub(in crate::index) fn items(&self, slots: &[u32]) -> usize {
        if self.masks.is_empty() {
            return slots.len();
        }
        let most = self.k.unwrap_or(usize::MAX);
        slots.iter().filter(|&&slot| self.lets_through(slot)).take(most).count()
    }

    /// Appends the items with a code that may be found, so many at most.
    #[inline]
    pub(in crate::index) fn append(&self, slots: &[u32], most: usize, to: &mut Vec<u32>) {
        if self.masks.is_empty() {
            to.extend_from_slice(&slots[..slots.len().min(most)]);
        } else {
            to.extend(slots.iter().filter(|&&slot| self.lets_through(slot)).take(most));
        }
    }
}
