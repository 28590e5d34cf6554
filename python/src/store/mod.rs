//! Python class of the store.

mod search;

use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, SendError, sync_channel};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use hashbrook::Codes;
use hashbrook::store::{Description, IdKind, ItemId, Put, Reader, Settings, VectorPrecision};
use numpy::PyArray1;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyTuple};

use self::search::{How, Queries};
use crate::arrays::{Rows, features, values};
use crate::errors::{broken, exception};
use crate::fork;
use crate::function::HashFunction;
use crate::ids::{Id, Ids};
use crate::labels::{FromPython, Given, given};
use crate::model::{Model, method, scale_named};
use crate::search::Goal;
use crate::watch::PAUSE;

/// A store, which any number of threads may change and search.
#[pyclass(frozen, module = "hashbrook._hashbrook")]
pub struct Store {
    /// `None` once the store is closed. Calls that change the store or wait for it hold the read
    /// lock; searches get a reader and release the lock at once.
    store: Arc<RwLock<Option<hashbrook::Store>>>,
    description: Description,
    /// Id of the process that runs the store's threads.
    process: u32,
}

/// Settings as passed by the Python part:
///
/// * when items are re-encoded,
/// * the share of a core that re-encoding may use,
/// * whether the store learns,
/// * the share of dead bytes above which the journal is compacted,
/// * the idle seconds after which items are re-encoded,
/// * the search structure.
type Running<'a> = (&'a str, f64, bool, f64, f64, &'a str);

/// Acknowledgement of a put: number of items, number of replaced items, whether the replaced items
/// were unlearned, and the journal position.
type Acknowledged = (usize, usize, bool, u64);

/// An item: its vector, labels, payload, code, and the version of the code.
type Item<'py> =
    (Bound<'py, PyArray1<f32>>, Vec<String>, Bound<'py, PyBytes>, Bound<'py, PyArray1<u8>>, u64);

fn closed() -> PyErr {
    PyValueError::new_err("the store is closed")
}

fn settings(running: Running<'_>) -> PyResult<Settings> {
    let (renewal, share, learn, compaction, catch_up, structure) = running;
    if !(share > 0.0 && share <= 1.0) {
        let problem = format!("renewal_share must be above 0 and up to 1, not {share}");
        return Err(PyValueError::new_err(problem));
    }
    let mut settings = Settings::default();
    settings.renewal = renewal.parse().map_err(exception)?;
    settings.structure = structure.parse().map_err(exception)?;
    (settings.renewal_share, settings.learn, settings.compaction) = (share, learn, compaction);
    settings.catch_up_after = Duration::try_from_secs_f64(catch_up).map_err(|_| {
        PyValueError::new_err(format!("catch_up_after must be 0 or more seconds, not {catch_up}"))
    })?;
    Ok(settings)
}

/// Returns the value, out of two named values, that has the given name.
fn one_of<T>(what: &str, name: &str, names: [(&str, T); 2]) -> PyResult<T> {
    let problem = format!("{what} is {:?} or {:?}, not {name:?}", names[0].0, names[1].0);
    let found = names.into_iter().find(|(one, _)| *one == name);
    found.map(|(_, value)| value).ok_or_else(|| PyValueError::new_err(problem))
}

fn to_json(value: serde_json::Result<String>) -> PyResult<String> {
    value.map_err(|problem| PyRuntimeError::new_err(problem.to_string()))
}

impl Store {
    fn of(store: hashbrook::Store) -> Store {
        let description = store.description().clone();
        let store = Arc::new(RwLock::new(Some(store)));
        Store { store, description, process: std::process::id() }
    }

    /// Runs a call that is short, or that must not be interrupted.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&hashbrook::Store) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        fork::check()?;
        py.detach(|| call(self.store.read().map_err(broken)?.as_ref().ok_or_else(closed)?))
    }

    /// Runs a call of any duration on a dedicated thread. Ctrl-C ends the wait for the call, but
    /// not the call.
    fn wait<T: Send + 'static>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&hashbrook::Store) -> hashbrook::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        fork::check()?;
        let store = self.store.clone();
        let (done, result) = sync_channel(1);
        let waited = move || {
            let called = match store.read() {
                Ok(held) => {
                    held.as_ref().ok_or_else(closed).and_then(|s| call(s).map_err(exception))
                }
                Err(error) => Err(broken(error)),
            };
            // After Ctrl-C nobody receives the result, so a failure is reported as unraisable.
            if let Err(SendError(Err(error))) = done.send(called) {
                Python::try_attach(|py| error.write_unraisable(py, None));
            }
        };
        let started = std::thread::Builder::new().name("hashbrook-wait".to_owned()).spawn(waited);
        started
            .map_err(|cause| PyOSError::new_err(format!("no thread could be started: {cause}")))?;
        py.detach(move || {
            loop {
                match result.recv_timeout(PAUSE) {
                    Ok(called) => return called,
                    Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals())?,
                    Err(RecvTimeoutError::Disconnected) => return Err(broken(())),
                }
            }
        })
    }

    /// Returns a reader of the current state, which stays readable after the store is closed.
    fn reader(&self, py: Python<'_>) -> PyResult<Reader> {
        // The lock is usually free. If it is free, releasing Python's lock would only cost time.
        if let Ok(held) = self.store.try_read() {
            fork::check()?;
            return Ok(held.as_ref().ok_or_else(closed)?.reader());
        }
        self.with(py, |store| Ok(store.reader()))
    }
}

/// In a forked copy of the process the store's threads do not exist, so the store is leaked instead
/// of stopped.
impl Drop for Store {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            std::mem::forget(self.store.clone());
        }
    }
}

#[pymethods]
impl Store {
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "called by name from the Python part alone")]
    fn create(
        py: Python<'_>,
        path: PathBuf,
        method_: (String, Option<String>, String),
        shape: (usize, usize, u64),
        ids: &str,
        precision: &str,
        metric: &str,
        center: bool,
        scale: Option<&str>,
        unit: bool,
        warmup: Option<usize>,
        batch: usize,
        held_out: u32,
        running: Running<'_>,
    ) -> PyResult<Store> {
        fork::check()?;
        let (name, preset, parameters) = method_;
        let (dim, bits, seed) = shape;
        let method = method(&name, preset.as_deref(), &parameters)?;
        let mut made = Description::new(method, dim, bits);
        made.seed = seed;
        made.ids = one_of("ids", ids, [("numbers", IdKind::Numbers), ("texts", IdKind::Texts)])?;
        let precisions = [("f32", VectorPrecision::F32), ("f16", VectorPrecision::F16)];
        made.precision = one_of("precision", precision, precisions)?;
        made.metric = metric.parse().map_err(exception)?;
        made.scale = scale_named(scale)?;
        (made.center, made.unit, made.warmup, made.batch) = (center, unit, warmup, batch);
        made.held_out = held_out;
        let settings = settings(running)?;
        let store = py.detach(|| hashbrook::Store::create(path, &made, settings));
        store.map(Store::of).map_err(exception)
    }

    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf, running: Running<'_>) -> PyResult<Store> {
        fork::check()?;
        let settings = settings(running)?;
        let store = py.detach(|| hashbrook::Store::open(path, settings));
        store.map(Store::of).map_err(exception)
    }

    /// Repairs a store into the directory `to`, or in place if `to` is `None`. Returns a report as
    /// JSON.
    #[staticmethod]
    fn repair(py: Python<'_>, path: PathBuf, to: Option<PathBuf>) -> PyResult<String> {
        fork::check()?;
        let repaired = py.detach(|| match to {
            Some(to) => hashbrook::Store::repair(path, to),
            None => hashbrook::Store::repair_in_place(path),
        });
        to_json(serde_json::to_string(&repaired.map_err(exception)?))
    }

    #[staticmethod]
    fn exists(path: PathBuf) -> bool {
        hashbrook::Store::exists(path)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        fork::check()?;
        py.detach(|| {
            let open = self.store.write().map_err(broken)?.take();
            open.map_or(Ok(()), hashbrook::Store::close).map_err(exception)
        })
    }

    /// Returns the description of the store as JSON.
    #[getter]
    fn description(&self) -> PyResult<String> {
        to_json(serde_json::to_string(&self.description))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.reader(py)?.len())
    }

    #[getter]
    fn version(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.reader(py)?.version())
    }

    fn put(
        &self,
        py: Python<'_>,
        ids: Ids<'_>,
        rows: Rows<'_>,
        labels: Option<FromPython<'_>>,
        payloads: Option<Vec<PyBackedBytes>>,
    ) -> PyResult<Acknowledged> {
        let ids: Vec<ItemId> = ids.given().into();
        let (rows, labels) = (values(&rows)?, given(labels)?);
        self.with(py, |store| {
            let mut items =
                Put::new(&ids, features(rows, self.description.dim)?).map_err(exception)?;
            let labels = labels.map(Given::rows).transpose()?;
            let payloads: Option<Vec<Vec<u8>>> =
                payloads.map(|payloads| payloads.iter().map(|bytes| bytes.to_vec()).collect());
            if let Some(labels) = &labels {
                items = items.labels(labels).map_err(exception)?;
            }
            if let Some(payloads) = &payloads {
                items = items.payloads(payloads).map_err(exception)?;
            }
            store.put(items).map(acknowledged).map_err(exception)
        })
    }

    fn label(
        &self,
        py: Python<'_>,
        ids: Ids<'_>,
        labels: FromPython<'_>,
    ) -> PyResult<Acknowledged> {
        let ids: Vec<ItemId> = ids.given().into();
        let labels = Given::new(&labels.0, labels.1)?;
        self.with(py, |store| {
            store.label(&ids, &labels.rows()?).map(acknowledged).map_err(exception)
        })
    }

    fn remove(&self, py: Python<'_>, ids: Ids<'_>) -> PyResult<(usize, bool, u64)> {
        let ids: Vec<ItemId> = ids.given().into();
        let removed = self.with(py, |store| store.remove(&ids).map_err(exception))?;
        Ok((removed.removed, removed.unlearned, removed.position))
    }

    fn get<'py>(&self, py: Python<'py>, id: Id) -> PyResult<Option<Item<'py>>> {
        let (id, reader) = (id.into(), self.reader(py)?);
        let Some(item) = py.detach(|| reader.get(&id)).map_err(exception)? else { return Ok(None) };
        let code = Codes::from_words(self.description.bits, item.code).map_err(exception)?;
        let code = PyArray1::from_vec(py, code.to_bytes());
        let vector = PyArray1::from_vec(py, item.vector);
        let payload = PyBytes::new(py, &item.payload);
        Ok(Some((vector, item.labels, payload, code, item.version)))
    }

    fn search<'py>(
        &self,
        py: Python<'py>,
        queries: Queries<'py>,
        k: usize,
        how: How,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let reader = self.reader(py)?;
        search::found(py, &reader, &self.description, queries, Goal::Nearest(k), how)
    }

    fn within<'py>(
        &self,
        py: Python<'py>,
        queries: Queries<'py>,
        radius: u32,
        how: How,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let reader = self.reader(py)?;
        search::found(py, &reader, &self.description, queries, Goal::Within(radius), how)
    }

    /// Returns the statistics as JSON.
    fn stats(&self, py: Python<'_>) -> PyResult<String> {
        to_json(serde_json::to_string(&self.with(py, |store| Ok(store.stats()))?))
    }

    #[pyo3(name = "wait")]
    fn wait_searchable(&self, py: Python<'_>, position: u64) -> PyResult<()> {
        self.wait(py, move |store| store.wait(position))
    }

    fn wait_learned(&self, py: Python<'_>, position: u64) -> PyResult<()> {
        self.wait(py, move |store| store.wait_learned(position))
    }

    fn renew(&self, py: Python<'_>) -> PyResult<u64> {
        self.wait(py, hashbrook::Store::renew)
    }

    fn model(&self, py: Python<'_>) -> PyResult<Model> {
        self.with(py, |store| store.model().map(Model::of).map_err(exception))
    }

    fn hash_function(&self, py: Python<'_>) -> PyResult<HashFunction> {
        let reader = self.reader(py)?;
        let function = reader.index().function().cloned();
        function.map(HashFunction).ok_or_else(|| exception(hashbrook::Error::NoFunction))
    }

    fn snapshot(&self, py: Python<'_>, to: PathBuf, compact: bool) -> PyResult<()> {
        self.wait(py, move |store| if compact { store.compact_to(to) } else { store.snapshot(to) })
    }

    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        self.wait(py, hashbrook::Store::verify)
    }
}

fn acknowledged(done: hashbrook::store::Acknowledged) -> Acknowledged {
    (done.items, done.replaced, done.unlearned, done.position)
}
