//! Snapshots taken during writes, each compared with brute force over its expected content; readers
//! that follow a writer's file.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use hashbrook::{
    Codes, Filter, HashFunction, HashParts, Hit, Index, LabelNames, Labels, Snapshot, hamming,
};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

const BITS: usize = 48;

/// Expected content of a snapshot: code and label by id.
type Model = BTreeMap<u64, (u64, u32)>;

/// A version of an index that readers may take: a snapshot and its expected content.
type Moment = (Snapshot, Arc<Model>);

/// Compares searches with sorting everything: nearest and within a radius, with and without a
/// filter.
fn check((snapshot, model): &Moment, rng: &mut ChaCha8Rng, queries: usize) {
    let asked: Vec<u64> = (0..queries).map(|_| code(rng)).collect();
    let mut codes = Codes::new(BITS).unwrap();
    asked.iter().for_each(|code| codes.push(&[*code]).unwrap());
    let (k, radius, label) =
        (rng.random_range(1..40), rng.random_range(0..6), rng.random_range(0..5));
    let twos = Filter::all().labels(&[label]);
    let nearest = snapshot.search_codes(&codes, k).unwrap();
    let within = snapshot.within_codes(&codes, radius).unwrap();
    let filtered = snapshot.filtered(&twos).search_codes(&codes, k).unwrap();
    assert_eq!(snapshot.len(), model.len());
    let mut sorted: Vec<(u32, u64, u32)> = Vec::new();
    for (row, query) in asked.iter().enumerate() {
        sorted.clear();
        sorted.extend(model.iter().map(|(&id, (code, l))| (hamming(&[*query], &[*code]), id, *l)));
        sorted.sort_unstable();
        let is = |found: &[Hit], expected: &mut dyn Iterator<Item = &(u32, u64, u32)>| {
            let expected: Vec<Hit> = expected.map(|&(d, id, _)| Hit::new(id, d)).collect();
            assert_eq!(found, expected);
        };
        is(nearest.row(row), &mut sorted.iter().take(k));
        is(within.row(row), &mut sorted.iter().filter(|(distance, ..)| *distance <= radius));
        is(filtered.row(row), &mut sorted.iter().filter(|(.., l)| *l == label).take(k));
    }
}

/// Returns a code near one of a few class codes.
fn code(rng: &mut ChaCha8Rng) -> u64 {
    let class = rng.random_range(1..6u64);
    let mut code = class.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (0..4).for_each(|_| code ^= 1 << rng.random_range(0..BITS));
    code & ((1 << BITS) - 1)
}

/// Returns a function with the same number of bits, so that codes can be renewed.
fn function() -> HashFunction {
    HashFunction::new(HashParts::linear(1, BITS, vec![1.0; BITS])).unwrap()
}

/// Makes the same random changes to an index and to its expected content.
fn change(index: &mut Index, model: &mut Model, rng: &mut ChaCha8Rng) {
    let kind = rng.random_range(0..20);
    let count = if rng.random_range(0..10) == 0 { 150 } else { rng.random_range(0..12) };
    let mut ids: Vec<u64> = (0..count).map(|_| rng.random_range(0..600)).collect();
    ids.sort_unstable();
    ids.dedup();
    match kind {
        0..=11 => {
            ids.retain(|id| kind > 5 || !model.contains_key(id));
            let items: Vec<(u64, u32)> =
                ids.iter().map(|_| (code(rng), rng.random_range(0..5))).collect();
            let mut codes = Codes::new(BITS).unwrap();
            items.iter().for_each(|(code, _)| codes.push(&[*code]).unwrap());
            let labels: Vec<u32> = items.iter().map(|(_, label)| *label).collect();
            let labels = Some(Labels::single(&labels));
            match kind {
                0..=5 => index.add_codes(&ids, &codes, labels).unwrap(),
                _ => index.upsert_codes(&ids, &codes, labels).unwrap(),
            }
            model.extend(ids.into_iter().zip(items));
        }
        12..=17 => {
            index.remove(&ids).unwrap();
            ids.iter().for_each(|id| _ = model.remove(id));
        }
        18 => index.compact().unwrap(),
        _ => {
            let mut codes = Codes::new(BITS).unwrap();
            for item in model.values_mut() {
                item.0 = code(rng);
                codes.push(&[item.0]).unwrap();
            }
            let ids: Vec<u64> = model.keys().copied().collect();
            index.renew_codes(function(), &ids, &codes).unwrap();
        }
    }
}

/// Searches in two threads while a writer changes the index, until `queries` queries were run. The
/// threads search the latest version, or an older one that they kept.
fn beside_a_writer(mut index: Index, queries: usize) {
    const AT_ONCE: usize = 50;
    let mut model = Model::new();
    let latest: Mutex<Moment> = Mutex::new((index.snapshot(), Arc::default()));
    let (asked, done) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for reader in 0..2 {
            let (latest, asked, done) = (&latest, &asked, &done);
            scope.spawn(move || {
                let mut rng = ChaCha8Rng::seed_from_u64(100 + reader);
                let mut kept: Vec<Moment> = Vec::new();
                while asked.fetch_add(3 * AT_ONCE, Ordering::Relaxed) < queries {
                    let moment = latest.lock().unwrap().clone();
                    check(&moment, &mut rng, AT_ONCE);
                    kept.push(moment);
                    if kept.len() > 30 {
                        let old = kept.swap_remove(rng.random_range(0..kept.len()));
                        check(&old, &mut rng, AT_ONCE);
                    }
                }
                done.store(true, Ordering::Relaxed);
            });
        }
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        while !done.load(Ordering::Relaxed) {
            change(&mut index, &mut model, &mut rng);
            *latest.lock().unwrap() = (index.snapshot(), Arc::new(model.clone()));
        }
    });
    check(&(index.snapshot(), Arc::new(model)), &mut ChaCha8Rng::seed_from_u64(2), 20);
}

#[test]
fn a_million_searches_beside_a_writer_are_those_of_their_snapshots() {
    beside_a_writer(Index::new(function()), 1_000_000);
}

#[test]
fn searches_beside_the_writer_of_a_file_are_those_of_their_snapshots() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.index");
    Index::new(function()).save(&path).unwrap();
    beside_a_writer(Index::edit(&path).unwrap(), 100_000);
    Index::open(&path).unwrap().verify().unwrap();
}

#[test]
fn snapshots_of_every_age_share_a_search_structure() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let count = 90_000u64;
    let mut model: Model = (0..count).map(|id| (id, (code(&mut rng), (id % 5) as u32))).collect();
    let mut codes = Codes::new(BITS).unwrap();
    model.values().for_each(|(code, _)| codes.push(&[*code]).unwrap());
    let ids: Vec<u64> = (0..count).collect();
    let labels: Vec<u32> = model.values().map(|(_, label)| *label).collect();
    let mut index = Index::new(function());
    index.add_codes(&ids, &codes, Some(Labels::single(&labels))).unwrap();
    index.build_search_structures().unwrap();
    let built = index.statistics().structure_bytes;
    assert!(built > 4 * count as usize, "a slot for each item, and distinct codes");
    let mut moments: Vec<Moment> = vec![(index.snapshot(), Arc::new(model.clone()))];
    for part in 0..8 {
        let gone: Vec<u64> = (0..count).filter(|id| id % 40 == part * 5).collect();
        index.remove(&gone).unwrap();
        gone.iter().for_each(|id| _ = model.remove(id));
        moments.push((index.snapshot(), Arc::new(model.clone())));
    }
    assert!(index.statistics().structure_bytes >= built, "the structure is shared by all of them");
    for at in [8, 0, 4, 8, 2, 7, 1, 3, 5, 6, 0] {
        check(&moments[at], &mut rng, 3);
    }
    // Compaction, which regroups the items, rebuilds the structure.
    index.compact().unwrap();
    assert!(index.statistics().structure_bytes > 4 * model.len());
    check(&(index.snapshot(), Arc::new(model)), &mut rng, 3);
}

#[test]
fn a_reader_follows_the_writer_of_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.index");
    Index::new(function()).save(&path).unwrap();
    let mut writer = Index::edit(&path).unwrap();
    let mut reader = Index::open(&path).unwrap();
    assert!(!reader.refresh().unwrap(), "nothing is new");
    let (mut rng, mut model) = (ChaCha8Rng::seed_from_u64(5), Model::new());
    let mut kept: Vec<Moment> = Vec::new();
    for step in 0..300 {
        change(&mut writer, &mut model, &mut rng);
        if step % 3 == 0 {
            reader.refresh().unwrap();
            assert_eq!(reader.statistics().log_bytes, writer.statistics().log_bytes);
            kept.push((reader.snapshot(), Arc::new(model.clone())));
            check(kept.last().unwrap(), &mut rng, 3);
        }
        if let Some(old) = kept.get(step / 7) {
            check(old, &mut rng, 1);
        }
    }
    let mut names = LabelNames::new();
    ["a", "b"].iter().for_each(|name| assert_ne!(names.id(name), 9));
    writer.set_label_names(names).unwrap();
    assert!(reader.refresh().unwrap() && !reader.refresh().unwrap());
    assert_eq!(reader.label_names(), writer.label_names());
    assert!(reader.remove(&[u64::MAX]).is_err(), "it is still a reader, also of nothing to remove");
    assert_eq!(reader.statistics().log_bytes, writer.statistics().log_bytes);
    assert!(!writer.refresh().unwrap(), "a writer has nobody to follow");
    // If the file is gone or is no longer an index, the reader stays as it was.
    let before = reader.ids().unwrap();
    drop(writer);
    std::fs::rename(&path, directory.path().join("elsewhere")).unwrap();
    assert!(reader.refresh().is_err());
    std::fs::write(&path, b"not an index").unwrap();
    assert!(reader.refresh().is_err());
    assert_eq!(reader.ids().unwrap(), before);
}

#[test]
fn a_snapshot_does_not_keep_others_from_writing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.index");
    Index::new(function()).save(&path).unwrap();
    let (mut rng, mut model) = (ChaCha8Rng::seed_from_u64(6), Model::new());
    let mut kept = Vec::new();
    for _ in 0..20 {
        let mut writer = Index::edit(&path).unwrap();
        (0..5).for_each(|_| change(&mut writer, &mut model, &mut rng));
        assert!(matches!(Index::edit(&path), Err(hashbrook::Error::InUse(_))), "one writer");
        kept.push((writer.snapshot(), Arc::new(model.clone())));
    }
    kept.iter().for_each(|moment| check(moment, &mut rng, 2));
    // Nor does a snapshot prevent other processes from replacing the file.
    kept[3].0.save(&path).unwrap();
    assert_eq!(Index::open(&path).unwrap().len(), kept[3].1.len());
}
