//! Indexes that store vectors: re-ranking compared with sorting everything, and renewal from the
//! stored vectors.

use std::collections::BTreeMap;
use std::path::Path;

use hashbrook::{
    Codes, Error, Features, Filter, HashFunction, HashParts, Hits, Index, IndexBuilder, Labels,
    RankedHit, Snapshot, VectorFormat, VectorMetric, hamming,
};
use proptest::prelude::*;

const FORMATS: [VectorFormat; 2] = [VectorFormat::F16, VectorFormat::I8];

fn mixed(number: u64) -> u64 {
    let mixed = (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

/// Returns a function with a centre and a scale, with or without normalisation to unit length.
fn function(dim: usize, bits: usize, unit: bool, seed: u64) -> HashFunction {
    let weight = |at: u64| (mixed(at ^ seed << 32) % 1000) as f32 / 500.0 - 0.999;
    let mut parts = HashParts::linear(dim, bits, (0..(dim * bits) as u64).map(weight).collect());
    parts.center = Some((0..dim).map(|at| at as f32 * 0.01).collect());
    parts.scale = Some((0..dim).map(|at| 1.0 + at as f32 * 0.1).collect());
    parts.unit = unit;
    HashFunction::new(parts).unwrap()
}

/// Returns a vector of few distinct values, so that ties occur; some vectors are zero after
/// centring.
fn vector(function: &HashFunction, seed: u8) -> Vec<f32> {
    let parts = function.parts();
    let center = parts.center.as_ref().unwrap();
    let value = |at: usize| match seed {
        0 => center[at],
        seed => center[at] + (mixed(at as u64 * 31 + u64::from(seed)) % 5) as f32 - 2.0,
    };
    (0..parts.dim).map(value).collect()
}

#[derive(Clone, Debug)]
enum Change {
    Add(Vec<(u64, u8)>),
    /// Gives this label to all items whose ids are multiples of a number.
    Label(u64, u32),
    Remove(Vec<u64>),
    Compact,
    Reopen,
}

fn change() -> impl Strategy<Value = Change> {
    let items = prop::collection::vec((0..400u64, any::<u8>()), 0..120);
    prop_oneof![
        5 => items.prop_map(Change::Add),
        1 => (1..20u64, 0..3u32).prop_map(|(step, label)| Change::Label(step, label)),
        2 => prop::collection::vec(0..400u64, 0..60).prop_map(Change::Remove),
        1 => Just(Change::Compact),
        1 => Just(Change::Reopen),
    ]
}

fn product(one: &[f32], other: &[f32]) -> f64 {
    one.iter().zip(other).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

/// Expected values of an item: code, original vector up to rounding, length, and label.
struct Kept {
    code: Vec<u64>,
    vector: Vec<f32>,
    length: f64,
    label: u32,
}

/// Tolerance for sums that are added in another order.
const CLOSE: f64 = 1e-4;

/// Returns a score that is largest for the nearest item, and the score's tolerance.
fn nearness(metric: VectorMetric, query: &[f32], item: &Kept) -> (f64, f64) {
    let (product, lengths) =
        (product(query, &item.vector), [product(query, query).sqrt(), item.length]);
    let both = lengths[0] * lengths[1];
    match metric {
        VectorMetric::Cosine => {
            (if both > 0.0 { (product / both).clamp(-1.0, 1.0) } else { 0.0 }, CLOSE)
        }
        VectorMetric::InnerProduct => (product, CLOSE * (1.0 + both)),
        _ => {
            let squared = lengths[0].powi(2) + lengths[1].powi(2) - 2.0 * product;
            (-squared.max(0.0).sqrt(), (2.0 * CLOSE * (1.0 + both)).sqrt())
        }
    }
}

fn nearness_of(metric: VectorMetric, hit: &RankedHit) -> f64 {
    let sign = if metric == VectorMetric::L2 { -1.0 } else { 1.0 };
    sign * f64::from(hit.score)
}

/// Compares one row of hits with sorting everything: candidates by (distance, id), then by scores.
fn check_row(
    (found, metric): (&[RankedHit], VectorMetric),
    (code, query): (&[u64], &[f32]),
    items: &BTreeMap<u64, &Kept>,
    (candidates, k, radius): (usize, usize, u32),
) {
    let mut sorted: Vec<(u32, u64)> =
        items.iter().map(|(&id, kept)| (hamming(code, &kept.code), id)).collect();
    sorted.retain(|(distance, _)| *distance <= radius);
    sorted.sort_unstable();
    sorted.truncate(candidates);
    assert_eq!(found.len(), k.min(sorted.len()));
    let in_order = |pair: &[RankedHit]| {
        let [one, other] = pair else { unreachable!("of two") };
        let [first, second] = [one, other].map(|hit| nearness_of(metric, hit));
        first > second || (first == second && one.id < other.id)
    };
    assert!(found.windows(2).all(in_order), "{found:?}");
    for hit in found {
        assert!(sorted.contains(&(hit.distance, hit.id)), "{hit:?} is no candidate");
        let (expected, close) = nearness(metric, query, items[&hit.id]);
        let off = (nearness_of(metric, hit) - expected).abs();
        assert!(off < close, "{metric:?} {hit:?}, but {expected}");
    }
    let least = found.last().map_or(f64::MAX, |last| nearness_of(metric, last));
    for (_, id) in sorted.iter().filter(|(_, id)| found.iter().all(|hit| hit.id != *id)) {
        let (missed, close) = nearness(metric, query, items[id]);
        assert!(missed <= least + close, "{id} at {missed} was left out, the last is at {least}");
    }
}

/// Compares searches of all kinds with the model, which stores the original vectors.
fn check(
    index: &Snapshot,
    model: &BTreeMap<u64, (Vec<f32>, u32)>,
    seed: u64,
) -> Vec<Hits<RankedHit>> {
    let (function, metric) = (index.function().unwrap(), index.vector_metric().unwrap());
    let parts = function.parts();
    let mut kept = BTreeMap::new();
    for (&id, (vector, label)) in model {
        let prepared = function.prepared(Features::new(vector, vector.len()).unwrap()).unwrap();
        let found = index.vector(id).unwrap().unwrap();
        let most = prepared.iter().fold(0.0f32, |most, value| most.max(value.abs()));
        // The error of integer vectors is half a step, and normalising the length increases it.
        let off =
            most * if index.vector_format() == Some(VectorFormat::F16) { 6e-4 } else { 0.015 };
        for (value, found) in prepared.iter().zip(&found) {
            assert!((value - found).abs() <= off, "{found} is kept for {value}");
        }
        let code = function.encode_one(vector).unwrap();
        assert_eq!(index.get(id).unwrap().unwrap().code, code);
        let (center, scale) = (parts.center.as_ref().unwrap(), parts.scale.as_ref().unwrap());
        let centred = |at: usize| (vector[at] - center[at]) * scale[at];
        let length = (0..parts.dim).map(|at| f64::from(centred(at)).powi(2)).sum::<f64>().sqrt();
        let factor = if parts.unit { length as f32 } else { 1.0 };
        let given = |at: usize| center[at] + factor * found[at] / scale[at];
        let (length, label) = (product(vector, vector).sqrt(), *label);
        kept.insert(id, Kept { code, vector: (0..parts.dim).map(given).collect(), length, label });
    }
    assert_eq!(index.ids().unwrap(), model.keys().copied().collect::<Vec<_>>());
    let dim = function.dim();
    let asked: Vec<f32> =
        (0..5).flat_map(|at| vector(function, mixed(seed + at) as u8)).map(|v| v * 1.5).collect();
    let queries = Features::new(&asked, dim).unwrap();
    let codes = function.encode(queries).unwrap();
    let (n, k, radius) = (1 + seed as usize % 90, 1 + seed as usize % 23, seed as u32 % 40);
    let half: Vec<u64> = (0..400).filter(|id| mixed(id ^ seed).is_multiple_of(2)).collect();
    let filters = [None, Some(Filter::all().labels(&[1])), Some(Filter::all().ids(&half))];
    let mut all = Vec::new();
    for (number, filter) in filters.iter().enumerate() {
        let passes = |id: u64, kept: &Kept| match number {
            0 => true,
            1 => kept.label == 1,
            _ => half.contains(&id),
        };
        let items: BTreeMap<u64, &Kept> = kept
            .iter()
            .filter(|(id, kept)| passes(**id, kept))
            .map(|(&id, kept)| (id, kept))
            .collect();
        let view = match filter {
            None => index.rerank(n),
            Some(filter) => index.filtered(filter).rerank(n),
        };
        let (nearest, within) =
            (view.search(queries, k).unwrap(), view.within(queries, radius).unwrap());
        for query in 0..queries.len() {
            let asked = (codes.code(query), queries.row(query));
            check_row((nearest.row(query), metric), asked, &items, (n.max(k), k, u32::MAX));
            check_row((within.row(query), metric), asked, &items, (n, usize::MAX, radius));
        }
        all.extend([nearest, within]);
    }
    all
}

fn put(index: &mut Index, items: &BTreeMap<u64, (Vec<f32>, u32)>) {
    let ids: Vec<u64> = items.keys().rev().copied().collect();
    let vectors: Vec<f32> = items.values().rev().flat_map(|(vector, _)| vector.clone()).collect();
    let labels: Vec<u32> = items.values().rev().map(|(_, label)| *label).collect();
    let dim = index.function().unwrap().dim();
    let features = Features::new(&vectors, dim).unwrap();
    index.upsert(&ids, features, Some(Labels::single(&labels))).unwrap();
}

/// Opens a file that has no other writer, and retries while the file is in use. A process that
/// another test starts inherits this process's locks until it executes its program.
fn edit(path: &Path) -> Index {
    loop {
        match Index::edit(path) {
            Err(Error::InUse(_)) => std::thread::sleep(std::time::Duration::from_millis(1)),
            other => return other.unwrap(),
        }
    }
}

fn follow(
    function: &HashFunction,
    (format, metric): (VectorFormat, VectorMetric),
    changes: &[Change],
    seed: u64,
    path: &Path,
) {
    let mut in_memory = Index::with_vectors(function.clone(), format).ranked_by(metric);
    in_memory.save(path).unwrap();
    let mut in_file = edit(path);
    assert_eq!(in_file.vector_metric(), Some(metric));
    let mut model = BTreeMap::new();
    for change in changes {
        match change {
            Change::Add(items) => {
                let item = |&(id, seed): &(u64, u8)| (id, (vector(function, seed), id as u32 % 3));
                let items: BTreeMap<_, _> = items.iter().map(item).collect();
                put(&mut in_memory, &items);
                put(&mut in_file, &items);
                model.extend(items);
            }
            Change::Label(step, label) => {
                let of = |(id, _): &(&u64, &mut (Vec<f32>, u32))| id.is_multiple_of(*step);
                let mut ids = Vec::new();
                for (&id, item) in model.iter_mut().filter(of) {
                    ids.push(id);
                    item.1 = *label;
                }
                let labels = vec![*label; ids.len()];
                in_memory.set_labels(&ids, Labels::single(&labels)).unwrap();
                in_file.set_labels(&ids, Labels::single(&labels)).unwrap();
            }
            Change::Remove(ids) => {
                in_memory.remove(ids).unwrap();
                in_file.remove(ids).unwrap();
                ids.iter().for_each(|id| drop(model.remove(id)));
            }
            Change::Compact => {
                in_memory.compact().unwrap();
                in_file.compact().unwrap();
            }
            Change::Reopen => {
                drop(in_file);
                in_file = edit(path);
                in_file.verify().unwrap();
            }
        }
    }
    let found = check(&in_memory, &model, seed);
    assert_eq!(check(&in_file, &model, seed), found);
    let at_once = path.with_extension("built");
    let mut builder =
        IndexBuilder::with_vectors(&at_once, function.clone(), format).unwrap().memory(1000);
    builder = builder.ranked_by(metric);
    for (id, (vector, label)) in model.iter().rev() {
        let features = Features::new(vector, vector.len()).unwrap();
        builder.add(&[*id], features, Some(Labels::single(&[*label]))).unwrap();
    }
    builder.finish().unwrap();
    for index in [Index::open(&at_once).unwrap(), Index::load(&at_once).unwrap()] {
        index.verify().unwrap();
        assert_eq!(check(&index, &model, seed), found, "whatever became of its items before");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn re_ranking_finds_what_sorting_everything_finds(
        dim in 1..40usize,
        bits in prop_oneof![Just(20), Just(64), Just(100)],
        unit: bool,
        format in 0..2usize,
        metric in 0..3usize,
        changes in prop::collection::vec(change(), 1..8),
        seed in any::<u32>(),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.index");
        let function = function(dim, bits, unit, 1);
        follow(&function, (FORMATS[format], VectorMetric::ALL[metric]), &changes, u64::from(seed), &path);
    }
}

/// Returns an index of items with ids from 0, and their vectors.
fn index_of(function: &HashFunction, format: VectorFormat, count: u64) -> (Index, Vec<f32>) {
    let mut index = Index::with_vectors(function.clone(), format);
    let value = |at: u64| (mixed(at) % 2001) as f32 / 1000.0 - 1.0;
    let vectors: Vec<f32> = (0..count * function.dim() as u64).map(value).collect();
    let ids: Vec<u64> = (0..count).collect();
    let labels: Vec<u32> = ids.iter().map(|id| (id % 3) as u32).collect();
    let features = Features::new(&vectors, function.dim()).unwrap();
    index.add(&ids, features, Some(Labels::single(&labels))).unwrap();
    (index, vectors)
}

#[test]
fn vectors_are_asked_for_where_they_are_needed() {
    let function = function(6, 40, true, 1);
    let (mut index, vectors) = index_of(&function, VectorFormat::F16, 50);
    let features = Features::new(&vectors, 6).unwrap();
    let codes = function.encode(features).unwrap();
    for refused in [
        index.add_codes(&[100], &codes.select(&[0]), None),
        index.upsert_codes(&[1], &codes.select(&[0]), None),
    ] {
        assert!(matches!(refused, Err(Error::VectorsMissing)), "{refused:?}");
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.index");
    let mut builder =
        IndexBuilder::with_vectors(&path, function.clone(), VectorFormat::I8).unwrap();
    let refused = builder.add_codes(&[100], &codes.select(&[0]), None);
    assert!(matches!(refused, Err(Error::VectorsMissing)), "{refused:?}");
    assert_eq!((index.len(), builder.len()), (50, 0));
    let query = features.slice(0..1);
    assert!(index.rerank(0).search(query, 3).is_err());
    assert!(index.rerank(0).within(query, 3).is_err());
    assert!(index.rerank(9).search(query, 0).is_err());
    assert_eq!(index.rerank(2).search(query, 5).unwrap().row(0).len(), 5, "no fewer than k");
    let statistics = index.statistics();
    assert!(
        statistics.vector_bytes >= 50 * 6 * 2 && statistics.item_bytes > statistics.vector_bytes
    );

    let mut without = Index::new(function.clone());
    without.add(&[1], query, None).unwrap();
    let refused = without.rerank(10).search(query, 1);
    assert!(matches!(refused, Err(Error::VectorsNotKept { .. })), "{refused:?}");
    let refused = without.renew_kept(function.clone());
    assert!(matches!(refused, Err(Error::VectorsNotKept { .. })), "{refused:?}");
    assert_eq!(without.vector(1).unwrap(), None);
    assert_eq!((without.vector_format(), index.vector_format()), (None, Some(VectorFormat::F16)));
    let of_codes = Index::of_codes(40).unwrap();
    assert!(matches!(of_codes.rerank(10).search(query, 1), Err(Error::NoFunction)));
}

#[test]
fn codes_are_renewed_from_the_vectors_that_are_kept() {
    for (format, unit) in FORMATS.into_iter().flat_map(|format| [(format, false), (format, true)]) {
        let (old, newer) = (function(24, 40, unit, 1), function(24, 70, unit, 2));
        // The items exceed the number that is encoded at a time, and some items are removed.
        let (index, vectors) = index_of(&old, format, 9000);
        let features = Features::new(&vectors, 24).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.index");
        index.save(&path).unwrap();
        for mut index in [index, Index::edit(&path).unwrap()] {
            index.remove(&[5, 4097]).unwrap();
            let before = (index.vector(7).unwrap(), index.get(7).unwrap().unwrap().labels);
            index.renew_kept(newer.clone()).unwrap();
            assert_eq!((index.bits(), index.len()), (70, 8998));
            assert_eq!(index.function().unwrap().parts(), newer.parts());
            let after = (index.vector(7).unwrap(), index.get(7).unwrap().unwrap().labels);
            assert_eq!(after, before, "vectors and labels stay");
            let codes = newer.encode(features).unwrap();
            let differing: u32 = index
                .ids()
                .unwrap()
                .into_iter()
                .map(|id| hamming(&index.get(id).unwrap().unwrap().code, codes.code(id as usize)))
                .sum();
            let share = f64::from(differing) / (8998.0 * 70.0);
            let most = if format == VectorFormat::F16 { 0.001 } else { 0.01 };
            assert!(share < most, "{share} of the bits differ, {format:?}");
        }
        let index = Index::open(&path).unwrap();
        index.verify().unwrap();
        assert_eq!(index.bits(), 70);
        assert!(!index.contains(4097).unwrap());
    }
}

#[test]
fn vectors_that_are_prepared_otherwise_cannot_be_renewed_from() {
    let old = function(6, 40, true, 1);
    let (mut index, vectors) = index_of(&old, VectorFormat::F16, 30);
    let ids: Vec<u64> = (0..30).collect();
    let features = Features::new(&vectors, 6).unwrap();
    let before = index.get(3).unwrap();
    let mut parts = Vec::new();
    for change in [
        |parts: &mut HashParts| parts.center = Some(vec![0.5; 6]),
        |parts: &mut HashParts| parts.scale = None,
        |parts: &mut HashParts| parts.unit = false,
    ] {
        let mut other = old.parts().clone();
        change(&mut other);
        parts.push(HashFunction::new(other).unwrap());
    }
    for (function, what) in parts.iter().zip(["centre", "scale", "unit length"]) {
        for refused in [
            index.renew_kept(function.clone()),
            index.renew_codes(function.clone(), &ids, &function.encode(features).unwrap()),
        ] {
            let Err(Error::OtherPreparation { differs }) = refused else { panic!("{refused:?}") };
            assert!(differs.contains(what), "{differs}");
        }
        assert_eq!(index.get(3).unwrap(), before);
    }
    // Renewal from the original vectors succeeds, and the index stores them as the new function
    // prepares them.
    let other = parts.pop().unwrap();
    index.renew(other.clone(), &ids, features).unwrap();
    let kept = index.vector(3).unwrap().unwrap();
    let expected = other.prepared(features.slice(3..4)).unwrap();
    assert!(kept.iter().zip(&expected).all(|(kept, value)| (kept - value).abs() < 0.002));
    index.rerank(10).search(features, 5).unwrap();
    // Renewal with codes that the caller computed leaves the stored vectors unchanged.
    let codes: Codes = other.encode(features).unwrap();
    index.renew_codes(other, &ids, &codes).unwrap();
    assert_eq!(index.vector(3).unwrap().unwrap(), kept);
}
