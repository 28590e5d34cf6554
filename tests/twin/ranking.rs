//! The metrics by their definition, from a stable sort of the whole database for every query.

use std::collections::HashSet;

use hashbrook::eval::{Evaluation, Metric};
use hashbrook::{Codes, Labels};

/// Returns the number of bits in which code `i` of `left` differs from code `j` of `right`.
pub fn differing_bits(left: &Codes, i: usize, right: &Codes, j: usize) -> usize {
    (0..left.bits()).filter(|&bit| left.bit(i, bit) != right.bit(j, bit)).count()
}

/// Result of an evaluation.
#[derive(Debug)]
pub struct Found {
    pub queries: usize,
    pub answerable: usize,
    pub values: Vec<(Metric, f64)>,
}

impl From<&Evaluation> for Found {
    fn from(found: &Evaluation) -> Found {
        let values = found.values.clone();
        Found { queries: found.queries, answerable: found.answerable, values }
    }
}

pub fn evaluate(
    distance: impl Fn(&Codes, usize, &Codes, usize) -> usize,
    queries: &Codes,
    query_labels: Labels<'_>,
    database: &Codes,
    database_labels: Labels<'_>,
    metrics: &[Metric],
) -> Found {
    let mut answerable = 0;
    let mut scores = vec![Vec::new(); metrics.len()];
    for query in 0..queries.len() {
        let mut ranking: Vec<(usize, usize)> =
            (0..database.len()).map(|row| (distance(queries, query, database, row), row)).collect();
        ranking.sort_by_key(|(distance, _)| *distance);
        let wanted = query_labels.row(query);
        let relevant: Vec<bool> = ranking
            .iter()
            .map(|(_, row)| database_labels.row(*row).iter().any(|label| wanted.contains(label)))
            .collect();
        answerable += usize::from(relevant.contains(&true));

        let shared = |row: usize| {
            let both = wanted.iter().filter(|label| database_labels.row(row).contains(label));
            both.collect::<HashSet<_>>().len() as f64
        };
        let gains: Vec<f64> = ranking.iter().map(|(_, row)| shared(*row)).collect();
        let mut best = gains.clone();
        best.sort_by(|a, b| b.total_cmp(a));

        let first = |r: usize| &relevant[..r.min(relevant.len())];
        for (scores, metric) in scores.iter_mut().zip(metrics) {
            scores.extend(match *metric {
                Metric::Map => average_precision(&relevant),
                Metric::MapAt(r) => average_precision(first(r)),
                Metric::PrecisionAt(r) => Some(precision(first(r))),
                Metric::PrecisionWithin(radius) => {
                    let within = ranking.iter().filter(|(distance, _)| *distance <= radius);
                    Some(precision(first(within.count())))
                }
                Metric::NdcgAt(r) => {
                    (best[0] > 0.0).then(|| discounted(&gains, r) / discounted(&best, r))
                }
                other => panic!("{other} has no twin yet"),
            });
        }
    }
    let values = metrics.iter().zip(&scores).map(|(metric, scores)| (*metric, mean(scores)));
    Found { queries: queries.len(), answerable, values: values.collect() }
}

fn discounted(gains: &[f64], first: usize) -> f64 {
    let gains = gains.iter().take(first).enumerate();
    gains.map(|(rank, gain)| gain / (rank as f64 + 2.0).log2()).sum()
}

fn average_precision(relevant: &[bool]) -> Option<f64> {
    let (mut found, mut sum) = (0.0, 0.0);
    for (rank, _) in relevant.iter().enumerate().filter(|(_, relevant)| **relevant) {
        found += 1.0;
        sum += found / (rank + 1) as f64;
    }
    (found > 0.0).then(|| sum / found)
}

fn precision(relevant: &[bool]) -> f64 {
    let found = relevant.iter().filter(|relevant| **relevant).count();
    if relevant.is_empty() { 0.0 } else { found as f64 / relevant.len() as f64 }
}

fn mean(scores: &[f64]) -> f64 {
    scores.iter().sum::<f64>() / scores.len() as f64
}
