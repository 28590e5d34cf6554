//! Streams sorted by class: two classes at a time.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::ranked::Ranked;
use super::rows::{classes, learn_rows, shuffled};
use crate::eval::{Evaluation, Metric};
use crate::{Batch, Error, Labels, Learner, Result};

const NAME: &str = "streams by class";

/// Number of classes that arrive together.
const AT_A_TIME: usize = 2;

/// Number of classes, from the first, that are evaluated once they have arrived and at the end.
const FIRST: usize = 4;

/// The order in which a stream presents its classes, drawn by a seed: two classes at a time, with
/// the rows of both mixed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incremental {
    order: Vec<u32>,
}

/// Results of [`Incremental::run`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IncrementalFound {
    /// Evaluation of the queries of all classes, at the end.
    pub all: Evaluation,
    /// Evaluation of the queries of the first four classes among the rows of these classes, right
    /// after these classes were learned.
    pub first_then: Evaluation,
    /// The same evaluation at the end: its loss compared with `first_then` shows forgetting.
    pub first_at_end: Evaluation,
    /// Time spent learning.
    pub learning: Duration,
}

impl Incremental {
    /// Draws the order. The same `seed` gives the same order.
    ///
    /// # Errors
    /// When a row does not have exactly one label, or there are four classes or fewer.
    pub fn draw(labels: Labels<'_>, seed: u64) -> Result<Incremental> {
        let order = shuffled(&classes(labels, NAME)?, seed, 2);
        if order.len() <= FIRST {
            return Err(Error::parameter("classes", "more than 4", order.len()));
        }
        Ok(Incremental { order })
    }

    /// Returns the classes in the order in which they arrive.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Returns, for each two classes, their rows among the first `rows` rows of a database, in the
    /// order of the database.
    ///
    /// # Errors
    /// When a row does not have exactly one label.
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

    /// Returns the rows of the first four classes.
    ///
    /// The first classes are evaluated among their own rows. Otherwise rows of classes that are not
    /// learned yet would lower the first result, and hide what is forgotten later.
    ///
    /// # Errors
    /// When a row does not have exactly one label.
    pub fn first(&self, labels: Labels<'_>) -> Result<Vec<usize>> {
        let classes = classes(labels, NAME)?;
        let is_first = |row: &usize| self.order[..FIRST].contains(&classes[*row]);
        Ok((0..classes.len()).filter(is_first).collect())
    }

    /// Lets a learner learn the first `rows` rows of the database in this order, `batch` at a time.
    /// A batch never holds rows of two steps.
    ///
    /// # Errors
    /// When the learner fails, a row does not have exactly one label, or as for
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
