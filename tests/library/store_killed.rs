//! A store whose process is killed at arbitrary times loses nothing that was acknowledged.
//!
//! `HASHBROOK_KILLS=300 cargo test --release --test library store_killed` kills the process 300
//! times.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hashbrook::dataset::{Digits, digits};
use hashbrook::store::{Description, ItemId, Put, Queries, Renewal, Search, Settings};
use hashbrook::{Batch, Features, Labels, Method, Model, Store, hamming};

use crate::killed::{self, mixed};

const DIM: usize = Digits::DIM;
const CHILD: &str = "HASHBROOK_TEST_STORE";
const WRITER: &str = "store_killed::a_store_that_may_be_killed_keeps_every_change";

fn description() -> Description {
    let mut method = Method::named("brook").unwrap();
    method.set("anchors", "60").unwrap();
    let mut description = Description::new(method, DIM, 32);
    description.warmup = Some(80);
    // Nothing is held out, because the model is compared with one that learned all rows.
    description.held_out = 0;
    description
}

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.renewal = Renewal::Every(40);
    settings.renewal_share = 1.0;
    settings
}

/// Row of the digits that an item has, and its label (`None` if unlabelled).
type Item = (usize, Option<u32>);

/// A change. The number of the change determines its content.
enum Change {
    Put(Vec<(u64, Item)>),
    Remove(Vec<u64>),
    Label(Vec<(u64, Option<u32>)>),
    Renew,
    Copy,
}

/// Number of different ids: few, so that items are often replaced, removed and relabelled.
const IDS: u64 = 400;

fn change(number: u64, there: &BTreeMap<u64, Item>) -> Change {
    let random = |at: u64| mixed(number * 1000 + at);
    let distinct = |count: u64| {
        let mut ids: Vec<u64> = (0..count).map(|at| random(at + 10) % IDS).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    };
    let row = |id: u64| (random(id + 50) % 1797) as usize;
    let label = |id: u64, row: usize| {
        (random(id + 500) % 5 > 0).then(|| if random(id + 900) % 9 == 0 { 10 } else { row as u32 })
    };
    match random(0) % 20 {
        0..=12 => {
            let ids = distinct(1 + random(1) % 20);
            let item = |id: u64| (id, (row(id), label(id, row(id))));
            Change::Put(ids.into_iter().map(item).collect())
        }
        13..=14 => Change::Remove(distinct(1 + random(1) % 4)),
        15..=17 => {
            let mut ids = distinct(1 + random(1) % 6);
            ids.retain(|id| there.contains_key(id));
            Change::Label(ids.into_iter().map(|id| (id, label(id, there[&id].0))).collect())
        }
        18 => Change::Renew,
        _ => Change::Copy,
    }
}

/// Returns the names of an item's labels: the label of its digit, or `odd`, which no digit has.
fn name(digits: &Digits, label: Option<u32>) -> Vec<String> {
    match label {
        None => Vec::new(),
        Some(10) => vec!["odd".to_owned()],
        Some(row) => vec![digits.labels[row as usize].to_string()],
    }
}

fn vector(digits: &Digits, row: usize) -> &[f32] {
    &digits.features[row * DIM..(row + 1) * DIM]
}

/// Applies a change to a store.
fn make(store: &Store, digits: &Digits, change: &Change, copy: &Path) {
    match change {
        Change::Put(items) => {
            let ids: Vec<ItemId> = items.iter().map(|(id, _)| (*id).into()).collect();
            let values: Vec<f32> =
                items.iter().flat_map(|(_, (row, _))| vector(digits, *row).to_vec()).collect();
            let labels: Vec<_> = items.iter().map(|(_, (_, label))| name(digits, *label)).collect();
            let put = Put::new(&ids, Features::new(&values, DIM).unwrap()).unwrap();
            store.put(put.labels(&labels).unwrap()).unwrap();
        }
        Change::Remove(ids) => {
            let ids: Vec<ItemId> = ids.iter().map(|&id| id.into()).collect();
            store.remove(&ids).unwrap();
        }
        Change::Label(items) => {
            let ids: Vec<ItemId> = items.iter().map(|(id, _)| (*id).into()).collect();
            let labels: Vec<_> = items.iter().map(|(_, label)| name(digits, *label)).collect();
            store.label(&ids, &labels).unwrap();
        }
        Change::Renew => drop(store.renew().unwrap()),
        Change::Copy => {
            let _ = std::fs::remove_dir_all(copy);
            store.snapshot(copy).unwrap();
        }
    }
}

/// Expected items of a store, and the rows that it should have learned.
struct Expected {
    items: BTreeMap<u64, Item>,
    /// Rows that were learned and not unlearned, in order.
    learned: Vec<(u64, Item)>,
    model: Model,
}

impl Expected {
    fn new() -> Self {
        Expected {
            items: BTreeMap::new(),
            learned: Vec::new(),
            model: description().start().unwrap(),
        }
    }

    fn make(&mut self, digits: &Digits, change: &Change) {
        let (gone, new): (Vec<u64>, Vec<(u64, Item)>) = match change {
            Change::Put(items) => (items.iter().map(|(id, _)| *id).collect(), items.clone()),
            Change::Remove(ids) => (ids.clone(), Vec::new()),
            Change::Label(items) => {
                let new = items.iter().map(|(id, label)| (*id, (self.items[id].0, *label)));
                (items.iter().map(|(id, _)| *id).collect(), new.collect())
            }
            Change::Renew | Change::Copy => return,
        };
        for (_, (_, label)) in &new {
            name(digits, *label)
                .iter()
                .for_each(|name| drop(self.model.label_names_mut().id(name).to_string()));
        }
        let mut taken_back = Vec::new();
        for id in gone {
            if let Some(item @ (_, Some(_))) = self.items.remove(&id) {
                let at = self.learned.iter().position(|learned| *learned == (id, item)).unwrap();
                taken_back.push(self.learned.remove(at));
            }
        }
        let anew = !taken_back.is_empty() && !self.model.is_warm();
        if !anew {
            self.batch(digits, &taken_back, |model, batch| drop(model.unlearn(batch).unwrap()));
        }
        let labelled: Vec<_> =
            new.iter().filter(|(_, (_, label))| label.is_some()).copied().collect();
        self.learned.extend(&labelled);
        if anew {
            let names = self.model.label_names().clone();
            self.model = description().start().unwrap();
            *self.model.label_names_mut() = names;
            let learned = self.learned.clone();
            self.batch(digits, &learned, |model, batch| drop(model.learn(batch).unwrap()));
        } else {
            self.batch(digits, &labelled, |model, batch| drop(model.learn(batch).unwrap()));
        }
        self.items.extend(new);
    }

    fn batch(
        &mut self,
        digits: &Digits,
        rows: &[(u64, Item)],
        call: impl Fn(&mut Model, Batch<'_>),
    ) {
        if rows.is_empty() {
            return;
        }
        let values: Vec<f32> =
            rows.iter().flat_map(|(_, (row, _))| vector(digits, *row).to_vec()).collect();
        let labels: Vec<u32> = rows
            .iter()
            .map(|(_, (_, label))| self.model.label_names_mut().id(&name(digits, *label)[0]))
            .collect();
        let features = Features::new(&values, DIM).unwrap();
        call(&mut self.model, Batch::new(features, Labels::single(&labels)).unwrap());
    }

    /// Returns `true` if a store holds exactly these items.
    fn is_in(&self, store: &Store, digits: &Digits) -> bool {
        let reader = store.reader();
        reader.len() == self.items.len()
            && self.items.iter().all(|(&id, (row, label))| {
                reader.get(&id.into()).unwrap().is_some_and(|item| {
                    item.vector == vector(digits, *row) && item.labels == name(digits, *label)
                })
            })
    }

    /// Returns `true` if a store has learned exactly these rows.
    fn is_learned_by(&self, store: &Store) -> bool {
        let nothing = store.put(Put::new(&[], Features::new(&[], DIM).unwrap()).unwrap()).unwrap();
        store.wait_learned(nothing.position).unwrap();
        assert_eq!(store.stats().learning.not_unlearned, 0);
        let (found, expected) = (store.model().unwrap(), &self.model);
        found.seen() == expected.seen()
            && found.hash_function().parts() == expected.hash_function().parts()
    }

    /// Compares search results with a loop over all items, and verifies the store's checksums.
    fn compare(&self, store: &Store, digits: &Digits) {
        store.verify().unwrap();
        let reader = store.reader();
        let function = reader.index().function().unwrap();
        for query in [1, 500, 1700] {
            let query = vector(digits, query);
            let code = function.encode_one(query).unwrap();
            let mut by_loop: Vec<(u32, u64)> = self
                .items
                .iter()
                .map(|(&id, (row, _))| {
                    (hamming(&function.encode_one(vector(digits, *row)).unwrap(), &code), id)
                })
                .collect();
            by_loop.sort_unstable();
            by_loop.truncate(25);
            let query = Queries::Vectors(Features::new(query, DIM).unwrap());
            let answer = reader.search(query, 25, &Search::default()).unwrap();
            let found: Vec<(u32, ItemId)> =
                answer.results[0].iter().map(|hit| (hit.distance, hit.id.clone())).collect();
            let by_loop: Vec<(u32, ItemId)> =
                by_loop.into_iter().map(|(distance, id)| (distance, id.into())).collect();
            assert_eq!(found, by_loop);
        }
    }
}

/// A writer. Run as a test it closes its store normally; the next test starts this test as a child
/// process and kills the process.
#[test]
fn a_store_that_may_be_killed_keeps_every_change() {
    let digits = digits();
    if let Ok(given) = std::env::var(CHILD) {
        let (path, first) = given.rsplit_once(':').unwrap();
        let (path, first): (PathBuf, u64) = (path.into(), first.parse().unwrap());
        let mut expected = Expected::new();
        for number in 0..first {
            let change = change(number, &expected.items);
            follow(&mut expected, &change);
        }
        let store = Store::open(&path, settings()).unwrap();
        for number in first.. {
            let change = change(number, &expected.items);
            make(&store, &digits, &change, &path.with_extension("copy"));
            follow(&mut expected, &change);
            killed::say_done(number);
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut expected = Expected::new();
    Store::create(&path, &description(), settings()).unwrap().close().unwrap();
    for number in 0..60 {
        let store = Store::open(&path, settings()).unwrap();
        let change = change(number, &expected.items);
        make(&store, &digits, &change, &directory.path().join("copy"));
        expected.make(&digits, &change);
        assert!(expected.is_in(&store, &digits), "change {number}");
        assert!(expected.is_learned_by(&store), "change {number}");
        if number % 10 == 9 {
            expected.compare(&store, &digits);
        }
        store.close().unwrap();
    }
}

/// Applies a change to the expected items, but not to the learned rows.
fn follow(expected: &mut Expected, change: &Change) {
    match change {
        Change::Put(items) => expected.items.extend(items.iter().copied()),
        Change::Remove(ids) => expected.items.retain(|id, _| !ids.contains(id)),
        Change::Label(items) => {
            for (id, label) in items {
                expected.items.get_mut(id).unwrap().1 = *label;
            }
        }
        Change::Renew | Change::Copy => {}
    }
}

#[test]
fn whoever_kills_a_store_loses_nothing_that_was_acknowledged() {
    let kills: u64 = std::env::var("HASHBROOK_KILLS").map_or(15, |kills| kills.parse().unwrap());
    let digits = digits();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    Store::create(&path, &description(), settings()).unwrap().close().unwrap();
    let mut expected = Expected::new();
    let (mut next, mut in_flight) = (0, 0);
    for round in 0..kills {
        let given = (CHILD, format!("{}:{next}", path.display()));
        let late = Duration::from_micros(mixed(round + 1000) % 20_000);
        for number in killed::done_by(WRITER, given, 1 + mixed(round) % 12, late) {
            assert_eq!(number, next);
            let change = change(number, &expected.items);
            expected.make(&digits, &change);
            next += 1;
        }
        let store = Store::open(&path, settings()).unwrap();
        if !expected.is_in(&store, &digits) || !expected.is_learned_by(&store) {
            // The last change was not acknowledged: it may be missing or complete, but not partial.
            // If it repeats an item's labels, only the order of the learned rows shows it.
            let change = change(next, &expected.items);
            expected.make(&digits, &change);
            (next, in_flight) = (next + 1, in_flight + 1);
            assert!(expected.is_in(&store, &digits), "round {round}, change {next}");
            assert!(expected.is_learned_by(&store), "round {round}, change {next}");
        }
        expected.compare(&store, &digits);
        store.close().unwrap();
    }
    println!(
        "{next} changes, of which {in_flight} were under way when the store was killed {kills} times"
    );
}
