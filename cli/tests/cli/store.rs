//! Collections on disk: verified and repaired.

use hashbrook::store::{Description, ItemId, Put, Settings};
use hashbrook::{Features, Method, Store};

use crate::support::Directory;

fn make(directory: &Directory) {
    let mut description = Description::new(Method::named("lsh").unwrap(), 2, 16);
    description.warmup = Some(4);
    let store = Store::create(directory.file("data"), &description, Settings::default()).unwrap();
    for first in [0, 10, 20] {
        let ids: Vec<ItemId> = (first..first + 10).map(ItemId::Number).collect();
        let vectors: Vec<f32> = (0..20).map(|value| value as f32).collect();
        store.put(Put::new(&ids, Features::new(&vectors, 2).unwrap()).unwrap()).unwrap();
    }
    store.close().unwrap();
}

#[test]
fn a_sound_collection_is_verified() {
    let directory = Directory::new();
    make(&directory);
    assert_eq!(directory.run("store verify data").ok().out.trim(), "data: 30 items, all sound");
    assert_eq!(directory.run("store verify data --json").ok().json()[0]["items"], 30);
    directory.run("store verify nothing").fails_with(&["no store"]);
}

#[test]
fn a_damaged_collection_is_repaired() {
    let directory = Directory::new();
    make(&directory);
    std::fs::remove_file(directory.file("data/current.json")).unwrap();
    directory.run("store verify data").fails_with(&["hashbrook store repair data --to DIR"]);
    let usage = directory.run("store repair data");
    assert_eq!(usage.status, Some(2), "{usage:?}");
    assert!(usage.err.contains("--to"), "{usage:?}");
    let repaired = directory.run("store repair data --to repaired").ok();
    assert!(repaired.out.contains("repaired: 30 items\nrebuilt current.json"), "{}", repaired.out);
    directory.run("store repair data --to repaired").fails_with(&["repaired"]);
    assert!(!directory.file("data/current.json").exists(), "the original is as it was");
    directory.run("store verify repaired").ok();

    let journal = directory.file("repaired/journal/00000000.journal");
    let mut bytes = std::fs::read(&journal).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&journal, bytes).unwrap();
    let outcome = directory.run("store repair repaired --in-place --json");
    assert_eq!(outcome.status, Some(1), "{outcome:?}");
    assert!(outcome.err.contains("1 part of the journal could not be read"), "{outcome:?}");
    let lost = &outcome.json()[0];
    assert_eq!(lost["items"], 29);
    assert_eq!(lost["losses"].as_array().unwrap().len(), 1);
    assert!(directory.file("repaired.damaged").is_dir());
    directory.run("store verify repaired").ok();
}
