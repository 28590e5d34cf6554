//! The papers' protocol.

use std::time::{Duration, Instant};

use crate::eval::{Evaluation, Metric, evaluate};
use crate::{Batch, Error, HashFunction, Learner, Result, Step};

/// Stream to learn from, and data to measure with.
///
/// The papers' protocol: the database holds everything but the queries, in random order, and the
/// stream is the first part of it.
#[derive(Clone, Debug)]
pub struct Experiment<'a> {
    /// Rows to learn from, in the order of the stream.
    pub stream: Batch<'a>,
    /// Rows that are searched.
    pub database: Batch<'a>,
    /// Rows to search with.
    pub queries: Batch<'a>,
    /// Number of rows of the stream that are learned at a time.
    pub batch: usize,
    /// Number of batches between measurements. The end of the stream is always measured; with
    /// `None`, nothing else is.
    pub every: Option<usize>,
    /// Metrics to compute.
    pub metrics: &'a [Metric],
}

/// Measurements at one point of the stream.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Checkpoint {
    /// Number of rows learned so far.
    pub seen: usize,
    /// Time spent learning so far, without the time for measurements.
    pub learning: Duration,
    /// Statistics of learning since the last checkpoint.
    pub step: Step,
    /// Evaluation of the function at this point.
    pub evaluation: Evaluation,
}

impl Experiment<'_> {
    /// Lets a learner learn the stream, and calls `watch` with each checkpoint when it is reached.
    ///
    /// # Errors
    /// When the learner fails, the rows do not match, or the stream, `batch`, `every`, queries or
    /// database are empty or 0.
    pub fn run(
        &self,
        learner: &mut dyn Learner,
        mut watch: impl FnMut(&Checkpoint),
    ) -> Result<Vec<Checkpoint>> {
        for (name, value) in [("batch", self.batch), ("every", self.every.unwrap_or(1))] {
            if value == 0 {
                return Err(Error::parameter(name, "1 or more", 0));
            }
        }
        if self.stream.is_empty() {
            return Err(Error::parameter("stream", "of 1 row or more", 0));
        }
        let mut checkpoints = Vec::new();
        let (mut learning, mut step) = (Duration::ZERO, Step::default());
        let rows = self.stream.len();
        for (number, start) in (0..rows).step_by(self.batch).enumerate() {
            let end = rows.min(start + self.batch);
            let clock = Instant::now();
            step += learner.learn(self.stream.slice(start..end))?;
            learning += clock.elapsed();
            if end == rows || self.every.is_some_and(|every| (number + 1) % every == 0) {
                // Some methods only accumulate sums as they learn, and compute the function on
                // request.
                let clock = Instant::now();
                let function = learner.try_hash_function()?;
                learning += clock.elapsed();
                let evaluation = self.measure(&function)?;
                let step = std::mem::take(&mut step);
                let checkpoint = Checkpoint { seen: end, learning, step, evaluation };
                watch(&checkpoint);
                checkpoints.push(checkpoint);
            }
        }
        Ok(checkpoints)
    }

    /// Evaluates a function on this experiment's database and queries.
    ///
    /// # Errors
    /// When the rows do not fit the function, or have no labels.
    pub fn measure(&self, function: &HashFunction) -> Result<Evaluation> {
        let database = function.encode(self.database.features())?;
        let queries = function.encode(self.queries.features())?;
        let database_labels = self.database.require_labels("evaluation")?;
        let query_labels = self.queries.require_labels("evaluation")?;
        evaluate(&queries, query_labels, &database, database_labels, self.metrics)
    }
}
