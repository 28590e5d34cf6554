//! The index against a model of it: a sorted map, searched by sorting everything.

use std::collections::BTreeMap;
use std::path::Path;

use hashbrook::{Codes, Error, Filter, Hit, Index, Kernel, Labels, hamming};
use proptest::prelude::*;

/// What the index should hold.
#[derive(Clone, Default)]
struct Model {
    items: BTreeMap<u64, (Vec<u64>, Vec<u32>)>,
}

impl Model {
    fn sorted(&self, query: &[u64], lets_through: &dyn Fn(u64, &[u32]) -> bool) -> Vec<Hit> {
        let some = self.items.iter().filter(|(id, (_, labels))| lets_through(**id, labels));
        let mut hits: Vec<Hit> =
            some.map(|(&id, (code, _))| Hit { id, distance: hamming(query, code) }).collect();
        hits.sort_unstable_by_key(|hit| (hit.distance, hit.id));
        hits
    }
}

#[derive(Clone, Debug)]
enum Change {
    Add(Vec<(u64, u64, u8)>),
    Upsert(Vec<(u64, u64, u8)>),
    Remove(Vec<u64>),
    Compact,
    Reopen,
}

fn change() -> impl Strategy<Value = Change> {
    // Ids from a small range meet again; one in eight is anywhere.
    let id = prop_oneof![7 => 0..300u64, 1 => any::<u64>()];
    let items = prop::collection::vec((id.clone(), any::<u64>(), 0..6u8), 0..40);
    let many = prop::collection::vec((0..100_000u64, any::<u64>(), 0..6u8), 100..1500);
    prop_oneof![
        4 => items.clone().prop_map(Change::Add),
        1 => many.prop_map(Change::Add),
        3 => items.prop_map(Change::Upsert),
        3 => prop::collection::vec(id, 0..30).prop_map(Change::Remove),
        1 => Just(Change::Compact),
        1 => Just(Change::Reopen),
    ]
}

/// A code that is one of a few with some bits changed, as those of classes are.
fn code(bits: usize, seed: u64) -> Vec<u64> {
    let mut state = (seed % 3 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut code: Vec<u64> = (0..bits.div_ceil(64)).map(|_| random()).collect();
    for shift in [8, 16, 24, 32] {
        let bit = (seed >> shift) as usize % bits;
        code[bit / 64] ^= 1 << (bit % 64);
    }
    if !bits.is_multiple_of(64) {
        let last = code.len() - 1;
        code[last] &= (1 << (bits % 64)) - 1;
    }
    code
}

fn labels_of(seed: u8) -> Vec<u32> {
    match seed {
        0 => vec![],
        5 => vec![1, 3],
        one => vec![u32::from(one)],
    }
}

struct Given {
    ids: Vec<u64>,
    codes: Codes,
    ends: Vec<usize>,
    labels: Vec<u32>,
}

fn given(bits: usize, items: &[(u64, u64, u8)]) -> Given {
    let mut given =
        Given { ids: vec![], codes: Codes::new(bits).unwrap(), ends: vec![], labels: vec![] };
    for &(id, seed, label) in items {
        given.ids.push(id);
        given.codes.push(&code(bits, seed)).unwrap();
        given.labels.extend(labels_of(label));
        given.ends.push(given.labels.len());
    }
    given
}

fn check(index: &mut Index, model: &Model, bits: usize, seed: u64, k: usize, radius: u32) {
    assert_eq!(index.len(), model.items.len());
    assert_eq!(index.ids().unwrap(), model.items.keys().copied().collect::<Vec<_>>());
    let mut queries = Codes::new(bits).unwrap();
    let count = 1 + seed as usize % 9;
    (0..count).for_each(|at| queries.push(&code(bits, seed.rotate_left(at as u32))).unwrap());
    let some: Vec<u64> =
        model.items.keys().copied().filter(|id| (id ^ seed).is_multiple_of(7)).collect();
    let bitmap: Vec<u64> = (0..4).map(|at| seed.rotate_left(at * 13)).collect();
    type Lets<'a> = Box<dyn Fn(u64, &[u32]) -> bool + 'a>;
    let in_bitmap = |id: u64| id < 256 && bitmap[id as usize / 64] >> (id % 64) & 1 == 1;
    let filters: Vec<(Filter, Lets<'_>)> = vec![
        (Filter::all(), Box::new(|_, _| true)),
        (Filter::all().labels(&[1, 4]), Box::new(|_, l| l.contains(&1) || l.contains(&4))),
        (Filter::all().labels(&[99]), Box::new(|_, _| false)),
        (Filter::all().ids(&some), Box::new(|id, _| some.contains(&id))),
        (Filter::all().bitmap(&bitmap), Box::new(|id, _| in_bitmap(id))),
        (
            Filter::all().labels(&[3]).bitmap(&bitmap),
            Box::new(|id, l| l.contains(&3) && in_bitmap(id)),
        ),
    ];
    for kernel in Kernel::available() {
        index.set_kernel(kernel);
        for (filter, lets_through) in &filters {
            let nearest = index.filtered(filter).search_codes(&queries, k).unwrap();
            let within = index.filtered(filter).within_codes(&queries, radius).unwrap();
            for (at, query) in queries.iter().enumerate() {
                let sorted = model.sorted(query, &**lets_through);
                assert_eq!(
                    nearest.row(at),
                    &sorted[..k.min(sorted.len())],
                    "{kernel:?} {filter:?}"
                );
                let near = sorted.iter().take_while(|hit| hit.distance <= radius).count();
                assert_eq!(within.row(at), &sorted[..near], "{kernel:?} {filter:?}");
            }
        }
    }
    for id in model.items.keys().copied().chain([seed]).take(20) {
        let item = index.get(id).unwrap();
        let expected = model.items.get(&id);
        assert_eq!(
            item.as_ref().map(|item| (&item.code, &item.labels)),
            expected.map(|(c, l)| (c, l))
        );
        assert_eq!(index.contains(id).unwrap(), expected.is_some());
    }
}

/// Applies changes to an index, in a file or not, and to the model, and compares.
fn follow(bits: usize, changes: &[Change], seed: u64, k: usize, radius: u32, path: Option<&Path>) {
    let mut index = Index::of_codes(bits).unwrap();
    if let Some(path) = path {
        index.save(path).unwrap();
        index = Index::edit(path).unwrap();
    }
    let mut model = Model::default();
    for (at, change) in changes.iter().enumerate() {
        match change {
            Change::Add(items) | Change::Upsert(items) => {
                let given = given(bits, items);
                let labels = Labels::sets(&given.ends, &given.labels).unwrap();
                let labels = items.iter().any(|item| item.2 != 0).then_some(labels);
                let mut once = given.ids.clone();
                once.sort_unstable();
                once.dedup();
                let twice = once.len() < given.ids.len();
                let taken = given.ids.iter().any(|id| model.items.contains_key(id));
                let adds = matches!(change, Change::Add(_));
                let done = if adds {
                    index.add_codes(&given.ids, &given.codes, labels)
                } else {
                    index.upsert_codes(&given.ids, &given.codes, labels)
                };
                match done {
                    Err(Error::IdTwice(_)) => assert!(twice),
                    Err(Error::IdTaken(_)) => assert!(adds && taken),
                    other => {
                        other.unwrap();
                        assert!(!(twice || adds && taken));
                        for (at, &id) in given.ids.iter().enumerate() {
                            let item = (given.codes.code(at).to_vec(), labels_of(items[at].2));
                            model.items.insert(id, item);
                        }
                    }
                }
            }
            Change::Remove(ids) => {
                let mut once = ids.clone();
                once.sort_unstable();
                once.dedup();
                let there = once.iter().filter(|id| model.items.remove(id).is_some()).count();
                assert_eq!(index.remove(&once).unwrap(), there);
            }
            Change::Compact => {
                index.compact().unwrap();
                assert_eq!(index.statistics().removed, 0);
            }
            Change::Reopen => {
                if let Some(path) = path {
                    drop(index);
                    index = Index::edit(path).unwrap();
                    index.verify().unwrap();
                    let reader = Index::open(path).unwrap();
                    assert_eq!(reader.ids().unwrap(), index.ids().unwrap());
                }
            }
        }
        let seed = seed.rotate_left(at as u32 * 7);
        if at + 1 == changes.len() || seed.is_multiple_of(3) {
            check(&mut index, &model, bits, seed, k, radius);
        }
    }
}

fn widths() -> impl Strategy<Value = usize> {
    prop_oneof![1..=1024usize, Just(32), Just(64), Just(128), Just(256), 1..80usize]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn an_index_finds_what_sorting_everything_finds(
        bits in widths(),
        changes in prop::collection::vec(change(), 1..8),
        seed: u64,
        k in prop_oneof![1..20usize, 1..3000usize],
        radius in prop_oneof![0..6u32, 0..1100u32],
    ) {
        follow(bits, &changes, seed, k, radius, None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_file_keeps_every_change(
        bits in widths(),
        changes in prop::collection::vec(change(), 1..12),
        seed: u64,
        k in 1..40usize,
        radius in 0..6u32,
    ) {
        let folder = tempfile::tempdir().unwrap();
        follow(bits, &changes, seed, k, radius, Some(&folder.path().join("i.index")));
    }
}

/// Codes in balls around a few, those of one ball together, so that no part is like the whole.
fn balls(bits: usize, count: usize, seed: u64) -> Codes {
    let mut codes = Codes::new(bits).unwrap();
    for at in 0..count {
        let ball = (at * 5 / count) as u64;
        let turned = (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ seed;
        // `code` takes the ball from the remainder by three, and what to turn from the bytes above.
        codes.push(&code(bits, turned / 3 * 3 + ball % 3)).unwrap();
    }
    codes
}

#[test]
fn large_indexes_find_the_same_by_every_way() {
    for (bits, seed) in [(24, 1), (64, 2), (64, 3), (200, 4)] {
        let codes = if seed == 3 {
            // At random, for the ways that are good for those.
            let mut codes = Codes::new(64).unwrap();
            (0..20_000u64).for_each(|at| {
                codes.push(&[(at + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)]).unwrap()
            });
            codes
        } else {
            balls(bits, 20_000, seed)
        };
        let mut index = Index::of_codes(bits).unwrap();
        // Ids with gaps; labels that cut across the balls.
        let ids: Vec<u64> = (0..20_000).map(|at| 3 * at + at % 2).collect();
        let labels: Vec<u32> = (0..20_000).map(|at| at % 7).collect();
        index.add_codes(&ids, &codes, Some(Labels::single(&labels))).unwrap();
        let gone: Vec<u64> = ids.iter().copied().step_by(11).collect();
        index.remove(&gone).unwrap();
        let mut model = Model::default();
        for (at, &id) in ids.iter().enumerate().filter(|(at, _)| at % 11 != 0) {
            model.items.insert(id, (codes.code(at).to_vec(), vec![labels[at]]));
        }
        let queries = codes.select(&(0..80).map(|at| at * 249).collect::<Vec<_>>());
        let some = Filter::all().labels(&[2]);
        for k in [1, 10, 40, 700, 5000, 30_000] {
            let found = index.search_codes(&queries, k).unwrap();
            let filtered = index.filtered(&some).search_codes(&queries, k).unwrap();
            for at in (0..queries.len()).step_by(7) {
                let sorted = model.sorted(queries.code(at), &|_, _| true);
                assert_eq!(found.row(at), &sorted[..k.min(sorted.len())], "{bits} {k} {at}");
                let sorted = model.sorted(queries.code(at), &|_, labels| labels == [2]);
                assert_eq!(filtered.row(at), &sorted[..k.min(sorted.len())]);
            }
        }
        for radius in [0, 1, 2, 3, 8] {
            index.allow_buckets(false);
            let scanned = index.within_codes(&queries, radius).unwrap();
            index.allow_buckets(true);
            // Often enough for the structure to be built.
            for _ in 0..40 {
                assert_eq!(index.within_codes(&queries, radius).unwrap(), scanned);
            }
            let filtered = index.filtered(&some).within_codes(&queries, radius).unwrap();
            for at in (0..queries.len()).step_by(7) {
                let near = |hit: &Hit| hit.distance <= radius;
                let sorted = model.sorted(queries.code(at), &|_, _| true);
                assert!(scanned.row(at).iter().eq(sorted.iter().take_while(|hit| near(hit))));
                let sorted = model.sorted(queries.code(at), &|_, labels| labels == [2]);
                assert!(filtered.row(at).iter().eq(sorted.iter().take_while(|hit| near(hit))));
            }
        }
        let before = index.statistics();
        assert!(before.extra_bytes > before.item_bytes / 2, "the structure was never built");
    }
}

/// Groups by comparing all pairs.
fn groups_of_all_pairs(model: &Model, radius: u32) -> Vec<Vec<u64>> {
    let ids: Vec<u64> = model.items.keys().copied().collect();
    let codes: Vec<&Vec<u64>> = model.items.values().map(|(code, _)| code).collect();
    let mut group: Vec<usize> = (0..ids.len()).collect();
    for one in 0..ids.len() {
        for other in 0..one {
            if hamming(codes[one], codes[other]) <= radius && group[one] != group[other] {
                let (from, to) = (group[one].max(group[other]), group[one].min(group[other]));
                group.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
            }
        }
    }
    let mut found: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    group.iter().zip(&ids).for_each(|(&group, &id)| found.entry(group).or_default().push(id));
    found.into_values().filter(|group| group.len() > 1).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn near_duplicates_are_those_of_all_pairs(
        bits in prop_oneof![1..=300usize, Just(64), Just(32)],
        count in prop_oneof![0..60usize, 300..900usize],
        radius in 0..6u32,
        seed: u64,
        spread: bool,
    ) {
        let mut model = Model::default();
        let mut index = Index::of_codes(bits).unwrap();
        let mut codes = Codes::new(bits).unwrap();
        let ids: Vec<u64> = (0..count as u64).map(|at| 5 * at + 1).collect();
        for (at, &id) in ids.iter().enumerate() {
            let mix = (at as u64 + 1).wrapping_mul(seed | 1);
            let mut code = code(bits, mix);
            if spread {
                // Far from one another, but for a few.
                code[0] ^= (mix >> 20) & if bits < 20 { 0 } else { 0xF_FFFF };
            }
            codes.push(&code).unwrap();
            model.items.insert(id, (code, vec![]));
        }
        index.add_codes(&ids, &codes, None).unwrap();
        let expected = groups_of_all_pairs(&model, radius);
        for kernel in Kernel::available() {
            index.set_kernel(kernel);
            prop_assert_eq!(&index.duplicates(radius).unwrap(), &expected);
        }
    }
}

#[test]
fn many_items_on_many_threads() {
    // Several checksums, several parts for threads, and searches by threads that do not wait for the
    // one that builds the structure.
    let codes = balls(64, 150_000, 5);
    let ids: Vec<u64> = (0..150_000).collect();
    let mut index = Index::of_codes(64).unwrap();
    index.add_codes(&ids, &codes, None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    index.save(&folder.path().join("many.index")).unwrap();
    let index = Index::open(&folder.path().join("many.index")).unwrap();
    let queries = codes.select(&(0..40).map(|at| at * 3700).collect::<Vec<_>>());
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let one = pool(1).install(|| index.search_codes(&queries, 300).unwrap());
    let single = queries.select(&[7]);
    for threads in [2, 3, 8] {
        let found = pool(threads).install(|| {
            (index.search_codes(&queries, 300).unwrap(), index.search_codes(&single, 300).unwrap())
        });
        assert_eq!(found.0, one);
        assert_eq!(found.1.row(0), one.row(7));
    }
    let expected = {
        let mut scanned = Index::open(&folder.path().join("many.index")).unwrap();
        scanned.allow_buckets(false);
        scanned.within_codes(&queries, 3).unwrap()
    };
    let threads = pool(3);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..40 {
                    let found = threads.install(|| index.within_codes(&queries, 3).unwrap());
                    assert_eq!(found, expected);
                    assert_eq!(index.within_codes(&single, 3).unwrap().row(0), expected.row(7));
                }
            });
        }
    });
    let alone = pool(1).install(|| index.duplicates(1).unwrap());
    assert_eq!(pool(4).install(|| index.duplicates(1).unwrap()), alone);
}
