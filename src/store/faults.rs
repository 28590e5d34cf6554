//! Single faults and their effect on a store. Each test makes one kind of call fail, or changes the
//! directory as another program might.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::inline::Inline;
use super::shared::lock;
use super::tasks::Task;
use super::writer::{Job, OwnedPut, ask};
use super::*;
use crate::disk::simulated::{Chance, Crash, Disk, Failure, Fault};
use crate::{ErrorKind, Features, Method};

const DIM: usize = 2;

fn description() -> Description {
    let mut method = Method::named("brook").unwrap();
    method.set("anchors", "4").unwrap();
    let mut description = Description::new(method, DIM, 8);
    description.warmup = Some(4);
    // No item is held out, so that each row counts.
    description.held_out = 0;
    description
}

fn settings(renewal: Renewal) -> Settings {
    Settings { renewal, ..Settings::default() }
}

fn create(dir: &Path) -> Store {
    Store::create(dir, &description(), settings(Renewal::Never)).unwrap()
}

fn open(dir: &Path) -> Store {
    Store::open(dir, settings(Renewal::Never)).unwrap()
}

/// Inserts items whose labels are derived from their ids.
fn put(store: &Store, ids: std::ops::Range<u64>) -> Result<Acknowledged> {
    let names: Vec<Vec<String>> = ids.clone().map(|id| vec![format!("label {}", id % 7)]).collect();
    let vectors: Vec<f32> = ids.clone().flat_map(|id| [(id % 7) as f32, 1.0]).collect();
    let ids: Vec<ItemId> = ids.map(ItemId::Number).collect();
    store.put(Put::new(&ids, Features::new(&vectors, DIM)?)?.labels(&names)?)
}

fn check_labels(store: &Store) -> Vec<u64> {
    let ids = store.reader().ids(None, usize::MAX).unwrap();
    let mut found = Vec::new();
    for id in ids {
        let item = store.get(&id).unwrap().unwrap();
        let ItemId::Number(number) = id else { panic!("ids are numbers") };
        assert_eq!(item.labels, [format!("label {}", number % 7)], "item {number}");
        found.push(number);
    }
    found
}

fn from_now_on(disk: &Disk, failure: Failure) {
    disk.fail(Fault { from: disk.calls(), until: u64::MAX, failure });
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < Duration::from_secs(60), "{what} does not come true");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn learning_survives_a_save_that_fails() {
    let disk = Disk::new(1);
    let dir = disk.path("store");
    let store = create(&dir);
    let last = put(&store, 0..300).unwrap().position;
    store.wait_learned(last).unwrap();
    from_now_on(&disk, Failure::NoSpace);
    // The model is saved when a store is closed. Here saving fails, and the error is reported.
    let error = store.close().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
    disk.heal();
    let store = open(&dir);
    let last = put(&store, 300..310).unwrap().position;
    store.wait_learned(last).unwrap();
    assert_eq!(store.stats().learning.rows, 310);
    store.close().unwrap();
    let store = open(&dir);
    assert_eq!((store.stats().learning.rows, store.stats().learning.problem), (310, None));
}

#[test]
fn labels_are_right_whichever_call_of_a_change_fails() {
    for failure in [Failure::Io, Failure::NoSpace] {
        for call in 1..12 {
            let disk = Disk::new(call);
            let dir = disk.path("store");
            let store = create(&dir);
            put(&store, 0..1).unwrap();
            let from = disk.calls() + call;
            disk.fail(Fault { from, until: from + 1, failure });
            let refused = put(&store, 1..2).is_err();
            // A later change, with a new label.
            let later = put(&store, 2..3).is_ok();
            disk.heal();
            put(&store, 3..4).unwrap();
            let mut expected = vec![0, 1, 2, 3];
            expected.retain(|&id| !(refused && id == 1 || !later && id == 2));
            assert_eq!(check_labels(&store), expected, "{failure:?} at {call}");
            drop(store);
            disk.crash(Crash::LoseSome);
            assert_eq!(check_labels(&open(&dir)), expected, "{failure:?} at {call}, after a crash");
        }
    }
}

#[test]
fn what_is_seen_after_a_kill_survives_a_loss_of_power() {
    for call in 1..12 {
        for seed in 0..8 {
            let disk = Disk::new(seed);
            let dir = disk.path("store");
            let store = create(&dir);
            put(&store, 0..2).unwrap();
            // The process ends at this call of a change: before, during or after the sync.
            disk.crash_at(disk.calls() + call);
            let acknowledged = put(&store, 2..4).is_ok();
            drop(store);
            disk.crash(Crash::Kill);
            let store = open(&dir);
            let seen = check_labels(&store);
            assert!(!acknowledged || seen.len() == 4);
            drop(store);
            disk.crash(Crash::LoseAll);
            assert_eq!(check_labels(&open(&dir)), seen, "killed at call {call}, seed {seed}");
        }
    }
}

#[test]
fn a_failed_sync_loses_nothing_that_is_acknowledged_later() {
    for seed in 0..16 {
        let disk = Disk::new(seed);
        let dir = disk.path("store");
        let store = create(&dir);
        put(&store, 0..2).unwrap();
        let before = disk.calls();
        put(&store, 2..3).unwrap();
        let calls = disk.calls() - before;
        // Each call of the next change fails once; then the process is killed and restarted.
        for call in 1..=calls {
            let from = disk.calls() + call;
            disk.fail(Fault { from, until: from + 1, failure: Failure::Io });
            let _unknown: Result<Acknowledged> = put(&store, 3..4);
            disk.heal();
        }
        drop(store);
        disk.crash(Crash::Kill);
        let store = open(&dir);
        put(&store, 4..6).unwrap();
        let seen = check_labels(&store);
        drop(store);
        disk.crash(Crash::LoseAll);
        assert_eq!(check_labels(&open(&dir)), seen, "seed {seed}");
    }
}

#[test]
fn failing_renewals_are_reported_wait_and_recover() {
    let disk = Disk::new(1);
    let dir = disk.path("store");
    let store = Store::create(&dir, &description(), settings(Renewal::Always)).unwrap();
    let last = put(&store, 0..50).unwrap().position;
    store.wait_learned(last).unwrap();
    wait_until("a renewal", || store.stats().renewal.done > 0);
    from_now_on(&disk, Failure::NoSpace);
    // Appending to the journal needs space, so this change is refused.
    assert!(put(&store, 50..51).is_err());
    assert!(store.stats().cannot_write().is_some());
    disk.heal();
    // The store recovers without another change.
    wait_until("recovery", || store.stats().cannot_write().is_none());
    let last = put(&store, 50..51).unwrap().position;
    store.wait_learned(last).unwrap();
    from_now_on(&disk, Failure::NoSpace);
    let refused = store.renew().unwrap_err().to_string();
    assert!(refused.contains("No space"), "{refused}");
    let renewal = || {
        let tasks = store.stats().tasks;
        tasks.into_iter().find(|task| task.task == "renewal").unwrap()
    };
    assert!(renewal().problem.is_some() && renewal().since.is_some());
    let (calls, failures) = (disk.calls(), renewal().failures);
    std::thread::sleep(Duration::from_millis(400));
    assert!(disk.calls() - calls < 2000, "it spins: {} calls", disk.calls() - calls);
    assert!(renewal().failures < failures + 3);
    disk.heal();
    wait_until("recovery", || {
        renewal().problem.is_none() && store.stats().renewal.problem.is_none()
    });
}

#[test]
fn learning_recovers_from_a_transient_error() {
    let disk = Disk::new(1);
    let dir = disk.path("store");
    let store = create(&dir);
    let last = put(&store, 0..20).unwrap().position;
    store.wait_learned(last).unwrap();
    let problem = || store.stats().learning.problem;
    let last = put(&store, 20..40).unwrap().position;
    from_now_on(&disk, Failure::Io);
    std::thread::sleep(Duration::from_millis(50));
    disk.heal();
    wait_until("learning", || store.wait_learned(last).is_ok());
    wait_until("recovery", || problem().is_none());
    assert_eq!(store.stats().learning.rows, 40);
}

#[test]
fn search_structures_that_were_not_built_are_built_later() {
    let disk = Disk::new(6);
    let store = create(&disk.path("store"));
    put(&store, 0..10).unwrap();
    let tasks = &store.shared.tasks;
    tasks.report(Task::Structures, &Err(Error::NoFunction));
    let structures =
        || store.stats().tasks.into_iter().find(|task| task.task == "structures").unwrap();
    assert!(structures().problem.is_some());
    wait_until("building", || structures().problem.is_none());
    assert_eq!((structures().failures, structures().done), (1, 1));
}

fn files_of(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.is_file()).collect();
    files.sort();
    files
}

/// Copies a store that no process has open, as a backup program does.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(std::fs::copy(entry.path(), to).unwrap()),
        }
    }
}

#[cfg(unix)]
#[test]
fn a_store_whose_directory_was_replaced_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let first = create(&at("store"));
    put(&first, 0..10).unwrap();
    first.close().unwrap();
    copy(&at("store"), &at("backup"));
    let first = open(&at("store"));
    std::fs::rename(at("store"), at("moved")).unwrap();
    std::fs::rename(at("backup"), at("store")).unwrap();
    let second = open(&at("store"));
    put(&second, 10..20).unwrap();
    let refused = put(&first, 30..40).unwrap_err();
    assert!(matches!(refused, Error::NotAsOpened { .. }), "{refused}");
    let refused = first.renew().unwrap_err().to_string();
    assert!(refused.contains("moved, deleted or replaced"), "{refused}");
    second.renew().unwrap();
    let refused = first.snapshot(at("copy")).unwrap_err();
    assert!(matches!(refused, Error::NotAsOpened { .. }), "{refused}");
    drop(first);
    second.close().unwrap();
    assert_eq!(check_labels(&open(&at("store"))), (0..20).collect::<Vec<_>>());
    assert_eq!(check_labels(&open(&at("moved"))), (0..10).collect::<Vec<_>>());

    let store = open(&at("moved"));
    std::fs::remove_dir_all(at("moved")).unwrap();
    let refused = put(&store, 40..41).unwrap_err();
    assert!(matches!(refused, Error::NotAsOpened { .. }), "{refused}");
}

#[test]
fn of_snapshots_under_one_name_one_is_made() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let stores = ["a", "b"].map(|name| create(&at(name)));
    put(&stores[0], 0..10).unwrap();
    put(&stores[1], 10..20).unwrap();
    for round in 0..25 {
        let to = at(&format!("copy {round}"));
        let made = std::thread::scope(|scope| {
            let threads = stores.each_ref().map(|store| scope.spawn(|| store.snapshot(&to)));
            threads.map(|thread| thread.join().unwrap())
        });
        for refused in made.iter().filter_map(|made| made.as_ref().err()) {
            assert!(matches!(refused, Error::NotEmpty(_)), "{refused}");
        }
        let number = made.iter().position(Result::is_ok).expect("one of them is made");
        assert_eq!(made.iter().filter(|made| made.is_ok()).count(), 1, "round {round}");
        let expected = number as u64 * 10..number as u64 * 10 + 10;
        assert_eq!(check_labels(&open(&to)), expected.collect::<Vec<_>>());
    }
    let left = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(left, 2 + 25, "nothing is left of those that were refused");
}

#[test]
fn upserts_do_not_grow_the_journal_for_ever() {
    let directory = tempfile::tempdir().unwrap();
    let dir = directory.path().join("store");
    let mut small = settings(Renewal::Never);
    (small.compaction, small.compaction_bytes) = (0.5, 20_000);
    let store = Store::create(&dir, &description(), small.clone()).unwrap();
    let held = store.reader();
    // About 400 kB, of which 3 kB are live.
    for _ in 0..150 {
        let last = put(&store, 0..40).unwrap().position;
        store.wait_learned(last).unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
    let compactions = || {
        let tasks = store.stats().tasks;
        tasks.into_iter().find(|task| task.task == "compaction").unwrap()
    };
    wait_until("compaction", || compactions().done > 0 && store.stats().journal_bytes < 40_000);
    assert_eq!((compactions().problem, held.len()), (None, 0));
    assert_eq!(store.stats().learning.rows, 40);
    store.verify().unwrap();
    assert_eq!(check_labels(&store), (0..40).collect::<Vec<_>>());
    let reader = store.reader();
    put(&store, 100..110).unwrap();
    assert_eq!((reader.len(), store.reader().len()), (40, 50));
    store.snapshot(directory.path().join("copy")).unwrap();
    store.close().unwrap();
    for dir in [dir, directory.path().join("copy")] {
        let store = Store::open(dir, small.clone()).unwrap();
        store.verify().unwrap();
        assert_eq!(check_labels(&store).len(), 50);
    }
}

#[test]
fn a_model_before_its_warm_up_survives_compaction() {
    let disk = Disk::new(7);
    let dir = disk.path("store");
    let mut made = description();
    made.warmup = Some(6);
    super::open::create(&dir, &made).unwrap();
    let mut settings = settings(Renewal::Never);
    (settings.compaction, settings.compaction_bytes) = (0.1, 1);
    let store = Inline::open(&dir, settings).unwrap();
    let put = |ids: std::ops::Range<u64>, label: &str| {
        let put = OwnedPut {
            vectors: ids.clone().flat_map(|id| [id as f32, 1.0]).collect(),
            labels: vec![
                vec![label.to_owned(); usize::from(!label.is_empty())];
                ids.clone().count()
            ],
            payloads: Vec::new(),
            ids: ids.map(ItemId::Number).collect(),
        };
        ask(&store.jobs, &store.shared, |reply| Job::Put(put, reply)).unwrap();
    };
    let remove = |id: u64| {
        let ids = vec![ItemId::Number(id)];
        ask(&store.jobs, &store.shared, |reply| Job::Remove(ids, reply)).unwrap();
    };
    let mut keeper = store.keeper();
    put(0..3, "first");
    (0..4).for_each(|_| put(100..110, ""));
    // Compaction sets a boundary and waits for learning.
    keeper.compact().unwrap();
    while store.learn().unwrap() {}
    // These changes are compacted away before they are learned: the first starts the model over,
    // the second completes its warm-up, and the third unlearns a row.
    remove(0);
    put(10..14, "later");
    remove(1);
    keeper.compact().unwrap();
    assert_ne!(lock(&store.shared.current).journal_start, super::journal::START, "it is compacted");
    while store.learn().unwrap() {}
    let learner = store.shared.learner().unwrap();
    assert_eq!((learner.model.is_warm(), learner.model.seen()), (true, 5));
}

/// Damages each file of a store except its journal, and repairs the store.
#[test]
fn what_follows_from_the_journal_is_rebuilt() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let store = create(&at("store"));
    let last = put(&store, 0..100).unwrap().position;
    store.wait_learned(last).unwrap();
    store.renew().unwrap();
    store.remove(&[ItemId::Number(7)]).unwrap();
    let last = put(&store, 50..60).unwrap().position;
    store.wait_learned(last).unwrap();
    let model = store.model().unwrap();
    store.close().unwrap();
    let items: Vec<u64> = (0..100).filter(|&id| id != 7).collect();
    let files: Vec<String> = std::fs::read_dir(at("store"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "journal" && name != "lock")
        .collect();
    assert_eq!(files.len(), 4, "{files:?}");
    for (number, name) in files.iter().enumerate() {
        for (way, damage) in ["missing", "cut", "flipped"].into_iter().enumerate() {
            let damaged = at(&format!("{number} {damage}"));
            copy(&at("store"), &damaged);
            let path = damaged.join(name);
            let mut bytes = std::fs::read(&path).unwrap();
            match way {
                0 => std::fs::remove_file(&path).unwrap(),
                1 => std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap(),
                _ => {
                    let middle = bytes.len() / 2;
                    bytes[middle] ^= 0xff;
                    std::fs::write(&path, &bytes).unwrap();
                }
            }
            let repaired = Store::repair_in_place(&damaged).unwrap();
            assert_eq!((repaired.items, repaired.losses.len()), (99, 0), "{damage} {name}");
            // The flipped byte may lie between two sections, where nothing is read.
            let expected = if way == 2 && repaired.rebuilt.is_empty() { 0 } else { 1 };
            assert_eq!(repaired.rebuilt.len(), expected, "{damage} {name}: {:?}", repaired.rebuilt);
            let aside = repaired.damaged.unwrap();
            assert_eq!(
                std::fs::read(aside.join(name)).is_ok(),
                way != 0,
                "the original is as it was"
            );
            let store = open(&damaged);
            store.verify().unwrap();
            assert_eq!(check_labels(&store), items, "{damage} {name}");
            let learned = store.model().unwrap();
            assert_eq!(learned.seen(), model.seen(), "{damage} {name}");
        }
    }
}

#[test]
fn a_damaged_journal_is_repaired_up_to_the_damage() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let store = create(&at("store"));
    for first in (0..60).step_by(10) {
        put(&store, first..first + 10).unwrap();
    }
    store.close().unwrap();
    let journal = "journal/00000000.journal";
    let whole = std::fs::read(at("store").join(journal)).unwrap();
    for part in 0..12 {
        let damaged = at(&format!("damaged {part}"));
        copy(&at("store"), &damaged);
        let mut bytes = whole.clone();
        let start = 24 + (bytes.len() - 24) * part / 12;
        bytes[start..start + 40].fill(0xa5);
        std::fs::write(damaged.join(journal), &bytes).unwrap();
        assert!(Store::open(&damaged, Settings::default()).is_err());
        let to = at(&format!("repaired {part}"));
        let repaired = Store::repair(&damaged, &to).unwrap();
        assert!(!repaired.losses.is_empty());
        assert!(
            (57..=60).contains(&repaired.items),
            "{} items of 60: {repaired:?}",
            repaired.items
        );
        assert_eq!(
            std::fs::read(damaged.join(journal)).unwrap(),
            bytes,
            "the original is as it was"
        );
        let store = open(&to);
        store.verify().unwrap();
        let ids = store.reader().ids(None, usize::MAX).unwrap();
        assert_eq!(ids.len(), repaired.items);
        if repaired.lost_label_names == 0 {
            check_labels(&store);
        }
    }
    // The end is missing, and the note shows it.
    let damaged = at("short");
    copy(&at("store"), &damaged);
    std::fs::write(damaged.join(journal), &whole[..whole.len() - 100]).unwrap();
    let repaired = Store::repair(&damaged, at("repaired")).unwrap();
    assert!(!repaired.losses.is_empty() && repaired.items >= 50, "{repaired:?}");
}

/// Changes some bytes: flips a few random ones, zeroes a run, or cuts off the end.
fn damage(bytes: &mut Vec<u8>, chance: &mut Chance) {
    let at = chance.below(bytes.len());
    match chance.below(4) {
        0 => bytes.truncate(at),
        1 => {
            let end = bytes.len().min(at + 1 + chance.below(64));
            bytes[at..end].fill(0);
        }
        _ => (0..1 + chance.below(3)).for_each(|_| {
            let at = chance.below(bytes.len());
            bytes[at] ^= 1 << chance.below(8);
        }),
    }
}

#[test]
fn random_damage_is_repaired_or_reported() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let store = create(&at("store"));
    for first in (0..60).step_by(10) {
        put(&store, first..first + 10).unwrap();
    }
    store.remove(&[ItemId::Number(3)]).unwrap();
    store.close().unwrap();
    let files: Vec<_> =
        ["", "journal"].iter().flat_map(|dir| files_of(&at("store").join(dir))).collect();
    let (mut repaired_stores, mut chance) = (0, Chance::new(1));
    for round in 0..200 {
        let (damaged, to) = (at(&format!("damaged {round}")), at(&format!("repaired {round}")));
        copy(&at("store"), &damaged);
        let path = &files[chance.below(files.len())];
        let path = damaged.join(path.strip_prefix(at("store")).unwrap());
        let mut bytes = std::fs::read(&path).unwrap();
        if bytes.is_empty() {
            continue;
        }
        damage(&mut bytes, &mut chance);
        std::fs::write(&path, &bytes).unwrap();
        let Ok(repaired) = Store::repair(&damaged, &to) else { continue };
        let store = open(&to);
        store.verify().unwrap();
        let sound = repaired.losses.is_empty();
        assert!(!sound || repaired.items == 59, "{}: {repaired:?}", path.display());
        for id in store.reader().ids(None, usize::MAX).unwrap() {
            let ItemId::Number(number) = id else { panic!("ids are numbers") };
            let item = store.get(&id).unwrap().unwrap();
            assert_eq!(item.vector, [(number % 7) as f32, 1.0], "item {number}");
            assert!(number < 60 && (!sound || number != 3), "item {number}");
        }
        repaired_stores += 1;
    }
    assert!(repaired_stores > 150, "{repaired_stores} of 200 were repaired");
}

#[test]
fn stores_with_string_ids_are_repaired() {
    let directory = tempfile::tempdir().unwrap();
    let dir = directory.path().join("store");
    let mut made = description();
    made.ids = IdKind::Texts;
    let store = Store::create(&dir, &made, settings(Renewal::Never)).unwrap();
    let ids: Vec<ItemId> = (0..20).map(|id| ItemId::Text(format!("item {id}"))).collect();
    let vectors: Vec<f32> = (0..40).map(|value| value as f32).collect();
    store.put(Put::new(&ids, Features::new(&vectors, DIM).unwrap()).unwrap()).unwrap();
    store.remove(&ids[3..5]).unwrap();
    store.close().unwrap();
    std::fs::remove_file(dir.join("current.json")).unwrap();
    assert_eq!(Store::repair_in_place(&dir).unwrap().items, 18);
    let store = open(&dir);
    for (number, id) in ids.iter().enumerate() {
        let item = store.get(id).unwrap();
        assert_eq!(
            item.map(|item| item.vector),
            match number {
                3 | 4 => None,
                _ => Some(vectors[2 * number..2 * number + 2].to_vec()),
            }
        );
    }
}

#[test]
fn rows_that_would_collapse_all_codes_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let store = create(&directory.path().join("store"));
    let ids: Vec<ItemId> = (0..3).map(ItemId::Number).collect();
    let vectors = [1.0, 2.0, -3.4e38, 3.4e38, 1.0, 1.0];
    let refused = store.put(Put::new(&ids, Features::new(&vectors, DIM).unwrap()).unwrap());
    let refused = refused.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::BadInput);
    assert!(refused.to_string().starts_with("row 1 is too long: column 1 is 3"), "{refused}");
    assert_eq!(store.stats().items, 0);
}

#[test]
fn collapsed_codes_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let store = create(&directory.path().join("store"));
    let ids: Vec<ItemId> = (0..100).map(ItemId::Number).collect();
    let vectors: Vec<f32> =
        (0..100).flat_map(|id| if id < 90 { [1.0, 0.0] } else { [id as f32, 9.0] }).collect();
    let put = store.put(Put::new(&ids, Features::new(&vectors, DIM).unwrap()).unwrap()).unwrap();
    store.wait_learned(put.position).unwrap();
    store.renew().unwrap();
    assert!(store.stats().quality.same_code.unwrap() >= 0.9, "{:?}", store.stats().quality);
}
