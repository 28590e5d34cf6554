//! The nearest codes of a scan. Distances that are small numbers are counted; among large ones, of bits
//! with weights, the nearest are selected.

use crate::kernel::parts;

/// What a query has found in a segment: the `k` nearest, or all within a radius.
pub(in crate::index) struct TopK {
    k: usize,
    /// Nothing at this distance or beyond is wanted any more.
    limit: u32,
    /// Hits; some may have fallen behind.
    pub(in crate::index) hits: Vec<u64>,
    /// How many of them are settled, that is, taken into account.
    settled: usize,
    guessed: bool,
    /// How many there are of each distance, if these are small.
    counts: Option<Counts>,
}

/// Hits by distance, which stay in order of their slots.
struct Counts {
    counts: Vec<u32>,
    /// The largest distance among the `k` nearest, plus one, and how many hits are below it.
    edge: u32,
    below: usize,
}

/// Hits beyond `k` that may be held before those that fell behind are dropped.
const SPARE: usize = 2048;

/// Distances up to this one are counted. Codes without weights have no others; counts of many more would
/// not stay in the cache.
const COUNTED: u32 = 2048;

impl TopK {
    /// For the `k` nearest of those below `limit`.
    pub(in crate::index) fn nearest(k: usize, limit: u32) -> Self {
        let counts = || Counts { counts: vec![0; limit as usize], edge: limit, below: 0 };
        TopK {
            k,
            limit,
            hits: Vec::new(),
            settled: 0,
            guessed: false,
            counts: (limit <= COUNTED).then(counts),
        }
    }

    /// For all below `limit`.
    pub(in crate::index) fn all(limit: u32) -> Self {
        TopK::nearest(usize::MAX, limit)
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
        let Some(Counts { counts, edge, below }) = &mut self.counts else {
            let enough = enough.ceil() as usize;
            if enough <= self.hits.len() {
                let (_, &mut farthest, _) = self.hits.select_nth_unstable(enough - 1);
                let limit = parts(farthest).0 + 1;
                // Where the nearest are selected already, nothing as far as the farthest is wanted.
                if limit <= self.limit {
                    self.hits.retain(|&hit| parts(hit).0 < limit);
                    (self.settled, self.limit, self.guessed) = (self.hits.len(), limit, true);
                }
            }
            return;
        };
        let mut nearer = 0;
        for (distance, &count) in (0..self.limit).zip(&*counts) {
            nearer += count as usize;
            if nearer as f64 >= enough {
                self.limit = distance + 1;
                (*edge, *below, self.guessed) = (self.limit, nearer, true);
                return;
            }
        }
    }

    /// Whether a guess was wrong, and something may be missing.
    pub(in crate::index) fn failed(&self) -> bool {
        let found = self.counts.as_ref().map_or(self.hits.len(), |counts| counts.below);
        self.guessed && found < self.k
    }

    /// Takes note of the hits that came since.
    ///
    /// Slots ascend, so once there are `k` hits, another as far as the farthest of them would
    /// come after it, and only nearer ones are wanted.
    pub(in crate::index) fn settle(&mut self) {
        if self.settled == self.hits.len() {
            return;
        }
        let Some(Counts { counts, edge, below }) = &mut self.counts else {
            // To select is work for all that are held, so it waits for a part of as many.
            let enough = if self.settled < self.k { self.k } else { self.k + self.k / 8 };
            if self.hits.len() >= enough {
                self.select();
            }
            self.settled = self.hits.len();
            return;
        };
        for &hit in &self.hits[self.settled..] {
            let distance = parts(hit).0;
            counts[distance as usize] += 1;
            *below += usize::from(distance < *edge);
        }
        self.settled = self.hits.len();
        if *below < self.k {
            return;
        }
        while *edge > 0 {
            let farthest = counts[*edge as usize - 1] as usize;
            if *below - farthest < self.k {
                break;
            }
            *below -= farthest;
            *edge -= 1;
        }
        self.limit = edge.saturating_sub(1);
        if self.hits.len() > 2 * self.k + SPARE {
            self.hits.retain(|&hit| parts(hit).0 < *edge);
            self.settled = self.hits.len();
        }
    }

    /// Keeps the `k` nearest, if there are as many, in any order.
    fn select(&mut self) {
        if self.hits.len() >= self.k {
            let (_, &mut farthest, _) = self.hits.select_nth_unstable(self.k - 1);
            self.hits.truncate(self.k);
            self.limit = parts(farthest).0;
        }
        self.settled = self.hits.len();
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
        let Some(Counts { counts, edge, .. }) = self.counts.take() else {
            self.select();
            self.hits.sort_unstable();
            return self.hits;
        };
        // A place for each distance: counting sorts, and keeps the order of slots.
        let edge = edge as usize;
        let mut places = Vec::with_capacity(edge);
        let mut total = 0usize;
        for &count in &counts[..edge] {
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
            // Counted, and selected.
            nearest in prop_oneof![Just(0u32), Just(COUNTED), Just(u32::MAX - 50)],
            k in 1..1500usize,
            chunk in 1..700usize,
            guess: bool,
        ) {
            let hit = |(at, &distance): (u32, &u32)| hit(nearest + distance, at);
            let all: Vec<u64> = (0..).zip(&distances).map(hit).collect();
            let mut top = TopK::nearest(k, nearest + 41);
            let mut seen = 0;
            for chunk in all.chunks(chunk) {
                let limit = top.limit();
                top.hits.extend(chunk.iter().filter(|&&hit| parts(hit).0 < limit));
                top.settle();
                seen += chunk.len();
                if guess && seen < all.len() {
                    top.guess(seen, all.len());
                }
            }
            let mut expected = all;
            expected.sort_unstable();
            let limit = nearest + 9;
            let within = |hits: &[u64]| -> Vec<u64> {
                hits.iter().copied().filter(|&hit| parts(hit).0 < limit).collect()
            };
            let first = &expected[..k.min(expected.len())];
            // A guess may be wrong, and is then known to be.
            if !top.failed() {
                prop_assert_eq!(&top.finish(), first);
            } else {
                prop_assert!(guess);
            }
            let mut all = TopK::all(limit);
            all.hits = (0..).zip(&distances).map(hit).filter(|&hit| parts(hit).0 < limit).collect();
            prop_assert_eq!(all.finish(), within(&expected));
        }
    }
}
