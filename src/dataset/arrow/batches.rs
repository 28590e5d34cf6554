//! What Parquet and Arrow have in common: batches of rows.

use arrow_array::RecordBatch;

use crate::Result;

/// The rows of some columns, batch after batch.
pub(super) trait Batches: Send {
    /// The next rows, of which there may be none; `None` at the end.
    fn next(&mut self) -> Result<Option<RecordBatch>>;
}
