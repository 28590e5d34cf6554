//! The metrics of a ranking by Hamming distance.

use rayon::prelude::*;

use super::evaluation::{Evaluation, check};
use super::metric::{Metric, Relevant, Scores, Scoring};
use super::ranking::Ranking;
use crate::similarity::Carriers;
use crate::{Codes, Labels, Result};

/// Ranks the whole database for every query and computes the metrics. Runs in parallel over the
/// queries; the result does not depend on the number of threads.
///
/// # Errors
/// When codes and labels do not match, the codes have different lengths, or a metric is of rank 0.
/// Also when there are no queries or no items in the database.
pub fn evaluate(
    queries: &Codes,
    query_labels: Labels<'_>,
    database: &Codes,
    database_labels: Labels<'_>,
    metrics: &[Metric],
) -> Result<Evaluation> {
    let (evaluation, _) = evaluate_each(queries, query_labels, database, database_labels, metrics)?;
    Ok(evaluation)
}

/// Computes the same as [`evaluate`], and the values of each query in the order of the metrics. The
/// value is `None` where a query is omitted from a mean.
pub(crate) fn evaluate_each(
    queries: &Codes,
    query_labels: Labels<'_>,
    database: &Codes,
    database_labels: Labels<'_>,
    metrics: &[Metric],
) -> Result<(Evaluation, Vec<Vec<Option<f64>>>)> {
    database.expect_bits(queries.bits())?;
    check((queries.len(), query_labels), (database.len(), database_labels))?;
    let scoring = Scoring::new(metrics, database.len())?;
    let carriers = Carriers::of_rows(database_labels);
    let scores: Vec<Scores> = (0..queries.len())
        .into_par_iter()
        .map_init(
            || Ranking::new(database, scoring.depth()),
            |ranking, query| {
                let (relevant, gains) = carriers.of_any_counted(query_labels.row(query));
                ranking.find(queries.code(query), (&relevant, &gains));
                scoring.score(ranking, Relevant::new(&relevant, &gains))
            },
        )
        .collect();

    let evaluation = Evaluation::of(&scores, database.len(), &scoring);
    Ok((evaluation, scores.into_iter().map(|scores| scores.by_metric).collect()))
}
