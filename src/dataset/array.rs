//! Arrays of numbers in files, read row by row.

use std::path::{Path, PathBuf};

use super::column_major::ColumnMajor;
use super::element::{Element, Number};
use super::extent::{Extent, shape};
use super::input::Input;
use super::records::{RawRows, Records};
use super::source::Source;
use crate::{Error, Result};

/// Order in which the numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Row after row, as in C.
    Rows,
    /// Column after column, as in Fortran and MATLAB.
    Columns,
}

/// Array of numbers that is read row by row.
pub(super) struct Array {
    path: PathBuf,
    element: Element,
    /// Sizes as stated by the file.
    sizes: Vec<u64>,
    rows: Option<usize>,
    dim: usize,
    is_u8: bool,
    raw: Box<dyn RawRows>,
    /// Number of rows returned so far.
    row: usize,
    bytes: Vec<u8>,
}

impl Array {
    /// Creates the reader of an array that begins at the current position of `input`. The first
    /// size is the number of rows, the product of the others is the dimension.
    pub(super) fn new(
        input: Input,
        element: Element,
        sizes: Vec<u64>,
        order: Order,
    ) -> Result<Array> {
        let extent = Extent::new(input.path(), &sizes, element.width(), element)?;
        extent.check(&input)?;
        let (path, rows, dim) = (input.path().to_path_buf(), extent.rows, extent.dim);
        let raw: Box<dyn RawRows> = match order {
            Order::Columns if sizes.len() > 2 => {
                let problem = format!(
                    "is stored column by column with {} dimensions ({}); that is read for two",
                    sizes.len(),
                    shape(&sizes)
                );
                return Err(Error::malformed(&path, problem));
            }
            Order::Columns if dim > 1 => Box::new(ColumnMajor::new(input, extent, element.width())),
            _ => Box::new(Records::new(input, extent)),
        };
        Ok(Array::from_raw(path, element, sizes, Some(rows), dim, raw))
    }

    /// Creates an array with a custom reader of its rows.
    pub(super) fn from_raw(
        path: PathBuf,
        element: Element,
        sizes: Vec<u64>,
        rows: Option<usize>,
        dim: usize,
        raw: Box<dyn RawRows>,
    ) -> Array {
        let is_u8 = matches!(element.number, Number::U8 | Number::Bool);
        Array { path, element, sizes, rows, dim, is_u8, raw, row: 0, bytes: Vec::new() }
    }

    /// Sets whether the numbers are meant as 0 to 255, if their storage type does not determine it.
    pub(super) fn with_u8(self, is_u8: bool) -> Array {
        Array { is_u8, ..self }
    }

    /// Returns the storage type of the numbers.
    pub(super) fn element(&self) -> Element {
        self.element
    }

    /// Returns all sizes, the number of rows first.
    pub(super) fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// Returns the bytes of the next rows, or `None` at the end.
    pub(super) fn next_raw(&mut self) -> Result<Option<&[u8]>> {
        let rows = self.raw.read(usize::MAX, &mut self.bytes)?;
        Ok((rows > 0).then_some(&self.bytes))
    }
}

impl Source for Array {
    fn path(&self) -> &Path {
        &self.path
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn rows(&self) -> Option<usize> {
        self.rows
    }

    fn is_u8(&self) -> bool {
        self.is_u8
    }

    fn read(&mut self, max_rows: usize, values: &mut Vec<f32>) -> Result<usize> {
        let rows = self.raw.read(max_rows, &mut self.bytes)?;
        self.element.decode(&self.bytes, values).map_err(|overflow| {
            let (row, column) = (self.row + overflow.index / self.dim, overflow.index % self.dim);
            let problem = format!(
                "row {row}, column {column} is {:e}, which is too large for a 32-bit float \
                 (rows and columns count from 0)",
                overflow.value
            );
            Error::malformed(&self.path, problem)
        })?;
        self.row += rows;
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_in_parts_and_end() {
        let bytes: &[u8] = &[1, 2, 3, 4, 5, 6];
        let open = |bytes: &'static [u8]| {
            let input = Input::stream(Path::new("a"), bytes, None).unwrap();
            Array::new(
                input,
                Element { number: Number::U8, big_endian: false },
                vec![3, 2],
                Order::Rows,
            )
        };
        let mut array = open(bytes).unwrap();
        let mut values = Vec::new();
        assert_eq!(array.read(2, &mut values).unwrap(), 2);
        assert_eq!(array.read(2, &mut values).unwrap(), 1);
        assert_eq!(array.read(2, &mut values).unwrap(), 0);
        assert_eq!(values, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let short = open(&[1, 2, 3, 4, 5]).unwrap().read(3, &mut values);
        assert!(short.unwrap_err().to_string().contains("expected 6 bytes for 3 x 2 uint8"));
        let long = open(&[1, 2, 3, 4, 5, 6, 7]).unwrap().read(3, &mut values);
        assert!(long.unwrap_err().to_string().contains("has more bytes than the 6"));
    }
}
