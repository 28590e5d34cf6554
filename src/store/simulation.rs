//! Simulated crashes: a store on a [simulated disk](crate::disk::simulated), changed at random,
//! crashed at every kind of call, and compared with the expected state in memory.
//!
//! After each crash, every acknowledged change is present and no change is present in part.
//! Searches find the same items as brute force, and the store's model equals one that learned the
//! journal from its start. A seed replays a run:
//!
//! ```text
//! cargo test --lib store::simulation                                   ten thousand crashes
//! HASHBROOK_CRASHES=1000000 cargo test --lib store::simulation         a million
//! HASHBROOK_SEED=17 cargo test --lib store::simulation                 the run of seed 17 alone
//! ```

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use super::held_out::HeldOut;
use super::inline::Inline;
use super::journal::START;
use super::learner::Learner;
use super::learning::read_and_learn;
use super::shared::lock;
use super::writer::{Job, OwnedPut, ask};
use super::*;
use crate::disk::simulated::{Chance, Crash, Disk, Failure, Fault};
use crate::{Method, hamming};

const DIM: usize = 3;

#[derive(Clone, PartialEq)]
struct Item {
    vector: Vec<f32>,
    labels: Vec<String>,
    payload: Vec<u8>,
}

/// Prints only the length of the payload.
impl std::fmt::Debug for Item {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {:?} +{}", self.vector, self.labels, self.payload.len())
    }
}

type Items = BTreeMap<ItemId, Item>;

#[derive(Clone, Debug)]
enum Change {
    Put(Vec<(ItemId, Item)>),
    Label(ItemId, Vec<String>),
    Remove(Vec<ItemId>),
}

impl Change {
    fn apply(&self, items: &mut Items) {
        match self {
            Change::Put(put) => items.extend(put.iter().cloned()),
            Change::Label(id, labels) => {
                if let Some(item) = items.get_mut(id) {
                    item.labels = labels.clone();
                }
            }
            Change::Remove(ids) => ids.iter().for_each(|id| drop(items.remove(id))),
        }
    }
}

/// Changes since the items were last compared. Refused changes may or may not take effect.
#[derive(Clone, Default)]
struct History {
    base: Items,
    changes: Vec<(Change, bool)>,
}

impl History {
    /// Returns the items that result from the acknowledged changes alone.
    fn acknowledged(&self) -> Items {
        let mut items = self.base.clone();
        self.changes
            .iter()
            .filter(|(_, sure)| *sure)
            .for_each(|(change, _)| change.apply(&mut items));
        items
    }

    /// Returns whether `found` results from all acknowledged changes and any subset of the others.
    fn allows(&self, found: &Items) -> bool {
        let open = self.changes.iter().filter(|(_, sure)| !sure).count();
        assert!(open <= MOST_OPEN + 1);
        (0..1u32 << open).any(|choice| {
            let (mut items, mut number) = (self.base.clone(), 0);
            for (change, sure) in &self.changes {
                let counts = *sure || {
                    number += 1;
                    choice >> (number - 1) & 1 == 1
                };
                if counts {
                    change.apply(&mut items);
                }
            }
            items == *found
        })
    }

    /// Returns the history of a disk copy that was taken when this number of changes had ended.
    fn up_to(&self, ended: usize) -> History {
        let mut changes = self.changes[..ended.min(self.changes.len())].to_vec();
        // The next change had begun, so it may have taken effect.
        changes.extend(self.changes.get(ended).map(|(change, _)| (change.clone(), false)));
        History { base: self.base.clone(), changes }
    }
}

/// Number of refused changes after which a life ends: each doubles the number of allowed states.
const MOST_OPEN: usize = 4;

/// Returns the directory of the store on its disk.
fn directory(disk: &Disk) -> PathBuf {
    disk.path("store")
}

/// Run of one store on one disk. It consists of lives, each of which ends with a crash.
struct Run {
    seed: u64,
    disk: Disk,
    chance: Chance,
    history: History,
    next_label: usize,
    crashes: u64,
    texts: bool,
    /// Whether each step is printed.
    is_told: bool,
}

impl Run {
    fn new(seed: u64) -> Run {
        let mut chance = Chance::new(seed ^ 0xc0ffee);
        let (disk, texts) = (Disk::new(seed), chance.one_in(3));
        let history = History::default();
        let is_told = number("HASHBROOK_SEED").is_some();
        Run { seed, disk, chance, history, next_label: 0, crashes: 0, texts, is_told }
    }

    fn description(&mut self) -> Description {
        let mut description = match self.chance.below(4) {
            0 => {
                let method = Method::named("bsodh").unwrap();
                Description { batch: 3, ..Description::new(method, DIM, 8) }
            }
            _ => {
                let mut method = Method::named("brook").unwrap();
                method.set("anchors", "4").unwrap();
                Description::new(method, DIM, 8)
            }
        };
        description.warmup = Some(4 + self.chance.below(4));
        description.ids = if self.texts { IdKind::Texts } else { IdKind::Numbers };
        // Large shares are included, so that runs with few items hold out some.
        description.held_out = [0, 2, 3, 50][self.chance.below(4)];
        description.precision =
            if self.chance.one_in(4) { VectorPrecision::F16 } else { VectorPrecision::F32 };
        description
    }

    fn settings() -> Settings {
        let mut settings = Settings::default();
        (settings.compaction, settings.compaction_bytes) = (0.3, 1);
        settings.renewal_share = 1.0;
        settings
    }

    fn fail(&self, problem: &str) -> ! {
        panic!("seed {}, after {} crashes: {problem}", self.seed, self.crashes)
    }

    /// Creates the store, despite crashes and failures.
    fn create(&mut self) {
        let description = self.description();
        for _ in 0..100 {
            match self.chance.below(3) {
                0 => self.disk.crash_at(self.disk.calls() + 1 + self.chance.below(120) as u64),
                1 => self.plan_failure(120),
                _ => {}
            }
            let created = super::open::create(&directory(&self.disk), &description);
            let is_off = self.disk.is_off();
            if is_off {
                self.crash();
            }
            self.disk.heal();
            if created.is_ok() && !is_off {
                // A created store survives a crash, including its name.
                self.crash();
                match Store::exists(directory(&self.disk)) {
                    true => return,
                    false => self.fail("a store that was created is gone"),
                }
            }
            // A store that was created only in part is created again; a complete one opens.
            if Store::exists(directory(&self.disk)) {
                match Inline::open(&directory(&self.disk), Run::settings()) {
                    Ok(_) => return,
                    Err(error) => {
                        self.fail(&format!("a store that was created does not open: {error}"))
                    }
                }
            }
        }
        let files = crate::disk::list(&directory(&self.disk));
        self.fail(&format!("a store cannot be created among {files:?}"))
    }

    fn crash(&mut self) {
        let kind = match self.chance.below(4) {
            0 => Crash::Kill,
            1 => Crash::LoseAll,
            _ => Crash::LoseSome,
        };
        self.disk.crash(kind);
        self.crashes += 1;
    }

    fn plan_failure(&mut self, within: usize) {
        let failure = match self.chance.below(6) {
            0..=2 => Failure::Io,
            3 => Failure::NoSpace,
            4 => Failure::Interrupted,
            _ => Failure::Short,
        };
        let from = self.disk.calls() + 1 + self.chance.below(within) as u64;
        let length = if self.chance.one_in(3) { 1 + self.chance.below(40) } else { 1 };
        self.disk.fail(Fault { from, until: from + length as u64, failure });
    }

    /// Runs one life: from opening the store to a crash.
    fn life(&mut self) {
        if self.chance.one_in(6) {
            // A failed attempt to open the store must not prevent the next one.
            self.plan_failure(60);
            if let Ok(store) = Inline::open(&directory(&self.disk), Run::settings()) {
                drop(store);
            }
            self.disk.heal();
        }
        let store = match Inline::open(&directory(&self.disk), Run::settings()) {
            Ok(store) => store,
            Err(error) => self.fail(&format!("it does not open: {error}")),
        };
        if self.is_told {
            let end = lock(&store.shared.progress).end;
            println!("opened up to {end:x}\n  {:x?}", lock(&store.shared.current));
        }
        let found = self.check(&store, &self.history.clone(), self.seed);
        self.history = History { base: found, changes: Vec::new() };
        self.disk.fork_one_in(3);
        let crash_at =
            self.chance.one_in(2).then(|| self.disk.calls() + self.chance.below(400) as u64);
        if let Some(at) = crash_at {
            self.disk.crash_at(at);
        }
        let mut keeper = store.keeper();
        for _ in 0..3 + self.chance.below(25) {
            if self.chance.one_in(8) {
                self.plan_failure(30);
            }
            self.disk.tag(self.history.changes.len() as u64);
            // Failures of background work are reported, and do not affect changes.
            let step = self.chance.below(16);
            let outcome = match step {
                0 => store.save(),
                1 => keeper.renew(),
                2 => keeper.checkpoint(),
                3 | 4 => keeper.finish_exchange().and_then(|_| keeper.compact()).map(drop),
                5 => {
                    self.snapshot(&store);
                    Ok(())
                }
                6..=8 => store.learn().map(drop),
                9 if self.chance.one_in(3) => ask(&store.jobs, &store.shared, Job::Probe).map(drop),
                9 if self.chance.one_in(3) => {
                    self.disk.heal();
                    Ok(())
                }
                _ => self.change(&store),
            };
            if self.is_told {
                let (call, current) = (self.disk.calls(), lock(&store.shared.current).clone());
                println!("step {step} up to call {call}: {outcome:?}\n  {current:x?}");
            }
            let open = self.history.changes.iter().filter(|(_, sure)| !sure).count();
            if self.disk.is_off() || open >= MOST_OPEN {
                break;
            }
        }
        self.disk.fork_one_in(0);
        if !self.disk.is_off() {
            self.disk.heal();
            self.disk.stay_on();
            let (found, expected) = (items(&store), self.history.acknowledged());
            if found.as_ref().ok() != Some(&expected) {
                self.fail(&format!("it shows {found:?}, acknowledged are {expected:?}"));
            }
        }
        if self.chance.one_in(4) && !self.disk.is_off() {
            drop(store.save().and_then(|()| store.close()));
        } else {
            drop(store);
        }
        self.crash();
        for (number, (fork, ended)) in self.disk.take_forks().into_iter().enumerate() {
            self.crashes += 1;
            match Inline::open(&directory(&fork), Run::settings()) {
                Ok(store) => {
                    let history = self.history.up_to(ended as usize);
                    self.check(&store, &history, self.seed.wrapping_add(number as u64));
                }
                Err(error) => self.fail(&format!("copy {number} does not open: {error}")),
            }
            fork.unmount();
        }
    }

    /// Makes a random change and records its outcome.
    fn change(&mut self, store: &Inline) -> crate::Result<()> {
        let there: Vec<ItemId> = self.history.acknowledged().into_keys().collect();
        let change = match self.chance.below(8) {
            0 | 1 if !there.is_empty() => {
                let count = 1 + self.chance.below(3);
                let ids = (0..count).map(|_| there[self.chance.below(there.len())].clone());
                Change::Remove(ids.collect())
            }
            2 if !there.is_empty() => {
                Change::Label(there[self.chance.below(there.len())].clone(), self.labels())
            }
            _ => {
                let mut put = BTreeMap::new();
                for _ in 0..1 + self.chance.below(4) {
                    let id = self.chance.below(24) as u64;
                    let id = match self.texts {
                        true => ItemId::Text(format!("item {id}")),
                        false => ItemId::Number(id),
                    };
                    put.insert(id, self.item());
                }
                Change::Put(put.into_iter().collect())
            }
        };
        let done = match change.clone() {
            Change::Put(put) => {
                let (ids, items): (Vec<ItemId>, Vec<Item>) = put.into_iter().unzip();
                let put = OwnedPut {
                    ids,
                    vectors: items.iter().flat_map(|item| item.vector.clone()).collect(),
                    labels: items.iter().map(|item| item.labels.clone()).collect(),
                    payloads: items.iter().map(|item| item.payload.clone()).collect(),
                };
                ask(&store.jobs, &store.shared, |reply| Job::Put(put, reply)).map(drop)
            }
            Change::Label(id, labels) => {
                ask(&store.jobs, &store.shared, |reply| Job::Label(vec![id], vec![labels], reply))
                    .map(drop)
            }
            Change::Remove(ids) => {
                ask(&store.jobs, &store.shared, |reply| Job::Remove(ids, reply)).map(drop)
            }
        };
        self.history.changes.push((change, done.is_ok()));
        done
    }

    fn labels(&mut self) -> Vec<String> {
        if self.chance.one_in(8) {
            return Vec::new();
        }
        if self.chance.one_in(5) {
            self.next_label += 1;
        }
        let mut labels = vec![format!("label {}", self.chance.below(self.next_label + 2))];
        if self.chance.one_in(8) {
            labels.push(format!("other {}", self.chance.below(3)));
        }
        // The order does not matter: labels are compared as sets.
        labels.sort();
        labels
    }

    fn item(&mut self) -> Item {
        // Values that half precision represents exactly.
        let vector = (0..DIM).map(|_| self.chance.below(64) as f32 / 8.0 - 4.0).collect();
        let payload = vec![7; self.chance.below(20) * self.chance.below(60)];
        Item { vector, labels: self.labels(), payload }
    }

    /// Copies the store. If the copy succeeds, it is a store with the same items.
    fn snapshot(&mut self, store: &Inline) {
        let to = self.disk.path(&format!("copy {}", self.chance.below(1000)));
        let expected = self.history.acknowledged();
        let made = match self.chance.one_in(2) {
            true => backup::copy(&store.shared, &to),
            false => backup::into_new(&to, |made| compacted::fill(&store.shared, made)),
        };
        if made.is_ok() && !self.disk.is_off() && self.chance.one_in(2) {
            self.disk.heal();
            let copy = Inline::open(&to, Run::settings()).and_then(|copy| {
                backup::verify(&copy.shared)?;
                items(&copy)
            });
            if copy.as_ref().ok() != Some(&expected) && !self.disk.is_off() {
                self.fail(&format!("a copy has {copy:?}, expected {expected:?}"));
            }
        }
        // Errors are ignored: if the disk is off or a failure is planned, the next life deals with
        // it.
        drop(crate::disk::remove_dir_all(&to));
    }

    /// Checks that a store that was just opened agrees with its history; returns its items.
    fn check(&self, store: &Inline, history: &History, seed: u64) -> Items {
        let mut chance = Chance::new(seed);
        let found = match items(store) {
            Ok(found) => found,
            Err(error) => self.fail(&format!("items cannot be read: {error}")),
        };
        if !history.allows(&found) {
            let expected = history.acknowledged();
            let ids = expected.keys().chain(found.keys());
            let other = |id: &&ItemId| expected.get(id) != found.get(id);
            let differ: Vec<String> = ids
                .filter(other)
                .map(|id| format!("{id}: {:?}, expected {:?}", found.get(id), expected.get(id)))
                .collect();
            let changes: Vec<String> =
                history.changes.iter().map(|change| format!("{change:?}")).collect();
            self.fail(&format!("{}\nafter\n{}", differ.join("\n"), changes.join("\n")));
        }
        if let Err(error) = backup::verify(&store.shared) {
            self.fail(&format!("it is damaged: {error}"));
        }
        self.check_search(store, &mut chance);
        if chance.one_in(4) {
            self.check_model(store, &found);
        }
        found
    }

    fn check_search(&self, store: &Inline, chance: &mut Chance) {
        let reader = Reader::new(store.shared.clone());
        let index = reader.index();
        let ids = index.ids().unwrap();
        if ids.is_empty() {
            return;
        }
        let query = index.get(ids[chance.below(ids.len())]).unwrap().unwrap();
        let mut expected: Vec<(u32, u64)> = ids
            .iter()
            .map(|&id| (hamming(&index.get(id).unwrap().unwrap().code, &query.code), id))
            .collect();
        expected.sort_unstable();
        expected.truncate(5);
        let mut codes = crate::Codes::new(8).unwrap();
        codes.push(&query.code).unwrap();
        let hits = index.search_codes(&codes, 5).unwrap();
        let hits: Vec<(u32, u64)> = hits.row(0).iter().map(|hit| (hit.distance, hit.id)).collect();
        if hits != expected {
            self.fail(&format!("search finds {hits:?}, brute force {expected:?}"));
        }
    }

    /// Learns everything that is left, and compares the model with one that learned the journal
    /// from its start.
    fn check_model(&self, store: &Inline, found: &Items) {
        let learned = || -> crate::Result<()> {
            while store.learn()? {}
            Ok(())
        };
        if let Err(error) = learned() {
            self.fail(&format!("it cannot learn: {error}"));
        }
        let shared = &store.shared;
        let learner = shared.learner().unwrap();
        if matches!(shared.description.method, Method::Brook(_)) {
            let held_out = HeldOut::new(shared.description.held_out);
            let is_learned = |(id, item): &(&ItemId, &Item)| {
                let is_held_out = match id {
                    ItemId::Number(number) => held_out.contains(*number, ""),
                    ItemId::Text(text) => held_out.contains(0, text),
                };
                !item.labels.is_empty() && !is_held_out
            };
            let labelled = found.iter().filter(is_learned).count() as u64;
            if learner.model.seen() != labelled {
                self.fail(&format!("{} rows are learned of {labelled}", learner.model.seen()));
            }
        }
        let start = lock(&shared.current).journal_start;
        if start != START {
            // Compaction may have removed rows of the warm-up.
            return;
        }
        let mut again = Learner::new(shared.description.start().unwrap(), START, 0, 0, 0);
        let end = lock(&shared.progress).end;
        while read_and_learn(&mut again, shared, end).unwrap() {}
        let state = |learner: &Learner| {
            let function =
                learner.model.try_hash_function().and_then(|function| function.try_to_bytes());
            // Rows of a warm-up are buffered in the batches in which they were read.
            let fingerprint = learner.model.is_warm().then(|| learner.model.fingerprint());
            (fingerprint, function.ok(), learner.is_waiting(), learner.rows_there)
        };
        if state(&learner) != state(&again) {
            let method = learner.model.method().name();
            let (seen, position) = (learner.model.seen(), (learner.position, learner.rows_there));
            let other = (again.model.seen(), (again.position, again.rows_there));
            self.fail(&format!(
                "the model of {method} is not the one that learned the journal from its start: \
                 {seen} rows up to {position:x?}, {other:x?}; the journal ends at {end:x}, \
                 files {:?}",
                shared.files.numbers()
            ));
        }
    }
}

/// Returns all items of a store.
fn items(store: &Inline) -> crate::Result<Items> {
    let reader = Reader::new(store.shared.clone());
    let mut items = Items::new();
    for id in reader.ids(None, usize::MAX)? {
        if let Some(StoredItem { vector, mut labels, payload, .. }) = reader.get(&id)? {
            labels.sort();
            items.insert(id, Item { vector, labels, payload });
        }
    }
    Ok(items)
}

fn run(seed: u64) -> u64 {
    let mut run = Run::new(seed);
    run.create();
    for _ in 0..6 {
        run.life();
    }
    run.disk.unmount();
    run.crashes
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

#[test]
fn every_acknowledged_change_survives_every_crash() {
    if let Some(seed) = number("HASHBROOK_SEED") {
        println!("seed {seed}: {} crashes", run(seed));
        return;
    }
    let wanted = number("HASHBROOK_CRASHES").unwrap_or(10_000);
    let (next, crashes) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while crashes.load(Ordering::Relaxed) < wanted {
                    crashes.fetch_add(run(next.fetch_add(1, Ordering::Relaxed)), Ordering::Relaxed);
                }
            });
        }
    });
    println!("{} crashes, seeds 0 to {}", crashes.into_inner(), next.into_inner() - 1);
}
