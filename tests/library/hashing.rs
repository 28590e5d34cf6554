//! Hash functions: every stage, and the guarantee that a row's code does not depend on other rows.

use hashbrook::{Compact, Features, HashFunction, HashParts, Lift};
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::streams::config;

fn random(n: usize, rng: &mut ChaCha8Rng) -> Vec<f32> {
    (0..n).map(|_| rng.random_range(-1.0..1.0)).collect()
}

/// Computes the stages one after the other in double precision, as the documentation of
/// [`HashParts`] lists them.
fn twin(parts: &HashParts, row: &[f32]) -> Vec<f64> {
    let mut x: Vec<f64> = row.iter().map(|&v| f64::from(v)).collect();
    if let Some(center) = &parts.center {
        x.iter_mut().zip(center).for_each(|(x, c)| *x -= f64::from(*c));
    }
    if let Some(scale) = &parts.scale {
        x.iter_mut().zip(scale).for_each(|(x, s)| *x *= f64::from(*s));
    }
    let norm = x.iter().map(|v| v * v).sum::<f64>().sqrt();
    if parts.unit && norm > 0.0 {
        x.iter_mut().for_each(|v| *v /= norm);
    }
    let before_lift = x.clone();
    if let Lift::Rbf { anchors, gamma } = &parts.lift {
        let distance =
            |a: &[f32]| x.iter().zip(a).map(|(x, a)| (x - f64::from(*a)).powi(2)).sum::<f64>();
        x = anchors
            .chunks_exact(parts.dim)
            .map(|a| (-f64::from(*gamma) * distance(a)).exp())
            .collect();
    }
    if let Lift::Compact(compact) = &parts.lift {
        x = compact_twin(compact, parts.dim, &x);
    }
    (0..parts.bits)
        .map(|r| {
            let column = parts.weights.iter().skip(r).step_by(parts.bits);
            let mut product: f64 = x.iter().zip(column).map(|(x, w)| x * f64::from(*w)).sum();
            if let Some(weights) = &parts.linear_weights {
                let column = weights.iter().skip(r).step_by(parts.bits);
                let terms = before_lift.iter().zip(column).map(|(x, w)| x * f64::from(*w));
                product += terms.sum::<f64>();
            }
            product + parts.offset.as_ref().map_or(0.0, |offset| f64::from(offset[r]))
        })
        .collect()
}

/// Computes a compact lift step by step, exact up to the last digits of `f32`.
fn compact_twin(compact: &Compact, dim: usize, x: &[f64]) -> Vec<f64> {
    let squared_norm: f64 = x.iter().map(|v| v * v).sum();
    let along = |d: &[f32]| d.iter().zip(x).map(|(d, x)| f64::from(*d) * x).sum::<f64>();
    let reduced: Vec<f64> = match compact.directions.is_empty() {
        true => x.to_vec(),
        false => compact.directions.chunks_exact(dim).map(along).collect(),
    };
    let step = reduced.iter().fold(0.0, |most: f64, v| most.max(v.abs())) / 127.0;
    let whole: Vec<f64> =
        reduced.iter().map(|v| if step > 0.0 { (v / step).round() } else { 0.0 }).collect();
    let anchors = compact.anchors.chunks_exact(whole.len()).enumerate();
    let similarity = |(at, anchor): (usize, &[i8])| {
        let product: f64 = anchor.iter().zip(&whole).map(|(a, x)| f64::from(*a) * x).sum();
        let product = product * step * f64::from(compact.steps[at]);
        let distance = squared_norm + f64::from(compact.squared_norms[at]) - 2.0 * product;
        let similarity = (-f64::from(compact.gamma) * distance.max(0.0)).exp();
        (2048.0 * similarity).round().min(2047.0) / 2048.0 - f64::from(compact.center[at])
    };
    anchors.map(similarity).collect()
}

/// Returns the largest allowed difference between a row's projection and its twin's. A compact lift
/// rounds numbers up or down to integers, and weights to 2047 steps.
fn tolerance(parts: &HashParts) -> f64 {
    match parts.lift {
        Lift::Compact(_) => 0.02,
        _ => 2e-5,
    }
}

fn parts() -> impl Strategy<Value = (HashParts, u64)> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), 0..4usize, any::<bool>());
    (1..40usize, 1..140usize, 1..20usize, flags, any::<u64>()).prop_map(
        |(dim, bits, anchors, (center, scale, unit, lift, offset), seed)| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let inputs = if lift > 0 { anchors } else { dim };
            let parts = HashParts {
                dim,
                bits,
                center: center.then(|| random(dim, &mut rng)),
                scale: scale.then(|| random(dim, &mut rng)),
                unit,
                lift: match lift {
                    0 => Lift::Identity,
                    1 => Lift::Rbf { anchors: random(anchors * dim, &mut rng), gamma: 0.7 },
                    // Compact lifts without directions, and with enough to fill up some panels.
                    form => {
                        let directions = if form == 2 { 0 } else { 1 + anchors };
                        let directions = random(directions * dim, &mut rng);
                        let center: Vec<f32> =
                            random(anchors, &mut rng).iter().map(|c| c.abs()).collect();
                        let anchors = random(anchors * dim, &mut rng);
                        let compact = Compact::new(&anchors, directions, dim, 0.2).unwrap();
                        Lift::Compact(compact.centered(&center))
                    }
                },
                weights: random(inputs * bits, &mut rng),
                linear_weights: (seed % 2 == 0).then(|| random(dim * bits, &mut rng)),
                label_bits: seed as usize % (bits + 1),
                offset: offset.then(|| random(bits, &mut rng)),
            };
            (parts, seed)
        },
    )
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn the_stages_are_what_they_say((parts, seed) in parts(), rows in 1..120usize) {
        let mut rng = ChaCha8Rng::seed_from_u64(!seed);
        let values = random(rows * parts.dim, &mut rng);
        let features = Features::new(&values, parts.dim).unwrap();
        let function = HashFunction::new(parts.clone()).unwrap();
        let projections = function.project(features).unwrap();
        let codes = function.encode(features).unwrap();
        prop_assert_eq!(codes.len(), rows);
        for row in 0..rows {
            for (bit, expected) in twin(&parts, features.row(row)).into_iter().enumerate() {
                let found = projections[row * parts.bits + bit];
                prop_assert!((f64::from(found) - expected).abs() < tolerance(&parts));
                prop_assert_eq!(codes.bit(row, bit), found > 0.0);
            }
        }
    }

    #[test]
    fn a_vector_has_the_same_code_alone_and_in_company((parts, seed) in parts(), rows in 1..120usize) {
        let mut rng = ChaCha8Rng::seed_from_u64(!seed);
        let values = random(rows * parts.dim, &mut rng);
        let features = Features::new(&values, parts.dim).unwrap();
        let function = HashFunction::new(parts).unwrap();
        let together = function.encode(features).unwrap();
        for row in 0..rows {
            let alone = function.encode(features.slice(row..row + 1)).unwrap();
            prop_assert_eq!(alone.code(0), together.code(row));
        }
        let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        prop_assert_eq!(one_thread.install(|| function.encode(features).unwrap()), together);
    }
}

#[test]
fn rows_of_any_size_are_scaled_without_overflow() {
    let parts = HashParts { unit: true, ..HashParts::linear(2, 2, vec![1.0, 0.0, 0.0, -1.0]) };
    let function = HashFunction::new(parts).unwrap();
    let values = [3e38, 3e38, 1e-38, 1e-38, 0.0, 0.0, -1e-30, 3e38];
    let projections = function.project(Features::new(&values, 2).unwrap()).unwrap();
    let half = std::f32::consts::FRAC_1_SQRT_2;
    assert!((projections[0] - half).abs() < 1e-6 && (projections[1] + half).abs() < 1e-6);
    assert!((projections[2] - half).abs() < 1e-6 && (projections[3] + half).abs() < 1e-6);
    assert_eq!(projections[4..6], [0.0, 0.0], "a zero row stays zero");
    assert!(projections.iter().all(|p| p.is_finite()));
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let good = HashParts::linear(2, 3, vec![0.5; 6]);
    let refuse = |parts: HashParts| HashFunction::new(parts).unwrap_err().to_string();
    assert!(refuse(HashParts { bits: 0, ..good.clone() }).contains("1 to 1024"));
    assert!(refuse(HashParts { bits: 2000, ..good.clone() }).contains("2000"));
    assert!(refuse(HashParts { weights: vec![0.5; 5], ..good.clone() }).contains("5 values"));
    assert!(refuse(HashParts { weights: vec![0.5; 9], ..good.clone() }).contains("9 values"));
    assert!(refuse(HashParts { weights: vec![f32::NAN; 6], ..good.clone() }).contains("NaN"));
    let linear_weights = Some(vec![0.5; 9]);
    assert!(refuse(HashParts { linear_weights, ..good.clone() }).contains("9 values"));
    assert!(refuse(HashParts { label_bits: 4, ..good.clone() }).contains("at most the 3 bits"));
    assert!(refuse(HashParts { center: Some(vec![1.0]), ..good.clone() }).contains("1 values"));
    assert!(refuse(HashParts { scale: Some(vec![1.0]), ..good.clone() }).contains("1 values"));
    assert!(refuse(HashParts { offset: Some(vec![1.0; 2]), ..good.clone() }).contains("2 values"));
    let rbf = |anchors: Vec<f32>, gamma| Lift::Rbf { anchors, gamma };
    assert!(refuse(HashParts { lift: rbf(vec![1.0; 4], 0.0), ..good.clone() }).contains("gamma"));
    assert!(refuse(HashParts { lift: rbf(vec![], 1.0), ..good.clone() }).contains("anchors"));
    let compact = |change: fn(&mut Compact)| {
        let mut compact = Compact::new(&[1.0, 0.0, 0.5, 0.5], vec![], 2, 1.0).unwrap();
        change(&mut compact);
        let parts = HashParts { lift: Lift::Compact(compact), ..good.clone() };
        HashFunction::new(parts).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(compact(|_| ()), Ok(()));
    let refuse = |change: fn(&mut Compact)| compact(change).unwrap_err();
    assert!(refuse(|c| c.gamma = 0.0).contains("gamma"));
    assert!(refuse(|c| c.anchors[1] = -128).contains("-127 to 127"));
    assert!(refuse(|c| c.anchors.truncate(3)).contains("3 values"));
    assert!(refuse(|c| c.directions = vec![1.0; 3]).contains("3 values"));
    assert!(refuse(|c| c.directions = vec![1.0; 2]).contains("4 values"));
    assert!(refuse(|c| c.steps[0] = -1.0).contains("steps"));
    assert!(refuse(|c| c.squared_norms[0] = f32::INFINITY).contains("inf"));
    assert!(refuse(|c| c.center[0] = 0.3).contains("1/2048"));
    assert!(refuse(|c| c.center[0] = 1.0).contains("1/2048"));
    assert!(refuse(|c| *c = Compact::default()).contains("gamma"));
    let function = HashFunction::new(good).unwrap();
    let wide = [0.0; 3];
    let error = function.encode(Features::new(&wide, 3).unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "expected vectors of 2 dimensions, these have 3");
}
