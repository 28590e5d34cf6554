//! Rows that were already read.

use std::path::{Path, PathBuf};

use super::source::Source;
use crate::Result;

/// Rows in memory, returned like those of a file.
pub(super) struct Kept {
    path: PathBuf,
    dim: usize,
    is_u8: bool,
    values: Vec<f32>,
    /// Number of values returned so far.
    taken: usize,
}

impl Kept {
    /// Creates a source of rows of `dim` numbers from the file at `path`, and possibly from further
    /// files.
    pub(super) fn new(path: PathBuf, dim: usize, is_u8: bool, values: Vec<f32>) -> Kept {
        Kept { path, dim, is_u8, values, taken: 0 }
    }
}

impl Source for Kept {
    fn path(&self) -> &Path {
        &self.path
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn rows(&self) -> Option<usize> {
        Some(self.values.len() / self.dim)
    }

    fn is_u8(&self) -> bool {
        self.is_u8
    }

    fn read(&mut self, max_rows: usize, values: &mut Vec<f32>) -> Result<usize> {
        let left = &self.values[self.taken..];
        let rows = max_rows.min(left.len() / self.dim);
        values.extend_from_slice(&left[..rows * self.dim]);
        self.taken += rows * self.dim;
        Ok(rows)
    }
}
