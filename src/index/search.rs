//! Searching the segments of an index: tiles of codes that fit a cache, all queries over each.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::best::Best;
use super::filter::Filter;
use super::segment::{Bitmap, CHECKED, Part as Column, Segment};
use super::{Hit, Hits};
use crate::kernel::{Kernel, Layout, Lines, Run, count_bits, hit, parts};
use crate::similarity::LabelSets;
use crate::{Codes, Result};

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Want {
    /// The `k` nearest.
    Nearest(usize),
    /// All up to a distance, which is included.
    Within(u32),
}

/// A search, to be run over segments.
pub(super) struct Search<'a> {
    pub(super) segments: &'a [Segment],
    pub(super) sets: &'a LabelSets,
    pub(super) filter: &'a Filter,
    pub(super) kernel: Kernel,
    pub(super) want: Want,
    pub(super) bits: usize,
    /// Whether the structure for radii may be used.
    pub(super) buckets: bool,
}

/// Bytes of codes that stay in the innermost cache while all queries go over them.
const TILE_BYTES: usize = 3 << 13;

/// Queries that go over a tile together.
const QUERIES: usize = 64;

/// Comparisons of words below which a search is over before another thread is awake.
const WORTH_A_THREAD: usize = 1 << 19;

/// What it costs to move a code, in comparisons of a word.
const MOVE: usize = 64;

/// From which `k` on it pays to guess the distance of the last.
const GUESSED: usize = 16;

/// Codes after which the first guess is made.
const FIRST_GUESS: usize = 128;

/// A part of a segment, and what of it is let through.
struct Part<'a> {
    segment: &'a Segment,
    chosen: &'a [Arc<Bitmap>],
    range: Range<usize>,
}

impl Search<'_> {
    pub(super) fn run(&self, queries: &Codes) -> Result<Hits> {
        let slots: usize = self.segments.iter().map(Segment::slots).sum();
        let work = slots * queries.words_per_code() * queries.len();
        let threads = if work < WORTH_A_THREAD { 1 } else { rayon::current_num_threads() };
        let all: Vec<usize> = (0..queries.len()).collect();
        let found: Vec<Vec<Vec<Hit>>> = if threads == 1 {
            all.chunks(QUERIES).map(|chunk| self.chunk(queries, chunk, 1)).collect::<Result<_>>()?
        } else if queries.len() >= 4 * threads {
            // Small chunks, so that no thread waits long for the last.
            let size = queries.len().div_ceil(4 * threads).clamp(1, QUERIES);
            all.par_chunks(size)
                .map(|chunk| self.chunk(queries, chunk, 1))
                .collect::<Result<_>>()?
        } else {
            all.chunks(QUERIES)
                .map(|chunk| self.chunk(queries, chunk, threads))
                .collect::<Result<_>>()?
        };
        let mut hits = Hits::default();
        for row in found.into_iter().flatten() {
            hits.push(row);
        }
        Ok(hits)
    }

    /// Some of the queries, over all segments, each cut for so many threads.
    fn chunk(&self, queries: &Codes, chunk: &[usize], threads: usize) -> Result<Vec<Vec<Hit>>> {
        let mut found: Vec<Vec<Hit>> = vec![Vec::new(); chunk.len()];
        for segment in self.segments.iter().filter(|segment| segment.len() > 0) {
            let chosen = self.filter.choose(segment, self.sets)?;
            if let (Want::Within(radius), true) = (self.want, self.buckets)
                && let work = (segment.slots() * chunk.len()) as u64
                && let Some(buckets) = segment.buckets(self.kernel, work)?
                && buckets.pay(radius)
            {
                let mut hits = Vec::new();
                for (found, &query) in found.iter_mut().zip(chunk) {
                    hits.clear();
                    buckets.within(self.kernel, queries.code(query), radius, &mut hits);
                    let is_chosen = |hit: &u64| {
                        let slot = parts(*hit).1 as usize;
                        let set = |map: &Bitmap| map[slot / 64] >> (slot % 64) & 1 == 1;
                        segment.is_live(slot) && chosen.iter().all(|map| set(map))
                    };
                    if segment.live().is_some() || !chosen.is_empty() {
                        hits.retain(is_chosen);
                    }
                    hits.sort_unstable();
                    self.take(segment, &hits, found)?;
                }
                continue;
            }
            // A part ends where a checksum does, so that no two threads check the same.
            let step = segment.slots().div_ceil(threads).next_multiple_of(CHECKED);
            let ranges: Vec<Range<usize>> = (0..segment.slots())
                .step_by(step.max(1))
                .map(|start| start..segment.slots().min(start + step))
                .collect();
            let scan = |range: Range<usize>, found: &[Vec<Hit>]| -> Result<Vec<Vec<u64>>> {
                let new = |found: &Vec<Hit>| match self.want {
                    Want::Nearest(k) => Best::nearest(k, self.limit(found)),
                    Want::Within(_) => Best::all(self.limit(found)),
                };
                let mut bests: Vec<Best> = found.iter().map(new).collect();
                let guess = matches!(self.want, Want::Nearest(GUESSED..));
                let part = Part { segment, chosen: &chosen, range };
                self.scan(&part, queries, chunk, &mut bests, guess)?;
                // Where near codes stand together in a corner a guess can be wrong.
                for (at, best) in bests.iter_mut().enumerate().filter(|(_, best)| best.failed()) {
                    *best = new(&found[at]);
                    let (chunk, best) = (&chunk[at..=at], std::slice::from_mut(best));
                    self.scan(&part, queries, chunk, best, false)?;
                }
                Ok(bests.into_iter().map(Best::finish).collect())
            };
            let of_ranges: Vec<Vec<Vec<u64>>> = match &ranges[..] {
                [only] => vec![scan(only.clone(), &found)?],
                several => several
                    .par_iter()
                    .map(|range| scan(range.clone(), &found))
                    .collect::<Result<_>>()?,
            };
            for of_range in of_ranges {
                for (found, hits) in found.iter_mut().zip(of_range) {
                    self.take(segment, &hits, found)?;
                }
            }
        }
        Ok(found)
    }

    /// The distance from which on a query wants nothing more, given what it has found. What is as
    /// far as the last of it may have a smaller id, so that is still wanted.
    fn limit(&self, found: &[Hit]) -> u32 {
        let all = self.bits as u32 + 1;
        match self.want {
            Want::Within(radius) => radius.saturating_add(1).min(all),
            Want::Nearest(k) => found.get(k - 1).map_or(all, |last| last.distance + 1),
        }
    }

    /// Adds what was found in a segment, in order of distance and slot.
    fn take(&self, segment: &Segment, hits: &[u64], found: &mut Vec<Hit>) -> Result<()> {
        let first = found.is_empty();
        found.reserve_exact(hits.len());
        for &hit in hits {
            let (distance, slot) = parts(hit);
            found.push(Hit { distance, id: segment.id(slot as usize)? });
        }
        if !first {
            found.sort_unstable();
        }
        if let Want::Nearest(k) = self.want {
            found.truncate(k);
        }
        Ok(())
    }

    fn scan(
        &self,
        part: &Part<'_>,
        queries: &Codes,
        chunk: &[usize],
        bests: &mut [Best],
        guess: bool,
    ) -> Result<()> {
        let Part { segment, chosen, range } = part;
        let layout = segment.layout();
        let tile = (TILE_BYTES / 8 / layout.code_words()).next_multiple_of(128).min(CHECKED);
        let maps: Vec<&Bitmap> =
            segment.live().into_iter().chain(chosen.iter().map(|map| &**map)).collect();
        let mut compact = Compact::default();
        let mut bits: Vec<u64> = Vec::new();
        // The first tiles are small: what they find makes the limit fall early.
        let (mut start, mut size) = (range.start, 128.min(tile));
        let mut next_guess = FIRST_GUESS;
        while start < range.end {
            // Tiles begin at multiples of 128 and end with the items of a checksum.
            let of_checksum = (start / CHECKED + 1) * CHECKED;
            let end = range.end.min(start + size).min(of_checksum);
            segment.check(Column::Codes, start)?;
            let count = end - start;
            let mut run =
                Run { words: segment.codes_from(start), count, first: start as u32, chosen: None };
            let mut left = count;
            if let [first, rest @ ..] = &maps[..] {
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
            let many = chunk.len();
            let moved = left * (MOVE + many) < many * count;
            if moved {
                compact.fill(layout, run);
                run = Run { words: &compact.words, count: left, first: 0, chosen: None };
            }
            for (best, &query) in bests.iter_mut().zip(chunk).filter(|_| left > 0) {
                let (code, before) = (queries.code(query), best.hits.len());
                self.kernel.scan(layout, code, run, best.limit(), &mut best.hits);
                for found in best.hits[before..].iter_mut().filter(|_| moved) {
                    let (distance, number) = parts(*found);
                    *found = hit(distance, compact.slots[number as usize]);
                }
                best.settle();
            }
            start = end;
            size = (2 * size).min(tile);
            let seen = start - range.start;
            if guess && seen >= next_guess {
                bests.iter_mut().for_each(|best| best.guess(seen, range.len()));
                next_guess = seen * 9 / 8;
            }
        }
        Ok(())
    }
}

/// Codes that were moved together.
#[derive(Default)]
struct Compact {
    words: Lines,
    slots: Vec<u32>,
}

impl Compact {
    fn fill(&mut self, layout: Layout, run: Run<'_>) {
        self.slots.clear();
        self.words.clear();
        let mut code = [0; crate::MAX_BITS / 64];
        let code = &mut code[..layout.code_words()];
        for (at, &word) in run.chosen.unwrap_or_default().iter().enumerate() {
            let mut word = word;
            while word != 0 {
                let slot = at * 64 + word.trailing_zeros() as usize;
                layout.get(run.words, slot, code);
                let place = self.slots.len();
                self.words.resize(layout.words(place + 1));
                layout.put(&mut self.words, place, code);
                self.slots.push(run.first + slot as u32);
                word &= word - 1;
            }
        }
    }
}
