//! Tests of buckets against a loop over all items.

use proptest::prelude::*;

use super::build::build;
use super::query::Scratch;
use crate::index::answer::{Asked, cases};
use crate::kernel::{Kernel, Weights, parts};

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
        let codes = cases::codes(bits, count + 1, centres, repeats, seed);
        let (query, codes) = codes.split_last().unwrap();
        let columns = cases::columns(bits, codes);
        let buckets = build(&columns).unwrap();
        buckets.verify(&columns).unwrap();

        let mut state = seed | 1;
        let weight = |_| {
            let number = cases::random(&mut state);
            (if weighted == 1 { 1 + number % 4 } else { number % 100_000 }) as u32
        };
        let weights: Vec<u32> = (0..bits.next_multiple_of(64)).map(weight).collect();
        let weights = (weighted > 0).then_some(&weights[..]);
        let planes = weights.map(|weights| Weights::new(&weights[..bits]));
        let mut mask = || (0..count.div_ceil(64)).map(|_| cases::random(&mut state)).collect();
        let masks: Vec<Vec<u64>> = (0..masked).map(|_| mask()).collect();
        let masks: Vec<&[u64]> = masks.iter().map(|mask| &mask[..]).collect();

        let all = planes.as_ref().map_or(bits as u32, Weights::largest) + 1;
        let limit = match k {
            Some(_) => all,
            None => (u64::from(all) * u64::from(radius) / 64) as u32 + 1,
        };
        let kernel = Kernel::available()[0];
        let asked = Asked {
            kernel, code: query, weights: planes.as_ref(), k, limit, masks: &masks, most: usize::MAX,
        };
        let expected = cases::expected(&asked, weights, codes);
        // With buffers that another query has used.
        let mut scratch = Scratch::default();
        for kernel in Kernel::available() {
            let mut asked = Asked { kernel, ..asked };
            let mut found = Vec::new();
            prop_assert!(buckets.search(&mut asked, &mut scratch, &mut found).unwrap().is_some());
            prop_assert_eq!(&found, &expected, "{:?}", kernel);
        }
        // A search that exceeds its cost limit returns no hits, but its distance limit is valid.
        let mut asked = Asked { most: (seed % 400) as usize, ..asked };
        let mut found = Vec::new();
        match buckets.search(&mut asked, &mut scratch, &mut found).unwrap() {
            Some(()) => prop_assert_eq!(&found, &expected),
            None => prop_assert!(expected.iter().all(|&found| parts(found).0 < asked.limit)),
        }
    }
}
