//! Parquet files, read batch by batch.

use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

use super::super::extent::MAX_DIM;
use super::super::guard::guarded;
use super::super::input::Input;
use super::batches::Batches;
use crate::{Error, Result};

/// First and last bytes of a Parquet file.
pub(in crate::dataset) const MAGIC: &[u8; 4] = b"PAR1";

/// Approximate number of bytes that are decoded at a time.
const AT_ONCE: u64 = 1 << 22;

/// Parquet file whose metadata was read.
pub(super) struct File {
    path: PathBuf,
    builder: ParquetRecordBatchReaderBuilder<Pieces>,
    rows: usize,
}

impl File {
    pub(super) fn open(input: Input) -> Result<File> {
        let path = input.path().to_path_buf();
        let (mut file, start, len) = input.into_file(u64::MAX)?;
        let mut end = [0; 4];
        let read = file.seek(SeekFrom::Start(start + len.saturating_sub(4)));
        let read = read.and_then(|_| file.read_exact(&mut end));
        if read.is_err() || &end != MAGIC {
            let problem = "is cut off: a Parquet file ends with PAR1, which is not there";
            return Err(Error::malformed(&path, problem));
        }
        let builder = guarded(&path, || {
            ParquetRecordBatchReaderBuilder::try_new(Pieces { file, start, len })
        })?;
        let rows = builder.metadata().file_metadata().num_rows();
        let Ok(rows) = usize::try_from(rows) else {
            return Err(Error::malformed(&path, format!("says that it has {rows} rows")));
        };
        Ok(File { path, builder, rows })
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.builder.schema().clone()
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the batches of the columns at these positions, in order.
    pub(super) fn batches(self, columns: &[usize]) -> Result<ParquetBatches> {
        let File { path, builder, .. } = self;
        let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
        let mut row_bytes = 1;
        for (number, group) in builder.metadata().row_groups().iter().enumerate() {
            let rows = u64::try_from(group.num_rows()).unwrap_or(0).max(1);
            for (leaf, chunk) in group.columns().iter().enumerate() {
                if !mask.leaf_included(leaf) {
                    continue;
                }
                // A page of a few bytes can encode any number of values. Rows with too many values
                // are rejected before they are decoded.
                let values = u64::try_from(chunk.num_values()).unwrap_or(u64::MAX);
                if values / rows > MAX_DIM as u64 {
                    let problem = format!(
                        "row group {number}, column {} has {values} values in {rows} rows; rows of \
                         at most {MAX_DIM} are read",
                        chunk.column_path()
                    );
                    return Err(Error::malformed(&path, problem));
                }
                let bytes = u64::try_from(chunk.uncompressed_size()).unwrap_or(0);
                row_bytes = row_bytes.max(8 * (values / rows)).max(bytes / rows);
            }
        }
        let batch_rows = usize::try_from(AT_ONCE / row_bytes).unwrap_or(1).clamp(1, 8192);
        let builder = builder.with_projection(mask).with_batch_size(batch_rows);
        let reader = guarded(&path, || builder.build())?;
        Ok(ParquetBatches { path, reader: Some(reader) })
    }
}

/// Batches of rows of a Parquet file.
pub(super) struct ParquetBatches {
    path: PathBuf,
    /// Reader of the batches; `None` after an error.
    reader: Option<ParquetRecordBatchReader>,
}

impl Batches for ParquetBatches {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        let Some(mut reader) = self.reader.take() else { return Ok(None) };
        let batch = guarded(&self.path, || reader.next().transpose())?;
        if batch.is_some() {
            self.reader = Some(reader);
        }
        Ok(batch)
    }
}

/// Bytes of a file, with checks that no bytes beyond its end are requested.
struct Pieces {
    file: std::fs::File,
    start: u64,
    len: u64,
}

impl Pieces {
    fn at(&self, start: u64) -> std::io::Result<std::fs::File> {
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(self.start.saturating_add(start.min(self.len))))?;
        Ok(file)
    }
}

impl Length for Pieces {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for Pieces {
    type T = BufReader<std::io::Take<std::fs::File>>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        let left = self.len.saturating_sub(start);
        Ok(BufReader::new(self.at(start)?.take(left)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.len) {
            let problem = format!("{length} bytes at {start} end after the file, at {}", self.len);
            return Err(ParquetError::EOF(problem));
        }
        let mut bytes = vec![0; length];
        self.at(start)?.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}
