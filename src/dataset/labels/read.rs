//! Reading labels from files.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::super::array::Array;
use super::super::content::Content;
use super::super::extent::shape;
use super::super::input::Input;
use super::super::open::open;
use super::super::purpose::Purpose;
use super::super::source::Source;
use super::super::text::{Lines, Table};
use super::drafts::Drafts;
use crate::labels::{LabelList, LabelNames};
use crate::{Error, Labels, Result};

/// Labels and warnings, as returned by [`read_labels_for`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LabelsRead {
    /// The labels.
    pub labels: LabelList,
    /// Warnings about the files, for example which line was taken for a header.
    pub remarks: Vec<String>,
}

/// Reads the labels in a file: `FILE`, `FILE:NAME` for an array inside of an npz, HDF5 or MATLAB
/// file, or `FILE:COLUMNS` for columns of a CSV, Parquet or Arrow file.
///
/// Names that are not in `names` yet are added. An integer is named by its decimal string. So 7 in
/// an npy file, 7.0 in a MATLAB or Parquet file and `7` or `7.0` in a CSV file are the same label.
/// (pandas writes a column of integers with gaps as floats.) NaN is no label.
///
/// In text and CSV files, this applies only to columns whose labels, in all files that are read
/// together, are all integers or floats without a fraction. In any other column each string is a
/// separate label: `7.0` and `7` differ in a column that also has `7.5` or `cat`. Only floats with
/// a decimal point are rewritten: `007` and `7e0` stay as they are.
///
/// * An array of one column is one label per row: integers, floats without a fraction, or strings.
///   A row with an empty string or NaN has no label.
/// * An array of several columns is a set of labels per row. It must consist of zeros and ones, and
///   the labels are the numbers of the columns, from `0` on.
/// * A text file has a line per row, with its labels separated by commas. An empty line is a row
///   without labels. White space around a label is ignored; a label that contains a comma must be
///   quoted. If all lines have one label, there is one label per row, else a set. A file whose
///   lines are rows of numbers with decimal points is rejected, since it holds features.
/// * `FILE:COLUMNS` takes the strings in columns of a CSV file, selected as by
///   [`Reader`](crate::dataset::Reader). Blank lines are skipped, and empty fields are no labels.
///   The first line is a header if a column is selected by name, or if it has text above a number
///   in any column. (A header over columns of strings looks like a row: select one of these columns
///   by its name.)
///
/// # Errors
/// When the file cannot be read, is in no known format, or does not hold labels.
pub fn read_labels(spec: &str, names: &mut LabelNames) -> Result<LabelList> {
    read_labels_all(&[spec], names)
}

/// Reads the labels in several files one after the other, as if they were one file.
///
/// # Errors
/// As for [`read_labels`], and when there are no files.
pub fn read_labels_all<S: AsRef<str>>(specs: &[S], names: &mut LabelNames) -> Result<LabelList> {
    Ok(read_labels_for(specs, names, None)?.labels)
}

/// Reads the labels in several files for a number of rows, if the number is known.
///
/// Blank lines at the end of a text file may or may not be rows without labels: they count as rows
/// only up to the given number of rows. Files with far more labels than rows are not read to their
/// end. The caller must check that the numbers of labels and rows are equal.
///
/// # Errors
/// As for [`read_labels_all`], and when there are far more labels than rows.
pub fn read_labels_for<S: AsRef<str>>(
    specs: &[S],
    names: &mut LabelNames,
    rows: Option<usize>,
) -> Result<LabelsRead> {
    if specs.is_empty() {
        return Err(Error::parameter("label files", "at least one", "none"));
    }
    let contents = specs.iter().map(|spec| open(spec.as_ref(), Purpose::Labels));
    labels_of(contents, names, rows)
}

/// Returns the labels in the contents of files.
pub(in crate::dataset) fn labels_of(
    contents: impl IntoIterator<Item = Result<Content>>,
    names: &mut LabelNames,
    rows: Option<usize>,
) -> Result<LabelsRead> {
    let limit = Limit::for_rows(rows);
    let mut remarks = Vec::new();
    let mut parts = Vec::new();
    let mut drafts = Drafts::default();
    for content in contents {
        parts.push(Part::read(content?, &mut drafts, limit, &mut remarks)?);
    }
    let numbers = drafts.number(names);
    parts.iter_mut().for_each(|part| part.list = part.list.renumbered(&numbers).simplified());
    let blank: usize = parts.iter().map(|part| part.blank_end).sum();
    let total = blank + parts.iter().map(|part| part.list.len()).sum::<usize>();
    let excess = rows.map_or(0, |rows| total.saturating_sub(rows));
    let last = parts.len().saturating_sub(1);
    let mut labels = LabelList::default();
    for (at, mut part) in parts.into_iter().enumerate() {
        // In all files but the last, blank lines at the end either all count as rows, or none do.
        let dropped = match excess {
            excess if excess == blank => part.blank_end,
            excess if at == last => excess.min(part.blank_end),
            _ => 0,
        };
        limit.check(&part.path, labels.len() + part.list.len() + part.blank_end - dropped)?;
        (dropped..part.blank_end).for_each(|_| part.list.push_set(&[]));
        labels.append(&part.list);
    }
    Ok(LabelsRead { labels, remarks })
}

/// Number of labels after which reading stops, since the files have too many labels for the rows.
#[derive(Clone, Copy)]
struct Limit {
    rows: usize,
    most: usize,
}

impl Limit {
    /// Reading never stops before this number of labels, so that messages can state small totals.
    const FEW: usize = 1 << 20;

    fn for_rows(rows: Option<usize>) -> Limit {
        let rows = rows.unwrap_or(usize::MAX);
        Limit { rows, most: rows.saturating_mul(2).max(Limit::FEW) }
    }

    fn check(self, path: &Path, labels: usize) -> Result<()> {
        if labels <= self.most {
            return Ok(());
        }
        let problem = format!(
            "has more than {} labels for {} rows; there must be one label, or one set of labels, \
             per row",
            self.most, self.rows
        );
        Err(Error::malformed(path, problem))
    }
}

/// The labels of one file.
struct Part {
    path: PathBuf,
    list: LabelList,
    /// Number of blank lines at the end of a text file, which may be rows without labels or
    /// nothing.
    blank_end: usize,
}

impl Part {
    fn read(
        content: Content,
        drafts: &mut Drafts,
        limit: Limit,
        remarks: &mut Vec<String>,
    ) -> Result<Part> {
        let path = content.path().to_path_buf();
        let mut rows = Rows { path: &path, list: LabelList::new(), blank: 0, limit };
        let blank_end = match content {
            Content::Array(array) => {
                limit.check(&path, array.rows().unwrap_or(0))?;
                match array.sizes() {
                    [_] | [_, 1] => rows.list = read_column(array, drafts, limit)?,
                    [_, _] => read_indicators(array, drafts, &mut rows)?,
                    sizes => {
                        let problem = format!(
                            "holds {} numbers; labels have a column, or a column each for zeros \
                             and ones",
                            shape(sizes)
                        );
                        return Err(Error::malformed(&path, problem));
                    }
                }
                rows.keep_blank_end()?;
                return Ok(Part { list: rows.list, path, blank_end: 0 });
            }
            Content::Texts(mut texts) => {
                limit.check(&path, texts.rows())?;
                texts.for_each(&mut |text| rows.push(&drafts.names([text])))?;
                rows.keep_blank_end()?;
                0
            }
            #[cfg(feature = "arrow")]
            Content::Columns(table) => {
                limit.check(&path, table.rows().unwrap_or(0))?;
                table.for_each_labels(|texts| {
                    rows.push(&drafts.names(texts.iter().map(|text| text.as_ref())))
                })?;
                rows.keep_blank_end()?;
                0
            }
            Content::Text(input, None) => {
                remarks.extend(read_lines(input, drafts, &mut rows)?);
                rows.blank
            }
            Content::Text(input, Some(columns)) => {
                let mut table = Table::open(input, Some(&columns), Purpose::Labels)?;
                remarks.extend(table.header_remark());
                while table.advance()? {
                    let texts = table.texts().collect::<Result<Vec<_>>>()?;
                    let fields = texts.into_iter().enumerate();
                    rows.push(&drafts.fields(fields))?;
                }
                rows.keep_blank_end()?;
                0
            }
        };
        Ok(Part { list: rows.list, blank_end, path })
    }
}

/// Rows in the order of the file. Rows without labels are counted but not stored until a row with
/// labels follows, so that endless blank lines take no memory.
struct Rows<'a> {
    path: &'a Path,
    list: LabelList,
    blank: usize,
    limit: Limit,
}

impl Rows<'_> {
    fn push(&mut self, labels: &[u32]) -> Result<()> {
        if labels.is_empty() {
            self.blank += 1;
            return Ok(());
        }
        self.keep_blank_end()?;
        self.limit.check(self.path, self.list.len() + 1)?;
        self.list.push_set(labels);
        Ok(())
    }

    fn keep_blank_end(&mut self) -> Result<()> {
        self.limit.check(self.path, self.list.len() + self.blank)?;
        (0..std::mem::take(&mut self.blank)).for_each(|_| self.list.push_set(&[]));
        Ok(())
    }

    /// Returns the number of rows so far.
    fn count(&self) -> usize {
        self.list.len() + self.blank
    }
}

/// Reads one label per row: an integer, or NaN for none.
fn read_column(mut array: Array, drafts: &mut Drafts, limit: Limit) -> Result<LabelList> {
    let (path, element) = (array.path().to_path_buf(), array.element());
    let mut labels = LabelList::default();
    let mut ids = HashMap::new();
    while let Some(bytes) = array.next_raw()? {
        for bytes in bytes.chunks_exact(element.width()) {
            match element.whole(bytes) {
                Ok(label) => {
                    let id = ids.entry(label).or_insert_with(|| drafts.name(&label.to_string()));
                    labels.extend(Labels::single(&[*id]));
                }
                Err(found) if found.is_nan() => labels.push_set(&[]),
                Err(found) => {
                    let row = labels.len();
                    let problem = format!("row {row} is {found}; labels must be integers");
                    return Err(Error::malformed(&path, problem + " (rows count from 0)"));
                }
            }
        }
        limit.check(&path, labels.len())?;
    }
    Ok(labels)
}

/// Reads a column of zeros and ones for each label.
fn read_indicators(mut array: Array, drafts: &mut Drafts, rows: &mut Rows<'_>) -> Result<()> {
    let (path, element, dim) = (array.path().to_path_buf(), array.element(), array.dim());
    let mut ids = Vec::new();
    let mut set = Vec::new();
    while let Some(bytes) = array.next_raw()? {
        // The number of columns is only trusted once a row of this size has been read.
        ids.extend((ids.len()..dim).map(|column| drafts.name(&column.to_string())));
        for row in bytes.chunks_exact(dim * element.width()) {
            set.clear();
            for (column, bytes) in row.chunks_exact(element.width()).enumerate() {
                match element.whole(bytes) {
                    Ok(0) => {}
                    Ok(1) => set.push(ids[column]),
                    Ok(found) => return Err(not_indicator(&path, rows.count(), column, found)),
                    Err(found) => return Err(not_indicator(&path, rows.count(), column, found)),
                }
            }
            rows.push(&set)?;
        }
    }
    Ok(())
}

fn not_indicator(path: &Path, row: usize, column: usize, found: impl std::fmt::Display) -> Error {
    let problem = format!(
        "row {row}, column {column} is {found}; labels in several columns must be 0 or 1 \
         (rows and columns count from 0); is this the file of features?"
    );
    Error::malformed(path, problem)
}

/// Reads a line of text per row. Returns a warning if the lines look like features.
fn read_lines(input: Input, drafts: &mut Drafts, rows: &mut Rows<'_>) -> Result<Option<String>> {
    let path = input.path().to_path_buf();
    let mut lines = Lines::new(input)?;
    let mut line = Vec::new();
    let mut look = Numbers::default();
    while lines.next_line(&mut line)? {
        let text = std::str::from_utf8(&line).map_err(|_| {
            let problem = format!("line {} is not UTF-8 text (lines count from 1)", lines.number());
            Error::malformed(&path, problem)
        })?;
        let fields = split_labels(text);
        look.at(&fields);
        // All labels of a line belong to the same column.
        rows.push(&drafts.fields(fields.iter().map(|field| (0, field.as_ref()))))?;
    }
    look.judge(&path)
}

/// Detects text in which every line has the same number of numbers, which are rarely labels.
#[derive(Default)]
struct Numbers {
    lines: usize,
    /// Number of fields per line, if it is the same for all lines and all fields are numbers. The
    /// first line may be a header.
    fields: usize,
    differ: bool,
    fractions: bool,
}

impl Numbers {
    fn at(&mut self, fields: &[Cow<'_, str>]) {
        if self.differ || fields.iter().all(|field| field.is_empty()) {
            return;
        }
        self.lines += 1;
        let number = |field: &Cow<'_, str>| field.parse::<f64>().is_ok();
        self.differ = match self.lines {
            1 => fields.len() < 2,
            _ => fields.len() != self.fields || !fields.iter().all(number),
        };
        self.fields = fields.len();
        self.fractions |= fields.iter().any(|field| number(field) && field.contains('.'));
    }

    fn judge(self, path: &Path) -> Result<Option<String>> {
        let Numbers { lines, fields, differ, fractions } = self;
        if differ || lines < 2 {
            return Ok(None);
        }
        if fractions {
            let problem = format!(
                "has {fields} numbers on each line, as features have, and not labels; a column of \
                 it is picked as FILE:COLUMN"
            );
            return Err(Error::malformed(path, problem));
        }
        Ok(Some(format!(
            "{}: the {fields} numbers on each line were taken for {fields} labels; a column of it is \
             picked as FILE:COLUMN",
            path.display()
        )))
    }
}

/// Splits a line of text into labels: the fields between commas, without the white space around
/// them. A comma between quotes is part of a label, and two quotes inside quotes stand for one
/// quote. Unlike in CSV, a quote may follow white space.
pub fn split_labels(line: &str) -> Vec<Cow<'_, str>> {
    if !line.contains('"') {
        return line.split(',').map(|field| Cow::Borrowed(field.trim())).collect();
    }
    let mut fields = Vec::new();
    let mut field = String::new();
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.next_if_eq(&'"').is_some() => field.push('"'),
            '"' if quoted => quoted = false,
            '"' if field.trim().is_empty() => quoted = true,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            other => field.push(other),
        }
    }
    fields.push(field);
    fields.iter().map(|field| Cow::Owned(field.trim().to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_and_quotes() {
        assert_eq!(split_labels("a, b,"), ["a", "b", ""]);
        assert_eq!(split_labels(r#""a,b" , "c""d",e"f"#), ["a,b", r#"c"d"#, r#"e"f"#]);
        assert_eq!(split_labels(r#""open, to the end"#), ["open, to the end"]);
        assert_eq!(split_labels(r#""""#), [""]);
    }
}
