//! Index files built in parts, compared with in-memory indexes of the same items.

use hashbrook::{Codes, Error, Index, IndexBuilder, Labels};
use proptest::prelude::*;

fn codes(bits: usize, seeds: &[u64]) -> Codes {
    let mut codes = Codes::new(bits).unwrap();
    for seed in seeds {
        let word = |at: usize| seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(7 * at as u32);
        let mut code: Vec<u64> = (0..bits.div_ceil(64)).map(word).collect();
        if !bits.is_multiple_of(64) {
            *code.last_mut().unwrap() &= (1 << (bits % 64)) - 1;
        }
        codes.push(&code).unwrap();
    }
    codes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn whatever_the_memory_the_file_is_the_same(
        bits in prop_oneof![Just(20), Just(64), Just(100)],
        batches in prop::collection::vec(
            prop::collection::btree_map(any::<u64>(), 0..4u32, 0..300), 0..12),
        memory in prop_oneof![Just(0), 1..100_000usize],
        labelled: bool,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let (one, other) = (directory.path().join("one.index"), directory.path().join("other.index"));
        let mut index = Index::of_codes(bits).unwrap();
        let mut builder = IndexBuilder::of_codes(&other, bits).unwrap().memory(memory);
        let mut taken = std::collections::BTreeSet::new();
        for batch in &batches {
            let mut items: Vec<(u64, u32)> =
                batch.iter().map(|(&id, &l)| (id, l)).filter(|(id, _)| taken.insert(*id)).collect();
            items.reverse();
            let ids: Vec<u64> = items.iter().map(|(id, _)| *id).collect();
            let labels: Vec<u32> = items.iter().map(|(_, label)| *label).collect();
            let (codes, labels) = (codes(bits, &ids), labelled.then_some(Labels::single(&labels)));
            index.add_codes(&ids, &codes, labels).unwrap();
            builder.add_codes(&ids, &codes, labels).unwrap();
        }
        index.save(&one).unwrap();
        prop_assert_eq!(builder.len(), index.len());
        builder.finish().unwrap();
        prop_assert!(std::fs::read(&one).unwrap() == std::fs::read(&other).unwrap());
        Index::open(&other).unwrap().verify().unwrap();
        prop_assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2, "nothing is left");
    }
}

#[test]
fn a_file_that_cannot_be_built_leaves_what_stood_there() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.index");
    std::fs::write(&path, b"something else").unwrap();
    let ids: Vec<u64> = (0..1000).collect();
    for memory in [0, 1 << 30] {
        let mut builder = IndexBuilder::of_codes(&path, 64).unwrap().memory(memory);
        builder.add_codes(&ids, &codes(64, &ids), None).unwrap();
        let twice = builder.add_codes(&[5, 5], &codes(64, &[1, 2]), None);
        assert!(matches!(twice, Err(Error::IdTwice(5))));
        let short = builder.add_codes(&[5], &codes(32, &[1]), None);
        assert!(matches!(short, Err(Error::CodeLength { .. })));
        builder.add_codes(&[2000, 500], &codes(64, &[1, 2]), None).unwrap();
        assert!(matches!(builder.finish(), Err(Error::IdTwice(500))));
    }
    assert_eq!(std::fs::read(&path).unwrap(), b"something else");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left");
    assert!(IndexBuilder::of_codes(directory.path().join("no/directory.index"), 64).is_err());
    assert!(IndexBuilder::of_codes(&path, 0).is_err());
}

#[test]
fn any_number_of_runs_becomes_one_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.index");
    let mut builder = IndexBuilder::of_codes(&path, 64).unwrap().memory(0);
    let batches = 150u64;
    for batch in 0..batches {
        // Each batch is spread over the whole range of ids.
        let ids: Vec<u64> = (0..20).map(|at| at * batches + batch).collect();
        builder.add_codes(&ids, &codes(64, &ids), None).unwrap();
        let files = std::fs::read_dir(directory.path()).unwrap().count();
        assert!(files <= 34, "{files} files after {batch} batches");
    }
    builder.finish().unwrap();
    let index = Index::open(&path).unwrap();
    index.verify().unwrap();
    assert_eq!(index.ids().unwrap(), (0..20 * batches).collect::<Vec<u64>>());
    assert_eq!(index.get(777).unwrap().unwrap().code, codes(64, &[777]).code(0));
}
