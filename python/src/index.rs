//! Python class of the index.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, RwLock};

use hashbrook::{IdNames, LabelList, SearchStructure, VectorFormat, VectorMetric};
use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{Rows, codes, features, values};
use crate::errors::{broken, exception};
use crate::fork;
use crate::function::HashFunction;
use crate::ids::{GivenIds, Ids, Texts};
use crate::labels::{FromPython, Given, given};
use crate::snapshot::Snapshot;

/// An index. One thread at a time changes the index. Any number of threads search the latest
/// snapshot, without waiting for a change.
#[pyclass(frozen, module = "hashbrook._hashbrook")]
pub struct Index {
    writer: Mutex<hashbrook::Index>,
    latest: RwLock<hashbrook::Snapshot>,
    texts: Texts,
    /// File from which the index was opened, if the index follows changes of the file.
    path: Option<PathBuf>,
}

impl Index {
    fn of(index: hashbrook::Index, texts: Texts, path: Option<PathBuf>) -> Index {
        let latest = RwLock::new(index.snapshot());
        Index { writer: Mutex::new(index), latest, texts, path }
    }

    fn in_memory(index: hashbrook::Index) -> Index {
        Index::of(index, Texts::new(IdNames::new(), None), None)
    }

    fn opened(
        py: Python<'_>,
        path: PathBuf,
        open: impl FnOnce(&Path) -> hashbrook::Result<hashbrook::Index> + Send,
    ) -> PyResult<(hashbrook::Index, IdNames, PathBuf)> {
        let opened = py.detach(|| {
            let index = open(&path)?;
            let names = Texts::read(&index, &path)?;
            Ok((index, names))
        });
        opened.map(|(index, names)| (index, names, path)).map_err(exception)
    }

    /// Changes the index, then publishes the new snapshot to searches.
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

/// Assigns numbers to the labels. New label names are added to the index before the items change.
fn number(index: &mut hashbrook::Index, given: Given) -> PyResult<LabelList> {
    let mut names = index.complete_label_names().map_err(exception)?;
    let labels = given.number(&mut names)?;
    index.set_label_names(names).map_err(exception)?;
    Ok(labels)
}

/// Items put into an index: vectors, or packed codes.
enum Put<'a> {
    Vectors((&'a [f32], usize)),
    Codes(hashbrook::Codes),
}

impl Index {
    fn put(
        &self,
        py: Python<'_>,
        ids: GivenIds,
        items: Put<'_>,
        labels: Option<Given>,
        replace: bool,
    ) -> PyResult<()> {
        self.change(py, |index| {
            // Items are checked before new label names are added: a refused put must change
            // nothing.
            let items = match items {
                Put::Codes(codes) => Ok(codes),
                Put::Vectors(rows) => {
                    let function = index.function().ok_or(hashbrook::Error::NoFunction);
                    Err(features(rows, function.map_err(exception)?.dim())?)
                }
            };
            // The first ids that are put decide whether the index has string ids.
            let begins = index.is_empty()
                && !index.has_text_ids()
                && matches!(&ids, GivenIds::Texts(ids) if !ids.is_empty());
            if begins {
                index.set_text_ids(true).map_err(exception)?;
            }
            let put = || {
                let ids = &self.texts.put(index.has_text_ids(), ids)?;
                let labels = labels.map(|labels| number(index, labels)).transpose()?;
                let labels = labels.as_ref().map(LabelList::view);
                match (items, replace) {
                    (Err(features), false) => index.add(ids, features, labels),
                    (Err(features), true) => index.upsert(ids, features, labels),
                    (Ok(codes), false) => index.add_codes(ids, &codes, labels),
                    (Ok(codes), true) => index.upsert_codes(ids, &codes, labels),
                }
                .map_err(|error| self.texts.told(error))
            };
            let done = put();
            if begins && done.is_err() {
                index.set_text_ids(false).map_err(exception)?;
            }
            done
        })
    }
}

#[pymethods]
impl Index {
    /// Creates an index in memory.
    #[new]
    #[pyo3(signature = (function, vectors=None, metric="cosine"))]
    fn new(
        function: &Bound<'_, HashFunction>,
        vectors: Option<&str>,
        metric: &str,
    ) -> PyResult<Index> {
        let function = function.get().0.clone();
        let metric: VectorMetric = metric.parse().map_err(exception)?;
        let index = match vectors {
            None => hashbrook::Index::new(function),
            Some("f16") => hashbrook::Index::with_vectors(function, VectorFormat::F16),
            Some("i8") => hashbrook::Index::with_vectors(function, VectorFormat::I8),
            Some(other) => {
                let problem =
                    format!("vectors are kept as \"f16\", \"i8\" or not (None), not {other:?}");
                return Err(PyValueError::new_err(problem));
            }
        };
        Ok(Index::in_memory(index.ranked_by(metric)))
    }

    #[staticmethod]
    fn of_codes(bits: usize) -> PyResult<Index> {
        hashbrook::Index::of_codes(bits).map(Index::in_memory).map_err(exception)
    }

    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Index> {
        let (index, names, path) = Index::opened(py, path, |path| hashbrook::Index::open(path))?;
        Ok(Index::of(index, Texts::new(names, None), Some(path)))
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Index> {
        let (index, names, _) = Index::opened(py, path, |path| hashbrook::Index::load(path))?;
        Ok(Index::of(index, Texts::new(names, None), None))
    }

    #[staticmethod]
    fn edit(py: Python<'_>, path: PathBuf) -> PyResult<Index> {
        let (index, names, path) = Index::opened(py, path, |path| hashbrook::Index::edit(path))?;
        Ok(Index::of(index, Texts::new(names, Some(path.clone())), Some(path)))
    }

    /// Returns a snapshot of the current state, without waiting for a change.
    fn snapshot(&self, py: Python<'_>) -> PyResult<Snapshot> {
        // A change holds this lock only briefly, so the lock is usually free. If it is free,
        // Python's lock is not released, which saves time.
        let snapshot = match self.latest.try_read() {
            Ok(latest) => latest.clone(),
            Err(_) => py.detach(|| Ok::<_, PyErr>(self.latest.read().map_err(broken)?.clone()))?,
        };
        Ok(Snapshot { snapshot, texts: self.texts.clone() })
    }

    fn refresh(&self, py: Python<'_>) -> PyResult<bool> {
        self.change(py, |index| {
            let new = index.refresh().map_err(exception)?;
            if let Some(path) = self.path.as_ref().filter(|_| new && index.has_text_ids()) {
                // The writer saves string ids before it saves their items, so the file of ids is
                // complete.
                self.texts.replace(IdNames::load_beside(path).map_err(exception)?)?;
            }
            Ok(new)
        })
    }

    fn put_vectors(
        &self,
        py: Python<'_>,
        ids: Ids<'_>,
        rows: Rows<'_>,
        labels: Option<FromPython<'_>>,
        replace: bool,
    ) -> PyResult<()> {
        let items = Put::Vectors(values(&rows)?);
        self.put(py, ids.given(), items, given(labels)?, replace)
    }

    fn put_codes(
        &self,
        py: Python<'_>,
        ids: Ids<'_>,
        bytes: PyReadonlyArray2<'_, u8>,
        labels: Option<FromPython<'_>>,
        replace: bool,
    ) -> PyResult<()> {
        let bits = self.snapshot(py)?.snapshot.bits();
        let items = Put::Codes(codes(&bytes, bits)?);
        self.put(py, ids.given(), items, given(labels)?, replace)
    }

    fn set_labels(&self, py: Python<'_>, ids: Ids<'_>, labels: FromPython<'_>) -> PyResult<()> {
        let ids = ids.given();
        let labels = Given::new(&labels.0, labels.1)?;
        self.change(py, |index| {
            // Everything is checked before new label names are added: a refused call changes
            // nothing.
            let ids = self.texts.find_items(index, ids)?;
            if labels.len() != ids.len() {
                let (rows, labels) = (ids.len(), labels.len());
                return Err(exception(hashbrook::Error::LabelCount { rows, labels }));
            }
            let labels = number(index, labels)?;
            index.set_labels(&ids, labels.view()).map_err(|error| self.texts.told(error))
        })
    }

    fn remove(&self, py: Python<'_>, ids: Ids<'_>) -> PyResult<usize> {
        let ids = ids.given();
        self.change(py, |index| {
            let ids = self.texts.find(index.has_text_ids(), ids)?;
            index.remove(&ids).map_err(exception)
        })
    }

    fn compact(&self, py: Python<'_>) -> PyResult<()> {
        self.change(py, |index| index.compact().map_err(exception))
    }

    fn renew(
        &self,
        py: Python<'_>,
        function: &Bound<'_, HashFunction>,
        ids: Ids<'_>,
        rows: Rows<'_>,
    ) -> PyResult<()> {
        let function = function.get().0.clone();
        let (ids, rows) = (ids.given(), values(&rows)?);
        self.change(py, |index| {
            let ids = self.texts.find(index.has_text_ids(), ids)?;
            let rows = features(rows, function.dim())?;
            index.renew(function, &ids, rows).map_err(exception)
        })
    }

    fn renew_kept(&self, py: Python<'_>, function: &Bound<'_, HashFunction>) -> PyResult<()> {
        let function = function.get().0.clone();
        self.change(py, |index| index.renew_kept(function).map_err(exception))
    }

    fn set_search_structure(&self, py: Python<'_>, structure: &str) -> PyResult<()> {
        let structure: SearchStructure = structure.parse().map_err(exception)?;
        self.change(py, |index| {
            index.set_search_structure(structure);
            Ok(())
        })
    }
}
