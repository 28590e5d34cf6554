//! [`Structure`]: the search structure of a segment.

use super::answer::Asked;
use super::buckets::{self, Buckets};
use super::segment::Columns;
use super::tables::{self, Tables};
use crate::Result;

/// All that makes searches of a segment look at less than everything.
pub(super) struct Structure {
    pub(super) buckets: Buckets,
    /// Not of long codes.
    pub(super) tables: Option<Tables>,
}

/// Memory that queries use one after the other.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) buckets: buckets::Scratch,
    pub(super) tables: tables::Scratch,
}

impl Structure {
    /// Of the codes of a segment, in memory.
    ///
    /// # Errors
    /// When the codes are damaged.
    pub(super) fn build(columns: &Columns) -> Result<Self> {
        let buckets = buckets::build(columns)?;
        let tables = tables::build(&buckets)?;
        Ok(Structure { buckets, tables })
    }

    /// The tables, if they can answer.
    pub(super) fn tables_for(&self, asked: &Asked<'_>) -> Option<&Tables> {
        self.tables.as_ref().filter(|_| asked.weights.is_none())
    }

    /// Reads all of it and compares it with the codes that it is of.
    pub(super) fn verify(&self, columns: &Columns) -> Result<()> {
        self.buckets.verify(columns)?;
        self.tables.as_ref().map_or(Ok(()), |tables| tables.verify(columns))
    }

    /// The bytes of all of it, in memory or mapped.
    pub(super) fn bytes(&self) -> usize {
        let tables = self.tables.as_ref().map_or(0, |tables| tables.memory() + tables.bytes());
        self.buckets.memory() + self.buckets.block_bytes() + tables
    }
}
