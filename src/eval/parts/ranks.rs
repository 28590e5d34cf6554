//! Summary of the ranks of a part's relevant items.

use super::tally::MAX_ITEMS;
use crate::eval::precision_sum::PrecisionSum;
use crate::{Error, Result};

/// Ranks of a part's relevant items in the whole database, as far as metrics need them. For each
/// query, they hold the sum of the precisions at the ranks, and the items at the first ranks.
///
/// The ranks of parts add up to the ranks of the whole database, in any order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// Number of items in the part.
    items: u64,
    /// Number of ranks, from the first, that are stored individually.
    depth: u64,
    queries: Vec<QueryRanks>,
}

/// The ranks for one query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct QueryRanks {
    /// Sum of the precisions at all ranks of relevant items.
    pub(super) sum: PrecisionSum,
    /// The first ranks, from 0, that have a relevant item, each with the gain of the item.
    pub(super) head: Vec<(u64, u32)>,
}

impl Ranks {
    pub(super) fn new(items: u64, depth: u64, queries: Vec<QueryRanks>) -> Ranks {
        Ranks { items, depth, queries }
    }

    /// Adds the ranks of another part.
    ///
    /// # Errors
    /// When the ranks are of other queries or metrics, or there are more than 2^48 items. Nothing
    /// is added after an error.
    pub fn add(&mut self, other: &Ranks) -> Result<()> {
        for (name, mine, found) in [
            ("the queries of ranks", self.queries.len() as u64, other.queries.len() as u64),
            ("the first ranks kept", self.depth, other.depth),
        ] {
            if mine != found {
                return Err(Error::parameter(name, format!("{mine} as in other parts"), found));
            }
        }
        if self.items + other.items > MAX_ITEMS {
            let items = self.items + other.items;
            return Err(Error::parameter("parts", format!("{MAX_ITEMS} items at most"), items));
        }
        self.items += other.items;
        for (mine, other) in self.queries.iter_mut().zip(&other.queries) {
            mine.sum.merge(other.sum);
            mine.head.extend(&other.head);
        }
        Ok(())
    }

    /// Checks the number of queries, of items, and of first ranks that are stored individually.
    pub(super) fn expect(&self, queries: usize, items: u64, depth: u64) -> Result<()> {
        for (name, expected, as_in, found) in [
            ("the queries of ranks", queries as u64, "as there are", self.queries.len() as u64),
            ("the items that were ranked", items, "as tallied", self.items),
            ("the first ranks kept", depth, "as the metrics ask for", self.depth),
        ] {
            if expected != found {
                return Err(Error::parameter(name, format!("{expected} {as_in}"), found));
            }
        }
        Ok(())
    }

    pub(super) fn query(&self, query: usize) -> &QueryRanks {
        &self.queries[query]
    }

    /// Returns the ranks as numbers, which [`Queries::ranks_of`](super::Queries::ranks_of) reads:
    /// the number of items and the number of first ranks that are stored individually, then for
    /// each query
    ///
    /// * the sum of precisions in units of 2^-52, as two numbers with the lower one first;
    /// * the number of first ranks that have a relevant item;
    /// * for each of these, the rank itself, from 0, and the number of shared labels.
    pub fn to_words(&self) -> Vec<u64> {
        let heads: usize = self.queries.iter().map(|query| query.head.len()).sum();
        let mut words = Vec::with_capacity(2 + 3 * self.queries.len() + 2 * heads);
        words.extend([self.items, self.depth]);
        for query in &self.queries {
            words.extend(query.sum.words());
            words.push(query.head.len() as u64);
            words.extend(query.head.iter().flat_map(|&(rank, gain)| [rank, u64::from(gain)]));
        }
        words
    }

    /// Restores the ranks of `queries` queries from the numbers that [`to_words`](Self::to_words)
    /// returned.
    ///
    /// # Errors
    /// When the numbers are not such ranks.
    pub(super) fn from_words(queries: usize, words: &[u64]) -> Result<Ranks> {
        let length = || {
            let expected = format!("as many numbers as they say for {queries} queries");
            Error::parameter("ranks", expected, words.len())
        };
        let ([items, depth], mut rest) = words.split_first_chunk().ok_or_else(length)?;
        if *items > MAX_ITEMS {
            return Err(Error::parameter("ranks", format!("of at most {MAX_ITEMS} items"), items));
        }
        let mut found = Vec::new();
        for _ in 0..queries {
            let ([low, high, count], others) = rest.split_first_chunk().ok_or_else(length)?;
            let count = usize::try_from(*count).unwrap_or(usize::MAX).checked_mul(2);
            let (head, others) =
                count.and_then(|count| others.split_at_checked(count)).ok_or_else(length)?;
            rest = others;
            let sum = PrecisionSum::from_words([*low, *high]);
            if !sum.is_of(*items) {
                let expected = format!("of precisions at the ranks of {items} items");
                return Err(Error::parameter("ranks", expected, sum.value()));
            }
            let entry = |&[rank, gain]: &[u64; 2]| {
                let gain = u32::try_from(gain).ok().filter(|&gain| gain > 0 && rank < *depth);
                let expected = format!("of relevant items at ranks below {depth}");
                gain.map(|gain| (rank, gain))
                    .ok_or_else(|| Error::parameter("ranks", expected, rank))
            };
            let head = head.as_chunks().0.iter().map(entry).collect::<Result<_>>()?;
            found.push(QueryRanks { sum, head });
        }
        if rest.is_empty() { Ok(Ranks::new(*items, *depth, found)) } else { Err(length()) }
    }
}
