//! What is measured of a ranking, of any kind: the metrics, what one query scores, and the means.

use serde::Serialize;

use crate::{Error, Labels, Result};

/// What to measure besides mAP.
///
/// There may be more one day: begin with the default, or with [these](Measures::new), and change what
/// should be different.
///
/// ```
/// use hashbrook::eval::Measures;
///
/// let mut measures = Measures::default();
/// measures.radii = vec![0, 1, 2];
/// assert_eq!(measures, Measures::new(&[1000], &[1, 5, 10, 100], &[0, 1, 2]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Measures {
    /// The `R` of each mAP@R.
    pub tops: Vec<usize>,
    /// The `R` of each precision@R.
    pub precision_at: Vec<usize>,
    /// The radii of precision within a radius; inclusive.
    pub radii: Vec<usize>,
    /// The `R` of each nDCG@R.
    pub ndcg_at: Vec<usize>,
}

impl Default for Measures {
    fn default() -> Self {
        Measures::new(&[1000], &[1, 5, 10, 100], &[2])
    }
}

impl Measures {
    /// mAP@R and precision@R for each of these `R`, and precision within each of these radii; and
    /// nDCG@100.
    pub fn new(tops: &[usize], precision_at: &[usize], radii: &[usize]) -> Measures {
        let (tops, precision_at) = (tops.to_vec(), precision_at.to_vec());
        Measures { tops, precision_at, radii: radii.to_vec(), ndcg_at: vec![100] }
    }

    /// How many of the first ranks are looked at one by one.
    pub(super) fn deepest(&self) -> usize {
        let ranks = self.tops.iter().chain(&self.precision_at).chain(&self.ndcg_at);
        ranks.max().copied().unwrap_or(0)
    }
}

/// What was measured; means over queries.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// How many queries there were.
    pub queries: usize,
    /// How many of them have something relevant in the database.
    pub answerable: usize,
    /// The size of the database.
    pub database: usize,
    /// mAP; not a number if no query is answerable.
    pub map: f64,
    /// mAP@R for each of [`Measures::tops`]; not a number if no query has anything relevant there.
    pub map_at: Vec<(usize, f64)>,
    /// precision@R for each of [`Measures::precision_at`].
    pub precision_at: Vec<(usize, f64)>,
    /// Precision within each of [`Measures::radii`].
    pub precision_radius: Vec<(usize, f64)>,
    /// nDCG@R for each of [`Measures::ndcg_at`]; not a number if no query is answerable.
    pub ndcg_at: Vec<(usize, f64)>,
}

/// What must be so for there to be anything to measure: rows and their labels, of the queries and of
/// the database.
pub(super) fn check(
    queries: (usize, Labels<'_>),
    database: (usize, Labels<'_>),
    measures: &Measures,
) -> Result<()> {
    for (rows, labels) in [queries, database] {
        if rows != labels.len() {
            return Err(Error::LabelCount { rows, labels: labels.len() });
        }
    }
    for (name, (rows, _)) in [("queries", queries), ("database", database)] {
        if rows == 0 {
            return Err(Error::parameter(name, "1 or more", 0));
        }
    }
    for (name, ranks) in [
        ("top", &measures.tops),
        ("precision_at", &measures.precision_at),
        ("ndcg_at", &measures.ndcg_at),
    ] {
        if ranks.contains(&0) {
            return Err(Error::parameter(name, "1 or more", 0));
        }
    }
    Ok(())
}

/// The means of what the queries score.
pub(super) fn summary(scores: &[Scores], database: usize, measures: &Measures) -> Evaluation {
    let mean = |score: &dyn Fn(&Scores) -> Option<f64>| {
        let scores: Vec<f64> = scores.iter().filter_map(score).collect();
        scores.iter().sum::<f64>() / scores.len() as f64
    };
    let means = |of: &[usize], score: &dyn Fn(&Scores, usize) -> Option<f64>| {
        of.iter().enumerate().map(|(at, &name)| (name, mean(&|s| score(s, at)))).collect()
    };
    Evaluation {
        queries: scores.len(),
        answerable: scores.iter().filter(|score| score.average.is_some()).count(),
        database,
        map: mean(&|score| score.average),
        map_at: means(&measures.tops, &|score, at| score.average_at[at]),
        precision_at: means(&measures.precision_at, &|score, at| Some(score.precision_at[at])),
        precision_radius: means(&measures.radii, &|score, at| Some(score.precision_radius[at])),
        ndcg_at: means(&measures.ndcg_at, &|score, at| score.ndcg_at[at]),
    }
}

/// What one query scores.
pub(super) struct Scores {
    pub(super) average: Option<f64>,
    pub(super) average_at: Vec<Option<f64>>,
    pub(super) precision_at: Vec<f64>,
    pub(super) precision_radius: Vec<f64>,
    pub(super) ndcg_at: Vec<Option<f64>>,
}

/// The metrics that look at the first ranks only, of the gain of the item at each of them: 0 if it is not relevant.
pub(super) fn score_head(
    head: &[u32],
    database: usize,
    measures: &Measures,
) -> (Vec<Option<f64>>, Vec<f64>) {
    // For the first r ranks, at r: the relevant ones, and the sum of the precisions at them.
    let mut totals = Vec::with_capacity(head.len() + 1);
    totals.push((0u32, 0.0));
    for (rank, &gain) in head.iter().enumerate() {
        let (mut found, mut sum) = totals[rank];
        if gain > 0 {
            found += 1;
            sum += f64::from(found) / (rank + 1) as f64;
        }
        totals.push((found, sum));
    }
    let first = |r: usize| totals[r.min(database)];
    let average_at = measures.tops.iter().map(|&r| {
        let (found, sum) = first(r);
        (found > 0).then(|| sum / f64::from(found))
    });
    let precision_at =
        measures.precision_at.iter().map(|&r| f64::from(first(r).0) / r.min(database) as f64);
    (average_at.collect(), precision_at.collect())
}
