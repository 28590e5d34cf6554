//! Labels to files.

use std::path::Path;

use super::super::npy::{NpyWriter, RawWriter};
use super::{LabelList, LabelNames};
use crate::{Error, Labels, Result};

/// Writes labels to an npy file that [`read_labels`](super::read_labels) reads.
///
/// One label per row becomes a list of int64 if all names are integers in plain decimal, else a
/// list of texts. Sets become a matrix of zeros and ones (uint8), a column for each of the `names`
/// in their order and at least two columns; the names are not in the file, and are `0`, `1` and so
/// on when it is read.
///
/// # Errors
/// When the file cannot be written, or a label has no name.
pub fn write_label_list(path: &Path, labels: &LabelList, names: &LabelNames) -> Result<()> {
    if labels.has_sets() {
        return write_sets(path, labels.view(), names.len());
    }
    let labels = labels.view();
    let texts = (0..labels.len()).map(|row| name(names, labels.row(row)[0]));
    let texts = texts.collect::<Result<Vec<_>>>()?;
    match names.iter().map(plain_integer).collect::<Option<Vec<i64>>>() {
        Some(_) => write_integers(path, &texts),
        None => write_texts(path, &texts),
    }
}

fn name(names: &LabelNames, label: u32) -> Result<&str> {
    names.name(label).ok_or_else(|| no_name(label, names.len()))
}

fn no_name(label: u32, names: usize) -> Error {
    Error::parameter("labels", format!("below {names}, the number of names"), label)
}

/// The integer that a text stands for, if it is written in the one plain way.
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

/// Texts of four bytes per character, all as long as the longest.
fn write_texts(path: &Path, texts: &[&str]) -> Result<()> {
    let longest = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1);
    let mut file = RawWriter::create(path, &format!("<U{longest}"), 4 * longest, None)?;
    for text in texts {
        file.append(1, |bytes| {
            let filled = text.chars().map(u32::from).chain(std::iter::repeat(0)).take(longest);
            bytes.extend(filled.flat_map(u32::to_le_bytes));
        })?;
    }
    file.finish()
}

fn write_sets(path: &Path, labels: Labels<'_>, names: usize) -> Result<()> {
    // With a single column it would be read as one label per row.
    let columns = names.max(2);
    let mut file = NpyWriter::<u8>::create(path, Some(columns))?;
    let mut indicators = vec![0; columns];
    for row in 0..labels.len() {
        indicators.fill(0);
        for &label in labels.row(row) {
            let place = usize::try_from(label).ok().filter(|&place| place < names);
            indicators[place.ok_or_else(|| no_name(label, names))?] = 1;
        }
        file.write(&indicators)?;
    }
    file.finish()
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
