//! What is counted of a part of a database before anything is ranked.

use std::ops::Range;
use std::sync::Arc;

use crate::{Error, Labels, Result};

/// The most items that parts may have together: far more than there are, and few enough that no sum of
/// counts or precisions overflows.
pub(super) const MAX_ITEMS: u64 = 1 << 48;

/// Where the counts of each query stand in a tally.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// How many distances there can be.
    distances: usize,
    /// Where the counts of each query end.
    ends: Vec<usize>,
}

impl Shape {
    /// Of queries with these labels, and codes of so many bits.
    pub(super) fn new(bits: usize, labels: Labels<'_>) -> Shape {
        let (distances, mut end) = (bits + 1, 0);
        let ends = labels.iter().map(|labels| {
            let mut different = labels.to_vec();
            different.sort_unstable();
            different.dedup();
            end += 2 * distances + different.len();
            end
        });
        Shape { distances, ends: ends.collect() }
    }

    pub(super) fn queries(&self) -> usize {
        self.ends.len()
    }

    fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// How many different labels a query has.
    pub(super) fn gains(&self, query: usize) -> usize {
        self.range(query).len() - 2 * self.distances
    }

    fn range(&self, query: usize) -> Range<usize> {
        let start = if query == 0 { 0 } else { self.ends[query - 1] };
        start..self.ends[query]
    }
}

/// How the items of a part of a database lie around each query: how many there are at each distance, how
/// many of these are relevant, and how many share one label with the query, two labels, and so on.
///
/// Tallies of parts add up to that of all of them. As [`words`](Tally::words) they do so number by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    shape: Arc<Shape>,
    words: Vec<u64>,
}

impl Tally {
    /// Of nothing.
    pub(super) fn nothing(shape: &Arc<Shape>) -> Tally {
        Tally { shape: Arc::clone(shape), words: vec![0; shape.len()] }
    }

    /// From numbers that were counted.
    ///
    /// # Errors
    /// When they cannot be a tally of this shape.
    pub(super) fn from_words(shape: &Arc<Shape>, words: Vec<u64>) -> Result<Tally> {
        let problem = |expected: &str, found: u64| Error::parameter("a tally", expected, found);
        if words.len() != shape.len() {
            let expected = format!("{} numbers for these queries", shape.len());
            return Err(problem(&expected, words.len() as u64));
        }
        let tally = Tally { shape: Arc::clone(shape), words };
        let items = tally.items();
        for query in (0..shape.queries()).map(|query| tally.query(query)) {
            if total(query.items) != items || items > MAX_ITEMS {
                let expected = format!("of as many items for every query, {MAX_ITEMS} at most");
                return Err(problem(&expected, total(query.items)));
            }
            let counts = query.items.iter().zip(query.relevant);
            if let Some((items, relevant)) = counts.into_iter().find(|(all, some)| some > all) {
                let expected = format!("of at most {items} relevant items where there are so many");
                return Err(problem(&expected, *relevant));
            }
            if total(query.by_gain) != total(query.relevant) {
                let expected = format!("of {} items with shared labels", total(query.relevant));
                return Err(problem(&expected, total(query.by_gain)));
            }
        }
        Ok(tally)
    }

    /// Adds the tally of another part.
    ///
    /// # Errors
    /// When it is of other queries, or there are more than 2^48 items. Nothing is added then.
    pub fn add(&mut self, other: &Tally) -> Result<()> {
        self.expect(&other.shape)?;
        if self.items() + other.items() > MAX_ITEMS {
            let items = self.items() + other.items();
            return Err(Error::parameter("parts", format!("{MAX_ITEMS} items at most"), items));
        }
        self.words.iter_mut().zip(&other.words).for_each(|(count, more)| *count += more);
        Ok(())
    }

    /// How many items were counted.
    pub fn items(&self) -> u64 {
        if self.shape.queries() == 0 { 0 } else { total(self.query(0).items) }
    }

    /// The counts as numbers, of one query after the other: for each distance the items, then for each
    /// distance the relevant ones, then for each number of labels that the query has, from 1 on, the
    /// items that share so many with it. [`Queries::tally_of`](super::Queries::tally_of) takes them back.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Fails unless the tally is of this shape.
    pub(super) fn expect(&self, shape: &Arc<Shape>) -> Result<()> {
        if Arc::ptr_eq(&self.shape, shape) || self.shape == *shape {
            return Ok(());
        }
        let describe =
            |shape: &Shape| format!("{} queries of {} bits", shape.queries(), shape.distances - 1);
        let (expected, found) = (describe(shape), describe(&self.shape));
        Err(Error::parameter("a tally", format!("of these {expected}, with their labels"), found))
    }

    pub(super) fn query(&self, query: usize) -> QueryTally<'_> {
        let (items, rest) = self.words[self.shape.range(query)].split_at(self.shape.distances);
        let (relevant, by_gain) = rest.split_at(self.shape.distances);
        QueryTally { items, relevant, by_gain }
    }
}

/// A sum that stays where it cannot grow any further.
fn total(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum: u64, count| sum.saturating_add(*count))
}

/// The tally for one query.
#[derive(Clone, Copy)]
pub(super) struct QueryTally<'a> {
    /// For each distance: how many items lie there.
    pub(super) items: &'a [u64],
    /// For each distance: how many of them are relevant.
    pub(super) relevant: &'a [u64],
    /// How many items share one label with the query, two labels, and so on.
    pub(super) by_gain: &'a [u64],
}
