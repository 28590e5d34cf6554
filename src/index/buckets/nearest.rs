//! The distance of the k-th nearest item, as far as it is known.

use super::asked::Asked;
use super::block::Block;
use crate::kernel::parts;

/// Distances that are counted apart; larger ones are counted together with their neighbours.
const BINS: u32 = 1 << 11;

/// Candidates that may be held before those that fell behind are dropped.
const SPARE: usize = 1 << 12;

/// How many items are at each distance, and what that makes of the limit.
pub(super) struct Nearest {
    k: usize,
    /// Distances are counted by what is left when so many of their lowest bits are cut off.
    shift: u32,
    /// The largest of these among the `k` nearest, plus one, and how many items are below it.
    edge: usize,
    below: usize,
}

impl Nearest {
    /// Before anything is found.
    pub(super) fn new(asked: &Asked<'_>, counts: &mut Vec<u32>) -> Self {
        let shift = asked.limit.div_ceil(BINS).next_power_of_two().trailing_zeros();
        let edge = (asked.limit >> shift) as usize + 1;
        counts.clear();
        counts.resize(edge, 0);
        Nearest { k: asked.k.unwrap_or(usize::MAX), shift, edge, below: 0 }
    }

    /// Whether as many items were found as are asked for.
    pub(super) fn is_full(&self) -> bool {
        self.below >= self.k
    }

    pub(super) fn shift(&self) -> u32 {
        self.shift
    }

    /// How many items with a code may be found.
    #[inline]
    fn items(&self, asked: &Asked<'_>, block: &Block<'_>, code: usize, single: bool) -> usize {
        if !asked.masks.is_empty() {
            let slots = block.slots(code).iter();
            return slots.filter(|&&slot| asked.lets_through(slot)).take(self.k).count();
        }
        if single { 1 } else { block.repeats(code) as usize }
    }

    /// Counts the items of the candidates that came since, and lets the limit fall. Codes come in no
    /// order of slots, so those as far as the k-th stay.
    pub(super) fn settle(
        &mut self,
        asked: &mut Asked<'_>,
        block: &Block<'_>,
        (first, single): (u32, bool),
        before: usize,
        candidates: &mut Vec<u64>,
        counts: &mut [u32],
    ) {
        let mut kept = before;
        for at in before..candidates.len() {
            let (distance, number) = parts(candidates[at]);
            let code = (number - first) as usize;
            let items = self.items(asked, block, code, single);
            candidates[kept] = candidates[at];
            kept += usize::from(items > 0);
            let bin = (distance >> self.shift) as usize;
            counts[bin] += items as u32;
            self.below += if bin < self.edge { items } else { 0 };
        }
        candidates.truncate(kept);
        while self.edge > 1 && self.below - counts[self.edge - 1] as usize >= self.k {
            self.edge -= 1;
            self.below -= counts[self.edge] as usize;
        }
        if self.is_full() {
            let edge = (self.edge as u64) << self.shift;
            asked.limit = asked.limit.min(u32::try_from(edge).unwrap_or(u32::MAX));
        }
        if candidates.len() > SPARE {
            let limit = asked.limit;
            candidates.retain(|&candidate| parts(candidate).0 < limit);
        }
    }
}
