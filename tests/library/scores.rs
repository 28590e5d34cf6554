//! Rankings by scores of any kind, compared with their definitions.

use std::ops::Range;

use hashbrook::eval::{
    Cosine, Dial, Items, Metric, Scorer, evaluate_scores, neighbours, neighbours_by,
};
use hashbrook::{Batch, Codes, Error, Features, HashFunction, HashParts, Labels};
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::evaluation::{assert_close, metrics, random};
use crate::streams::config;
use crate::twin::ranking;

const DIM: usize = 7;

/// Returns a linear function with some detail bits.
pub fn linear(dim: usize, bits: usize, label_bits: usize, rng: &mut ChaCha8Rng) -> HashFunction {
    let weights = (0..dim * bits).map(|_| rng.random_range(-1.0..1.0)).collect();
    let mut parts = HashParts::linear(dim, bits, weights);
    parts.label_bits = label_bits;
    HashFunction::new(parts).unwrap()
}

fn function(bits: usize, label_bits: usize, rng: &mut ChaCha8Rng) -> HashFunction {
    linear(DIM, bits, label_bits, rng)
}

fn vectors(rows: usize, rng: &mut ChaCha8Rng) -> Vec<f32> {
    (0..rows * DIM).map(|_| rng.random_range(-2.0..2.0)).collect()
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn a_dial_adds_up_the_weights_of_bits_that_differ(
        rows in 1..200usize, bits in 1..150usize, share in 0.0..=1.0f64,
        // Includes weights whose sums `f32` cannot represent exactly.
        (label, detail) in prop_oneof![(0..9u32, 1..9u32), (9_000..=10_000u32, 1..9u32)],
        float: bool, sets: bool, seed: u64,
    ) {
        let label_bits = (bits as f64 * share) as usize;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let function = function(bits, label_bits, &mut rng);
        let asked = vectors(40, &mut rng);
        let asked = Features::new(&asked, DIM).unwrap();
        // Few bits are set, so that many codes are equally far from a query.
        let (database, labels) = random(rows, bits, 0.1, sets, seed);
        let (_, wanted) = random(40, bits, 0.5, sets, seed ^ 1);
        let dial = Dial::new(label, detail).unwrap().float_query(float);
        let weighed = dial.weigh(&function, asked).unwrap();
        prop_assert_eq!(weighed.codes(), &function.encode(asked).unwrap());
        let projections = function.project(asked).unwrap();
        for query in 0..40 {
            // Weights by definition, in multiples of the unit.
            let sure = |bit: usize| match (float, f64::from(projections[query * bits + bit])) {
                (false, _) => 1.0,
                (true, f) if bit < label_bits => (f * f).min(4.0) * 64.0,
                (true, f) => f.tanh().abs() * 64.0,
            };
            let weight = |bit: usize| f64::from(if bit < label_bits { label } else { detail });
            for (bit, found) in weighed.weights(query).iter().enumerate() {
                let exact = weight(bit) * sure(bit);
                prop_assert!((f64::from(*found) - exact).abs() <= 0.5, "{} {}", found, exact);
            }
        }
        let score = |queries: &Codes, query: usize, database: &Codes, item: usize| {
            let differs = |bit: &usize| queries.bit(query, *bit) != database.bit(item, *bit);
            (0..bits).filter(differs).map(|bit| weighed.weights(query)[bit] as usize).sum()
        };
        let metrics = metrics(&[1, 7, 100_000], &[1, 50], &[0, 1, 2, 40, 5000, 17_000_001], &[100]);
        let ranked = weighed.rank(&database).unwrap();
        let fast = evaluate_scores(&ranked, wanted.view(), labels.view(), &metrics).unwrap();
        let slow = ranking::evaluate(
            score, weighed.codes(), wanted.view(), &database, labels.view(), &metrics,
        );
        assert_close(&fast, slow);
    }

    #[test]
    fn any_scores_rank_as_a_stable_sort_does(rows in 1..300usize, sets: bool, seed: u64) {
        const QUERIES: usize = 37;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let special = [0.0, -0.0, f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e-45, -1e30];
        let scores: Vec<f32> = (0..rows * QUERIES)
            .map(|_| match rng.random_range(0..4) {
                0 => special[rng.random_range(0..special.len())],
                1 => rng.random_range(-3..3) as f32,
                _ => rng.random_range(-1.0..1.0),
            })
            .collect();
        let table = Table { scores, rows };
        let (database, labels) = random(rows, 8, 0.5, sets, seed);
        let (queries, wanted) = random(QUERIES, 8, 0.5, sets, seed ^ 1);
        // Replaces each score by the number of smaller scores, an integer with the same order.
        let place = |_: &Codes, query: usize, _: &Codes, item: usize| {
            let scores = &table.scores[query * rows..(query + 1) * rows];
            let before = |other: &f32| match (other.is_nan(), scores[item].is_nan()) {
                (false, true) => true,
                _ => *other < scores[item],
            };
            scores.iter().filter(|other| before(other)).count()
        };
        let metrics = metrics(&[1, 20], &[1, 50], &[], &[100]);
        let fast = evaluate_scores(&table, wanted.view(), labels.view(), &metrics).unwrap();
        let slow = ranking::evaluate(
            place, &queries, wanted.view(), &database, labels.view(), &metrics,
        );
        assert_close(&fast, slow);
    }

    #[test]
    fn cosines_rank_vectors(rows in 1..200usize, sets: bool, seed: u64) {
        // Vectors of equal length, so that products are integers and ties are exact; a few vectors
        // are zero.
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut signs = |rows: usize| -> Vec<f32> {
            let row = |_| {
                let zero = rng.random_bool(0.1);
                let sign = |_: usize| if zero { 0.0 } else { f32::from(rng.random_range(0..2u8)) * 2.0 - 1.0 };
                std::array::from_fn::<f32, DIM, _>(sign)
            };
            (0..rows).flat_map(row).collect()
        };
        let (asked, found) = (signs(35), signs(rows));
        let (asked, found) = (Features::new(&asked, DIM).unwrap(), Features::new(&found, DIM).unwrap());
        let (database, labels) = random(rows, 8, 0.5, sets, seed);
        let (queries, wanted) = random(35, 8, 0.5, sets, seed ^ 1);
        let distance = |_: &Codes, query: usize, _: &Codes, item: usize| {
            let product: f32 = asked.row(query).iter().zip(found.row(item)).map(|(a, b)| a * b).sum();
            (DIM as f32 - product) as usize
        };
        let metrics = metrics(&[1, 20], &[1, 50], &[], &[100]);
        let cosine = Cosine::new(asked, found).unwrap();
        let fast = evaluate_scores(&cosine, wanted.view(), labels.view(), &metrics).unwrap();
        let slow = ranking::evaluate(
            distance, &queries, wanted.view(), &database, labels.view(), &metrics,
        );
        assert_close(&fast, slow);
    }
}

/// Scores from a table.
struct Table {
    scores: Vec<f32>,
    rows: usize,
}

impl Scorer for Table {
    fn queries(&self) -> usize {
        self.scores.len() / self.rows
    }

    fn database(&self) -> usize {
        self.rows
    }

    fn score(&self, queries: Range<usize>, out: &mut [f32]) {
        out.copy_from_slice(&self.scores[queries.start * self.rows..queries.end * self.rows]);
    }
}

#[test]
fn neighbours_by_a_dial_are_those_of_the_definition() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let function = function(20, 12, &mut rng);
    let (asked, found) = (vectors(40, &mut rng), vectors(600, &mut rng));
    let (asked, found) = (Features::new(&asked, DIM).unwrap(), Features::new(&found, DIM).unwrap());
    let (_, wanted) = random(40, 8, 0.5, true, 5);
    let (_, labels) = random(600, 8, 0.5, true, 6);
    let codes = function.encode(found).unwrap();
    let rows = |features, labels| Batch::new(features, labels).unwrap();
    let (queries, database) = (rows(asked, wanted.view()), rows(found, labels.view()));
    let among = [1, 10, 50, 600];
    let by = |dial: Dial| {
        let weighed = dial.weigh(&function, asked).unwrap();
        neighbours_by(&weighed.rank(&codes).unwrap(), queries, database, &among).unwrap()
    };
    let plain = neighbours(
        Items::new(&function.encode(asked).unwrap(), asked, wanted.view()).unwrap(),
        Items::new(&codes, found, labels.view()).unwrap(),
        &among,
    )
    .unwrap();
    assert_eq!(by(Dial::new(1, 1).unwrap()), plain);
    assert_eq!(by(Dial::new(3, 3).unwrap()), plain);

    let dial = Dial::new(1, 5).unwrap();
    let weighed = dial.weigh(&function, asked).unwrap();
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    let mut kept = [0.0; 4];
    for query in 0..40 {
        let cosine = |item: usize| {
            let row = found.row(item);
            dot(asked.row(query), row) / dot(row, row).sqrt()
        };
        let mut nearest: Vec<usize> = (0..600).collect();
        nearest.sort_by(|&a, &b| cosine(b).total_cmp(&cosine(a)));
        let score = |item: &usize| -> usize {
            let differs = |bit: &usize| weighed.codes().bit(query, *bit) != codes.bit(*item, *bit);
            (0..20).filter(differs).map(|bit| if bit < 12 { 1 } else { 5 }).sum()
        };
        let mut ranked: Vec<usize> = (0..600).collect();
        ranked.sort_by_key(score);
        for (kept, n) in kept.iter_mut().zip(among) {
            let both = nearest[..10].iter().filter(|item| ranked[..n].contains(item)).count();
            *kept += both as f64 / 10.0 / 40.0;
        }
    }
    let found = by(dial);
    for ((_, fast), slow) in found.kept.iter().zip(kept) {
        assert!((fast - slow).abs() < 1e-12, "{found:?} {kept:?}");
    }
    assert_ne!(found.kept, plain.kept);
}

#[test]
fn what_cannot_be_weighed_or_scored_is_refused() {
    let error = |result: hashbrook::Result<Dial>| result.unwrap_err().to_string();
    assert!(error(Dial::new(0, 0)).contains("label_weight must be above 0 if detail_weight is 0"));
    assert!(error(Dial::new(10_001, 1)).contains("label_weight must be at most 10000, not 10001"));
    assert!(error(Dial::new(1, 10_001)).contains("detail_weight"));
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let function = function(9, 4, &mut rng);
    let dial = Dial::new(2, 1).unwrap().float_query(true);
    let narrow = [1.0; 3];
    assert!(dial.weigh(&function, Features::new(&narrow, 3).unwrap()).is_err());
    // One query is far outside the usual range, and one query is at the origin.
    let wild = [[f32::MAX; DIM], [0.0; DIM]].concat();
    let wild = Features::new(&wild, DIM).unwrap();
    let weighed = dial.weigh(&function, wild).unwrap();
    // The first query is as certain as possible about every bit, the second about none.
    assert!(weighed.weights(0).iter().all(|&weight| weight == 2 * 4 * 64 || weight == 64));
    assert!(weighed.weights(1).iter().all(|&weight| weight == 0));
    let codes = function.encode(wild).unwrap();
    assert!(matches!(dial.weigh_codes(Some(&function), &codes), Err(Error::FloatQueryOfCodes)));
    let dial = dial.float_query(false);
    assert!(matches!(dial.weigh_codes(None, &codes), Err(Error::NoLabelBits)));
    assert!(dial.weigh_codes(Some(&function), &Codes::new(8).unwrap()).is_err());
    let of_codes = dial.weigh_codes(Some(&function), &codes).unwrap();
    assert_eq!(of_codes.weights(1), dial.weigh(&function, wild).unwrap().weights(1));
    let alike = Dial::new(3, 3).unwrap().weigh_codes(None, &codes).unwrap();
    assert_eq!(alike.weights(0), [3; 9]);
    assert!(weighed.rank(&Codes::new(8).unwrap()).is_err());
    let none = Codes::new(9).unwrap();
    let labels = Labels::single(&[1, 2]);
    let ranked = weighed.rank(&none).unwrap();
    let error = |result: hashbrook::Result<_>| -> String {
        result.map(|_: hashbrook::eval::Evaluation| ()).unwrap_err().to_string()
    };
    assert!(
        error(evaluate_scores(&ranked, labels, Labels::single(&[]), Metric::DEFAULT))
            .contains("database")
    );
    assert!(
        error(evaluate_scores(&ranked, Labels::single(&[1]), labels, Metric::DEFAULT))
            .contains("1 labels for 2 rows")
    );
    let rows = Batch::new(wild, labels).unwrap();
    assert!(neighbours_by(&ranked, rows, rows, &[1]).is_err(), "scores of none, and two rows");
    assert!(Cosine::new(wild, Features::new(&narrow, 3).unwrap()).is_err());
}
