//! Simulated crashes of index files, like those of stores in `store/simulation.rs`. An index on a
//! simulated disk is changed, compacted and crashed at random. After each crash every acknowledged
//! change is present, no change is partly present, and search equals brute force.
//! `HASHBROOK_INDEX_CRASHES` sets the number of crashes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::Index;
use crate::disk::simulated::{Chance, Crash, Disk, Failure, Fault};
use crate::{Codes, Labels, Result, hamming};

/// Codes and labels by id.
type Items = BTreeMap<u64, (u64, u32)>;

#[derive(Clone, Debug)]
enum Change {
    Put(Vec<(u64, u64, u32)>),
    Label(Vec<(u64, u32)>),
    Remove(Vec<u64>),
}

impl Change {
    fn apply(&self, items: &mut Items) {
        match self {
            Change::Put(put) => put.iter().for_each(|&(id, code, label)| {
                items.insert(id, (code, label));
            }),
            Change::Label(labels) => labels.iter().for_each(|(id, label)| {
                if let Some(item) = items.get_mut(id) {
                    item.1 = *label;
                }
            }),
            Change::Remove(ids) => ids.iter().for_each(|id| {
                items.remove(id);
            }),
        }
    }

    fn make(&self, index: &mut Index) -> Result<()> {
        match self {
            Change::Put(put) => {
                let (ids, labels): (Vec<u64>, Vec<u32>) =
                    put.iter().map(|&(id, _, label)| (id, label)).unzip();
                let words = put.iter().map(|&(_, code, _)| code).collect();
                let codes = Codes::from_words(16, words)?;
                index.upsert_codes(&ids, &codes, Some(Labels::single(&labels))).map(drop)
            }
            Change::Label(labels) => {
                let (ids, labels): (Vec<u64>, Vec<u32>) = labels.iter().copied().unzip();
                index.set_labels(&ids, Labels::single(&labels))
            }
            Change::Remove(ids) => index.remove(ids).map(drop),
        }
    }
}

fn path(disk: &Disk) -> PathBuf {
    disk.path("a.index")
}

/// Returns all items of an index. Panics if a search returns other neighbours than brute force.
fn items(index: &Index, seed: u64) -> Items {
    let mut items = Items::new();
    for id in index.ids().unwrap() {
        let item = index.get(id).unwrap().unwrap();
        items.insert(id, (item.code[0], item.labels[0]));
    }
    let query = Chance::new(seed).next() & 0xffff;
    let mut expected: Vec<(u32, u64)> =
        items.iter().map(|(&id, (code, _))| (hamming(&[*code], &[query]), id)).collect();
    expected.sort_unstable();
    expected.truncate(5);
    let hits = index.search_codes(&Codes::from_words(16, vec![query]).unwrap(), 5).unwrap();
    let hits: Vec<(u32, u64)> = hits.row(0).iter().map(|hit| (hit.distance, hit.id)).collect();
    assert_eq!(hits, expected, "seed {seed}");
    items
}

/// Panics unless the index has exactly the acknowledged changes, with or without the change in
/// doubt. Returns the items.
fn check(disk: &Disk, known: &Items, doubt: Option<&Change>, seed: u64) -> Items {
    let index = Index::edit(path(disk)).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    index.verify().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let found = items(&index, seed);
    let mut with = known.clone();
    doubt.inspect(|change| change.apply(&mut with));
    assert!(
        found == *known || found == with,
        "seed {seed}: {found:?}, expected {known:?} and {doubt:?}"
    );
    found
}

fn run(seed: u64) -> u64 {
    let (disk, mut chance) = (Disk::new(seed), Chance::new(seed ^ 0xbeef));
    Index::of_codes(16).unwrap().save(path(&disk)).unwrap();
    let (mut known, mut doubt, mut crashes) = (Items::new(), None, 0);
    for _ in 0..6 {
        known = check(&disk, &known, doubt.take().as_ref(), seed);
        let mut index = Index::edit(path(&disk)).unwrap();
        let mut states = vec![known.clone()];
        let mut changes = Vec::new();
        disk.fork_one_in(2);
        if chance.one_in(2) {
            disk.crash_at(disk.calls() + chance.below(200) as u64);
        }
        for _ in 0..2 + chance.below(15) {
            if chance.one_in(8) {
                let from = disk.calls() + 1 + chance.below(20) as u64;
                let kinds = [Failure::Io, Failure::NoSpace, Failure::Interrupted, Failure::Short];
                let failure = kinds[chance.below(kinds.len())];
                disk.fail(Fault { from, until: from + 1 + chance.below(6) as u64, failure });
            }
            disk.tag(changes.len() as u64);
            if chance.one_in(5) {
                // If compaction fails, the index is unchanged.
                index.compact().ok();
                continue;
            }
            let change = match chance.below(5) {
                0 => Change::Remove((0..3).map(|_| chance.below(20) as u64).collect()),
                1 => {
                    let some = known.keys().filter(|_| chance.one_in(3)).copied();
                    let ids: Vec<u64> = some.collect();
                    Change::Label(ids.into_iter().map(|id| (id, chance.below(5) as u32)).collect())
                }
                _ => {
                    let ids: BTreeMap<u64, ()> =
                        (0..1 + chance.below(4)).map(|_| (chance.below(20) as u64, ())).collect();
                    let item = |id: u64| (id, chance.next() & 0xffff, chance.below(5) as u32);
                    Change::Put(ids.into_keys().map(item).collect())
                }
            };
            changes.push(change.clone());
            if change.make(&mut index).is_err() {
                doubt = Some(change);
                break;
            }
            change.apply(&mut known);
            states.push(known.clone());
        }
        disk.fork_one_in(0);
        drop(index);
        disk.crash(if chance.one_in(3) { Crash::Kill } else { Crash::LoseSome });
        crashes += 1;
        for (fork, ended) in disk.take_forks() {
            crashes += 1;
            check(&fork, &states[ended as usize], changes.get(ended as usize), seed);
            fork.unmount();
        }
    }
    disk.unmount();
    crashes
}

#[test]
fn every_acknowledged_change_of_an_index_survives_every_crash() {
    let wanted = std::env::var("HASHBROOK_INDEX_CRASHES").ok().and_then(|text| text.parse().ok());
    let (mut crashes, mut seed) = (0, 0);
    while crashes < wanted.unwrap_or(2_000) {
        crashes += run(seed);
        seed += 1;
    }
    println!("{crashes} crashes, seeds 0 to {}", seed - 1);
}
