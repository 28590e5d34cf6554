//! A store never learns held-out items, so its precision on them is its precision on new items.

use hashbrook::dataset::{Digits, Reader, digits, read_labels};
use hashbrook::store::{
    Description, IdKind, ItemId, MeasuredOn, Put, Quality, Queries, Renewal, Search, Settings,
};
use hashbrook::{Batch, Features, LabelList, LabelNames, Method, Model, Store};

use crate::data;
use crate::worlds::World;

const DIM: usize = Digits::DIM;

/// Number of items that are put first.
const ROWS: usize = 300;

/// Numbers below 300 that are held out if they are used as number ids, or as string ids. These
/// lists may never change, or a store on disk would unlearn items that it never learned.
const NUMBERS: [usize; 11] = [29, 72, 75, 102, 117, 120, 171, 186, 220, 241, 252];
const TEXTS: [usize; 7] = [29, 179, 189, 229, 249, 264, 297];

fn description(ids: IdKind) -> Description {
    let mut method = Method::named("brook").unwrap();
    method.set("anchors", "100").unwrap();
    let mut description = Description::new(method, DIM, 32);
    description.warmup = Some(100);
    description.ids = ids;
    description
}

fn when_told() -> Settings {
    let mut settings = Settings::default();
    settings.renewal = Renewal::Never;
    settings.renewal_share = 1.0;
    settings
}

fn id(kind: IdKind, number: usize) -> ItemId {
    match kind {
        IdKind::Numbers => ItemId::Number(number as u64),
        IdKind::Texts => ItemId::Text(number.to_string()),
    }
}

/// Puts digits into a store under ids and returns the end of the journal.
fn put(store: &Store, items: impl IntoIterator<Item = (usize, usize)>) -> u64 {
    let (digits, kind) = (digits(), store.description().ids);
    let (mut ids, mut values, mut labels) = (Vec::new(), Vec::new(), Vec::new());
    for (number, row) in items {
        ids.push(id(kind, number));
        values.extend_from_slice(&digits.features[row * DIM..(row + 1) * DIM]);
        labels.push(vec![digits.labels[row].to_string()]);
    }
    let put = Put::new(&ids, Features::new(&values, DIM).unwrap()).unwrap();
    store.put(put.labels(&labels).unwrap()).unwrap().position
}

/// Returns a model that learned rows of the digits.
fn taught(description: &Description, rows: &[usize]) -> Model {
    let digits = digits();
    let mut model = description.start().unwrap();
    let (mut values, mut labels) = (Vec::new(), LabelList::new());
    for &row in rows {
        values.extend_from_slice(&digits.features[row * DIM..(row + 1) * DIM]);
        labels.push_set(&[model.label_names_mut().id(&digits.labels[row].to_string())]);
    }
    let features = Features::new(&values, DIM).unwrap();
    model.learn(Batch::new(features, labels.view()).unwrap()).unwrap();
    model
}

fn fingerprint(store: &Store) -> u64 {
    store.wait_learned(u64::MAX).unwrap();
    assert_eq!(store.stats().learning.not_unlearned, 0);
    store.model().unwrap().fingerprint()
}

#[test]
fn held_out_items_are_never_learned_or_unlearned() {
    for (kind, held_out) in [(IdKind::Numbers, &NUMBERS[..]), (IdKind::Texts, &TEXTS[..])] {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let description = description(kind);
        let store = Store::create(at("store"), &description, when_told()).unwrap();
        // The order of arrival and the numbers of string ids do not affect which ids are held out.
        put(&store, (0..40).map(|row| (row, row)));
        put(&store, (40..ROWS).map(|row| (row, row)));
        let others: Vec<usize> = (0..ROWS).filter(|row| !held_out.contains(row)).collect();
        let expected = taught(&description, &others).fingerprint();
        assert_eq!(fingerprint(&store), expected, "{kind:?}");
        assert_eq!(store.stats().learning.rows, others.len() as u64);

        // No change to held-out items changes the model.
        let held_out_id = |at: usize| id(kind, held_out[at]);
        let removed = store.remove(&[held_out_id(0), held_out_id(1)]).unwrap();
        assert_eq!(removed.removed, 2);
        put(&store, [(held_out[2], 1000), (held_out[3], 1001)]);
        store.label(&[held_out_id(4)], &[vec!["7".to_owned()]]).unwrap();
        store.label(&[held_out_id(5)], &[vec![]]).unwrap();
        put(&store, [(held_out[1], 1002)]);
        assert_eq!(fingerprint(&store), expected, "{kind:?}");

        // Changes to other items are learned.
        store.label(&[id(kind, 3)], &[vec!["9".to_owned()]]).unwrap();
        assert_ne!(fingerprint(&store), expected, "{kind:?}");
        store.label(&[id(kind, 3)], &[vec!["3".to_owned()]]).unwrap();
        store.remove(&[id(kind, 5)]).unwrap();
        let changed = fingerprint(&store);
        assert_eq!(store.stats().learning.rows, others.len() as u64 - 1);
        store.renew().unwrap();
        store.compact_to(at("copy")).unwrap();
        store.close().unwrap();

        // Opening, copying and rebuilding a store give the same model.
        let store = Store::open(at("store"), when_told()).unwrap();
        assert_eq!((fingerprint(&store), store.description().held_out), (changed, 50));
        let copy = Store::open(at("copy"), when_told()).unwrap();
        assert_eq!(fingerprint(&copy), changed);
        for store in [&store, &copy] {
            store.remove(&[held_out_id(2), held_out_id(4)]).unwrap();
            assert_eq!(fingerprint(store), changed);
        }
        store.close().unwrap();
        for entry in std::fs::read_dir(at("store")).unwrap().map(Result::unwrap) {
            if entry.path().extension().is_some_and(|end| end == "model") {
                std::fs::remove_file(entry.path()).unwrap();
            }
        }
        let repaired = Store::repair(at("store"), at("repaired")).unwrap();
        assert!(!repaired.rebuilt.is_empty(), "{repaired:?}");
        let repaired = Store::open(at("repaired"), when_told()).unwrap();
        assert_eq!(fingerprint(&repaired), changed, "{kind:?}");
    }
}

/// Before the warm-up ends, removing an item makes the model start over from the journal.
#[test]
fn a_model_that_starts_over_learns_no_held_out_items() {
    let directory = tempfile::tempdir().unwrap();
    let description = description(IdKind::Numbers);
    let store = Store::create(directory.path().join("store"), &description, when_told()).unwrap();
    put(&store, (0..90).map(|row| (row, row)));
    store.wait_learned(u64::MAX).unwrap();
    assert_eq!((store.stats().learning.rows, store.stats().learning.warm), (87, false));
    store.remove(&[id(IdKind::Numbers, 29), id(IdKind::Numbers, 3)]).unwrap();
    store.wait_learned(u64::MAX).unwrap();
    assert_eq!(store.stats().learning.rows, 86);
    put(&store, (90..ROWS).map(|row| (row, row)));
    let rows = (0..ROWS).filter(|row| *row != 3 && !NUMBERS.contains(row));
    let expected = taught(&description, &rows.collect::<Vec<_>>());
    fingerprint(&store);
    let (one, other) = (store.model().unwrap().hash_function(), expected.hash_function());
    assert_eq!(one.parts().weights, other.parts().weights);
    assert_eq!(store.model().unwrap().seen(), expected.seen());
}

#[test]
fn a_share_of_zero_learns_everything() {
    let directory = tempfile::tempdir().unwrap();
    let mut description = description(IdKind::Numbers);
    assert_eq!(description.held_out, 50);
    description.held_out = 1;
    let dir = directory.path().join("store");
    let error = Store::create(&dir, &description, when_told()).unwrap_err();
    assert!(error.to_string().contains("held_out must be 0, or 2 or more, not 1"), "{error}");
    description.held_out = 0;
    let store = Store::create(&dir, &description, when_told()).unwrap();
    put(&store, (0..ROWS).map(|row| (row, row)));
    let all: Vec<usize> = (0..ROWS).collect();
    assert_eq!(fingerprint(&store), taught(&description, &all).fingerprint());
    store.renew().unwrap();
    let quality = store.stats().quality;
    assert_eq!((quality.measured_on, quality.held_out_items), (Some(MeasuredOn::Learned), 0));
}

/// Rows with one label each.
struct Rows {
    values: Vec<f32>,
    labels: Vec<String>,
    dim: usize,
}

/// Maximum number of new rows used as queries; all of Tiny-ImageNet would take minutes.
const NEW: usize = 5000;

/// Returns rows of 202 classes: 8,000 to store, and new ones.
fn many_classes() -> (Rows, Rows) {
    let files = data::files_or_skip("tinyimagenet-cnn", ["features.npy", "labels.npy"]);
    let (values, labels, dim) = match files {
        Some([features, labels]) => {
            let mut reader = Reader::open(&features).unwrap();
            let dim = reader.dim();
            let values = reader.next(usize::MAX).unwrap().unwrap().values().to_vec();
            let mut names = LabelNames::new();
            let labels = read_labels(&labels, &mut names).unwrap();
            let name = |labels: &[u32]| names.name(labels[0]).unwrap().to_owned();
            (values, labels.view().iter().map(name).collect::<Vec<_>>(), dim)
        }
        None => {
            let mut world = World::new(64, 202);
            world.noise = 1.1;
            let (stream, _) = world.draw(10_000, 1);
            let names = stream.labels.iter().map(|labels| labels[0].to_string());
            (stream.values, names.collect(), stream.dim)
        }
    };
    // Rows are shuffled, so that the order of the file does not matter.
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by_key(|&row| (row as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let part = |rows: &[usize]| Rows {
        values: rows.iter().flat_map(|row| &values[row * dim..(row + 1) * dim]).copied().collect(),
        labels: rows.iter().map(|&row| labels[row].clone()).collect(),
        dim,
    };
    (part(&order[..8000]), part(&order[8000..order.len().min(NEW + 8000)]))
}

/// Stores rows, learns them, and returns the measured quality and the precision at 10 of new rows.
fn measured(stored: &Rows, new: &Rows, held_out: u32) -> (Quality, f64) {
    let directory = tempfile::tempdir().unwrap();
    let mut description = Description::new(Method::named("brook").unwrap(), stored.dim, 64);
    description.held_out = held_out;
    let store = Store::create(directory.path().join("store"), &description, when_told()).unwrap();
    let ids: Vec<ItemId> = (0..stored.labels.len() as u64).map(ItemId::Number).collect();
    let labels: Vec<Vec<String>> = stored.labels.iter().map(|label| vec![label.clone()]).collect();
    let put = Put::new(&ids, Features::new(&stored.values, stored.dim).unwrap()).unwrap();
    let position = store.put(put.labels(&labels).unwrap()).unwrap().position;
    store.wait_learned(position).unwrap();
    store.renew().unwrap();
    let queries = Queries::Vectors(Features::new(&new.values, new.dim).unwrap());
    let found = store.search(queries, 10, &Search::default()).unwrap();
    let hits = found.results.iter().zip(&new.labels);
    let right = |(hits, label): (&Vec<hashbrook::store::Found>, &String)| {
        hits.iter().filter(|hit| hit.labels[0] == *label).count()
    };
    let right: usize = hits.map(right).sum();
    (store.stats().quality, right as f64 / (10 * new.labels.len()) as f64)
}

#[test]
fn measured_precision_is_that_of_new_rows() {
    let (stored, new) = many_classes();
    let (quality, of_new) = measured(&stored, &new, 50);
    println!("{quality:?}, {of_new} on {} new rows", new.labels.len());
    assert_eq!(quality.measured_on, Some(MeasuredOn::HeldOut));
    // Of 8,000 items, 153 have held-out ids.
    assert_eq!((quality.queries, quality.held_out_items), (153, 153));
    let precision = quality.precision_at_10.unwrap();
    assert!((precision - of_new).abs() < 0.06, "{precision} measured, {of_new} of new rows");
    let per_class = quality.precision_at_10_per_class.unwrap();
    assert!((per_class - of_new).abs() < 0.1, "{per_class} measured, {of_new} of new rows");

    // The precision of learned items is far higher.
    let (quality, of_new) = measured(&stored, &new, 0);
    println!("{quality:?}, {of_new}");
    assert_eq!((quality.measured_on, quality.held_out_items), (Some(MeasuredOn::Learned), 0));
    let precision = quality.precision_at_10.unwrap();
    assert!(precision - of_new > 0.1, "{precision} measured, {of_new} of new rows");
}
