//! Files of vectors and labels, as commands take them.

use anyhow::{Result, bail};
use hashbrook::dataset::{Reader, read_labels_all};
use hashbrook::{Codes, Features, HashFunction, LabelList, LabelNames};

use crate::console;
use crate::interrupt;

/// How many rows are in memory at a time when the number does not matter to the result.
pub const ROWS_AT_ONCE: usize = 8192;

/// Calls `each` with all rows of some files, piece by piece, under a progress bar.
pub fn for_each_rows(
    what: &str,
    reader: &mut Reader,
    mut each: impl FnMut(Features<'_>) -> Result<()>,
) -> Result<()> {
    let bar = console::progress(what, reader.rows());
    while let Some(rows) = reader.next(ROWS_AT_ONCE)? {
        interrupt::check()?;
        each(rows)?;
        bar.inc(rows.len() as u64);
    }
    bar.finish_and_clear();
    Ok(())
}

/// The codes of all rows of some files.
pub fn encode_all(what: &str, function: &HashFunction, files: &[String]) -> Result<Codes> {
    let mut reader = open_for(function, files)?;
    let mut codes = Codes::new(function.bits())?;
    for_each_rows(what, &mut reader, |rows| Ok(codes.append(&function.encode(rows)?)?))?;
    Ok(codes)
}

/// Opens files whose rows must be what a function takes.
pub fn open_for(function: &HashFunction, files: &[String]) -> Result<Reader> {
    let reader = Reader::open_all(files)?;
    if reader.dim() != function.dim() {
        bail!(
            "{} has vectors of {} dimensions, the model takes {}",
            files.join(", "),
            reader.dim(),
            function.dim()
        );
    }
    Ok(reader)
}

/// The labels of `rows` rows; `rows` is not known for every kind of file.
pub fn labels_for(
    files: &[String],
    names: &mut LabelNames,
    rows: Option<usize>,
    data: &[String],
) -> Result<LabelList> {
    let labels = read_labels_all(files, names)?;
    if let Some(rows) = rows {
        check_label_count(files, labels.len(), data, rows)?;
    }
    Ok(labels)
}

/// Fails unless there are as many labels as rows.
pub fn check_label_count(
    files: &[String],
    labels: usize,
    data: &[String],
    rows: usize,
) -> Result<()> {
    if labels != rows {
        bail!(
            "{} has {} labels, {} has {} rows; there must be one label, or one set of labels, per row",
            files.join(", "),
            console::count(labels as u64),
            data.join(", "),
            console::count(rows as u64)
        );
    }
    Ok(())
}

/// A matrix small enough for memory, with its width.
pub fn read_matrix(file: &str) -> Result<(Vec<f32>, usize)> {
    let mut reader = Reader::open(file)?;
    let mut values = Vec::new();
    while let Some(rows) = reader.next(ROWS_AT_ONCE)? {
        values.extend_from_slice(rows.values());
    }
    Ok((values, reader.dim()))
}
