//! Input checks and the result of an evaluation: means over queries.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::metric::{Metric, Scores, Scoring};
use crate::{Error, Labels, Result};

/// Result of an evaluation; means over queries.
///
/// Serialised as the object that the command prints. Each value is stored under the name of its
/// metric, and is `null` if it is not a number. The object also has `queries`, `answerable_queries`
/// and `database`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Evaluation {
    /// Number of queries.
    pub queries: usize,
    /// Number of queries that have a relevant item in the database.
    pub answerable: usize,
    /// Number of items in the database.
    pub database: usize,
    /// Values of the requested metrics, in the requested order and each once. A value is NaN if all
    /// queries are omitted from its mean.
    pub values: Vec<(Metric, f64)>,
}

impl Evaluation {
    /// Returns the value of a metric. The value is NaN if the metric was not requested, or if all
    /// queries are omitted from its mean.
    pub fn get(&self, metric: Metric) -> f64 {
        let of_metric = self.values.iter().find(|(measured, _)| *measured == metric);
        of_metric.map_or(f64::NAN, |(_, value)| *value)
    }

    /// Returns the means of the scores of the queries.
    pub(super) fn of(scores: &[Scores], database: usize, scoring: &Scoring) -> Evaluation {
        let mean = |at: usize| {
            let scores: Vec<f64> =
                scores.iter().filter_map(|scores| scores.by_metric[at]).collect();
            scores.iter().sum::<f64>() / scores.len() as f64
        };
        let metrics = scoring.metrics().iter().enumerate();
        Evaluation {
            queries: scores.len(),
            answerable: scores.iter().filter(|scores| scores.answerable).count(),
            database,
            values: metrics.map(|(at, &metric)| (metric, mean(at))).collect(),
        }
    }
}

impl Serialize for Evaluation {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.values.len() + 3))?;
        for (metric, value) in &self.values {
            map.serialize_entry(metric, value)?;
        }
        map.serialize_entry("queries", &self.queries)?;
        map.serialize_entry("answerable_queries", &self.answerable)?;
        map.serialize_entry("database", &self.database)?;
        map.end()
    }
}

/// Checks that queries and database have rows, and that each row has its labels.
pub(super) fn check(queries: (usize, Labels<'_>), database: (usize, Labels<'_>)) -> Result<()> {
    check_rows(queries.0, queries.1)?;
    check_rows(database.0, database.1)?;
    check_any("queries", queries.0)?;
    check_any("database", database.0)
}

/// Checks that the numbers of rows and label sets are equal.
pub(super) fn check_rows(rows: usize, labels: Labels<'_>) -> Result<()> {
    if rows == labels.len() {
        Ok(())
    } else {
        Err(Error::LabelCount { rows, labels: labels.len() })
    }
}

/// Checks that there are rows.
pub(super) fn check_any(name: &'static str, rows: usize) -> Result<()> {
    if rows > 0 { Ok(()) } else { Err(Error::parameter(name, "1 or more", 0)) }
}
