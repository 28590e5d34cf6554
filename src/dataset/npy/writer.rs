//! Writing npy files.

use std::fmt;
use std::io::{Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::Path;

use super::super::input::CHUNK;
use super::header::{HEADER, header};
use crate::file::AtomicFile;
use crate::{Error, Result};

/// Element type of the arrays of [`NpyWriter`]: `u8`, `u32`, `u64`, `i32`, `i64` or `f32`.
pub trait NpyElement: sealed::Element {}

mod sealed {
    /// Properties of an element; the trait is private, so that it has no other implementations.
    pub trait Element: Copy {
        /// The type in numpy's notation.
        const DESCR: &'static str;
        /// Appends the encoded values to `bytes`.
        fn encode(values: &[Self], bytes: &mut Vec<u8>);
    }

    impl Element for u8 {
        const DESCR: &'static str = "|u1";
        fn encode(values: &[u8], bytes: &mut Vec<u8>) {
            bytes.extend_from_slice(values);
        }
    }
    impl super::NpyElement for u8 {}

    macro_rules! elements {
        ($($number:ty => $descr:literal),*) => {$(
            impl Element for $number {
                const DESCR: &'static str = $descr;
                fn encode(values: &[$number], bytes: &mut Vec<u8>) {
                    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
                }
            }
            impl super::NpyElement for $number {}
        )*};
    }
    elements!(u32 => "<u4", u64 => "<u8", i32 => "<i4", i64 => "<i8", f32 => "<f4");
}

/// Writer of an npy file. The file is created atomically: it does not exist at its path before
/// [`finish`](NpyWriter::finish).
pub struct NpyWriter<T> {
    raw: RawWriter,
    /// Number of values in a row.
    dim: usize,
    element: PhantomData<T>,
}

impl<T: NpyElement> NpyWriter<T> {
    /// Starts a matrix with this number of columns, or a one-dimensional list for `None`.
    ///
    /// # Errors
    /// When the file cannot be created, or there are 0 columns.
    pub fn create(path: impl AsRef<Path>, columns: Option<usize>) -> Result<NpyWriter<T>> {
        let dim = columns.unwrap_or(1);
        if dim == 0 {
            return Err(Error::parameter("columns", "at least 1", dim));
        }
        let row_bytes = dim.checked_mul(size_of::<T>());
        let row_bytes = row_bytes
            .ok_or_else(|| Error::parameter("columns", "few enough for a row in memory", dim))?;
        let raw = RawWriter::create(path.as_ref(), T::DESCR, row_bytes, columns)?;
        Ok(NpyWriter { raw, dim, element: PhantomData })
    }

    /// Appends rows.
    ///
    /// # Errors
    /// When the number of values is not a multiple of the columns, or the values cannot be written.
    pub fn write(&mut self, values: &[T]) -> Result<()> {
        if !values.len().is_multiple_of(self.dim) {
            return Err(Error::Shape { values: values.len(), dim: self.dim });
        }
        let rows = values.len() / self.dim;
        self.raw.append(rows, |bytes| T::encode(values, bytes))
    }

    /// Writes the row number `row`. Rows may be written in any order, each once.
    ///
    /// # Errors
    /// When the number of values is not that of the columns, or the values cannot be written.
    pub fn put_row(&mut self, row: usize, values: &[T]) -> Result<()> {
        if values.len() != self.dim {
            return Err(Error::Dimension { expected: self.dim, found: values.len() });
        }
        self.raw.put(row, 1, |bytes| T::encode(values, bytes))
    }

    /// Completes the file and moves it to its path.
    ///
    /// # Errors
    /// When not every row up to the last was written exactly once, or the file cannot be written.
    pub fn finish(self) -> Result<()> {
        self.raw.finish()
    }
}

impl<T> fmt::Debug for NpyWriter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("NpyWriter");
        text.field("path", &self.raw.target.path()).field("rows", &self.raw.end);
        text.finish_non_exhaustive()
    }
}

/// Writer of rows of bytes to an npy file.
pub(in crate::dataset) struct RawWriter {
    target: AtomicFile,
    descr: String,
    columns: Option<usize>,
    row_bytes: usize,
    /// Contiguous bytes that are not written yet, and their offset in the file.
    buffer: Vec<u8>,
    buffer_start: u64,
    /// Number of rows that were written, and the row after the last.
    put: usize,
    end: usize,
}

impl RawWriter {
    /// Starts a file of rows of `row_bytes` bytes with the type `descr`.
    pub(in crate::dataset) fn create(
        path: &Path,
        descr: &str,
        row_bytes: usize,
        columns: Option<usize>,
    ) -> Result<RawWriter> {
        let target = AtomicFile::create(path)?;
        let (descr, buffer_start) = (descr.to_owned(), HEADER as u64);
        let buffer = Vec::new();
        Ok(RawWriter { target, descr, columns, row_bytes, buffer, buffer_start, put: 0, end: 0 })
    }

    /// Appends `rows` rows, whose bytes `encode` appends to the buffer.
    pub(in crate::dataset) fn append(
        &mut self,
        rows: usize,
        encode: impl FnOnce(&mut Vec<u8>),
    ) -> Result<()> {
        self.put(self.end, rows, encode)
    }

    fn put(&mut self, row: usize, rows: usize, encode: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let after = row.checked_add(rows);
        let start = (row as u64).checked_mul(self.row_bytes as u64);
        let start = start.and_then(|start| start.checked_add(HEADER as u64));
        let (Some(start), Some(after)) = (start, after) else {
            return Err(Error::parameter("row", "a place that a file can have", row));
        };
        let continues = start == self.buffer_start + self.buffer.len() as u64;
        if !continues || self.buffer.len() >= CHUNK {
            self.flush()?;
            self.buffer_start = start;
        }
        encode(&mut self.buffer);
        self.put += rows;
        self.end = self.end.max(after);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let file = self.target.file();
        let written = file.seek(SeekFrom::Start(self.buffer_start));
        let written = written.and_then(|_| file.write_all(&self.buffer));
        written.map_err(Error::io(self.target.path()))?;
        self.buffer.clear();
        Ok(())
    }

    /// Writes the header, and moves the file to its path.
    pub(in crate::dataset) fn finish(mut self) -> Result<()> {
        self.flush()?;
        if self.put != self.end {
            let problem = format!(
                "is not written: it should have {} rows, and {} were given",
                self.end, self.put
            );
            return Err(Error::malformed(self.target.path(), problem));
        }
        let file = self.target.file();
        let sizes: Vec<usize> = [self.end].into_iter().chain(self.columns).collect();
        let header = header(&self.descr, &sizes);
        let written = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(&header));
        written.map_err(Error::io(self.target.path()))?;
        self.target.commit().map(drop)
    }
}
