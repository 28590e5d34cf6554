//! From numpy arrays to the library's views, and back.

use hashbrook::{Codes, Features};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;

use crate::errors::exception;

/// Rows of vectors, C-contiguous: nothing is copied.
pub type Rows<'py> = PyReadonlyArray2<'py, f32>;

/// The numbers of rows, and how many make a row.
///
/// # Errors
/// When the array is not C-contiguous, which the Python part sees to.
pub fn values<'a>(rows: &'a Rows<'_>) -> PyResult<(&'a [f32], usize)> {
    let dim = rows.shape()[1];
    let values =
        rows.as_slice().map_err(|_| PyValueError::new_err("expected a C-contiguous array"))?;
    Ok((values, dim))
}

/// A view of numbers, which are looked at: they must be finite. `dim` is what vectors should have.
///
/// # Errors
/// As for [`Features::new`].
pub fn features((values, found): (&[f32], usize), dim: usize) -> PyResult<Features<'_>> {
    // Before anything else, since rows of no numbers are of no dimension.
    if found != dim {
        return Err(exception(hashbrook::Error::Dimension { expected: dim, found }));
    }
    Features::new(values, dim).map_err(exception)
}

/// Packed codes, rows x bytes.
///
/// # Errors
/// When they are not of so many bits.
pub fn codes(bytes: &PyReadonlyArray2<'_, u8>, bits: usize) -> PyResult<Codes> {
    let width = bits.div_ceil(8);
    if bytes.shape()[1] != width {
        let found = bytes.shape()[1];
        return Err(PyValueError::new_err(format!(
            "codes of {bits} bits have {width} bytes each, these have {found}"
        )));
    }
    let bytes =
        bytes.as_slice().map_err(|_| PyValueError::new_err("expected a C-contiguous array"))?;
    Codes::from_bytes(bits, bytes).map_err(exception)
}

/// Rows of so many columns, of a list that is kept and not copied.
pub fn matrix<'py, T: numpy::Element>(
    py: Python<'py>,
    values: Vec<T>,
    columns: usize,
) -> PyResult<Bound<'py, PyArray2<T>>> {
    let rows = values.len().checked_div(columns).unwrap_or(0);
    PyArray1::from_vec(py, values).reshape([rows, columns])
}

/// An empty list with room for rows of so many columns.
///
/// # Errors
/// `MemoryError`, when there is not the room.
pub fn with_room<T>((rows, columns): (usize, usize)) -> PyResult<Vec<T>> {
    let mut values = Vec::new();
    let room = rows.checked_mul(columns).filter(|&room| values.try_reserve_exact(room).is_ok());
    room.map(|_| values).ok_or_else(|| {
        PyMemoryError::new_err(format!("there is not the memory for {rows} x {columns} results"))
    })
}
