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
    /// Without filters, and with them.
    tries: [[Tries; CLASSES]; 2],
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

impl Ball {
    /// Finds the middle of its codes, and takes note of how near to it and how far they are.
    fn measure(&mut self, layout: Layout, words: &[u64]) -> Vec<u64> {
        let width = layout.code_words();
        let mut codes = vec![0; self.count * width];
        for (number, code) in (self.start..).zip(codes.chunks_exact_mut(width)) {
            layout.get(words, number, code);
        }
        let middle = Sample::new(&codes, width).middle();
        for code in codes.chunks_exact(width) {
            let distance = hamming(code, &middle);
            self.nearest = self.nearest.min(distance);
            self.farthest = self.farthest.max(distance);
        }
        middle
    }
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

/// Searches after which what was noted counts half, so that what comes now weighs more.
const REMEMBERED: u32 = 1 << 10;

/// What it takes to look into a ball at all, in words compared.
const LOOK: usize = 1 << 12;

/// Numbers at multiples of which balls begin.
const ALIGNED: usize = 64;

impl Balls {
    /// Of so many codes as they stand in a segment.
    pub(super) fn build(
        kernel: Kernel,
        layout: Layout,
        codes: &[u64],
        count: usize,
        leaders: &Leaders,
    ) -> Self {
        let width = layout.code_words();
        let ball_of = leaders.balls_of(kernel, count, |at, out| layout.get(codes, at, out));
        let counts = leaders.counts(&ball_of);
        let mut places = Vec::with_capacity(counts.len());
        let mut balls = Vec::with_capacity(counts.len());
        let mut total = 0;
        for count in counts {
            places.push(total);
            if count > 0 {
                balls.push(Ball { start: total, count, nearest: u32::MAX, farthest: 0 });
            }
            total += count.next_multiple_of(ALIGNED);
        }
        let mut words = Lines::zeros(layout.words(total));
        let mut slots = vec![u32::MAX; total];
        let mut code = vec![0; width];
        for (slot, &ball) in ball_of.iter().enumerate() {
            let place = &mut places[ball as usize];
            layout.get(codes, slot, &mut code);
            layout.put(&mut words, *place, &code);
            slots[*place] = slot as u32;
            *place += 1;
        }
        let middles_of: Vec<Vec<u64>> =
            balls.par_iter_mut().map(|ball| ball.measure(layout, &words)).collect();
        let mut middles = Lines::zeros(layout.words(balls.len()));
        for (number, middle) in middles_of.iter().enumerate() {
            layout.put(&mut middles, number, middle);
        }
        let reach = balls.iter().map(|ball| ball.farthest).max().unwrap_or(0);
        Balls { layout, balls, middles, words, slots, reach, tries: Default::default() }
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

    /// The codes of a ball, of which those may be found whose numbers have a bit in all bitmaps.
    pub(super) fn source<'a>(
        &'a self,
        segment: &'a Segment,
        ball: usize,
        chosen: &[&'a Bitmap],
    ) -> Source<'a> {
        let Ball { start, count, .. } = self.balls[ball];
        Source {
            segment,
            words: &self.words[self.layout.words(start)..],
            count,
            slots: Slots::These(&self.slots[start..]),
            chosen: chosen.iter().map(|chosen| &chosen[start / 64..]).collect(),
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
    pub(super) fn pay(&self, k: usize, filtered: bool) -> bool {
        let Tries { made, vain, left } = self.tries(k, filtered);
        let (made, vain) = (made.load(Ordering::Relaxed), vain.load(Ordering::Relaxed));
        made < STILL_TRIED
            || vain < made / 2
            || left.fetch_add(1, Ordering::Relaxed) % STILL_TRIED == 0
    }

    /// Takes note of how a search for the `k` nearest went.
    pub(super) fn note(&self, k: usize, filtered: bool, in_vain: bool) {
        let Tries { made, vain, .. } = self.tries(k, filtered);
        vain.fetch_add(u32::from(in_vain), Ordering::Relaxed);
        if made.fetch_add(1, Ordering::Relaxed) > REMEMBERED {
            // That another thread may do the same just now does no harm.
            made.store(made.load(Ordering::Relaxed) / 2, Ordering::Relaxed);
            vain.store(vain.load(Ordering::Relaxed) / 2, Ordering::Relaxed);
        }
    }

    fn tries(&self, k: usize, filtered: bool) -> &Tries {
        &self.tries[usize::from(filtered)][(k.ilog2() as usize).min(CLASSES - 1)]
    }
}
