//! Reading features from files.

use std::collections::VecDeque;
use std::fmt;
use std::path::PathBuf;

#[cfg(feature = "arrow")]
use super::arrow::Numbers;
use super::content::Content;
use super::feature_columns::FeatureColumns;
use super::kept::Kept;
use super::open::open;
use super::purpose::Purpose;
use super::source::Source;
use super::text::NumberTable;
use crate::{Error, Features, Result};

/// Number of rows that are read at a time to count them.
const ROWS_AT_ONCE: usize = 8192;

/// Maximum number of values that are stored while rows are counted: 64 MB.
const MOST_KEPT: usize = 1 << 24;

/// Stream of rows of features from one or several files, one after the other.
///
/// Only the requested rows are in memory ([counting](Reader::count_rows) stores 64 MB at most), so
/// files may be larger than memory. See the [module](super) for the formats.
pub struct Reader {
    /// The opened files, as the user wrote them.
    specs: Vec<String>,
    dim: usize,
    rows: Option<usize>,
    is_u8: bool,
    paths: Vec<PathBuf>,
    columns: Vec<FeatureColumns>,
    /// Sources that are not yet read to their end. They belong to the last of the `paths`.
    sources: VecDeque<Box<dyn Source>>,
    /// Number of rows read from the first of the `sources`.
    row: usize,
    values: Vec<f32>,
    /// Warnings about sources that were read to their end.
    remarks: Vec<String>,
    /// Whether an error occurred: after an error, the end of the data is never reported.
    failed: bool,
}

/// Rows of a batch that are from one file.
struct Part {
    /// Index of the file.
    file: usize,
    /// Position of the first of these rows in the file.
    first: usize,
    rows: usize,
}

impl Reader {
    /// Opens a file: `FILE`, or `FILE:NAME` for an array inside of an npz, HDF5 or MATLAB file, or
    /// `FILE:COLUMNS` for columns of a CSV, Parquet or Arrow file.
    ///
    /// # Errors
    /// When the file cannot be read, is in no known format or has no rows. Truncation and damage
    /// are reported if they can be detected without reading the whole file.
    pub fn open(spec: &str) -> Result<Reader> {
        Reader::open_all(&[spec])
    }

    /// Opens several files to be read one after the other, as if they were one file.
    ///
    /// # Errors
    /// As for [`open`](Reader::open), when there are no files, or when their dimensions differ.
    pub fn open_all<S: AsRef<str>>(specs: &[S]) -> Result<Reader> {
        let sources = specs.iter().map(|spec| source(open(spec.as_ref(), Purpose::Features)?));
        let sources = sources.collect::<Result<VecDeque<_>>>()?;
        Reader::of(specs.iter().map(|spec| spec.as_ref().to_owned()).collect(), sources)
    }

    /// Reads the rows of content that is already in memory.
    #[cfg(feature = "arrow")]
    pub(super) fn of_content(content: Content) -> Result<Reader> {
        Reader::of(Vec::new(), VecDeque::from([source(content)?]))
    }

    fn of(specs: Vec<String>, sources: VecDeque<Box<dyn Source>>) -> Result<Reader> {
        let paths: Vec<_> = sources.iter().map(|source| source.path().to_path_buf()).collect();
        let Some(dim) = sources.front().map(|source| source.dim()) else {
            return Err(Error::parameter("files", "at least one", "none"));
        };
        if let Some(other) = sources.iter().position(|source| source.dim() != dim) {
            let problem = format!(
                "has {} dimensions, {} has {dim}; files read together must have the same",
                sources[other].dim(),
                paths[0].display()
            );
            return Err(Error::malformed(&paths[other], problem));
        }
        let rows = sources.iter().try_fold(0usize, |sum, source| sum.checked_add(source.rows()?));
        let is_u8 = sources.iter().all(|source| source.is_u8());
        let columns = sources.iter().filter_map(|source| source.columns()).collect();
        Ok(Reader {
            specs,
            dim,
            rows,
            is_u8,
            paths,
            columns,
            sources,
            row: 0,
            values: Vec::new(),
            remarks: Vec::new(),
            failed: false,
        })
    }

    /// Returns the number of values in a row.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Returns the total number of rows, if the files state it. CSV, gzipped vecs files and Arrow
    /// streams do not.
    pub fn rows(&self) -> Option<usize> {
        self.rows
    }

    /// Returns the total number of rows. Files that do not state it are read to their end, so all
    /// errors in them are reported.
    ///
    /// The values are stored for [`next`](Reader::next) if they take at most 64 MB; larger files
    /// are read again. Files that can be read only once, such as pipes, cannot be counted.
    ///
    /// # Errors
    /// As for [`open_all`](Reader::open_all) and [`next`](Reader::next).
    pub fn count_rows(&mut self) -> Result<usize> {
        match self.rows {
            Some(rows) => Ok(rows),
            None => self.count_keeping(MOST_KEPT),
        }
    }

    fn count_keeping(&mut self, most: usize) -> Result<usize> {
        if self.row > 0 || self.sources.len() < self.paths.len() {
            // Some rows were already returned and are no longer in the sources, so the files are
            // opened again.
            return Reader::open_all(&self.specs)?.count_keeping(0);
        }
        let (mut values, mut rows, mut fits) = (Vec::new(), 0, true);
        while let Some(part) = self.next(ROWS_AT_ONCE)? {
            rows += part.len();
            fits = fits && values.len() + part.values().len() <= most;
            if fits {
                values.extend_from_slice(part.values());
            } else {
                values = Vec::new();
            }
        }
        if fits {
            let kept = Kept::new(self.paths[0].clone(), self.dim, self.is_u8, values);
            self.sources = VecDeque::from([Box::new(kept) as Box<dyn Source>]);
        } else {
            self.failed = true;
            *self = Reader::open_all(&self.specs)?;
        }
        self.rows = Some(rows);
        Ok(rows)
    }

    /// Returns whether the files hold a type (uint8 or bool) whose values are all integers from 0
    /// to 255.
    pub fn is_u8(&self) -> bool {
        self.is_u8
    }

    /// Returns the columns that are read, for each file that is a table: CSV, Parquet and Arrow.
    pub fn columns(&self) -> &[FeatureColumns] {
        &self.columns
    }

    /// Returns warnings about the files, as far as they have been read: for example, which line was
    /// taken for a header, or which column looks like row numbers.
    pub fn remarks(&self) -> Vec<String> {
        let open = self.sources.iter().flat_map(|source| source.remarks());
        self.remarks.iter().cloned().chain(open).collect()
    }

    /// Returns the next rows, at most `max_rows`, or `None` at the end. There are fewer than
    /// `max_rows` rows only at the end: a batch may contain rows of several files.
    ///
    /// # Errors
    /// When a file cannot be read, is damaged, or has a value that is not finite as a 32-bit float;
    /// also when `max_rows` is 0. After an error, all further calls fail.
    pub fn next(&mut self, max_rows: usize) -> Result<Option<Features<'_>>> {
        if max_rows == 0 {
            return Err(Error::parameter("max_rows", "at least 1", max_rows));
        }
        if std::mem::replace(&mut self.failed, true) {
            let path = &self.paths[self.paths.len() - self.sources.len().max(1)];
            return Err(Error::malformed(path, "reading it has failed before"));
        }
        let parts = self.fill(max_rows)?;
        let features = Features::new(&self.values, self.dim)
            .map_err(|error| locate(error, &parts, &self.paths))?;
        self.failed = false;
        Ok(Some(features).filter(|rows| !rows.is_empty()))
    }

    /// Replaces the values by the next rows, and returns the file and the position of each part.
    fn fill(&mut self, max_rows: usize) -> Result<Vec<Part>> {
        self.values.clear();
        let mut parts: Vec<Part> = Vec::new();
        let mut rows = 0;
        while rows < max_rows
            && let Some(source) = self.sources.front_mut()
        {
            let came = source.read(max_rows - rows, &mut self.values)?;
            let file = self.paths.len() - self.sources.len();
            if came == 0 {
                let ended = self.sources.pop_front();
                self.remarks.extend(ended.into_iter().flat_map(|source| source.remarks()));
                self.row = 0;
                continue;
            }
            match parts.last_mut() {
                Some(part) if part.file == file => part.rows += came,
                _ => parts.push(Part { file, first: self.row, rows: came }),
            }
            self.row += came;
            rows += came;
        }
        Ok(parts)
    }
}

/// Adds the file and the row to the error for a value that is not finite.
fn locate(error: Error, parts: &[Part], paths: &[PathBuf]) -> Error {
    let Error::NotFinite { mut row, column, value } = error else { return error };
    for part in parts {
        if row < part.rows {
            let problem = format!(
                "row {}, column {column} is {value}; features must be finite \
                 (rows and columns count from 0)",
                part.first + row
            );
            return Error::malformed(&paths[part.file], problem);
        }
        row -= part.rows;
    }
    error
}

fn source(content: Content) -> Result<Box<dyn Source>> {
    let source: Box<dyn Source> = match content {
        Content::Array(array) => Box::new(array),
        Content::Text(input, columns) => Box::new(NumberTable::open(input, columns.as_deref())?),
        #[cfg(feature = "arrow")]
        Content::Columns(table) => Box::new(Numbers::open(*table)?),
        Content::Texts(texts) => {
            let problem = "holds texts; features must be numbers";
            return Err(Error::malformed(texts.path(), problem));
        }
    };
    if source.rows() == Some(0) {
        return Err(Error::malformed(source.path(), "has no rows"));
    }
    Ok(source)
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Reader");
        text.field("paths", &self.paths).field("dim", &self.dim).field("rows", &self.rows);
        text.finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_were_counted_are_read_once_or_again() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let all = |reader: &mut Reader| {
            let mut all = Vec::new();
            while let Some(rows) = reader.next(2).unwrap() {
                all.extend_from_slice(rows.values());
            }
            all
        };
        let specs = [write("a.csv", "x,y\n1,2\n3,4\n"), write("b.csv", "5,6\n7,8\n9,10\n")];
        let expected: Vec<f32> = (1..=10).map(|value| value as f32).collect();
        let open = || Reader::open_all(&specs).unwrap();
        for (most, again) in [(10, false), (9, true), (0, true)] {
            let mut reader = open();
            assert_eq!((reader.rows(), reader.count_keeping(most).unwrap()), (None, 5));
            assert_eq!(reader.rows(), Some(5));
            assert_eq!(reader.sources.len(), if again { 2 } else { 1 });
            assert_eq!(all(&mut reader), expected);
            let header = reader.remarks().iter().filter(|text| text.contains("header")).count();
            assert_eq!(header, 1);
            assert!(reader.next(1).unwrap().is_none());
        }
        let mut begun = open();
        begun.next(3).unwrap();
        assert_eq!(begun.count_rows().unwrap(), 5);
        assert_eq!(all(&mut begun), expected[6..]);
        let mut wrong = Reader::open(&write("c.csv", "1\n2\nthree\n")).unwrap();
        assert!(wrong.count_rows().unwrap_err().to_string().contains("row 2"));
        assert!(wrong.next(1).is_err());
    }
}
