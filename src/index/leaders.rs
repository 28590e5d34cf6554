//! Codes that lie in balls, as those of supervised hashing do: one ball for each class.

use rayon::prelude::*;

use super::buckets::Sample;
use crate::hamming;
use crate::kernel::{Kernel, Layout, Lines, Run, parts};

/// Codes looked at to find the balls.
const SAMPLE: usize = 1 << 14;

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
    /// The leaders of codes, if they lie in balls: whatever of a sample is far from all leaders so
    /// far becomes one. If many do, there are no balls.
    pub(super) fn find(layout: Layout, codes: &[u64]) -> Option<Leaders> {
        let width = layout.code_words();
        let step = (codes.len() / width).div_ceil(SAMPLE).max(1);
        let sample: Vec<&[u64]> = codes.chunks_exact(width).step_by(step).collect();
        let apart = layout.bits() as u32 / 4;
        let mut balls: Vec<Vec<u64>> = Vec::new();
        for code in &sample {
            let distance = |ball: &Vec<u64>| hamming(&ball[..width], code);
            let many = 4 * balls.len() > sample.len();
            match balls.iter_mut().min_by_key(|ball| distance(ball)) {
                Some(ball) if distance(ball) <= apart => ball.extend_from_slice(code),
                _ if many => return None,
                _ => balls.push(code.to_vec()),
            }
        }
        if balls.len() < 2 {
            return None;
        }
        let mut words = Lines::with_capacity(layout.words(balls.len()));
        words.resize(layout.words(balls.len()));
        for (number, ball) in balls.iter().enumerate() {
            // What most of a ball's codes have is nearer to all of them than the first that came.
            layout.put(&mut words, number, &Sample::new(ball, width).middle());
        }
        Some(Leaders { layout, words, count: balls.len(), apart })
    }

    /// Puts the codes of each ball together, and their slots with them; where each ball ends.
    pub(super) fn sort(
        &self,
        kernel: Kernel,
        codes: &mut Vec<u64>,
        slots: &mut Vec<u32>,
    ) -> Vec<usize> {
        let width = self.layout.code_words();
        let run = Run { words: &self.words, count: self.count, first: 0, chosen: None };
        let nearest = |hits: &mut Vec<u64>, code: &[u64]| {
            hits.clear();
            kernel.scan(self.layout, code, run, self.apart, hits);
            if hits.is_empty() {
                kernel.scan(self.layout, code, run, self.layout.bits() as u32 + 1, hits);
            }
            hits.iter().min().map_or(0, |&hit| parts(hit).1)
        };
        let balls: Vec<u32> = codes
            .par_chunks(CHUNK * width)
            .flat_map_iter(|codes| {
                let mut hits = Vec::new();
                codes.chunks_exact(width).map(|code| nearest(&mut hits, code)).collect::<Vec<u32>>()
            })
            .collect();
        let mut ends = vec![0; self.count];
        balls.iter().for_each(|&ball| ends[ball as usize] += 1);
        let mut total = 0;
        let mut places: Vec<usize> = ends
            .iter_mut()
            .map(|end| {
                let start = total;
                total += *end;
                *end = total;
                start
            })
            .collect();
        let (mut sorted, mut sorted_slots) = (vec![0; codes.len()], vec![0; slots.len()]);
        for (at, &ball) in balls.iter().enumerate() {
            let place = &mut places[ball as usize];
            sorted[*place * width..][..width].copy_from_slice(&codes[at * width..][..width]);
            sorted_slots[*place] = slots[at];
            *place += 1;
        }
        (*codes, *slots) = (sorted, sorted_slots);
        ends
    }
}
