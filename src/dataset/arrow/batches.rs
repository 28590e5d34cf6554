//! Common interface of Parquet and Arrow: batches of rows.

use arrow_array::RecordBatch;

use crate::Result;

/// Rows of some columns, batch after batch.
pub(super) trait Batches: Send {
    /// Returns the next rows, which may be empty, or `None` at the end.
    fn next(&mut self) -> Result<Option<RecordBatch>>;
}
