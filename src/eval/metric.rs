//! The metrics, their names and their formulas. A new metric is one more arm of each `match` in
//! this file.

use std::cell::OnceCell;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{Error, Result};

/// Measure of the quality of a ranking, as the [conventions](super) define it.
///
/// A metric is written, read and serialised by its name:
///
/// ```
/// use hashbrook::eval::Metric;
///
/// assert_eq!(Metric::MapAt(1000).to_string(), "mAP@1000");
/// assert_eq!("precision_radius_2".parse::<Metric>()?, Metric::PrecisionWithin(2));
/// assert!("mAP@0".parse::<Metric>().is_err(), "ranks are counted from 1");
/// # Ok::<(), hashbrook::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Metric {
    /// mAP: the average precision of the whole ranking. Queries without relevant items are omitted.
    Map,
    /// mAP@R: the average precision of the first R items. Queries without relevant items among the
    /// first R are omitted.
    MapAt(usize),
    /// precision@R: the share of the first R items that is relevant.
    PrecisionAt(usize),
    /// Precision within a radius, inclusive: the share of the items within the radius that is
    /// relevant. A query without items within the radius counts 0.
    PrecisionWithin(usize),
    /// nDCG@R: the discounted gain of the first R, divided by that of the best order. The gain of
    /// an item is the number of labels that it shares with the query. Queries without relevant
    /// items are omitted.
    NdcgAt(usize),
}

/// Constructors of the metrics whose names end in a number.
const NUMBERED: [fn(usize) -> Metric; 4] =
    [Metric::MapAt, Metric::PrecisionAt, Metric::PrecisionWithin, Metric::NdcgAt];

impl Metric {
    /// Metrics that are computed by default: mAP, mAP@1000, precision at 1, 5, 10 and 100,
    /// precision within radius 2, and nDCG@100.
    pub const DEFAULT: &'static [Metric] = &[
        Metric::Map,
        Metric::MapAt(1000),
        Metric::PrecisionAt(1),
        Metric::PrecisionAt(5),
        Metric::PrecisionAt(10),
        Metric::PrecisionAt(100),
        Metric::PrecisionWithin(2),
        Metric::NdcgAt(100),
    ];

    /// Returns the name of the metric: a string, and the number at its end.
    fn name(self) -> (&'static str, Option<usize>) {
        match self {
            Metric::Map => ("mAP", None),
            Metric::MapAt(r) => ("mAP@", Some(r)),
            Metric::PrecisionAt(r) => ("precision@", Some(r)),
            Metric::PrecisionWithin(radius) => ("precision_radius_", Some(radius)),
            Metric::NdcgAt(r) => ("ndcg@", Some(r)),
        }
    }

    /// Returns how many ranks, from the first on, the metric reads individually. `None` if the
    /// metric depends on the whole ranking.
    fn ranks(self) -> Option<usize> {
        match self {
            Metric::Map | Metric::PrecisionWithin(_) => None,
            Metric::MapAt(r) | Metric::PrecisionAt(r) | Metric::NdcgAt(r) => Some(r),
        }
    }

    /// Returns the score of a query, or `None` if the query is omitted from the mean.
    fn score(self, query: &Query<'_>) -> Option<f64> {
        let answerable = query.relevant > 0;
        match self {
            Metric::Map => {
                answerable.then(|| query.ranking.precision_sum() / query.relevant as f64)
            }
            Metric::MapAt(r) => {
                let (found, sum) = query.first(r);
                (found > 0).then(|| sum / f64::from(found))
            }
            Metric::PrecisionAt(r) => Some(f64::from(query.first(r).0) / query.clamp(r) as f64),
            Metric::PrecisionWithin(radius) => match query.ranking.within(radius) {
                (0, _) => Some(0.0),
                (items, relevant) => Some(relevant as f64 / items as f64),
            },
            Metric::NdcgAt(r) => {
                answerable.then(|| query.discounted_gain(r) / query.best_discounted_gain(r))
            }
        }
    }

    fn check(self) -> Result<Metric> {
        match self.ranks() {
            Some(0) => Err(Error::parameter("a metric", "of rank 1 or more", self)),
            _ => Ok(self),
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            (text, None) => f.pad(text),
            (text, Some(number)) => f.pad(&format!("{text}{number}")),
        }
    }
}

impl FromStr for Metric {
    type Err = Error;

    /// Accepts only strings that `Display` writes.
    fn from_str(name: &str) -> Result<Metric> {
        let numbered = NUMBERED.iter().filter_map(|metric| {
            let number = name.strip_prefix(metric(0).name().0)?;
            Some(metric(number.parse().ok()?))
        });
        let metric = numbered.chain([Metric::Map]).find(|metric| metric.to_string() == name);
        let known = || {
            let names = NUMBERED.iter().map(|metric| format!("{}N", metric(0).name().0));
            format!("one of {}, {}", Metric::Map, names.collect::<Vec<_>>().join(", "))
        };
        metric.ok_or_else(|| Error::parameter("a metric", known(), name))?.check()
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Metric, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// Properties of one query's ranking of a database that metrics read. Implementations need to
/// compute only the requested properties.
pub(super) trait QueryRanking {
    /// Returns the sum, over all relevant items, of the precision at their ranks.
    fn precision_sum(&self) -> f64;

    /// Returns the gains of the items at the first [`Scoring::depth`] ranks: 0 for irrelevant
    /// items.
    fn head(&self) -> &[u32];

    /// Returns the number of items within a radius, and the number of relevant items among them.
    fn within(&self, radius: usize) -> (usize, usize);
}

/// The relevant items of a query, in as much detail as metrics need.
#[derive(Clone, Copy)]
pub(super) enum Relevant<'a> {
    /// Number of items, all of gain 1.
    Alike(usize),
    /// Gain of each item.
    Gains(&'a [u32]),
    /// Number of items of gain 1, of gain 2, and so on.
    ByGain(&'a [u64]),
}

impl<'a> Relevant<'a> {
    /// Creates the value from the items and the gain of each. Without `gains`, every item has gain
    /// 1.
    pub(super) fn new(relevant: &[u32], gains: &'a [u32]) -> Relevant<'a> {
        if gains.is_empty() { Relevant::Alike(relevant.len()) } else { Relevant::Gains(gains) }
    }

    /// Returns the number of items.
    fn count(self) -> usize {
        match self {
            Relevant::Alike(count) => count,
            Relevant::Gains(gains) => gains.len(),
            Relevant::ByGain(counts) => counts.iter().sum::<u64>() as usize,
        }
    }

    /// Returns the number of items of each gain, from gain 0 on.
    pub(super) fn by_gain(self) -> Vec<usize> {
        match self {
            Relevant::Alike(count) => vec![0, count],
            Relevant::Gains(gains) => {
                let most = gains.iter().max().copied().unwrap_or(0);
                let mut counts = vec![0; most as usize + 1];
                gains.iter().for_each(|&gain| counts[gain as usize] += 1);
                counts
            }
            Relevant::ByGain(counts) => {
                [0].into_iter().chain(counts.iter().map(|&count| count as usize)).collect()
            }
        }
    }
}

/// The metrics of one evaluation, and the values that all queries share.
pub(super) struct Scoring {
    metrics: Vec<Metric>,
    /// Number of items in the database.
    items: usize,
    /// Number of ranks, from the first on, that are read individually.
    depth: usize,
    /// Discount of a gain at each of the first `depth` ranks: `1 / log2(1 + rank)`.
    discounts: Vec<f64>,
    /// Sum of the first `r` discounts, at index `r`.
    discount_sums: Vec<f64>,
}

impl Scoring {
    /// Creates the scoring for a database of `items` items. A repeated metric is used once.
    ///
    /// # Errors
    /// When a metric is of rank 0.
    pub(super) fn new(metrics: &[Metric], items: usize) -> Result<Scoring> {
        let mut different: Vec<Metric> = Vec::with_capacity(metrics.len());
        for metric in metrics {
            if !different.contains(metric) {
                different.push(metric.check()?);
            }
        }
        let deepest = different.iter().filter_map(|metric| metric.ranks()).max();
        let depth = deepest.unwrap_or(0).min(items);
        let discounts: Vec<f64> = (0..depth).map(|rank| 1.0 / (rank as f64 + 2.0).log2()).collect();
        let mut discount_sums = vec![0.0];
        for discount in &discounts {
            discount_sums.push(discount_sums[discount_sums.len() - 1] + discount);
        }
        Ok(Scoring { metrics: different, items, depth, discounts, discount_sums })
    }

    /// Returns the metrics, each once.
    pub(super) fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    /// Returns how many ranks are read individually, at most the number of items.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Computes the score of one query for each metric, from its ranking and its relevant items.
    pub(super) fn score(&self, ranking: &dyn QueryRanking, relevant: Relevant<'_>) -> Scores {
        let mut first = Vec::with_capacity(self.depth + 1);
        let (mut found, mut sum) = (0u32, 0.0);
        first.push((found, sum));
        for (rank, &gain) in ranking.head().iter().enumerate() {
            if gain > 0 {
                found += 1;
                sum += f64::from(found) / (rank + 1) as f64;
            }
            first.push((found, sum));
        }
        let (count, by_gain) = (relevant.count(), OnceCell::new());
        let query =
            Query { scoring: self, ranking, relevant: count, gains: relevant, first, by_gain };
        let by_metric = self.metrics.iter().map(|metric| metric.score(&query)).collect();
        Scores { answerable: count > 0, by_metric }
    }
}

/// Scores of one query.
pub(super) struct Scores {
    /// Whether the query has a relevant item.
    pub(super) answerable: bool,
    /// Scores in the order of [`Scoring::metrics`]; `None` where the query is omitted from the
    /// mean.
    pub(super) by_metric: Vec<Option<f64>>,
}

/// Data of one query that the metrics read.
struct Query<'a> {
    scoring: &'a Scoring,
    ranking: &'a dyn QueryRanking,
    /// Number of relevant items.
    relevant: usize,
    gains: Relevant<'a>,
    /// At index `r`: the number of relevant items among the first `r`, and the sum of the
    /// precisions at their ranks.
    first: Vec<(u32, f64)>,
    /// Number of items of each gain, computed on first use.
    by_gain: OnceCell<Vec<usize>>,
}

impl Query<'_> {
    /// Limits `r` to the number of items.
    fn clamp(&self, r: usize) -> usize {
        r.min(self.scoring.items)
    }

    fn first(&self, r: usize) -> (u32, f64) {
        self.first[self.clamp(r)]
    }

    /// Returns the sum of the gains of the first `r` items, each multiplied by the discount of its
    /// rank.
    fn discounted_gain(&self, r: usize) -> f64 {
        let discounts = &self.scoring.discounts[..self.clamp(r)];
        let gain = |(&gain, discount): (&u32, &f64)| f64::from(gain) * discount;
        self.ranking.head().iter().zip(discounts).map(gain).sum()
    }

    /// Returns the discounted gain of the first `r` items of the best order: all items by gain.
    fn best_discounted_gain(&self, r: usize) -> f64 {
        let by_gain = self.by_gain.get_or_init(|| self.gains.by_gain());
        let (sums, r) = (&self.scoring.discount_sums, self.clamp(r));
        let (mut best, mut rank) = (0.0, 0);
        for (gain, count) in by_gain.iter().enumerate().rev() {
            let end = (rank + count).min(r);
            best += gain as f64 * (sums[end] - sums[rank]);
            rank = end;
        }
        best
    }
}
