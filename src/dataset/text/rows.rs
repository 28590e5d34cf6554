//! CSV tables of numbers.

use std::path::Path;

use super::super::feature_columns::FeatureColumns;
use super::super::input::Input;
use super::super::purpose::Purpose;
use super::super::source::Source;
use super::table::Table;
use crate::{Error, Result};

/// Table of numbers that is read row by row.
pub(in crate::dataset) struct NumberTable {
    table: Table,
    /// Number of rows returned so far.
    row: usize,
    /// First value of the first column, if the column counts up by one from row to row.
    counts_from: Option<f32>,
}

impl NumberTable {
    /// Opens a table and selects `columns` of it, or all.
    pub(in crate::dataset) fn open(input: Input, columns: Option<&str>) -> Result<NumberTable> {
        let table = Table::open(input, columns, Purpose::Features)?;
        Ok(NumberTable { table, row: 0, counts_from: None })
    }

    /// Updates whether the first column still counts rows.
    fn look_at_first(&mut self, value: f32) {
        let row = self.row as f32;
        match self.counts_from {
            None if self.row == 0 && (value == 0.0 || value == 1.0) => {
                self.counts_from = Some(value)
            }
            Some(start) if value != start + row => self.counts_from = None,
            _ => {}
        }
    }

    /// Returns a warning if a column that looks like row numbers is read as a feature.
    fn index_remark(&self) -> Option<String> {
        /// With fewer rows, a column may count up by chance.
        const ENOUGH: usize = 10;
        let first = self.table.columns()[0];
        let counted = self.counts_from.filter(|_| self.row >= ENOUGH);
        let is = match (counted, self.table.has_nameless_first()) {
            (Some(start), false) => format!("counts up from {start}"),
            (Some(start), true) => format!("has no name and counts up from {start}"),
            (None, true) => "has no name".to_owned(),
            (None, false) => return None,
        };
        (self.dim() > 1).then(|| {
            let (path, name) = (self.table.path().display(), self.table.column_name(first));
            format!(
                "{path}: column {first} {is}, as an index does that pandas writes; it is read as a \
                 feature. '{path}:!{name}' excludes it"
            )
        })
    }

    /// Returns the error for the field `text` of the current row.
    fn wrong_field(&self, column: usize, text: &str) -> Error {
        let (row, line) = (self.row, self.table.line());
        let is = match text.parse::<f64>() {
            Ok(value) if value.is_finite() => {
                format!("is {text}, which is too large for a 32-bit float")
            }
            Ok(value) => format!("is {value}; features must be finite"),
            Err(_) if text.is_empty() => "is empty; a number was expected".to_owned(),
            Err(_) => {
                let start: String = text.chars().take(40).collect();
                let rest = if start.len() < text.len() { " and so on" } else { "" };
                let (path, name) = (self.table.path().display(), self.table.column_name(column));
                let others = match self.dim() {
                    1 => String::new(),
                    _ => format!(", '{path}:!{name}' reads all others"),
                };
                format!(
                    "is {start:?}{rest}; a number was expected (columns are separated by commas, \
                     tabs, semicolons or space, and picked as FILE:COLUMNS{others})"
                )
            }
        };
        let name = match self.table.column_name(column) {
            place if place == column.to_string() => place,
            name => format!("{column} ({name})"),
        };
        let problem = format!(
            "row {row}, column {name} {is} (line {line}; rows and columns count from 0, lines \
             from 1)"
        );
        Error::malformed(self.table.path(), problem)
    }
}

impl Source for NumberTable {
    fn path(&self) -> &Path {
        self.table.path()
    }

    fn dim(&self) -> usize {
        self.table.columns().len()
    }

    fn rows(&self) -> Option<usize> {
        None
    }

    fn is_u8(&self) -> bool {
        false
    }

    fn columns(&self) -> Option<FeatureColumns> {
        Some(self.table.feature_columns())
    }

    fn remarks(&self) -> Vec<String> {
        self.table.header_remark().into_iter().chain(self.index_remark()).collect()
    }

    fn read(&mut self, max_rows: usize, values: &mut Vec<f32>) -> Result<usize> {
        let mut rows = 0;
        while rows < max_rows && self.table.advance()? {
            let start = values.len();
            for (&column, text) in self.table.columns().iter().zip(self.table.texts()) {
                let text = text?;
                match text.parse::<f32>() {
                    Ok(value) if value.is_finite() => values.push(value),
                    _ => return Err(self.wrong_field(column, text)),
                }
            }
            if let Some(&first) = values.get(start) {
                self.look_at_first(first);
            }
            self.row += 1;
            rows += 1;
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &'static str) -> Result<Vec<f32>> {
        let input = Input::stream("a".as_ref(), content.as_bytes(), None)?;
        let mut table = NumberTable::open(input, None)?;
        let mut values = Vec::new();
        while table.read(1, &mut values)? > 0 {}
        Ok(values)
    }

    #[test]
    fn numbers_as_people_write_them() {
        let values = read("+1,-.5\n 1e3 ,2.\n0x,1\n");
        assert!(values.unwrap_err().to_string().contains("row 2, column 0 is \"0x\""));
        assert_eq!(read("+1,-.5\n 1e3 ,2.\n").unwrap(), [1.0, -0.5, 1000.0, 2.0]);
    }

    #[test]
    fn what_is_no_number_is_told() {
        let error = |content| read(content).unwrap_err().to_string();
        assert!(error("1\nnan").contains("row 1, column 0 is NaN; features must be finite"));
        assert!(error("1\n-inf").contains("is -inf; features must be finite (line 2"));
        assert!(error("1\n1e99").contains("is 1e99, which is too large for a 32-bit float"));
        assert!(error("1,2\n1,").contains("row 1, column 1 is empty"));
        assert!(error("1|2\n3|4").contains("separated by commas, tabs, semicolons or space"));
        assert_eq!(read("1 2\n3 4\n").unwrap(), [1.0, 2.0, 3.0, 4.0]);
    }
}
