//! Scan of many codes by many queries: all queries scan one tile of codes, which fits in a cache,
//! before they scan the next tile.
//!
//! A segment stores items in ascending order of ids, so slots are in the order of ids. A scan finds
//! items in that order. Once there are `k` hits, a later item at the distance of the k-th hit is
//! not among the `k` nearest: ties need no work. `top_k.rs` counts hits by distance and computes
//! the exact limit from the counts. For larger `k` it also guesses the final limit from the number
//! of near codes so far. If the guess proves wrong at the end, that query is scanned again without
//! a guess. Weighted distances are large numbers, which are not counted: the `k` nearest are
//! selected whenever enough new hits have arrived.
//!
//! With a dial, bits have weights (`kernel/weighted/`). Weights of few distinct values are counted
//! by levels: each differing bit adds the smallest weight, and larger weights add further steps. A
//! float query has about as many distinct weights as bits. Four levels below these weights bound
//! each distance, and only if the bound is below the limit is the distance looked up, four bits at
//! a time. Equal weights are divided out: such a search is unweighted (`search/weighing.rs`).
//!
//! The scan compares 64 queries with each tile; a tile fits in the innermost cache. The scan takes
//! slices and bitmaps, and does not depend on segments. A filter becomes a selection of slots
//! (`search/selection.rs`). The selection is a mask, like the bitmap for removed items. If at most
//! one item in sixteen passes, the codes are instead copied together and scanned alone. Selections
//! by label are cached. If masks leave few codes of a tile, they are first moved together.

mod centres;
mod sample;
mod top_k;

pub(super) use self::centres::Centres;
pub(super) use self::sample::Sample;
pub(super) use self::top_k::TopK;
use super::segment::{BLOCK, is_set, set_bits};
use crate::kernel::{Comparison, Kernel, Layout, Lines, Run, Weights, count_bits, hit, parts};
use crate::{Codes, Result};

/// Codes to scan. The number of a code is its position among them.
pub(super) struct Source<'a> {
    pub(super) layout: Layout,
    pub(super) words: &'a [u64],
    pub(super) count: usize,
    pub(super) slots: Slots<'a>,
    /// Bitmaps over code numbers; a code may be a hit only if its bit is set in all of them.
    pub(super) masks: Vec<&'a [u64]>,
}

/// Slots of the codes, in ascending order.
#[derive(Clone, Copy)]
pub(super) enum Slots<'a> {
    /// Consecutive slots from `first` on, which must be the start of a block. `check` is called
    /// with a slot of each block before its codes are read, and fails if these codes cannot be
    /// trusted.
    From { first: usize, check: &'a (dyn Fn(usize) -> Result<()> + Sync) },
    /// Listed slots. Hits whose slots have no bit in `live` are omitted.
    Listed { slots: &'a [u32], live: Option<&'a [u64]> },
}

/// The queries of a scan.
pub(super) struct Queries<'a> {
    pub(super) kernel: Kernel,
    pub(super) codes: &'a Codes,
    /// Weights of bits: one entry for each query, one entry for all queries, or no entry if each
    /// bit weighs 1.
    pub(super) weights: &'a [Weights],
    /// Numbers of the queries to run.
    pub(super) chunk: &'a [usize],
    /// True if the distance of the k-th nearest code is guessed before all codes are scanned.
    pub(super) guess: bool,
}

impl<'a> Queries<'a> {
    /// Returns the weights of a query; `None` if each bit weighs 1.
    pub(super) fn weights_of(&self, query: usize) -> Option<&'a Weights> {
        weights_of(self.weights, query)
    }

    /// Appends the codes that are nearer to a query than the limit of `top`.
    fn compare(&self, layout: Layout, query: usize, run: Run<'_>, top: &mut TopK) {
        let (code, limit) = (self.codes.code(query), top.limit());
        match self.weights_of(query) {
            None => self.kernel.scan(layout, code, run, limit, &mut top.hits),
            weights => {
                let comparison = Comparison {
                    layout,
                    query: code,
                    run,
                    known: None,
                    nearly: None,
                    weights,
                    limit,
                };
                self.kernel.compare(comparison, &mut top.hits);
            }
        }
    }
}

/// Returns the weights of a query from those of all queries.
pub(super) fn weights_of(weights: &[Weights], query: usize) -> Option<&Weights> {
    if weights.len() > 1 { weights.get(query) } else { weights.first() }
}

/// Size of a tile in bytes: its codes stay in the innermost cache while all queries scan them.
const TILE_BYTES: usize = 3 << 13;

/// Number of codes in the first tile.
const FIRST_TILE: usize = 128;

/// Cost of moving a code, in comparisons of a word.
const MOVE: usize = 64;

impl Source<'_> {
    /// Scans all codes for all queries. Hits are identified by slot. Fails if the check of a block
    /// fails.
    pub(super) fn scan(&self, queries: &Queries<'_>, tops: &mut [TopK]) -> Result<()> {
        let layout = self.layout;
        let tile = (TILE_BYTES / 8 / layout.code_words()).next_multiple_of(FIRST_TILE).min(BLOCK);
        let many = queries.chunk.len();
        let mut compact = Compact::default();
        let mut bits: Vec<u64> = Vec::new();
        // The first tiles are small, so that their hits lower the limit early.
        let (mut start, mut size) = (0, FIRST_TILE.min(tile));
        let mut next_guess = FIRST_TILE;
        while start < self.count {
            // Tiles begin at multiples of 128 and never cross the end of a block.
            let block_end = (start / BLOCK + 1) * BLOCK;
            let end = self.count.min(start + size).min(block_end);
            if let Slots::From { first, check } = self.slots
                && start.is_multiple_of(BLOCK)
            {
                check(first + start)?;
            }
            let count = end - start;
            let words = &self.words[layout.words(start)..];
            let mut run = Run { words, count, first: start as u32, mask: None };
            let mut left = count;
            if let [first, rest @ ..] = &self.masks[..] {
                let words = start / 64..end.div_ceil(64);
                let mut mask = &first[words.clone()];
                if !rest.is_empty() {
                    bits.clear();
                    bits.extend_from_slice(mask);
                    for map in rest {
                        let map = &map[words.clone()];
                        bits.iter_mut().zip(map).for_each(|(bits, map)| *bits &= map);
                    }
                    mask = &bits;
                }
                left = 0;
                count_bits(mask, &mut left);
                run.mask = (left < count).then_some(mask);
            }
            // Few codes are moved next to each other if that takes less time than scanning them in
            // place.
            let moved = left * (MOVE + many) < many * count;
            if moved {
                compact.fill(layout, run);
                run = Run { words: &compact.words, count: left, first: 0, mask: None };
            }
            for (top, &query) in tops.iter_mut().zip(queries.chunk).filter(|_| left > 0) {
                let before = top.hits.len();
                queries.compare(layout, query, run, top);
                if moved {
                    renumber(&mut top.hits[before..], |number| compact.numbers[number]);
                }
                self.by_slots(top, before);
                top.settle();
            }
            start = end;
            size = (2 * size).min(tile);
            if queries.guess && start >= next_guess {
                tops.iter_mut().for_each(|top| top.guess(start, self.count));
                next_guess = start * 9 / 8;
            }
        }
        Ok(())
    }

    /// Replaces the numbers of the hits from `before` on by slots.
    fn by_slots(&self, top: &mut TopK, before: usize) {
        match self.slots {
            Slots::From { first: 0, .. } => {}
            Slots::From { first, .. } => {
                renumber(&mut top.hits[before..], |number| (first + number) as u32)
            }
            Slots::Listed { slots, live } => {
                renumber(&mut top.hits[before..], |number| slots[number]);
                if let Some(live) = live {
                    top.retain(before, |slot| is_set(live, slot as usize));
                }
            }
        }
    }
}

fn renumber(hits: &mut [u64], number: impl Fn(usize) -> u32) {
    for found in hits {
        let (distance, old) = parts(*found);
        *found = hit(distance, number(old as usize));
    }
}

/// Codes that were moved next to each other.
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
        for number in set_bits(run.mask.unwrap_or_default()) {
            layout.get(run.words, number, code);
            let place = self.numbers.len();
            self.words.resize(layout.words(place + 1));
            layout.put(&mut self.words, place, code);
            self.numbers.push(run.first + number as u32);
        }
    }
}
