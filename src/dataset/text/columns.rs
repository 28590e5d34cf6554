//! Which columns of a table are meant.

/// A column, or several.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::dataset) enum Columns {
    /// The one with this name in the header.
    Named(String),
    /// From one to another, both included. Columns count from 0; from -1 down, from the end.
    Range(i64, i64),
}

/// Reads a list such as `0-63,-1,label`.
pub(in crate::dataset) fn parse(list: &str) -> Vec<Columns> {
    list.split(',').map(|columns| parse_one(columns.trim())).collect()
}

fn parse_one(columns: &str) -> Columns {
    if let Ok(column) = columns.parse() {
        return Columns::Range(column, column);
    }
    // The dash of a range is not the first character, which may be the sign of its start.
    let dash = columns.char_indices().skip(1).find(|(_, character)| *character == '-');
    let range = dash.and_then(|(dash, _)| {
        Some((columns[..dash].parse().ok()?, columns[dash + 1..].parse().ok()?))
    });
    match range {
        Some((first, last)) => Columns::Range(first, last),
        None => Columns::Named(columns.to_owned()),
    }
}

impl Columns {
    /// The places of these columns in a table with so many, whose first line may be a header.
    pub(in crate::dataset) fn resolve(
        &self,
        count: usize,
        first_line: &[String],
    ) -> std::result::Result<Vec<usize>, String> {
        match self {
            Columns::Named(name) => {
                let found = first_line.iter().position(|title| title == name);
                found.map(|column| vec![column]).ok_or_else(|| no_such_column(name, first_line))
            }
            &Columns::Range(first, last) => {
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

fn no_such_column(name: &str, first_line: &[String]) -> String {
    format!("has no column {name:?}; its first line is: {}", shown(first_line))
}

/// Titles as messages show them.
pub(super) fn shown(titles: &[String]) -> String {
    const SHOWN: usize = 20;
    let title = |title: &String| if title.is_empty() { "\"\"".to_owned() } else { title.clone() };
    let mut text = titles.iter().take(SHOWN).map(title).collect::<Vec<_>>().join(", ");
    if titles.len() > SHOWN {
        text += ", ...";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(list: &str) -> std::result::Result<Vec<usize>, String> {
        let titles = ["a", "b-1", "c", "2019", "label"].map(String::from);
        let columns = parse(list);
        let places = columns.iter().map(|columns| columns.resolve(titles.len(), &titles));
        places.collect::<std::result::Result<Vec<_>, _>>().map(|places| places.concat())
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
    fn columns_that_are_not_there() {
        for list in ["5", "-6", "0-5", "3-1", "2019", "x", "", "1,", "99999999999999999999", "é-1"]
        {
            assert!(resolve(list).is_err(), "{list}");
        }
        assert!(resolve("x").unwrap_err().contains("a, b-1, c, 2019, label"));
        assert!(resolve("-6").unwrap_err().contains("5 columns, 0 to 4"));
    }
}
