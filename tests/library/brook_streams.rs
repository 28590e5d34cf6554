//! brook on changing streams: half-lives, and codes that should stay the same.

use std::collections::HashSet;
use std::path::Path;

use hashbrook::dataset::{Digits, digits};
use hashbrook::{Batch, Codes, Features, Labels, Model};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;

use crate::brook::{AsBatch, LIFTS, Rows, assert_same, blobs, brook, class_codes, learned, map};
use crate::data;
use crate::streams::setup_with;

/// The digits in random order, as one batch.
fn shuffled_digits(seed: u64) -> Rows {
    let digits = digits();
    let features = Features::new(&digits.features, Digits::DIM).unwrap();
    let batch = Batch::new(features, Labels::single(&digits.labels)).unwrap();
    let mut order: Vec<usize> = (0..batch.len()).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    Rows::select(batch, &order)
}

#[test]
fn with_a_half_life_it_follows_a_stream_that_changes() {
    let rows = shuffled_digits(10);
    let batch = rows.as_batch();
    let queries = batch.slice(1600..batch.len());
    // From the middle on, labels name five pairs of digits, which contradicts the earlier labels.
    let moved: Vec<u32> =
        (0..batch.len()).map(|row| (batch.labels().unwrap().row(row)[0] * 3 + 1) % 5).collect();
    let after = Batch::new(batch.features(), Labels::single(&moved)).unwrap();
    let run = |half_life: &str| {
        let setup = setup_with(|setup| setup.warmup = Some(300));
        let method = brook(&[("half_life", half_life)]);
        let mut model = method.start_with(Digits::DIM, 32, 1, setup).unwrap();
        for _ in 0..4 {
            model.learn(batch.slice(0..1600)).unwrap();
        }
        let before = map(&model.hash_function(), batch.slice(0..1600), queries);
        model.learn(after.slice(0..1600)).unwrap();
        let queries = after.slice(1600..batch.len());
        (before, map(&model.hash_function(), after.slice(0..1600), queries))
    };
    let ((before, aged), (_, never)) = (run("400"), run("0"));
    assert!(before > 0.9, "{before}");
    assert!(aged > 0.9 && aged > never + 0.1, "with {aged:.3}, without {never:.3}");
}

/// Returns a stream with more rows than brook buffers before it adds them to its sums.
fn long_stream() -> Rows {
    blobs(&[1000; 5], 4, 0.5, 17)
}

#[test]
fn with_a_half_life_it_goes_on_from_wherever_it_was_saved() {
    let rows = long_stream();
    let all = rows.as_batch();
    for lift in LIFTS {
        for half_life in ["0.7", "30", "4000"] {
            let mut method = brook(lift);
            method.set("half_life", half_life).unwrap();
            let setup = setup_with(|setup| setup.warmup = Some(50));
            let start = method.start_with(4, 16, 3, setup).unwrap();
            let (mut whole, mut interrupted, mut at) = (start.clone(), start.clone(), 0);
            for size in [1, 2000, 47, 1500, 1, 900, 551] {
                let batch = all.slice(at..at + size);
                whole.learn(batch).unwrap();
                let saved = interrupted.to_bytes();
                interrupted = Model::from_bytes(&saved, Path::new("memory")).unwrap();
                interrupted.hash_function();
                interrupted.learn(batch).unwrap();
                at += size;
            }
            assert_eq!(at, all.len());
            assert_eq!(interrupted.to_bytes(), whole.to_bytes(), "{lift:?}, {half_life}");
            assert_same(&learned(start, [all]), &whole);
        }
    }
}

#[test]
fn saving_does_not_solve_and_what_was_solved_is_saved() {
    let rows = long_stream();
    let all = rows.as_batch();
    for lift in LIFTS {
        for start in ["seeded", "steady"] {
            let mut method = brook(lift);
            method.set("start", start).unwrap();
            let setup = setup_with(|setup| setup.warmup = Some(50));
            let model = learned(method.start_with(4, 16, 3, setup).unwrap(), [all]);
            let reload = |model: &Model| Model::from_bytes(&model.to_bytes(), "memory").unwrap();
            let solved =
                |model: &Model| model.array_sizes().iter().any(|(name, _)| name == "brook.weights");
            let unsolved = reload(&model);
            assert!(!solved(&model) && !solved(&unsolved), "{lift:?}, {start}");
            let function = model.hash_function();
            assert!(solved(&model) && solved(&reload(&model)), "{lift:?}, {start}");
            assert_same(&reload(&model), &model);
            assert_eq!(unsolved.hash_function().parts(), function.parts(), "{lift:?}, {start}");
            assert_eq!(unsolved.to_bytes(), model.to_bytes(), "{lift:?}, {start}");
            assert_eq!(unsolved.fingerprint(), reload(&model).fingerprint());
        }
    }
}

#[test]
fn with_a_half_life_it_does_not_matter_which_of_two_takes_in_the_other() {
    let rows = long_stream();
    let all = rows.as_batch();
    for lift in LIFTS {
        let mut method = brook(lift);
        method.set("half_life", "60").unwrap();
        // The labels carry no information here, so a measured choice would ignore them.
        method.set("targets", "classes").unwrap();
        let mut first = method.start(4, 16, 3).unwrap();
        first.learn(all.slice(0..1000)).unwrap();
        first.end_warmup().unwrap();
        let here = learned(first.sibling().unwrap(), [all.slice(0..2500)]);
        let there = learned(first.sibling().unwrap(), [all.slice(2500..5000)]);
        let (mut one, mut other) = (here.clone(), there.clone());
        one.merge(&there).unwrap();
        other.merge(&here).unwrap();
        assert_same(&one, &other);
        assert_eq!(one.seen(), 5000);
        assert_ne!(one.hash_function().parts(), here.hash_function().parts());
        assert_ne!(one.hash_function().parts(), there.hash_function().parts());
    }
}

/// The version that saved this model added rows with a half-life to the sums a few at a time; see
/// `tests/fixtures/README.md`.
#[test]
fn a_model_with_a_half_life_of_an_older_version_goes_on() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/half_life.model");
    let mut model = Model::load(&path).unwrap();
    assert_eq!((model.seen(), model.is_warm()), (200, true));
    let rows = blobs(&[20; 5], 3, 0.3, 18);
    let before = model.hash_function();
    before.encode(rows.as_batch().features()).unwrap();
    model.learn(rows.as_batch()).unwrap();
    let codes = class_codes(&model.hash_function(), &rows);
    assert_eq!(codes.values().collect::<HashSet<_>>().len(), 5, "the new rows are what counts");
}

/// Returns the share of bits that differ.
fn flipped(one: &Codes, other: &Codes) -> f64 {
    let pairs = one.iter().zip(other.iter());
    let bits: u32 = pairs.map(|(one, other)| hashbrook::hamming(one, other)).sum();
    f64::from(bits) / (one.len() * one.bits()) as f64
}

#[test]
fn a_steady_function_moves_little() {
    let digits = shuffled_digits(11);
    let all = digits.as_batch();
    let steady = brook(&[("start", "steady")]);
    let mut model = steady.start(Digits::DIM, 64, 1).unwrap();
    model.learn(all.slice(0..1500)).unwrap();
    model.end_warmup().unwrap();
    let before = model.hash_function().encode(all.features()).unwrap();
    model.learn(all.slice(1500..1515)).unwrap();
    let share = flipped(&model.hash_function().encode(all.features()).unwrap(), &before);
    assert!(share < 0.02, "1 % more rows flip {share:.4} of all bits");
}

#[test]
fn a_steady_function_moves_little_on_mnist() {
    let Some((features, labels)) = data::mnist_or_skip() else { return };
    let features = Features::new(&features, 784).unwrap();
    let all = Batch::new(features, Labels::single(&labels)).unwrap();
    let mut model = brook(&[("start", "steady"), ("anchors", "500")]).start(784, 64, 1).unwrap();
    model.learn(all.slice(0..10_000)).unwrap();
    let database = all.slice(0..20_000).features();
    let before = model.hash_function().encode(database).unwrap();
    model.learn(all.slice(10_000..10_100)).unwrap();
    let share = flipped(&model.hash_function().encode(database).unwrap(), &before);
    assert!(share < 0.02, "1 % more rows flip {share:.4} of all bits");
}
