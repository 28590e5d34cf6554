//! Evaluation in parts, compared with evaluation of the whole: equal to the last bit.

use hashbrook::eval::parts::{Queries, Ranks, Tally};
use hashbrook::eval::{Evaluation, Metric, evaluate};
use hashbrook::{Codes, LabelList, Labels};
use proptest::prelude::*;

use crate::evaluation::{metrics, random};
use crate::streams::config;

/// Cuts rows into parts that end at `ends`.
fn cut(codes: &Codes, labels: &LabelList, ends: &[usize]) -> Vec<(Codes, LabelList)> {
    let starts = [0].into_iter().chain(ends.iter().copied());
    let part = |(start, &end): (usize, &usize)| {
        let rows: Vec<usize> = (start..end).collect();
        (codes.select(&rows), labels.select(&rows))
    };
    starts.zip(ends).map(part).collect()
}

/// Evaluates in parts whose tallies and ranks are converted to numbers and back; ranks are added in
/// the opposite order.
fn in_parts(queries: &Queries<'_>, parts: &[(Codes, LabelList)], metrics: &[Metric]) -> Evaluation {
    let tally = |(codes, labels): &(Codes, LabelList)| {
        let tally = queries.tally(codes, labels.view()).unwrap();
        assert_eq!(tally.items(), codes.len() as u64);
        queries.tally_of(tally.words().to_vec()).unwrap()
    };
    let tallies: Vec<Tally> = parts.iter().map(tally).collect();
    let mut total = queries.nothing();
    tallies.iter().for_each(|tally| total.add(tally).unwrap());
    let mut before = queries.nothing();
    let mut ranked: Vec<Vec<u64>> = Vec::new();
    for ((codes, labels), tally) in parts.iter().zip(&tallies) {
        let mut moved = before.clone();
        let ranks = queries.rank((codes, labels.view()), &total, &mut moved, metrics).unwrap();
        before.add(tally).unwrap();
        assert_eq!(moved, before);
        ranked.push(ranks.to_words());
    }
    assert_eq!(before, total);
    let mut all = queries.no_ranks(&total, metrics).unwrap();
    ranked.iter().rev().for_each(|words| all.add(&queries.ranks_of(words).unwrap()).unwrap());
    queries.score(&total, &all, metrics).unwrap()
}

fn assert_same(found: &Evaluation, expected: &Evaluation) {
    let counts = |found: &Evaluation| (found.queries, found.answerable, found.database);
    assert_eq!(counts(found), counts(expected));
    assert_eq!(found.values.len(), expected.values.len());
    for ((metric, value), (other, expected)) in found.values.iter().zip(&expected.values) {
        assert_eq!(metric, other);
        // Two metrics that are NaN, because all queries are skipped, count as equal.
        let same = value.to_bits() == expected.to_bits() || (value.is_nan() && expected.is_nan());
        assert!(same, "{metric}: {value:e} in parts, {expected:e} of the whole");
    }
}

proptest! {
    #![proptest_config(config(300))]

    /// Parts may be empty; rows may have several labels or none, and most distances are ties.
    #[test]
    fn parts_give_what_the_whole_gives(
        rows in 1..400usize, queries in 1..6usize, bits in 1..150usize,
        spread in prop_oneof![Just(0.5), Just(0.02)], sets: bool, seed: u64,
        cuts in prop::collection::vec(0.0..1.0f64, 0..7),
    ) {
        let (database, labels) = random(rows, bits, spread, sets, seed);
        let (asked, wanted) = random(queries, bits, spread, sets, seed ^ 1);
        let metrics = metrics(
            &[1, 7, 100, 100_000], &[1, 3, 50, 100_000], &[0, 1, 2, 40, 5000], &[1, 10, 100, 200_000],
        );
        let mut ends: Vec<usize> = cuts.iter().map(|cut| (cut * rows as f64) as usize).collect();
        // The same end occurs twice, so that a part is empty.
        ends.extend([rows / 2, rows / 2, rows]);
        ends.sort_unstable();
        let queries = Queries::new(&asked, wanted.view()).unwrap();
        let whole = evaluate(&asked, wanted.view(), &database, labels.view(), &metrics).unwrap();
        let parts = cut(&database, &labels, &ends);
        assert_same(&in_parts(&queries, &parts, &metrics), &whole);
        for metric in [Metric::Map, Metric::NdcgAt(3), Metric::PrecisionWithin(1)] {
            let alone = evaluate(&asked, wanted.view(), &database, labels.view(), &[metric]).unwrap();
            assert_same(&in_parts(&queries, &parts, &[metric]), &alone);
        }
    }
}

/// The parts are large enough for inexact sums in different orders to differ in their last bits.
#[test]
fn large_parts_give_what_the_whole_gives() {
    let (database, labels) = random(60_000, 64, 0.1, false, 3);
    let (asked, wanted) = random(20, 64, 0.1, false, 4);
    let queries = Queries::new(&asked, wanted.view()).unwrap();
    let metrics = Metric::DEFAULT;
    let whole = evaluate(&asked, wanted.view(), &database, labels.view(), metrics).unwrap();
    for ends in [&[60_000][..], &[1, 9, 31_000, 31_000, 60_000], &[20_000, 40_000, 60_000]] {
        let parts = cut(&database, &labels, ends);
        assert_same(&in_parts(&queries, &parts, metrics), &whole);
    }
}

/// Labels that occur twice, in queries and parts, and labels that no query has.
#[test]
fn labels_count_once() {
    let asked = Codes::from_bytes(8, &[0, 1, 2]).unwrap();
    let wanted = Labels::sets(&[3, 3, 5], &[8, 7, 7, 5, 5]).unwrap();
    let codes = Codes::from_bytes(8, &[1, 0, 3, 3]).unwrap();
    let sets = LabelList::sets(vec![3, 5, 6, 9], vec![7, 8, 8, 7, 7, 900, 5, 5, 7]).unwrap();
    let queries = Queries::new(&asked, wanted).unwrap();
    let metrics = metrics(&[1, 2], &[2], &[0, 1], &[1, 3]);
    let whole = evaluate(&asked, wanted, &codes, sets.view(), &metrics).unwrap();
    for ends in [[2, 4], [3, 4], [0, 4]] {
        assert_same(&in_parts(&queries, &cut(&codes, &sets, &ends), &metrics), &whole);
    }
    // The queries have two labels, none, and one; the number of distinct gains follows from this.
    assert_eq!(queries.nothing().words().len(), 3 * 2 * 9 + 3);
    let tally = queries.tally(&codes, sets.view()).unwrap();
    assert_eq!(tally.words()[18..20], [2, 1], "one label shared by two rows, two labels by one");
}

/// Numbers received from other machines are checked before they are used.
#[test]
fn what_is_not_of_these_parts_is_refused() {
    let codes = |bytes: &[u8]| Codes::from_bytes(8, bytes).unwrap();
    let (asked, wanted) = (codes(&[0, 1]), [7, 8]);
    let queries = Queries::new(&asked, Labels::single(&wanted)).unwrap();
    let (part, labels) = (codes(&[0, 1, 3]), Labels::single(&[7, 8, 7]));
    let metrics = [Metric::Map, Metric::PrecisionAt(2)];
    let text = |error: hashbrook::Error| error.to_string();

    assert!(text(Queries::new(&codes(&[]), Labels::single(&[])).unwrap_err()).contains("queries"));
    assert!(Queries::new(&asked, Labels::single(&[7])).is_err());
    assert!(queries.tally(&Codes::new(7).unwrap(), Labels::single(&[])).is_err());
    assert!(queries.tally(&part, Labels::single(&[7])).is_err());

    let total = queries.tally(&part, labels).unwrap();
    let rank = |total: &Tally, before: &mut Tally, metrics: &[Metric]| {
        queries.rank((&part, labels), total, before, metrics)
    };
    let mut before = queries.nothing();
    assert!(rank(&total, &mut before, &[Metric::MapAt(0)]).is_err());
    let ranks = rank(&total, &mut before, &metrics).unwrap();
    let error = text(rank(&total, &mut before, &metrics).unwrap_err());
    assert!(error.contains("as tallied"), "ranked twice: {error}");
    assert_eq!(before, total, "nothing was added");
    // The same items with other labels are a changed part.
    let mut before = queries.nothing();
    let changed = queries.rank((&part, Labels::single(&[7, 7, 7])), &total, &mut before, &metrics);
    assert!(changed.is_err() && before == queries.nothing());

    assert!(queries.score(&total, &ranks, &metrics).is_ok());
    let refused = |total: &Tally, ranks: &Ranks, metrics: &[Metric], expected: &str| {
        let error = text(queries.score(total, ranks, metrics).unwrap_err());
        assert!(error.contains(expected), "{error}");
    };
    let mut twice = ranks.clone();
    twice.add(&ranks).unwrap();
    refused(&total, &twice, &metrics, "ranked must be 3 as tallied, not 6");
    let mut double = total.clone();
    double.add(&total).unwrap();
    refused(&double, &twice, &metrics, "0 twice");
    refused(&total, &ranks, &[Metric::PrecisionAt(1)], "must be 1 as the metrics ask for, not 2");
    let empty = queries.nothing();
    refused(&empty, &ranks, &metrics, "database must be 1 or more");

    // Numbers that were computed for other queries are refused.
    let other = Queries::new(&part, labels).unwrap();
    assert!(other.score(&total, &ranks, &metrics).is_err());
    assert!(total.clone().add(&other.nothing()).is_err());
    let (none, nothing) = (codes(&[]), other.nothing());
    let no_labels = Labels::single(&[]);
    let others = other.rank((&none, no_labels), &nothing, &mut other.nothing(), &metrics).unwrap();
    assert!(ranks.clone().add(&others).is_err());
    assert!(queries.rank((&none, no_labels), &nothing, &mut before, &metrics).is_err());

    // Increasing or removing any single number makes the numbers inconsistent.
    for at in 0..total.words().len() {
        let mut words = total.words().to_vec();
        words[at] += 1;
        assert!(queries.tally_of(words.clone()).is_err(), "number {at}");
        words[at] = u64::MAX;
        assert!(queries.tally_of(words.clone()).is_err(), "number {at}");
        words.remove(at);
        assert!(queries.tally_of(words).is_err());
    }
    let words = ranks.to_words();
    for at in 0..words.len() {
        assert!(queries.ranks_of(&words[..at]).is_err(), "{at} numbers");
        let mut changed = words.clone();
        changed[at] = u64::MAX;
        // The depth may have any value, because it is compared with the depth of the metrics.
        assert_eq!(queries.ranks_of(&changed).is_ok(), at == 1, "number {at}");
    }
    assert!(queries.ranks_of(&[&words[..], &[0]].concat()).is_err());
}
