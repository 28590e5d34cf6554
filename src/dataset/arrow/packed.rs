//! Packed codes from a column of a table.

use arrow_array::cast::AsArray;
use arrow_array::types::UInt8Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::super::purpose::Purpose;
use super::choice::kind_name;
use super::numbers::first_null;
use super::table::{Picked, Table};
use crate::{Error, Result};

/// Column of packed codes, all of the same size.
pub(in crate::dataset) struct Packed {
    picked: Picked,
    width: usize,
    /// Codes that were already read to determine their length.
    first: Option<Vec<u8>>,
}

impl Packed {
    /// Opens the column of packed codes in a table.
    pub(in crate::dataset) fn open(table: Table) -> Result<Packed> {
        let schema = table.schema.clone();
        let picked = table.pick(Purpose::Codes)?;
        let kinds = picked.names.iter().map(|name| schema.field_with_name(name));
        let kinds: Vec<_> = kinds.filter_map(|field| Some(field.ok()?.data_type())).collect();
        let width = match kinds[..] {
            [DataType::FixedSizeBinary(width)] => *width,
            [DataType::FixedSizeList(item, width)] if *item.data_type() == DataType::UInt8 => {
                *width
            }
            // Spark writes columns of variable-length bytes: all values must be as long as the
            // first.
            [DataType::Binary] => return Packed::as_long_as_the_first(picked),
            ref other => {
                let found: Vec<String> = other.iter().map(|kind| kind_name(kind)).collect();
                let problem = format!(
                    "{} is {}; packed codes are one column of bytes, or of lists of uint8, of one length",
                    picked.names.join(", "),
                    found.join(", ")
                );
                return Err(Error::malformed(&picked.path, problem));
            }
        };
        match usize::try_from(width) {
            Ok(width) if width > 0 => Ok(Packed { picked, width, first: None }),
            _ => Err(Error::malformed(&picked.path, "has packed codes of no bytes")),
        }
    }

    fn as_long_as_the_first(mut picked: Picked) -> Result<Packed> {
        while let Some(columns) = picked.next()? {
            let Some(codes) = columns[0].as_binary_opt::<i32>().filter(|codes| !codes.is_empty())
            else {
                continue;
            };
            let width = if codes.is_null(0) { 0 } else { codes.value(0).len() };
            let mut packed = Packed { picked, width: width.max(1), first: None };
            packed.first = Some(packed.bytes(&columns[0], 0)?);
            return Ok(packed);
        }
        Err(Error::malformed(&picked.path, "has no codes, and nothing tells how long they are"))
    }

    /// Returns the size of a code in bytes.
    pub(in crate::dataset) fn width(&self) -> usize {
        self.width
    }

    /// Returns the path of the file.
    pub(in crate::dataset) fn path(&self) -> &std::path::Path {
        &self.picked.path
    }

    /// Returns the bytes of the next codes, or `None` at the end.
    pub(in crate::dataset) fn next(&mut self) -> Result<Option<Vec<u8>>> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        let before = self.picked.row;
        let Some(columns) = self.picked.next()? else { return Ok(None) };
        self.bytes(&columns[0], before).map(Some)
    }

    /// Returns the bytes of a column. `before` is the number of preceding rows, which errors need.
    fn bytes(&self, column: &ArrayRef, before: usize) -> Result<Vec<u8>> {
        let null = |row| self.picked.wrong(0, before + row, "is null; codes must be there");
        if let Some(row) = first_null(column) {
            return Err(null(row));
        }
        if let Some(codes) = column.as_binary_opt::<i32>() {
            if let Some(row) = (0..codes.len()).find(|&row| codes.value(row).len() != self.width) {
                let (found, first) = (codes.value(row).len(), self.width);
                let problem = format!("has {found} bytes, and the first code has {first}");
                return Err(self.picked.wrong(0, before + row, &problem));
            }
            return Ok((0..codes.len()).flat_map(|at| codes.value(at)).copied().collect());
        }
        let Some(list) = column.as_fixed_size_list_opt() else {
            let codes = column.as_fixed_size_binary();
            return Ok((0..codes.len()).flat_map(|at| codes.value(at)).copied().collect());
        };
        let start = list.value_offset_at(0);
        let items = list.values().slice(start, list.len() * self.width);
        if let Some(item) = first_null(&items) {
            return Err(null(item / self.width));
        }
        Ok(items.as_primitive::<UInt8Type>().values().to_vec())
    }
}
