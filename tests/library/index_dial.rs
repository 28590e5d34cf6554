//! Searches with a dial, compared with sums over single bits.

use std::collections::BTreeMap;

use hashbrook::eval::Scorer;
use hashbrook::{
    Codes, Dial, Error, Features, Filter, HashFunction, Hit, Index, Kernel, Labels, Snapshot,
};
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::scores::linear;
use crate::streams::config;

const DIM: usize = 4;

fn function(bits: usize, label_bits: usize, rng: &mut ChaCha8Rng) -> HashFunction {
    linear(DIM, bits, label_bits, rng)
}

/// Returns vectors of few distinct values, many of them equal.
fn vectors(rows: usize, rng: &mut ChaCha8Rng) -> Vec<f32> {
    (0..rows * DIM).map(|_| rng.random_range(-2..3) as f32 * 0.6).collect()
}

/// Queries, and the weights of their bits by definition.
struct Twin {
    codes: Codes,
    weights: Vec<Vec<u32>>,
}

impl Twin {
    fn new(function: &HashFunction, dial: Dial, queries: Features<'_>) -> Twin {
        let weights = |projections: &[f32]| {
            let weight = |(bit, &f): (usize, &f32)| {
                let label = bit < function.label_bits();
                let weight = if label { dial.label_weight() } else { dial.detail_weight() };
                let f = f64::from(f);
                let sure = if label { (f * f).min(4.0) } else { f.tanh().abs() };
                match dial.is_float_query() {
                    true => (f64::from(weight) * sure * 64.0).round() as u32,
                    false => weight,
                }
            };
            projections.iter().enumerate().map(weight).collect()
        };
        let projections = function.project(queries).unwrap();
        Twin {
            codes: function.encode(queries).unwrap(),
            weights: projections.chunks(function.bits()).map(weights).collect(),
        }
    }

    fn distance(&self, query: usize, code: &[u64]) -> u32 {
        let own = self.codes.code(query);
        let differs = |bit: &usize| (own[bit / 64] ^ code[bit / 64]) >> (bit % 64) & 1 == 1;
        (0..self.codes.bits()).filter(differs).map(|bit| self.weights[query][bit]).sum()
    }

    fn sorted(&self, query: usize, items: &BTreeMap<u64, Vec<u64>>) -> Vec<Hit> {
        let hit = |(&id, code): (&u64, &Vec<u64>)| Hit::new(id, self.distance(query, code));
        let mut hits: Vec<Hit> = items.iter().map(hit).collect();
        hits.sort_unstable_by_key(|hit| (hit.distance, hit.id));
        hits
    }
}

#[test]
fn queries_are_weighed_in_parts() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let (function, other) = (function(70, 30, &mut rng), function(69, 30, &mut rng));
    let values = vectors(40, &mut rng);
    let all = Features::new(&values, DIM).unwrap();
    for dial in [Dial::new(2, 1).unwrap(), Dial::new(2, 1).unwrap().float_query(true)] {
        let whole = dial.weigh(&function, all).unwrap();
        let mut parts = dial.weigh(&function, all.slice(0..0)).unwrap();
        for range in [0..1, 1..2, 2..2, 2..30, 30..40] {
            parts.append(&dial.weigh(&function, all.slice(range)).unwrap()).unwrap();
        }
        assert!(parts.append(&dial.weigh(&other, all).unwrap()).is_err());
        assert_eq!(parts.codes(), whole.codes());
        assert!((0..40).all(|query| parts.weights(query) == whole.weights(query)));
    }
    // Queries weighed by different dials can be appended.
    let mut both = Dial::new(2, 1).unwrap().weigh(&function, all.slice(0..2)).unwrap();
    both.append(&Dial::new(3, 1).unwrap().weigh(&function, all.slice(0..2)).unwrap()).unwrap();
    assert_eq!([0, 1, 2, 3].map(|query| both.weights(query)[0]), [2, 2, 3, 3]);
}

/// Parameters of a search, besides its dial.
struct Asked<'a> {
    queries: Features<'a>,
    k: usize,
    /// Radius as a share of the largest possible distance.
    share: f64,
}

fn check(snapshot: &Snapshot, items: &BTreeMap<u64, Vec<u64>>, dial: Dial, asked: &Asked<'_>) {
    let function = snapshot.function().unwrap();
    let twin = Twin::new(function, dial, asked.queries);
    let most = twin.weights.iter().map(|weights| weights.iter().sum::<u32>()).max().unwrap_or(0);
    let (k, radius) = (asked.k, (f64::from(most) * asked.share) as u32);
    let label = |id: u64| (id % 3) as u32;
    let few: Vec<u64> = items.keys().copied().filter(|id| id % 37 == 1).collect();
    type Lets<'a> = Box<dyn Fn(u64) -> bool + 'a>;
    let filters: Vec<(Filter, Lets<'_>)> = vec![
        (Filter::all(), Box::new(|_| true)),
        (Filter::all().labels(&[1, 2]), Box::new(|id| label(id) > 0)),
        (Filter::all().ids(&few), Box::new(|id| few.contains(&id))),
    ];
    for (filter, lets_through) in &filters {
        let some = items.iter().filter(|(id, _)| lets_through(**id));
        let some: BTreeMap<u64, Vec<u64>> = some.map(|(id, code)| (*id, code.clone())).collect();
        let view = snapshot.filtered(filter).dial(dial);
        let weighed = dial.weigh(function, asked.queries).unwrap();
        let mut nearest = vec![
            view.search(asked.queries, k).unwrap(),
            snapshot.filtered(filter).search_weighed(&weighed, k).unwrap(),
        ];
        let mut within = vec![
            view.within(asked.queries, radius).unwrap(),
            snapshot.filtered(filter).within_weighed(&weighed, radius).unwrap(),
        ];
        if !dial.is_float_query() {
            nearest.push(view.search_codes(&twin.codes, k).unwrap());
            within.push(view.within_codes(&twin.codes, radius).unwrap());
        }
        for query in 0..asked.queries.len() {
            let sorted = twin.sorted(query, &some);
            let near = sorted.iter().take_while(|hit| hit.distance <= radius).count();
            for nearest in &nearest {
                assert_eq!(nearest.row(query), &sorted[..k.min(sorted.len())], "{dial:?}");
            }
            for within in &within {
                assert_eq!(within.row(query), &sorted[..near], "{dial:?} within {radius}");
            }
        }
    }
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn a_search_with_a_dial_finds_what_sorting_finds(
        bits in prop_oneof![1..=300usize, Just(32), Just(64), Just(128)],
        label_share in 0.0..=1.0f64,
        sizes in prop::collection::vec(prop_oneof![4 => 0..300usize, 1 => 2000..4000usize], 1..5),
        (label, detail) in prop_oneof![
            (0..6u32, 1..6u32), (1..6u32, 0..6u32), (1..=10_000u32, 0..=10_000u32),
        ],
        float: bool,
        k in prop_oneof![1..40usize, 100..1000usize],
        share in 0.0..0.7f64,
        removed in 1..20u64,
        in_file: bool,
        seed: u64,
    ) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let label_bits = (label_share * bits as f64).round() as usize;
        let function = function(bits, label_bits, &mut rng);
        let dial = Dial::new(label, detail).unwrap().float_query(float);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("dial.index");
        let mut index = Index::new(function.clone());
        if in_file {
            index.save(&path).unwrap();
            index = Index::edit(&path).unwrap();
        }
        let mut items = BTreeMap::new();
        for (at, &rows) in sizes.iter().enumerate() {
            let values = vectors(rows, &mut rng);
            let features = Features::new(&values, DIM).unwrap();
            // The ids of the segments interleave.
            let ids: Vec<u64> = (0..rows as u64).map(|row| row * 5 + at as u64).collect();
            let labels: Vec<u32> = ids.iter().map(|id| (id % 3) as u32).collect();
            index.add(&ids, features, Some(Labels::single(&labels))).unwrap();
            let codes = function.encode(features).unwrap();
            items.extend(ids.into_iter().zip(codes.iter().map(<[u64]>::to_vec)));
        }
        let queries = vectors(5, &mut rng);
        let queries = Features::new(&queries, DIM).unwrap();
        let asked = Asked { queries, k, share };
        let (before, all) = (index.snapshot(), items.clone());
        let gone: Vec<u64> = items.keys().copied().filter(|id| (id / 5) % removed == 0).collect();
        index.remove(&gone).unwrap();
        gone.iter().for_each(|id| drop(items.remove(id)));
        for kernel in Kernel::available() {
            index.set_kernel(kernel);
            check(&index, &items, dial, &asked);
        }
        check(&before, &all, dial, &asked);
        if in_file {
            drop(index);
            check(&Index::open(&path).unwrap(), &items, dial, &asked);
        }
    }

    /// A search returns hits in the order that the evaluation measures.
    #[test]
    fn a_search_is_in_the_order_of_the_ranking(
        bits in 1..200usize,
        label in 0..=10_000u32, detail in 1..100u32, float: bool, seed: u64,
    ) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let function = function(bits, bits / 2, &mut rng);
        let dial = Dial::new(label, detail).unwrap().float_query(float);
        let (found, asked) = (vectors(500, &mut rng), vectors(3, &mut rng));
        let found = Features::new(&found, DIM).unwrap();
        let asked = Features::new(&asked, DIM).unwrap();
        let mut index = Index::new(function.clone());
        let ids: Vec<u64> = (0..500).collect();
        index.add(&ids, found, None).unwrap();
        let hits = index.dial(dial).search(asked, 500).unwrap();
        let codes = function.encode(found).unwrap();
        let weighed = dial.weigh(&function, asked).unwrap();
        let mut keys = vec![0; 3 * 500];
        weighed.rank(&codes).unwrap().keys(0..3, &mut keys);
        for (row, keys) in hits.iter().zip(keys.chunks(500)) {
            let mut ranked: Vec<Hit> = ids.iter().zip(keys).map(|(id, key)| Hit::new(*id, *key)).collect();
            ranked.sort_by_key(|hit| hit.distance);
            prop_assert_eq!(row, &ranked[..]);
        }
    }
}

#[test]
fn weights_that_are_all_the_same_multiply_distances() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let function = function(40, 20, &mut rng);
    let values = vectors(3000, &mut rng);
    let features = Features::new(&values, DIM).unwrap();
    let mut index = Index::new(function);
    index.add(&(0..3000).collect::<Vec<_>>(), features, None).unwrap();
    index.build_search_structures().unwrap();
    let queries = features.slice(0..50);
    let threes = index.dial(Dial::new(3, 3).unwrap());
    for (by_dial, plain) in [
        (threes.search(queries, 20).unwrap(), index.search(queries, 20).unwrap()),
        // A radius of eight thirds of a bit covers two whole bits.
        (threes.within(queries, 8).unwrap(), index.within(queries, 2).unwrap()),
        (threes.within(queries, u32::MAX).unwrap(), index.within(queries, u32::MAX).unwrap()),
    ] {
        let times = |hit: &Hit| Hit::new(hit.id, 3 * hit.distance);
        assert_eq!(by_dial.all(), plain.all().iter().map(times).collect::<Vec<_>>());
        assert_eq!(by_dial.offsets(), plain.offsets());
    }
}

#[test]
fn a_dial_needs_to_know_what_it_weighs() {
    let mut index = Index::of_codes(8).unwrap();
    let codes = Codes::from_bytes(8, &[0b1, 0b111]).unwrap();
    index.add_codes(&[1, 2], &codes, None).unwrap();
    let uneven = Dial::new(4, 1).unwrap();
    let error = |dial: Dial| index.dial(dial).search_codes(&codes, 1).unwrap_err();
    assert!(matches!(error(uneven), Error::NoLabelBits));
    assert!(matches!(error(uneven.float_query(true)), Error::FloatQueryOfCodes));
    let vectors = Features::new(&[1.0], 1).unwrap();
    assert!(matches!(index.dial(uneven).search(vectors, 1), Err(Error::NoFunction)));
    let even = index.dial(Dial::new(2, 2).unwrap());
    assert_eq!(even.search_codes(&codes, 2).unwrap().row(0), [Hit::new(1, 0), Hit::new(2, 4)]);
    assert!(even.search_codes(&codes, 0).is_err());
    assert!(even.within_codes(&Codes::new(9).unwrap(), 1).is_err());
    // All bits are label bits, and their weight is 0, so every code is equally near.
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut index = Index::new(function(70, 70, &mut rng));
    let rows = self::vectors(9, &mut rng);
    let rows = Features::new(&rows, DIM).unwrap();
    index.add(&[9, 8, 7, 6, 5, 4, 3, 2, 1], rows, None).unwrap();
    let found = index.dial(Dial::new(0, 1).unwrap()).search(rows, 2).unwrap();
    assert!(found.iter().all(|row| row == [Hit::new(1, 0), Hit::new(2, 0)]));
    // Queries weighed with another function's bits are refused.
    let other = uneven.weigh(&function(69, 1, &mut rng), rows).unwrap();
    assert!(index.filtered(&Filter::all()).search_weighed(&other, 1).is_err());
}
