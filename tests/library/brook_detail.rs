//! brook's detail bits, rows without labels, and streams whose classes arrive one after the other.

use hashbrook::dataset::{Digits, digits};
use hashbrook::eval::{Items, neighbours};
use hashbrook::{Batch, Center, Codes, Features, HashFunction, Index, Labels, Model};

use crate::brook::{AsBatch, Rows, assert_same, blobs, brook, learned, map};
use crate::streams::setup_with;

fn all_digits() -> Rows {
    let digits = digits();
    let features = Features::new(&digits.features, Digits::DIM).unwrap();
    let batch = Batch::new(features, Labels::single(&digits.labels)).unwrap();
    Rows::select(batch, &(0..batch.len()).collect::<Vec<_>>())
}

fn function_of(parameters: &[(&str, &str)], rows: Batch<'_>) -> HashFunction {
    let setup = setup_with(|setup| {
        setup.center = Center::First;
        setup.warmup = Some(600);
    });
    let method = brook(parameters);
    let model = method.start_with(rows.features().dim(), 64, 1, setup).unwrap();
    learned(model, [rows]).hash_function()
}

/// Returns the share of the ten nearest neighbours by vector that are among the first fifty by
/// code.
fn kept(function: &HashFunction, database: Batch<'_>, queries: Batch<'_>) -> f64 {
    let prepared = |batch: Batch<'_>| -> (Codes, Vec<f32>) {
        let features = batch.features();
        (function.encode(features).unwrap(), function.prepared(features).unwrap())
    };
    let ((codes, vectors), (query_codes, query_vectors)) = (prepared(database), prepared(queries));
    let dim = function.dim();
    let all = Items::new(&codes, Features::new(&vectors, dim).unwrap(), database.labels().unwrap());
    let asked = Items::new(
        &query_codes,
        Features::new(&query_vectors, dim).unwrap(),
        queries.labels().unwrap(),
    );
    neighbours(asked.unwrap(), all.unwrap(), &[50]).unwrap().kept[0].1
}

#[test]
fn detail_bits_keep_neighbours_and_label_bits_come_first() {
    let rows = all_digits();
    let (stream, queries) = (rows.as_batch().slice(0..1500), rows.as_batch().slice(1500..1797));
    let anchors = ("anchors", "300");
    for lift in [("lift", "none"), ("precision", "full"), ("precision", "compact")] {
        let of = |detail: &str| function_of(&[anchors, lift, ("detail", detail)], stream);
        let (none, auto, half) = (of("0"), of("auto"), of("0.5"));
        assert_eq!([none.label_bits(), auto.label_bits(), half.label_bits()], [64, 48, 32]);
        let found = [&none, &auto, &half].map(|function| kept(function, stream, queries));
        assert!(found[0] + 0.1 < found[1] && found[1] < found[2], "{lift:?}: {found:?}");
        let found = [&none, &auto, &half].map(|function| map(function, stream, queries));
        assert!(found[1] > found[0] - 0.03 && found[2] > found[0] - 0.1, "{lift:?}: {found:?}");
        // The label bits equal the bits of a function that has only label bits.
        let (codes, labels) = (half.encode(queries.features()), half.parts().label_bits);
        let codes = codes.unwrap();
        for bit in [labels, 63] {
            let ones = (0..codes.len()).filter(|&row| codes.bit(row, bit)).count();
            let balanced = codes.len() / 8..codes.len() * 7 / 8;
            assert!(balanced.contains(&ones), "{lift:?}: detail bit {bit} is set {ones} times");
        }
    }
}

#[test]
fn which_bits_are_which_is_kept_with_functions_and_indexes() {
    let rows = all_digits();
    let function = function_of(&[("anchors", "100")], rows.as_batch());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("digits.function");
    function.save(&path).unwrap();
    let loaded = HashFunction::load(&path).unwrap();
    assert_eq!(loaded.parts(), function.parts());
    let mut index = Index::new(function.clone());
    let ids: Vec<u64> = (0..100).collect();
    index.add(&ids, rows.as_batch().features().slice(0..100), None).unwrap();
    let path = directory.path().join("digits.index");
    index.save(&path).unwrap();
    let index = Index::open(&path).unwrap();
    assert_eq!(index.function().map(HashFunction::label_bits), Some(48));
}

/// If the first rows have no labels, they still determine the centre, the anchors and the
/// directions. Only what labels would add is missing.
#[test]
fn first_rows_without_labels_teach_the_centre_the_anchors_and_the_directions() {
    let rows = all_digits();
    let batch = rows.as_batch();
    let bare = |model: &mut Model, rows: std::ops::Range<usize>| {
        let ends = vec![0; rows.len()];
        let labels = Labels::sets(&ends, &[]).unwrap();
        model.learn(Batch::new(batch.features().slice(rows), labels).unwrap()).unwrap();
    };
    let setup = setup_with(|setup| {
        setup.center = Center::First;
        setup.warmup = Some(600);
    });
    let start = || brook(&[("anchors", "200")]).start_with(64, 64, 1, setup.clone()).unwrap();
    let (mut with, mut without) = (start(), start());
    bare(&mut without, 0..600);
    without.learn(batch.slice(600..1797)).unwrap();
    with.learn(batch).unwrap();
    with.unlearn(batch.slice(0..600)).unwrap();
    assert_same(&with, &without);
    let (stream, queries) = (batch.slice(600..1500), batch.slice(1500..1797));
    assert!(map(&without.hash_function(), stream, queries) > 0.9);
}

/// Returns six classes, two at a time, in blocks of 2048 rows.
fn unmixed() -> Rows {
    let mixed = blobs(&[1500; 6], 8, 0.6, 23);
    let batch = mixed.as_batch();
    let label = |row: usize| batch.labels().unwrap().row(row)[0];
    let mut order: Vec<usize> = (0..batch.len()).collect();
    order.sort_by_key(|&row| (label(row) / 2, row));
    Rows::select(batch, &order)
}

fn start(parameters: &[(&str, &str)]) -> Model {
    let setup = setup_with(|setup| setup.warmup = Some(40));
    let mut method = brook(parameters);
    method.set("anchors", "40").unwrap();
    method.start_with(8, 32, 1, setup).unwrap()
}

fn anchors(model: &Model) -> usize {
    model.hash_function().parts().lifted_dim()
}

#[test]
fn anchors_follow_a_stream_that_is_not_mixed() {
    let rows = unmixed();
    let batch = rows.as_batch();
    for precision in ["full", "compact"] {
        let start = |follow| start(&[("precision", precision), ("follow", follow)]);
        let (follows, stays) = (learned(start("true"), [batch]), learned(start("false"), [batch]));
        assert_eq!(anchors(&stays), 40);
        assert!(anchors(&follows) > 40, "{}", anchors(&follows));
        let quality = |model: &Model| {
            let queries: Vec<usize> = (0..batch.len()).step_by(40).collect();
            map(&model.hash_function(), batch, Rows::select(batch, &queries).as_batch())
        };
        let (with, without) = (quality(&follows), quality(&stays));
        assert!(with > without, "{precision}: {with:.3} for {without:.3}");
        // Neither the batch size nor saving the model affects the result.
        let mut cut = start("true");
        for at in (0..batch.len()).step_by(700) {
            cut.learn(batch.slice(at..batch.len().min(at + 700))).unwrap();
            cut = Model::from_bytes(&cut.to_bytes(), "memory").unwrap();
        }
        assert_eq!(anchors(&cut), anchors(&follows), "{precision}");
        assert!(cut.hash_function().parts() == follows.hash_function().parts(), "{precision}");
        // Rows that arrived after the last new anchor are unlearned to the last bit.
        let mut more = follows.clone();
        let again = Rows::select(batch, &(0..batch.len()).step_by(40).collect::<Vec<_>>());
        more.learn(again.as_batch()).unwrap();
        more.unlearn(again.as_batch()).unwrap();
        assert_eq!(anchors(&more), anchors(&follows), "{precision}");
        assert!(more.hash_function().parts() == follows.hash_function().parts(), "{precision}");
    }
}

#[test]
fn where_the_stream_is_mixed_anchors_stay() {
    let mixed = blobs(&[1500; 6], 8, 0.6, 23);
    let stays = learned(start(&[("follow", "false")]), [mixed.as_batch()]);
    assert_same(&learned(start(&[]), [mixed.as_batch()]), &stays);
}

/// Siblings never add anchors, so they can be merged whatever rows they learn. They can even be
/// merged with the original model after it has added anchors.
#[test]
fn siblings_are_merged_with_a_model_that_has_more_anchors() {
    let rows = unmixed();
    let batch = rows.as_batch();
    let mut parent = start(&[]);
    parent.learn(batch.slice(0..1000)).unwrap();
    let mut siblings = [parent.sibling().unwrap(), parent.sibling().unwrap()];
    siblings[0].learn(batch.slice(1000..6000)).unwrap();
    siblings[1].learn(batch.slice(3000..9000)).unwrap();
    assert_eq!(siblings.each_ref().map(anchors), [40, 40]);
    parent.learn(batch.slice(1000..9000)).unwrap();
    let before = anchors(&parent);
    assert!(before > 40);
    let [mut one, other] = siblings;
    one.merge(&other).unwrap();
    let mut both = parent.clone();
    both.merge(&one).unwrap();
    assert_eq!((anchors(&both), both.seen()), (before, 9000 + 11_000));
    one.merge(&parent).unwrap();
    assert_eq!(anchors(&one), before);
    for model in [both, one] {
        let queries = Rows::select(batch, &(0..batch.len()).step_by(60).collect::<Vec<_>>());
        let found = map(&model.hash_function(), batch, queries.as_batch());
        assert!(found > 0.8, "{found}");
    }
}

/// Estimated contributions are unlearned as well as possible, or the call is refused. A refused
/// call changes nothing, not even buffered rows.
#[test]
fn rows_from_before_new_anchors_are_unlearned_or_refused() {
    let rows = unmixed();
    let batch = rows.as_batch();
    let model = learned(start(&[]), [batch]);
    let labels = batch.labels().unwrap();
    let first: Vec<usize> = (0..batch.len()).filter(|&row| labels.row(row)[0] == 0).collect();
    let quality = |model: &Model| {
        let queries = Rows::select(batch, &(0..batch.len()).step_by(60).collect::<Vec<_>>());
        map(&model.hash_function(), batch, queries.as_batch())
    };
    let mut refused = 0;
    for count in [1, 20, first.len()] {
        let mut rest = model.clone();
        match rest.unlearn(Rows::select(batch, &first[..count]).as_batch()) {
            Ok(_) => {
                rest = Model::from_bytes(&rest.to_bytes(), "memory").unwrap();
                assert_eq!(rest.seen(), (batch.len() - count) as u64);
                assert!(quality(&rest) > 0.8, "{count} rows: {}", quality(&rest));
            }
            Err(error) => {
                refused += 1;
                assert!(error.to_string().contains("no sum of any rows"), "{count} rows: {error}");
                assert!(rest.to_bytes() == model.to_bytes());
            }
        }
    }
    assert!(refused < 3, "a single row can be taken back");
}
