//! The rows of arrays as they are stored, in bytes.

use super::extent::Extent;
use super::input::{CHUNK, Input};
use crate::Result;

/// The rows of an array as they are stored.
pub(super) trait RawRows: Send {
    /// Replaces `bytes` by the next rows, at most `max_rows` and perhaps fewer; returns how many,
    /// 0 at the end.
    fn read(&mut self, max_rows: usize, bytes: &mut Vec<u8>) -> Result<usize>;
}

/// Rows of equal size, one directly after the other.
pub(super) struct Records {
    input: Input,
    extent: Extent,
    /// Rows handed out so far.
    row: usize,
}

impl Records {
    /// The rows that begin where `input` stands.
    pub(super) fn new(input: Input, extent: Extent) -> Records {
        Records { input, extent, row: 0 }
    }

    /// How many rows the file says it has.
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
