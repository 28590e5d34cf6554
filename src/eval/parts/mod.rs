//! Evaluation of a database that is cut into parts, which are read one after the other, or on
//! different machines. The result is that of [`evaluate`](super::evaluate) for the whole, to the
//! last bit.
//!
//! Parts are read twice:
//!
//! * [`Queries::tally`] counts the items of each part by their distances. The tallies of all parts
//!   together determine the rank at which the items of each part and distance begin.
//! * [`Queries::rank`] gives each item its rank in the whole database.
//!
//! [`Queries::score`] then computes the metrics from the ranks of all parts.
//! The result does not depend on where the database is cut.
//!
//! Ties are ordered by position, so parts must be ranked in the order of the database. Both
//! [`Tally`] and [`Ranks`] convert to lists of numbers, which can be sent to other machines.
//!
//! ```
//! use hashbrook::eval::{Metric, evaluate, parts};
//! use hashbrook::{Codes, Labels};
//!
//! let (query, wanted) = (Codes::from_bytes(8, &[0, 3])?, [7, 8]);
//! let parts = [
//!     (Codes::from_bytes(8, &[1, 0, 2])?, vec![7, 8, 7]),
//!     (Codes::from_bytes(8, &[])?, vec![]),
//!     (Codes::from_bytes(8, &[3, 4])?, vec![7, 8]),
//! ];
//! let queries = parts::Queries::new(&query, Labels::single(&wanted))?;
//!
//! // The first time: in any order, or all at once.
//! let mut total = queries.nothing();
//! for (codes, labels) in &parts {
//!     total.add(&queries.tally(codes, Labels::single(labels))?)?;
//! }
//!
//! // The second time; `before` goes on from part to part. Elsewhere it is the sum of the tallies before.
//! let metrics = Metric::DEFAULT;
//! let (mut before, mut all) = (queries.nothing(), queries.no_ranks(&total, metrics)?);
//! for (codes, labels) in &parts {
//!     let labels = Labels::single(labels);
//!     all.add(&queries.rank((codes, labels), &total, &mut before, metrics)?)?;
//! }
//! let found = queries.score(&total, &all, metrics)?;
//!
//! let whole = Codes::from_bytes(8, &[1, 0, 2, 3, 4])?;
//! let labels = [7, 8, 7, 7, 8];
//! let expected =
//!     evaluate(&query, Labels::single(&wanted), &whole, Labels::single(&labels), metrics)?;
//! assert_eq!(found, expected);
//! # Ok::<(), hashbrook::Error>(())
//! ```

mod ranks;
mod tally;

use std::sync::Arc;

use rayon::prelude::*;

pub use self::ranks::Ranks;
pub use self::tally::Tally;

use self::ranks::QueryRanks;
use self::tally::{QueryTally, Shape};
use super::evaluation::{Evaluation, check_any, check_rows};
use super::metric::{Metric, QueryRanking, Relevant, Scores, Scoring};
use super::precision_sum::PrecisionSum;
use super::ranking::Ranking;
use crate::similarity::Carriers;
use crate::{Codes, Error, Labels, Result};

/// Queries that are evaluated on parts of a database.
#[derive(Clone, Debug)]
pub struct Queries<'a> {
    codes: &'a Codes,
    labels: Labels<'a>,
    shape: Arc<Shape>,
}

impl<'a> Queries<'a> {
    /// Creates queries from codes and the labels of each.
    ///
    /// # Errors
    /// When the numbers of labels and codes differ, or there are no codes.
    pub fn new(codes: &'a Codes, labels: Labels<'a>) -> Result<Queries<'a>> {
        check_rows(codes.len(), labels)?;
        check_any("queries", codes.len())?;
        Ok(Queries { codes, labels, shape: Arc::new(Shape::new(codes.bits(), labels)) })
    }

    /// Returns the tally of no items: the start of a sum of tallies, and the value of `before` for
    /// the first part.
    pub fn nothing(&self) -> Tally {
        Tally::nothing(&self.shape)
    }

    /// Returns the ranks of no items, to which the ranks of parts are added. `total` is the tally
    /// of all parts.
    ///
    /// # Errors
    /// When the tally is of other queries, or a metric is of rank 0.
    pub fn no_ranks(&self, total: &Tally, metrics: &[Metric]) -> Result<Ranks> {
        total.expect(&self.shape)?;
        let depth = Scoring::new(metrics, total.items() as usize)?.depth() as u64;
        Ok(Ranks::new(0, depth, vec![QueryRanks::default(); self.codes.len()]))
    }

    /// Counts the items of a part. Runs in parallel over the queries.
    ///
    /// # Errors
    /// When codes and labels do not match, codes have another length than those of the queries, or
    /// there are 2^32 items or more.
    pub fn tally(&self, codes: &Codes, labels: Labels<'_>) -> Result<Tally> {
        let carriers = self.carriers(codes, labels)?;
        let counted: Vec<Vec<u64>> = self.each(codes, |ranking, query| {
            let (relevant, gains) = carriers.of_any_counted(self.labels.row(query));
            ranking.count(self.codes.code(query), &relevant);
            self.counts(ranking, query, Relevant::new(&relevant, &gains))
        });
        Tally::from_words(&self.shape, counted.concat())
    }

    /// Ranks the items of a part among the items of all parts. Runs in parallel over the queries.
    ///
    /// `total` is the tally of all parts. `before` is the tally of the preceding parts; this call
    /// adds the tally of this part to `before`, so that a part can be ranked in several pieces.
    ///
    /// # Errors
    /// As for [`tally`](Self::tally); when a metric is of rank 0; and when the items are not among
    /// those of `total`, for example because a part has changed since its tally. `before` is
    /// unchanged after an error.
    pub fn rank(
        &self,
        (codes, labels): (&Codes, Labels<'_>),
        total: &Tally,
        before: &mut Tally,
        metrics: &[Metric],
    ) -> Result<Ranks> {
        let carriers = self.carriers(codes, labels)?;
        total.expect(&self.shape)?;
        before.expect(&self.shape)?;
        let depth = Scoring::new(metrics, total.items() as usize)?.depth() as u64;
        let ranked: Vec<Result<(Vec<u64>, QueryRanks)>> = self.each(codes, |ranking, query| {
            let (relevant, gains) = carriers.of_any_counted(self.labels.row(query));
            ranking.count(self.codes.code(query), &relevant);
            let counts = self.counts(ranking, query, Relevant::new(&relevant, &gains));
            let starts = starts(ranking, total.query(query), before.query(query))?;
            ranking.rank_relevant(&relevant);
            Ok((counts, ranks(ranking, &starts, (&relevant, &gains), depth)))
        });
        let ranked = ranked.into_iter().collect::<Result<Vec<_>>>()?;
        let (counts, ranks): (Vec<_>, Vec<_>) = ranked.into_iter().unzip();
        before.add(&Tally::from_words(&self.shape, counts.concat())?)?;
        Ok(Ranks::new(codes.len() as u64, depth, ranks))
    }

    /// Computes the metrics from the tally and the ranks of all parts.
    ///
    /// # Errors
    /// When the parts have no items, a metric is of rank 0, or tally and ranks are not of the same
    /// items, queries and metrics. The latter happens when a part was omitted or ranked twice.
    pub fn score(&self, total: &Tally, ranks: &Ranks, metrics: &[Metric]) -> Result<Evaluation> {
        total.expect(&self.shape)?;
        let items = total.items();
        check_any("database", items as usize)?;
        let scoring = Scoring::new(metrics, items as usize)?;
        ranks.expect(self.codes.len(), items, scoring.depth() as u64)?;
        let score = |query| {
            let (tally, ranks) = (total.query(query), ranks.query(query));
            let ranking = Merged::new(tally, ranks, scoring.depth())?;
            Ok(scoring.score(&ranking, Relevant::ByGain(tally.by_gain)))
        };
        let scores: Result<Vec<Scores>> =
            (0..self.codes.len()).into_par_iter().map(score).collect();
        Ok(Evaluation::of(&scores?, items as usize, &scoring))
    }

    /// Restores a tally from [its numbers](Tally::words), or from sums of the numbers of several
    /// tallies.
    ///
    /// # Errors
    /// When the numbers are not a tally for these queries.
    pub fn tally_of(&self, words: Vec<u64>) -> Result<Tally> {
        Tally::from_words(&self.shape, words)
    }

    /// Restores ranks from [their numbers](Ranks::to_words).
    ///
    /// # Errors
    /// When the numbers are not ranks for these queries.
    pub fn ranks_of(&self, words: &[u64]) -> Result<Ranks> {
        Ranks::from_words(self.codes.len(), words)
    }

    fn carriers(&self, codes: &Codes, labels: Labels<'_>) -> Result<Carriers> {
        codes.expect_bits(self.codes.bits())?;
        check_rows(codes.len(), labels)?;
        if u32::try_from(codes.len()).is_err() {
            let expected = "fewer than 2^32 items; it can be cut into several";
            return Err(Error::parameter("a part", expected, codes.len()));
        }
        Ok(Carriers::of_rows(labels))
    }

    /// Calls `of_query` for each query, in parallel.
    fn each<T: Send>(
        &self,
        codes: &Codes,
        of_query: impl Fn(&mut Ranking<'_>, usize) -> T + Send + Sync,
    ) -> Vec<T> {
        let queries = (0..self.codes.len()).into_par_iter();
        queries.map_init(|| Ranking::new(codes, 0), of_query).collect()
    }

    /// Returns the counts of a part for one query, in the layout of a tally.
    fn counts(&self, ranking: &Ranking<'_>, query: usize, relevant: Relevant<'_>) -> Vec<u64> {
        let (items, relevant_items): (Vec<u64>, Vec<u64>) = ranking
            .counts()
            .map(|(items, relevant)| (u64::from(items), u64::from(relevant)))
            .unzip();
        let mut by_gain = relevant.by_gain();
        by_gain.resize(self.shape.gains(query) + 1, 0);
        let by_gain = by_gain[1..].iter().map(|&count| count as u64);
        items.into_iter().chain(relevant_items).chain(by_gain).collect()
    }
}

/// Returns two offsets for each distance. The first turns the rank of an item in its part into its
/// rank in the whole database. The second does so for the number of relevant items up to that rank.
fn starts(
    ranking: &Ranking<'_>,
    total: QueryTally<'_>,
    before: QueryTally<'_>,
) -> Result<Vec<(u64, u64)>> {
    let (mut rank, mut found) = (0, 0);
    let mut starts = Vec::with_capacity(total.items.len());
    for (distance, (items, relevant)) in ranking.counts().enumerate() {
        let (items, relevant) = (u64::from(items), u64::from(relevant));
        let (all, all_relevant) = (total.items[distance], total.relevant[distance]);
        let start = (before.items[distance], before.relevant[distance]);
        if start.0 + items > all || start.1 + relevant > all_relevant {
            let expected = format!(
                "of at most {all} items at distance {distance}, {all_relevant} of them relevant, as tallied"
            );
            let found = format!("{}, {}", start.0 + items, start.1 + relevant);
            return Err(Error::parameter("parts", expected, found));
        }
        starts.push((rank + start.0, found + start.1));
        // Ranks in the part already count its items at smaller distances. `total` counts these
        // items, too, so they are subtracted.
        rank += all - items;
        found += all_relevant - relevant;
    }
    Ok(starts)
}

/// Summarises the ranks of the part's relevant items in the whole database.
fn ranks(
    ranking: &Ranking<'_>,
    starts: &[(u64, u64)],
    (relevant, gains): (&[u32], &[u32]),
    depth: u64,
) -> QueryRanks {
    let in_whole = |(&row, &(found, rank)): (&u32, &(u32, u32))| {
        let start = starts[ranking.distance(row)];
        (start.1 + u64::from(found), start.0 + u64::from(rank))
    };
    let ranked: Vec<(u64, u64)> = relevant.iter().zip(ranking.ranked()).map(in_whole).collect();
    let mut sum = PrecisionSum::default();
    sum.add_all(&ranked, |&(found, rank)| found as f64 / (rank as f64 + 1.0));
    let gains = gains.iter().copied().chain(std::iter::repeat(1));
    let head = ranked.iter().zip(gains).filter(|((_, rank), _)| *rank < depth);
    QueryRanks { sum, head: head.map(|((_, rank), gain)| (*rank, gain)).collect() }
}

/// The ranking of the whole database for one query, merged from the ranks of its parts.
struct Merged<'a> {
    tally: QueryTally<'a>,
    sum: PrecisionSum,
    head: Vec<u32>,
}

impl<'a> Merged<'a> {
    fn new(tally: QueryTally<'a>, ranks: &QueryRanks, depth: usize) -> Result<Merged<'a>> {
        let mut head = vec![0; depth];
        for &(rank, gain) in &ranks.head {
            // `Ranks` holds only ranks below the depth, so the index is in range.
            if std::mem::replace(&mut head[rank as usize], gain) != 0 {
                return Err(Error::parameter(
                    "a rank",
                    "that of one item",
                    format!("{rank} twice"),
                ));
            }
        }
        Ok(Merged { tally, sum: ranks.sum, head })
    }
}

impl QueryRanking for Merged<'_> {
    fn precision_sum(&self) -> f64 {
        self.sum.value()
    }

    fn head(&self) -> &[u32] {
        &self.head
    }

    fn within(&self, radius: usize) -> (usize, usize) {
        let sum =
            |counts: &[u64]| counts.iter().take(radius.saturating_add(1)).sum::<u64>() as usize;
        (sum(self.tally.items), sum(self.tally.relevant))
    }
}
