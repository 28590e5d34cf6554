//! Common interface of all formats: rows of numbers.

use std::path::Path;

use super::feature_columns::FeatureColumns;
use crate::Result;

/// Rows of one file.
pub(super) trait Source: Send {
    /// Returns the name of the file in messages.
    fn path(&self) -> &Path;

    /// Returns the number of values in a row.
    fn dim(&self) -> usize;

    /// Returns the number of rows, if the file states it.
    fn rows(&self) -> Option<usize>;

    /// Returns whether the type of the numbers only has integers from 0 to 255.
    fn is_u8(&self) -> bool;

    /// Returns warnings about the file, as far as it has been read.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the columns that are read, if the file is a table.
    fn columns(&self) -> Option<FeatureColumns> {
        None
    }

    /// Appends the next rows to `values`, at most `max_rows` and possibly fewer. Returns the number
    /// of rows, 0 at the end. Values need not be finite.
    fn read(&mut self, max_rows: usize, values: &mut Vec<f32>) -> Result<usize>;
}
