//! A table in memory, for those who use the library.

use std::fmt;
use std::io::Read;
use std::path::Path;

use super::arrow::{InMemory, Table};
use super::content::Content;
use super::labels::{LabelsRead, labels_of};
use super::packed::{append_id_texts, ids_of};
use super::payloads::payloads_of;
use super::reader::Reader;
use crate::Result;
use crate::labels::LabelNames;

/// A table in memory, whose columns are read as those of files are: as features by a [`Reader`], as ids,
/// labels or payloads.
///
/// A file is opened anew for each of its columns; this is for what came whole and should be read once.
pub struct ArrowTable(InMemory);

impl ArrowTable {
    /// Reads an Arrow stream to its end. Messages call it `name`. Parts that are compressed may take up to `most` bytes
    /// once they are unpacked, all of them together.
    ///
    /// # Errors
    /// When it is no Arrow stream, is cut off or damaged, or would take more memory.
    pub fn read(name: &str, bytes: impl Read + Send + 'static, most: usize) -> Result<ArrowTable> {
        Ok(ArrowTable(InMemory::read(Path::new(name), bytes, most)?))
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.0.rows()
    }

    /// The columns, each with its type in words.
    pub fn columns(&self) -> Vec<(String, String)> {
        self.table("").columns()
    }

    /// The rows of a column, or of several, which are named as after the colon of `FILE:COLUMNS`.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn reader(&self, columns: &str) -> Result<Reader> {
        Reader::of_content(self.content(columns))
    }

    /// The ids in a column.
    ///
    /// # Errors
    /// As [`read_ids`](super::read_ids).
    pub fn ids(&self, column: &str) -> Result<Vec<u64>> {
        ids_of(self.content(column))
    }

    /// The ids in a column, as texts.
    ///
    /// # Errors
    /// As [`read_id_texts`](super::read_id_texts).
    pub fn id_texts(&self, column: &str) -> Result<Vec<String>> {
        let mut texts = Vec::new();
        append_id_texts(self.content(column), &mut texts)?;
        Ok(texts)
    }

    /// The labels in a column, or in several.
    ///
    /// # Errors
    /// As [`read_labels`](super::read_labels).
    pub fn labels(&self, columns: &str, names: &mut LabelNames) -> Result<LabelsRead> {
        labels_of([Ok(self.content(columns))], names, Some(self.rows()))
    }

    /// The payloads in a column.
    ///
    /// # Errors
    /// As [`read_payloads`](super::read_payloads).
    pub fn payloads(&self, column: &str) -> Result<Vec<Vec<u8>>> {
        payloads_of(self.content(column))
    }

    fn content(&self, columns: &str) -> Content {
        Content::Columns(Box::new(self.table(columns)))
    }

    fn table(&self, columns: &str) -> Table {
        Table::in_memory(self.0.clone(), columns)
    }
}

impl fmt::Debug for ArrowTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArrowTable").field("columns", &self.columns()).finish_non_exhaustive()
    }
}
