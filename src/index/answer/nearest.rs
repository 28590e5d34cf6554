//! Upper bound of the distance of the k-th nearest item, from the items found so far.

use super::asked::Asked;
use crate::kernel::parts;

/// Number of distances that are counted separately. If there are more distances, neighbouring
/// distances are counted together.
const BINS: u32 = 1 << 11;

/// Number of candidates above which those beyond the limit are dropped.
const SPARE: usize = 1 << 12;

/// Number of items at each distance, and the limit that follows from these numbers.
pub(in crate::index) struct Nearest {
    k: usize,
    /// Number of bits by which distances are shifted right before they are counted.
    shift: u32,
    /// The largest shifted distance among the `k` nearest, plus one, and the number of items below
    /// it.
    edge: usize,
    below: usize,
}

impl Nearest {
    /// Returns the state before the first hit.
    pub(in crate::index) fn new(asked: &Asked<'_>, counts: &mut Vec<u32>) -> Self {
        let shift = asked.limit.div_ceil(BINS).next_power_of_two().trailing_zeros();
        let edge = (asked.limit >> shift) as usize + 1;
        counts.clear();
        counts.resize(edge, 0);
        Nearest { k: asked.k.unwrap_or(usize::MAX), shift, edge, below: 0 }
    }

    /// Returns true if at least `k` items were found.
    pub(in crate::index) fn is_full(&self) -> bool {
        self.below >= self.k
    }

    pub(in crate::index) fn shift(&self) -> u32 {
        self.shift
    }

    /// Counts the items of the candidates from position `before` on, and lowers the limit. `items`
    /// returns the number of items of a code that may be hits. Codes are not in order of slots, so
    /// candidates at the distance of the k-th item are still needed.
    pub(in crate::index) fn settle(
        &mut self,
        asked: &mut Asked<'_>,
        before: usize,
        candidates: &mut Vec<u64>,
        counts: &mut [u32],
        items: impl Fn(&Asked<'_>, u32) -> usize,
    ) {
        let mut kept = before;
        for at in before..candidates.len() {
            let (distance, number) = parts(candidates[at]);
            let items = items(asked, number);
            candidates[kept] = candidates[at];
            kept += usize::from(items > 0);
            let bin = (distance >> self.shift) as usize;
            // A file may claim more items than a counter can hold.
            let counted = counts[bin].saturating_add(u32::try_from(items).unwrap_or(u32::MAX));
            let items = (counted - std::mem::replace(&mut counts[bin], counted)) as usize;
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
