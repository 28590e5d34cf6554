//! Features from the columns of a table.

use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, OffsetSizeTrait};
use arrow_schema::DataType;

use super::super::extent::MAX_DIM;
use super::super::feature_columns::FeatureColumns;
use super::super::purpose::Purpose;
use super::super::source::Source;
use super::choice::{is_number, kind_name};
use super::table::{Picked, Table};
use crate::{Error, Result};

/// Rows of numbers, each combined from all selected columns.
pub(in crate::dataset) struct Numbers {
    picked: Picked,
    /// Number of values that each column contributes to a row.
    widths: Vec<usize>,
    dim: usize,
    is_u8: bool,
    /// Current batch, and the number of its rows that were returned.
    current: Vec<ArrayRef>,
    taken: usize,
    /// Number of rows returned so far.
    row: usize,
}

impl Numbers {
    /// Opens the columns of a table. The first rows are read to determine the length of lists.
    pub(in crate::dataset) fn open(table: Table) -> Result<Numbers> {
        let mut picked = table.pick(Purpose::Features)?;
        let Some(current) = picked.next()? else {
            return Err(Error::malformed(&picked.path, "has no rows"));
        };
        let mut widths = Vec::new();
        for (at, column) in current.iter().enumerate() {
            let width = width(column).map_err(|problem| picked.wrong(at, 0, problem))?;
            widths.push(width);
        }
        let dim = widths.iter().fold(0usize, |sum, &width| sum.saturating_add(width));
        if dim == 0 || dim > MAX_DIM {
            let problem = format!("has rows of {dim} numbers; 1 to {MAX_DIM} are read");
            return Err(Error::malformed(&picked.path, problem));
        }
        let is_u8 = current.iter().all(|column| {
            matches!(item_kind(column.data_type()), DataType::UInt8 | DataType::Boolean)
        });
        Ok(Numbers { picked, widths, dim, is_u8, current, taken: 0, row: 0 })
    }

    /// Appends the numbers in some rows of the column at a position.
    fn append(&self, at: usize, rows: std::ops::Range<usize>, values: &mut Vec<f32>) -> Result<()> {
        let column = self.current[at].slice(rows.start, rows.len());
        let wrong = |row: usize, problem: String| self.picked.wrong(at, self.row + row, problem);
        if let Some(row) = first_null(&column) {
            return Err(wrong(row, "is null; features must be numbers".to_owned()));
        }
        let width = self.widths[at];
        let items = match column.data_type() {
            DataType::FixedSizeList(..) => {
                let list = column.as_fixed_size_list();
                let start = list.value_offset_at(0);
                list.values().slice(start, list.len() * width)
            }
            DataType::List(_) => list_items::<i32>(&column, width, &wrong)?,
            DataType::LargeList(_) => list_items::<i64>(&column, width, &wrong)?,
            _ => column.clone(),
        };
        let place = |item: usize| match column.data_type() {
            kind if is_number(kind) => String::new(),
            _ => format!("has at place {} what ", item % width),
        };
        if let Some(item) = first_null(&items) {
            let problem = format!("{}is null; features must be numbers", place(item));
            return Err(wrong(item / width, problem));
        }
        match append_numbers(&items, values) {
            None => Ok(()),
            Some((item, value)) => {
                let place = place(item);
                let problem = format!("{place}is {value:e}, which is too large for a 32-bit float");
                Err(wrong(item / width, problem))
            }
        }
    }
}

impl Source for Numbers {
    fn path(&self) -> &Path {
        &self.picked.path
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn rows(&self) -> Option<usize> {
        self.picked.rows
    }

    fn is_u8(&self) -> bool {
        self.is_u8
    }

    fn columns(&self) -> Option<FeatureColumns> {
        Some(self.picked.feature_columns())
    }

    fn read(&mut self, max_rows: usize, values: &mut Vec<f32>) -> Result<usize> {
        let len = |columns: &[ArrayRef]| columns.first().map_or(0, |column| column.len());
        if self.taken == len(&self.current) {
            self.taken = 0;
            self.current = self.picked.next()?.unwrap_or_default();
        }
        let rows = max_rows.min(len(&self.current) - self.taken);
        let range = self.taken..self.taken + rows;
        match self.widths.len() {
            _ if rows == 0 => {}
            1 => self.append(0, range, values)?,
            columns => {
                let mut parts = vec![Vec::new(); columns];
                for (at, part) in parts.iter_mut().enumerate() {
                    self.append(at, range.clone(), part)?;
                }
                for row in 0..rows {
                    for (part, &width) in parts.iter().zip(&self.widths) {
                        values.extend_from_slice(&part[row * width..(row + 1) * width]);
                    }
                }
            }
        }
        self.taken += rows;
        self.row += rows;
        Ok(rows)
    }
}

/// Returns the number of values of a column in each row, by its type or else by its first row.
fn width(column: &ArrayRef) -> std::result::Result<usize, String> {
    let of_first = |length: usize| match (column.is_null(0), length) {
        (true, _) => Err("is null; features must be numbers".to_owned()),
        (false, 0) => Err("is an empty list; features must be numbers".to_owned()),
        (false, length) => Ok(length),
    };
    let kind = column.data_type();
    match kind {
        kind if is_number(kind) => Ok(1),
        _ if !is_number(item_kind(kind)) => Err(format!(
            "is of the type {}; features are numbers, or lists of them",
            kind_name(kind)
        )),
        DataType::FixedSizeList(_, width) => of_first(usize::try_from(*width).unwrap_or(0)),
        DataType::List(_) => of_first(column.as_list::<i32>().value(0).len()),
        _ => of_first(column.as_list::<i64>().value(0).len()),
    }
}

/// Returns the type of the items of a list, or the type itself if it is not a list.
fn item_kind(kind: &DataType) -> &DataType {
    match kind {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            item.data_type()
        }
        other => other,
    }
}

/// Returns the concatenated items of lists; all lists must have the same length.
fn list_items<O: OffsetSizeTrait>(
    column: &ArrayRef,
    width: usize,
    wrong: &dyn Fn(usize, String) -> Error,
) -> Result<ArrayRef> {
    let list = column.as_list::<O>();
    let offsets = list.value_offsets();
    for (row, pair) in offsets.windows(2).enumerate() {
        let found = (pair[1] - pair[0]).as_usize();
        if found != width {
            let problem = format!("has {found} numbers, the first row has {width}");
            return Err(wrong(row, problem + "; all must have as many"));
        }
    }
    Ok(list.values().slice(offsets[0].as_usize(), list.len() * width))
}

/// Returns the first position of a null in a column.
pub(super) fn first_null(column: &dyn Array) -> Option<usize> {
    match column.null_count() {
        0 => None,
        _ => (0..column.len()).find(|&at| column.is_null(at)),
    }
}

/// Appends numbers of any type. If a number is finite in 64 bits but not in 32, returns its
/// position and value.
fn append_numbers(items: &ArrayRef, values: &mut Vec<f32>) -> Option<(usize, f64)> {
    fn all<T: ArrowPrimitiveType>(
        items: &ArrayRef,
        values: &mut Vec<f32>,
        convert: impl Fn(T::Native) -> f32,
    ) {
        values.extend(items.as_primitive::<T>().values().iter().map(|&value| convert(value)));
    }
    match items.data_type() {
        DataType::Float32 => {
            values.extend_from_slice(items.as_primitive::<Float32Type>().values());
        }
        DataType::Float64 => {
            let start = values.len();
            all::<Float64Type>(items, values, |value| value as f32);
            if values[start..].iter().fold(false, |any, value| any | value.is_infinite()) {
                let wide = items.as_primitive::<Float64Type>().values();
                let lost = |value: &&f64| value.is_finite() && (**value as f32).is_infinite();
                let found = wide.iter().position(|value| lost(&value));
                return found.map(|at| (at, wide[at]));
            }
        }
        DataType::Float16 => all::<Float16Type>(items, values, |value| value.to_f32()),
        DataType::Int8 => all::<Int8Type>(items, values, |value| value.into()),
        DataType::Int16 => all::<Int16Type>(items, values, |value| value.into()),
        DataType::Int32 => all::<Int32Type>(items, values, |value| value as f32),
        DataType::Int64 => all::<Int64Type>(items, values, |value| value as f32),
        DataType::UInt8 => all::<UInt8Type>(items, values, |value| value.into()),
        DataType::UInt16 => all::<UInt16Type>(items, values, |value| value.into()),
        DataType::UInt32 => all::<UInt32Type>(items, values, |value| value as f32),
        DataType::UInt64 => all::<UInt64Type>(items, values, |value| value as f32),
        _ => {
            let truths = items.as_boolean();
            values.extend((0..truths.len()).map(|at| f32::from(truths.value(at))));
        }
    }
    None
}
