//! Codes by the balls they lie in, as those of supervised hashing do: one ball for each class. A
//! query looks into its own, and into those that are so near that they may hold something.

use std::sync::atomic::{AtomicU32, Ordering};

use rayon::prelude::*;

use super::buckets::Sample;
use super::leaders::Leaders;
use super::segment::{Bitmap, Segment};
use super::tiles::{Slots, Source, is_set};
use crate::hamming;
use crate::kernel::{Kernel, Layout, Lines, Run, parts};

pub(super) struct Balls {
    layout: Layout,
    balls: Vec<Ball>,
    /// The codes in their middles, to be scanned.
    middles: Lines,
    /// Codes ball by ball and in order of their slots within each. The place of one is its number;
    /// each ball begins with a number that fills a word of bits.
    words: Lines,
    /// Their slots. Those of free places are beyond all.
    slots: Vec<u32>,
    /// How far from its middle a code is at most.
    reach: u32,
    tries: [Tries; CLASSES],
}

#[derive(Clone, Copy)]
struct Ball {
    /// The number of its first code, and how many they are.
    start: usize,
    count: usize,
    /// How near to the middle the nearest is, and how far the farthest.
    nearest: u32,
    farthest: u32,
}

/// How many searches for the nearest were made by balls, how many of them in vain, and how many not
/// by balls for that reason.
#[derive(Default)]
struct Tries {
    made: AtomicU32,
    vain: AtomicU32,
    left: AtomicU32,
}

/// Numbers of neighbours that are told apart when it is judged whether balls pay: those with the
/// same logarithm are not.
const CLASSES: usize = 16;

/// One in so many searches is tried where most were in vain.
const STILL_TRIED: u32 = 32;

/// What it takes to look into a ball at all, in words compared.
const LOOK: usize = 1 << 12;

/// Numbers at multiples of which balls begin.
const ALIGNED: usize = 64;

impl Balls {
    /// Of codes one after the other, as words.
    pub(super) fn build(
        kernel: Kernel,
        layout: Layout,
        mut codes: Vec<u64>,
        leaders: &Leaders,
    ) -> Self {
        let width = layout.code_words();
        let mut sorted: Vec<u32> = (0..(codes.len() / width) as u32).collect();
        let ends = leaders.sort(kernel, &mut codes, &mut sorted);
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let ranges: Vec<_> =
            starts.zip(&ends).map(|(start, &end)| start..end).filter(|it| !it.is_empty()).collect();
        let measured: Vec<(Vec<u64>, u32, u32)> = ranges
            .par_iter()
            .map(|range| {
                let codes = &codes[range.start * width..range.end * width];
                let middle = Sample::new(codes, width).middle();
                let distances = codes.chunks_exact(width).map(|code| hamming(code, &middle));
                let (nearest, farthest) = distances
                    .fold((u32::MAX, 0), |(least, most), it| (least.min(it), most.max(it)));
                (middle, nearest, farthest)
            })
            .collect();
        let places = ranges.iter().map(|range| range.len().next_multiple_of(ALIGNED)).sum();
        let mut made = Balls {
            layout,
            balls: Vec::with_capacity(ranges.len()),
            middles: Lines::with_capacity(layout.words(ranges.len())),
            words: Lines::with_capacity(layout.words(places)),
            slots: Vec::with_capacity(places),
            reach: 0,
            tries: Default::default(),
        };
        made.middles.resize(layout.words(ranges.len()));
        made.words.resize(layout.words(places));
        for (range, (middle, nearest, farthest)) in ranges.into_iter().zip(measured) {
            let (start, count) = (made.slots.len(), range.len());
            layout.put(&mut made.middles, made.balls.len(), &middle);
            made.balls.push(Ball { start, count, nearest, farthest });
            made.reach = made.reach.max(farthest);
            let codes = codes[range.start * width..range.end * width].chunks_exact(width);
            for (number, code) in (start..).zip(codes) {
                layout.put(&mut made.words, number, code);
            }
            made.slots.extend_from_slice(&sorted[range]);
            made.slots.resize(start + count.next_multiple_of(ALIGNED), u32::MAX);
        }
        made
    }

    pub(super) fn memory(&self) -> usize {
        size_of::<Ball>() * self.balls.capacity()
            + 8 * (self.middles.capacity() + self.words.capacity())
            + 4 * self.slots.capacity()
    }

    fn middles(&self) -> Run<'_> {
        Run { words: &self.middles, count: self.balls.len(), first: 0, chosen: None }
    }

    /// The ball whose middle is nearest.
    pub(super) fn nearest(&self, kernel: Kernel, code: &[u64]) -> Option<usize> {
        let mut hits = Vec::new();
        // Most are far from all balls but their own.
        for limit in [self.layout.bits() as u32 / 4, u32::MAX] {
            kernel.scan(self.layout, code, self.middles(), limit, &mut hits);
            if let Some(&nearest) = hits.iter().min() {
                return Some(parts(nearest).1 as usize);
            }
        }
        None
    }

    /// The balls that may hold anything nearer than a limit, each behind how near that is at least;
    /// the nearest first.
    pub(super) fn below(&self, kernel: Kernel, code: &[u64], limit: u32) -> Vec<(u32, usize)> {
        let mut hits = Vec::new();
        let reach = limit.saturating_add(self.reach);
        kernel.scan(self.layout, code, self.middles(), reach, &mut hits);
        hits.sort_unstable();
        let bound = |&hit: &u64| {
            let (distance, number) = parts(hit);
            let Ball { nearest, farthest, .. } = self.balls[number as usize];
            let bound = distance.saturating_sub(farthest).max(nearest.saturating_sub(distance));
            (bound, number as usize)
        };
        let mut balls: Vec<(u32, usize)> =
            hits.iter().map(bound).filter(|&(bound, _)| bound < limit).collect();
        // Those with the same bound stay in order of their middles.
        balls.sort_by_key(|&(bound, _)| bound);
        balls
    }

    /// What it takes to look through a ball, in codes scanned.
    pub(super) fn cost(&self, ball: usize) -> usize {
        self.balls[ball].count + LOOK / self.layout.code_words()
    }

    /// The codes of a ball, of which those may be found whose numbers have a bit.
    pub(super) fn source<'a>(
        &'a self,
        segment: &'a Segment,
        ball: usize,
        chosen: Option<&'a Bitmap>,
    ) -> Source<'a> {
        let Ball { start, count, .. } = self.balls[ball];
        Source {
            segment,
            words: &self.words[self.layout.words(start)..],
            count,
            slots: Slots::These(&self.slots[start..]),
            chosen: chosen.map(|chosen| &chosen[start / 64..]).into_iter().collect(),
        }
    }

    /// A bitmap by slots, in the order of numbers.
    pub(super) fn in_order(&self, by_slot: &Bitmap) -> Bitmap {
        let beyond = 64 * by_slot.len();
        let bit = |slot: usize| u64::from(slot < beyond && is_set(by_slot, slot));
        let word = |slots: &[u32]| {
            let bits = slots.iter().enumerate();
            bits.fold(0, |word, (at, &slot)| word | bit(slot as usize) << at)
        };
        self.slots.chunks(64).map(word).collect()
    }

    /// Whether to look for the `k` nearest by balls: unless most such searches were in vain, and now
    /// and then even so.
    pub(super) fn pay(&self, k: usize) -> bool {
        let Tries { made, vain, left } = self.tries(k);
        let (made, vain) = (made.load(Ordering::Relaxed), vain.load(Ordering::Relaxed));
        made < STILL_TRIED
            || vain < made / 2
            || left.fetch_add(1, Ordering::Relaxed) % STILL_TRIED == 0
    }

    /// Takes note of how a search for the `k` nearest went.
    pub(super) fn note(&self, k: usize, in_vain: bool) {
        let Tries { made, vain, .. } = self.tries(k);
        made.fetch_add(1, Ordering::Relaxed);
        vain.fetch_add(u32::from(in_vain), Ordering::Relaxed);
    }

    fn tries(&self, k: usize) -> &Tries {
        &self.tries[(k.ilog2() as usize).min(CLASSES - 1)]
    }
}
