//! A store with default settings serves codes that follow what it learned, however many labels
//! there are.
//!
//! `HASHBROOK_ALL=1 cargo test --release --test library store_converges -- --nocapture` tries all
//! combinations.

use std::time::Instant;

use hashbrook::store::{Description, Found, ItemId, Put, Queries, Search, Settings};
use hashbrook::{Features, Method, Store};

use crate::worlds::{Rows, World};

const DIM: usize = 32;

fn put(store: &Store, stream: &Rows) -> u64 {
    let mut position = 0;
    for first in (0..stream.labels.len()).step_by(500) {
        let last = (first + 500).min(stream.labels.len());
        let ids: Vec<ItemId> = (first as u64..last as u64).map(ItemId::Number).collect();
        let vectors = Features::new(&stream.values[first * DIM..last * DIM], DIM).unwrap();
        let names =
            |labels: &Vec<u32>| labels.iter().map(|label| format!("label {label}")).collect();
        let labels: Vec<Vec<String>> = stream.labels[first..last].iter().map(names).collect();
        let put = Put::new(&ids, vectors).unwrap().labels(&labels).unwrap();
        position = store.put(put).unwrap().position;
    }
    position
}

/// Returns the share of the ten nearest items that have a label of the query.
fn precision_at_10(store: &Store, queries: &Rows) -> f64 {
    let vectors = Features::new(&queries.values, DIM).unwrap();
    let found = store.search(Queries::Vectors(vectors), 10, &Search::default()).unwrap();
    let mut right = 0;
    for (hits, labels) in found.results.iter().zip(&queries.labels) {
        let names: Vec<String> = labels.iter().map(|label| format!("label {label}")).collect();
        let shares = |hit: &&Found| hit.labels.iter().any(|name| names.contains(name));
        right += hits.iter().filter(shares).count();
    }
    right as f64 / (10 * queries.labels.len()) as f64
}

fn check(world: &World, rows: usize) {
    let started = Instant::now();
    let directory = tempfile::tempdir().unwrap();
    let description = Description::new(Method::named("brook").unwrap(), DIM, 64);
    let store =
        Store::create(directory.path().join("store"), &description, Settings::default()).unwrap();
    let (stream, queries) = world.draw(rows, 500);
    let position = put(&store, &stream);
    store.wait(position).unwrap();
    let (waited, renewals) = (precision_at_10(&store, &queries), store.stats().renewal.done);
    store.renew().unwrap();
    let renewed = precision_at_10(&store, &queries);
    let stats = store.stats();
    assert_eq!(stats.renewal.measured_targets.is_some(), stats.learning.warm, "reported once warm");
    println!(
        "{} classes, {}, {}, {}: {waited:.3} after wait with {renewals} renewals, {renewed:.3} after renew, {:.1} s",
        world.classes,
        if world.long_tailed { "long-tailed" } else { "balanced" },
        if world.several_labels { "several labels" } else { "one label" },
        if world.sorted { "class by class" } else { "mixed" },
        started.elapsed().as_secs_f64(),
    );
    assert!(
        waited >= 0.97 * renewed,
        "{waited:.3} after wait, {renewed:.3} after renew: {world:?}"
    );
}

#[test]
fn searches_after_wait_are_as_good_as_after_a_renewal() {
    let all = std::env::var_os("HASHBROOK_ALL").is_some();
    for (number, classes) in [2, 10, 202, 1000].into_iter().enumerate() {
        for combination in 0..8 {
            // Each setting is on and off for each number of classes; each combination occurs once.
            if !all && ![[0, 7], [1, 6], [2, 5], [4, 3]][number].contains(&combination) {
                continue;
            }
            let mut world = World::new(DIM, classes);
            world.long_tailed = combination & 1 > 0;
            world.several_labels = combination & 2 > 0;
            world.sorted = combination & 4 > 0;
            check(&world, 4000 + 6 * classes);
        }
    }
}

#[test]
fn a_collection_smaller_than_the_warm_up_is_searchable_after_wait() {
    for (classes, rows) in [(2, 60), (10, 800), (202, 2500)] {
        check(&World::new(DIM, classes), rows);
    }
}
