//! Experiments: a stream learned batch by batch, and measured on the way.
//!
//! [`Experiment`] is the papers' protocol, which rewards one thing: the same label, among classes that were
//! all learned. The others measure what else codes are searched for. Each takes a [`Ranked`]: queries and
//! a database, encoded once, ranked by their codes, by a [`Dial`](crate::eval::Dial), or by the
//! vectors themselves.
//!
//! * [`UnseenClasses`]: a quarter of the classes never come in the stream.
//! * [`kept_out`]: rows of the database that were in the stream, and rows that were not.
//! * [`Ranked::neighbours`]: what is near by the vectors themselves.
//! * [`Incremental`]: the stream brings its classes two at a time.
//! * [`SeveralLabels`]: rows with several labels, made of rows with one.
//!
//! Classes that are held back, come in turn or are put together need one label per row; the others take
//! several as well.

mod incremental;
mod kept_out;
mod ranked;
mod several_labels;
mod unseen;

use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;

pub use self::incremental::{Incremental, IncrementalFound};
pub use self::kept_out::{KeptOutFound, kept_out};
pub use self::ranked::{Ranked, Vectors};
pub use self::several_labels::SeveralLabels;
pub use self::unseen::{UnseenClasses, UnseenFound};
use crate::dataset::LabelList;
use crate::eval::{Evaluation, Measures, evaluate};
use crate::{Batch, Error, Features, HashFunction, Labels, Learner, Result, Step};

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
    pub measures: Measures,
}

/// What was found at one point of the stream.
#[derive(Clone, Debug)]
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
        evaluate(&queries, query_labels, &database, database_labels, &self.measures)
    }
}

/// Lets a learner learn some rows, in the order given and so many at a time. How long learning took.
///
/// # Errors
/// When the learner fails, or `batch` is 0.
///
/// # Panics
/// When there is no such row.
pub fn learn_rows(
    learner: &mut dyn Learner,
    from: Batch<'_>,
    rows: &[usize],
    batch: usize,
) -> Result<Duration> {
    if batch == 0 {
        return Err(Error::parameter("batch", "1 or more", 0));
    }
    let mut learning = Duration::ZERO;
    for rows in rows.chunks(batch) {
        let features: Vec<f32> =
            rows.iter().flat_map(|&row| from.features().row(row)).copied().collect();
        let features = Features::new(&features, from.features().dim())?;
        let labels = from.labels().map(|labels| select(labels, rows));
        let batch = match &labels {
            Some(labels) => Batch::new(features, labels.view())?,
            None => Batch::unlabelled(features),
        };
        let clock = Instant::now();
        learner.learn(batch)?;
        learning += clock.elapsed();
    }
    Ok(learning)
}

/// The labels of some rows, in the order given.
fn select(labels: Labels<'_>, rows: &[usize]) -> LabelList {
    match labels.as_single() {
        Some(values) => LabelList::from_single(rows.iter().map(|&row| values[row]).collect()),
        None => {
            let mut selected = LabelList::new_sets();
            rows.iter().for_each(|&row| selected.push_set(labels.row(row)));
            selected
        }
    }
}

/// The class of each row, for what makes sense with one label per row alone.
fn classes(labels: Labels<'_>, protocol: &'static str) -> Result<Vec<u32>> {
    let class = |row: usize| match labels.row(row) {
        [class] => Ok(*class),
        others => Err(Error::OneLabel { protocol, row, labels: others.len() }),
    };
    (0..labels.len()).map(class).collect()
}

/// The classes there are, in an order drawn by the seed.
fn shuffled(classes: &[u32], seed: u64, purpose: u64) -> Vec<u32> {
    let mut distinct = classes.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    // Another draw than that of the split, which takes the same seed.
    rng.set_stream(purpose);
    distinct.shuffle(&mut rng);
    distinct
}
