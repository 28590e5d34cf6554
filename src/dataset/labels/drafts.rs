//! [`Drafts`]: labels whose names depend on all labels of their column.

use std::collections::HashMap;

use super::super::element::whole_float;
use crate::labels::LabelNames;

/// Labels in the order in which they first occurred, before their names are final.
///
/// `3.0` in a CSV file is the integer 3 if all labels of its column are integers, and a string
/// otherwise. The decision requires reading the whole column.
#[derive(Default)]
pub(super) struct Drafts {
    /// Column and string of each label. The column is `None` if the name is final.
    labels: Vec<(Option<usize>, String)>,
    /// Numbers of the labels whose names are final.
    finals: HashMap<String, u32>,
    columns: Vec<Column>,
}

/// A column of text.
#[derive(Default)]
struct Column {
    drafts: HashMap<String, u32>,
    /// Whether a field is not an integer, a float without a fraction, or NaN.
    has_strings: bool,
    has_integers: bool,
}

impl Drafts {
    /// Returns the number of a label whose name is final.
    pub(super) fn name(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.finals.get(name) {
            return number;
        }
        let number = self.push(None, name);
        self.finals.insert(name.to_owned(), number);
        number
    }

    /// Returns the numbers of labels whose names are final. An empty string is no label.
    pub(super) fn names<'t>(&mut self, names: impl IntoIterator<Item = &'t str>) -> Vec<u32> {
        let names = names.into_iter().filter(|name| !name.is_empty());
        names.map(|name| self.name(name)).collect()
    }

    /// Returns the numbers of the fields of a row, each given with its column. An empty field is no
    /// label.
    pub(super) fn fields<'t>(
        &mut self,
        fields: impl IntoIterator<Item = (usize, &'t str)>,
    ) -> Vec<u32> {
        let fields = fields.into_iter().filter(|(_, field)| !field.is_empty());
        fields.map(|(column, field)| self.field(column, field)).collect()
    }

    fn field(&mut self, column: usize, field: &str) -> u32 {
        if self.columns.len() <= column {
            self.columns.resize_with(column + 1, Column::default);
        }
        let of_column = &mut self.columns[column];
        if let Some(&number) = of_column.drafts.get(field) {
            return number;
        }
        if !is_nan(field) {
            let is_integer = field.parse().is_ok_and(|value| whole_float(value).is_ok())
                || field.parse::<i128>().is_ok();
            of_column.has_integers |= is_integer;
            of_column.has_strings |= !is_integer;
        }
        let number = self.push(Some(column), field);
        self.columns[column].drafts.insert(field.to_owned(), number);
        number
    }

    fn push(&mut self, column: Option<usize>, text: &str) -> u32 {
        self.labels.push((column, text.to_owned()));
        u32::try_from(self.labels.len() - 1).expect("there are at most 2^32 labels")
    }

    /// Returns the number in `names` of each label, `None` for NaN in a column of integers. Adds
    /// new names.
    pub(super) fn number(self, names: &mut LabelNames) -> Vec<Option<u32>> {
        let is_integers = |column: &Option<usize>| {
            let column = column.map(|column| &self.columns[column]);
            column.is_some_and(|column| column.has_integers && !column.has_strings)
        };
        let number = |(column, text): &(Option<usize>, String)| match is_integers(column) {
            true if is_nan(text) => None,
            true => Some(names.id(&integer(text).unwrap_or_else(|| text.clone()))),
            false => Some(names.id(text)),
        };
        self.labels.iter().map(number).collect()
    }
}

/// Returns the decimal integer of a float that is written with a decimal point.
fn integer(text: &str) -> Option<String> {
    let value = text.contains('.').then(|| text.parse().ok()).flatten()?;
    whole_float(value).ok().map(|integer| integer.to_string())
}

fn is_nan(text: &str) -> bool {
    text.eq_ignore_ascii_case("nan")
}
