//! The nearest codes of a scan, kept by counting: distances are small numbers.

use crate::kernel::parts;

/// What a query has found in a segment: the `k` nearest, or all within a radius.
pub(in crate::index) struct TopK {
    k: usize,
    /// Nothing at this distance or beyond is wanted any more.
    limit: u32,
    /// Hits in order of their slots; some may have fallen behind.
    pub(in crate::index) hits: Vec<u64>,
    /// How many of them are settled, that is, counted.
    settled: usize,
    counts: Vec<u32>,
    /// The largest distance among the `k` nearest, plus one, and how many hits are below it.
    edge: u32,
    below: usize,
    guessed: bool,
    /// Whether hits come in order of their slots.
    ordered: bool,
}

/// Hits beyond `k` that may be held before those that fell behind are dropped.
const SPARE: usize = 2048;

impl TopK {
    /// For the `k` nearest of those below `limit`.
    pub(in crate::index) fn nearest(k: usize, limit: u32) -> Self {
        let counts = vec![0; limit as usize];
        TopK {
            k,
            limit,
            hits: Vec::new(),
            settled: 0,
            counts,
            edge: limit,
            below: 0,
            guessed: false,
            ordered: true,
        }
    }

    /// For all below `limit`.
    pub(in crate::index) fn all(limit: u32) -> Self {
        TopK::nearest(usize::MAX, limit)
    }

    /// From now on hits come that may stand before those found so far: of those as far as the
    /// farthest, all are wanted.
    pub(in crate::index) fn start_anew(&mut self) {
        self.ordered = false;
        self.limit = self.edge;
    }

    pub(in crate::index) fn limit(&self) -> u32 {
        self.limit
    }

    /// Guesses, when `seen` of `all` codes are behind, from which distance on nothing will be among
    /// the nearest: if near codes go on to come as they came, that leaves more than enough of them.
    /// Whether it did is known in the end.
    pub(in crate::index) fn guess(&mut self, seen: usize, all: usize) {
        let expected = self.k as f64 * seen as f64 / all as f64;
        let enough = 1.1 * expected + 3.0 * expected.sqrt() + 3.0;
        let mut nearer = 0;
        for (distance, &count) in (0..self.limit).zip(&self.counts) {
            nearer += count as usize;
            if nearer as f64 >= enough {
                self.limit = distance + 1;
                (self.edge, self.below, self.guessed) = (self.limit, nearer, true);
                return;
            }
        }
    }

    /// Whether a guess was wrong, and something may be missing.
    pub(in crate::index) fn failed(&self) -> bool {
        self.guessed && self.below < self.k
    }

    /// Takes note of the hits that came since.
    ///
    /// Where slots ascend, once there are `k` hits, another as far as the farthest of them would
    /// come after it, and only nearer ones are wanted.
    pub(in crate::index) fn settle(&mut self) {
        if self.settled == self.hits.len() {
            return;
        }
        for &hit in &self.hits[self.settled..] {
            let distance = parts(hit).0;
            self.counts[distance as usize] += 1;
            self.below += usize::from(distance < self.edge);
        }
        self.settled = self.hits.len();
        if self.below < self.k {
            return;
        }
        while self.edge > 0 {
            let farthest = self.counts[self.edge as usize - 1] as usize;
            if self.below - farthest < self.k {
                break;
            }
            self.below -= farthest;
            self.edge -= 1;
        }
        self.limit = self.edge.saturating_sub(u32::from(self.ordered));
        if self.hits.len() > 2 * self.k + SPARE {
            let edge = self.edge;
            self.hits.retain(|&hit| parts(hit).0 < edge);
            self.settled = self.hits.len();
        }
    }

    /// Drops those of the last hits, from a place on, whose number is not to be kept. They must not
    /// be settled yet.
    pub(in crate::index) fn retain(&mut self, from: usize, keep: impl Fn(u32) -> bool) {
        let mut kept = from;
        for at in from..self.hits.len() {
            self.hits[kept] = self.hits[at];
            kept += usize::from(keep(parts(self.hits[at]).1));
        }
        self.hits.truncate(kept);
    }

    /// What was found, nearest first and then by slot.
    pub(in crate::index) fn finish(mut self) -> Vec<u64> {
        self.settle();
        // A place for each distance: counting sorts, and keeps the order of slots.
        let edge = self.edge as usize;
        let mut places = Vec::with_capacity(edge);
        let mut total = 0usize;
        for &count in &self.counts[..edge] {
            places.push(total);
            total += count as usize;
        }
        let mut sorted = vec![0; total];
        for &hit in &self.hits {
            let distance = parts(hit).0 as usize;
            if distance < edge {
                sorted[places[distance]] = hit;
                places[distance] += 1;
            }
        }
        if !self.ordered && !sorted.is_sorted() {
            sorted.sort_unstable();
        }
        sorted.truncate(self.k);
        sorted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::hit;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_what_sorting_finds(
            distances in prop::collection::vec(0..40u32, 0..6000),
            k in 1..1500usize,
            chunk in 1..700usize,
        ) {
            let all: Vec<u64> = (0..).zip(&distances).map(|(at, &d)| hit(d, at)).collect();
            let mut top = TopK::nearest(k, 41);
            for chunk in all.chunks(chunk) {
                let limit = top.limit();
                top.hits.extend(chunk.iter().filter(|&&hit| parts(hit).0 < limit));
                top.settle();
            }
            let mut expected = all;
            expected.sort_unstable();
            let within: Vec<u64> =
                expected.iter().copied().filter(|&hit| parts(hit).0 < 9).collect();
            expected.truncate(k);
            prop_assert_eq!(top.finish(), expected);
            let mut all = TopK::all(9);
            all.hits = (0..).zip(&distances).filter(|(_, d)| **d < 9).map(|(at, &d)| hit(d, at)).collect();
            prop_assert_eq!(all.finish(), within);
        }
    }
}
