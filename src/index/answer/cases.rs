//! Test codes, and the hits that a loop over all codes finds.

use super::asked::Asked;
use crate::index::segment::{Builder, Columns, Item};
use crate::kernel::{Layout, hit, parts};

pub(in crate::index) fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Returns codes around some centres, many of them more than once.
pub(in crate::index) fn codes(
    bits: usize,
    count: usize,
    centres: usize,
    repeats: usize,
    seed: u64,
) -> Vec<Vec<u64>> {
    let mut state = seed | 1;
    let width = bits.div_ceil(64);
    let last = if bits.is_multiple_of(64) { u64::MAX } else { (1 << (bits % 64)) - 1 };
    let mut word = |at: usize, sparse: bool| {
        let mut value = random(&mut state);
        if sparse {
            value &= random(&mut state) & random(&mut state) & random(&mut state);
        }
        if at + 1 == width { value & last } else { value }
    };
    let centres: Vec<Vec<u64>> =
        (0..centres).map(|_| (0..width).map(|at| word(at, false)).collect()).collect();
    let mut codes: Vec<Vec<u64>> = Vec::new();
    for number in 0..count {
        let code = match number % (repeats + 1) {
            0 => {
                let centre = &centres[number % centres.len()];
                centre.iter().enumerate().map(|(at, centre)| centre ^ word(at, true)).collect()
            }
            _ => codes[number / 2].clone(),
        };
        codes.push(code);
    }
    codes
}

pub(in crate::index) fn columns(bits: usize, codes: &[Vec<u64>]) -> Columns {
    let mut builder = Builder::new(Layout::new(bits), None, codes.len());
    for (id, code) in (0..).zip(codes) {
        builder.push(Item { id, code, label_set: 0, vector: &[] });
    }
    builder.finish()
}

fn distance(weights: Option<&[u32]>, one: &[u64], other: &[u64]) -> u32 {
    let differs = |bit: &usize| (one[bit / 64] ^ other[bit / 64]) >> (bit % 64) & 1 == 1;
    (0..64 * one.len()).filter(differs).map(|bit| weights.map_or(1, |weights| weights[bit])).sum()
}

/// Returns the expected hits from a loop over all codes, with a weight for each bit if given.
pub(in crate::index) fn expected(
    asked: &Asked<'_>,
    weights: Option<&[u32]>,
    codes: &[Vec<u64>],
) -> Vec<u64> {
    let lets_through =
        |slot: &usize| asked.masks.iter().all(|mask| mask[slot / 64] >> (slot % 64) & 1 == 1);
    let mut expected: Vec<u64> = (0..codes.len())
        .filter(lets_through)
        .map(|slot| hit(distance(weights, asked.code, &codes[slot]), slot as u32))
        .filter(|&found| parts(found).0 < asked.limit)
        .collect();
    expected.sort_unstable();
    expected.truncate(asked.k.unwrap_or(usize::MAX));
    expected
}
