//! Compares the index with a model: a sorted map, searched by sorting all items.

use std::collections::BTreeMap;
use std::path::Path;

use hashbrook::{Codes, Error, Filter, Hit, Index, Kernel, Labels, SearchStructure, hamming};
use proptest::prelude::*;

/// Expected content of the index.
#[derive(Clone, Default)]
struct Model {
    items: BTreeMap<u64, (Vec<u64>, Vec<u32>)>,
}

impl Model {
    fn sorted(&self, query: &[u64], lets_through: &dyn Fn(u64, &[u32]) -> bool) -> Vec<Hit> {
        let some = self.items.iter().filter(|(id, (_, labels))| lets_through(**id, labels));
        let mut hits: Vec<Hit> =
            some.map(|(&id, (code, _))| Hit::new(id, hamming(query, code))).collect();
        hits.sort_unstable_by_key(|hit| (hit.distance, hit.id));
        hits
    }
}

#[derive(Clone, Debug)]
enum Change {
    Add(Vec<(u64, u64, u8)>),
    Upsert(Vec<(u64, u64, u8)>),
    /// New labels for some existing items, and for one item that may not exist.
    Label(Vec<(u64, u8)>, u64),
    Remove(Vec<u64>),
    Compact,
    Reopen,
}

fn change() -> impl Strategy<Value = Change> {
    // Ids from a small range collide; one id in eight is arbitrary.
    let id = prop_oneof![7 => 0..300u64, 1 => any::<u64>()];
    let items = prop::collection::vec((id.clone(), any::<u64>(), 0..6u8), 0..40);
    let many = prop::collection::vec((0..100_000u64, any::<u64>(), 0..6u8), 100..1500);
    prop_oneof![
        4 => items.clone().prop_map(Change::Add),
        1 => many.prop_map(Change::Add),
        3 => items.prop_map(Change::Upsert),
        2 => (prop::collection::vec((any::<u64>(), 0..6u8), 0..30), id.clone())
            .prop_map(|(labels, id)| Change::Label(labels, id)),
        3 => prop::collection::vec(id, 0..30).prop_map(Change::Remove),
        1 => Just(Change::Compact),
        1 => Just(Change::Reopen),
    ]
}

/// Returns a code near one of a few class codes, as learned codes of classes are.
fn code(bits: usize, seed: u64) -> Vec<u64> {
    code_of_class(bits, seed % 3, seed)
}

fn code_of_class(bits: usize, class: u64, seed: u64) -> Vec<u64> {
    let mut state = (class + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
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
        (
            Filter::all().without_labels(&[1, 4]),
            Box::new(|_, l| !l.contains(&1) && !l.contains(&4)),
        ),
        (Filter::all().without_labels(&[99]), Box::new(|_, _| true)),
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
        assert_eq!(index.present(&[id]).unwrap().is_empty(), expected.is_none());
    }
}

/// Relabels existing items, selected by number, and tries to relabel item `other`, which may not
/// exist.
fn relabel(index: &mut Index, model: &mut Model, labels: &[(u64, u8)], other: u64) {
    let there: Vec<u64> = model.items.keys().copied().collect();
    let chosen: BTreeMap<u64, u8> = labels
        .iter()
        .filter(|_| !there.is_empty())
        .map(|&(number, label)| (there[number as usize % there.len()], label))
        .collect();
    let mut ids: Vec<u64> = chosen.keys().rev().copied().collect();
    let (mut ends, mut values) = (Vec::new(), Vec::new());
    for label in chosen.values().rev() {
        values.extend(labels_of(*label));
        ends.push(values.len());
    }
    let given = Labels::sets(&ends, &values).unwrap();
    index.set_labels(&ids, given).unwrap();
    for (id, label) in chosen {
        model.items.get_mut(&id).unwrap().1 = labels_of(label);
    }
    ids.push(other);
    let fewer = index.set_labels(&ids, given);
    assert!(matches!(fewer, Err(Error::LabelCount { .. })), "{fewer:?}");
    ends.push(values.len());
    let (twice, known) = (ids[..ids.len() - 1].contains(&other), model.items.contains_key(&other));
    match index.set_labels(&ids, Labels::sets(&ends, &values).unwrap()) {
        Err(Error::NoItem(id)) => assert!(id == other.to_string() && !known),
        Err(Error::IdTwice(id)) => assert!(id == other && twice),
        done => {
            done.unwrap();
            model.items.get_mut(&other).unwrap().1 = vec![];
        }
    }
}

/// Applies changes to an index (in a file if `path` is given) and to the model, and compares the
/// two.
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
            Change::Label(labels, other) => relabel(&mut index, &mut model, labels, *other),
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
        let directory = tempfile::tempdir().unwrap();
        follow(bits, &changes, seed, k, radius, Some(&directory.path().join("i.index")));
    }
}

/// Returns codes clustered around a few class codes and ordered by cluster, so that no range of
/// codes is distributed like the whole.
fn clusters(bits: usize, count: usize, classes: usize, seed: u64) -> Codes {
    let mut codes = Codes::new(bits).unwrap();
    for at in 0..count {
        let class = at * (classes + 2) / count % classes;
        let turned = (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ seed;
        codes.push(&code_of_class(bits, class as u64, turned)).unwrap();
    }
    codes
}

fn scattered(count: u64) -> Codes {
    let mut codes = Codes::new(64).unwrap();
    (1..=count).for_each(|at| codes.push(&[at.wrapping_mul(0x9E37_79B9_7F4A_7C15)]).unwrap());
    codes
}

/// Compares the hits of queries, with and without filters, with those of the model.
fn compare(index: &Index, model: &Model, queries: &Codes, ks: &[usize], radii: &[u32]) {
    let half: Vec<u64> = model.items.keys().copied().filter(|id| id % 4 < 2).collect();
    let some: Vec<u64> = half.iter().copied().filter(|id| id % 31 == 0).collect();
    // The same ids, and unused ids far apart: such a filter has another representation.
    let among_others = half.iter().copied().chain((0..10_000).map(|at| u64::MAX - (at << 40)));
    let top = model.items.keys().last().map_or(0, |&last| last as usize / 64 + 1);
    let thirds: Vec<u64> = (0..top).map(|_| 0x9249_2492_4924_9249).collect();
    let in_thirds = |id: u64| thirds[id as usize / 64] >> (id % 64) & 1 == 1;
    type Lets<'a> = Box<dyn Fn(u64, &[u32]) -> bool + 'a>;
    let filters: Vec<(Filter, Lets<'_>)> = vec![
        (Filter::all(), Box::new(|_, _| true)),
        (Filter::all().labels(&[2]), Box::new(|_, labels| labels == [2])),
        (Filter::all().labels(&[7]), Box::new(|_, labels| labels == [7])),
        (Filter::all().ids(&half), Box::new(|id, _| id % 4 < 2)),
        (Filter::all().ids_in(among_others), Box::new(|id, _| id % 4 < 2)),
        (Filter::all().ids(&some), Box::new(|id, _| id % 4 < 2 && id % 31 == 0)),
        (Filter::all().ids(&half).bitmap(&thirds), Box::new(|id, _| id % 4 < 2 && in_thirds(id))),
        (
            Filter::all().labels(&[2]).ids(&some),
            Box::new(|id, labels| id % 4 < 2 && id % 31 == 0 && labels == [2]),
        ),
    ];
    let asked: Vec<usize> = (0..queries.len()).step_by(7).collect();
    let sorted: Vec<Vec<Hit>> =
        asked.iter().map(|&at| model.sorted(queries.code(at), &|_, _| true)).collect();
    for (filter, lets_through) in &filters {
        let mut passing = vec![false; 64 * top];
        for (&id, (_, labels)) in &model.items {
            passing[id as usize] = lets_through(id, labels);
        }
        let index = index.filtered(filter);
        let nearest: Vec<_> = ks.iter().map(|&k| index.search_codes(queries, k).unwrap()).collect();
        let within: Vec<_> =
            radii.iter().map(|&radius| index.within_codes(queries, radius).unwrap()).collect();
        for (&at, sorted) in asked.iter().zip(&sorted) {
            let passes = |hit: &&Hit| passing[hit.id as usize];
            let sorted: Vec<Hit> = sorted.iter().filter(passes).copied().collect();
            for (&k, found) in ks.iter().zip(&nearest) {
                assert_eq!(found.row(at), &sorted[..k.min(sorted.len())], "{k} {at} {filter:?}");
            }
            for (&radius, found) in radii.iter().zip(&within) {
                let near = sorted.iter().take_while(|hit| hit.distance <= radius);
                assert!(found.row(at).iter().eq(near), "within {radius} {at} {filter:?}");
            }
        }
    }
}

#[test]
fn large_indexes_find_the_same_by_every_way() {
    for (bits, classes) in [(24, 6), (64, 3), (64, 0), (64, 50), (128, 20), (200, 3), (200, 50)] {
        // Enough items for search structures to be built.
        let count = match bits {
            ..=32 => 140_000,
            33..=128 => 70_000,
            _ => 20_000,
        };
        let codes = if classes == 0 {
            scattered(count)
        } else {
            clusters(bits, count as usize, classes, 2)
        };
        let mut index = Index::of_codes(bits).unwrap();
        // Ids have gaps; labels cut across the clusters, and one label is rare.
        let ids: Vec<u64> = (0..count).map(|at| 3 * at + at % 2).collect();
        let label = |at: u64| if at % 50 == 9 { 7 } else { at as u32 % 7 };
        let labels: Vec<u32> = (0..count).map(label).collect();
        index.add_codes(&ids, &codes, Some(Labels::single(&labels))).unwrap();
        let gone: Vec<u64> = ids.iter().copied().step_by(11).collect();
        index.remove(&gone).unwrap();
        let mut model = Model::default();
        for (at, &id) in ids.iter().enumerate().filter(|(at, _)| at % 11 != 0) {
            model.items.insert(id, (codes.code(at).to_vec(), vec![labels[at]]));
        }
        // Some queries are stored codes; others are far from every code.
        let step = count as usize / 80;
        let mut queries = codes.select(&(0..80).map(|at| at * step).collect::<Vec<_>>());
        (0..8).for_each(|at| queries.push(&code_of_class(bits, 1000 + at, 5)).unwrap());
        let (ks, radii) = ([1, 10, 40, 700], [0, 2, 8]);
        index.set_search_structure(SearchStructure::None);
        compare(&index, &model, &queries, &ks, &radii);
        assert_eq!(index.statistics().structure_bytes, 0);
        index.set_search_structure(SearchStructure::Full);
        // Enough searches for the structure to be built.
        for _ in 0..40 {
            index.search_codes(&queries, 10).unwrap();
        }
        assert!(index.statistics().structure_bytes > 4 * count as usize, "it was never built");
        for kernel in Kernel::available() {
            index.set_kernel(kernel);
            compare(&index, &model, &queries, &ks, &radii);
        }
        index.set_kernel(Kernel::available()[0]);
        compare(&index, &model, &queries.select(&[3]), &[5000, 200_000], &[bits as u32 / 2]);
        // More items are added, and a whole cluster is removed.
        let more = clusters(bits, 3000, classes.max(1), 77);
        let ids: Vec<u64> = (0..3000).map(|at| 3 * at + 2).collect();
        index.add_codes(&ids, &more, None).unwrap();
        ids.iter().zip(more.iter()).for_each(|(&id, code)| {
            model.items.insert(id, (code.to_vec(), vec![]));
        });
        let near = index.within_codes(&queries.select(&[0]), bits as u32 / 5).unwrap();
        let gone: Vec<u64> = near.row(0).iter().map(|hit| hit.id).collect();
        index.remove(&gone).unwrap();
        gone.iter().for_each(|id| drop(model.items.remove(id)));
        compare(&index, &model, &queries, &ks, &radii);
    }
}

/// Returns the groups, found by comparing all pairs.
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
                // All codes but a few are far from each other.
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
    // The index has several checksums and is split among several threads. Some searching threads do
    // not wait for the thread that builds the structure.
    let codes = clusters(64, 150_000, 3, 5);
    let ids: Vec<u64> = (0..150_000).collect();
    let mut index = Index::of_codes(64).unwrap();
    index.add_codes(&ids, &codes, None).unwrap();
    let directory = tempfile::tempdir().unwrap();
    index.save(directory.path().join("many.index")).unwrap();
    let index = Index::open(directory.path().join("many.index")).unwrap();
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
        let mut scanned = Index::open(directory.path().join("many.index")).unwrap();
        scanned.set_search_structure(SearchStructure::None);
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
    // Several threads build the structure, and then use it.
    let index = Index::open(directory.path().join("many.index")).unwrap();
    pool(3).install(|| index.build_search_structures().unwrap());
    assert!(index.statistics().structure_bytes > 4 * 150_000);
    for threads in [1, 3] {
        let found = pool(threads).install(|| index.search_codes(&queries, 300).unwrap());
        assert_eq!(found, one);
    }
    let alone = pool(1).install(|| index.duplicates(1).unwrap());
    assert_eq!(pool(4).install(|| index.duplicates(1).unwrap()), alone);
}

#[test]
fn new_labels_do_not_take_the_numbers_of_labels_without_names() {
    let mut index = Index::of_codes(8).unwrap();
    assert!(index.complete_label_names().unwrap().is_empty());
    let codes = Codes::from_bytes(8, &[0, 1]).unwrap();
    index.add_codes(&[1, 2], &codes, Some(Labels::single(&[0, 1]))).unwrap();
    assert_eq!(index.find_label("1").unwrap(), 1);
    let unknown = index.find_label("2").unwrap_err().to_string();
    assert!(unknown.ends_with("they have no names here: there are 0 to 1"), "{unknown}");

    let mut names = index.complete_label_names().unwrap();
    let new = names.id("new");
    index.set_label_names(names).unwrap();
    index.set_labels(&[2], Labels::single(&[new])).unwrap();
    assert_eq!(index.labels_of(&[1, 2]).unwrap(), [[0], [2]]);
    assert_eq!((index.find_label("0").unwrap(), index.find_label("new").unwrap()), (0, 2));

    let mut too_few = hashbrook::LabelNames::new();
    too_few.id("only");
    index.set_label_names(too_few).unwrap();
    let problem = index.complete_label_names().unwrap_err().to_string();
    assert_eq!(problem, "names of labels must be as many as the 3 labels of the index, not 1");
}
