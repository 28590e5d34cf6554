//! Indexes.

use std::path::PathBuf;
use std::sync::{Mutex, RwLock};

use hashbrook::{LabelList, VectorFormat};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{Rows, codes, features, values};
use crate::errors::{broken, exception};
use crate::fork;
use crate::function::HashFunction;
use crate::labels::{FromPython, Given, given};
use crate::snapshot::Snapshot;

/// An index: one thread at a time changes it, any number search the latest snapshot, and these never wait
/// for the one.
#[pyclass(frozen, module = "hashbrook._hashbrook")]
pub struct Index {
    writer: Mutex<hashbrook::Index>,
    latest: RwLock<hashbrook::Snapshot>,
}

impl Index {
    fn of(index: hashbrook::Index) -> Index {
        let latest = RwLock::new(index.snapshot());
        Index { writer: Mutex::new(index), latest }
    }

    fn opened(
        py: Python<'_>,
        open: impl FnOnce() -> hashbrook::Result<hashbrook::Index> + Send,
    ) -> PyResult<Index> {
        py.detach(open).map(Index::of).map_err(exception)
    }

    /// Changes it, and shows those who search what it has become.
    fn change<T: Send>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut hashbrook::Index) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        fork::check()?;
        py.detach(|| {
            let mut index = self.writer.lock().map_err(broken)?;
            let changed = change(&mut index)?;
            *self.latest.write().map_err(broken)? = index.snapshot();
            Ok(changed)
        })
    }
}

/// The labels with their numbers. What is new is named in the index before the items come.
fn number(index: &mut hashbrook::Index, given: Option<Given>) -> PyResult<Option<LabelList>> {
    let Some(given) = given else { return Ok(None) };
    let known = given.are_in(index.label_names());
    let mut names = index.label_names().clone();
    let labels = given.number(&mut names)?;
    if !known {
        index.set_label_names(names).map_err(exception)?;
    }
    Ok(Some(labels))
}

/// What is put into an index: vectors, or packed codes.
enum Put<'a> {
    Vectors((&'a [f32], usize)),
    Codes(hashbrook::Codes),
}

impl Index {
    fn put(
        &self,
        py: Python<'_>,
        ids: &[u64],
        items: Put<'_>,
        labels: Option<Given>,
        replace: bool,
    ) -> PyResult<()> {
        self.change(py, |index| {
            // Before the names of labels are: what cannot be put should change nothing.
            let items = match items {
                Put::Codes(codes) => Ok(codes),
                Put::Vectors(rows) => {
                    let function = index.function().ok_or(hashbrook::Error::NoFunction);
                    Err(features(rows, function.map_err(exception)?.dim())?)
                }
            };
            let labels = number(index, labels)?;
            let labels = labels.as_ref().map(LabelList::view);
            match (items, replace) {
                (Err(features), false) => index.add(ids, features, labels),
                (Err(features), true) => index.upsert(ids, features, labels),
                (Ok(codes), false) => index.add_codes(ids, &codes, labels),
                (Ok(codes), true) => index.upsert_codes(ids, &codes, labels),
            }
            .map_err(exception)
        })
    }
}

#[pymethods]
impl Index {
    /// An index in memory.
    #[new]
    #[pyo3(signature = (function, vectors=None))]
    fn new(function: &Bound<'_, HashFunction>, vectors: Option<&str>) -> PyResult<Index> {
        let function = function.get().0.clone();
        Ok(Index::of(match vectors {
            None => hashbrook::Index::new(function),
            Some("f16") => hashbrook::Index::with_vectors(function, VectorFormat::F16),
            Some("i8") => hashbrook::Index::with_vectors(function, VectorFormat::I8),
            Some(other) => {
                let problem =
                    format!("vectors are kept as \"f16\", \"i8\" or not (None), not {other:?}");
                return Err(PyValueError::new_err(problem));
            }
        }))
    }

    #[staticmethod]
    fn of_codes(bits: usize) -> PyResult<Index> {
        hashbrook::Index::of_codes(bits).map(Index::of).map_err(exception)
    }

    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Index> {
        Index::opened(py, || hashbrook::Index::open(path))
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Index> {
        Index::opened(py, || hashbrook::Index::load(path))
    }

    #[staticmethod]
    fn edit(py: Python<'_>, path: PathBuf) -> PyResult<Index> {
        Index::opened(py, || hashbrook::Index::edit(path))
    }

    /// What it holds now. Nobody waits for a change for that.
    fn snapshot(&self, py: Python<'_>) -> PyResult<Snapshot> {
        py.detach(|| Ok(Snapshot(self.latest.read().map_err(broken)?.clone())))
    }

    fn refresh(&self, py: Python<'_>) -> PyResult<bool> {
        self.change(py, |index| index.refresh().map_err(exception))
    }

    fn put_vectors(
        &self,
        py: Python<'_>,
        ids: PyReadonlyArray1<'_, u64>,
        rows: Rows<'_>,
        labels: Option<FromPython<'_>>,
        replace: bool,
    ) -> PyResult<()> {
        let items = Put::Vectors(values(&rows)?);
        self.put(py, &ids.as_array().to_vec(), items, given(labels)?, replace)
    }

    fn put_codes(
        &self,
        py: Python<'_>,
        ids: PyReadonlyArray1<'_, u64>,
        bytes: PyReadonlyArray2<'_, u8>,
        labels: Option<FromPython<'_>>,
        replace: bool,
    ) -> PyResult<()> {
        let bits = self.snapshot(py)?.0.bits();
        let items = Put::Codes(codes(&bytes, bits)?);
        self.put(py, &ids.as_array().to_vec(), items, given(labels)?, replace)
    }

    fn remove(&self, py: Python<'_>, ids: PyReadonlyArray1<'_, u64>) -> PyResult<usize> {
        let ids = ids.as_array().to_vec();
        self.change(py, |index| index.remove(&ids).map_err(exception))
    }

    fn compact(&self, py: Python<'_>) -> PyResult<()> {
        self.change(py, |index| index.compact().map_err(exception))
    }

    fn renew(
        &self,
        py: Python<'_>,
        function: &Bound<'_, HashFunction>,
        ids: PyReadonlyArray1<'_, u64>,
        rows: Rows<'_>,
    ) -> PyResult<()> {
        let function = function.get().0.clone();
        let (ids, rows) = (ids.as_array().to_vec(), values(&rows)?);
        self.change(py, |index| {
            let rows = features(rows, function.dim())?;
            index.renew(function, &ids, rows).map_err(exception)
        })
    }

    fn renew_kept(&self, py: Python<'_>, function: &Bound<'_, HashFunction>) -> PyResult<()> {
        let function = function.get().0.clone();
        self.change(py, |index| index.renew_kept(function).map_err(exception))
    }

    fn allow_search_structures(&self, py: Python<'_>, allow: bool) -> PyResult<()> {
        self.change(py, |index| {
            index.allow_search_structures(allow);
            Ok(())
        })
    }
}
