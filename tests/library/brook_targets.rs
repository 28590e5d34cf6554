//! The kinds of brook's bits: the measured choice, discriminant bits, rare labels, many labels.

use hashbrook::eval::{Metric, evaluate};
use hashbrook::learners::brook::MadeOf;
use hashbrook::store::{Description, ItemId, Put, Settings};
use hashbrook::{Batch, Features, LabelList, Labels, Lift, Model, Store};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::brook::{AsBatch, Rows, brook};

/// Returns many classes ("identities") with a few rows each. The second half of the `dim`
/// dimensions varies more and carries no information.
fn identities(count: usize, rows_of_each: usize, dim: usize) -> Rows {
    let mut rng = ChaCha8Rng::seed_from_u64(17);
    let mut rows = Rows { dim, features: Vec::new(), labels: LabelList::new() };
    let means: Vec<f32> = (0..count * dim).map(|_| rng.random_range(-1.0..1.0)).collect();
    for row in 0..count * rows_of_each {
        let label = row % count;
        for at in 0..dim {
            let noise: f32 = rng.random_range(-1.0..1.0);
            let mean = means[label * dim + at];
            rows.features.push(if at < dim / 2 { mean + 0.2 * noise } else { 4.0 * noise });
        }
        rows.labels.push_set(&[label as u32]);
    }
    rows
}

/// Learns the rows except queries. Returns the model and the precision of the queries' first hits
/// among the learned rows.
fn precision_of_others(parameters: &[(&str, &str)], rows: &Rows, bits: usize) -> (Model, f64) {
    let (all, dim) = (rows.as_batch(), rows.dim);
    let is_query = |row: usize| (row / 300).is_multiple_of(4);
    let (queries, stored): (Vec<usize>, Vec<usize>) =
        (0..all.len()).partition(|&row| is_query(row));
    let part = |chosen: &[usize]| -> (Vec<f32>, LabelList) {
        let values = chosen.iter().flat_map(|&row| all.features().row(row)).copied().collect();
        (values, rows.labels.select(chosen))
    };
    let ((values, labels), (searched, wanted)) = (part(&stored), part(&queries));
    let features = Features::new(&values, dim).unwrap();
    let mut model = brook(parameters).start(dim, bits, 1).unwrap();
    model.learn(Batch::new(features, labels.view()).unwrap()).unwrap();
    model.end_warmup().unwrap();
    let function = model.hash_function();
    let searched = function.encode(Features::new(&searched, dim).unwrap()).unwrap();
    let database = function.encode(features).unwrap();
    let metrics = [Metric::PrecisionAt(1)];
    let evaluation =
        evaluate(&searched, wanted.view(), &database, labels.view(), &metrics).unwrap();
    (model, evaluation.get(Metric::PrecisionAt(1)))
}

#[test]
fn discriminant_bits_are_chosen_for_identities() {
    let rows = identities(300, 8, 32);
    let (model, chosen) = precision_of_others(&[], &rows, 64);
    let (_, vectors) = precision_of_others(&[("targets", "classes")], &rows, 64);
    let measured = model.measured_targets().unwrap();
    assert_eq!(measured.made_of, MadeOf::Discriminant, "{measured:?}");
    assert!(measured.candidates.len() >= 2 && !measured.gave_up_lifted, "{measured:?}");
    assert!(chosen > 0.9 && chosen > vectors, "{chosen} for {vectors}");
    // The choice and the scores are saved with the function.
    let loaded = Model::from_bytes(&model.to_bytes(), "memory").unwrap();
    assert_eq!(loaded.measured_targets(), Some(measured));
    assert_eq!(loaded.hash_function().parts(), model.hash_function().parts());
}

#[test]
fn discriminant_bits_and_the_measured_choice_merge_and_unlearn() {
    for targets in ["discriminant", "auto"] {
        merges_and_unlearns(targets);
    }
}

fn merges_and_unlearns(targets: &str) {
    let rows = identities(200, 10, 16);
    let all = rows.as_batch();
    let method = brook(&[("targets", targets)]);
    let mut first = method.start(16, 32, 1).unwrap();
    first.learn(all.slice(0..500)).unwrap();
    first.end_warmup().unwrap();
    let learned = |ranges: &[(usize, usize)]| {
        let mut model = first.sibling().unwrap();
        for &(start, end) in ranges {
            model.learn(all.slice(start..end)).unwrap();
        }
        model
    };
    let whole = learned(&[(0, 2000)]);
    let mut merged = learned(&[(1200, 2000), (0, 300)]);
    merged.merge(&learned(&[(300, 1200)])).unwrap();
    assert_eq!(merged.hash_function().parts(), whole.hash_function().parts());
    merged.learn(all.slice(0..150)).unwrap();
    merged.unlearn(all.slice(0..150)).unwrap();
    assert_eq!(merged.hash_function().parts(), whole.hash_function().parts());
    assert_eq!(merged.measured_targets(), whole.measured_targets());
    assert!(matches!(whole.hash_function().parts().lift, Lift::Identity));
}

/// Some labels depend on the vectors, and others are drawn at random.
#[test]
fn labels_that_bits_do_not_distinguish_are_named() {
    let mut rows = identities(10, 300, 16);
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut labels = LabelList::new();
    for row in 0..3000 {
        let told = rows.labels.view().row(row)[0];
        labels.push_set(&[if told < 6 { told } else { 6 + rng.random_range(0..4) }]);
    }
    // Rows of the last four labels have random vectors, which do not depend on the label.
    for row in (0..3000).filter(|&row| labels.view().row(row)[0] >= 6) {
        rows.features[row * 16..(row + 1) * 16].fill_with(|| rng.random_range(-1.0..1.0));
    }
    rows.labels = labels;
    let (model, _) = precision_of_others(&[], &rows, 32);
    let measured = model.measured_targets().unwrap();
    assert!(measured.not_distinguished.iter().all(|&label| label >= 6), "{measured:?}");
    // Without the first six labels, hits of a query have each of the other four labels equally
    // often.
    let last: Vec<usize> = (0..3000).filter(|&row| rows.labels.view().row(row)[0] >= 6).collect();
    let (model, _) = precision_of_others(&[], &Rows::select(rows.as_batch(), &last), 32);
    let measured = model.measured_targets().unwrap();
    assert!(!measured.not_distinguished.is_empty(), "{measured:?}");
    let loaded = Model::from_bytes(&model.to_bytes(), "memory").unwrap();
    assert_eq!(loaded.measured_targets(), Some(measured));
}

#[test]
fn a_rare_label_is_found() {
    // One row in fifty has the rare label and lies within the spread of the other rows.
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut rows = Rows { dim: 12, features: Vec::new(), labels: LabelList::new() };
    for row in 0..9000u32 {
        let is_positive = row % 50 == 0;
        for at in 0..12 {
            let value: f32 = rng.random_range(-1.0..1.0);
            let center = if is_positive && at < 4 { 0.8 } else { 0.0 };
            rows.features.push(center + if is_positive { 0.3 * value } else { value });
        }
        rows.labels.push_set(&[u32::from(is_positive)]);
    }
    let (model, _) = precision_of_others(&[], &rows, 64);
    let (_, with) = precision_of_others(&[("targets", "presence")], &rows, 64);
    let function = model.hash_function();
    let positive = |row: &usize| row.is_multiple_of(50);
    let codes = function.encode(rows.as_batch().features()).unwrap();
    let set = |bit: usize, only: bool| {
        let chosen = (0..9000).filter(|row| positive(row) == only);
        chosen.clone().filter(|&row| codes.bit(row, bit)).count() as f64 / chosen.count() as f64
    };
    let apart = (0..64).map(|bit| (set(bit, true) - set(bit, false)).abs()).fold(0.0, f64::max);
    assert!(apart > 0.5, "some bit distinguishes the rare label: {apart}");
    assert!(with > 0.9, "{with}");
}

#[test]
fn sums_of_lifted_rows_are_given_up_for_many_labels_and_too_many_labels_are_refused() {
    let rows = identities(400, 3, 8);
    let all = rows.as_batch();
    let mut model = brook(&[("memory", "1000000")]).start(8, 32, 1).unwrap();
    model.learn(all).unwrap();
    model.end_warmup().unwrap();
    model.hash_function();
    let measured = model.measured_targets().unwrap();
    assert!(measured.gave_up_lifted && measured.made_of != MadeOf::Classes, "{measured:?}");
    let loaded = Model::from_bytes(&model.to_bytes(), "memory").unwrap();
    assert_eq!(loaded.hash_function().parts(), model.hash_function().parts());
    let many: Vec<u32> = (0..20_000).collect();
    let values = vec![0.5; 8 * many.len()];
    let batch = Batch::new(Features::new(&values, 8).unwrap(), Labels::single(&many)).unwrap();
    let before = model.to_bytes();
    let refused = model.learn(batch).unwrap_err().to_string();
    assert!(refused.contains("memory") && refused.contains("20000 labels"), "{refused}");
    assert_eq!(model.to_bytes(), before);
}

/// Few rows have labels. Unlabelled rows should not displace labelled ones from the anchors.
#[test]
fn rows_without_labels_do_not_hurt() {
    let rows = identities(20, 600, 24);
    let all = rows.as_batch();
    let has_label = |row: usize| row.is_multiple_of(41);
    let mut labels = LabelList::new();
    for row in 0..all.len() {
        labels.push_set(if has_label(row) { rows.labels.view().row(row) } else { &[] });
    }
    let labelled: Vec<usize> = (0..all.len()).filter(|&row| has_label(row)).collect();
    let alone = Rows::select(all, &labelled);
    let precision = |model: &Model| {
        let function = model.hash_function();
        let queries: Vec<usize> = (1..all.len()).step_by(37).collect();
        let queries = Rows::select(all, &queries);
        let codes = function.encode(all.features()).unwrap();
        let searched = function.encode(queries.as_batch().features()).unwrap();
        let metrics = [Metric::PrecisionAt(10)];
        let wanted = queries.as_batch().labels().unwrap();
        let found = evaluate(&searched, wanted, &codes, all.labels().unwrap(), &metrics).unwrap();
        found.get(Metric::PrecisionAt(10))
    };
    let mut with = brook(&[]).start(24, 64, 1).unwrap();
    with.learn(Batch::new(all.features(), labels.view()).unwrap()).unwrap();
    with.end_warmup().unwrap();
    let mut without = brook(&[]).start(24, 64, 1).unwrap();
    without.learn(alone.as_batch()).unwrap();
    without.end_warmup().unwrap();
    let (with, without) = (precision(&with), precision(&without));
    assert!(with >= without - 0.01, "{with} with rows without labels, {without} without them");
}

/// Sampling depends on the names of labels, because label numbers differ between siblings.
#[test]
fn samples_merge_by_the_names_of_labels() {
    let rows = identities(200, 10, 16);
    let all = rows.as_batch();
    let mut first = brook(&[]).start(16, 32, 1).unwrap();
    let (here, there): (Vec<usize>, Vec<usize>) =
        (0..all.len()).partition(|&row| rows.labels.view().row(row)[0] < 100);
    let (here, there) = (Rows::select(all, &here), Rows::select(all, &there));
    for label in 0..100 {
        first.label_names_mut().id(&format!("identity {label}"));
    }
    first.learn(here.as_batch()).unwrap();
    first.end_warmup().unwrap();
    let mut whole = first.clone();
    for label in 100..200 {
        whole.label_names_mut().id(&format!("identity {label}"));
    }
    whole.learn(there.as_batch()).unwrap();
    let mut sibling = first.sibling().unwrap();
    let mut renamed = LabelList::new();
    for row in there.labels.view().iter() {
        renamed.push_set(&[sibling.label_names_mut().id(&format!("identity {}", row[0]))]);
    }
    let batch = Batch::new(there.as_batch().features(), renamed.view()).unwrap();
    sibling.learn(batch).unwrap();
    let mut merged = first.clone();
    merged.merge(&sibling).unwrap();
    assert_eq!(merged.hash_function().parts(), whole.hash_function().parts());
    assert_eq!(merged.measured_targets(), whole.measured_targets());
    let loaded = Model::from_bytes(&merged.to_bytes(), "memory").unwrap();
    assert_eq!(loaded.hash_function().parts(), whole.hash_function().parts());
    // Rows that arrived by a merge are also removed from the sample.
    let size = |model: &Model| {
        let sizes = model.array_sizes();
        sizes.into_iter().find(|(name, _)| name == "brook.sample").map(|(_, bytes)| bytes)
    };
    let before = size(&first);
    let mut labels = LabelList::new();
    for row in there.labels.view().iter() {
        let id = merged.label_names().find(&format!("identity {}", row[0])).unwrap();
        labels.push_set(&[id]);
    }
    merged.unlearn(Batch::new(there.as_batch().features(), labels.view()).unwrap()).unwrap();
    assert_eq!(size(&merged), before);
}

/// A label beyond the limit causes only its own rows to be refused, not the rows that are learned
/// with them.
#[test]
fn a_store_learns_the_rows_of_known_labels_next_to_those_that_are_refused() {
    let method = brook(&[("memory", "1000000")]);
    let directory = tempfile::tempdir().unwrap();
    let description = Description::new(method, 8, 32);
    let store =
        Store::create(directory.path().join("store"), &description, Settings::default()).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let mut put = |first: u64, names: Vec<Vec<String>>| {
        let values: Vec<f32> = (0..names.len() * 8).map(|_| rng.random_range(-1.0..1.0)).collect();
        let ids: Vec<ItemId> = (first..first + names.len() as u64).map(ItemId::Number).collect();
        let put = Put::new(&ids, Features::new(&values, 8).unwrap()).unwrap();
        store.put(put.labels(&names).unwrap()).unwrap().position
    };
    let known = |row: usize| vec![format!("known {}", row % 3)];
    let position = put(0, (0..4000).map(known).collect());
    store.wait_learned(position).unwrap();
    let before = store.stats().learning.rows;
    // Rows of known labels, and rows of more new labels than fit in memory.
    let new = |row: usize| match row % 6 {
        0 => known(row),
        _ => vec![format!("new {row}")],
    };
    let position = put(4000, (0..12_000).map(new).collect());
    store.wait_learned(position).unwrap();
    let stats = store.stats().learning;
    let learned = stats.rows - before;
    assert!(stats.problem.is_some_and(|problem| problem.contains("memory")));
    // 2,000 rows of known labels and about 7,800 rows of new labels, minus the held-out items.
    assert!((9_000..10_000).contains(&learned), "{learned} rows");
}
