//! Buckets against a loop over all items.

use proptest::prelude::*;

use super::asked::Asked;
use super::build::build;
use super::query::Scratch;
use crate::index::segment::{Builder, Columns, Item};
use crate::kernel::{Kernel, Layout, Weights, hit, parts};

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Codes around some centres, many of them more than once.
fn codes(bits: usize, count: usize, centres: usize, repeats: usize, seed: u64) -> Vec<Vec<u64>> {
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

fn columns(bits: usize, codes: &[Vec<u64>]) -> Columns {
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn they_find_what_a_loop_over_all_items_finds(
        bits in prop_oneof![1..=300usize, Just(16), Just(64), Just(128)],
        count in 1..1500usize,
        centres in 1..40usize,
        repeats in 0..5usize,
        k in prop_oneof![Just(None), (1..50usize).prop_map(Some), Just(Some(700))],
        radius in 0..40u32,
        weighted in 0..3usize,
        masked in 0..3usize,
        seed: u64,
    ) {
        let codes = codes(bits, count + 1, centres, repeats, seed);
        let (query, codes) = codes.split_last().unwrap();
        let columns = columns(bits, codes);
        let buckets = build(&columns).unwrap();
        buckets.verify(&columns).unwrap();

        let mut state = seed | 1;
        let weight = |_| {
            let number = random(&mut state);
            (if weighted == 1 { 1 + number % 4 } else { number % 100_000 }) as u32
        };
        let weights: Vec<u32> = (0..bits.next_multiple_of(64)).map(weight).collect();
        let weights = (weighted > 0).then_some(&weights[..]);
        let planes = weights.map(|weights| Weights::new(&weights[..bits]));
        let mut mask = || (0..count.div_ceil(64)).map(|_| random(&mut state)).collect();
        let masks: Vec<Vec<u64>> = (0..masked).map(|_| mask()).collect();
        let masks: Vec<&[u64]> = masks.iter().map(|mask| &mask[..]).collect();

        let all = planes.as_ref().map_or(bits as u32, Weights::largest) + 1;
        let limit = match k {
            Some(_) => all,
            None => (u64::from(all) * u64::from(radius) / 64) as u32 + 1,
        };
        let mut expected: Vec<u64> = (0..count)
            .filter(|slot| masks.iter().all(|mask| mask[slot / 64] >> (slot % 64) & 1 == 1))
            .map(|slot| hit(distance(weights, query, &codes[slot]), slot as u32))
            .filter(|&found| parts(found).0 < limit)
            .collect();
        expected.sort_unstable();
        expected.truncate(k.unwrap_or(usize::MAX));

        // With memory that another query has used.
        let mut scratch = Scratch::default();
        for kernel in Kernel::available() {
            let mut asked = Asked {
                kernel, code: query, weights: planes.as_ref(), k, limit, masks: &masks, most: usize::MAX,
            };
            let mut found = Vec::new();
            prop_assert!(buckets.search(&mut asked, &mut scratch, &mut found).unwrap().is_some());
            prop_assert_eq!(&found, &expected, "{:?}", kernel);
        }
        // What it may not cost is not found, but the limit holds.
        let kernel = Kernel::available()[0];
        let most = (seed % 400) as usize;
        let mut asked =
            Asked { kernel, code: query, weights: planes.as_ref(), k, limit, masks: &masks, most };
        let mut found = Vec::new();
        match buckets.search(&mut asked, &mut scratch, &mut found).unwrap() {
            Some(()) => prop_assert_eq!(&found, &expected),
            None => prop_assert!(expected.iter().all(|&found| parts(found).0 < asked.limit)),
        }
    }
}
