//! What the ranks of a part's relevant items come to.

use super::tally::MAX_ITEMS;
use crate::eval::precision_sum::PrecisionSum;
use crate::{Error, Result};

/// Where the relevant items of a part stand in the ranking of the whole database, as far as metrics ask
/// for it: for each query the sum of the precisions at their ranks, and which of them stand first.
///
/// Those of parts add up to those of all of them, in any order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// How many items there were in the part.
    items: u64,
    /// How many of the first ranks are kept one by one.
    depth: u64,
    queries: Vec<QueryRanks>,
}

/// The ranks for one query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct QueryRanks {
    /// The precisions at all ranks.
    pub(super) sum: PrecisionSum,
    /// The first ranks, from 0, and the gains of the items there.
    pub(super) head: Vec<(u64, u32)>,
}

impl Ranks {
    pub(super) fn new(items: u64, depth: u64, queries: Vec<QueryRanks>) -> Ranks {
        Ranks { items, depth, queries }
    }

    /// Adds the ranks of another part.
    ///
    /// # Errors
    /// When they are of other queries or metrics, or there are more than 2^48 items. Nothing is added then.
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

    /// Fails unless these are the ranks of so many queries and items, and so many of the first are kept.
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

    /// As numbers: the items, how many of the first ranks are kept; then for each query the sum of
    /// precisions, in units of 2^-52 and in two numbers with the lower one first, how many of the first
    /// ranks have a relevant item, and for each such rank itself, from 0, and the number of shared labels.
    /// [`Queries::ranks_of`](super::Queries::ranks_of) takes them back.
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

    /// From what [`to_words`](Self::to_words) gave, for so many queries.
    ///
    /// # Errors
    /// When they cannot be that.
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
