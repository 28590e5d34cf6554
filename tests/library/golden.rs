//! The golden cases: see `tests/golden/README.md`.

use std::path::{Path, PathBuf};

use hashbrook::dataset::{Digits, Reader, digits, read_labels};
use hashbrook::eval::{Metric, evaluate};
use hashbrook::{
    Batch, Center, Features, HashFunction, HashParts, LabelNames, Labels, Learner, Method,
};
use serde_json::Value;

use crate::streams::setup_with;
use crate::twin::dense_bsodh::{Regression, learner};

/// Cases that depend on the order in which one matrix product adds in single precision.
const DECIDED_BY_ROUNDING: [(&str, &str); 2] = [("wide", "alternating"), ("narrow", "alternating")];

const DIM: usize = Digits::DIM;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn golden() -> Value {
    let text = std::fs::read_to_string(directory().join("golden.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Returns the digits, centred on their mean and scaled to unit length, in double precision.
fn features() -> Vec<f64> {
    let digits = digits();
    let rows = digits.labels.len();
    let mut values: Vec<f64> = digits.features.iter().map(|&v| f64::from(v)).collect();
    for column in 0..DIM {
        let mean = values.iter().skip(column).step_by(DIM).sum::<f64>() / rows as f64;
        values.iter_mut().skip(column).step_by(DIM).for_each(|value| *value -= mean);
    }
    for row in values.chunks_exact_mut(DIM) {
        let norm = row.iter().map(|v| v * v).sum::<f64>().sqrt();
        row.iter_mut().for_each(|value| *value /= norm);
    }
    values
}

fn matrix(name: &str) -> Vec<f32> {
    let mut reader = Reader::open(directory().join(name).to_str().unwrap()).unwrap();
    reader.next(usize::MAX).unwrap().unwrap().values().to_vec()
}

fn labels(name: &str) -> Vec<u32> {
    if name == "digits_y.npy" {
        return digits().labels;
    }
    let mut names = LabelNames::new();
    let list = read_labels(directory().join(name).to_str().unwrap(), &mut names).unwrap();
    list.view().as_single().unwrap().to_vec()
}

/// Learns the function of a case: with a model, or with the learner alone and a given way of
/// solving its regressions.
fn learn(
    case: &Value,
    order: &str,
    features: Features<'_>,
    way: Option<Regression>,
) -> HashFunction {
    let mut method = Method::named("bsodh").unwrap();
    method.set("order", order).unwrap();
    for name in ["ridge", "fit_weight", "similar_weight", "dissimilar_weight"] {
        method.set_value(name, case[name].clone()).unwrap();
    }
    let bits = case["bits"].as_u64().unwrap() as usize;
    let init = matrix(case["initial_w"].as_str().unwrap());
    let labels = labels(case["labels"].as_str().unwrap());
    let rows = case["rows"].as_u64().unwrap() as usize;
    let size = case["batch"].as_u64().unwrap() as usize;
    let all = Batch::new(features, Labels::single(&labels)).unwrap();
    let batches = (0..rows).step_by(size).map(|start| all.slice(start..rows.min(start + size)));
    if let Some(way) = way {
        let Method::Bsodh(params) = method else { unreachable!("it was named") };
        let mut learner = learner(params, DIM, init, way);
        batches.for_each(|batch| drop(learner.learn(batch).unwrap()));
        return learner.hash_function();
    }
    let setup = setup_with(|setup| {
        setup.center = Center::None;
        setup.unit = false;
        setup.init = Some(init);
    });
    let mut model = method.start_with(DIM, bits, 0, setup).unwrap();
    batches.for_each(|batch| drop(model.learn(batch).unwrap()));
    model.hash_function()
}

#[test]
fn sixteen_of_eighteen_results_match_to_the_last_bit_of_the_codes() {
    let mut matched = 0;
    let double = features();
    let single: Vec<f32> = double.iter().map(|&v| v as f32).collect();
    let features = Features::new(&single, DIM).unwrap();
    for case in golden()["cases"].as_array().unwrap() {
        for order in ["released", "alternating", "printed"] {
            let name = case["name"].as_str().unwrap();
            if DECIDED_BY_ROUNDING.contains(&(name, order)) {
                continue;
            }
            let expected = matrix(case[order].as_str().unwrap());
            let largest = expected.iter().fold(0.0f32, |max, w| max.max(w.abs()));
            // First with the learner's own choice, then with each way of solving for W.
            let functions = [None, Some(Regression::Direct), Some(Regression::Refined)];
            for function in functions.map(|way| learn(case, order, features, way)) {
                for (found, expected) in function.parts().weights.iter().zip(&expected) {
                    assert!((found - expected).abs() <= 1e-4 * largest, "{name}, {order}: weights");
                }
                let codes = function.encode(features).unwrap();
                let bits = function.bits();
                for (row, x) in double.chunks_exact(DIM).enumerate() {
                    for bit in 0..bits {
                        let weights = expected.iter().skip(bit).step_by(bits);
                        let sum: f64 = x.iter().zip(weights).map(|(x, w)| x * f64::from(*w)).sum();
                        assert_eq!(codes.bit(row, bit), sum > 0.0, "{name}, {order}: row {row}");
                    }
                }
            }
            matched += 1;
        }
    }
    assert_eq!((matched, DECIDED_BY_ROUNDING.len()), (16, 2), "see tests/golden/README.md");
}

#[test]
fn the_metrics_match() {
    let golden = golden();
    let expected = &golden["metrics"];
    let single: Vec<f32> = features().into_iter().map(|v| v as f32).collect();
    let weights = matrix(expected["weights"].as_str().unwrap());
    let function = HashFunction::new(HashParts::linear(DIM, 16, weights)).unwrap();
    let codes = function.encode(Features::new(&single, DIM).unwrap()).unwrap();
    let labels = digits().labels;
    let rows = |name: &str| -> Vec<usize> {
        let ends = &expected[name];
        (ends[0].as_u64().unwrap() as usize..ends[1].as_u64().unwrap() as usize).collect()
    };
    let (database, queries) = (rows("database_rows"), rows("query_rows"));
    let of = |rows: &[usize]| rows.iter().map(|&row| labels[row]).collect::<Vec<u32>>();
    let metrics = [
        ("mAP", Metric::Map),
        ("mAP_at_100", Metric::MapAt(100)),
        ("precision_at_10", Metric::PrecisionAt(10)),
        ("precision_radius_2", Metric::PrecisionWithin(2)),
        ("precision_radius_0", Metric::PrecisionWithin(0)),
    ];
    let found = evaluate(
        &codes.select(&queries),
        Labels::single(&of(&queries)),
        &codes.select(&database),
        Labels::single(&of(&database)),
        &metrics.map(|(_, metric)| metric),
    )
    .unwrap();
    for (name, metric) in metrics {
        let found = found.get(metric);
        let expected = expected[name].as_f64().unwrap();
        assert!((found - expected).abs() < 1e-9, "{name}: {found}, expected {expected}");
    }
}
