//! A store that is searched while it changes, learns and re-encodes its codes: no answer mixes two
//! versions.
//!
//! `HASHBROOK_SEARCHES=1000000 cargo test --release --test library store_versions` checks 1,000,000
//! searches.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hashbrook::store::{Description, ItemId, Put, Queries, Renewal, Search, Settings};
use hashbrook::{Codes, Features, Method, Store, hamming};

use crate::killed::mixed;

const DIM: usize = 8;
const IDS: u64 = 300;

/// Returns a vector near one of four drifting corners, and its label.
fn vector(number: u64) -> (Vec<f32>, String) {
    let class = mixed(number) % 4;
    let value = |at: u64| {
        let corner = if (class >> (at % 2)) & 1 == 1 { 1.0 } else { -1.0 };
        let drift = ((number as f32 / 5000.0) + at as f32).sin();
        corner + drift + (mixed(number * 31 + at) % 1000) as f32 / 500.0 - 1.0
    };
    ((0..DIM as u64).map(value).collect(), format!("class {class}"))
}

#[test]
fn every_answer_is_of_one_version() {
    let wanted: u64 =
        std::env::var("HASHBROOK_SEARCHES").map_or(20_000, |searches| searches.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let mut method = Method::named("brook").unwrap();
    method.set("lift", "none").unwrap();
    let mut description = Description::new(method, DIM, 24);
    description.warmup = Some(100);
    let mut settings = Settings::default();
    (settings.renewal, settings.renewal_share) = (Renewal::Always, 1.0);
    let store = Store::create(directory.path().join("store"), &description, settings).unwrap();
    let (checked, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let functions: Mutex<HashMap<u64, Codes>> = Mutex::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in (0..).step_by(7) {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                change(&store, number);
            }
        });
        let searchers: Vec<_> = (0..2)
            .map(|thread| {
                let (store, checked, functions) = (&store, &checked, &functions);
                scope.spawn(move || {
                    // On a busy machine more searches are needed until several versions exist.
                    let many = |checked| checked >= wanted && versions(functions) > 3;
                    let most = 20 * wanted;
                    while let now = checked.load(Ordering::Relaxed)
                        && !many(now)
                        && now < most
                    {
                        checked.fetch_add(check(store, thread, functions), Ordering::Relaxed);
                    }
                })
            })
            .collect();
        let ended: Vec<_> = searchers.into_iter().map(|searcher| searcher.join()).collect();
        stop.store(true, Ordering::Relaxed);
        ended.into_iter().for_each(|ended| ended.unwrap());
    });
    let (versions, stats) = (versions(&functions), store.stats());
    println!("{checked:?} searches, {versions} versions seen of {}", stats.version);
    assert!(stats.renewal.problem.is_none(), "{stats:?}");
    assert!(versions > 3, "only {versions} versions");
    store.verify().unwrap();
}

fn versions(functions: &Mutex<HashMap<u64, Codes>>) -> usize {
    functions.lock().unwrap().len()
}

fn change(store: &Store, number: u64) {
    let items: Vec<(ItemId, (Vec<f32>, String))> =
        (0..7).map(|at| (((number + at) * 13 % IDS).into(), vector(number + at))).collect();
    let ids: Vec<ItemId> = items.iter().map(|(id, _)| id.clone()).collect();
    let values: Vec<f32> = items.iter().flat_map(|(_, (vector, _))| vector.clone()).collect();
    let labels: Vec<Vec<String>> =
        items.iter().map(|(_, (_, label))| vec![label.clone()]).collect();
    let put = Put::new(&ids, Features::new(&values, DIM).unwrap()).unwrap();
    store.put(put.labels(&labels).unwrap()).unwrap();
    if number.is_multiple_of(70) {
        store.remove(&ids[..3]).unwrap();
    }
}

/// Compares searches of the store's current version with loops over all codes, and returns the
/// number of searches.
fn check(store: &Store, thread: u64, functions: &Mutex<HashMap<u64, Codes>>) -> u64 {
    let reader = store.reader();
    let ids = reader.ids(None, usize::MAX).unwrap();
    let items: Vec<_> = ids.iter().map(|id| reader.get(id).unwrap().unwrap()).collect();
    let function = reader.index().function().unwrap();
    let values: Vec<f32> = items.iter().flat_map(|item| item.vector.clone()).collect();
    let codes = function.encode(Features::new(&values, DIM).unwrap()).unwrap();
    for (item, code) in items.iter().zip(codes.iter()) {
        assert_eq!((&item.code[..], item.version), (code, reader.version()), "item {}", item.id);
    }
    // A version has a single function, for every thread and at any time.
    let probes: Vec<f32> = (0..32).flat_map(|probe| vector(probe).0).collect();
    let probes = function.encode(Features::new(&probes, DIM).unwrap()).unwrap();
    let mut functions = functions.lock().unwrap();
    let known = functions.entry(reader.version()).or_insert_with(|| probes.clone());
    assert!(*known == probes, "version {} is two functions", reader.version());
    drop(functions);
    for search in 0..100 {
        let (query, _) = vector(mixed(search * 2 + thread) % 100_000);
        let code = function.encode_one(&query).unwrap();
        let mut by_loop: Vec<(u32, &ItemId)> =
            codes.iter().zip(&ids).map(|(other, id)| (hamming(other, &code), id)).collect();
        by_loop.sort_unstable();
        by_loop.truncate(10);
        let queries = Queries::Vectors(Features::new(&query, DIM).unwrap());
        let answer = reader.search(queries, 10, &Search::default()).unwrap();
        assert_eq!(answer.version, reader.version());
        let found: Vec<(u32, &ItemId)> =
            answer.results[0].iter().map(|hit| (hit.distance, &hit.id)).collect();
        assert_eq!(found, by_loop);
    }
    100
}
