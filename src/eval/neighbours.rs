//! Preservation of nearest neighbours by codes, independent of labels.

use std::ops::Range;

use rayon::prelude::*;
use serde::Serialize;

use super::cosine::Cosine;
use super::scored::{Order, QUERIES_AT_ONCE, Scorer};
use crate::kernel::distances;
use crate::{Batch, Codes, Error, Features, Labels, Result};

/// Number of nearest neighbours by the vectors that codes should return.
const TRUE_NEAREST: usize = 10;

/// Items to measure: codes, the vectors that were encoded, and labels.
#[derive(Clone, Copy, Debug)]
pub struct Items<'a> {
    codes: &'a Codes,
    features: Features<'a>,
    labels: Labels<'a>,
}

impl<'a> Items<'a> {
    /// Combines codes, vectors and labels, which must be in the same order.
    ///
    /// # Errors
    /// When there are no items, or the numbers of codes, vectors and labels differ.
    pub fn new(codes: &'a Codes, features: Features<'a>, labels: Labels<'a>) -> Result<Items<'a>> {
        if codes.len() != labels.len() || features.len() != labels.len() {
            return Err(Error::LabelCount {
                rows: codes.len().max(features.len()),
                labels: labels.len(),
            });
        }
        if codes.is_empty() {
            return Err(Error::parameter("items", "1 or more", 0));
        }
        Ok(Items { codes, features, labels })
    }
}

/// Preservation of neighbours by codes; means over queries.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Neighbours {
    /// Number of queries.
    pub queries: usize,
    /// For each N: the share of the ten nearest items by cosine that is among the first N by codes.
    pub kept: Vec<(usize, f64)>,
    /// For each N: the share of queries for which the first of the N nearest by codes, re-ranked by
    /// cosine, shares a label with the query.
    pub reranked: Vec<(usize, f64)>,
    /// For each N: precision@10 of the N nearest items by codes, re-ranked by cosine.
    pub reranked_at_10: Vec<(usize, f64)>,
    /// Share of queries for which the nearest item by cosine shares a label with the query.
    pub by_vectors: f64,
    /// Precision@10 of the ranking by cosine.
    pub by_vectors_at_10: f64,
}

/// Measures how well codes preserve the neighbours of vectors by cosine. Ties are ordered by
/// position, for codes and for vectors. Results do not depend on the number of threads.
///
/// # Errors
/// When codes or vectors of queries and database do not match, or an N is 0.
pub fn neighbours(queries: Items<'_>, database: Items<'_>, among: &[usize]) -> Result<Neighbours> {
    database.codes.expect_bits(queries.codes.bits())?;
    let ranks = |these: Range<usize>| {
        these.map(|query| ranks(queries.codes.code(query), database.codes)).collect()
    };
    measure((queries.features, queries.labels), (database.features, database.labels), among, &ranks)
}

/// Measures the same as [`neighbours`] for a ranking by scores instead of codes.
///
/// # Errors
/// As for [`neighbours`]; and when the numbers of scores and rows differ, or rows have no labels.
pub fn neighbours_by(
    scorer: &dyn Scorer,
    queries: Batch<'_>,
    database: Batch<'_>,
    among: &[usize],
) -> Result<Neighbours> {
    for (name, rows, scored) in [
        ("queries", queries.len(), scorer.queries()),
        ("database", database.len(), scorer.database()),
    ] {
        if rows != scored {
            return Err(Error::parameter(name, format!("of {scored} rows, as scores are"), rows));
        }
        if rows == 0 {
            return Err(Error::parameter(name, "1 or more", 0));
        }
    }
    let labels = (queries.require_labels("evaluation")?, database.require_labels("evaluation")?);
    let ranks = |these: Range<usize>| {
        let mut order = Order::new(scorer);
        let mut keys = vec![0; these.len() * scorer.database()];
        scorer.keys(these, &mut keys);
        keys.chunks_exact(scorer.database()).map(|keys| order.ranks(keys)).collect()
    };
    measure((queries.features(), labels.0), (database.features(), labels.1), among, &ranks)
}

/// Vectors and their labels.
type Rows<'a> = (Features<'a>, Labels<'a>);

/// Measures the neighbours of all queries. `ranks` returns, for each query of a range, the rank of
/// each item.
fn measure(
    queries: Rows<'_>,
    database: Rows<'_>,
    among: &[usize],
    ranks: &(dyn Fn(Range<usize>) -> Vec<Vec<u32>> + Sync),
) -> Result<Neighbours> {
    if among.contains(&0) {
        return Err(Error::parameter("neighbours among the first", "1 or more", 0));
    }
    let cosine = Cosine::new(queries.0, database.0)?;
    let starts: Vec<usize> = (0..queries.0.len()).step_by(QUERIES_AT_ONCE).collect();
    let scores: Vec<Vec<Score>> = starts
        .into_par_iter()
        .map(|start| {
            let these = start..queries.0.len().min(start + QUERIES_AT_ONCE);
            let products = cosine.products(these.clone());
            let ranks = ranks(these.clone());
            let score = |(query, ranks): (usize, Vec<u32>)| {
                let wanted = queries.1.row(query);
                score(wanted, database.1, among, &ranks, products.column(query - start))
            };
            these.zip(ranks).map(score).collect()
        })
        .collect();
    let scores = scores.concat();
    let mean =
        |of: &dyn Fn(&Score) -> f64| scores.iter().map(of).sum::<f64>() / scores.len() as f64;
    let means = |of: &dyn Fn(&Score, usize) -> f64| {
        among.iter().enumerate().map(|(at, &n)| (n, mean(&|score| of(score, at)))).collect()
    };
    Ok(Neighbours {
        queries: scores.len(),
        kept: means(&|score, at| score.kept[at]),
        reranked: means(&|score, at| score.reranked[at][0]),
        reranked_at_10: means(&|score, at| score.reranked[at][1]),
        by_vectors: mean(&|score| score.by_vectors[0]),
        by_vectors_at_10: mean(&|score| score.by_vectors[1]),
    })
}

/// Scores of one query; precisions are at 1 and at 10.
#[derive(Clone)]
struct Score {
    kept: Vec<f64>,
    reranked: Vec<[f64; 2]>,
    by_vectors: [f64; 2],
}

fn score(
    wanted: &[u32],
    labels: Labels<'_>,
    among: &[usize],
    ranks: &[u32],
    cosines: impl Iterator<Item = f32> + Clone,
) -> Score {
    let precision = |ranked: &[usize]| {
        let shares = |&&item: &&usize| labels.row(item).iter().any(|label| wanted.contains(label));
        [1, TRUE_NEAREST].map(|most| {
            let first = &ranked[..most.min(ranked.len())];
            first.iter().filter(shares).count() as f64 / first.len().max(1) as f64
        })
    };
    let cosines = cosines.enumerate();
    let best = nearest(cosines.clone());
    let kept = |&n: &usize| {
        let found = best.iter().filter(|&&item| (ranks[item] as usize) < n).count();
        found as f64 / best.len() as f64
    };
    let reranked = |&n: &usize| {
        let within = cosines.clone().filter(|(item, _)| (ranks[*item] as usize) < n);
        precision(&nearest(within))
    };
    Score {
        kept: among.iter().map(kept).collect(),
        reranked: among.iter().map(reranked).collect(),
        by_vectors: precision(&best),
    }
}

/// Returns the items with the largest cosines, the largest first. Ties are ordered by position.
fn nearest(cosines: impl Iterator<Item = (usize, f32)>) -> Vec<usize> {
    let mut nearest: Vec<(f32, usize)> = Vec::with_capacity(TRUE_NEAREST + 1);
    for (item, cosine) in cosines {
        if nearest.len() == TRUE_NEAREST && cosine <= nearest[TRUE_NEAREST - 1].0 {
            continue;
        }
        let at = nearest.partition_point(|(other, _)| *other >= cosine);
        nearest.insert(at, (cosine, item));
        nearest.truncate(TRUE_NEAREST);
    }
    nearest.into_iter().map(|(_, item)| item).collect()
}

/// Returns the rank of each item in the ranking by codes. Ties are ordered by position.
fn ranks(query: &[u64], database: &Codes) -> Vec<u32> {
    let mut found = vec![0u16; database.len()];
    distances(query, database.words(), &mut found);
    let mut starts = vec![0u32; database.bits() + 2];
    found.iter().for_each(|&distance| starts[usize::from(distance) + 1] += 1);
    for distance in 1..starts.len() {
        starts[distance] += starts[distance - 1];
    }
    let place = |distance: &u16| {
        let next = &mut starts[usize::from(*distance)];
        *next += 1;
        *next - 1
    };
    found.iter().map(place).collect()
}
