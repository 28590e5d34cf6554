//! Tables in memory, such as the body of a request, which are read once for all of their columns.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::super::guard::guarded;
use super::super::input::Input;
use super::batches::Batches;
use super::ipc::{CONTINUATION, Stream};
use crate::{Error, Result};

/// Arrow stream that was read to its end. All copies share its batches.
#[derive(Clone)]
pub(in crate::dataset) struct InMemory {
    pub(super) path: PathBuf,
    pub(super) schema: SchemaRef,
    batches: Arc<[RecordBatch]>,
}

impl InMemory {
    /// Reads a stream. All compressed parts together may take up to `most` bytes after
    /// decompression.
    pub(in crate::dataset) fn read(
        path: &Path,
        bytes: impl Read + Send + 'static,
        most: usize,
    ) -> Result<InMemory> {
        let input = Input::stream(path, bytes, None)?;
        if !input.head().starts_with(&CONTINUATION) {
            return Err(Error::malformed(path, "does not begin as an Arrow stream does"));
        }
        let stream = Stream::open(input)?.limited(most);
        let schema = stream.schema();
        let mut read = stream.batches((0..schema.fields().len()).collect());
        let mut batches = Vec::new();
        while let Some(batch) = read.next()? {
            batches.push(batch);
        }
        Ok(InMemory { path: path.to_path_buf(), schema, batches: batches.into() })
    }

    pub(in crate::dataset) fn rows(&self) -> usize {
        self.batches.iter().fold(0, |sum, batch| sum.saturating_add(batch.num_rows()))
    }

    /// Returns the batches of the columns at these positions.
    pub(super) fn only(self, columns: Vec<usize>) -> impl Batches {
        Only { all: self, next: 0, columns }
    }
}

/// Some columns of batches.
struct Only {
    all: InMemory,
    next: usize,
    columns: Vec<usize>,
}

impl Batches for Only {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        let Some(batch) = self.all.batches.get(self.next) else { return Ok(None) };
        self.next += 1;
        guarded(&self.all.path, || batch.project(&self.columns)).map(Some)
    }
}
