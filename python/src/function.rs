//! Hash functions.

use std::path::PathBuf;

use hashbrook::{Compact, HashParts, Lift};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arrays::{Rows, features, matrix, values};
use crate::errors::exception;
use crate::fork;
use crate::labels::texts;
use crate::watch::{Watch, chunks};

/// Number of rows that are encoded between two checks for signals.
const ROWS_AT_ONCE: usize = 16 * 1024;

/// A frozen hash function.
#[pyclass(frozen, module = "hashbrook._hashbrook")]
pub struct HashFunction(pub hashbrook::HashFunction);

#[pymethods]
impl HashFunction {
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<HashFunction> {
        let loaded = py.detach(|| hashbrook::HashFunction::load(path));
        loaded.map(HashFunction).map_err(exception)
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<HashFunction> {
        let read = hashbrook::HashFunction::from_bytes(bytes, "bytes");
        read.map(HashFunction).map_err(exception)
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.0.save(path)).map_err(exception)
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| self.0.to_bytes()))
    }

    #[getter]
    fn dim(&self) -> usize {
        self.0.dim()
    }

    #[getter]
    fn bits(&self) -> usize {
        self.0.bits()
    }

    #[getter]
    fn label_bits(&self) -> usize {
        self.0.label_bits()
    }

    #[getter]
    fn label_names(&self) -> Vec<String> {
        texts(self.0.label_names())
    }

    #[pyo3(signature = (rows, progress=None))]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        rows: Rows<'py>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<u8>>> {
        fork::check()?;
        let rows = values(&rows)?;
        let width = self.0.bits().div_ceil(8);
        let bytes = py.detach(|| {
            let all = features(rows, self.0.dim())?;
            let mut watch = Watch::new(progress);
            let mut bytes = Vec::with_capacity(all.len() * width);
            for chunk in chunks(all.len(), ROWS_AT_ONCE) {
                watch.done(chunk.start)?;
                let codes = self.0.encode(all.slice(chunk)).map_err(exception)?;
                bytes.extend(codes.to_bytes());
            }
            Ok::<_, PyErr>(bytes)
        })?;
        matrix(py, bytes, width)
    }

    fn project<'py>(
        &self,
        py: Python<'py>,
        rows: Rows<'py>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        fork::check()?;
        let rows = values(&rows)?;
        let projected =
            py.detach(|| self.0.project(features(rows, self.0.dim())?).map_err(exception))?;
        matrix(py, projected, self.0.bits())
    }

    fn prepared<'py>(
        &self,
        py: Python<'py>,
        rows: Rows<'py>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        fork::check()?;
        let rows = values(&rows)?;
        let prepared =
            py.detach(|| self.0.prepared(features(rows, self.0.dim())?).map_err(exception))?;
        matrix(py, prepared, self.0.dim())
    }

    /// Returns all parts of the function as a dictionary of arrays and numbers.
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let HashParts {
            dim, bits, center, scale, unit, lift, weights, linear_weights, offset, ..
        } = self.0.parts();
        let list = |values: &Option<Vec<f32>>| {
            values.as_ref().map(|values| PyArray1::from_slice(py, values))
        };
        let parts = PyDict::new(py);
        parts.set_item("dim", dim)?;
        parts.set_item("bits", bits)?;
        parts.set_item("label_bits", self.0.label_bits())?;
        parts.set_item("center", list(center))?;
        parts.set_item("scale", list(scale))?;
        parts.set_item("unit", unit)?;
        parts.set_item("weights", matrix(py, weights.clone(), *bits)?)?;
        let linear =
            linear_weights.clone().map(|weights| matrix(py, weights, *bits)).transpose()?;
        parts.set_item("linear_weights", linear)?;
        parts.set_item("offset", list(offset))?;
        match lift {
            Lift::Identity => parts.set_item("lift", "identity")?,
            Lift::Rbf { anchors, gamma } => {
                parts.set_item("lift", "rbf")?;
                parts.set_item("anchors", matrix(py, anchors.clone(), *dim)?)?;
                parts.set_item("gamma", gamma)?;
            }
            Lift::Compact(compact) => compact_parts(&parts, compact, *dim)?,
            // A lift that a newer library added: the reader of the parts refuses the lift by its
            // name.
            other => parts.set_item("lift", format!("{other:?}"))?,
        }
        Ok(parts)
    }
}

fn compact_parts(parts: &Bound<'_, PyDict>, compact: &Compact, dim: usize) -> PyResult<()> {
    let py = parts.py();
    let depth = compact.anchors.len().checked_div(compact.steps.len()).unwrap_or(0);
    parts.set_item("lift", "compact")?;
    parts.set_item("directions", matrix(py, compact.directions.clone(), dim)?)?;
    parts.set_item("anchors", matrix(py, compact.anchors.clone(), depth)?)?;
    parts.set_item("steps", PyArray1::from_slice(py, &compact.steps))?;
    parts.set_item("squared_norms", PyArray1::from_slice(py, &compact.squared_norms))?;
    parts.set_item("similarity_center", PyArray1::from_slice(py, &compact.center))?;
    parts.set_item("gamma", compact.gamma)
}
