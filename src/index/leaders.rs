//! Codes that lie in balls, as those of supervised hashing do: one ball for each class.

use rayon::prelude::*;

use super::buckets::Sample;
use crate::hamming;
use crate::kernel::{Kernel, Layout, Lines, Run, parts};

/// Codes looked at to find the balls.
const SAMPLE: usize = 1 << 14;

/// Codes of these that are looked at to see whether the balls are apart.
const ASKED: usize = 1 << 8;

/// Codes given to a thread at a time.
const CHUNK: usize = 1 << 14;

/// Codes in the middle of balls.
pub(super) struct Leaders {
    layout: Layout,
    words: Lines,
    count: usize,
    /// Codes of different balls are farther apart than this, mostly.
    apart: u32,
}

impl Leaders {
    /// The leaders of codes, of which there are `count` and `get` copies one out, if they lie in
    /// balls: whatever of a sample is far from all leaders so far becomes one. If many do, or if
    /// most codes are about as near to a second one, there are no balls.
    pub(super) fn find(
        layout: Layout,
        count: usize,
        get: impl Fn(usize, &mut [u64]),
    ) -> Option<Leaders> {
        let width = layout.code_words();
        let step = count.div_ceil(SAMPLE).max(1);
        let mut sample = vec![0; count.div_ceil(step) * width];
        let places = sample.chunks_exact_mut(width);
        (0..count).step_by(step).zip(places).for_each(|(at, code)| get(at, code));
        let apart = layout.bits() as u32 / 4;
        let mut balls: Vec<Vec<u64>> = Vec::new();
        for code in sample.chunks_exact(width) {
            let distance = |ball: &Vec<u64>| hamming(&ball[..width], code);
            let many = 4 * balls.len() * width > sample.len();
            match balls.iter_mut().min_by_key(|ball| distance(ball)) {
                Some(ball) if distance(ball) <= apart => ball.extend_from_slice(code),
                _ if many => return None,
                _ => balls.push(code.to_vec()),
            }
        }
        // What most of a ball's codes have is nearer to all of them than the first that came. What
        // came out as several balls may be one, around the same middle.
        balls.sort_by_key(|ball| std::cmp::Reverse(ball.len()));
        let mut middles: Vec<Vec<u64>> = Vec::new();
        for ball in &balls {
            let middle = Sample::new(ball, width).middle();
            if middles.iter().all(|other| hamming(other, &middle) > apart / 2) {
                middles.push(middle);
            }
        }
        if middles.len() < 2 || !are_apart(layout, &middles, &sample) {
            return None;
        }
        let mut words = Lines::zeros(layout.words(middles.len()));
        for (number, middle) in middles.iter().enumerate() {
            layout.put(&mut words, number, middle);
        }
        Some(Leaders { layout, words, count: middles.len(), apart })
    }

    /// The ball of each code.
    pub(super) fn balls_of(
        &self,
        kernel: Kernel,
        count: usize,
        get: impl Fn(usize, &mut [u64]) + Sync,
    ) -> Vec<u32> {
        let run = Run { words: &self.words, count: self.count, first: 0, chosen: None };
        let nearest = |hits: &mut Vec<u64>, code: &[u64]| {
            hits.clear();
            kernel.scan(self.layout, code, run, self.apart, hits);
            if hits.is_empty() {
                kernel.scan(self.layout, code, run, u32::MAX, hits);
            }
            hits.iter().min().map_or(0, |&hit| parts(hit).1)
        };
        let mut balls = vec![0; count];
        balls.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, balls)| {
            let (mut hits, mut code) = (Vec::new(), vec![0; self.layout.code_words()]);
            for (at, ball) in (chunk * CHUNK..).zip(balls) {
                get(at, &mut code);
                *ball = nearest(&mut hits, &code);
            }
        });
        balls
    }

    /// How many codes each ball has.
    pub(super) fn counts(&self, balls: &[u32]) -> Vec<usize> {
        let mut counts = vec![0; self.count];
        balls.iter().for_each(|&ball| counts[ball as usize] += 1);
        counts
    }

    /// Puts the codes of each ball together, and their slots with them; where each ball ends.
    pub(super) fn sort(
        &self,
        kernel: Kernel,
        codes: &mut Vec<u64>,
        slots: &mut Vec<u32>,
    ) -> Vec<usize> {
        let width = self.layout.code_words();
        let get = |at: usize, out: &mut [u64]| out.copy_from_slice(&codes[at * width..][..width]);
        let balls = self.balls_of(kernel, slots.len(), get);
        let mut places = self.counts(&balls);
        let mut total = 0;
        for place in &mut places {
            total += std::mem::replace(place, total);
        }
        let (mut sorted, mut sorted_slots) = (vec![0; codes.len()], vec![0; slots.len()]);
        for (at, &ball) in balls.iter().enumerate() {
            let place = &mut places[ball as usize];
            sorted[*place * width..][..width].copy_from_slice(&codes[at * width..][..width]);
            sorted_slots[*place] = slots[at];
            *place += 1;
        }
        (*codes, *slots) = (sorted, sorted_slots);
        // Each has moved on to its end.
        places
    }
}

/// Whether codes are much nearer to their own middle than to the next: by a sixteenth of their bits,
/// on average.
fn are_apart(layout: Layout, middles: &[Vec<u64>], sample: &[u64]) -> bool {
    let width = layout.code_words();
    let step = (sample.len() / width).div_ceil(ASKED).max(1);
    let (mut asked, mut apart) = (0, 0);
    for code in sample.chunks_exact(width).step_by(step) {
        let (mut own, mut next) = (u32::MAX, u32::MAX);
        for middle in middles {
            let distance = hamming(middle, code);
            next = next.min(own.max(distance));
            own = own.min(distance);
        }
        asked += layout.bits();
        apart += (next - own) as usize;
    }
    16 * apart >= asked
}
