//! Counts of a part of a database, taken before any item is ranked.

use std::ops::Range;
use std::sync::Arc;

use crate::{Error, Labels, Result};

/// Maximum number of items of all parts together. It is far above any real database, and low enough
/// that no sum of counts or precisions overflows.
pub(super) const MAX_ITEMS: u64 = 1 << 48;

/// Layout of a tally: the positions of the counts of each query.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Number of possible distances.
    distances: usize,
    /// End of the counts of each query.
    ends: Vec<usize>,
}

impl Shape {
    /// Creates the layout for queries with these labels and codes of `bits` bits.
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

    /// Returns the number of distinct labels of a query.
    pub(super) fn gains(&self, query: usize) -> usize {
        self.range(query).len() - 2 * self.distances
    }

    fn range(&self, query: usize) -> Range<usize> {
        let start = if query == 0 { 0 } else { self.ends[query - 1] };
        start..self.ends[query]
    }
}

/// Counts of the items of a part of a database around each query: the items at each distance, the
/// relevant items at each distance, and the items that share one label with the query, two labels,
/// and so on.
///
/// Tallies of parts add up to the tally of all parts. Their [`words`](Tally::words) add up number
/// by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    shape: Arc<Shape>,
    words: Vec<u64>,
}

impl Tally {
    /// Creates the tally of no items.
    pub(super) fn nothing(shape: &Arc<Shape>) -> Tally {
        Tally { shape: Arc::clone(shape), words: vec![0; shape.len()] }
    }

    /// Creates a tally from counts.
    ///
    /// # Errors
    /// When the counts are not a tally of this shape.
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
    /// When the tally is of other queries, or there are more than 2^48 items. Nothing is added
    /// after an error.
    pub fn add(&mut self, other: &Tally) -> Result<()> {
        self.expect(&other.shape)?;
        if self.items() + other.items() > MAX_ITEMS {
            let items = self.items() + other.items();
            return Err(Error::parameter("parts", format!("{MAX_ITEMS} items at most"), items));
        }
        self.words.iter_mut().zip(&other.words).for_each(|(count, more)| *count += more);
        Ok(())
    }

    /// Returns the number of items that were counted.
    pub fn items(&self) -> u64 {
        if self.shape.queries() == 0 { 0 } else { total(self.query(0).items) }
    }

    /// Returns the counts as numbers, which [`Queries::tally_of`](super::Queries::tally_of) reads.
    /// For each query these are
    ///
    /// * the number of items at each distance;
    /// * the number of relevant items at each distance;
    /// * for each number of shared labels, from 1 to the number of the query's labels, the number
    ///   of items with exactly this number of shared labels.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Checks that the tally is of this shape.
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

/// Returns the sum of the counts, saturated at the largest `u64`.
fn total(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum: u64, count| sum.saturating_add(*count))
}

/// The tally for one query.
#[derive(Clone, Copy)]
pub(super) struct QueryTally<'a> {
    /// Number of items at each distance.
    pub(super) items: &'a [u64],
    /// Number of relevant items at each distance.
    pub(super) relevant: &'a [u64],
    /// Number of items that share one label with the query, two labels, and so on.
    pub(super) by_gain: &'a [u64],
}
