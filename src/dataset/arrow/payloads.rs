//! Payloads from a column of a table: the bytes of its cells.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::super::purpose::Purpose;
use super::choice::kind_name;
use super::table::Table;
use crate::{Error, Result};

impl Table {
    /// Returns the columns and the names of their types in messages.
    pub(in crate::dataset) fn columns(&self) -> Vec<(String, String)> {
        let column = |field: &std::sync::Arc<arrow_schema::Field>| {
            (field.name().clone(), kind_name(field.data_type()))
        };
        self.schema.fields().iter().map(column).collect()
    }

    /// Calls `each` with the bytes of every row of the selected column; a null has no bytes.
    pub(in crate::dataset) fn for_each_payload(
        self,
        mut each: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut picked = self.pick(Purpose::Ids)?;
        if picked.names.len() != 1 {
            let problem = format!("{} columns were picked; payloads have one", picked.names.len());
            return Err(Error::malformed(&picked.path, problem));
        }
        while let Some(columns) = picked.next()? {
            let column = &columns[0];
            for row in 0..column.len() {
                if column.is_null(row) {
                    each(&[])?;
                    continue;
                }
                let Some(bytes) = bytes(column, row) else {
                    let kind = kind_name(column.data_type());
                    let problem = format!("has {kind}; payloads are texts or bytes");
                    return Err(picked.wrong(0, picked.row - column.len() + row, problem));
                };
                each(bytes)?;
            }
        }
        Ok(())
    }
}

/// Returns the bytes at a position of a column, or `None` if the column has neither strings nor
/// bytes.
fn bytes(column: &ArrayRef, at: usize) -> Option<&[u8]> {
    Some(match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().value(at).as_bytes(),
        DataType::LargeUtf8 => column.as_string::<i64>().value(at).as_bytes(),
        DataType::Utf8View => column.as_string_view().value(at).as_bytes(),
        DataType::Binary => column.as_binary::<i32>().value(at),
        DataType::LargeBinary => column.as_binary::<i64>().value(at),
        DataType::BinaryView => column.as_binary_view().value(at),
        _ => return None,
    })
}
