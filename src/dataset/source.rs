//! What every format gives: rows of numbers.

use std::path::Path;

use super::feature_columns::FeatureColumns;
use crate::Result;

/// The rows of one file.
pub(super) trait Source: Send {
    /// The file, as messages call it.
    fn path(&self) -> &Path;

    /// How many numbers a row has.
    fn dim(&self) -> usize;

    /// How many rows there are, where the file says.
    fn rows(&self) -> Option<usize>;

    /// Whether the type of the numbers is such that all are whole and from 0 to 255.
    fn is_u8(&self) -> bool;

    /// What a person should know about the file, as far as it has been read.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// The columns that are read, if the file is a table.
    fn columns(&self) -> Option<FeatureColumns> {
        None
    }

    /// Appends the next rows to `values`, at most `max_rows` and perhaps fewer; returns how many,
    /// 0 at the end. Values need not be finite.
    fn read(&mut self, max_rows: usize, values: &mut Vec<f32>) -> Result<usize>;
}
