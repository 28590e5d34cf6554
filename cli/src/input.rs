//! Files of vectors and labels, as commands take them.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use hashbrook::dataset::{LabelsRead, Reader, file_of, first_line, read_labels_for, table_columns};
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
    remark(reader.remarks());
    Ok(())
}

/// The hash function in a file: what a model has learned so far, or what `export` wrote.
pub fn load_function(path: &Path) -> Result<HashFunction> {
    Ok(match FileKind::of(path)? {
        FileKind::Function => HashFunction::load(path)?,
        // An index is refused by name.
        _ => Model::load(path)?.try_hash_function()?,
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
pub fn count_rows(files: &[String], reader: &mut Reader) -> Result<Option<usize>> {
    match reader.rows() {
        Some(rows) => Ok(Some(rows)),
        None if are_regular(files) => Ok(Some(reader.count_rows()?)),
        None => Ok(None),
    }
}

/// Whether all are files on a disk, which can be read again, and no pipes.
pub fn are_regular(files: &[String]) -> bool {
    files.iter().all(|file| file_of(file).is_ok_and(|path| path.is_file()))
}

/// Says what a reader or a list of labels remarks on, each thing once.
pub fn remark(remarks: impl IntoIterator<Item = String>) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    for remark in remarks {
        let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
        if said.insert(remark.clone()) {
            console::note(remark);
        }
    }
}

/// The labels of some rows, whose shape is known as far as the files tell it.
pub fn labels_for(
    files: &[String],
    names: &mut LabelNames,
    data: &[String],
    (rows, dim): (Option<usize>, usize),
) -> Result<LabelList> {
    check_label_columns(data, files)?;
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

/// A remark on texts that look like several labels in one: parts of them, between commas, come again
/// in others.
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

/// A remark on labels that tell every row from every other.
fn all_differ(files: &[String], labels: &LabelList) -> Option<String> {
    /// Fewer rows may well be of as many labels.
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

/// Fails if labels are read from a table whose columns are all read as features: what is learned would be the label itself.
pub fn check_label_columns(data: &[String], labels: &[String]) -> Result<()> {
    for label_spec in labels {
        let file = file_of(label_spec)?;
        let is_whole = |spec: &str| Path::new(spec) == file;
        let is_shared = data.iter().any(|data_spec| is_whole(data_spec)) && file.is_file();
        let columns = if is_shared { feature_columns(&file)? } else { None };
        let Some(columns) = columns else { continue };
        let file = file.display();
        if is_whole(label_spec) {
            let last = columns.len() - 1;
            bail!(
                "{file} is given as data and as labels; say which of its {} columns are which, as in \
                 --data {file}:{} --labels {file}:{last}",
                columns.len(),
                others(&columns, &[last])
            );
        }
        let place = |name: &str| {
            let named = columns.iter().position(|column| column == name);
            named.or_else(|| name.parse().ok().filter(|&place: &usize| place < columns.len()))
        };
        let names = label_spec.strip_prefix(&format!("{file}:")).unwrap_or_default();
        let chosen: Option<Vec<usize>> = names.split(',').map(place).collect();
        // The reader of labels names a column that does not exist.
        let Some(chosen) = chosen else { continue };
        bail!(
            "{label_spec} is read as a feature, too, as --data {file} takes all {} columns; name \
             those of the features, as in --data {file}:{}",
            columns.len(),
            others(&columns, &chosen)
        );
    }
    Ok(())
}

/// Returns the columns of a table all of which are features unless some are named; `None` for other files.
fn feature_columns(file: &Path) -> Result<Option<Vec<String>>> {
    let spec = file.to_string_lossy();
    if let Some(columns) = first_line(&spec)? {
        return Ok(Some(columns));
    }
    let columns = table_columns(&spec)?;
    // Of columns of other types, one is taken alone.
    let is_number =
        |kind: &str| ["int", "uint", "float", "bool"].iter().any(|n| kind.starts_with(n));
    let columns = columns.filter(|all| all.iter().all(|(_, kind)| is_number(kind)));
    Ok(columns.map(|columns| columns.into_iter().map(|(name, _)| name).collect()))
}

/// Returns all columns but some, as `FILE:COLUMNS` takes them: `0-3,5`.
fn others(columns: &[String], but: &[usize]) -> String {
    // The index that pandas writes has no name.
    let first = usize::from(columns.len() > 2 && columns[0].is_empty());
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for at in (first..columns.len()).filter(|at| !but.contains(at)) {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == at => *last = at,
            _ => runs.push((at, at)),
        }
    }
    let run = |&(first, last): &(usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    runs.iter().map(run).collect::<Vec<_>>().join(",")
}

/// Fails unless there are as many labels as rows that came from what can be read only once. Blank
/// lines at the end of the labels, which were taken for rows as long as that could be, are none.
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

/// What to do about one label too many.
fn header_hint(files: &[String]) -> String {
    let (Some(file), true) = (files.first(), are_regular(files)) else { return String::new() };
    // Without the columns that may follow its name.
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

/// A matrix small enough for memory, with its width.
pub fn read_matrix(file: &str) -> Result<(Vec<f32>, usize)> {
    let mut reader = Reader::open(file)?;
    let mut values = Vec::new();
    while let Some(rows) = reader.next(ROWS_AT_ONCE)? {
        values.extend_from_slice(rows.values());
    }
    Ok((values, reader.dim()))
}

/// The labels of each row, by name.
pub fn label_texts(labels: &LabelList, names: &LabelNames) -> Vec<Vec<String>> {
    let text = |&label: &u32| names.name(label).map_or_else(|| label.to_string(), str::to_owned);
    labels.view().iter().map(|row| row.iter().map(text).collect()).collect()
}
