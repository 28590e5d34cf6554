//! The metrics as they are defined: a stable sort of the whole database for every query.

use std::collections::HashSet;

use hashbrook::eval::{Evaluation, Measures};
use hashbrook::{Codes, Labels};

/// In how many bits code `i` of the one differs from code `j` of the other.
pub fn differing_bits(left: &Codes, i: usize, right: &Codes, j: usize) -> usize {
    (0..left.bits()).filter(|&bit| left.bit(i, bit) != right.bit(j, bit)).count()
}

pub fn evaluate(
    distance: impl Fn(&Codes, usize, &Codes, usize) -> usize,
    queries: &Codes,
    query_labels: Labels<'_>,
    database: &Codes,
    database_labels: Labels<'_>,
    measures: &Measures,
) -> Evaluation {
    let mut average = Vec::new();
    let mut average_at = vec![Vec::new(); measures.tops.len()];
    let mut precision_at = vec![Vec::new(); measures.precision_at.len()];
    let mut precision_radius = vec![Vec::new(); measures.radii.len()];
    let mut ndcg_at = vec![Vec::new(); measures.ndcg_at.len()];
    for query in 0..queries.len() {
        let mut ranking: Vec<(usize, usize)> =
            (0..database.len()).map(|row| (distance(queries, query, database, row), row)).collect();
        ranking.sort_by_key(|(distance, _)| *distance);
        let wanted = query_labels.row(query);
        let relevant: Vec<bool> = ranking
            .iter()
            .map(|(_, row)| database_labels.row(*row).iter().any(|label| wanted.contains(label)))
            .collect();

        let shared = |row: usize| {
            let both = wanted.iter().filter(|label| database_labels.row(row).contains(label));
            both.collect::<HashSet<_>>().len() as f64
        };
        let gains: Vec<f64> = ranking.iter().map(|(_, row)| shared(*row)).collect();
        let mut best = gains.clone();
        best.sort_by(|a, b| b.total_cmp(a));
        for (scores, &first) in ndcg_at.iter_mut().zip(&measures.ndcg_at) {
            if best[0] > 0.0 {
                scores.push(discounted(&gains, first) / discounted(&best, first));
            }
        }

        average.extend(average_precision(&relevant));
        for (scores, &top) in average_at.iter_mut().zip(&measures.tops) {
            scores.extend(average_precision(&relevant[..top.min(relevant.len())]));
        }
        for (scores, &first) in precision_at.iter_mut().zip(&measures.precision_at) {
            scores.push(precision(&relevant[..first.min(relevant.len())]));
        }
        for (scores, &radius) in precision_radius.iter_mut().zip(&measures.radii) {
            let within = ranking.iter().filter(|(distance, _)| *distance <= radius).count();
            scores.push(precision(&relevant[..within]));
        }
    }
    let means = |names: &[usize], scores: &[Vec<f64>]| {
        names.iter().zip(scores).map(|(&name, scores)| (name, mean(scores))).collect()
    };
    Evaluation {
        queries: queries.len(),
        answerable: average.len(),
        database: database.len(),
        map: mean(&average),
        map_at: means(&measures.tops, &average_at),
        precision_at: means(&measures.precision_at, &precision_at),
        precision_radius: means(&measures.radii, &precision_radius),
        ndcg_at: means(&measures.ndcg_at, &ndcg_at),
    }
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
