//! Files of vectors and labels, as commands take them.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use hashbrook::dataset::{LabelsRead, Reader, file_of, first_line, read_labels_for};
use hashbrook::{Codes, Features, FileKind, HashFunction, LabelList, LabelNames, Model};

use crate::columns::{self, Role};
use crate::console::{self, plural};
use crate::interrupt;

/// Number of rows read at a time where the chunk size does not affect the result.
pub const ROWS_AT_ONCE: usize = 8192;

/// Calls `each` with all rows of some files, chunk by chunk, under a progress bar.
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
    remark(reader.remarks());
    Ok(())
}

/// Loads the hash function of a file: a model, or the output of `export`.
pub fn load_function(path: &Path) -> Result<HashFunction> {
    Ok(match FileKind::of(path)? {
        FileKind::Function => HashFunction::load(path)?,
        FileKind::Index => bail!(
            "{}: is an index; expected a model, as `learn` writes it, or a function, as `export` writes it: \
             give the one that the index was built with",
            path.display()
        ),
        _ => Model::load(path)?.try_hash_function()?,
    })
}

/// Encodes all rows of some files.
pub fn encode_all(what: &str, function: &HashFunction, reader: &mut Reader) -> Result<Codes> {
    let mut codes = Codes::new(function.bits())?;
    for_each_rows(what, reader, |rows| Ok(codes.append(&function.encode(rows)?)?))?;
    Ok(codes)
}

/// Opens vectors for a function, without the columns in `roles`; fails if the dimensions differ.
pub fn open_for(function: &HashFunction, files: &[String], roles: &[Role<'_>]) -> Result<Reader> {
    columns::open_of_dim(files, roles, function.dim())
}

/// Returns the number of rows of some files; reads files that do not state their number. Returns
/// `None` for inputs that can be read only once.
pub fn count_rows(files: &[String], reader: &mut Reader) -> Result<Option<usize>> {
    match reader.rows() {
        Some(rows) => Ok(Some(rows)),
        None if are_regular(files) => Ok(Some(reader.count_rows()?)),
        None => Ok(None),
    }
}

/// Returns whether all inputs are regular files, which can be read again, and not pipes.
pub fn are_regular(files: &[String]) -> bool {
    files.iter().all(|file| file_of(file).is_ok_and(|path| path.is_file()))
}

/// Warnings that were already printed.
static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Prints the warnings of a reader or a list of labels, each only once.
pub fn remark(remarks: impl IntoIterator<Item = String>) {
    for remark in remarks {
        let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
        if said.insert(remark.clone()) {
            console::note(remark);
        }
    }
}

/// Marks warnings as printed, so that [`remark`] skips them: another message includes their text.
pub fn leave_unsaid(remarks: impl IntoIterator<Item = String>) {
    SAID.lock().unwrap_or_else(PoisonError::into_inner).extend(remarks);
}

/// Reads the labels of some rows, and checks their number if the files state it.
pub fn labels_for(
    files: &[String],
    names: &mut LabelNames,
    data: &[String],
    (rows, dim): (Option<usize>, usize),
) -> Result<LabelList> {
    let read = read_labels_for(files, names, rows);
    let read = match dim {
        1 => read.with_context(|| {
            let (data, labels) = (data.join(", "), files.join(", "));
            format!("{data} has one number a row; are {data} and {labels} swapped?")
        }),
        _ => read.map_err(Into::into),
    };
    let LabelsRead { labels, remarks, .. } = read?;
    remark(remarks);
    if let Some(rows) = rows {
        check_label_count(files, labels.len(), data, (rows, dim))?;
    }
    remark(all_differ(files, &labels));
    remark(joined(files, &labels, names));
    Ok(labels)
}

/// Returns a warning about labels that look like several labels in one string: their
/// comma-separated parts recur in other labels.
fn joined(files: &[String], labels: &LabelList, names: &LabelNames) -> Option<String> {
    let different: BTreeSet<u32> = labels.view().as_single()?.iter().copied().collect();
    let mut parts = HashSet::new();
    for name in different.into_iter().filter_map(|label| names.name(label)) {
        let of_name: BTreeSet<&str> = name.split(',').map(str::trim).collect();
        let again = of_name.iter().find(|part| !part.is_empty() && parts.contains(*part));
        if let Some(again) = again.filter(|_| name.contains(',')) {
            return Some(format!(
                "{}: {name:?} is read as one label, and {again:?} is in others, too; if these are \
                 several labels a row, give each a column (FILE:COLUMN,COLUMN), or write a text with \
                 a line for each row, without quotes",
                files.join(", ")
            ));
        }
        parts.extend(of_name);
    }
    None
}

/// Returns a warning about labels that all differ from each other.
fn all_differ(files: &[String], labels: &LabelList) -> Option<String> {
    /// Minimum number of rows for the warning: labels of fewer rows often all differ.
    const ENOUGH: usize = 10;
    let labels = labels.view().as_single().filter(|labels| labels.len() >= ENOUGH)?;
    let different = labels.iter().collect::<HashSet<_>>().len();
    (different == labels.len()).then(|| {
        format!(
            "{}: each of the {} rows has a label of its own; are these row numbers or ids, and no \
             labels?",
            files.join(", "),
            console::count(labels.len() as u64)
        )
    })
}

/// Fails unless each row of an input that can be read only once has a label. Ignores blank lines at
/// the end of the labels, which were read as unlabelled rows before the number of rows was known.
pub fn check_labels_of_all(
    files: &[String],
    labels: &LabelList,
    data: &[String],
    (rows, dim): (usize, usize),
) -> Result<()> {
    let blank = |&row: &usize| labels.view().row(row).is_empty();
    let beyond = (rows..labels.len()).rev().take_while(blank).count();
    check_label_count(files, labels.len() - beyond, data, (rows, dim))
}

/// Fails unless the number of labels equals the number of rows.
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
        "; is the data the wrong way round? It should have a row for each item".to_owned()
    } else if labels == rows + 1 {
        header_hint(files)
    } else {
        String::new()
    };
    bail!(
        "{} has {}, {} has {}; there must be one label, or one set of labels, per row{hint}",
        files.join(", "),
        plural(labels as u64, "label"),
        data.join(", "),
        plural(rows as u64, "row"),
    )
}

/// Returns advice for the case of one label too many: the first line may be a header.
fn header_hint(files: &[String]) -> String {
    let (Some(file), true) = (files.first(), are_regular(files)) else { return String::new() };
    // Removes the column suffix, if any, from the file name.
    let Ok(file) = file_of(file) else { return String::new() };
    let file = file.display();
    match first_line(&file.to_string()) {
        Ok(Some(titles)) => match &titles[..] {
            [title] => {
                format!("; is the first line a header? {file}:{title} reads what is below it")
            }
            titles => {
                let last = titles.last().map(String::as_str).unwrap_or_default();
                let titles = titles.iter().map(|title| format!("{title:?}")).collect::<Vec<_>>();
                format!(
                    "; is the first line a header? Its columns are {}, and {file}:{last} reads the \
                     last",
                    titles.join(", ")
                )
            }
        },
        _ => String::new(),
    }
}

/// Reads a matrix that fits in memory, and returns it with its number of columns.
pub fn read_matrix(file: &str) -> Result<(Vec<f32>, usize)> {
    let mut reader = Reader::open(file)?;
    let mut values = Vec::new();
    while let Some(rows) = reader.next(ROWS_AT_ONCE)? {
        values.extend_from_slice(rows.values());
    }
    Ok((values, reader.dim()))
}

/// Returns the label names of each row.
pub fn label_texts(labels: &LabelList, names: &LabelNames) -> Vec<Vec<String>> {
    let text = |&label: &u32| names.name(label).map_or_else(|| label.to_string(), str::to_owned);
    labels.view().iter().map(|row| row.iter().map(text).collect()).collect()
}
