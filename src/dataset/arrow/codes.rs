//! Writing Parquet files of codes.

use crate::disk::File;
use std::fmt;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, FixedSizeBinaryArray, RecordBatch, UInt64Array};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

use super::carried::Carried;
use crate::file::AtomicFile;
use crate::{Codes, Error, Result};

/// Size of a row group in bytes. A row group is held in memory until it is written.
const GROUP: usize = 1 << 25;

/// Writer of a Parquet file of codes. The file is created atomically: it does not exist at its path
/// before [`finish`](CodesWriter::finish).
///
/// Its columns are `id`, then the columns to keep, then `code`: bytes of a fixed length
/// (FIXED_LEN_BYTE_ARRAY), least significant bit first, as in [`Codes::to_bytes`]. Lists of uint8
/// would take four bytes and two levels for each byte of a code; fixed bytes are stored unchanged.
///
/// Ids are row numbers unless [`with_columns`](CodesWriter::with_columns) selects a column of ids.
pub struct CodesWriter {
    target: AtomicFile,
    bits: usize,
    carried: Option<Carried>,
    /// Created with the first codes, or by `finish` if there are no codes.
    writer: Option<ArrowWriter<BufWriter<File>>>,
    rows: u64,
}

impl CodesWriter {
    /// Starts a file of codes of `bits` bits.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn create(path: impl AsRef<Path>, bits: usize) -> Result<CodesWriter> {
        Codes::new(bits)?;
        let target = AtomicFile::create(path.as_ref())?;
        Ok(CodesWriter { target, bits, carried: None, writer: None, rows: 0 })
    }

    /// Takes ids, and columns to keep, from the files of the vectors. These must be Parquet or
    /// Arrow files whose rows are in the same order as the codes. A file may be given as
    /// `FILE:COLUMN`, where the column is that of the vectors.
    ///
    /// # Errors
    /// When a file cannot be read, lacks the columns, or has other columns than the first file.
    /// Also when two columns would have the same name, or codes were already written.
    pub fn with_columns<S: AsRef<str>>(
        mut self,
        files: &[S],
        id: Option<&str>,
        keep: &[S],
    ) -> Result<CodesWriter> {
        if self.writer.is_some() {
            return Err(Error::parameter("columns", "named before codes are written", self.rows));
        }
        self.carried = Some(Carried::open(files, id, keep)?);
        let schema = self.schema();
        let mut names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            None => Ok(self),
            Some(pair) => {
                let expected = "columns with names of their own, beside id and code";
                Err(Error::parameter("keep", expected, pair[0]))
            }
        }
    }

    /// Appends codes.
    ///
    /// # Errors
    /// When the codes have another length, when the files of the columns have fewer rows or are
    /// damaged, or when the file cannot be written.
    pub fn write(&mut self, codes: &Codes) -> Result<()> {
        if codes.bits() != self.bits {
            return Err(Error::CodeLength { left: self.bits, right: codes.bits() });
        }
        let (bytes, width) = (Buffer::from_vec(codes.to_bytes()), self.bits.div_ceil(8));
        let mut done = 0;
        while done < codes.len() {
            let left = codes.len() - done;
            let mut columns: Vec<ArrayRef> = match &mut self.carried {
                None => Vec::new(),
                Some(carried) if carried.fields().is_empty() => Vec::new(),
                Some(carried) => match carried.next(left)? {
                    Some(columns) => columns,
                    None => return Err(self.wrong("there are more codes than rows of its columns")),
                },
            };
            let rows = columns.first().map_or(left, |column| column.len());
            if !self.has_id_column() {
                let ids = self.rows..self.rows + rows as u64;
                columns.insert(0, Arc::new(UInt64Array::from_iter_values(ids)));
            }
            let some = bytes.slice_with_length(done * width, rows * width);
            let codes = FixedSizeBinaryArray::new(self.width(), some, None);
            columns.push(Arc::new(codes));
            let batch = RecordBatch::try_new(self.schema(), columns);
            let batch = batch.map_err(|error| self.wrong(error))?;
            let written = self.writer()?.write(&batch);
            written.map_err(|error| self.wrong(error))?;
            done += rows;
            self.rows += rows as u64;
        }
        let writer = self.writer()?;
        if writer.in_progress_size() > GROUP {
            let flushed = writer.flush();
            flushed.map_err(|error| self.wrong(error))?;
        }
        Ok(())
    }

    /// Completes the file and moves it to its path.
    ///
    /// # Errors
    /// When the files of the columns have more rows than there are codes, or the file cannot be
    /// written.
    pub fn finish(mut self) -> Result<()> {
        if let Some(carried) = &mut self.carried
            && !carried.fields().is_empty()
            && carried.next(1)?.is_some()
        {
            return Err(self.wrong("there are fewer codes than rows of its columns"));
        }
        self.writer()?;
        if let Some(writer) = self.writer.take() {
            // Without this check, a failure to write the rest of the buffer would be silent.
            let file = writer.into_inner().map_err(|error| self.wrong(error))?;
            file.into_inner().map_err(|error| self.wrong(error.error()))?;
        }
        self.target.commit().map(drop)
    }

    fn has_id_column(&self) -> bool {
        let carried = self.carried.as_ref();
        carried.is_some_and(Carried::has_ids)
    }

    fn width(&self) -> i32 {
        i32::try_from(self.bits.div_ceil(8)).expect("codes have at most 1024 bits")
    }

    fn schema(&self) -> SchemaRef {
        let mut fields = Vec::new();
        if !self.has_id_column() {
            fields.push(Arc::new(Field::new("id", DataType::UInt64, false)));
        }
        let carried = self.carried.iter().flat_map(|carried| carried.fields().iter().cloned());
        fields.extend(carried);
        fields.push(Arc::new(Field::new("code", DataType::FixedSizeBinary(self.width()), false)));
        Arc::new(Schema::new(fields))
    }

    fn writer(&mut self) -> Result<&mut ArrowWriter<BufWriter<File>>> {
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => {
                let file = self.target.file().try_clone().map_err(Error::io(self.target.path()))?;
                let properties = WriterProperties::builder()
                    .set_compression(Compression::SNAPPY)
                    // Codes hardly repeat, so a dictionary does not pay off.
                    .set_column_dictionary_enabled(ColumnPath::from("code"), false)
                    .set_created_by(concat!("hashbrook ", env!("CARGO_PKG_VERSION")).to_owned())
                    .build();
                let file = BufWriter::with_capacity(1 << 18, file);
                ArrowWriter::try_new(file, self.schema(), Some(properties))
                    .map_err(|error| self.wrong(error))?
            }
        };
        Ok(self.writer.insert(writer))
    }

    fn wrong(&self, problem: impl fmt::Display) -> Error {
        let problem = format!("cannot be written: {problem}");
        Error::malformed(self.target.path(), problem)
    }
}

impl fmt::Debug for CodesWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("CodesWriter");
        text.field("path", &self.target.path()).field("rows", &self.rows).finish_non_exhaustive()
    }
}
