//! Tests of tables against a loop over all items.

use proptest::prelude::*;

use super::build::build;
use super::query::Scratch;
use crate::index::answer::{Asked, cases};
use crate::index::buckets;
use crate::kernel::{Kernel, parts};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn they_find_what_a_loop_over_all_items_finds(
        bits in prop_oneof![1..=128usize, Just(16), Just(32), Just(64), Just(128)],
        count in 1..1500usize,
        centres in 1..40usize,
        repeats in 0..5usize,
        k in prop_oneof![Just(None), (1..50usize).prop_map(Some), Just(Some(700))],
        radius in 0..40u32,
        masked in 0..3usize,
        seed: u64,
    ) {
        let codes = cases::codes(bits, count + 1, centres, repeats, seed);
        let (query, codes) = codes.split_last().unwrap();
        let columns = cases::columns(bits, codes);
        let tables = build(&buckets::build(&columns).unwrap()).unwrap().unwrap();
        tables.verify(&columns).unwrap();

        let mut state = seed | 1;
        let mut mask = || (0..count.div_ceil(64)).map(|_| cases::random(&mut state)).collect();
        let masks: Vec<Vec<u64>> = (0..masked).map(|_| mask()).collect();
        let masks: Vec<&[u64]> = masks.iter().map(|mask| &mask[..]).collect();
        let limit = if k.is_some() { bits as u32 + 1 } else { bits as u32 * radius / 64 + 1 };
        let (kernel, most) = (Kernel::available()[0], usize::MAX);
        let asked = Asked { kernel, code: query, weights: None, k, limit, masks: &masks, most };
        let expected = cases::expected(&asked, None, codes);

        // With buffers that another query has used.
        let mut scratch = Scratch::default();
        for kernel in Kernel::available() {
            let mut asked = Asked { kernel, ..asked };
            let mut found = Vec::new();
            prop_assert!(tables.search(&mut asked, &mut scratch, &mut found).unwrap().is_some());
            prop_assert_eq!(&found, &expected, "{:?}", kernel);
        }
        // A search that exceeds its cost limit returns no hits, but its distance limit is valid.
        let mut asked = Asked { most: (seed % 4000) as usize, ..asked };
        let mut found = Vec::new();
        match tables.search(&mut asked, &mut scratch, &mut found).unwrap() {
            Some(()) => prop_assert_eq!(&found, &expected),
            None => prop_assert!(expected.iter().all(|&found| parts(found).0 < asked.limit)),
        }
    }
}

#[test]
fn codes_that_are_too_long_have_none() {
    let columns = cases::columns(129, &cases::codes(129, 100, 3, 1, 5));
    assert!(build(&buckets::build(&columns).unwrap()).unwrap().is_none());
}
