//! The metrics, compared with their definitions.

use hashbrook::eval::{Evaluation, Items, Metric, evaluate, neighbours};
use hashbrook::{Codes, Features, LabelList, Labels};
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::streams::config;
use crate::twin::ranking::{self, Found};

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

pub fn assert_close(fast: &Evaluation, slow: impl Into<Found>) {
    let slow = slow.into();
    assert_eq!((fast.queries, fast.answerable), (slow.queries, slow.answerable));
    assert_eq!(fast.values.len(), slow.values.len());
    for ((metric, f), (expected, s)) in fast.values.iter().zip(&slow.values) {
        assert_eq!(metric, expected);
        assert!((f - s).abs() < 1e-12 || (f.is_nan() && s.is_nan()), "{fast:?}\n{slow:?}");
    }
}

/// Returns mAP, and each of the other metrics at each of the given numbers.
pub fn metrics(
    tops: &[usize],
    precision_at: &[usize],
    radii: &[usize],
    ndcg_at: &[usize],
) -> Vec<Metric> {
    let of = |metric: fn(usize) -> Metric, numbers: &[usize]| -> Vec<Metric> {
        numbers.iter().map(|&number| metric(number)).collect()
    };
    [
        vec![Metric::Map],
        of(Metric::MapAt, tops),
        of(Metric::PrecisionAt, precision_at),
        of(Metric::PrecisionWithin, radii),
        of(Metric::NdcgAt, ndcg_at),
    ]
    .concat()
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
        let metrics = metrics(
            &[1, 7, 100, 100_000], &[1, 3, 50, 100_000], &[0, 1, 2, 40, 5000], &[1, 10, 100, 200_000],
        );
        let run = |metrics: &[Metric]| {
            evaluate(&queries, wanted.view(), &database, labels.view(), metrics).unwrap()
        };
        let fast = run(&metrics);
        let slow = ranking::evaluate(
            ranking::differing_bits, &queries, wanted.view(), &database, labels.view(), &metrics,
        );
        assert_close(&fast, slow);
        // A metric has the same value if it is computed alone.
        for (metric, value) in fast.values {
            prop_assert_eq!(run(&[metric]).get(metric).to_bits(), value.to_bits(), "{}", metric);
        }
    }
}

/// A ranking small enough to check by hand, with ties.
#[test]
fn the_conventions_hold_on_a_small_case() {
    // Distances from 0: 1, 0, 1, 2, 1; so the ranking is rows 1, 0, 2, 4, 3.
    let database = Codes::from_bytes(8, &[0b1, 0b0, 0b10, 0b11, 0b100]).unwrap();
    let labels = [7, 8, 8, 7, 7];
    let query = Codes::from_bytes(8, &[0]).unwrap();
    let metrics = metrics(&[1, 3], &[2, 9], &[0, 1], &[]);
    let got = evaluate(&query, Labels::single(&[7]), &database, Labels::single(&labels), &metrics)
        .unwrap();
    // Relevant rows 0, 4, 3 are at ranks 2, 4, 5.
    let expected = (1.0 / 2.0 + 2.0 / 4.0 + 3.0 / 5.0) / 3.0;
    assert!((got.get(Metric::Map) - expected).abs() < 1e-15);
    assert!(got.get(Metric::MapAt(1)).is_nan(), "none among the first: left out of the mean");
    for (metric, expected) in [
        (Metric::MapAt(3), 0.5),
        (Metric::PrecisionAt(2), 0.5),
        (Metric::PrecisionAt(9), 3.0 / 5.0),
        (Metric::PrecisionWithin(0), 0.0),
        (Metric::PrecisionWithin(1), 0.5),
    ] {
        assert_eq!(got.get(metric), expected, "{metric}");
    }
    assert!(got.get(Metric::PrecisionAt(3)).is_nan(), "not asked for");
    let (far, radius) = (Codes::from_bytes(8, &[0b1111_0000]).unwrap(), Metric::PrecisionWithin(2));
    let (wanted, labels) = (Labels::single(&[7]), Labels::single(&labels));
    let got = evaluate(&far, wanted, &database, labels, &[radius]).unwrap();
    assert_eq!(got.get(radius), 0.0, "nothing lies there: not left out of the mean");
}

/// The gain of an item is its number of shared labels. The best order is over the whole database.
#[test]
fn ndcg_counts_shared_labels_on_a_small_case() {
    // By distance: rows 1, 0, 2, which share 1, 2 and 0 labels with the query.
    let database = Codes::from_bytes(8, &[0b1, 0b0, 0b11]).unwrap();
    let query = Codes::from_bytes(8, &[0]).unwrap();
    let labels = Labels::sets(&[3, 5, 6], &[7, 8, 8, 7, 7, 9]).unwrap();
    // A label given twice counts once.
    let wanted = Labels::sets(&[3], &[8, 7, 7]).unwrap();
    let metrics = [1, 2, 50].map(Metric::NdcgAt);
    let got = evaluate(&query, wanted, &database, labels, &metrics).unwrap();
    let second = 1.0 / 3f64.log2();
    let both = (1.0 + 2.0 * second) / (2.0 + second);
    for (metric, expected) in metrics.into_iter().zip([0.5, both, both]) {
        assert!((got.get(metric) - expected).abs() < 1e-15, "{got:?}");
    }
}

#[test]
fn what_cannot_be_evaluated_is_refused() {
    let codes = |bits, bytes: &[u8]| Codes::from_bytes(bits, bytes).unwrap();
    let metrics = Metric::DEFAULT;
    let run = |q: &Codes, ql: &[u32], d: &Codes, dl: &[u32], m: &[Metric]| {
        evaluate(q, Labels::single(ql), d, Labels::single(dl), m).unwrap_err().to_string()
    };
    let (one, two) = (codes(8, &[1]), codes(8, &[1, 2]));
    assert!(run(&one, &[1], &codes(7, &[1]), &[1], metrics).contains("7 bits"));
    assert!(run(&one, &[1], &two, &[1], metrics).contains("1 labels for 2 rows"));
    assert!(run(&codes(8, &[]), &[], &two, &[1, 2], metrics).contains("queries"));
    assert!(run(&one, &[1], &codes(8, &[]), &[], metrics).contains("database"));
    for zero in [Metric::MapAt(0), Metric::PrecisionAt(0), Metric::NdcgAt(0)] {
        let error = run(&one, &[1], &two, &[1, 2], &[Metric::Map, zero]);
        assert_eq!(error, format!("a metric must be of rank 1 or more, not {zero}"));
    }
}

/// Programs read the names of metrics, so the names must not change.
#[test]
fn a_metric_is_written_and_read_by_its_name() {
    let names = [
        (Metric::Map, "mAP"),
        (Metric::MapAt(1000), "mAP@1000"),
        (Metric::PrecisionAt(100), "precision@100"),
        (Metric::PrecisionWithin(0), "precision_radius_0"),
        (Metric::NdcgAt(7), "ndcg@7"),
    ];
    for (metric, name) in names {
        assert_eq!(metric.to_string(), name);
        assert_eq!(name.parse::<Metric>().unwrap(), metric);
        assert_eq!(serde_json::to_value(metric).unwrap(), name);
        assert_eq!(serde_json::from_value::<Metric>(name.into()).unwrap(), metric);
    }
    for wrong in ["", "map", "mAP@", "mAP@x", "mAP@+5", "mAP@05", "mAP5", "ndcg", "precision@-1"] {
        let error = wrong.parse::<Metric>().unwrap_err().to_string();
        let known = "mAP, mAP@N, precision@N, precision_radius_N, ndcg@N";
        assert_eq!(error, format!("a metric must be one of {known}, not {wrong}"));
        assert!(serde_json::from_value::<Metric>(wrong.into()).is_err());
    }
    let error = "ndcg@0".parse::<Metric>().unwrap_err().to_string();
    assert!(error.contains("of rank 1 or more, not ndcg@0"), "{error}");
}

/// A result is one object, whatever metrics were requested and however often.
#[test]
fn an_evaluation_is_serialised_by_the_names_of_its_metrics() {
    let database = Codes::from_bytes(8, &[0b1, 0b0]).unwrap();
    let query = Codes::from_bytes(8, &[0]).unwrap();
    let (first, second) = (Metric::PrecisionAt(1), Metric::MapAt(1));
    let metrics = [first, second, first, Metric::Map];
    let labels = Labels::single(&[7, 8]);
    let found = evaluate(&query, Labels::single(&[7]), &database, labels, &metrics).unwrap();
    let order: Vec<Metric> = found.values.iter().map(|(metric, _)| *metric).collect();
    assert_eq!(order, [first, second, Metric::Map]);
    let text = serde_json::to_string(&found).unwrap();
    let expected = r#"{"precision@1":0.0,"mAP@1":null,"mAP":0.5,"queries":1,"answerable_queries":1,"database":2}"#;
    assert_eq!(text, expected);
    let nothing = evaluate(&query, Labels::single(&[9]), &database, labels, &[]).unwrap();
    assert_eq!((nothing.queries, nothing.answerable, nothing.values.len()), (1, 0, 0));
}

/// Compares neighbours with sorting everything in double precision.
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
