//! Metrics of a ranking by scores of any kind.

use std::ops::Range;

use rayon::prelude::*;

use super::evaluation::{Evaluation, check};
use super::metric::{Metric, QueryRanking, Relevant, Scores, Scoring};
use super::precision_sum::PrecisionSum;
use crate::similarity::Carriers;
use crate::{Labels, Result};

/// Number of queries that are scored together.
pub(super) const QUERIES_AT_ONCE: usize = 32;

/// Scores of each item of a database for each query: the smaller the score, the nearer the item.
/// NaN comes last.
pub trait Scorer: Sync {
    /// Returns the number of queries.
    fn queries(&self) -> usize;

    /// Returns the number of items in the database.
    fn database(&self) -> usize;

    /// Writes the scores of some queries into `out`: the scores of all items for the first query,
    /// then for the next.
    fn score(&self, queries: Range<usize>, out: &mut [f32]);

    /// Writes integer keys in the order and the layout of the scores; the ranking sorts by these
    /// keys. The default implementation converts the scores. A scorer should override it if its
    /// scores are integers that `f32` does not represent exactly.
    fn keys(&self, queries: Range<usize>, out: &mut [u32]) {
        let mut scores = vec![0.0; out.len()];
        self.score(queries, &mut scores);
        out.iter_mut().zip(scores).for_each(|(out, score)| *out = key(score));
    }

    /// Returns the largest key that a score of at most `radius` can have. The default
    /// implementation matches that of [`keys`](Scorer::keys).
    fn key_within(&self, radius: usize) -> u32 {
        key(radius as f32)
    }
}

/// Computes the metrics of [`evaluate`](super::evaluate) for a ranking by scores, the smallest
/// first. Ties are ordered by position. Precision within a radius is the precision among the items
/// with a score of at most the radius.
///
/// # Errors
/// When the numbers of labels and scores differ, a metric is of rank 0, or there are no queries or
/// no items in the database.
pub fn evaluate_scores(
    scorer: &dyn Scorer,
    query_labels: Labels<'_>,
    database_labels: Labels<'_>,
    metrics: &[Metric],
) -> Result<Evaluation> {
    let (queries, database) = (scorer.queries(), scorer.database());
    check((queries, query_labels), (database, database_labels))?;
    let scoring = Scoring::new(metrics, database)?;
    let carriers = Carriers::of_rows(database_labels);
    let starts: Vec<usize> = (0..queries).step_by(QUERIES_AT_ONCE).collect();
    let scores: Vec<Vec<Scores>> = starts
        .into_par_iter()
        .map_init(
            || (Order::new(scorer), vec![0; QUERIES_AT_ONCE * database]),
            |(order, keys), start| {
                let these = start..queries.min(start + QUERIES_AT_ONCE);
                let keys = &mut keys[..these.len() * database];
                scorer.keys(these.clone(), keys);
                let score = |(query, keys): (usize, &[u32])| {
                    let (relevant, gains) = carriers.of_any_counted(query_labels.row(query));
                    order.find(keys, (&relevant, &gains), scoring.depth());
                    scoring.score(order, Relevant::new(&relevant, &gains))
                };
                these.zip(keys.chunks_exact(database)).map(score).collect()
            },
        )
        .collect();
    let scores: Vec<Scores> = scores.into_iter().flatten().collect();
    Ok(Evaluation::of(&scores, database, &scoring))
}

/// Number of bits of a key that one pass of the sort uses. `DIGITS` is the number of passes.
const DIGIT: u32 = 11;
const DIGITS: usize = u32::BITS.div_ceil(DIGIT) as usize;

/// Order of a database by scores, for one query at a time: a stable radix sort.
pub(super) struct Order<'a> {
    scorer: &'a dyn Scorer,
    /// Key (upper 32 bits) and position (lower 32 bits) of each item; in ranking order after the
    /// sort.
    sorted: Vec<u64>,
    spare: Vec<u64>,
    /// Gain of each item: 0 if it is not relevant.
    gains: Vec<u32>,
    /// Gains of the items at the first ranks.
    head: Vec<u32>,
}

/// Returns an integer in the order of the scores. Positive and negative zero have the same key.
fn key(score: f32) -> u32 {
    if score.is_nan() {
        return u32::MAX;
    }
    let bits = (score + 0.0).to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

impl<'a> Order<'a> {
    pub(super) fn new(scorer: &'a dyn Scorer) -> Order<'a> {
        let database = scorer.database();
        let zeros = || vec![0; database];
        let (sorted, spare, gains) = (zeros(), zeros(), vec![0; database]);
        Order { scorer, sorted, spare, gains, head: Vec::new() }
    }

    /// Returns the rank of each item in the ranking by these keys.
    pub(super) fn ranks(&mut self, keys: &[u32]) -> Vec<u32> {
        self.sort(keys);
        let mut ranks = vec![0; keys.len()];
        for (rank, &item) in self.sorted.iter().enumerate() {
            ranks[item as u32 as usize] = rank as u32;
        }
        ranks
    }

    fn sort(&mut self, keys: &[u32]) {
        let digit = |item: u64, pass: usize| {
            (item >> (32 + DIGIT * pass as u32)) as usize & ((1 << DIGIT) - 1)
        };
        let mut counts = vec![[0u32; 1 << DIGIT]; DIGITS];
        for (at, (item, &key)) in self.sorted.iter_mut().zip(keys).enumerate() {
            *item = u64::from(key) << 32 | at as u64;
            counts
                .iter_mut()
                .enumerate()
                .for_each(|(pass, counts)| counts[digit(*item, pass)] += 1);
        }
        for (pass, counts) in counts.iter_mut().enumerate() {
            // The high digits of small integers are all equal, so their passes are skipped.
            if counts.iter().any(|&count| count as usize == keys.len()) {
                continue;
            }
            let mut next = 0;
            for count in counts.iter_mut() {
                (*count, next) = (next, next + *count);
            }
            for &item in &self.sorted {
                let place = &mut counts[digit(item, pass)];
                self.spare[*place as usize] = item;
                *place += 1;
            }
            std::mem::swap(&mut self.sorted, &mut self.spare);
        }
    }

    /// Computes the ranking by these keys, and the gains at its first `depth` ranks. Without
    /// `gains`, every relevant item has the gain 1.
    fn find(&mut self, keys: &[u32], (relevant, gains): (&[u32], &[u32]), depth: usize) {
        self.sort(keys);
        self.gains.fill(0);
        let all = gains.iter().copied().chain(std::iter::repeat(1));
        relevant.iter().zip(all).for_each(|(&item, gain)| self.gains[item as usize] = gain);
        self.head.clear();
        let first = self.sorted[..depth].iter();
        self.head.extend(first.map(|item| self.gains[*item as u32 as usize]));
    }

    fn is_relevant(&self, item: u64) -> bool {
        self.gains[item as u32 as usize] > 0
    }
}

impl QueryRanking for Order<'_> {
    fn precision_sum(&self) -> f64 {
        let (mut found, mut sum) = (0.0, PrecisionSum::default());
        for (rank, _) in self.sorted.iter().enumerate().filter(|(_, item)| self.is_relevant(**item))
        {
            found += 1.0;
            sum.add(found / (rank + 1) as f64);
        }
        sum.value()
    }

    fn head(&self) -> &[u32] {
        &self.head
    }

    fn within(&self, radius: usize) -> (usize, usize) {
        let limit = self.scorer.key_within(radius);
        let within = self.sorted.partition_point(|item| (item >> 32) as u32 <= limit);
        let relevant = self.sorted[..within].iter().filter(|item| self.is_relevant(**item));
        (within, relevant.count())
    }
}
