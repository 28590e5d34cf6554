//! Python class of a snapshot of an index.

use std::path::PathBuf;

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::errors::exception;
use crate::fork;
use crate::function::HashFunction;
use crate::ids::{Id, Ids, Texts};
use crate::labels::texts;
use crate::search::{Goal, How, Queries, search};

/// Read-only snapshot of an index, which several threads may read at once.
#[pyclass(frozen, module = "hashbrook._hashbrook")]
pub struct Snapshot {
    pub snapshot: hashbrook::Snapshot,
    pub texts: Texts,
}

#[pymethods]
impl Snapshot {
    fn __len__(&self) -> usize {
        self.snapshot.len()
    }

    #[getter]
    fn bits(&self) -> usize {
        self.snapshot.bits()
    }

    #[getter]
    fn function(&self) -> Option<HashFunction> {
        self.snapshot.function().cloned().map(HashFunction)
    }

    #[getter]
    fn vectors(&self) -> Option<&'static str> {
        match self.snapshot.vector_format()? {
            hashbrook::VectorFormat::F16 => Some("f16"),
            hashbrook::VectorFormat::I8 => Some("i8"),
            _ => Some("another format"),
        }
    }

    #[getter]
    fn label_names(&self) -> Vec<String> {
        texts(self.snapshot.label_names())
    }

    /// Returns statistics of the snapshot: item counts and sizes in bytes.
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = self.snapshot.statistics();
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
        search(py, self, &queries, Goal::Nearest(k), how, progress)
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
        search(py, self, &queries, Goal::Within(radius), how, progress)
    }

    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let ids = py.detach(|| self.snapshot.ids()).map_err(exception)?;
        Ok(PyArray1::from_vec(py, ids))
    }

    /// True if ids are strings.
    #[getter]
    fn text_ids(&self) -> bool {
        self.snapshot.has_text_ids()
    }

    /// Returns the string ids with these numbers.
    fn texts_of(&self, ids: PyReadonlyArray1<'_, u64>) -> PyResult<Vec<Option<String>>> {
        self.texts.of(&ids.as_array().to_vec())
    }

    fn contains(&self, py: Python<'_>, id: Id) -> PyResult<bool> {
        let id = self.number(id)?;
        py.detach(|| self.snapshot.contains(id)).map_err(exception)
    }

    /// Returns the code of an item, in packed bytes, and its labels; `None` if the item does not
    /// exist.
    #[expect(clippy::type_complexity, reason = "a tuple that Python takes apart at once")]
    fn get<'py>(
        &self,
        py: Python<'py>,
        id: Id,
    ) -> PyResult<Option<(Bound<'py, PyArray1<u8>>, Vec<String>)>> {
        let id = self.number(id)?;
        let Some(item) = py.detach(|| self.snapshot.get(id)).map_err(exception)? else {
            return Ok(None);
        };
        let code =
            hashbrook::Codes::from_words(self.snapshot.bits(), item.code).map_err(exception)?;
        Ok(Some((PyArray1::from_vec(py, code.to_bytes()), self.called(&item.labels))))
    }

    /// Returns the stored vector of an item; `None` if the item does not exist or vectors are not
    /// stored.
    fn vector<'py>(&self, py: Python<'py>, id: Id) -> PyResult<Option<Bound<'py, PyArray1<f32>>>> {
        let id = self.number(id)?;
        let vector = py.detach(|| self.snapshot.vector(id)).map_err(exception)?;
        Ok(vector.map(|vector| PyArray1::from_vec(py, vector)))
    }

    fn labels_of(&self, py: Python<'_>, ids: Ids<'_>) -> PyResult<Vec<Vec<String>>> {
        let ids = self.texts.find(self.snapshot.has_text_ids(), ids.given())?;
        let labels = py.detach(|| self.snapshot.labels_of(&ids)).map_err(exception)?;
        Ok(labels.into_iter().map(|labels| self.called(labels)).collect())
    }

    fn duplicates(&self, py: Python<'_>, radius: u32) -> PyResult<Vec<Vec<u64>>> {
        fork::check()?;
        py.detach(|| self.snapshot.duplicates(radius)).map_err(exception)
    }

    fn build_search_structures(&self, py: Python<'_>) -> PyResult<()> {
        fork::check()?;
        py.detach(|| self.snapshot.build_search_structures()).map_err(exception)
    }

    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.snapshot.verify()).map_err(exception)
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        fork::check()?;
        py.detach(|| {
            if self.snapshot.has_text_ids() {
                self.texts.save_beside(&path)?;
            }
            self.snapshot.save(path).map_err(exception)
        })
    }
}

impl Snapshot {
    fn number(&self, id: Id) -> PyResult<u64> {
        Ok(self.texts.find(self.snapshot.has_text_ids(), id.into())?[0])
    }

    /// Returns the names of labels, or their numbers if they have no names.
    fn called(&self, labels: &[u32]) -> Vec<String> {
        let names = self.snapshot.label_names();
        let name =
            |&label: &u32| names.name(label).map_or_else(|| label.to_string(), str::to_owned);
        labels.iter().map(name).collect()
    }
}
