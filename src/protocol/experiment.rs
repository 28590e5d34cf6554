//! The papers' protocol.

use std::time::{Duration, Instant};

use crate::eval::{Evaluation, Metric, evaluate};
use crate::{Batch, Error, HashFunction, Learner, Result, Step};

/// What to learn from, and what to measure with.
///
/// The papers' protocol: the database holds everything but the queries, in random order, and the
/// stream is the first part of it.
#[derive(Clone, Debug)]
pub struct Experiment<'a> {
    /// The rows to learn from, in the order of the stream.
    pub stream: Batch<'a>,
    /// The rows to be found.
    pub database: Batch<'a>,
    /// The rows to search with.
    pub queries: Batch<'a>,
    /// How many rows of the stream are learned at a time.
    pub batch: usize,
    /// After how many batches to measure; `None` to do so at the end alone. The end is always
    /// measured.
    pub every: Option<usize>,
    /// What to measure.
    pub metrics: &'a [Metric],
}

/// What was found at one point of the stream.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Checkpoint {
    /// Rows learned so far.
    pub seen: usize,
    /// Time spent learning so far; measuring is not in it.
    pub learning: Duration,
    /// What learning did since the last checkpoint.
    pub step: Step,
    /// How good the function was then.
    pub evaluation: Evaluation,
}

impl Experiment<'_> {
    /// Lets a learner learn the stream, and calls `watch` with each checkpoint as it is reached.
    ///
    /// # Errors
    /// When the learner fails, the rows do not fit each other, or something is empty.
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
                // Some methods only add up as they learn, and solve when they are asked.
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

    /// How good a function is on this experiment's database and queries.
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
