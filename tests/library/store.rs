//! The durable collection, tested through its public API.

use std::collections::BTreeMap;
use std::path::Path;

use hashbrook::dataset::{Digits, digits};
use hashbrook::store::{
    Description, IdKind, ItemId, Put, Queries, Renewal, Search, Settings, VectorPrecision,
};
use hashbrook::{Batch, ErrorKind, Features, LabelList, Method, Model, Store, hamming};

const DIM: usize = Digits::DIM;

/// Describes a store that learns after few rows.
fn description(method: &str, bits: usize) -> Description {
    let mut method = Method::named(method).unwrap();
    if method.name() == "brook" {
        method.set("anchors", "100").unwrap();
    }
    let mut description = Description::new(method, DIM, bits);
    description.warmup = Some(100);
    description.batch = 50;
    // Nothing is held out, because models are compared with those that learned all rows.
    description.held_out = 0;
    description
}

fn when_told() -> Settings {
    let mut settings = Settings::default();
    settings.renewal = Renewal::Never;
    settings.renewal_share = 1.0;
    settings
}

fn names(labels: &[u32]) -> Vec<Vec<String>> {
    labels.iter().map(|label| vec![label.to_string()]).collect()
}

fn numbers(ids: impl IntoIterator<Item = u64>) -> Vec<ItemId> {
    ids.into_iter().map(ItemId::Number).collect()
}

/// Puts rows of the digits into a store and returns the journal position after them.
fn put_rows(store: &Store, digits: &Digits, rows: std::ops::Range<usize>) -> u64 {
    let ids = numbers(rows.clone().map(|row| row as u64));
    let labels = names(&digits.labels[rows.clone()]);
    let values = &digits.features[rows.start * DIM..rows.end * DIM];
    let put = Put::new(&ids, Features::new(values, DIM).unwrap()).unwrap().labels(&labels).unwrap();
    store.put(put).unwrap().position
}

/// Returns a model that learned rows in the same way as a store.
fn taught(description: &Description, digits: &Digits, rows: &[usize], batch: usize) -> Model {
    let mut model = description.start().unwrap();
    for rows in rows.chunks(batch) {
        let mut values = Vec::new();
        let mut labels = LabelList::new();
        for &row in rows {
            values.extend_from_slice(&digits.features[row * DIM..(row + 1) * DIM]);
            labels.push_set(&[model.label_names_mut().id(&digits.labels[row].to_string())]);
        }
        model
            .learn(Batch::new(Features::new(&values, DIM).unwrap(), labels.view()).unwrap())
            .unwrap();
    }
    model
}

/// Searches with a loop over all items.
fn by_loop(
    store: &Store,
    vectors: &BTreeMap<u64, Vec<f32>>,
    query: &[f32],
    k: usize,
) -> Vec<(u64, u32)> {
    let reader = store.reader();
    let function = reader.index().function().unwrap();
    let code = function.encode_one(query).unwrap();
    let distance = |vector: &Vec<f32>| hamming(&function.encode_one(vector).unwrap(), &code);
    let mut found: Vec<(u32, u64)> = vectors.iter().map(|(&id, v)| (distance(v), id)).collect();
    found.sort_unstable();
    found.into_iter().take(k).map(|(distance, id)| (id, distance)).collect()
}

fn found(store: &Store, query: &[f32], k: usize) -> Vec<(u64, u32)> {
    let query = Queries::Vectors(Features::new(query, DIM).unwrap());
    let answer = store.search(query, k, &Search::default()).unwrap();
    let hit = |hit: &hashbrook::store::Found| match hit.id {
        ItemId::Number(number) => (number, hit.distance),
        ItemId::Text(_) => panic!("ids are numbers here"),
    };
    answer.results[0].iter().map(hit).collect()
}

#[test]
fn items_are_found_learned_and_renewed_and_there_when_opened_again() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().join("store");
    let digits = digits();
    for (method, precision) in [
        ("brook", VectorPrecision::F32),
        ("bsodh", VectorPrecision::F32),
        ("brook", VectorPrecision::F16),
    ] {
        let _ = std::fs::remove_dir_all(&directory);
        let mut description = description(method, 32);
        description.precision = precision;
        let store = Store::create(&directory, &description, when_told()).unwrap();
        let mut vectors = BTreeMap::new();
        for start in (0..600).step_by(37) {
            let rows = start..(start + 37).min(600);
            put_rows(&store, &digits, rows.clone());
            for row in rows {
                vectors.insert(row as u64, digits.features[row * DIM..(row + 1) * DIM].to_vec());
            }
        }
        let position = put_rows(&store, &digits, 600..601);
        vectors.insert(600, digits.features[600 * DIM..601 * DIM].to_vec());
        let query = &digits.features[700 * DIM..701 * DIM];
        assert_eq!(found(&store, query, 20), by_loop(&store, &vectors, query, 20));
        store.wait_learned(position).unwrap();
        assert_eq!(store.renew().unwrap(), 2);
        assert_eq!(found(&store, query, 20), by_loop(&store, &vectors, query, 20));
        let all: Vec<usize> = (0..601).collect();
        let whole = if method == "bsodh" { &all[..600] } else { &all[..] };
        let expected = taught(&description, &digits, whole, 50);
        assert_eq!(store.model().unwrap().fingerprint(), expected.fingerprint(), "{method}");
        assert!(store.stats().learning.problem.is_none());
        store.verify().unwrap();
        let before = found(&store, query, 601);
        store.close().unwrap();

        let store = Store::open(&directory, when_told()).unwrap();
        assert_eq!(found(&store, query, 601), before);
        assert_eq!(store.stats().version, 2);
        assert_eq!(
            store.model().unwrap().fingerprint(),
            expected.fingerprint(),
            "{method}, opened again"
        );
        let item = store.get(&ItemId::Number(5)).unwrap().unwrap();
        assert_eq!((item.vector, item.version), (digits.features[5 * DIM..6 * DIM].to_vec(), 2));
        assert_eq!(item.labels, [digits.labels[5].to_string()]);
        // Learning resumes where it stopped.
        let position = put_rows(&store, &digits, 601..700);
        store.wait_learned(position).unwrap();
        let all: Vec<usize> = (0..700).collect();
        let whole = if method == "bsodh" { &all[..700] } else { &all[..] };
        let expected = taught(&description, &digits, whole, 50);
        assert_eq!(
            store.model().unwrap().fingerprint(),
            expected.fingerprint(),
            "{method}, gone on"
        );
        store.verify().unwrap();
    }
}

#[test]
fn what_is_removed_replaced_or_labelled_later_is_unlearned() {
    let directory = tempfile::tempdir().unwrap();
    let digits = digits();
    let description = description("brook", 32);
    for (name, early) in [("late", false), ("early", true)] {
        let store = Store::create(directory.path().join(name), &description, when_told()).unwrap();
        // 60 rows do not complete the warm-up, so nothing is fixed yet; 400 rows complete it.
        let rows = if early { 60 } else { 400 };
        put_rows(&store, &digits, 0..rows);
        let removed = store.remove(&numbers([3, 5, 7, 999_999])).unwrap();
        assert_eq!((removed.removed, removed.unlearned), (3, true));
        // One item is put without labels and labelled later; the wrong label of another is
        // corrected.
        let (ids, values) = (numbers([500, 501]), &digits.features[500 * DIM..502 * DIM]);
        let wrong = vec![vec![], vec!["no digit".to_owned()]];
        let put =
            Put::new(&ids, Features::new(values, DIM).unwrap()).unwrap().labels(&wrong).unwrap();
        store.put(put).unwrap();
        let right = names(&digits.labels[500..502]);
        let labelled = store.label(&ids, &right).unwrap();
        assert_eq!((labelled.items, labelled.replaced, labelled.unlearned), (2, 2, true));
        store.wait_learned(labelled.position).unwrap();

        let mut model = description.start().unwrap();
        model.label_names_mut();
        let learned: Vec<usize> =
            (0..rows).filter(|row| ![3, 5, 7].contains(row)).chain(500..502).collect();
        let expected = match early {
            true => taught(&description, &digits, &learned, learned.len()),
            // The warm-up used also the rows removed later, and its results stay fixed.
            false => {
                let mut model = taught(&description, &digits, &(0..rows).collect::<Vec<_>>(), rows);
                let gone =
                    [3, 5, 7].map(|row| &digits.features[row * DIM..(row + 1) * DIM]).concat();
                let mut with =
                    |row: usize| model.label_names_mut().id(&digits.labels[row].to_string());
                let labels = [with(3), with(5), with(7)];
                let batch = Batch::new(
                    Features::new(&gone, DIM).unwrap(),
                    hashbrook::Labels::single(&labels),
                );
                model.unlearn(batch.unwrap()).unwrap();
                let labels = digits.labels[500..502]
                    .iter()
                    .map(|l| model.label_names_mut().id(&l.to_string()));
                let labels: Vec<u32> = labels.collect();
                let batch = Batch::new(
                    Features::new(values, DIM).unwrap(),
                    hashbrook::Labels::single(&labels),
                );
                model.learn(batch.unwrap()).unwrap();
                model
            }
        };
        assert_eq!(store.model().unwrap().seen(), expected.seen(), "{name}");
        let (one, other) = (store.model().unwrap().hash_function(), expected.hash_function());
        assert_eq!(one.parts().weights, other.parts().weights, "{name}");
        assert_eq!(store.stats().learning.not_unlearned, 0);
        assert_eq!(store.get(&ItemId::Number(501)).unwrap().unwrap().labels, right[1]);
        assert!(store.get(&ItemId::Number(5)).unwrap().is_none());
        store.renew().unwrap();
        store.verify().unwrap();
    }
}

#[test]
fn ids_may_be_texts_and_items_have_payloads() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().join("store");
    let digits = digits();
    let mut description = description("brook", 16);
    description.ids = IdKind::Texts;
    let store = Store::create(&directory, &description, when_told()).unwrap();
    let ids: Vec<ItemId> = (0..150).map(|row| ItemId::Text(format!("digit-{row}.png"))).collect();
    let payloads: Vec<Vec<u8>> = (0..150).map(|row| vec![row as u8; row % 7]).collect();
    let labels = names(&digits.labels[..150]);
    let features = Features::new(&digits.features[..150 * DIM], DIM).unwrap();
    let put = Put::new(&ids, features).unwrap().labels(&labels).unwrap();
    store.put(put.payloads(&payloads).unwrap()).unwrap();
    store.remove(&["digit-3.png".into()]).unwrap();
    store.renew().unwrap();
    let check = |store: &Store| {
        let item = store.get(&"digit-20.png".into()).unwrap().unwrap();
        assert_eq!((item.payload, item.id), (vec![20; 6], "digit-20.png".into()));
        let queries = Queries::Items(&ids[20..21]);
        let mut search = Search::default();
        search.rerank = Some(50);
        let answer = store.search(queries, 3, &search).unwrap();
        assert_eq!(answer.results[0][0].id, ids[20]);
        assert!(answer.results[0][0].score.unwrap() > 0.9999);
        assert!(store.get(&"digit-3.png".into()).unwrap().is_none());
        assert!(store.get(&"digit-4.png".into()).unwrap().is_some());
        let pages = store.reader().ids(Some(&ids[10]), 5).unwrap();
        assert_eq!(pages, ids[11..16]);
    };
    check(&store);
    store.close().unwrap();
    let store = Store::open(&directory, when_told()).unwrap();
    check(&store);
    let error = store.remove(&[7.into()]).unwrap_err();
    assert!(error.to_string().contains("texts"), "{error}");
}

#[test]
fn what_is_wrong_is_said_and_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().join("store");
    let missing = Store::open(&directory, when_told()).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound, "{missing}");
    let description = description("brook", 16);
    for share in [f64::NAN, 0.0, -1.0, 1.5] {
        let mut settings = when_told();
        settings.renewal_share = share;
        let error = Store::open(&directory, settings).unwrap_err();
        assert!(error.to_string().contains("renewal_share"), "{error}");
    }
    let store = Store::create(&directory, &description, when_told()).unwrap();
    let twice = Store::open(&directory, when_told()).unwrap_err();
    assert_eq!(twice.kind(), ErrorKind::Busy, "{twice}");
    let again = Store::create(&directory, &description, when_told()).unwrap_err();
    assert!(again.to_string().contains("something in it"), "{again}");

    let features = Features::new(&[0.5; 2 * DIM], DIM).unwrap();
    let put = |ids: &[ItemId]| store.put(Put::new(ids, features).unwrap()).map(drop).unwrap_err();
    for (ids, text) in
        [(numbers([1, 1]), "more than once"), (vec![1.into(), "a".into()], "numbers")]
    {
        let error = put(&ids);
        assert!(error.to_string().contains(text), "{error}");
    }
    let short = Features::new(&[0.5; 4], 4).unwrap();
    let error = store.put(Put::new(&numbers([1]), short).unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadInput, "{error}");
    let error = store.label(&numbers([1]), &[vec![]]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert_eq!(store.stats().items, 0);
    assert!(store.search(Queries::Vectors(short), 1, &Search::default()).is_err());
    assert!(store.search(Queries::Items(&numbers([9])), 1, &Search::default()).is_err());
    store.put(Put::new(&numbers([1, 2]), features).unwrap()).unwrap();
    let mut few = Search::default();
    few.most = Some(1);
    let one = Features::new(&[0.5; DIM], DIM).unwrap();
    let error = store.within(Queries::Vectors(one), 16, &few).unwrap_err();
    assert!(error.to_string().contains("2 items"), "{error}");
    few.most = Some(2);
    assert_eq!(store.within(Queries::Vectors(one), 16, &few).unwrap().results[0].len(), 2);
    let code = hashbrook::Codes::from_bytes(16, &[0, 0]).unwrap();
    few.rerank = Some(10);
    let error = store.search(Queries::Codes(&code), 1, &few).unwrap_err();
    assert!(error.to_string().contains("vectors or items"), "{error}");
}

/// Files left by a process killed while creating a store do not prevent the next `create`. `create`
/// never deletes any other file.
#[test]
fn what_is_left_of_a_store_in_the_making_is_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let whole = directory.path().join("whole");
    Store::create(&whole, &description("brook", 16), when_told()).unwrap().close().unwrap();
    let derived = std::fs::read_dir(&whole).unwrap();
    let mut derived: Vec<String> =
        derived.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    derived.retain(|name| name.ends_with(".index") || name.ends_with(".model"));
    derived.sort();
    assert_eq!(derived.len(), 2);
    let journal = ["journal/00000000.journal", "journal/end", "journal/store.json"];
    let mut names: Vec<&str> = journal.to_vec();
    names.extend(derived.iter().map(String::as_str).chain(["current.json"]));
    let to = directory.path().join("cut");
    for count in 0..=names.len() {
        let _ = std::fs::remove_dir_all(&to);
        std::fs::create_dir_all(to.join("journal")).unwrap();
        for name in &names[..count] {
            std::fs::copy(whole.join(name), to.join(name)).unwrap();
        }
        std::fs::write(to.join(".3.index.abcdefgh.hashbrook.part"), "begun").unwrap();
        assert!(!Store::exists(&to));
        Store::check_free(&to).unwrap();
        let store = Store::create(&to, &description("brook", 16), when_told()).unwrap();
        put_rows(&store, &digits(), 0..10);
        store.close().unwrap();
        assert!(!to.join(".3.index.abcdefgh.hashbrook.part").exists());
    }
    // A store with items that lost its description, and an unrelated directory.
    std::fs::remove_file(to.join("store.json")).unwrap();
    let other = directory.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("1.model"), "a model").unwrap();
    for directory in [&to, &other] {
        let error = Store::create(directory, &description("brook", 16), when_told()).unwrap_err();
        assert!(matches!(error, hashbrook::Error::NotEmpty(_)), "{error}");
    }
    assert_eq!(std::fs::read(other.join("1.model")).unwrap(), b"a model");
    assert!(to.join("journal/00000000.journal").exists());
}

/// Flips bytes of every file of a store: opening the store or `verify` reports the damage.
#[test]
fn flipped_bytes_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let whole = directory.path().join("whole");
    let digits = digits();
    let store = Store::create(&whole, &description("brook", 16), when_told()).unwrap();
    put_rows(&store, &digits, 0..120);
    store.renew().unwrap();
    put_rows(&store, &digits, 120..140);
    store.close().unwrap();
    let copy = directory.path().join("copy");
    let mut files = Vec::new();
    for (directory, entry) in [(".", &whole), ("journal", &whole.join("journal"))] {
        for entry in std::fs::read_dir(entry).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_file() {
                files.push(Path::new(directory).join(entry.file_name()));
            }
        }
    }
    let mut noticed = 0;
    for file in &files {
        let bytes = std::fs::read(whole.join(file)).unwrap();
        for part in 0..8 {
            let at = bytes.len() * part / 8;
            if at >= bytes.len() {
                continue;
            }
            let _ = std::fs::remove_dir_all(&copy);
            std::fs::create_dir_all(copy.join("journal")).unwrap();
            for file in &files {
                std::fs::copy(whole.join(file), copy.join(file)).unwrap();
            }
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            std::fs::write(copy.join(file), &damaged).unwrap();
            let told = Store::open(&copy, when_told()).and_then(|store| {
                store.verify()?;
                Ok(store.stats().items)
            });
            match told {
                Err(_) => noticed += 1,
                // Some bytes are never read: the lock, the padding between sections, the older of
                // two notes.
                Ok(items) => assert_eq!(items, 140, "{} at {at}", file.display()),
            }
        }
    }
    assert!(noticed > 20, "{noticed}");
}

#[test]
fn a_copy_is_a_store() {
    let directory = tempfile::tempdir().unwrap();
    let digits = digits();
    let store = Store::create(directory.path().join("one"), &description("brook", 16), when_told())
        .unwrap();
    put_rows(&store, &digits, 0..130);
    let to = directory.path().join("copy");
    store.snapshot(&to).unwrap();
    let position = put_rows(&store, &digits, 130..150);
    store.wait_learned(position).unwrap();
    assert!(store.snapshot(&to).is_err());
    let copy = Store::open(&to, when_told()).unwrap();
    assert_eq!((copy.stats().items, store.stats().items), (130, 150));
    let position = put_rows(&copy, &digits, 130..150);
    copy.wait_learned(position).unwrap();
    assert_eq!(copy.model().unwrap().fingerprint(), store.model().unwrap().fingerprint());
    copy.verify().unwrap();
    let left: Vec<_> =
        std::fs::read_dir(directory.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

/// Returns everything that can be read from a store, as strings.
fn all_of(store: &Store) -> Vec<String> {
    let reader = store.reader();
    let ids = reader.index().ids().unwrap();
    let items = ids.iter().map(|&id| {
        let item = reader.get(&ItemId::Number(id)).unwrap().unwrap();
        format!("{item:?}")
    });
    items.collect()
}

#[test]
fn a_compact_copy_has_all_that_is_there_and_learns_on_alike() {
    let directory = tempfile::tempdir().unwrap();
    let digits = digits();
    for (method, learns) in [("brook", true), ("brook", false), ("bsodh", true), ("itq", true)] {
        let at = |name: &str| directory.path().join(format!("{name}-{method}-{learns}"));
        let mut settings = when_told();
        settings.learn = learns;
        let store = Store::create(at("one"), &description(method, 16), settings.clone()).unwrap();
        put_rows(&store, &digits, 0..180);
        put_rows(&store, &digits, 20..90);
        store.remove(&numbers(0..10)).unwrap();
        let position = put_rows(&store, &digits, 180..205);
        if learns {
            store.wait_learned(position).unwrap();
        }
        // These changes may not be learned yet when the copy is made.
        store.remove(&numbers(10..15)).unwrap();
        store.label(&numbers([100]), &[vec!["eleven".to_owned()]]).unwrap();
        store.compact_to(at("copy")).unwrap();
        assert!(store.compact_to(at("copy")).is_err(), "it is there");

        let (before, items) = (store.stats(), all_of(&store));
        drop(store);
        let [store, copy] = ["one", "copy"].map(|name| Store::open(at(name), when_told()).unwrap());
        copy.verify().unwrap();
        // The copy never reaches this position, but `wait_learned` returns.
        copy.wait_learned(u64::MAX).unwrap();
        assert_eq!(all_of(&copy), items, "{method}");
        let after = copy.stats();
        assert_eq!((after.items, after.version), (before.items, before.version));
        if learns {
            assert!(after.dead_bytes * 2 < before.dead_bytes, "{after:?} {before:?}");
        }
        // The copy learns later items and unlearns removed ones exactly as the original does.
        let models = [store, copy].map(|store| {
            store.remove(&numbers(30..40)).unwrap();
            let position = put_rows(&store, &digits, 200..300);
            store.wait_learned(position).unwrap();
            store.renew().unwrap();
            store.verify().unwrap();
            (store.model().unwrap().fingerprint(), all_of(&store))
        });
        assert_eq!(models[0], models[1], "{method}");
    }
}

#[test]
fn a_compact_copy_keeps_ids_that_are_texts() {
    let directory = tempfile::tempdir().unwrap();
    let digits = digits();
    let mut description = description("brook", 16);
    description.ids = IdKind::Texts;
    let store = Store::create(directory.path().join("one"), &description, when_told()).unwrap();
    let ids: Vec<ItemId> = (0..120).map(|id| ItemId::Text(format!("digit {id}"))).collect();
    let put = |store: &Store, rows: std::ops::Range<usize>| {
        let features =
            Features::new(&digits.features[rows.start * DIM..rows.end * DIM], DIM).unwrap();
        store.put(Put::new(&ids[rows], features).unwrap()).unwrap();
    };
    put(&store, 0..100);
    store.remove(&ids[..50]).unwrap();
    store.compact_to(directory.path().join("copy")).unwrap();
    let copy = Store::open(directory.path().join("copy"), when_told()).unwrap();
    assert_eq!(copy.stats().items, 50);
    assert_eq!(copy.get(&ids[3]).unwrap(), None);
    put(&copy, 40..120);
    for (row, id) in ids.iter().enumerate().skip(40) {
        let item = copy.get(id).unwrap().unwrap();
        assert_eq!(item.vector, digits.features[row * DIM..(row + 1) * DIM]);
    }
    copy.verify().unwrap();
}
