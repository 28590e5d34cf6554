//! Evaluation on rows that were in the stream, compared with rows that were not.

use super::ranked::Ranked;
use crate::eval::{Evaluation, Metric};
use crate::{Error, Result};

/// Results of [`kept_out`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KeptOutFound {
    /// Evaluation on the rows of the database that were in the stream.
    pub streamed: Evaluation,
    /// Evaluation on the other rows of the database.
    pub others: Evaluation,
}

/// Evaluates search among the first `streamed` rows of the database, which were learned, and among
/// the others, which were not. In the papers' protocol the database contains the stream, so its
/// results partly measure what the function remembers.
///
/// # Errors
/// When one of the two parts has no rows, or as for [`evaluate`](crate::eval::evaluate).
pub fn kept_out(ranked: &Ranked<'_>, streamed: usize, metrics: &[Metric]) -> Result<KeptOutFound> {
    let rows = ranked.database_rows();
    if streamed == 0 || streamed >= rows {
        let expected = format!("above 0 and below {rows}, the rows of the database");
        return Err(Error::parameter("streamed rows", expected, streamed));
    }
    let queries: Vec<usize> = (0..ranked.query_rows()).collect();
    let part = |rows: Vec<usize>| ranked.evaluate_part(&queries, &rows, metrics);
    Ok(KeptOutFound {
        streamed: part((0..streamed).collect())?,
        others: part((streamed..rows).collect())?,
    })
}
