//! What is asked of buckets.

use crate::index::segment::is_set;
use crate::kernel::{Kernel, Weights};

/// What is asked of buckets, by one query.
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
    pub(super) fn lets_through(&self, slot: u32) -> bool {
        self.masks.iter().all(|mask| is_set(mask, slot as usize))
    }
}
