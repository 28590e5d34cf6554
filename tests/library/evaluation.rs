//! The metrics against their definitions.

use hashbrook::eval::{Evaluation, Items, Measures, evaluate, neighbours};
use hashbrook::{Codes, Features, LabelList, Labels};
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::streams::config;
use crate::twin::ranking;

pub fn random(rows: usize, bits: usize, spread: f64, sets: bool, seed: u64) -> (Codes, LabelList) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut codes = Codes::new(bits).unwrap();
    let mut labels = LabelList::default();
    for _ in 0..rows {
        let mut code = vec![0u64; bits.div_ceil(64)];
        for bit in 0..bits {
            code[bit / 64] |= u64::from(rng.random_bool(spread)) << (bit % 64);
        }
        codes.push(&code).unwrap();
        if sets {
            let set: Vec<u32> = (0..4).filter(|_| rng.random_bool(0.25)).collect();
            labels.push_set(&set);
        } else {
            labels.push_set(&[rng.random_range(0..5)]);
        }
    }
    (codes, labels)
}

pub fn assert_close(fast: &Evaluation, slow: &Evaluation) {
    let numbers = |e: &Evaluation| {
        let lists = [&e.map_at, &e.precision_at, &e.precision_radius, &e.ndcg_at];
        let mut all: Vec<f64> = lists.iter().flat_map(|l| l.iter().map(|(_, v)| *v)).collect();
        all.push(e.map);
        all
    };
    assert_eq!((fast.queries, fast.answerable), (slow.queries, slow.answerable));
    for (f, s) in numbers(fast).iter().zip(numbers(slow)) {
        assert!((f - s).abs() < 1e-12 || (f.is_nan() && s.is_nan()), "{fast:?}\n{slow:?}");
    }
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn counting_equals_sorting(
        rows in 1..400usize, queries in 1..6usize, bits in 1..150usize,
        spread in prop_oneof![Just(0.5), Just(0.02)], sets: bool, seed: u64,
    ) {
        let (database, labels) = random(rows, bits, spread, sets, seed);
        let (queries, wanted) = random(queries, bits, spread, sets, seed ^ 1);
        let mut measures =
            Measures::new(&[1, 7, 100, 100_000], &[1, 3, 50, 100_000], &[0, 1, 2, 40, 5000]);
        measures.ndcg_at = vec![1, 10, 100, 200_000];
        let fast =
            evaluate(&queries, wanted.view(), &database, labels.view(), &measures).unwrap();
        let slow = ranking::evaluate(
            ranking::differing_bits, &queries, wanted.view(), &database, labels.view(), &measures,
        );
        assert_close(&fast, &slow);
    }
}

/// A ranking small enough to check by hand, with ties.
#[test]
fn the_conventions_hold_on_a_small_case() {
    // Distances from 0: 1, 0, 1, 2, 1; so the ranking is rows 1, 0, 2, 4, 3.
    let database = Codes::from_bytes(8, &[0b1, 0b0, 0b10, 0b11, 0b100]).unwrap();
    let labels = [7, 8, 8, 7, 7];
    let query = Codes::from_bytes(8, &[0]).unwrap();
    let measures = Measures::new(&[1, 3], &[2, 9], &[0, 1]);
    let got = evaluate(&query, Labels::single(&[7]), &database, Labels::single(&labels), &measures)
        .unwrap();
    // Relevant rows 0, 4, 3 stand at ranks 2, 4, 5.
    let expected = (1.0 / 2.0 + 2.0 / 4.0 + 3.0 / 5.0) / 3.0;
    assert!((got.map - expected).abs() < 1e-15);
    assert!(got.map_at[0].1.is_nan(), "none among the first: left out of the mean");
    assert_eq!(got.map_at[1], (3, 0.5));
    assert_eq!(got.precision_at, [(2, 0.5), (9, 3.0 / 5.0)]);
    assert_eq!(got.precision_radius, [(0, 0.0), (1, 0.5)]);
}

/// Gains are shared labels; the best order is that of the whole database.
#[test]
fn ndcg_counts_shared_labels_on_a_small_case() {
    // By distance: rows 1, 0, 2, which share 1, 2 and 0 labels with the query.
    let database = Codes::from_bytes(8, &[0b1, 0b0, 0b11]).unwrap();
    let query = Codes::from_bytes(8, &[0]).unwrap();
    let labels = Labels::sets(&[3, 5, 6], &[7, 8, 8, 7, 7, 9]).unwrap();
    // A label that is given twice counts once.
    let wanted = Labels::sets(&[3], &[8, 7, 7]).unwrap();
    let mut measures = Measures::default();
    measures.ndcg_at = vec![1, 2, 50];
    let got = evaluate(&query, wanted, &database, labels, &measures).unwrap().ndcg_at;
    let second = 1.0 / 3f64.log2();
    let both = (1.0 + 2.0 * second) / (2.0 + second);
    for ((at, found), (expected_at, expected)) in got.iter().zip([(1, 0.5), (2, both), (50, both)])
    {
        assert!(*at == expected_at && (found - expected).abs() < 1e-15, "{got:?}");
    }
}

#[test]
fn what_cannot_be_evaluated_is_refused() {
    let codes = |bits, bytes: &[u8]| Codes::from_bytes(bits, bytes).unwrap();
    let measures = Measures::default();
    let run = |q: &Codes, ql: &[u32], d: &Codes, dl: &[u32], m: &Measures| {
        evaluate(q, Labels::single(ql), d, Labels::single(dl), m).unwrap_err().to_string()
    };
    let (one, two) = (codes(8, &[1]), codes(8, &[1, 2]));
    assert!(run(&one, &[1], &codes(7, &[1]), &[1], &measures).contains("7 bits"));
    assert!(run(&one, &[1], &two, &[1], &measures).contains("1 labels for 2 rows"));
    assert!(run(&codes(8, &[]), &[], &two, &[1, 2], &measures).contains("queries"));
    assert!(run(&one, &[1], &codes(8, &[]), &[], &measures).contains("database"));
    let zero = Measures::new(&[0], &[], &[]);
    assert!(run(&one, &[1], &two, &[1, 2], &zero).contains("top must be 1 or more"));
    let mut zero = Measures::default();
    zero.ndcg_at = vec![0];
    assert!(run(&one, &[1], &two, &[1, 2], &zero).contains("ndcg_at must be 1 or more"));
}

/// By sorting everything, in double precision.
#[test]
fn neighbours_are_those_of_the_definition() {
    for (seed, bits, count, dim) in [(1, 8, 300, 5), (2, 64, 1100, 17), (3, 20, 7, 3)] {
        let (queries, query_labels) = random(40, bits, 0.5, true, seed);
        let (database, labels) = random(count, bits, 0.5, true, seed + 10);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut vectors = |rows: usize| -> Vec<f32> {
            (0..rows * dim).map(|_| rng.random_range(-1.0..1.0)).collect()
        };
        let (x, y) = (vectors(40), vectors(count));
        let (x, y) = (Features::new(&x, dim).unwrap(), Features::new(&y, dim).unwrap());
        let among = [1, 10, 100, 5000];
        let found = neighbours(
            Items::new(&queries, x, query_labels.view()).unwrap(),
            Items::new(&database, y, labels.view()).unwrap(),
            &among,
        )
        .unwrap();
        let cosine = |query: usize, item: usize| {
            let dot = |a: &[f32], b: &[f32]| -> f64 {
                a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
            };
            dot(x.row(query), y.row(item)) / dot(y.row(item), y.row(item)).sqrt()
        };
        let (mut kept, mut reranked, mut by_vectors) = (vec![0.0; 4], vec![0.0; 4], 0.0);
        for query in 0..40 {
            let shares = |item: usize| {
                let wanted = query_labels.view().row(query);
                labels.view().row(item).iter().any(|label| wanted.contains(label))
            };
            let mut by_cosine: Vec<usize> = (0..count).collect();
            by_cosine.sort_by(|&a, &b| cosine(query, b).total_cmp(&cosine(query, a)));
            let mut by_code: Vec<usize> = (0..count).collect();
            by_code.sort_by_key(|&item| ranking::differing_bits(&queries, query, &database, item));
            let nearest = &by_cosine[..count.min(10)];
            by_vectors += f64::from(u8::from(shares(nearest[0])));
            for (at, &n) in among.iter().enumerate() {
                let first = &by_code[..n.min(count)];
                let both = nearest.iter().filter(|item| first.contains(item)).count();
                kept[at] += both as f64 / nearest.len() as f64;
                let best = by_cosine.iter().find(|item| first.contains(item)).unwrap();
                reranked[at] += f64::from(u8::from(shares(*best)));
            }
        }
        for at in 0..4 {
            assert!((found.kept[at].1 - kept[at] / 40.0).abs() < 1e-12, "{found:?}");
            assert!((found.reranked[at].1 - reranked[at] / 40.0).abs() < 1e-12, "{found:?}");
        }
        assert!((found.by_vectors - by_vectors / 40.0).abs() < 1e-12);
        assert_eq!(found.kept[3].1, 1.0, "among all there are all");
        assert_eq!(found.reranked[3].1, found.by_vectors);
    }
}
