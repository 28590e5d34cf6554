//! What an index holds at one moment.

use std::path::PathBuf;

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::errors::exception;
use crate::fork;
use crate::function::HashFunction;
use crate::labels::texts;
use crate::search::{Goal, How, Queries, search};

/// What an index holds at one moment, to be read: also in several threads at once.
#[pyclass(frozen, module = "hashbrook._hashbrook")]
pub struct Snapshot(pub hashbrook::Snapshot);

#[pymethods]
impl Snapshot {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    #[getter]
    fn bits(&self) -> usize {
        self.0.bits()
    }

    #[getter]
    fn function(&self) -> Option<HashFunction> {
        self.0.function().cloned().map(HashFunction)
    }

    #[getter]
    fn vectors(&self) -> Option<&'static str> {
        match self.0.vector_format()? {
            hashbrook::VectorFormat::F16 => Some("f16"),
            hashbrook::VectorFormat::I8 => Some("i8"),
            _ => Some("another format"),
        }
    }

    #[getter]
    fn label_names(&self) -> Vec<String> {
        texts(self.0.label_names())
    }

    /// What it holds, in numbers.
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = self.0.statistics();
        let numbers = PyDict::new(py);
        numbers.set_item("items", found.items)?;
        numbers.set_item("removed", found.removed)?;
        numbers.set_item("segments", found.segments)?;
        numbers.set_item("item_bytes", found.item_bytes)?;
        numbers.set_item("vector_bytes", found.vector_bytes)?;
        numbers.set_item("structure_bytes", found.structure_bytes)?;
        numbers.set_item("extra_bytes", found.extra_bytes)?;
        numbers.set_item("log_bytes", found.log_bytes)?;
        Ok(numbers)
    }

    #[pyo3(signature = (queries, k, how, progress=None))]
    fn search<'py>(
        &self,
        py: Python<'py>,
        queries: Queries<'py>,
        k: usize,
        how: How<'py>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        search(py, &self.0, &queries, Goal::Nearest(k), how, progress)
    }

    #[pyo3(signature = (queries, radius, how, progress=None))]
    fn within<'py>(
        &self,
        py: Python<'py>,
        queries: Queries<'py>,
        radius: u32,
        how: How<'py>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        search(py, &self.0, &queries, Goal::Within(radius), how, progress)
    }

    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let ids = py.detach(|| self.0.ids()).map_err(exception)?;
        Ok(PyArray1::from_vec(py, ids))
    }

    fn contains(&self, py: Python<'_>, id: u64) -> PyResult<bool> {
        py.detach(|| self.0.contains(id)).map_err(exception)
    }

    /// The code of an item, in packed bytes, and its labels; `None` if it is not there.
    #[expect(clippy::type_complexity, reason = "a tuple that Python takes apart at once")]
    fn get<'py>(
        &self,
        py: Python<'py>,
        id: u64,
    ) -> PyResult<Option<(Bound<'py, PyArray1<u8>>, Vec<String>)>> {
        let Some(item) = py.detach(|| self.0.get(id)).map_err(exception)? else { return Ok(None) };
        let code = hashbrook::Codes::from_words(self.0.bits(), item.code).map_err(exception)?;
        Ok(Some((PyArray1::from_vec(py, code.to_bytes()), self.called(&item.labels))))
    }

    /// The vector of an item as it is kept; `None` if it is not there, or none are kept.
    fn vector<'py>(&self, py: Python<'py>, id: u64) -> PyResult<Option<Bound<'py, PyArray1<f32>>>> {
        let vector = py.detach(|| self.0.vector(id)).map_err(exception)?;
        Ok(vector.map(|vector| PyArray1::from_vec(py, vector)))
    }

    fn labels_of(
        &self,
        py: Python<'_>,
        ids: PyReadonlyArray1<'_, u64>,
    ) -> PyResult<Vec<Vec<String>>> {
        let ids = ids.as_array().to_vec();
        let labels = py.detach(|| self.0.labels_of(&ids)).map_err(exception)?;
        Ok(labels.into_iter().map(|labels| self.called(labels)).collect())
    }

    fn duplicates(&self, py: Python<'_>, radius: u32) -> PyResult<Vec<Vec<u64>>> {
        fork::check()?;
        py.detach(|| self.0.duplicates(radius)).map_err(exception)
    }

    fn build_search_structures(&self, py: Python<'_>) -> PyResult<()> {
        fork::check()?;
        py.detach(|| self.0.build_search_structures()).map_err(exception)
    }

    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.verify()).map_err(exception)
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        fork::check()?;
        py.detach(|| self.0.save(path)).map_err(exception)
    }
}

impl Snapshot {
    /// What labels are called: by their numbers if they have no names.
    fn called(&self, labels: &[u32]) -> Vec<String> {
        let names = self.0.label_names();
        let name =
            |&label: &u32| names.name(label).map_or_else(|| label.to_string(), str::to_owned);
        labels.iter().map(name).collect()
    }
}
