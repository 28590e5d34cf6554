//! Data files, read by the library's readers.

use hashbrook::dataset::{Reader, read_labels_for, without_columns};
use hashbrook::{Error, LabelNames};
use numpy::PyArray2;
use pyo3::prelude::*;

use crate::arrays::matrix;
use crate::errors::exception;

/// Number of rows that are read at once.
const ROWS_AT_ONCE: usize = 8192;

/// Labels of each row as strings, and whether rows may have several labels.
type Texts = (Vec<Vec<String>>, bool);

/// Contents of files: values, number of columns, and labels.
type Held = (Vec<f32>, usize, Option<Texts>);

/// Reads vectors from files, and labels if label files are given.
#[pyfunction]
pub fn load(
    py: Python<'_>,
    data: Vec<String>,
    labels: Option<Vec<String>>,
) -> PyResult<(Bound<'_, PyArray2<f32>>, Option<Texts>)> {
    let (values, dim, labels) = py.detach(|| read(&data, labels.as_deref())).map_err(exception)?;
    Ok((matrix(py, values, dim)?, labels))
}

fn read(data: &[String], labels: Option<&[String]>) -> hashbrook::Result<Held> {
    let mut reader = Reader::open_all(&without_columns(data, labels.unwrap_or_default())?)?;
    let mut values = Vec::new();
    while let Some(rows) = reader.next(ROWS_AT_ONCE)? {
        values.extend_from_slice(rows.values());
    }
    let dim = reader.dim();
    let Some(files) = labels else { return Ok((values, dim, None)) };
    let (rows, mut names) = (values.len() / dim, LabelNames::new());
    let labels = read_labels_for(files, &mut names, Some(rows))?.labels;
    if labels.len() != rows {
        return Err(Error::LabelCount { rows, labels: labels.len() });
    }
    let view = labels.view();
    let text = |&label: &u32| names.name(label).unwrap_or_default().to_owned();
    let texts = (0..rows).map(|row| view.row(row).iter().map(text).collect()).collect();
    Ok((values, dim, Some((texts, labels.has_sets()))))
}
