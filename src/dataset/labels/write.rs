//! Writing labels to files.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::super::npy::{NpyWriter, RawWriter, text_bytes};
use crate::labels::{LabelList, LabelNames};
use crate::{Error, Labels, Result, file};

/// Writes labels to a file in a directory, in a form that preserves their names, and returns its
/// path.
///
/// * One label per row becomes `STEM.npy`: a list of int64 if all names are integers in plain
///   decimal, else a list of strings.
/// * Sets of small integers become `STEM.npy`: a matrix of zeros and ones (uint8) whose column `i`
///   is for label `i`.
/// * Other sets become `STEM.txt`, with a line per row.
///
/// An existing file in the other form is removed.
///
/// # Errors
/// When the file cannot be written, or a label has no name or a name with a line break.
pub fn write_labels(
    directory: impl AsRef<Path>,
    stem: &str,
    labels: &LabelList,
    names: &LabelNames,
) -> Result<PathBuf> {
    let directory = directory.as_ref();
    let (array, text) =
        (directory.join(format!("{stem}.npy")), directory.join(format!("{stem}.txt")));
    let columns = names.iter().map(small_integer).collect::<Option<Vec<usize>>>();
    let (path, other) = match (labels.has_sets(), columns) {
        (false, _) => {
            write_single(&array, labels, names)?;
            (array, text)
        }
        (true, Some(columns)) => {
            write_indicators(&array, labels.view(), &columns)?;
            (array, text)
        }
        (true, None) => {
            write_lines(&text, labels.view(), names)?;
            (text, array)
        }
    };
    match std::fs::remove_file(&other) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io(&other)(error)),
        _ => Ok(path),
    }
}

fn write_single(path: &Path, labels: &LabelList, names: &LabelNames) -> Result<()> {
    let labels = labels.view();
    let texts = labels.iter().map(|labels| name(names, labels[0]));
    let texts = texts.collect::<Result<Vec<_>>>()?;
    match names.iter().map(plain_integer).collect::<Option<Vec<i64>>>() {
        Some(_) => write_integers(path, &texts),
        None => write_texts(path, &texts),
    }
}

/// Returns the column of a label whose name is a small integer.
fn small_integer(text: &str) -> Option<usize> {
    const MOST_COLUMNS: i64 = 4096;
    let integer = plain_integer(text).filter(|integer| (0..MOST_COLUMNS).contains(integer));
    integer.and_then(|integer| usize::try_from(integer).ok())
}

fn name(names: &LabelNames, label: u32) -> Result<&str> {
    names.name(label).ok_or_else(|| no_name(label, names.len()))
}

fn no_name(label: u32, names: usize) -> Error {
    Error::parameter("labels", format!("below {names}, the number of names"), label)
}

/// Returns the integer of a string in plain decimal: without leading zeros or a plus sign.
fn plain_integer(text: &str) -> Option<i64> {
    text.parse().ok().filter(|integer: &i64| integer.to_string() == text)
}

fn write_integers(path: &Path, texts: &[&str]) -> Result<()> {
    let mut file = NpyWriter::<i64>::create(path, None)?;
    for text in texts {
        file.write(&[plain_integer(text).unwrap_or_default()])?;
    }
    file.finish()
}

/// Writes strings of four bytes per character, all padded to the length of the longest.
fn write_texts(path: &Path, texts: &[&str]) -> Result<()> {
    let longest = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1);
    let mut file = RawWriter::create(path, &format!("<U{longest}"), 4 * longest, None)?;
    for text in texts {
        file.append(1, |bytes| bytes.extend(text_bytes(text, longest)))?;
    }
    file.finish()
}

/// Writes zeros and ones with a column for each number. `columns` holds the column of each label.
fn write_indicators(path: &Path, labels: Labels<'_>, columns: &[usize]) -> Result<()> {
    // A matrix with a single column would be read as one label per row.
    let width = columns.iter().max().map_or(0, |last| last + 1).max(2);
    let mut file = NpyWriter::<u8>::create(path, Some(width))?;
    let mut indicators = vec![0; width];
    for labels in labels.iter() {
        indicators.fill(0);
        for &label in labels {
            let column =
                columns.get(label as usize).ok_or_else(|| no_name(label, columns.len()))?;
            indicators[*column] = 1;
        }
        file.write(&indicators)?;
    }
    file.finish()
}

/// Writes a line per row, with labels separated by commas. Labels are quoted if they would be
/// misread.
fn write_lines(path: &Path, labels: Labels<'_>, names: &LabelNames) -> Result<()> {
    let mut text = String::new();
    for labels in labels.iter() {
        for (at, &label) in labels.iter().enumerate() {
            let name = name(names, label)?;
            if name.contains(['\n', '\r']) {
                let problem = format!("is not written: label {name:?} has a line break in it");
                return Err(Error::malformed(path, problem));
            }
            text.push_str(if at > 0 { "," } else { "" });
            match name.contains([',', '"']) {
                true => text.push_str(&format!("\"{}\"", name.replace('"', "\"\""))),
                false => text.push_str(name),
            }
        }
        text.push('\n');
    }
    file::write(path, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_in_plain_decimal() {
        assert_eq!(plain_integer("-7"), Some(-7));
        assert_eq!(plain_integer("9223372036854775807"), Some(i64::MAX));
        for text in ["007", "+7", "-0", " 7", "7.0", "", "9223372036854775808"] {
            assert_eq!(plain_integer(text), None, "{text}");
        }
    }
}
