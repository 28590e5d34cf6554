//! Nearest codes of a scan. Hits at small distances are counted by distance. Large distances, which
//! only weighted bits have, are not counted; the nearest hits are selected.

use crate::kernel::parts;

/// Hits of a query in a segment: the `k` nearest, or all within a radius.
pub(in crate::index) struct TopK {
    k: usize,
    /// Exclusive upper bound of the distances that are still needed.
    limit: u32,
    /// Hits. Some may be beyond the limit, because the limit falls during the scan.
    pub(in crate::index) hits: Vec<u64>,
    /// Number of settled hits: those that the limit takes into account.
    settled: usize,
    guessed: bool,
    /// Number of hits at each distance, if distances are small.
    counts: Option<Counts>,
}

/// Numbers of hits by distance. The hits themselves stay in order of their slots.
struct Counts {
    counts: Vec<u32>,
    /// The largest distance among the `k` nearest, plus one, and the number of hits below it.
    edge: u32,
    below: usize,
}

/// Number of excess hits above which hits beyond the limit are dropped.
const SPARE: usize = 2048;

/// Largest limit for which distances are counted. Distances without weights are always below it.
/// Counts of many more distances would not stay in the cache.
const COUNTED: u32 = 2048;

impl TopK {
    /// Returns a `TopK` without hits, for the `k` nearest codes below `limit`.
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

    /// Returns a `TopK` without hits, for all codes below `limit`.
    pub(in crate::index) fn all(limit: u32) -> Self {
        TopK::nearest(usize::MAX, limit)
    }

    pub(in crate::index) fn limit(&self) -> u32 {
        self.limit
    }

    /// Guesses the final limit after `seen` of `all` codes were scanned. If near codes are as
    /// frequent among the remaining codes, more than `k` codes are below the guess. After the scan,
    /// [`failed`](Self::failed) reports whether the guess was wrong.
    pub(in crate::index) fn guess(&mut self, seen: usize, all: usize) {
        let expected = self.k as f64 * seen as f64 / all as f64;
        let enough = 1.1 * expected + 3.0 * expected.sqrt() + 3.0;
        let Some(Counts { counts, edge, below }) = &mut self.counts else {
            let enough = enough.ceil() as usize;
            if enough <= self.hits.len() {
                let (_, &mut farthest, _) = self.hits.select_nth_unstable(enough - 1);
                let limit = parts(farthest).0 + 1;
                // After a selection, the limit is the farthest distance; a guess may be larger.
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

    /// Returns true if a guess was wrong, so that hits may be missing.
    pub(in crate::index) fn failed(&self) -> bool {
        let found = self.counts.as_ref().map_or(self.hits.len(), |counts| counts.below);
        self.guessed && found < self.k
    }

    /// Settles the hits that were appended since the last call.
    ///
    /// Slots ascend. So once there are `k` hits, a new hit at the distance of the farthest hit
    /// would rank behind it: only nearer hits are needed.
    pub(in crate::index) fn settle(&mut self) {
        if self.settled == self.hits.len() {
            return;
        }
        let Some(Counts { counts, edge, below }) = &mut self.counts else {
            // A selection reads all hits, so the next selection waits for `k / 8` more hits.
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

    /// Keeps the `k` nearest hits, if there are at least `k`, in any order.
    fn select(&mut self) {
        if self.hits.len() >= self.k {
            let (_, &mut farthest, _) = self.hits.select_nth_unstable(self.k - 1);
            self.hits.truncate(self.k);
            self.limit = parts(farthest).0;
        }
        self.settled = self.hits.len();
    }

    /// Drops the hits whose numbers `keep` rejects, from position `from` on. The hits from `from`
    /// on must not be settled yet.
    pub(in crate::index) fn retain(&mut self, from: usize, keep: impl Fn(u32) -> bool) {
        let mut kept = from;
        for at in from..self.hits.len() {
            self.hits[kept] = self.hits[at];
            kept += usize::from(keep(parts(self.hits[at]).1));
        }
        self.hits.truncate(kept);
    }

    /// Returns the hits in order of distance, then slot.
    pub(in crate::index) fn finish(mut self) -> Vec<u64> {
        self.settle();
        let Some(Counts { counts, edge, .. }) = self.counts.take() else {
            self.select();
            self.hits.sort_unstable();
            return self.hits;
        };
        // Counting sort, with a position for each distance, keeps the order of slots.
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
            // Small distances are counted; large distances are selected.
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
            // A guess may be wrong; `failed` must then report it.
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
