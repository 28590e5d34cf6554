//! Items in order of distance and slot.

use super::asked::Asked;
use super::sorter::Sorter;
use crate::Result;
use crate::kernel::{hit, parts};

/// Buffers that are reused from query to query.
#[derive(Default)]
pub(in crate::index) struct Memory {
    /// Codes below the limit, each with its distance, as hits.
    pub(in crate::index) candidates: Vec<u64>,
    /// Number of items at each distance.
    pub(in crate::index) counts: Vec<u32>,
    by_distance: Vec<u64>,
    /// Next free position in `by_distance` for candidates at each distance.
    places: Vec<u32>,
    level: Level,
}

impl Memory {
    /// Appends the items of the candidates below the limit, at most the requested number. `append`
    /// takes the number of a code, the maximum number of its items, and the list to which it
    /// appends them.
    pub(in crate::index) fn write(
        &mut self,
        asked: &Asked<'_>,
        count: usize,
        mut append: impl FnMut(u32, usize, &mut Vec<u32>) -> Result<()>,
        found: &mut Vec<u64>,
    ) -> Result<()> {
        let Memory { candidates, by_distance, places, level, .. } = self;
        candidates.retain(|&candidate| parts(candidate).0 < asked.limit);
        sort_by_distance(candidates, by_distance, places);
        let mut left = asked.k.unwrap_or(usize::MAX);
        for codes in by_distance.chunk_by(|one, other| parts(*one).0 == parts(*other).0) {
            for &code in codes {
                append(parts(code).1, left, &mut level.slots)?;
            }
            left -= level.write(parts(codes[0]).0, codes.len(), count, left, found);
            if left == 0 {
                break;
            }
        }
        Ok(())
    }
}

/// Items at one distance.
#[derive(Default)]
pub(in crate::index) struct Level {
    /// Slots of one code after the other, ascending within each code.
    pub(in crate::index) slots: Vec<u32>,
    sorter: Sorter,
}

impl Level {
    /// Appends at most `most` items of `codes` codes, in order of their slots, and returns the
    /// number of items. All slots must be below `count`. The level is then empty.
    pub(in crate::index) fn write(
        &mut self,
        distance: u32,
        codes: usize,
        count: usize,
        most: usize,
        found: &mut Vec<u64>,
    ) -> usize {
        let before = found.len();
        let push = |slot: u32| found.push(hit(distance, slot));
        self.sorter.sort(&mut self.slots, codes == 1, count, most, push);
        self.slots.clear();
        found.len() - before
    }
}

/// Number of candidates below which they are sorted by comparison.
const FEW: usize = 128;

/// Sorts candidates by distance into `sorted`. Candidates at the same distance stay in order, or
/// are sorted by number.
fn sort_by_distance(candidates: &mut [u64], sorted: &mut Vec<u64>, places: &mut Vec<u32>) {
    sorted.clear();
    let most = candidates.iter().map(|&candidate| parts(candidate).0).max().unwrap_or(0) as usize;
    if candidates.len() < FEW || most > candidates.len() {
        candidates.sort_unstable();
        sorted.extend_from_slice(candidates);
        return;
    }
    places.clear();
    places.resize(most + 2, 0);
    candidates.iter().for_each(|&candidate| places[parts(candidate).0 as usize + 1] += 1);
    for distance in 0..most {
        places[distance + 1] += places[distance];
    }
    sorted.resize(candidates.len(), 0);
    for &candidate in candidates.iter() {
        let place = &mut places[parts(candidate).0 as usize];
        sorted[*place as usize] = candidate;
        *place += 1;
    }
}
