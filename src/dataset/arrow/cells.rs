//! Labels and ids from the columns of a table: the cells as strings.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::super::element::whole_float;
use super::super::purpose::Purpose;
use super::choice::{is_number, kind_name};
use super::table::{Picked, Table};
use crate::Result;

/// A cell as a string (`None` for null), or the problem with a cell that is not a string.
type Cell<'a> = std::result::Result<Option<Cow<'a, str>>, String>;

impl Table {
    /// Calls `each` with the labels of every row, one row after the other. Null and NaN are no
    /// labels. Lists of integers or strings are sets of labels. Lists of a fixed length consist of
    /// zeros and ones, and the positions of the ones are the labels.
    pub(in crate::dataset) fn for_each_labels(
        self,
        mut each: impl FnMut(&[Cow<'_, str>]) -> Result<()>,
    ) -> Result<()> {
        let mut picked = self.pick(Purpose::Labels)?;
        let mut before = 0;
        while let Some(columns) = picked.next()? {
            let columns: Vec<Cells> = columns.into_iter().map(Cells::new).collect();
            for row in 0..picked.row - before {
                let mut texts = Vec::new();
                for (at, column) in columns.iter().enumerate() {
                    let found = column.labels(row, &mut texts);
                    found.map_err(|problem| picked.wrong(at, before + row, problem))?;
                }
                each(&texts)?;
            }
            before = picked.row;
        }
        Ok(())
    }

    /// Calls `each` with the id of every row, one row after the other.
    pub(in crate::dataset) fn for_each_id(
        self,
        mut each: impl FnMut(&str) -> Result<()>,
    ) -> Result<()> {
        let mut picked = self.pick(Purpose::Ids)?;
        if picked.names.len() != 1 {
            let problem = format!("{} columns were picked; ids have one", picked.names.len());
            return Err(crate::Error::malformed(&picked.path, problem));
        }
        let mut before = 0;
        while let Some(columns) = picked.next()? {
            let ids = Cells::new(columns[0].clone());
            for row in 0..picked.row - before {
                each(&id_of(&picked, &ids, row, before + row)?)?;
            }
            before = picked.row;
        }
        Ok(())
    }
}

/// Returns the id in a row of a column; errors call it row `named` of the file.
fn id_of<'a>(picked: &Picked, ids: &'a Cells, row: usize, named: usize) -> Result<Cow<'a, str>> {
    match ids.text(row) {
        Ok(Some(id)) => Ok(id),
        Ok(None) => Err(picked.wrong(0, named, "is null; every row needs an id")),
        Err(problem) => Err(picked.wrong(0, named, problem)),
    }
}

/// Column whose cells are strings or integers, or lists of these.
pub(super) struct Cells {
    /// The column itself, or the values of its dictionary.
    values: ArrayRef,
    /// Position of each row in the dictionary; `None` for null.
    keys: Option<Vec<Option<usize>>>,
}

impl Cells {
    pub(super) fn new(column: ArrayRef) -> Cells {
        match column.as_any_dictionary_opt() {
            // Rows of an empty dictionary cannot be looked up: all of them are null.
            Some(dictionary) if dictionary.values().is_empty() => {
                let keys = Some(vec![None; column.len()]);
                Cells { values: dictionary.values().clone(), keys }
            }
            Some(dictionary) => {
                let keys = dictionary.normalized_keys().into_iter().enumerate();
                let keys = keys.map(|(row, key)| dictionary.is_valid(row).then_some(key));
                let keys = Some(keys.collect());
                Cells { values: dictionary.values().clone(), keys }
            }
            None => Cells { values: column, keys: None },
        }
    }

    /// Returns the string of a row.
    pub(super) fn text(&self, row: usize) -> Cell<'_> {
        match &self.keys {
            None => text(&self.values, row),
            Some(keys) => keys[row].map_or(Ok(None), |key| text(&self.values, key)),
        }
    }

    /// Returns the label of a row whose cell is not a list.
    fn label(&self, row: usize) -> Cell<'_> {
        let at = self.keys.as_ref().map_or(Some(row), |keys| keys[row]);
        match at {
            Some(at) if is_nan(&self.values, at) => Ok(None),
            _ => self.text(row),
        }
    }

    /// Appends the labels of a row.
    fn labels<'a>(
        &'a self,
        row: usize,
        texts: &mut Vec<Cow<'a, str>>,
    ) -> std::result::Result<(), String> {
        let values = &self.values;
        let items = match values.data_type() {
            _ if self.keys.is_some() => None,
            DataType::List(_) => {
                Some(values.is_valid(row).then(|| values.as_list::<i32>().value(row)))
            }
            DataType::LargeList(_) => {
                Some(values.is_valid(row).then(|| values.as_list::<i64>().value(row)))
            }
            DataType::FixedSizeList(..) => {
                let items = values.is_valid(row).then(|| values.as_fixed_size_list().value(row));
                return items.map_or(Ok(()), |items| indicated(&items, texts));
            }
            _ => None,
        };
        match items {
            None => texts.extend(self.label(row)?),
            Some(items) => {
                let items = Cells::new(items.unwrap_or_else(|| values.slice(0, 0)));
                for at in 0..items.len() {
                    let text = items.label(at)?.map(|text| Cow::Owned(text.into_owned()));
                    texts.extend(text);
                }
            }
        }
        Ok(())
    }

    fn len(&self) -> usize {
        self.keys.as_ref().map_or(self.values.len(), Vec::len)
    }
}

/// Appends the labels that a list of zeros and ones indicates.
fn indicated(items: &ArrayRef, texts: &mut Vec<Cow<'_, str>>) -> std::result::Result<(), String> {
    let wrong = |at: usize, found: &str| {
        Err(format!(
            "has {found} at place {at}; labels in lists of a fixed length must be 0 or 1, and sets of \
             labels stand in lists of any length; is this the column of features?"
        ))
    };
    if !is_number(items.data_type()) {
        return wrong(0, &kind_name(items.data_type()));
    }
    for at in 0..items.len() {
        match text(items, at) {
            Ok(Some(text)) if text == "0" => {}
            Ok(Some(text)) if text == "1" => texts.push(Cow::Owned(at.to_string())),
            Ok(Some(text)) => return wrong(at, &text),
            Ok(None) => return wrong(at, "null"),
            Err(problem) => return wrong(at, problem.trim_start_matches("is ")),
        }
    }
    Ok(())
}

/// Returns whether the value at a position of a plain column is NaN.
fn is_nan(column: &ArrayRef, at: usize) -> bool {
    match column.data_type() {
        DataType::Float16 => column.as_primitive::<Float16Type>().value(at).is_nan(),
        DataType::Float32 => column.as_primitive::<Float32Type>().value(at).is_nan(),
        DataType::Float64 => column.as_primitive::<Float64Type>().value(at).is_nan(),
        _ => false,
    }
}

/// Returns the value at a position of a plain column as a string. Integers are decimal, as labels
/// of other files are.
fn text(column: &ArrayRef, at: usize) -> Cell<'_> {
    if column.is_null(at) {
        return Ok(None);
    }
    macro_rules! number {
        ($type:ty) => {
            Ok(Some(Cow::Owned(column.as_primitive::<$type>().value(at).to_string())))
        };
    }
    let float = |value: f64| match whole_float(value) {
        Ok(whole) => Ok(Some(Cow::Owned(whole.to_string()))),
        Err(value) => Err(format!("is {value}; whole numbers or texts were expected")),
    };
    let bytes = |bytes| match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Some(Cow::Borrowed(text))),
        Err(_) => Err("is not UTF-8 text".to_owned()),
    };
    match column.data_type() {
        DataType::Utf8 => Ok(Some(Cow::Borrowed(column.as_string::<i32>().value(at)))),
        DataType::LargeUtf8 => Ok(Some(Cow::Borrowed(column.as_string::<i64>().value(at)))),
        DataType::Utf8View => Ok(Some(Cow::Borrowed(column.as_string_view().value(at)))),
        DataType::Binary => bytes(column.as_binary::<i32>().value(at)),
        DataType::LargeBinary => bytes(column.as_binary::<i64>().value(at)),
        DataType::Boolean => Ok(Some(Cow::Borrowed(match column.as_boolean().value(at) {
            true => "1",
            false => "0",
        }))),
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Float16 => float(column.as_primitive::<Float16Type>().value(at).into()),
        DataType::Float32 => float(column.as_primitive::<Float32Type>().value(at).into()),
        DataType::Float64 => float(column.as_primitive::<Float64Type>().value(at)),
        DataType::Null => Ok(None),
        other => {
            Err(format!("is of the type {}; whole numbers or texts are read", kind_name(other)))
        }
    }
}
