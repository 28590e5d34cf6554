//! Classes that the stream never contains: A. Sablayrolles et al., *How should we evaluate
//! supervised hashing?*, ICASSP 2017.

use super::ranked::Ranked;
use super::rows::{classes, shuffled};
use crate::eval::{Evaluation, Metric};
use crate::{Error, Labels, Result};

const NAME: &str = "unseen classes";

/// Minimum number of classes for which a quarter is rounded down; for fewer, it is rounded up.
const MANY_CLASSES: usize = 40;

/// A quarter of the classes, drawn by a seed, which the stream never contains: 3 of 10, 50 of 202.
///
/// Codes that merely encode the answer of a classifier are as good as any for the classes that the
/// classifier knows, and bad for unseen classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnseenClasses {
    unseen: Vec<u32>,
}

/// Results of [`UnseenClasses::measure`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UnseenFound {
    /// Evaluation of queries of unseen classes, in a database of unseen classes alone.
    pub unseen_alone: Evaluation,
    /// Evaluation of queries of unseen classes, in the whole database.
    pub unseen_among_all: Evaluation,
    /// Evaluation of queries of the other classes, in a database of the other classes alone.
    pub seen_alone: Evaluation,
    /// Evaluation of queries of the other classes, in the whole database.
    pub seen_among_all: Evaluation,
}

impl UnseenClasses {
    /// Draws the classes. The same `seed` gives the same classes.
    ///
    /// # Errors
    /// When a row does not have exactly one label, or there are fewer than two classes.
    pub fn draw(labels: Labels<'_>, seed: u64) -> Result<UnseenClasses> {
        let mut unseen = shuffled(&classes(labels, NAME)?, seed, 1);
        let all = unseen.len();
        if all < 2 {
            return Err(Error::parameter("classes", "2 or more, some of them unseen", all));
        }
        unseen.truncate(if all < MANY_CLASSES { all.div_ceil(4) } else { all / 4 });
        unseen.sort_unstable();
        Ok(UnseenClasses { unseen })
    }

    /// Returns the classes that the stream never contains, ascending.
    pub fn unseen(&self) -> &[u32] {
        &self.unseen
    }

    /// Returns the stream: the first `rows` rows of a database that are not of unseen classes.
    /// There are fewer if the database does not have enough.
    ///
    /// # Errors
    /// When a row does not have exactly one label.
    pub fn stream(&self, database: Labels<'_>, rows: usize) -> Result<Vec<usize>> {
        let mut stream = self.rows(database, false)?;
        stream.truncate(rows);
        Ok(stream)
    }

    /// Evaluates a function that has learned such a [`stream`](UnseenClasses::stream).
    ///
    /// # Errors
    /// When a row does not have exactly one label, or as for [`evaluate`](crate::eval::evaluate).
    pub fn measure(&self, ranked: &Ranked<'_>, metrics: &[Metric]) -> Result<UnseenFound> {
        let all: Vec<usize> = (0..ranked.database_rows()).collect();
        let unseen = self.rows(ranked.query_labels()?, true)?;
        let seen = self.rows(ranked.query_labels()?, false)?;
        let of_unseen = self.rows(ranked.database_labels()?, true)?;
        let of_seen = self.rows(ranked.database_labels()?, false)?;
        Ok(UnseenFound {
            unseen_alone: ranked.evaluate_part(&unseen, &of_unseen, metrics)?,
            seen_alone: ranked.evaluate_part(&seen, &of_seen, metrics)?,
            unseen_among_all: ranked.evaluate_part(&unseen, &all, metrics)?,
            seen_among_all: ranked.evaluate_part(&seen, &all, metrics)?,
        })
    }

    /// Returns the rows of unseen classes if `unseen` is set, and the other rows otherwise.
    ///
    /// # Errors
    /// When a row does not have exactly one label.
    pub fn rows(&self, labels: Labels<'_>, unseen: bool) -> Result<Vec<usize>> {
        let classes = classes(labels, NAME)?;
        let of = |row: &usize| self.unseen.binary_search(&classes[*row]).is_ok() == unseen;
        Ok((0..classes.len()).filter(of).collect())
    }
}
