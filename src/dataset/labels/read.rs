//! Labels from files.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use super::super::array::Array;
use super::super::content::{Content, Purpose};
use super::super::extent::shape;
use super::super::input::Input;
use super::super::source::Source;
use super::super::text::{Lines, Table};
use super::{LabelList, LabelNames};
use crate::{Error, Result};

/// Reads the labels in a file: `FILE`, or `FILE:NAME` for an array inside of an npz or MATLAB file,
/// or `FILE:COLUMNS` for columns of a CSV file.
///
/// Names that did not come up before are added to `names`. Whole numbers go by their decimal text,
/// so that 7 in an npy file, 7.0 in a MATLAB file and `7` in a text are the same label.
///
/// * An array of one column is one label per row: whole numbers or texts. A row with an empty text
///   has no label.
/// * An array of several columns is a set of labels per row. It must be of zeros and ones, and the
///   labels are the numbers of the columns, `0` and so on.
/// * A text file has a line per row, with its labels separated by commas. An empty line is a row
///   without labels. The texts are taken as they are, without the space around them; a text
///   with a comma is put in quotes, and `7.0` is 7. If all lines have one label, but for empty ones
///   at the end, it is one label per row, else a set.
/// * `FILE:COLUMNS` takes the texts of columns of a CSV file, as [`Reader`](crate::dataset::Reader)
///   picks them. Blank lines are passed over, and empty fields are no labels. The first line is a
///   header if a column is picked by name, or if it has text above a number in any column. (A
///   header over columns of text cannot be told from a row: pick one of them by its name.)
///
/// # Errors
/// When the file cannot be read, is in no known format, or does not hold labels.
pub fn read_labels(spec: &str, names: &mut LabelNames) -> Result<LabelList> {
    match Content::open(spec, Purpose::Labels)? {
        Content::Array(array) => match array.sizes() {
            [_] | [_, 1] => read_column(array, names),
            [_, _] => read_indicators(array, names),
            sizes => {
                let problem = format!(
                    "holds {} numbers; labels have a column, or a column each for zeros and ones",
                    shape(sizes)
                );
                Err(Error::malformed(array.path(), problem))
            }
        },
        Content::Strings(strings) => {
            let mut list = LabelList::new_sets();
            strings.for_each(|text| push_names(&mut list, names, [text]))?;
            Ok(list.simplified())
        }
        Content::Text(input, None) => read_lines(input, names),
        Content::Text(input, Some(columns)) => {
            let mut table = Table::open(input, Some(&columns), Purpose::Labels)?;
            let mut list = LabelList::new_sets();
            while table.advance()? {
                let texts = table.texts().collect::<Result<Vec<_>>>()?;
                push_names(&mut list, names, texts);
            }
            Ok(list.simplified())
        }
    }
}

/// Reads the labels in several files one after the other, as if they were one.
///
/// # Errors
/// As for [`read_labels`], and when there are no files.
pub fn read_labels_all<S: AsRef<str>>(specs: &[S], names: &mut LabelNames) -> Result<LabelList> {
    if specs.is_empty() {
        return Err(Error::parameter("label files", "at least one", "none"));
    }
    let mut all = LabelList::default();
    for spec in specs {
        all.append(&read_labels(spec.as_ref(), names)?);
    }
    Ok(all)
}

/// Adds a row with those of the texts that are not empty.
fn push_names<'a>(
    list: &mut LabelList,
    names: &mut LabelNames,
    texts: impl IntoIterator<Item = &'a str>,
) {
    let texts = texts.into_iter().filter(|text| !text.is_empty());
    list.push_set(&texts.map(|text| names.id(&canonical(text))).collect::<Vec<_>>());
}

/// A whole number that is written like a float, as numpy.savetxt does, is that number.
fn canonical(text: &str) -> Cow<'_, str> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if !text.contains(['.', 'e', 'E']) {
        return text.into();
    }
    match text.parse::<f64>() {
        Ok(value) if value.fract() == 0.0 && value.abs() <= EXACT => {
            format!("{:.0}", value + 0.0).into()
        }
        _ => text.into(),
    }
}

/// One whole number per row.
fn read_column(mut array: Array, names: &mut LabelNames) -> Result<LabelList> {
    let (path, element) = (array.path().to_path_buf(), array.element());
    let mut labels = Vec::new();
    let mut ids = HashMap::new();
    while let Some(bytes) = array.next_raw()? {
        for bytes in bytes.chunks_exact(element.width()) {
            let label = element.whole(bytes).map_err(|found| {
                let row = labels.len();
                let problem = format!("row {row} is {found}; labels must be whole numbers");
                Error::malformed(&path, problem + " (rows count from 0)")
            })?;
            labels.push(*ids.entry(label).or_insert_with(|| names.id(&label.to_string())));
        }
    }
    Ok(LabelList::from_single(labels))
}

/// A column of zeros and ones per label.
fn read_indicators(mut array: Array, names: &mut LabelNames) -> Result<LabelList> {
    let (path, element, dim) = (array.path().to_path_buf(), array.element(), array.dim());
    let mut ids = Vec::new();
    let mut list = LabelList::new_sets();
    let mut set = Vec::new();
    while let Some(bytes) = array.next_raw()? {
        // Now that a row is there, its header's word for the number of columns can be taken.
        ids.extend((ids.len()..dim).map(|column| names.id(&column.to_string())));
        for row in bytes.chunks_exact(dim * element.width()) {
            set.clear();
            for (column, bytes) in row.chunks_exact(element.width()).enumerate() {
                match element.whole(bytes) {
                    Ok(0) => {}
                    Ok(1) => set.push(ids[column]),
                    Ok(found) => return Err(not_indicator(&path, list.len(), column, found)),
                    Err(found) => return Err(not_indicator(&path, list.len(), column, found)),
                }
            }
            list.push_set(&set);
        }
    }
    Ok(list)
}

fn not_indicator(path: &Path, row: usize, column: usize, found: impl std::fmt::Display) -> Error {
    let problem = format!(
        "row {row}, column {column} is {found}; labels in several columns must be 0 or 1 \
         (rows and columns count from 0)"
    );
    Error::malformed(path, problem)
}

/// A line of text per row.
fn read_lines(input: Input, names: &mut LabelNames) -> Result<LabelList> {
    let path = input.path().to_path_buf();
    let mut lines = Lines::new(input)?;
    let mut list = LabelList::new_sets();
    let mut line = Vec::new();
    while lines.next_line(&mut line)? {
        let text = std::str::from_utf8(&line).map_err(|_| {
            let problem = format!("line {} is not UTF-8 text (lines count from 1)", lines.number());
            Error::malformed(&path, problem)
        })?;
        push_names(&mut list, names, fields(text).iter().map(|field| field.trim()));
    }
    Ok(list.without_blank_end().simplified())
}

/// What commas separate in a line. A comma between quotes separates nothing, and two quotes there
/// stand for one; unlike in CSV, there may be space before a quote.
fn fields(line: &str) -> Vec<Cow<'_, str>> {
    if !line.contains('"') {
        return line.split(',').map(Cow::Borrowed).collect();
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
            ',' if !quoted => fields.push(Cow::Owned(std::mem::take(&mut field))),
            other => field.push(other),
        }
    }
    fields.push(Cow::Owned(field));
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_written_like_floats() {
        assert_eq!(canonical("5.0"), "5");
        assert_eq!(canonical("5.000000000000000000e+00"), "5");
        assert_eq!(canonical("-0.0"), "0");
        for text in ["5", "007", "5.5", "1e400", "e", "v1.0", "."] {
            assert_eq!(canonical(text), text);
        }
    }

    #[test]
    fn commas_and_quotes() {
        assert_eq!(fields("a, b,"), ["a", " b", ""]);
        assert_eq!(fields(r#""a,b" , "c""d",e"f"#), ["a,b ", r#" c"d"#, r#"e"f"#]);
        assert_eq!(fields(r#""open, to the end"#), ["open, to the end"]);
        assert_eq!(fields(r#""""#), [""]);
    }
}
