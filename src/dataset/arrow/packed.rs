//! Packed codes from a column of a table.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt8Type;
use arrow_schema::DataType;

use super::super::purpose::Purpose;
use super::choice::kind_name;
use super::numbers::first_null;
use super::table::{Picked, Table};
use crate::{Error, Result};

/// A column of packed codes, each of so many bytes.
pub(in crate::dataset) struct Packed {
    picked: Picked,
    width: usize,
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
            ref other => {
                let found: Vec<String> = other.iter().map(|kind| kind_name(kind)).collect();
                let problem = format!(
                    "{} is {}; packed codes are one column of bytes of a fixed length, or of lists \
                     of uint8 of a fixed length",
                    picked.names.join(", "),
                    found.join(", ")
                );
                return Err(Error::malformed(&picked.path, problem));
            }
        };
        match usize::try_from(width) {
            Ok(width) if width > 0 => Ok(Packed { picked, width }),
            _ => Err(Error::malformed(&picked.path, "has packed codes of no bytes")),
        }
    }

    /// Bytes of a code.
    pub(in crate::dataset) fn width(&self) -> usize {
        self.width
    }

    /// The file.
    pub(in crate::dataset) fn path(&self) -> &std::path::Path {
        &self.picked.path
    }

    /// The bytes of the next codes; `None` at the end.
    pub(in crate::dataset) fn next(&mut self) -> Result<Option<Vec<u8>>> {
        let before = self.picked.row;
        let Some(columns) = self.picked.next()? else { return Ok(None) };
        let column = &columns[0];
        let null = |row| self.picked.wrong(0, before + row, "is null; codes must be there");
        if let Some(row) = first_null(column) {
            return Err(null(row));
        }
        let Some(list) = column.as_fixed_size_list_opt() else {
            let codes = column.as_fixed_size_binary();
            return Ok(Some((0..codes.len()).flat_map(|at| codes.value(at)).copied().collect()));
        };
        let start = list.value_offset_at(0);
        let items = list.values().slice(start, list.len() * self.width);
        if let Some(item) = first_null(&items) {
            return Err(null(item / self.width));
        }
        Ok(Some(items.as_primitive::<UInt8Type>().values().to_vec()))
    }
}
