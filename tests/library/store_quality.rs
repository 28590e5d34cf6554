//! A store's statistics report the quality of the codes in use.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hashbrook::store::{
    Description, ItemId, MeasuredOn, Put, Quality, Queries, Renewal, Search, Settings,
};
use hashbrook::{Features, Method, Store};

use crate::worlds::World;

const DIM: usize = 8;

fn put(store: &Store, ids: std::ops::Range<u64>, values: &[f32], labels: &[Vec<String>]) -> u64 {
    let ids: Vec<ItemId> = ids.map(ItemId::Number).collect();
    let put = Put::new(&ids, Features::new(values, DIM).unwrap()).unwrap();
    store.put(put.labels(labels).unwrap()).unwrap().position
}

/// Returns the mean share of correct hits over all labelled items. Only labelled hits among the ten
/// nearest other items count; a hit is correct if it has the item's label.
fn precision_at_10(store: &Store, labelled: std::ops::Range<u64>) -> f64 {
    let ids: Vec<ItemId> = labelled.map(ItemId::Number).collect();
    let found = store.search(Queries::Items(&ids), 11, &Search::default()).unwrap();
    let mut precisions = Vec::new();
    for (id, hits) in ids.iter().zip(&found.results) {
        let labels = store.get(id).unwrap().unwrap().labels;
        let others = hits.iter().filter(|hit| hit.id != *id).take(10);
        let labelled: Vec<_> = others.filter(|hit| !hit.labels.is_empty()).collect();
        let right = labelled.iter().filter(|hit| hit.labels == labels).count();
        if !labelled.is_empty() {
            precisions.push(right as f64 / labelled.len() as f64);
        }
    }
    precisions.iter().sum::<f64>() / precisions.len() as f64
}

/// Waits until the quality satisfies a condition, and returns the quality.
fn quality_when(store: &Store, is_expected: impl Fn(&Quality) -> bool) -> Quality {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let quality = store.stats().quality;
        if is_expected(&quality) {
            return quality;
        }
        assert!(Instant::now() < end, "{quality:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn precision_is_measured_while_items_arrive_and_after_each_renewal() {
    let directory = tempfile::tempdir().unwrap();
    let mut description = Description::new(Method::named("brook").unwrap(), DIM, 16);
    description.warmup = Some(100);
    let mut settings = Settings::default();
    settings.renewal = Renewal::Never;
    let store = Store::create(directory.path().join("store"), &description, settings).unwrap();
    let (stream, _) = World::new(DIM, 5).draw(400, 1);
    let names = |labels: &Vec<u32>| labels.iter().map(u32::to_string).collect();
    let labels: Vec<Vec<String>> = stream.labels.iter().map(names).collect();

    // Items without labels are not used as queries.
    put(&store, 0..100, &stream.values[..100 * DIM], &vec![Vec::new(); 100]);
    let quality = quality_when(&store, |quality| quality.same_code.is_some());
    assert_eq!((quality.precision_at_10, quality.measured_at), (None, None));
    assert_eq!(quality.unmeasured, Some("it needs labelled items"));

    let position = put(&store, 100..400, &stream.values[100 * DIM..], &labels[100..]);
    let before = quality_when(&store, |quality| quality.queries == 300);
    assert!((before.precision_at_10.unwrap() - precision_at_10(&store, 100..400)).abs() < 1e-9);
    assert_eq!(before.unmeasured, None);

    store.wait_learned(position).unwrap();
    store.renew().unwrap();
    // No waiting is needed: the codes in use are measured before the renewal returns.
    let after = store.stats().quality;
    assert!((after.precision_at_10.unwrap() - precision_at_10(&store, 100..400)).abs() < 1e-9);
    assert!(after.measured_at > before.measured_at);
    assert_ne!(after.precision_at_10, before.precision_at_10);
    let tasks = store.stats().tasks;
    let measurement = tasks.iter().find(|task| task.task == "measurement").unwrap();
    assert!(measurement.done >= 2 && measurement.problem.is_none(), "{measurement:?}");
}

/// Hits without labels are neither right nor wrong. Rare and frequent classes count the same.
#[test]
fn precision_counts_labelled_hits_and_classes() {
    let directory = tempfile::tempdir().unwrap();
    let description = Description::new(Method::named("lsh").unwrap(), DIM, 16);
    let mut settings = Settings::default();
    settings.renewal = Renewal::Never;
    let store = Store::create(directory.path().join("store"), &description, settings).unwrap();
    // Items at the same position have the same vector. The first position has 8 items of one class
    // and 2 without a label. The second has 4 items of each of two classes. The third has a single
    // labelled item and 10 without a label.
    let places = [[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]];
    let mut items: Vec<(usize, &str)> = Vec::new();
    items.extend([(0, "frequent"); 8]);
    items.extend([(0, ""); 2]);
    items.extend([(1, "rare"); 4]);
    items.extend([(1, "frequent"); 4]);
    items.extend([(1, ""); 3]);
    items.push((2, "alone"));
    items.extend([(2, ""); 10]);
    let values: Vec<f32> = items
        .iter()
        .flat_map(|(place, _)| (0..DIM).map(|at| places[*place][at % 2]).collect::<Vec<f32>>())
        .collect();
    let name = |(_, label): &(usize, &str)| match *label {
        "" => vec![],
        label => vec![label.to_owned()],
    };
    let labels: Vec<Vec<String>> = items.iter().map(name).collect();
    put(&store, 0..items.len() as u64, &values, &labels);
    store.renew().unwrap();
    let quality = store.stats().quality;
    // The single labelled item at the third position has no labelled hits and does not count.
    assert_eq!(quality.queries, 16);
    assert_eq!(quality.measured_on, Some(MeasuredOn::Learned), "few items are held out");
    // At the first position all labelled hits are right, but a query may also hit one item at
    // another position.
    let expected = precision_at_10_of(&store, &items);
    assert!(
        (quality.precision_at_10.unwrap() - expected.0).abs() < 1e-9,
        "{quality:?} {expected:?}"
    );
    let per_class = quality.precision_at_10_per_class.unwrap();
    assert!((per_class - expected.1).abs() < 1e-9, "{quality:?} {expected:?}");
    assert!(expected.1 < expected.0 - 0.05, "the rare class is worse: {expected:?}");
    assert!(expected.0 > 0.6, "{expected:?}");
}

/// Returns the share of labelled hits that are right: the mean over queries, and the mean over
/// classes.
fn precision_at_10_of(store: &Store, items: &[(usize, &str)]) -> (f64, f64) {
    let mut of_class: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (at, (_, label)) in items.iter().enumerate().filter(|(_, (_, label))| !label.is_empty()) {
        let id = ItemId::Number(at as u64);
        let ids = [id.clone()];
        let found = store.search(Queries::Items(&ids), 11, &Search::default()).unwrap();
        let others = found.results[0].iter().filter(|hit| hit.id != id).take(10);
        let labelled: Vec<_> = others.filter(|hit| !hit.labels.is_empty()).collect();
        let right = labelled.iter().filter(|hit| hit.labels[0] == *label).count();
        if !labelled.is_empty() {
            of_class.entry(label).or_default().push(right as f64 / labelled.len() as f64);
        }
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let classes: Vec<f64> = of_class.values().map(|values| mean(values)).collect();
    (mean(&of_class.into_values().flatten().collect::<Vec<_>>()), mean(&classes))
}

#[test]
fn stats_report_how_far_learning_and_codes_are_behind_and_when_they_follow() {
    let directory = tempfile::tempdir().unwrap();
    let mut description = Description::new(Method::named("brook").unwrap(), DIM, 16);
    description.warmup = Some(100);
    let mut settings = Settings::default();
    (settings.renewal, settings.learn) = (Renewal::Every(700), false);
    description.held_out = 0;
    settings.catch_up_after = Duration::from_secs(90);
    let dir = directory.path().join("store");
    let store = Store::create(&dir, &description, settings.clone()).unwrap();
    let (stream, _) = World::new(DIM, 5).draw(300, 1);
    let labels = vec![vec!["label".to_owned()]; 300];
    put(&store, 0..300, &stream.values, &labels);
    let stats = store.stats();
    assert!(!stats.learning.enabled);
    assert_eq!((stats.learning.behind_rows, stats.learning.warmup_rows), (300, 100));
    assert_eq!((stats.renewal.policy, stats.renewal.catch_up_seconds), (Renewal::Every(700), 90.0));
    store.close().unwrap();

    settings.learn = true;
    let store = Store::open(&dir, settings).unwrap();
    store.wait_learned(u64::MAX).unwrap();
    let stats = store.stats();
    assert!(stats.learning.enabled);
    assert_eq!((stats.learning.behind_rows, stats.learning.behind_bytes), (0, 0));
    assert_eq!((stats.learning.rows, stats.renewal.lag_rows), (300, 300));
}
