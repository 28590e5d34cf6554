//! Costs of a store, compared with redb, an embedded database that could store its items instead.
//!
//! ```text
//! cargo bench --bench store
//! ```
//!
//! Both get the same items in the same batches, alternately, and each batch is durable before the
//! next begins. The store does not learn, but it encodes its items. Then items are read by id in
//! random order, and both are closed and opened. Opening ends when searches could be answered. The
//! database has no codes, so this time includes reading all of its items. Only the store can be
//! searched.
#![allow(missing_docs)]

use std::path::Path;
use std::time::Instant;

use hashbrook::store::{Description, ItemId, Put, Queries, Search, Settings};
use hashbrook::{Features, Method, Store};
use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

const DIM: usize = 128;
const ITEMS: usize = 200_000;
const READS: usize = 20_000;
const SEARCHES: usize = 2_000;

/// Item in the database: vector, label and payload in one value, as in the store's journal.
const TABLE: TableDefinition<u64, &[u8]> = TableDefinition::new("items");

fn main() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let vectors: Vec<f32> = (0..ITEMS * DIM).map(|_| rng.random_range(-1.0..1.0)).collect();
    let order: Vec<usize> = (0..READS).map(|_| rng.random_range(0..ITEMS)).collect();
    for at_once in [1, 100, 10_000] {
        let items = (at_once * 500).min(ITEMS);
        println!("\n== {items} items, {at_once} at a time");
        println!("{:28}{:>12}{:>12}{:>10}", "", "store", "redb", "ratio");
        let directory = tempfile::tempdir().expect("a directory");
        let ours = store(&directory.path().join("store"), &vectors[..items * DIM], at_once, &order);
        let theirs =
            redb(&directory.path().join("items.redb"), &vectors[..items * DIM], at_once, &order);
        let names = [
            "put, microseconds an item",
            "get, microseconds an item",
            "open, milliseconds",
            "bytes an item",
            "search, microseconds a query",
        ];
        for ((name, ours), theirs) in names.into_iter().zip(ours).zip(theirs) {
            match theirs {
                Some(theirs) => {
                    println!("{name:28}{ours:>12.2}{theirs:>12.2}{:>10.2}", theirs / ours);
                }
                None => println!("{name:28}{ours:>12.2}"),
            }
        }
    }
}

/// Returns the microseconds per operation, for `count` operations since `start`.
fn each(start: Instant, count: usize) -> f64 {
    start.elapsed().as_secs_f64() * 1e6 / count as f64
}

fn store(dir: &Path, vectors: &[f32], at_once: usize, order: &[usize]) -> [f64; 5] {
    let items = vectors.len() / DIM;
    let mut settings = Settings::default();
    settings.learn = false;
    let description = Description::new(Method::named("brook").expect("a method"), DIM, 64);
    let store = Store::create(dir, &description, settings.clone()).expect("a store");
    let label = vec!["label".to_owned()];
    let start = Instant::now();
    for first in (0..items).step_by(at_once) {
        let last = (first + at_once).min(items);
        let ids: Vec<ItemId> = (first as u64..last as u64).map(ItemId::Number).collect();
        let features = Features::new(&vectors[first * DIM..last * DIM], DIM).expect("rows");
        let labels = vec![label.clone(); ids.len()];
        let put = Put::new(&ids, features).and_then(|put| put.labels(&labels)).expect("items");
        store.put(put).expect("stored");
    }
    let put = each(start, items);
    let start = Instant::now();
    for &at in order {
        let at = at % items;
        let item = store.get(&ItemId::Number(at as u64)).expect("read").expect("there");
        assert_eq!(item.vector, &vectors[at * DIM..(at + 1) * DIM]);
    }
    let get = each(start, order.len());
    let start = Instant::now();
    for &at in &order[..SEARCHES] {
        let query = &vectors[at % items * DIM..][..DIM];
        let query = Queries::Vectors(Features::new(query, DIM).expect("a row"));
        store.search(query, 10, &Search::default()).expect("searched");
    }
    let search = each(start, SEARCHES);
    store.close().expect("closed");
    let start = Instant::now();
    let store = Store::open(dir, settings).expect("opened");
    assert_eq!(store.stats().items, items);
    let open = each(start, 1000);
    let bytes = store.stats().journal_bytes as f64 / items as f64;
    [put, get, open, bytes, search]
}

fn redb(path: &Path, vectors: &[f32], at_once: usize, order: &[usize]) -> [Option<f64>; 5] {
    let items = vectors.len() / DIM;
    let database = Database::create(path).expect("a database");
    let start = Instant::now();
    for first in (0..items).step_by(at_once) {
        let write = database.begin_write().expect("begun");
        {
            let mut table = write.open_table(TABLE).expect("a table");
            for at in first..(first + at_once).min(items) {
                let mut value = Vec::with_capacity(DIM * 4 + 8);
                vectors[at * DIM..(at + 1) * DIM]
                    .iter()
                    .for_each(|number| value.extend(number.to_le_bytes()));
                value.extend(0u64.to_le_bytes());
                table.insert(at as u64, value.as_slice()).expect("inserted");
            }
        }
        write.commit().expect("durable");
    }
    let put = each(start, items);
    let start = Instant::now();
    for &at in order {
        let at = at % items;
        let read = database.begin_read().expect("begun");
        let table = read.open_table(TABLE).expect("a table");
        let value = table.get(at as u64).expect("read").expect("there");
        let vector: Vec<f32> = value.value()[..DIM * 4]
            .chunks_exact(4)
            .map(|four| f32::from_le_bytes(four.try_into().expect("four bytes")))
            .collect();
        assert_eq!(vector, &vectors[at * DIM..(at + 1) * DIM]);
    }
    let get = each(start, order.len());
    drop(database);
    let start = Instant::now();
    let database = Database::open(path).expect("opened");
    let read = database.begin_read().expect("begun");
    let table = read.open_table(TABLE).expect("a table");
    // The database stores no codes, so all items are read to compute them.
    let mut first = 0.0;
    for entry in table.iter().expect("items") {
        first += f32::from_le_bytes(entry.expect("read").1.value()[..4].try_into().expect("four"));
    }
    std::hint::black_box(first);
    let open = each(start, 1000);
    let bytes = std::fs::metadata(path).expect("a file").len() as f64 / items as f64;
    [Some(put), Some(get), Some(open), Some(bytes), None]
}
