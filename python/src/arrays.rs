//! Conversions between numpy arrays and the library's views.

use hashbrook::{Codes, Features};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;

use crate::errors::exception;

/// Rows of vectors, C-contiguous, borrowed without a copy.
pub type Rows<'py> = PyReadonlyArray2<'py, f32>;

/// Returns the values of all rows, and the number of columns.
///
/// # Errors
/// If the array is not C-contiguous; the Python part ensures that it is.
pub fn values<'a>(rows: &'a Rows<'_>) -> PyResult<(&'a [f32], usize)> {
    let dim = rows.shape()[1];
    let values =
        rows.as_slice().map_err(|_| PyValueError::new_err("expected a C-contiguous array"))?;
    Ok((values, dim))
}

/// Creates a view of the values. Checks that all are finite, and that there are `dim` columns.
///
/// # Errors
/// As for [`Features::new`].
pub fn features((values, found): (&[f32], usize), dim: usize) -> PyResult<Features<'_>> {
    // This check comes first, because rows with zero columns have no dimension.
    if found != dim {
        return Err(exception(hashbrook::Error::Dimension { expected: dim, found }));
    }
    Features::new(values, dim).map_err(exception)
}

/// Converts packed codes, rows x bytes.
///
/// # Errors
/// If the codes do not have `bits` bits.
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

/// Converts the values to an array with the given number of columns, without a copy.
pub fn matrix<'py, T: numpy::Element>(
    py: Python<'py>,
    values: Vec<T>,
    columns: usize,
) -> PyResult<Bound<'py, PyArray2<T>>> {
    let rows = values.len().checked_div(columns).unwrap_or(0);
    PyArray1::from_vec(py, values).reshape([rows, columns])
}

/// Returns an empty list with capacity for `rows` x `columns` values.
///
/// # Errors
/// `MemoryError` if the allocation fails.
pub fn with_room<T>((rows, columns): (usize, usize)) -> PyResult<Vec<T>> {
    let mut values = Vec::new();
    let room = rows.checked_mul(columns).filter(|&room| values.try_reserve_exact(room).is_ok());
    room.map(|_| values).ok_or_else(|| {
        PyMemoryError::new_err(format!("allocation of {rows} x {columns} results failed"))
    })
}

/// Maximum bytes of padding in results that have more columns than the collection has items. No
/// sensible program needs more. Systems that overcommit memory grant far more, and kill the process
/// when it writes the memory.
const MOST_PADDING: u64 = 1 << 30;

/// Minimum bytes of a result for which the available memory is checked. Smaller results skip the
/// check, because it reads a file.
const LARGE: u64 = 1 << 28;

/// Checks that the results of a search fit into memory: `queries` x `k` hits of `hit_bytes` each.
/// Each query has at most `items` hits, followed by padding.
///
/// # Errors
/// `MemoryError` if the results do not fit.
pub fn expect_room(queries: usize, k: usize, items: usize, hit_bytes: usize) -> PyResult<()> {
    let bytes = |columns: usize| {
        [queries, columns, hit_bytes].iter().fold(1u64, |all, &one| all.saturating_mul(one as u64))
    };
    let (all, padding) = (bytes(k), bytes(k.saturating_sub(items)));
    let problem = if padding > MOST_PADDING {
        format!("most of them padding, as there are {items} items; use k up to {items}")
    } else if let Some(available) = (all >= LARGE).then(available_bytes).flatten()
        && all > available
    {
        let available = gigabytes(available);
        format!("of which {available} are available; use a smaller k, or fewer queries at a time")
    } else {
        return Ok(());
    };
    let needed = gigabytes(all);
    let text = format!("{queries} x {k} results need {needed} of memory, {problem}");
    Err(PyMemoryError::new_err(text))
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

/// Returns the bytes of memory that Linux can allocate without swapping, limited by the control
/// group. Returns `None` on other systems.
fn available_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let available = line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024;
    let limit = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let limit = limit.and_then(|limit| limit.trim().parse().ok());
    Some(limit.map_or(available, |limit: u64| limit.min(available)))
}
