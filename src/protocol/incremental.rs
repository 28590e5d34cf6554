//! Streams that are not mixed: classes two at a time.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::ranked::Ranked;
use super::rows::{classes, learn_rows, shuffled};
use crate::eval::{Evaluation, Metric};
use crate::{Batch, Error, Labels, Learner, Result};

const NAME: &str = "streams by class";

/// How many classes come together.
const AT_A_TIME: usize = 2;

/// How many of the first classes are measured right after they came, and again at the end.
const FIRST: usize = 4;

/// The order in which a stream brings its classes, drawn by a seed: two at a time, mixed within the two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incremental {
    order: Vec<u32>,
}

/// What [`Incremental::run`] finds.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IncrementalFound {
    /// Queries of all classes, at the end.
    pub all: Evaluation,
    /// Queries of the first four classes among the rows of these, right after they came.
    pub first_then: Evaluation,
    /// The same at the end: what was forgotten is missing.
    pub first_at_end: Evaluation,
    /// How long learning took.
    pub learning: Duration,
}

impl Incremental {
    /// Draws the order. The same `seed` gives the same one.
    ///
    /// # Errors
    /// When a row has not one label, or there are not more than four classes.
    pub fn draw(labels: Labels<'_>, seed: u64) -> Result<Incremental> {
        let order = shuffled(&classes(labels, NAME)?, seed, 2);
        if order.len() <= FIRST {
            return Err(Error::parameter("classes", "more than 4", order.len()));
        }
        Ok(Incremental { order })
    }

    /// The classes in the order in which they come.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// The rows of each two classes, of the first `rows` of a database, in its order.
    ///
    /// # Errors
    /// When a row has not one label.
    pub fn steps(&self, database: Labels<'_>, rows: usize) -> Result<Vec<Vec<usize>>> {
        let classes = classes(database, NAME)?;
        let place: HashMap<u32, usize> =
            self.order.iter().enumerate().map(|(at, class)| (*class, at / AT_A_TIME)).collect();
        let mut steps = vec![Vec::new(); self.order.len().div_ceil(AT_A_TIME)];
        for (row, class) in classes.iter().enumerate().take(rows) {
            // A class that is not in the order comes last.
            let last = steps.len() - 1;
            steps[place.get(class).copied().unwrap_or(last)].push(row);
        }
        Ok(steps)
    }

    /// The rows of the first four classes. They are measured among themselves: rows of classes that have
    /// not come yet would be in the way the first time, and what is forgotten would not show.
    ///
    /// # Errors
    /// When a row has not one label.
    pub fn first(&self, labels: Labels<'_>) -> Result<Vec<usize>> {
        let classes = classes(labels, NAME)?;
        let is_first = |row: &usize| self.order[..FIRST].contains(&classes[*row]);
        Ok((0..classes.len()).filter(is_first).collect())
    }

    /// Lets a learner learn the first `rows` of the database in this order, `batch` at a time; a batch
    /// never holds rows of two steps.
    ///
    /// # Errors
    /// When the learner fails, a row has not one label, or as for
    /// [`evaluate`](crate::eval::evaluate).
    pub fn run(
        &self,
        learner: &mut dyn Learner,
        (database, queries): (Batch<'_>, Batch<'_>),
        (rows, batch): (usize, usize),
        metrics: &[Metric],
    ) -> Result<IncrementalFound> {
        let steps = self.steps(database.require_labels(NAME)?, rows)?;
        let first = self.first(queries.require_labels(NAME)?)?;
        let among = self.first(database.require_labels(NAME)?)?;
        let mut learning = Duration::ZERO;
        let mut then = None;
        for (number, step) in steps.iter().enumerate() {
            learning += learn_rows(learner, database, step, batch)?;
            if (number + 1) * AT_A_TIME == FIRST {
                let ranked = Ranked::by_codes(&learner.try_hash_function()?, database, queries)?;
                then = Some(ranked.evaluate_part(&first, &among, metrics)?);
            }
        }
        let clock = Instant::now();
        let function = learner.try_hash_function()?;
        learning += clock.elapsed();
        let ranked = Ranked::by_codes(&function, database, queries)?;
        let first_at_end = ranked.evaluate_part(&first, &among, metrics)?;
        Ok(IncrementalFound {
            all: ranked.evaluate(metrics)?,
            first_then: then.unwrap_or_else(|| first_at_end.clone()),
            first_at_end,
            learning,
        })
    }
}
