//! What an evaluation needs, and what it comes to: the means over queries.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::metric::{Metric, Scores, Scoring};
use crate::{Error, Labels, Result};

/// What was measured; means over queries.
///
/// Serialised as the object that the command prints: each value under the name of its metric, `null` where
/// it is not a number, beside `queries`, `answerable_queries` and `database`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Evaluation {
    /// How many queries there were.
    pub queries: usize,
    /// How many of them have something relevant in the database.
    pub answerable: usize,
    /// The size of the database.
    pub database: usize,
    /// The metrics that were asked for, in that order and each once. A value is not a number if all
    /// queries are left out of its mean.
    pub values: Vec<(Metric, f64)>,
}

impl Evaluation {
    /// The value of a metric: not a number if it was not asked for, or if all queries are left out of
    /// its mean.
    pub fn get(&self, metric: Metric) -> f64 {
        let of_metric = self.values.iter().find(|(measured, _)| *measured == metric);
        of_metric.map_or(f64::NAN, |(_, value)| *value)
    }

    /// The means of what the queries score.
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

/// What must be so for there to be anything to measure: rows and their labels, of the queries and of
/// the database.
pub(super) fn check(queries: (usize, Labels<'_>), database: (usize, Labels<'_>)) -> Result<()> {
    check_rows(queries.0, queries.1)?;
    check_rows(database.0, database.1)?;
    check_any("queries", queries.0)?;
    check_any("database", database.0)
}

/// Fails unless each row has its labels.
pub(super) fn check_rows(rows: usize, labels: Labels<'_>) -> Result<()> {
    if rows == labels.len() {
        Ok(())
    } else {
        Err(Error::LabelCount { rows, labels: labels.len() })
    }
}

/// Fails unless there are rows.
pub(super) fn check_any(name: &'static str, rows: usize) -> Result<()> {
    if rows > 0 { Ok(()) } else { Err(Error::parameter(name, "1 or more", 0)) }
}
