//! Selection of columns of a table.

use std::collections::HashSet;
use std::path::Path;

use super::super::feature_columns::visible;
use crate::Error;

/// Columns of a table as a user selects them: `0-63,-1,label`, `px0..px63` or `!id,!label`.
#[derive(Debug)]
pub(in crate::dataset) struct Selection {
    /// Columns that are read; if empty, all columns that fit.
    picked: Vec<Columns>,
    /// Columns that are not read, even if they are in `picked`.
    excluded: Vec<Columns>,
}

/// One or several columns.
#[derive(Debug, PartialEq, Eq)]
enum Columns {
    /// Column with this name in the header, or all columns from one name to another (`px0..px63`).
    Named(String),
    /// Columns from one position to another, both included. Positions count from 0; from -1 down,
    /// from the end.
    Range(i64, i64),
}

/// Function that returns the error message for a column that does not exist.
type Missing<'a> = &'a dyn Fn(&str) -> String;

impl Selection {
    /// Parses a list such as `0-63,-1,label`.
    pub(in crate::dataset) fn parse(list: &str) -> Selection {
        let (mut picked, mut excluded) = (Vec::new(), Vec::new());
        for part in list.split(',').map(str::trim) {
            match part.strip_prefix('!') {
                Some(part) => excluded.push(Columns::parse(part.trim())),
                None => picked.push(Columns::parse(part)),
            }
        }
        Selection { picked, excluded }
    }

    /// Selects all columns.
    pub(in crate::dataset) fn all() -> Selection {
        Selection { picked: Vec::new(), excluded: Vec::new() }
    }

    /// Returns whether columns are selected. Otherwise all columns that fit are read, except for
    /// the excluded ones.
    pub(in crate::dataset) fn picks(&self) -> bool {
        !self.picked.is_empty()
    }

    /// Returns whether a column is selected by its name, so that the first line must be a header.
    pub(super) fn has_names(&self) -> bool {
        let named = |columns: &Columns| match columns {
            Columns::Named(name) => !is_range_of_places(name),
            Columns::Range(..) => false,
        };
        self.picked.iter().chain(&self.excluded).any(named)
    }

    /// Returns the positions of the columns in a table with these titles. If none are selected, all
    /// columns are returned except for the excluded ones.
    pub(in crate::dataset) fn resolve(
        &self,
        titles: &[String],
        missing: Missing<'_>,
    ) -> std::result::Result<Vec<usize>, String> {
        let mut places = Vec::new();
        for columns in &self.picked {
            places.extend(columns.resolve(titles, missing)?);
        }
        if self.picked.is_empty() {
            places.extend(0..titles.len());
        }
        let mut excluded = HashSet::new();
        for columns in &self.excluded {
            excluded.extend(columns.resolve(titles, missing)?);
        }
        places.retain(|place| !excluded.contains(place));
        match places.is_empty() && !titles.is_empty() {
            true => Err("has no columns beside those that are excluded".to_owned()),
            false => Ok(places),
        }
    }
}

impl Columns {
    fn parse(columns: &str) -> Columns {
        if let Ok(column) = columns.parse() {
            return Columns::Range(column, column);
        }
        // The dash of a range is never the first character, which may be the sign of its start.
        let dash = columns.char_indices().skip(1).find(|(_, character)| *character == '-');
        let range = dash.and_then(|(dash, _)| {
            Some((columns[..dash].parse().ok()?, columns[dash + 1..].parse().ok()?))
        });
        match range {
            Some((first, last)) => Columns::Range(first, last),
            None => Columns::Named(columns.to_owned()),
        }
    }

    /// Returns the positions of these columns in a table with these titles.
    fn resolve(
        &self,
        titles: &[String],
        missing: Missing<'_>,
    ) -> std::result::Result<Vec<usize>, String> {
        match self {
            Columns::Named(name) => {
                let found = titles.iter().position(|title| title == name);
                match (found, name.split_once(RANGE)) {
                    (Some(column), _) => Ok(vec![column]),
                    (None, Some((first, last))) => {
                        let place = |end: &str| place(end.trim(), titles, missing);
                        let (start, end) = (place(first)?, place(last)?);
                        if start > end {
                            return Err(format!(
                                "columns {name} are in the wrong order: column {start} is {first}, \
                                 column {end} is {last}; write {last}..{first}"
                            ));
                        }
                        Ok((start..=end).collect())
                    }
                    (None, None) => Err(missing(name)),
                }
            }
            &Columns::Range(first, last) => {
                let count = titles.len();
                match (from_either_end(first, count), from_either_end(last, count)) {
                    (Some(first), Some(last)) if first <= last => Ok((first..=last).collect()),
                    (Some(_), Some(_)) => {
                        Err(format!("columns {first}-{last} are not in ascending order"))
                    }
                    (None, _) => Err(no_such_place(first, count)),
                    (_, None) => Err(no_such_place(last, count)),
                }
            }
        }
    }
}

/// Separator between the first and the last name of a range.
const RANGE: &str = "..";

/// Returns whether this is a range of positions such as `0..63`, which needs no names.
fn is_range_of_places(name: &str) -> bool {
    let is_place = |end: &str| end.trim().parse::<i64>().is_ok();
    name.split_once(RANGE).is_some_and(|(first, last)| is_place(first) && is_place(last))
}

/// Returns the position of one end of a range: a number is a position, anything else a name.
fn place(end: &str, titles: &[String], missing: Missing<'_>) -> std::result::Result<usize, String> {
    match end.parse() {
        Ok(column) => {
            from_either_end(column, titles.len()).ok_or_else(|| no_such_place(column, titles.len()))
        }
        Err(_) => titles.iter().position(|title| title == end).ok_or_else(|| missing(end)),
    }
}

fn from_either_end(column: i64, count: usize) -> Option<usize> {
    let from_start = if column < 0 {
        count.checked_sub(usize::try_from(column.unsigned_abs()).ok()?)?
    } else {
        usize::try_from(column).ok()?
    };
    (from_start < count).then_some(from_start)
}

fn no_such_place(column: i64, count: usize) -> String {
    format!("has no column {column}; it has {count} columns, 0 to {}", count.saturating_sub(1))
}

/// Returns the error message for a missing column, with the titles in the first line.
pub(super) fn no_such_column(name: &str, first_line: &[String]) -> String {
    let titles: Vec<String> = first_line.iter().map(|title| visible(title)).collect();
    format!("has no column {name:?}; its first line is: {}", enumerated(&titles, ", "))
}

/// Returns the error for feature columns that are not numeric. `described` has more details of each
/// column than its name.
pub(in crate::dataset) fn not_numbers(
    path: &Path,
    names: &[String],
    described: &[String],
) -> Error {
    let exclusions: Vec<String> = names.iter().map(|name| format!("!{name}")).collect();
    let problem = format!(
        "has columns that are no numbers: {}; '{}:{}' reads all others, and FILE:COLUMNS picks those of \
         the features",
        enumerated(described, ", "),
        path.display(),
        enumerated(&exclusions, ","),
    );
    Error::TextColumns { path: path.to_path_buf(), columns: names.to_vec(), problem }
}

/// Lists columns as messages show them, at most the first twenty.
pub(in crate::dataset) fn enumerated(columns: &[String], separator: &str) -> String {
    const SHOWN: usize = 20;
    let mut text = columns.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(separator);
    if columns.len() > SHOWN {
        text += separator;
        text += "...";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(list: &str) -> std::result::Result<Vec<usize>, String> {
        let titles = ["a", "b-1", "c", "2019", "label"].map(String::from);
        Selection::parse(list).resolve(&titles, &|name| no_such_column(name, &titles))
    }

    #[test]
    fn columns_by_place_name_and_range() {
        assert_eq!(resolve("0"), Ok(vec![0]));
        assert_eq!(resolve("-1"), Ok(vec![4]));
        assert_eq!(resolve("1-3"), Ok(vec![1, 2, 3]));
        assert_eq!(resolve("0--2"), Ok(vec![0, 1, 2, 3]));
        assert_eq!(resolve("-2--1"), Ok(vec![3, 4]));
        assert_eq!(resolve("label, a,2-2"), Ok(vec![4, 0, 2]));
        assert_eq!(resolve("b-1"), Ok(vec![1]));
    }

    #[test]
    fn ranges_from_name_to_name() {
        assert_eq!(resolve("b-1..label"), Ok(vec![1, 2, 3, 4]));
        assert_eq!(resolve("c..c"), Ok(vec![2]));
        assert_eq!(resolve("a..-2,label"), Ok(vec![0, 1, 2, 3, 4]));
        assert_eq!(resolve("1..3"), Ok(vec![1, 2, 3]));
        let error = resolve("label..c").unwrap_err();
        assert!(error.contains("column 4 is label, column 2 is c; write c..label"), "{error}");
        for list in ["a..x", "x..a", "..a", "a..", "a..5"] {
            assert!(resolve(list).unwrap_err().contains("has no column"), "{list}");
        }
        // A string that is the name of a column is not parsed as a range.
        let titles = ["a".to_owned(), "a..b".to_owned(), "b".to_owned()];
        let found = Selection::parse("a..b").resolve(&titles, &|name| name.to_owned());
        assert_eq!(found, Ok(vec![1]));
    }

    #[test]
    fn all_columns_but_some() {
        assert_eq!(resolve("!label"), Ok(vec![0, 1, 2, 3]));
        assert_eq!(resolve("!label, !a,!2-3"), Ok(vec![1]));
        assert_eq!(resolve("!b-1..c"), Ok(vec![0, 3, 4]));
        assert_eq!(resolve("a..c,!b-1"), Ok(vec![0, 2]));
        assert!(resolve("!0--1").unwrap_err().contains("no columns beside"));
        for list in ["!x", "!", "!!a", "!7"] {
            assert!(resolve(list).unwrap_err().contains("has no column"), "{list}");
        }
        assert!(Selection::parse("!label").has_names() && !Selection::parse("!label").picks());
        assert!(!Selection::parse("!0-3,1..2").has_names() && Selection::parse("1,!0").picks());
    }

    #[test]
    fn columns_that_are_not_there() {
        for list in ["5", "-6", "0-5", "3-1", "2019", "x", "", "1,", "99999999999999999999", "é-1"]
        {
            assert!(resolve(list).is_err(), "{list}");
        }
        assert!(resolve("x").unwrap_err().contains("a, b-1, c, 2019, label"));
        assert!(resolve("-6").unwrap_err().contains("5 columns, 0 to 4"));
    }
}
