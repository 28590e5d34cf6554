//! CSV tables: records with the same number of fields, with or without a header.

use std::path::{Path, PathBuf};

use csv::ByteRecord;

use super::super::extent::MAX_DIM;
use super::super::feature_columns::{FeatureColumns, abridged};
use super::super::input::Input;
use super::super::purpose::Purpose;
use super::columns::{self, Selection};
use super::lines::{Lines, MOST_SEPARATORS, too_wide};
use crate::{Error, Result};

/// Table that is read record by record.
pub(in crate::dataset) struct Table {
    path: PathBuf,
    reader: csv::Reader<Lines>,
    /// Whether fields are separated by white space of any length.
    spaced: bool,
    /// Number of fields of every record.
    fields: usize,
    /// Columns that are read.
    columns: Vec<usize>,
    /// Whether the user selected columns, rather than only excluding some.
    picks: bool,
    /// The fields of the first line.
    first_line: Vec<String>,
    /// Whether the first line is a header.
    has_header: bool,
    /// Whether the first line was detected as a header, without a column selected by name.
    found_header: bool,
    /// Whether the first column is omitted because it has no name though others have.
    omits_nameless: bool,
    /// Records that were read to detect a header, in reverse order: the last element is the next
    /// record.
    ahead: Vec<Record>,
    current: Record,
}

/// A record, and the line where it ends.
#[derive(Default)]
struct Record {
    fields: ByteRecord,
    line: u64,
}

impl Table {
    /// Opens a table and selects `columns` of it, or all.
    ///
    /// The first line is a header if a column is selected or excluded by name. Otherwise both of
    /// these conditions must hold:
    ///
    /// * The line has text where the second line has a number or, for features, in a column that is
    ///   read.
    /// * The numbers in the line, if any, are the positions of their columns.
    ///
    /// (A row with one field that is not a number is not a header, but a malformed row.)
    ///
    /// If no features are selected, a first column without a name is omitted, since pandas writes
    /// its index this way.
    pub(in crate::dataset) fn open(
        input: Input,
        columns: Option<&str>,
        purpose: Purpose,
    ) -> Result<Table> {
        let path = input.path().to_path_buf();
        let delimiter = delimiter(input.head());
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter.unwrap_or(b','))
            .from_reader(Lines::new(input)?.separated_by(delimiter));
        let mut table = Table {
            path,
            reader,
            spaced: delimiter.is_none(),
            fields: 0,
            columns: Vec::new(),
            picks: false,
            first_line: Vec::new(),
            has_header: false,
            found_header: false,
            omits_nameless: false,
            ahead: Vec::new(),
            current: Record::default(),
        };
        table.begin(columns.map_or_else(Selection::all, Selection::parse), purpose)?;
        Ok(table)
    }

    /// Reads up to two records, and detects whether the first one is a header.
    fn begin(&mut self, selection: Selection, purpose: Purpose) -> Result<()> {
        let wrong = |path: &Path, problem: String| Error::malformed(path, problem);
        let first = self.read()?.ok_or_else(|| wrong(&self.path, "has no rows".to_owned()))?;
        let second = self.read()?;
        self.fields = first.fields.len();
        if self.fields > MAX_DIM {
            let problem = format!("has {} columns; at most {MAX_DIM} are read", self.fields);
            return Err(wrong(&self.path, problem));
        }
        let titles = texts(&first.fields);
        let missing = |name: &str| columns::no_such_column(name, &titles);
        let places = selection.resolve(&titles, &missing);
        self.columns = places.map_err(|problem| wrong(&self.path, problem))?;
        self.picks = selection.picks();
        if self.columns.len() > MAX_DIM {
            let problem = format!("{} columns; at most {MAX_DIM} are read", self.columns.len());
            return Err(wrong(&self.path, problem));
        }
        let below = second.as_ref().map(|second| texts(&second.fields)).unwrap_or_default();
        let numbers: &[usize] = if purpose == Purpose::Features { &self.columns } else { &[] };
        self.ahead.extend(second);
        self.found_header = !selection.has_names() && is_header(&titles, &below, numbers);
        self.has_header = selection.has_names() || self.found_header;
        if !self.has_header {
            self.ahead.push(first);
        }
        self.first_line = titles;
        if purpose == Purpose::Features && self.has_nameless_first() && !self.picks {
            self.omits_nameless = self.columns.len() > 1;
            self.columns.retain(|&column| column > 0 || !self.omits_nameless);
        }
        if self.ahead.is_empty() {
            return Err(wrong(&self.path, "has a header line and no rows".to_owned()));
        }
        match purpose {
            Purpose::Features if !self.picks => self.check_numbers(),
            _ => Ok(()),
        }
    }

    /// Fails if some of the columns that are read have strings in all rows read so far. Errors in a
    /// single row are reported when the row is read.
    fn check_numbers(&self) -> Result<()> {
        let is_text = |column: &usize| {
            self.ahead.iter().all(|row| {
                let field = String::from_utf8_lossy(row.fields.get(*column).unwrap_or_default());
                !field.trim().is_empty() && !is_number(field.trim())
            })
        };
        let wrong: Vec<usize> = self.columns.iter().copied().filter(is_text).collect();
        // If all columns have strings, the fields may be separated by an unknown character.
        if wrong.is_empty() || wrong.len() == self.columns.len() {
            return Ok(());
        }
        let names: Vec<String> = wrong.iter().map(|&column| self.column_name(column)).collect();
        Err(columns::not_numbers(&self.path, &names, &names))
    }

    /// Returns the path of the file.
    pub(in crate::dataset) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the columns that are read.
    pub(super) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Returns the warning that the first line was taken for a header, if no column was selected by
    /// name.
    pub(in crate::dataset) fn header_remark(&self) -> Option<String> {
        self.found_header.then(|| {
            let (path, titles) = (self.path.display(), abridged(&self.first_line));
            format!("{path}: the first line was taken for a header: {titles}")
        })
    }

    /// Returns the fields of the first line, whether or not it is a header.
    pub(in crate::dataset) fn first_line(&self) -> &[String] {
        &self.first_line
    }

    /// Returns whether the first column is read and has no name, though others have.
    pub(super) fn has_nameless_first(&self) -> bool {
        let nameless = self.first_line.len() > 1 && self.first_line[0].is_empty();
        self.has_header && nameless && self.columns.first() == Some(&0)
    }

    /// Describes the columns that are read as features.
    pub(super) fn feature_columns(&self) -> FeatureColumns {
        FeatureColumns {
            path: self.path.clone(),
            names: self.columns.iter().map(|&column| self.column_name(column)).collect(),
            is_chosen: !self.picks,
            omitted: self.omits_nameless.then(|| "column 0, which has no name".to_owned()),
            header_remark: self.header_remark(),
        }
    }

    /// Returns the name by which a user can select a column: its title if it has one, else its
    /// position.
    pub(super) fn column_name(&self, column: usize) -> String {
        let title = self.first_line.get(column).filter(|_| self.has_header);
        title.filter(|title| !title.is_empty()).map_or_else(|| column.to_string(), String::clone)
    }

    /// Returns the line at which the current record ends, counted from 1.
    pub(super) fn line(&self) -> u64 {
        self.current.line
    }

    /// Advances to the next record; returns whether there is one.
    pub(in crate::dataset) fn advance(&mut self) -> Result<bool> {
        let next = match self.ahead.pop() {
            Some(record) => Some(record),
            None => self.read()?,
        };
        let Some(next) = next else { return Ok(false) };
        self.current = next;
        let found = self.current.fields.len();
        if found == self.fields {
            return Ok(true);
        }
        let problem = format!(
            "line {} has {found} columns, the first line has {} (lines count from 1)",
            self.current.line, self.fields
        );
        Err(Error::malformed(&self.path, problem))
    }

    /// Returns the strings of the current record in the columns that are read.
    pub(in crate::dataset) fn texts(&self) -> impl Iterator<Item = Result<&str>> {
        self.columns.iter().map(|&column| {
            let field = self.current.fields.get(column).unwrap_or_default();
            std::str::from_utf8(field).map(str::trim).map_err(|_| {
                let line = self.current.line;
                let problem = format!("line {line}, column {column} is not UTF-8 text");
                Error::malformed(&self.path, problem + " (lines count from 1, columns from 0)")
            })
        })
    }

    /// Reads a record, skipping blank lines.
    fn read(&mut self) -> Result<Option<Record>> {
        let mut fields = std::mem::take(&mut self.current.fields);
        loop {
            self.reader.get_mut().begin_record();
            let read = match self.spaced {
                false => self.reader.read_byte_record(&mut fields),
                true => {
                    let mut line = Vec::new();
                    let found = self.reader.get_mut().next_line(&mut line)?;
                    let spaces = line.iter().filter(|byte| byte.is_ascii_whitespace()).count();
                    if spaces > MOST_SEPARATORS {
                        let lines = self.reader.get_ref();
                        return Err(lines.failure(too_wide(lines.number())));
                    }
                    let parts = line.split(u8::is_ascii_whitespace).filter(|part| !part.is_empty());
                    fields = ByteRecord::from_iter(parts);
                    if found && fields.is_empty() {
                        fields.push_field(b"");
                    }
                    Ok(found)
                }
            };
            let line = self.reader.get_ref().number();
            match read.map_err(|error| self.failure(error))? {
                false => return Ok(None),
                true if fields.len() == 1 && fields[0].trim_ascii().is_empty() => {}
                true => return Ok(Some(Record { fields, line })),
            }
        }
    }

    fn failure(&self, error: csv::Error) -> Error {
        match error.into_kind() {
            csv::ErrorKind::Io(error) => self.reader.get_ref().failure(error),
            other => Error::malformed(&self.path, format!("is not a sound CSV file: {other:?}")),
        }
    }
}

/// Returns the separator of the fields of the first line: a tab or a semicolon if the line has one
/// outside of quotes, else a comma. Returns `None` for white space, if the line has none of these
/// separators and only numbers.
fn delimiter(head: &[u8]) -> Option<u8> {
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let line = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let unquoted = || line.split(|byte| *byte == b'"').step_by(2).flatten();
    let marks = [b'\t', b';', b','];
    if let Some(mark) = marks.into_iter().find(|mark| unquoted().any(|byte| byte == mark)) {
        return Some(mark);
    }
    // The head may end within a line, and within a number, so the last part is not checked.
    let text = String::from_utf8_lossy(line);
    let mut parts: Vec<&str> = text.split_ascii_whitespace().collect();
    parts.pop();
    match !parts.is_empty() && parts.iter().all(|part| is_number(part)) {
        true => None,
        false => Some(b','),
    }
}

/// Returns whether a line is a header. It must have text in one of the columns that should be
/// `numbers`, or where the line below has a number. All its numbers must be the positions of their
/// columns. An empty field is not text.
fn is_header(line: &[String], below: &[String], numbers: &[usize]) -> bool {
    let is_text = |column: usize| !line[column].is_empty() && !is_number(&line[column]);
    let number_below = |column: usize| below.get(column).is_some_and(|text| is_number(text));
    let is_place = |column: usize, from: usize| {
        !is_number(&line[column]) || line[column] == (column + from).to_string()
    };
    let titles =
        [0, 1].into_iter().any(|from| (0..line.len()).all(|column| is_place(column, from)));
    titles
        && (numbers.iter().any(|&column| is_text(column))
            || (0..line.len()).any(|column| is_text(column) && number_below(column)))
}

fn texts(record: &ByteRecord) -> Vec<String> {
    record.iter().map(|field| String::from_utf8_lossy(field).trim().to_owned()).collect()
}

fn is_number(text: &str) -> bool {
    text.parse::<f32>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(content: &str, columns: Option<&str>, purpose: Purpose) -> Result<Table> {
        let content = std::io::Cursor::new(content.to_owned());
        Table::open(Input::stream("a".as_ref(), content, None)?, columns, purpose)
    }

    fn rows(content: &str, columns: Option<&str>, purpose: Purpose) -> Vec<Vec<String>> {
        let mut table = open(content, columns, purpose).unwrap();
        let mut rows = Vec::new();
        while table.advance().unwrap() {
            rows.push(table.texts().map(|text| text.unwrap().to_owned()).collect());
        }
        rows
    }

    #[test]
    fn delimiters() {
        assert_eq!(delimiter(b"a,b\nc;d\n"), Some(b','));
        assert_eq!(delimiter(b"\r\na,b;c\n"), Some(b';'));
        assert_eq!(delimiter(b"a;b\tc"), Some(b'\t'));
        assert_eq!(delimiter(b"\"a;b\",\"c\td\""), Some(b','));
        assert_eq!(delimiter(b""), Some(b','));
        assert_eq!(delimiter(b" 1.5  -2e3 7 \n8 9"), None);
        assert_eq!(delimiter(b"1"), Some(b','), "one column has no separator");
        assert_eq!(delimiter(b"two words"), Some(b','));
    }

    #[test]
    fn headers_of_features() {
        use Purpose::Features;
        assert_eq!(rows("1,2\n3,4", None, Features).len(), 2);
        assert_eq!(rows("x,y\n3,4", None, Features).len(), 1);
        assert_eq!(rows("x,9\n3,4", None, Features).len(), 2, "a mistake, not a header");
        assert_eq!(rows("0,1,label\n3,4,5", None, Features).len(), 1, "numbered columns");
        assert_eq!(rows(",1,label\n3,4,5", Some("1"), Features), [["4"]]);
        assert_eq!(rows(" 1  2\n\n3 4 \n", None, Features), [["1", "2"], ["3", "4"]]);
        assert_eq!(rows("1,cat\n3,dog", Some("0"), Features), [["1"], ["3"]]);
        assert_eq!(rows("0,name\n3,4", Some("0"), Features), [["3"]]);
        assert_eq!(rows("0,name\n3,4", Some("name"), Features), [["4"]]);
        assert_eq!(rows("1,2", Some("0"), Features), [["1"]]);
        assert_eq!(rows("1990,1991,kind\n3,4,5", Some("!kind"), Features), [["3", "4"]]);
        assert_eq!(rows("1,2,cat\n3,4,dog", Some("!2"), Features).len(), 2);
    }

    #[test]
    fn a_nameless_first_column_is_no_feature_unless_it_is_picked() {
        use Purpose::{Features, Labels};
        let table = ",a,kind\n0,5,7\n1,6,8";
        for columns in [None, Some("!kind")] {
            let table = open(table, columns, Features).unwrap();
            assert_eq!(table.columns()[0], 1, "{columns:?}");
            assert!(table.feature_columns().omitted.is_some());
        }
        assert_eq!(rows(table, Some("0-1"), Features), [["0", "5"], ["1", "6"]]);
        assert_eq!(rows(table, Some("!a..kind"), Features), [["0"], ["1"]], "nothing else is left");
        assert_eq!(rows(table, Some("!a"), Labels), [["0", "7"], ["1", "8"]]);
        assert_eq!(rows(",5\n1,6", None, Features).len(), 2, "no header");
    }

    #[test]
    fn headers_of_labels() {
        use Purpose::Labels;
        assert_eq!(rows("1,cat\n3,dog", Some("1"), Labels), [["cat"], ["dog"]]);
        assert_eq!(rows("id,name\n3,dog", Some("1"), Labels), [["dog"]]);
        assert_eq!(rows("id\n3", Some("0"), Labels), [["3"]]);
        assert_eq!(rows("a,name\nb,dog", Some("name"), Labels), [["dog"]]);
        assert_eq!(rows("a,name\nb,dog", Some("1"), Labels), [["name"], ["dog"]], "no telling");
        assert_eq!(rows("cat", Some("0"), Labels), [["cat"]]);
    }

    #[test]
    fn line_numbers_count_blank_lines_and_line_breaks() {
        for content in ["1,2\n\n\n3,4\n\n5\n", "1,2\r\n\r\n\r\n3,4\r\n\r\n5"] {
            let mut table = open(content, None, Purpose::Features).unwrap();
            assert!(table.advance().unwrap());
            assert_eq!(table.line(), 1);
            assert!(table.advance().unwrap());
            assert_eq!(table.line(), 4);
            let error = table.advance().unwrap_err().to_string();
            assert!(error.contains("line 6 has 1 columns, the first line has 2"), "{error}");
        }
    }
}
