//! The metrics: what each is called, and what a query scores by it. All that is known of a metric stands
//! here, so that one more is one more arm of each `match`.

use std::cell::OnceCell;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{Error, Result};

/// One number that says how good a ranking is, as the [conventions](super) define it.
///
/// A metric is written, read and serialised by the name that programs know it by:
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
    /// mAP: the average precision of the whole ranking. Queries that have nothing relevant are left
    /// out.
    Map,
    /// mAP@R: the average precision of the first R. Queries that have nothing relevant there are left
    /// out.
    MapAt(usize),
    /// precision@R: the part of the first R that is relevant.
    PrecisionAt(usize),
    /// Precision within a radius, inclusive: the part of what lies there that is relevant. A query that
    /// has nothing there counts 0.
    PrecisionWithin(usize),
    /// nDCG@R: the discounted gain of the first R, beside that of the best order; the gain of an item is
    /// the number of labels that it shares with the query. Queries that have nothing relevant are left
    /// out.
    NdcgAt(usize),
}

/// The metrics that have a number, which ends their names.
const NUMBERED: [fn(usize) -> Metric; 4] =
    [Metric::MapAt, Metric::PrecisionAt, Metric::PrecisionWithin, Metric::NdcgAt];

impl Metric {
    /// What is measured where nothing else is asked for: mAP, mAP@1000, precision at 1, 5, 10 and 100,
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

    /// Its name: a text, and the number that ends it.
    fn name(self) -> (&'static str, Option<usize>) {
        match self {
            Metric::Map => ("mAP", None),
            Metric::MapAt(r) => ("mAP@", Some(r)),
            Metric::PrecisionAt(r) => ("precision@", Some(r)),
            Metric::PrecisionWithin(radius) => ("precision_radius_", Some(radius)),
            Metric::NdcgAt(r) => ("ndcg@", Some(r)),
        }
    }

    /// How many of the first ranks it looks at one by one, if it does not look at the whole ranking.
    fn ranks(self) -> Option<usize> {
        match self {
            Metric::Map | Metric::PrecisionWithin(_) => None,
            Metric::MapAt(r) | Metric::PrecisionAt(r) | Metric::NdcgAt(r) => Some(r),
        }
    }

    /// What a query scores; `None` where it is left out of the mean.
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

    /// Reads what `Display` writes, and nothing else.
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

/// What metrics ask of the ranking of a database for one query. Nothing that is not asked for need be
/// found out.
pub(super) trait QueryRanking {
    /// The sum, over all relevant items, of the precision at their ranks.
    fn precision_sum(&self) -> f64;

    /// The gains of the items at the first [`Scoring::depth`] ranks: 0 if they are not relevant.
    fn head(&self) -> &[u32];

    /// How many items lie within a radius, and how many of them are relevant.
    fn within(&self, radius: usize) -> (usize, usize);
}

/// What is relevant to a query, as far as metrics ask for it.
#[derive(Clone, Copy)]
pub(super) enum Relevant<'a> {
    /// So many items of the gain 1.
    Alike(usize),
    /// Items of these gains.
    Gains(&'a [u32]),
    /// So many items of the gain 1, of the gain 2, and so on.
    ByGain(&'a [u64]),
}

impl<'a> Relevant<'a> {
    /// So many items, and the gain of each; no gains where all are 1.
    pub(super) fn new(relevant: &[u32], gains: &'a [u32]) -> Relevant<'a> {
        if gains.is_empty() { Relevant::Alike(relevant.len()) } else { Relevant::Gains(gains) }
    }

    /// How many items there are.
    fn count(self) -> usize {
        match self {
            Relevant::Alike(count) => count,
            Relevant::Gains(gains) => gains.len(),
            Relevant::ByGain(counts) => counts.iter().sum::<u64>() as usize,
        }
    }

    /// How many items there are of each gain, from 0 on.
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

/// The metrics of one evaluation, and what they have in common.
pub(super) struct Scoring {
    metrics: Vec<Metric>,
    /// The size of the database.
    items: usize,
    /// How many of the first ranks are looked at one by one.
    depth: usize,
    /// `1 / log2(1 + rank)` for each of them: what a gain counts there.
    discounts: Vec<f64>,
    /// At `r`: the sum of the first `r` discounts.
    discount_sums: Vec<f64>,
}

impl Scoring {
    /// Of a database of so many items. A metric that is there twice is taken once.
    ///
    /// # Errors
    /// When a metric looks at the first 0 ranks.
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

    /// The metrics, each once.
    pub(super) fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    /// How many of the first ranks are looked at one by one: not more than there are.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// What one query scores by each of the metrics, from its ranking and what is relevant to it.
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

/// What one query scores.
pub(super) struct Scores {
    /// Whether anything is relevant to it.
    pub(super) answerable: bool,
    /// In the order of [`Scoring::metrics`]; `None` where the query is left out of the mean.
    pub(super) by_metric: Vec<Option<f64>>,
}

/// What the metrics see of one query.
struct Query<'a> {
    scoring: &'a Scoring,
    ranking: &'a dyn QueryRanking,
    /// How many items are relevant.
    relevant: usize,
    gains: Relevant<'a>,
    /// At `r`, of the first `r`: how many are relevant, and the sum of the precisions at their ranks.
    first: Vec<(u32, f64)>,
    /// How many items there are of each gain, once it was asked for.
    by_gain: OnceCell<Vec<usize>>,
}

impl Query<'_> {
    /// The first `r` are all, if there are not so many.
    fn clamp(&self, r: usize) -> usize {
        r.min(self.scoring.items)
    }

    fn first(&self, r: usize) -> (u32, f64) {
        self.first[self.clamp(r)]
    }

    /// The gains of the first `r`, each by the discount of its rank.
    fn discounted_gain(&self, r: usize) -> f64 {
        let discounts = &self.scoring.discounts[..self.clamp(r)];
        let gain = |(&gain, discount): (&u32, &f64)| f64::from(gain) * discount;
        self.ranking.head().iter().zip(discounts).map(gain).sum()
    }

    /// The same if all items stood in the order of their gains.
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
