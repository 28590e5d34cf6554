//! Query of a search structure.

use crate::index::segment::is_set;
use crate::kernel::{Kernel, Weights};

/// One query of a search structure, with its limits.
#[derive(Clone, Copy)]
pub(in crate::index) struct Asked<'a> {
    pub(in crate::index) kernel: Kernel,
    pub(in crate::index) code: &'a [u64],
    /// Weight of each bit; `None` if each bit weighs 1.
    pub(in crate::index) weights: Option<&'a Weights>,
    /// Number of nearest items to return; `None` for all below the limit.
    pub(in crate::index) k: Option<usize>,
    /// Exclusive upper bound of the distances to return.
    pub(in crate::index) limit: u32,
    /// Bitmaps of slots: only items with a bit in each bitmap may be hits.
    pub(in crate::index) masks: &'a [&'a [u64]],
    /// Cost limit, in codes scanned; more expensive searches return no hits.
    pub(in crate::index) most: usize,
}

impl Asked<'_> {
    /// Returns true if the masks allow an item.
    fn lets_through(&self, slot: u32) -> bool {
        self.masks.iter().all(|mask| is_set(mask, slot as usize))
    }

    /// Returns the number of items that the masks allow, given the slots of a code. With masks,
    /// counting stops at `k`.
    #[inline]
    pub(in crate::index) fn items(&self, slots: &[u32]) -> usize {
        if self.masks.is_empty() {
            return slots.len();
        }
        let most = self.k.unwrap_or(usize::MAX);
        slots.iter().filter(|&&slot| self.lets_through(slot)).take(most).count()
    }

    /// Appends at most `most` items that the masks allow, given the slots of a code.
    #[inline]
    pub(in crate::index) fn append(&self, slots: &[u32], most: usize, to: &mut Vec<u32>) {
        if self.masks.is_empty() {
            to.extend_from_slice(&slots[..slots.len().min(most)]);
        } else {
            to.extend(slots.iter().filter(|&&slot| self.lets_through(slot)).take(most));
        }
    }
}
