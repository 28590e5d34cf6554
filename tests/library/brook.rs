//! brook: properties that follow from its sums, and inputs that must not harm it.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use hashbrook::dataset::{Digits, digits};
use hashbrook::eval::{Metric, evaluate};
use hashbrook::{Batch, Center, Error, Features, HashFunction, LabelList, Labels, Method, Model};
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use crate::streams::{Stream, config, setup_with, stream};

pub fn brook(parameters: &[(&str, &str)]) -> Method {
    let mut method = Method::named("brook").unwrap();
    for (name, value) in parameters {
        method.set(name, value).unwrap();
    }
    method
}

/// Returns a model that has warmed up on the stream's first rows and learned nothing.
fn warm(method: &Method, stream: &Stream, bits: usize) -> Model {
    let setup = setup_with(|setup| setup.warmup = Some(5));
    let mut model = method.start_with(stream.dim, bits, 3, setup).unwrap();
    let all = all(stream);
    model.learn(all.slice(0..all.len().min(9))).unwrap();
    model.end_warmup().unwrap();
    model.sibling().unwrap()
}

fn all(stream: &Stream) -> Batch<'_> {
    Batch::new(stream.features(), stream.labels()).unwrap()
}

pub fn learned(mut model: Model, batches: impl IntoIterator<Item = impl AsBatch>) -> Model {
    for batch in batches {
        model.learn(batch.as_batch()).unwrap();
    }
    model
}

pub trait AsBatch {
    fn as_batch(&self) -> Batch<'_>;
}

impl AsBatch for Batch<'_> {
    fn as_batch(&self) -> Batch<'_> {
        *self
    }
}

/// Rows that own their data.
pub struct Rows {
    pub dim: usize,
    pub features: Vec<f32>,
    pub labels: LabelList,
}

impl Rows {
    pub fn select(batch: Batch<'_>, rows: &[usize]) -> Rows {
        let features = rows.iter().flat_map(|&row| batch.features().row(row)).copied().collect();
        let mut labels = LabelList::new();
        rows.iter().for_each(|&row| labels.push_set(batch.labels().unwrap().row(row)));
        Rows { dim: batch.features().dim(), features, labels }
    }
}

impl AsBatch for Rows {
    fn as_batch(&self) -> Batch<'_> {
        Batch::new(Features::new(&self.features, self.dim).unwrap(), self.labels.view()).unwrap()
    }
}

pub fn assert_same(one: &Model, other: &Model) {
    assert_eq!(one.hash_function().parts(), other.hash_function().parts());
}

pub const LIFTS: [&[(&str, &str)]; 3] =
    [&[("lift", "none")], &[("anchors", "7")], &[("anchors", "7"), ("precision", "compact")]];

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn order_and_batches_do_not_matter(
        stream in stream(), bits in 1..40usize, size in 1..50usize, seed in any::<u64>(),
        lift in 0..LIFTS.len(),
    ) {
        let model = warm(&brook(LIFTS[lift]), &stream, bits);
        let whole = learned(model.clone(), [all(&stream)]);
        assert_same(&learned(model.clone(), stream.batches()), &whole);
        let mut order: Vec<usize> = (0..all(&stream).len()).collect();
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        let shuffled = order.chunks(size).map(|rows| Rows::select(all(&stream), rows));
        assert_same(&learned(model.clone(), shuffled), &whole);
        let one_by_one = order.chunks(1).map(|rows| Rows::select(all(&stream), rows));
        assert_same(&learned(model, one_by_one), &whole);
    }

    #[test]
    fn parts_put_together_are_the_whole(
        stream in stream(), bits in 1..40usize, lift in 0..LIFTS.len(), parts in 2..5usize,
    ) {
        let model = warm(&brook(LIFTS[lift]), &stream, bits);
        let whole = learned(model.clone(), [all(&stream)]);
        let mut shards = vec![model.clone(); parts];
        for (at, batch) in stream.batches().enumerate() {
            shards[at % parts].learn(batch).unwrap();
        }
        shards.reverse();
        let mut merged = shards.pop().unwrap();
        for shard in &shards {
            // Shards that learned the same one or two rows would be refused as copies.
            prop_assume!(shard.seen() == 0 || merged.fingerprint() != shard.fingerprint());
            merged.merge(shard).unwrap();
        }
        assert_same(&merged, &whole);
        prop_assert_eq!(merged.seen(), whole.seen());
        // The merged model continues to learn like any other.
        assert_same(&learned(merged, [all(&stream)]), &learned(whole, [all(&stream)]));
    }

    #[test]
    fn what_is_unlearned_was_never_learned(
        stream in stream(), bits in 1..40usize, lift in 0..LIFTS.len(), split in 0.0..1.0f64,
    ) {
        let model = warm(&brook(LIFTS[lift]), &stream, bits);
        let rows = all(&stream);
        let split = (split * rows.len() as f64) as usize;
        let (kept, gone) = (rows.slice(0..split), rows.slice(split..rows.len()));
        let only = learned(model.clone(), [kept]);
        let mut both = learned(model, [gone, kept]);
        both.unlearn(gone).unwrap();
        assert_same(&both, &only);
        prop_assert_eq!(both.seen(), only.seen());
        both.unlearn(kept).unwrap();
        let untouched = warm(&brook(LIFTS[lift]), &stream, bits);
        assert_same(&both, &untouched);
    }

    #[test]
    fn relabelled_is_as_if_learned_so(stream in stream(), bits in 1..40usize, lift in 0..LIFTS.len()) {
        let model = warm(&brook(LIFTS[lift]), &stream, bits);
        let rows = all(&stream);
        let old = rows.labels().unwrap();
        let mut new = LabelList::new();
        for row in 0..old.len() {
            let moved: Vec<u32> = old.row(row).iter().map(|label| (label + row as u32) % 5).collect();
            new.push_set(&moved);
        }
        let right = learned(model.clone(), [Batch::new(rows.features(), new.view()).unwrap()]);
        let mut corrected = learned(model, [rows]);
        corrected.relabel(rows.features(), old, new.view()).unwrap();
        assert_same(&corrected, &right);
    }

    #[test]
    fn saved_and_loaded_it_goes_on(
        stream in stream(), bits in 1..40usize, lift in 0..LIFTS.len(), steady in any::<bool>(),
        half_life in prop_oneof![Just("0"), Just("3.5"), Just("70")], warmup in 1..30usize,
    ) {
        let mut method = brook(LIFTS[lift]);
        method.set("half_life", half_life).unwrap();
        method.set("renew_every", "10").unwrap();
        method.set("start", if steady { "steady" } else { "seeded" }).unwrap();
        let setup = setup_with(|setup| setup.warmup = Some(warmup));
        let mut whole = method.start_with(stream.dim, bits, 3, setup).unwrap();
        let mut interrupted = whole.clone();
        for batch in stream.batches() {
            whole.learn(batch).unwrap();
            interrupted =
                Model::from_bytes(&interrupted.to_bytes(), Path::new("memory")).unwrap();
            interrupted.learn(batch).unwrap();
            prop_assert_eq!(interrupted.to_bytes(), whole.to_bytes());
        }
    }
}

#[test]
fn labels_are_merged_by_name() {
    let rows = [1.0, 0.0, 0.0, 1.0, 0.9, 0.1, 0.1, 0.9];
    let features = Features::new(&rows, 2).unwrap();
    let batch = |labels| Batch::new(features, Labels::single(labels)).unwrap();
    let setup = setup_with(|setup| {
        setup.center = Center::None;
        setup.warmup = Some(1);
    });
    let mut here = brook(&[]).start_with(2, 16, 1, setup).unwrap();
    here.learn(batch(&[0, 1, 0, 1])).unwrap();
    let mut there = here.sibling().unwrap();
    let mut whole = here.clone();
    for name in ["cat", "dog"] {
        here.label_names_mut().id(name);
    }
    for name in ["dog", "cow", "cat"] {
        there.label_names_mut().id(name);
    }
    there.learn(batch(&[2, 0, 2, 1])).unwrap(); // cat, dog, cat, cow
    here.merge(&there).unwrap();
    assert_eq!(here.label_names().iter().collect::<Vec<_>>(), ["cat", "dog", "cow"]);
    for name in ["cat", "dog", "cow"] {
        whole.label_names_mut().id(name);
    }
    whole.learn(batch(&[0, 1, 0, 2])).unwrap();
    assert_same(&here, &whole);

    // Merging in the other direction gives the labels other numbers, but the same function.
    let mut there = here.sibling().unwrap();
    for name in ["yak", "elk"] {
        there.label_names_mut().id(name);
    }
    let mut back = here.clone();
    let elk = back.label_names_mut().id("elk");
    let labels = [elk, 2, elk, 0];
    back.learn(batch(&labels)).unwrap();
    there.learn(batch(&[4, 2, 4, 0])).unwrap();
    let mut merged = here.clone();
    merged.merge(&there).unwrap();
    assert_same(&merged, &back);
    there.merge(&here).unwrap();
    assert_same(&there, &back);

    let mut nameless = brook(&[])
        .start_with(
            2,
            16,
            1,
            setup_with(|setup| {
                setup.center = Center::None;
                setup.warmup = Some(1);
            }),
        )
        .unwrap();
    nameless.learn(batch(&[0, 1, 0, 1])).unwrap();
    let error = here.merge(&nameless).unwrap_err().to_string();
    assert!(error.contains("have names"), "{error}");
}

#[test]
fn rows_without_labels_change_nothing() {
    let rows = [1.0, 0.0, 0.0, 1.0, 0.9, 0.1, 0.1, 0.9];
    let features = Features::new(&rows, 2).unwrap();
    let mut none = LabelList::new();
    (0..4).for_each(|_| none.push_set(&[]));
    let unlabelled = Batch::new(features, none.view()).unwrap();
    for lift in LIFTS {
        let mut model = brook(lift).start(2, 16, 1).unwrap();
        model.learn(Batch::new(features, Labels::single(&[0, 1, 0, 1])).unwrap()).unwrap();
        model.end_warmup().unwrap();
        let before = model.hash_function();
        assert!(!model.learn(unlabelled).unwrap().function_changed);
        model.unlearn(unlabelled).unwrap();
        model.relabel(features, none.view(), none.view()).unwrap();
        assert_eq!(model.hash_function().parts(), before.parts());
        assert!(model.relabel(features, none.view(), Labels::single(&[0, 1, 0, 1])).is_err());
    }
}

#[test]
fn a_wild_value_comes_and_goes_without_a_trace() {
    let mut rng = ChaCha8Rng::seed_from_u64(14);
    let rows: Vec<f32> = (0..400 * 4).map(|_| rng.random_range(-1.0..1.0)).collect();
    let labels: Vec<u32> = (0..400).map(|row| row % 3).collect();
    let batch = Batch::new(Features::new(&rows, 4).unwrap(), Labels::single(&labels)).unwrap();
    let wild: Vec<f32> = [1e4, 1e6, 1e9, 1e30].iter().flat_map(|w| [*w, 1.0, -w, 0.5]).collect();
    let wild = Batch::new(Features::new(&wild, 4).unwrap(), Labels::single(&[0, 1, 2, 0])).unwrap();
    let setup = setup_with(|setup| {
        setup.unit = false;
        setup.warmup = Some(50);
    });
    let mut clean = brook(&[("lift", "none")]).start_with(4, 16, 1, setup).unwrap();
    clean.learn(batch.slice(0..50)).unwrap();
    let mut visited = clean.clone();
    visited.learn(wild).unwrap();
    visited.learn(batch.slice(50..400)).unwrap();
    visited.unlearn(wild).unwrap();
    clean.learn(batch.slice(50..400)).unwrap();
    assert_same(&visited, &clean);
}

#[test]
fn more_than_a_block_of_rows_is_as_exact() {
    let mut rng = ChaCha8Rng::seed_from_u64(15);
    let rows: Vec<f32> = (0..5000 * 3).map(|_| rng.random_range(-1.0..1.0)).collect();
    let labels: Vec<u32> = (0..5000).map(|row| row * row % 7).collect();
    let all = Batch::new(Features::new(&rows, 3).unwrap(), Labels::single(&labels)).unwrap();
    for lift in LIFTS {
        let mut model = brook(lift).start(3, 16, 1).unwrap();
        model.learn(all.slice(0..1000)).unwrap();
        model.end_warmup().unwrap();
        let whole = learned(model.sibling().unwrap(), [all]);
        let mut order: Vec<usize> = (0..5000).collect();
        order.shuffle(&mut rng);
        let shuffled = order.chunks(777).map(|rows| Rows::select(all, rows));
        let mut again = learned(model.sibling().unwrap(), shuffled);
        assert_same(&again, &whole);
        assert_eq!(again.to_bytes().len(), whole.to_bytes().len());
        again.unlearn(all.slice(1500..5000)).unwrap();
        assert_same(&again, &learned(model.sibling().unwrap(), [all.slice(0..1500)]));
    }
}

#[test]
fn parts_of_a_batch_make_the_file_that_the_batch_makes() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    // The stream repeats its rows, so that some parts are equal.
    let values: Vec<f32> =
        (0..2000 * 3).map(|_| rng.random_range(-1.0..1.0)).collect::<Vec<_>>().repeat(2);
    let labels: Vec<u32> = (0..2000).map(|row| row % 5).collect::<Vec<_>>().repeat(2);
    let all = Batch::new(Features::new(&values, 3).unwrap(), Labels::single(&labels)).unwrap();
    for lift in LIFTS {
        let mut warm = brook(lift).start(3, 16, 1).unwrap();
        warm.learn(all.slice(0..1000)).unwrap();
        warm.end_warmup().unwrap();
        let mut whole = warm.clone();
        whole.learn(all).unwrap();
        let sibling = warm.sibling().unwrap();
        let mut parts = (0..4000).step_by(1000).map(|first| {
            let mut part = sibling.clone();
            part.learn(all.slice(first..first + 300)).unwrap();
            part.learn(all.slice(first + 300..first + 1000)).unwrap();
            part
        });
        let mut divided = sibling.clone();
        parts.by_ref().take(3).for_each(|part| divided.merge_part(&part, 0).unwrap());
        warm.merge_part(&divided, 1).unwrap();
        warm.merge_part(&parts.next().unwrap(), 0).unwrap();
        assert!(warm.to_bytes() == whole.to_bytes(), "{lift:?}");
    }
}

#[test]
fn rows_that_were_not_learned_are_not_unlearned() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let mut rows = |n: usize| (0..n * 6).map(|_| rng.random::<f32>()).collect::<Vec<f32>>();
    let (learned, others) = (rows(40), rows(30));
    let labels: Vec<u32> = (0..40).map(|row| row % 2).collect();
    let of = |values, labels| {
        Batch::new(Features::new(values, 6).unwrap(), Labels::single(labels)).unwrap()
    };
    for lift in LIFTS {
        let mut model = brook(lift).start(6, 16, 1).unwrap();
        model.learn(of(&learned, &labels)).unwrap();
        model.end_warmup().unwrap();
        let before = model.to_bytes();
        let function = model.hash_function();
        for (batch, problem) in [
            (of(&others[..6], &[7]), "no row with the label number 7"),
            (of(&learned[..240], &[0; 40]), "fewer rows with the label number 0"),
            (of(&others[..120], &[0; 20]), "other rows with the label number 0"),
            (of(&others[..120], &labels[..20]), "what would be left is no sum of any rows"),
        ] {
            let error = model.unlearn(batch).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
            assert!(error.contains("nothing was changed"), "{error}");
        }
        assert_eq!(model.hash_function().parts(), function.parts());
        assert_eq!(model.seen(), Model::from_bytes(&before, Path::new("b")).unwrap().seen());
    }
    let mut aging = brook(&[("half_life", "9")]).start(6, 16, 1).unwrap();
    aging.learn(of(&learned, &labels)).unwrap();
    aging.end_warmup().unwrap();
    let error = aging.unlearn(of(&learned[..6], &[0])).unwrap_err().to_string();
    assert!(error.contains("half_life"), "{error}");
    let mut bsodh = Method::named("bsodh").unwrap().start(6, 16, 1).unwrap();
    assert!(matches!(bsodh.unlearn(of(&learned[..6], &[0])), Err(Error::NotSums { .. })));
}

#[test]
fn ten_million_rows_come_and_go_without_a_trace() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let rows = 100_000;
    let values: Vec<f32> = (0..rows * 3).map(|_| rng.random_range(-1.0..1.0)).collect();
    let labels: Vec<u32> = (0..rows as u32).map(|row| row % 3).collect();
    let batch = Batch::new(Features::new(&values, 3).unwrap(), Labels::single(&labels)).unwrap();
    // With these parameters brook stores no sample, in which new rows would replace old rows.
    let parameters = [("lift", "none"), ("targets", "classes")];
    let mut model = brook(&parameters).start(3, 8, 1).unwrap();
    model.learn(batch.slice(0..5000)).unwrap();
    let before = model.to_bytes();
    for _ in 0..100 {
        model.learn(batch).unwrap();
    }
    assert_eq!(model.seen(), 10_005_000);
    for _ in 0..100 {
        model.unlearn(batch).unwrap();
    }
    let after = model.to_bytes();
    // All sums are equal to the last bit: only the text, which counts batches, and its checksum
    // differ.
    let arrays = |bytes: &[u8]| {
        let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        bytes[8 + header..].to_vec()
    };
    let (before, after) = (arrays(&before), arrays(&after));
    assert_eq!(before.len(), after.len());
    let different = before.iter().zip(&after).filter(|(a, b)| a != b).count();
    assert!(different <= 4 + 8, "{different} bytes: the checksum, and the rows ever learned");
}

/// Returns clusters of rows, with `counts[class]` rows in each class.
pub fn blobs(counts: &[usize], dim: usize, noise: f32, seed: u64) -> Rows {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let centers: Vec<f32> = (0..counts.len() * dim).map(|_| rng.random_range(-1.0..1.0)).collect();
    let mut order: Vec<usize> =
        counts.iter().enumerate().flat_map(|(class, &n)| std::iter::repeat_n(class, n)).collect();
    order.shuffle(&mut rng);
    let mut features = Vec::new();
    let mut labels = LabelList::new();
    for class in order {
        let center = &centers[class * dim..][..dim];
        features.extend(center.iter().map(|c| c + noise * rng.random_range(-1.0f32..1.0)));
        labels.push_set(&[class as u32]);
    }
    Rows { dim, features, labels }
}

/// Returns the most frequent code of each class.
pub fn class_codes(function: &HashFunction, rows: &Rows) -> HashMap<u32, Vec<u64>> {
    let codes = function.encode(rows.as_batch().features()).unwrap();
    let mut votes: HashMap<u32, HashMap<Vec<u64>, usize>> = HashMap::new();
    for (row, code) in codes.iter().enumerate() {
        let label = rows.labels.view().row(row)[0];
        *votes.entry(label).or_default().entry(code.to_vec()).or_default() += 1;
    }
    let most = |votes: HashMap<Vec<u64>, usize>| {
        votes.into_iter().max_by_key(|(_, votes)| *votes).unwrap().0
    };
    votes.into_iter().map(|(label, votes)| (label, most(votes))).collect()
}

#[test]
fn codes_do_not_collapse() {
    let zipf: Vec<usize> = (1..=50).map(|rank| 1000 / rank).collect();
    for (name, counts, bits) in [
        ("Zipf, 50 to 1", zipf, 32),
        ("202 classes", vec![15; 202], 32),
        ("two classes", vec![300, 200], 16),
        ("one class", vec![200], 16),
        ("a class of one", vec![300, 300, 1], 16),
        ("as many classes as codes", vec![60; 8], 3),
    ] {
        for lift in ["none", "rbf"] {
            let rows = blobs(&counts, 24, 0.3, 6);
            let mut model = brook(&[("lift", lift)]).start(24, bits, 1).unwrap();
            model.learn(rows.as_batch()).unwrap();
            model.end_warmup().unwrap();
            let codes = class_codes(&model.hash_function(), &rows);
            let different = codes.values().collect::<HashSet<_>>().len();
            // With only log2(classes) bits, a linear function cannot give all classes distinct
            // codes.
            let least = if bits == 3 { 7 } else { counts.len() };
            assert!(different >= least, "{name}, {lift}: {different} codes");
        }
    }
}

#[test]
fn thousands_of_classes_have_codes_of_their_own() {
    let rows = blobs(&[2; 3000], 16, 0.1, 7);
    let mut model = brook(&[("anchors", "300")]).start(16, 64, 1).unwrap();
    model.learn(rows.as_batch()).unwrap();
    model.end_warmup().unwrap();
    let codes = class_codes(&model.hash_function(), &rows);
    assert!(codes.values().collect::<HashSet<_>>().len() > 2900);
}

#[test]
fn what_is_kept_grows_with_the_labels_and_not_with_their_sets() {
    let rows = blobs(&[2; 3000], 16, 0.1, 7);
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let mut sets = LabelList::new();
    for _ in 0..6000 {
        let set: Vec<u32> = (0..40).filter(|_| rng.random_bool(0.2)).collect();
        sets.push_set(&set);
    }
    let different: HashSet<&[u32]> = (0..6000).map(|row| sets.view().row(row)).collect();
    assert!(different.len() > 5500, "nearly every row has a set of its own");
    let batch = Batch::new(rows.as_batch().features(), sets.view()).unwrap();
    // With these parameters brook stores no sample of rows, which would grow until it is full.
    let parameters = [("lift", "none"), ("targets", "classes")];
    let mut model = brook(&parameters).start(16, 64, 1).unwrap();
    model.learn(batch.slice(0..3000)).unwrap();
    let size = model.to_bytes().len();
    model.learn(batch.slice(3000..6000)).unwrap();
    // The size may change only because the row count, stored as text, has more digits.
    let now = model.to_bytes().len();
    assert!(now.abs_diff(size) <= 8, "{size} bytes, {now} with 3,000 more sets of the same labels");
}

#[test]
fn several_labels_are_graded_by_what_they_share() {
    // Each row consists of two digits side by side and has the labels of both.
    let digits = digits();
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let (mut features, mut labels) = (Vec::new(), LabelList::new());
    for _ in 0..3000 {
        let two = [0, 1].map(|_| rng.random_range(0..digits.labels.len()));
        for digit in two {
            features.extend_from_slice(&digits.features[digit * Digits::DIM..][..Digits::DIM]);
        }
        labels.push_set(&two.map(|digit| digits.labels[digit]));
    }
    let all = Rows { dim: 2 * Digits::DIM, features, labels };
    let all = all.as_batch();
    let (stream, queries) = (all.slice(0..2700), all.slice(2700..3000));
    let measure = |method: Method| {
        let setup = setup_with(|setup| setup.warmup = Some(1500));
        let mut model = method.start_with(2 * Digits::DIM, 64, 1, setup).unwrap();
        for at in (0..2700).step_by(300) {
            model.learn(stream.slice(at..at + 300)).unwrap();
        }
        map(&model.hash_function(), stream, queries)
    };
    let (brook, bsodh) = (measure(brook(&[])), measure(Method::named("bsodh").unwrap()));
    assert!(brook > bsodh + 0.05, "brook {brook:.3}, bsodh {bsodh:.3}");
}

pub fn map(function: &HashFunction, database: Batch<'_>, queries: Batch<'_>) -> f64 {
    let encode = |batch: Batch<'_>| function.encode(batch.features()).unwrap();
    let metrics = [Metric::Map];
    let (labels, query_labels) = (database.labels().unwrap(), queries.labels().unwrap());
    let found = evaluate(&encode(queries), query_labels, &encode(database), labels, &metrics);
    found.unwrap().get(Metric::Map)
}

#[test]
fn awkward_numbers_do_no_harm() {
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    let mut random = |n: usize, scale: f32| -> Vec<f32> {
        (0..n).map(|_| scale * rng.random_range(-1.0f32..1.0)).collect()
    };
    let usual = random(400, 1.0);
    let zeros = vec![0.0; 400];
    let alike = vec![3.5; 400];
    let (huge, tiny) = (random(400, 1e30), random(400, 1e-30));
    let mut outlier = usual.clone();
    outlier[203] = 1e20;
    let labels: Vec<u32> = (0..100).map(|row| row % 4).collect();
    for (name, values) in [
        ("zeros", &zeros),
        ("alike", &alike),
        ("huge", &huge),
        ("tiny", &tiny),
        ("outlier", &outlier),
    ] {
        let lifts = [("none", "auto"), ("rbf", "full"), ("rbf", "compact")];
        for ((lift, precision), half_life) in lifts.iter().flat_map(|l| [(l, "0"), (l, "7")]) {
            for unit in [true, false] {
                let setup = setup_with(|setup| {
                    setup.unit = unit;
                    setup.warmup = Some(20);
                });
                let method =
                    brook(&[("lift", lift), ("precision", precision), ("half_life", half_life)]);
                let mut model = method.start_with(4, 16, 1, setup).unwrap();
                let features = Features::new(values, 4).unwrap();
                let batch = Batch::new(features, Labels::single(&labels)).unwrap();
                model.learn(batch).unwrap();
                model.learn(batch).unwrap();
                let parts = model.hash_function().parts().clone();
                let finite = parts.weights.iter().chain(parts.offset.iter().flatten());
                assert!(
                    finite.clone().all(|value| value.is_finite()),
                    "{name} {lift} {precision} {unit}"
                );
                model.hash_function().encode(features).unwrap();
                if half_life == "0" {
                    model.unlearn(batch).unwrap();
                    model.unlearn(batch).unwrap();
                }
            }
        }
    }
}
