//! Arrow tables in memory, for users of the library.

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

/// Table in memory whose columns are read like columns of files: as features by a [`Reader`], as
/// ids, labels or payloads.
///
/// Files are reopened for each column. This type is for data that arrives as a whole and should be
/// read once.
pub struct ArrowTable(InMemory);

impl ArrowTable {
    /// Reads an Arrow stream to its end. Messages refer to the stream as `name`. All compressed
    /// parts together may take up to `most` bytes after decompression.
    ///
    /// # Errors
    /// When the input is not an Arrow stream, is truncated or damaged, or would take more memory.
    pub fn read(name: &str, bytes: impl Read + Send + 'static, most: usize) -> Result<ArrowTable> {
        Ok(ArrowTable(InMemory::read(Path::new(name), bytes, most)?))
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.0.rows()
    }

    /// Returns the name of each column and a description of its type.
    pub fn columns(&self) -> Vec<(String, String)> {
        self.table("").columns()
    }

    /// Returns the rows of one or several columns, selected as after the colon of `FILE:COLUMNS`.
    ///
    /// # Errors
    /// As for [`Reader::open`].
    pub fn reader(&self, columns: &str) -> Result<Reader> {
        Reader::of_content(self.content(columns))
    }

    /// Returns the ids in a column.
    ///
    /// # Errors
    /// As for [`read_ids`](super::read_ids).
    pub fn ids(&self, column: &str) -> Result<Vec<u64>> {
        ids_of(self.content(column))
    }

    /// Returns the ids in a column, as strings.
    ///
    /// # Errors
    /// As for [`read_id_texts`](super::read_id_texts).
    pub fn id_texts(&self, column: &str) -> Result<Vec<String>> {
        let mut texts = Vec::new();
        append_id_texts(self.content(column), &mut texts)?;
        Ok(texts)
    }

    /// Returns the labels in one or several columns.
    ///
    /// # Errors
    /// As for [`read_labels`](super::read_labels).
    pub fn labels(&self, columns: &str, names: &mut LabelNames) -> Result<LabelsRead> {
        labels_of([Ok(self.content(columns))], names, Some(self.rows()))
    }

    /// Returns the payloads in a column.
    ///
    /// # Errors
    /// As for [`read_payloads`](super::read_payloads).
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
