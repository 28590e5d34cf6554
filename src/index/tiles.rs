//! The scan of many codes by many queries: tiles of codes that fit a cache, all queries over each.

use super::best::Best;
use super::segment::{Bitmap, CHECKED, Part, Segment};
use crate::kernel::{Kernel, Layout, Lines, Run, count_bits, hit, parts};
use crate::{Codes, Result};

/// Codes to be scanned. Where they stand is their number.
pub(super) struct Source<'a> {
    pub(super) segment: &'a Segment,
    pub(super) words: &'a [u64],
    pub(super) count: usize,
    pub(super) slots: Slots<'a>,
    /// Bitmaps of those that may be found, by their numbers.
    pub(super) chosen: Vec<&'a [u64]>,
}

/// The slots of codes, which ascend with their numbers.
#[derive(Clone, Copy)]
pub(super) enum Slots<'a> {
    /// One after the other, from this one on, whose checksum begins with it. The codes are the
    /// segment's own.
    From(usize),
    /// These, of which those that are no longer there must be left out.
    These(&'a [u32]),
}

/// The queries of a scan.
pub(super) struct Queries<'a> {
    pub(super) kernel: Kernel,
    pub(super) codes: &'a Codes,
    /// Which of them.
    pub(super) chunk: &'a [usize],
    /// Whether the distance of the last is guessed.
    pub(super) guess: bool,
}

/// Bytes of codes that stay in the innermost cache while all queries go over them.
const TILE_BYTES: usize = 3 << 13;

/// Codes of the first tile.
const FIRST_TILE: usize = 128;

/// What it costs to move a code, in comparisons of a word.
const MOVE: usize = 64;

impl Source<'_> {
    /// Lets queries go over all codes; what they find is found by slot.
    pub(super) fn scan(&self, queries: &Queries<'_>, bests: &mut [Best]) -> Result<()> {
        let layout = self.segment.layout();
        let tile = (TILE_BYTES / 8 / layout.code_words()).next_multiple_of(FIRST_TILE).min(CHECKED);
        let many = queries.chunk.len();
        let mut compact = Compact::default();
        let mut bits: Vec<u64> = Vec::new();
        // The first tiles are small: what they find makes the limit fall early.
        let (mut start, mut size) = (0, FIRST_TILE.min(tile));
        let mut next_guess = FIRST_TILE;
        while start < self.count {
            // Tiles begin at multiples of 128 and end with the items of a checksum.
            let of_checksum = (start / CHECKED + 1) * CHECKED;
            let end = self.count.min(start + size).min(of_checksum);
            if let Slots::From(first) = self.slots {
                self.segment.check(Part::Codes, first + start)?;
            }
            let count = end - start;
            let words = &self.words[layout.words(start)..];
            let mut run = Run { words, count, first: start as u32, chosen: None };
            let mut left = count;
            if let [first, rest @ ..] = &self.chosen[..] {
                let words = start / 64..end.div_ceil(64);
                let mut chosen = &first[words.clone()];
                if !rest.is_empty() {
                    bits.clear();
                    bits.extend_from_slice(chosen);
                    for map in rest {
                        let map = &map[words.clone()];
                        bits.iter_mut().zip(map).for_each(|(bits, map)| *bits &= map);
                    }
                    chosen = &bits;
                }
                left = 0;
                count_bits(chosen, &mut left);
                run.chosen = (left < count).then_some(chosen);
            }
            // Few codes are moved together if that takes less than to scan them where they are.
            let moved = left * (MOVE + many) < many * count;
            if moved {
                compact.fill(layout, run);
                run = Run { words: &compact.words, count: left, first: 0, chosen: None };
            }
            for (best, &query) in bests.iter_mut().zip(queries.chunk).filter(|_| left > 0) {
                let (code, before) = (queries.codes.code(query), best.hits.len());
                queries.kernel.scan(layout, code, run, best.limit(), &mut best.hits);
                if moved {
                    renumber(&mut best.hits[before..], |number| compact.numbers[number]);
                }
                self.by_slots(best, before);
                best.settle();
            }
            start = end;
            size = (2 * size).min(tile);
            if queries.guess && start >= next_guess {
                bests.iter_mut().for_each(|best| best.guess(start, self.count));
                next_guess = start * 9 / 8;
            }
        }
        Ok(())
    }

    /// Puts slots in the place of the numbers of the last hits.
    fn by_slots(&self, best: &mut Best, before: usize) {
        match self.slots {
            Slots::From(0) => {}
            Slots::From(first) => {
                renumber(&mut best.hits[before..], |number| (first + number) as u32)
            }
            Slots::These(slots) => {
                renumber(&mut best.hits[before..], |number| slots[number]);
                if let Some(live) = self.segment.live() {
                    best.retain(before, |slot| is_set(live, slot as usize));
                }
            }
        }
    }
}

/// Whether the bit of a slot is set.
pub(super) fn is_set(map: &Bitmap, slot: usize) -> bool {
    map[slot / 64] >> (slot % 64) & 1 == 1
}

/// The places of all bits that are set, ascending.
pub(super) fn set_bits(map: &[u64]) -> impl Iterator<Item = usize> + '_ {
    map.iter().enumerate().flat_map(|(at, &word)| {
        let without_lowest = |&word: &u64| Some(word & (word - 1)).filter(|&left| left != 0);
        std::iter::successors(Some(word).filter(|&word| word != 0), without_lowest)
            .map(move |word| 64 * at + word.trailing_zeros() as usize)
    })
}

fn renumber(hits: &mut [u64], number: impl Fn(usize) -> u32) {
    for found in hits {
        let (distance, old) = parts(*found);
        *found = hit(distance, number(old as usize));
    }
}

/// Codes that were moved together.
#[derive(Default)]
struct Compact {
    words: Lines,
    numbers: Vec<u32>,
}

impl Compact {
    fn fill(&mut self, layout: Layout, run: Run<'_>) {
        self.numbers.clear();
        self.words.clear();
        let mut code = [0; crate::MAX_BITS / 64];
        let code = &mut code[..layout.code_words()];
        for number in set_bits(run.chosen.unwrap_or_default()) {
            layout.get(run.words, number, code);
            let place = self.numbers.len();
            self.words.resize(layout.words(place + 1));
            layout.put(&mut self.words, place, code);
            self.numbers.push(run.first + number as u32);
        }
    }
}
