//! Rows of arrays as stored bytes.

use super::extent::Extent;
use super::input::{CHUNK, Input};
use crate::Result;

/// Reader of the rows of an array as stored bytes.
pub(super) trait RawRows: Send {
    /// Replaces `bytes` by the next rows, at most `max_rows` and possibly fewer. Returns the number
    /// of rows, 0 at the end.
    fn read(&mut self, max_rows: usize, bytes: &mut Vec<u8>) -> Result<usize>;
}

/// Rows of equal size, stored contiguously.
pub(super) struct Records {
    input: Input,
    extent: Extent,
    /// Number of rows returned so far.
    row: usize,
}

impl Records {
    /// Creates the reader of rows that begin at the current position of `input`.
    pub(super) fn new(input: Input, extent: Extent) -> Records {
        Records { input, extent, row: 0 }
    }

    /// Returns the number of rows that the file states.
    pub(super) fn rows(&self) -> usize {
        self.extent.rows
    }
}

impl RawRows for Records {
    fn read(&mut self, max_rows: usize, bytes: &mut Vec<u8>) -> Result<usize> {
        let Extent { rows, row_bytes, .. } = self.extent;
        let rows = max_rows.min(rows - self.row).min((CHUNK / row_bytes).max(1));
        bytes.resize(rows * row_bytes, 0);
        let found = self.input.fill(bytes)?;
        if found < bytes.len() {
            let before = self.row as u64 * row_bytes as u64;
            return Err(self.extent.ends_early(self.input.path(), before + found as u64));
        }
        self.row += rows;
        if self.row == self.extent.rows && self.input.fill(&mut [0])? > 0 {
            return Err(self.extent.goes_on(self.input.path()));
        }
        Ok(rows)
    }
}
