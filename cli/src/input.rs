//! Files of vectors and labels, as commands take them.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use hashbrook::dataset::{Reader, file_of, read_labels_all};
use hashbrook::{Codes, Features, FileKind, HashFunction, LabelList, LabelNames, Model};

use crate::console::{self, plural};
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

/// The hash function in a file: what a model has learned so far, or what `export` wrote.
pub fn load_function(path: &Path) -> Result<HashFunction> {
    Ok(match FileKind::of(path)? {
        FileKind::Function => HashFunction::load(path)?,
        // An index is refused by name.
        _ => Model::load(path)?.hash_function(),
    })
}

/// The codes of all rows of some files.
pub fn encode_all(what: &str, function: &HashFunction, reader: &mut Reader) -> Result<Codes> {
    let mut codes = Codes::new(function.bits())?;
    for_each_rows(what, reader, |rows| Ok(codes.append(&function.encode(rows)?)?))?;
    Ok(codes)
}

/// Opens files whose rows must be what a function takes.
pub fn open_for(function: &HashFunction, files: &[String]) -> Result<Reader> {
    let reader = Reader::open_all(files)?;
    if reader.dim() != function.dim() {
        bail!(
            "{} has vectors of {}, the model takes {}",
            files.join(", "),
            plural(reader.dim() as u64, "dimension"),
            function.dim()
        );
    }
    Ok(reader)
}

/// How many rows some files have, by reading them if they do not say; `None` for what can be read
/// only once.
pub fn count_rows(files: &[String], reader: &Reader) -> Result<Option<usize>> {
    match reader.rows() {
        Some(rows) => Ok(Some(rows)),
        None if are_regular(files) => Ok(Some(Reader::count(files)?)),
        None => Ok(None),
    }
}

/// Whether all are files on a disk, which can be read again, and no pipes.
pub fn are_regular(files: &[String]) -> bool {
    files.iter().all(|file| file_of(file).is_ok_and(|path| path.is_file()))
}

/// The labels of some rows, of which `rows` is the number if it is known.
pub fn labels_for(
    files: &[String],
    names: &mut LabelNames,
    data: &[String],
    shape: (Option<usize>, usize),
) -> Result<LabelList> {
    let labels = read_labels_all(files, names)?;
    if let (Some(rows), dim) = shape {
        check_label_count(files, labels.len(), data, (rows, dim))?;
    }
    Ok(labels)
}

/// Fails unless there are as many labels as rows.
pub fn check_label_count(
    files: &[String],
    labels: usize,
    data: &[String],
    (rows, dim): (usize, usize),
) -> Result<()> {
    if labels == rows {
        return Ok(());
    }
    let hint = if labels == dim {
        "; is the data the wrong way round? It should have a row for each item"
    } else if labels == rows + 1 {
        "; is the first line of the labels a header, or the last one blank? FILE:0 reads a column"
    } else {
        ""
    };
    bail!(
        "{} has {}, {} has {}; there must be one label, or one set of labels, per row{hint}",
        files.join(", "),
        plural(labels as u64, "label"),
        data.join(", "),
        plural(rows as u64, "row"),
    )
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

/// Fails if an output would replace one of the inputs, or another output.
pub fn check_outputs<'a>(
    outputs: impl IntoIterator<Item = &'a Path>,
    inputs: impl IntoIterator<Item = &'a String>,
) -> Result<()> {
    let found = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let mut taken: Vec<PathBuf> = Vec::new();
    for input in inputs {
        taken.push(found(&file_of(input)?));
    }
    for output in outputs {
        if taken.contains(&found(output)) {
            bail!(
                "{} is read or written by this very command; choose another name for the output",
                output.display()
            );
        }
        taken.push(found(output));
    }
    Ok(())
}
