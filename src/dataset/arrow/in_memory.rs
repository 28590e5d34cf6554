//! Tables that are in memory, as the body of a request is: read once, whatever is picked of them.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::super::content::Content;
use super::super::guard::guarded;
use super::super::input::Input;
use super::super::labels::{LabelsRead, labels_of};
use super::super::packed::{append_id_texts, ids_of};
use super::super::payloads::payloads_of;
use super::super::reader::Reader;
use super::batches::Batches;
use super::ipc::{CONTINUATION, Stream};
use super::table::Table;
use crate::labels::LabelNames;
use crate::{Error, Result};

/// A table in memory, whose columns are read as those of files are: as features by a [`Reader`], as ids,
/// labels or payloads.
///
/// A file is opened anew for each of its columns; this is for what came whole and should be read once.
pub struct ArrowTable {
    path: PathBuf,
    schema: SchemaRef,
    batches: InMemory,
}

impl ArrowTable {
    /// Reads an Arrow stream to its end. Messages call it `name`. Parts that are compressed may take up to `most` bytes
    /// once they are unpacked, all of them together.
    ///
    /// # Errors
    /// When it is no Arrow stream, is cut off or damaged, or would take more memory.
    pub fn read(name: &str, bytes: impl Read + Send + 'static, most: usize) -> Result<ArrowTable> {
        let path = PathBuf::from(name);
        let input = Input::stream(&path, bytes, None)?;
        if !input.head().starts_with(&CONTINUATION) {
            return Err(Error::malformed(&path, "does not begin as an Arrow stream does"));
        }
        let stream = Stream::open(input)?.limited(most);
        let schema = stream.schema();
        let mut read = stream.batches((0..schema.fields().len()).collect());
        let mut batches = Vec::new();
        while let Some(batch) = read.next()? {
            batches.push(batch);
        }
        Ok(ArrowTable { path, schema, batches: InMemory(batches) })
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.batches.rows()
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
    /// As [`read_ids`](super::super::read_ids).
    pub fn ids(&self, column: &str) -> Result<Vec<u64>> {
        ids_of(self.content(column))
    }

    /// The ids in a column, as texts.
    ///
    /// # Errors
    /// As [`read_id_texts`](super::super::read_id_texts).
    pub fn id_texts(&self, column: &str) -> Result<Vec<String>> {
        let mut texts = Vec::new();
        append_id_texts(self.content(column), &mut texts)?;
        Ok(texts)
    }

    /// The labels in a column, or in several.
    ///
    /// # Errors
    /// As [`read_labels`](super::super::read_labels).
    pub fn labels(&self, columns: &str, names: &mut LabelNames) -> Result<LabelsRead> {
        labels_of([Ok(self.content(columns))], names, Some(self.rows()))
    }

    /// The payloads in a column.
    ///
    /// # Errors
    /// As [`read_payloads`](super::super::read_payloads).
    pub fn payloads(&self, column: &str) -> Result<Vec<Vec<u8>>> {
        payloads_of(self.content(column))
    }

    fn content(&self, columns: &str) -> Content {
        Content::Columns(Box::new(self.table(columns)))
    }

    fn table(&self, columns: &str) -> Table {
        Table::in_memory(&self.path, columns, self.schema.clone(), self.batches.clone())
    }
}

impl fmt::Debug for ArrowTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArrowTable").field("columns", &self.columns()).finish_non_exhaustive()
    }
}

/// Batches of rows with all their columns. What is in them is shared by all copies.
#[derive(Clone)]
pub(super) struct InMemory(Vec<RecordBatch>);

impl InMemory {
    pub(super) fn rows(&self) -> usize {
        self.0.iter().fold(0, |sum, batch| sum.saturating_add(batch.num_rows()))
    }

    /// The columns at these places alone.
    pub(super) fn only(self, path: &Path, columns: Vec<usize>) -> impl Batches + use<> {
        Only { path: path.to_path_buf(), batches: self.0.into_iter(), columns }
    }
}

/// Some columns of batches.
struct Only {
    path: PathBuf,
    batches: std::vec::IntoIter<RecordBatch>,
    columns: Vec<usize>,
}

impl Batches for Only {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        let Some(batch) = self.batches.next() else { return Ok(None) };
        guarded(&self.path, || batch.project(&self.columns)).map(Some)
    }
}
