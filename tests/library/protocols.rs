//! Protocols other than the papers', compared with an evaluation of rows selected by hand.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use hashbrook::dataset::{Data, digits};
use hashbrook::eval::{Dial, Metric, evaluate};
use hashbrook::protocol::{
    Incremental, Ranked, SeveralLabels, UnseenClasses, Vectors, kept_out, learn_rows,
};
use hashbrook::{Batch, Features, HashFunction, LabelList, Labels, Method};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;

use crate::evaluation::{assert_close, metrics};

/// Splits the digits into database and queries.
fn split(seed: u64) -> (Data, Data) {
    let digits = digits();
    let labels = LabelList::single(digits.labels);
    Data::new(64, digits.features, labels).unwrap().split(5, seed).unwrap()
}

fn learned(method: &str, database: &Data, rows: &[usize]) -> HashFunction {
    let mut model = Method::named(method).unwrap().start(64, 16, 1).unwrap();
    learn_rows(&mut model, database.batch(), rows, 100).unwrap();
    model.hash_function()
}

fn single(data: &Data) -> Vec<u32> {
    data.batch().labels().unwrap().as_single().unwrap().to_vec()
}

/// Encodes and evaluates rows that the test selected.
fn by_hand(
    function: &HashFunction,
    (queries, asked): (&Data, &[usize]),
    (database, found): (&Data, &[usize]),
    metrics: &[Metric],
) -> hashbrook::eval::Evaluation {
    let (queries, database) = (queries.select(asked), database.select(found));
    let codes = |data: &Data| function.encode(data.batch().features()).unwrap();
    let labels = (single(&queries), single(&database));
    let (wanted, labels) = (Labels::single(&labels.0), Labels::single(&labels.1));
    evaluate(&codes(&queries), wanted, &codes(&database), labels, metrics).unwrap()
}

fn rows_where(labels: &[u32], wanted: impl Fn(u32) -> bool) -> Vec<usize> {
    (0..labels.len()).filter(|&row| wanted(labels[row])).collect()
}

#[test]
fn unseen_classes_never_come_and_are_measured_as_they_are_defined() {
    let (database, queries) = split(3);
    let (labels, wanted) = (single(&database), single(&queries));
    let classes = UnseenClasses::draw(Labels::single(&labels), 3).unwrap();
    let unseen: BTreeSet<u32> = classes.unseen().iter().copied().collect();
    assert_eq!(unseen.len(), 3);
    let stream = classes.stream(Labels::single(&labels), 700).unwrap();
    let seen = rows_where(&labels, |label| !unseen.contains(&label));
    assert_eq!(stream, seen[..700]);
    let function = learned("bsodh", &database, &stream);
    let metrics = [Metric::Map, Metric::MapAt(20), Metric::NdcgAt(100)];
    let ranked = Ranked::by_codes(&function, database.batch(), queries.batch()).unwrap();
    let found = classes.measure(&ranked, &metrics).unwrap();
    let all: Vec<usize> = (0..labels.len()).collect();
    let of_unseen = rows_where(&labels, |label| unseen.contains(&label));
    let ask_unseen = rows_where(&wanted, |label| unseen.contains(&label));
    let ask_seen = rows_where(&wanted, |label| !unseen.contains(&label));
    for (found, asked, among) in [
        (found.unseen_alone, &ask_unseen, &of_unseen),
        (found.unseen_among_all, &ask_unseen, &all),
        (found.seen_alone, &ask_seen, &seen),
        (found.seen_among_all, &ask_seen, &all),
    ] {
        assert_eq!(found, by_hand(&function, (&queries, asked), (&database, among), &metrics));
    }
    // A quarter of the classes is drawn, and other seeds draw other classes.
    let draw = |count: u32, seed: u64| {
        let labels: Vec<u32> = (0..count * 2).map(|row| row % count).collect();
        UnseenClasses::draw(Labels::single(&labels), seed).map(|classes| classes.unseen().to_vec())
    };
    assert_eq!(draw(30, 1).unwrap(), draw(30, 1).unwrap());
    assert_ne!(draw(30, 1).unwrap(), draw(30, 2).unwrap());
    for (count, drawn) in [(2, 1), (4, 1), (10, 3), (39, 10), (40, 10), (202, 50)] {
        assert_eq!(draw(count, 1).unwrap().len(), drawn);
    }
    assert!(draw(1, 1).unwrap_err().to_string().contains("classes must be 2 or more"));
}

#[test]
fn rows_kept_out_of_the_stream_are_measured_apart() {
    let (database, queries) = split(1);
    let function = learned("lsh", &database, &[0]);
    let ranked = Ranked::by_codes(&function, database.batch(), queries.batch()).unwrap();
    let metrics = Metric::DEFAULT;
    let found = kept_out(&ranked, 600, metrics).unwrap();
    let all: Vec<usize> = (0..queries.len()).collect();
    let part = |rows: Range<usize>| {
        by_hand(&function, (&queries, &all), (&database, &rows.collect::<Vec<_>>()), metrics)
    };
    assert_eq!(found.streamed, part(0..600));
    assert_eq!(found.others, part(600..database.len()));
    for rows in [0, database.len(), database.len() + 1] {
        let error = kept_out(&ranked, rows, metrics).unwrap_err().to_string();
        assert!(error.contains("streamed rows must be above 0 and below"), "{error}");
    }
}

#[test]
fn classes_come_two_at_a_time() {
    let (database, queries) = split(2);
    let (labels, wanted) = (single(&database), single(&queries));
    let order = Incremental::draw(Labels::single(&labels), 2).unwrap();
    let classes = order.order();
    assert_eq!(classes.iter().copied().collect::<BTreeSet<_>>(), (0..10).collect());
    assert_ne!(order, Incremental::draw(Labels::single(&labels), 3).unwrap());
    let steps = order.steps(Labels::single(&labels), 900).unwrap();
    assert_eq!(steps.len(), 5);
    for (step, pair) in steps.iter().zip(classes.chunks(2)) {
        let mut rows = rows_where(&labels, |label| pair.contains(&label));
        rows.retain(|&row| row < 900);
        assert_eq!(*step, rows);
    }
    let metrics = [Metric::Map, Metric::MapAt(20), Metric::NdcgAt(100)];
    let mut model = Method::named("bsodh").unwrap().start(64, 16, 1).unwrap();
    let both = (database.batch(), queries.batch());
    let found = order.run(&mut model, both, (900, 100), &metrics).unwrap();
    // The same protocol by hand: the first two steps, then the others.
    let mut model = Method::named("bsodh").unwrap().start(64, 16, 1).unwrap();
    let first = |labels: &[u32]| rows_where(labels, |label| classes[..4].contains(&label));
    let (asked, among) = (first(&wanted), first(&labels));
    for (at, step) in steps.iter().enumerate() {
        step.chunks(100).for_each(|rows| {
            model.learn(database.select(rows).batch()).unwrap();
        });
        if at == 1 {
            let then = model.hash_function();
            let then = by_hand(&then, (&queries, &asked), (&database, &among), &metrics);
            assert_eq!(found.first_then, then);
        }
    }
    let end = model.hash_function();
    let part = by_hand(&end, (&queries, &asked), (&database, &among), &metrics);
    assert_eq!(found.first_at_end, part);
    let everything = |data: &Data| (0..data.len()).collect::<Vec<_>>();
    let (asked, among) = (everything(&queries), everything(&database));
    assert_eq!(found.all, by_hand(&end, (&queries, &asked), (&database, &among), &metrics));
    let few = Incremental::draw(Labels::single(&[1, 2, 3, 4]), 1).unwrap_err().to_string();
    assert!(few.contains("classes must be more than 4, not 4"), "{few}");
}

#[test]
fn rows_with_several_labels_are_of_no_one_class() {
    let (ends, values) = ([1, 3, 4], [0, 1, 2, 1]);
    let labels = Labels::sets(&ends, &values).unwrap();
    let expected = "need one label per row; row 1 has 2";
    let error = UnseenClasses::draw(labels, 1).unwrap_err().to_string();
    assert!(error.starts_with("unseen classes") && error.ends_with(expected), "{error}");
    let error = Incremental::draw(labels, 1).unwrap_err().to_string();
    assert!(error.starts_with("streams by class") && error.ends_with(expected), "{error}");
}

#[test]
fn one_encoding_serves_every_way_of_ranking() {
    let (database, queries) = split(5);
    let (database, queries) = (database.batch(), queries.batch());
    let function = {
        let mut model = Method::named("lsh").unwrap().start(64, 24, 1).unwrap();
        model.learn(database).unwrap();
        model.hash_function()
    };
    let codes = Ranked::by_codes(&function, database, queries).unwrap();
    let dial = codes.with_dial(&function, Dial::new(1, 1).unwrap()).unwrap();
    let plain = codes.evaluate(Metric::DEFAULT).unwrap();
    assert_close(&plain, &dial.evaluate(Metric::DEFAULT).unwrap());
    let vectors = Arc::new(Vectors::new(&function, database, queries).unwrap());
    let among = [10, 100];
    let kept = codes.neighbours(&vectors, &among).unwrap();
    assert_eq!(kept, dial.neighbours(&vectors, &among).unwrap());
    let some = [3, 1, 20];
    let of_some = codes.neighbours_of(&some, &vectors, &among).unwrap();
    assert_eq!(of_some, dial.neighbours_of(&some, &vectors, &among).unwrap());
    assert_eq!(of_some.queries, 3);
    // Ranking by vectors puts all nearest neighbours first, and its hits have the query's label
    // more often than hits by codes.
    let cosine = Ranked::by_cosine(vectors.clone(), database, queries);
    let all = cosine.neighbours(&vectors, &among).unwrap();
    assert_eq!(all.kept, [(10, 1.0), (100, 1.0)]);
    let found = cosine.evaluate(Metric::DEFAULT).unwrap();
    assert!(found.get(Metric::Map) > plain.get(Metric::Map));
    assert_eq!(found.get(Metric::PrecisionAt(1)), all.by_vectors);
    // Equal weights do not change the order.
    let metrics = metrics(&[1000], &[1, 100], &[], &[100]);
    let again = dial.with_dial(&function, Dial::new(5, 5).unwrap()).unwrap();
    assert_close(&codes.evaluate(&metrics).unwrap(), &again.evaluate(&metrics).unwrap());
}

/// Rows: vectors, and the labels of each.
type Rows = Vec<(Vec<f32>, Vec<u32>)>;

fn rows(data: &Data) -> Rows {
    let (features, labels) = (data.batch().features(), data.batch().labels().unwrap());
    (0..data.len()).map(|row| (features.row(row).to_vec(), labels.row(row).to_vec())).collect()
}

/// Draws rows with several labels by a plain loop; returns database and queries. The labels must be
/// 0, 1, 2 ...
fn drawn_by_hand(all: Batch<'_>, pairs: bool, queries: usize, seed: u64) -> (Rows, Rows) {
    let labels = all.labels().unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.shuffle(&mut rng);
    let classes = (0..all.len()).map(|row| labels.row(row)[0]).max().unwrap() + 1;
    let count = (classes / 2).min(20);
    let mut superclasses: Vec<u32> = (0..classes).map(|class| classes + class % count).collect();
    superclasses.shuffle(&mut rng);
    let mut drawn: Rows = Vec::new();
    for together in order.chunks_exact(if pairs { 2 } else { 1 }) {
        let mean = |i: usize| {
            let sum: f32 = together.iter().map(|&row| all.features().row(row)[i]).sum();
            sum / together.len() as f32
        };
        let mut set: BTreeSet<u32> = together.iter().map(|&row| labels.row(row)[0]).collect();
        if !pairs {
            set.insert(superclasses[labels.row(together[0])[0] as usize]);
        }
        let features = (0..all.features().dim()).map(mean).collect();
        drawn.push((features, set.into_iter().collect()));
    }
    let database = drawn.split_off(queries);
    (database, drawn)
}

#[test]
fn rows_with_several_labels_are_drawn_from_rows_with_one() {
    // An odd number of rows.
    let some: Vec<usize> = (0..501).collect();
    let digits = {
        let digits = digits();
        let labels = LabelList::single(digits.labels);
        Data::new(64, digits.features, labels).unwrap().select(&some)
    };
    // 202 classes, as in a data set with many classes.
    let many: Vec<f32> = (0..404).map(|row| row as f32).collect();
    let many_labels: Vec<u32> = (0..404).map(|row| row * 7 % 202).collect();
    let many = Data::new(1, many, LabelList::single(many_labels)).unwrap();
    for data in [&digits, &many] {
        for (several, pairs) in [(SeveralLabels::Pairs, true), (SeveralLabels::Superclass, false)] {
            for (seed, queries) in [(1, 30), (2, 1), (2, 199)] {
                let (database, asked) = several.draw(data.batch(), queries, seed).unwrap();
                let by_hand = drawn_by_hand(data.batch(), pairs, queries, seed);
                assert_eq!((rows(&database), rows(&asked)), by_hand, "{several:?} {seed}");
            }
            let draw = |seed| rows(&several.draw(data.batch(), 30, seed).unwrap().0);
            assert_ne!(draw(1), draw(2));
        }
    }
    // Superclasses of two classes each, or of ten or eleven.
    for (data, sizes) in [(&digits, [2, 2]), (&many, [10, 11])] {
        let (database, _) = SeveralLabels::Superclass.draw(data.batch(), 1, 5).unwrap();
        let of: BTreeSet<Vec<u32>> = rows(&database).into_iter().map(|(_, set)| set).collect();
        let superclasses: BTreeSet<u32> = of.iter().map(|set| set[1]).collect();
        for superclass in superclasses {
            let classes = of.iter().filter(|set| set[1] == superclass).count();
            assert!(sizes.contains(&classes), "{classes}");
        }
    }
}

#[test]
fn several_labels_are_not_drawn_from_what_has_them_has_none_or_is_too_little() {
    let features = [0.5f32, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
    let features = Features::new(&features, 1).unwrap();
    let error = |several: SeveralLabels, batch: Batch<'_>, queries: usize| {
        several.draw(batch, queries, 1).unwrap_err().to_string()
    };
    let single = [0, 1, 2, 3, 0, 1, 2, 3];
    let single = Batch::new(features, Labels::single(&single)).unwrap();
    let ends = [1, 2, 4, 5, 6, 7, 8, 8];
    let sets = Labels::sets(&ends, &[0, 1, 2, 3, 0, 1, 2, 3]).unwrap();
    let sets = Batch::new(features, sets).unwrap();
    for (several, name, made) in
        [(SeveralLabels::Pairs, "pairs of rows", 4), (SeveralLabels::Superclass, "superclasses", 8)]
    {
        let none = error(several, Batch::unlabelled(features), 1);
        assert!(none.starts_with(name) && none.contains("labels, and none were given"), "{none}");
        let two = error(several, sets, 1);
        assert!(two.starts_with(name) && two.ends_with("one label per row; row 2 has 2"), "{two}");
        for queries in [0, made, usize::MAX] {
            let few = error(several, single, queries);
            let expected =
                format!("queries must be above 0 and below {made}, which is what 8 rows");
            assert!(few.starts_with(&expected), "{few}");
        }
        let (database, queries) = several.draw(single, made - 1, 1).unwrap();
        assert_eq!((database.len(), queries.len()), (1, made - 1));
    }
    let labels = |labels: [u32; 8]| {
        let batch = Batch::new(features, Labels::single(&labels)).unwrap();
        SeveralLabels::Superclass.draw(batch, 1, 1).map(|_| ())
    };
    let few = labels([0, 1, 2, 0, 1, 2, 0, 1]).unwrap_err().to_string();
    assert!(few.contains("classes must be 4 or more") && few.ends_with("not 3"), "{few}");
    // Four classes have two superclasses, whose labels are the two after the largest class label.
    labels([0, 1, 2, u32::MAX - 2, 0, 1, 2, 0]).unwrap();
    let large = labels([0, 1, 2, u32::MAX - 1, 0, 1, 2, 0]).unwrap_err().to_string();
    assert!(large.contains("labels must be at most 4294967293"), "{large}");
    // The mean of large numbers is finite.
    let large = [3e38f32; 8];
    let batch = Batch::new(Features::new(&large, 1).unwrap(), single.labels().unwrap()).unwrap();
    let (database, _) = SeveralLabels::Pairs.draw(batch, 1, 1).unwrap();
    assert!(database.batch().features().row(0)[0] > 2.9e38);
}
