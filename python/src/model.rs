//! Models.

use std::ffi::CString;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError, RwLock};
use std::thread::ThreadId;

use hashbrook::{Batch, Center, LabelList, Method, Scale, Setup};
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyRuntimeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::Value;

use crate::arrays::{Rows, features, values};
use crate::errors::{broken, exception};
use crate::fork;
use crate::function::HashFunction;
use crate::labels::{FromPython, Given, given, texts};
use crate::watch::Watch;

/// A model in training. One thread at a time changes the model; other threads wait without holding
/// Python's lock.
#[pyclass(frozen, module = "hashbrook._hashbrook")]
pub struct Model {
    model: RwLock<hashbrook::Model>,
    /// Thread that is learning. A second call on this thread while it is learning, for example by a
    /// signal handler, must fail: otherwise the thread would wait for itself.
    learning: Mutex<Option<ThreadId>>,
}

/// Returns the names of all methods.
#[pyfunction]
pub fn methods() -> Vec<&'static str> {
    Method::all().iter().map(Method::name).collect()
}

/// Returns the names of the data sets that have presets.
#[pyfunction]
pub fn presets() -> Vec<String> {
    Method::presets()
}

/// Creates the method `name` with the parameters of a preset, overridden by those in a JSON object.
///
/// # Errors
/// If the method, preset or parameter does not exist, or a parameter has the wrong type.
pub fn method(name: &str, preset: Option<&str>, parameters: &str) -> PyResult<Method> {
    let mut method = Method::named(name).map_err(exception)?;
    if let Some(preset) = preset {
        method.preset(preset).map_err(exception)?;
    }
    let parameters: serde_json::Map<String, Value> = serde_json::from_str(parameters)
        .map_err(|problem| PyValueError::new_err(format!("parameters: {problem}")))?;
    for (name, value) in parameters {
        method.set_value(&name, value).map_err(exception)?;
    }
    Ok(method)
}

/// Returns the column scaling of this name.
///
/// # Errors
/// If the name is unknown.
pub fn scale_named(name: Option<&str>) -> PyResult<Scale> {
    match name {
        None | Some("none") => Ok(Scale::None),
        Some("standard") => Ok(Scale::Standard),
        Some(other) => {
            let problem = format!("scale is \"standard\" or None, not {other:?}");
            Err(PyValueError::new_err(problem))
        }
    }
}

impl Model {
    pub fn of(model: hashbrook::Model) -> Model {
        Model { model: RwLock::new(model), learning: Mutex::new(None) }
    }

    /// Fails if the calling thread is already inside a call that changes the model.
    fn expect_free(&self) -> PyResult<()> {
        let learning = self.learning.lock().unwrap_or_else(PoisonError::into_inner);
        if *learning == Some(std::thread::current().id()) {
            return Err(PyRuntimeError::new_err(
                "the model is learning in this very thread, and cannot be asked before it is done",
            ));
        }
        Ok(())
    }

    fn read<T: Send>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&hashbrook::Model) -> T + Send,
    ) -> PyResult<T> {
        fork::check()?;
        self.expect_free()?;
        py.detach(|| Ok(read(&*self.model.read().map_err(broken)?)))
    }

    fn change<T: Send>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut hashbrook::Model) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        fork::check()?;
        self.expect_free()?;
        py.detach(|| {
            let mut model = self.model.write().map_err(broken)?;
            let set = |thread| {
                *self.learning.lock().unwrap_or_else(PoisonError::into_inner) = thread;
            };
            set(Some(std::thread::current().id()));
            let changed = change(&mut model);
            set(None);
            changed
        })
    }
}

/// Assigns numbers to the labels and adds new label names to the model. Also returns the previous
/// names if any were added, so that the caller can restore them if learning fails.
fn number(
    model: &mut hashbrook::Model,
    given: Given,
) -> PyResult<(LabelList, Option<hashbrook::LabelNames>)> {
    let before = (!given.are_in(model.label_names())).then(|| model.label_names().clone());
    Ok((given.number(model.label_names_mut())?, before))
}

#[pymethods]
impl Model {
    #[new]
    #[pyo3(signature = (name, preset, parameters, dim, bits, seed, center, scale, unit, warmup, init))]
    #[expect(clippy::too_many_arguments, reason = "called by name from the Python part alone")]
    fn new(
        name: &str,
        preset: Option<&str>,
        parameters: &str,
        dim: usize,
        bits: usize,
        seed: u64,
        center: Option<Bound<'_, PyAny>>,
        scale: Option<&str>,
        unit: bool,
        warmup: Option<usize>,
        init: Option<PyReadonlyArray2<'_, f32>>,
    ) -> PyResult<Model> {
        let mut setup = Setup::default();
        setup.center = match center {
            None => Center::None,
            Some(center) => match center.extract::<PyReadonlyArray1<'_, f32>>() {
                Ok(values) => Center::Given(values.as_array().to_vec()),
                Err(_) => match center.extract::<String>()?.as_str() {
                    "first" => Center::First,
                    "none" => Center::None,
                    other => {
                        let problem =
                            format!("center is \"first\", None or a vector, not {other:?}");
                        return Err(PyValueError::new_err(problem));
                    }
                },
            },
        };
        setup.scale = scale_named(scale)?;
        (setup.unit, setup.warmup) = (unit, warmup);
        if let Some(init) = init {
            let found = init.shape();
            if found != [dim, bits] {
                let problem = format!(
                    "init must be a projection of {dim} x {bits}, not {} x {}",
                    found[0], found[1]
                );
                return Err(PyValueError::new_err(problem));
            }
            setup.init = Some(init.as_array().iter().copied().collect());
        }
        let method = method(name, preset, parameters)?;
        method.start_with(dim, bits, seed, setup).map(Model::of).map_err(exception)
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Model> {
        py.detach(|| hashbrook::Model::load(path)).map(Model::of).map_err(exception)
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Model> {
        let read = py.detach(|| hashbrook::Model::from_bytes(bytes, "bytes"));
        read.map(Model::of).map_err(exception)
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.read(py, |model| model.save(path).map_err(exception))?
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.read(py, hashbrook::Model::to_bytes)?))
    }

    fn copy(&self, py: Python<'_>) -> PyResult<Model> {
        self.read(py, |model| Model::of(model.clone()))
    }

    /// Learns the rows as one batch, or in batches of `batch` rows.
    #[pyo3(signature = (rows, labels, batch=None, progress=None))]
    fn learn(
        &self,
        py: Python<'_>,
        rows: Rows<'_>,
        labels: Option<FromPython<'_>>,
        batch: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        if batch == Some(0) {
            return Err(PyValueError::new_err("batch must be 1 or more, not 0"));
        }
        let (rows, given) = (values(&rows)?, given(labels)?);
        self.change(py, |model| {
            let all = features(rows, model.dim())?;
            let (labels, names) = match given {
                None => (None, None),
                Some(given) => {
                    let (labels, names) = number(model, given)?;
                    (Some(labels), names)
                }
            };
            let learned = learn(model, all, labels.as_ref(), batch, &mut Watch::new(progress));
            let (learned, any) = learned;
            if let (Err(_), false, Some(names)) = (&learned, any, names) {
                *model.label_names_mut() = names;
            }
            learned
        })
    }

    fn unlearn(
        &self,
        py: Python<'_>,
        rows: Rows<'_>,
        labels: Option<FromPython<'_>>,
    ) -> PyResult<()> {
        let (rows, given) = (values(&rows)?, given(labels)?);
        self.change(py, |model| {
            let all = features(rows, model.dim())?;
            let mut names = model.label_names().clone();
            let labels = given.map(|given| given.number(&mut names)).transpose()?;
            let batch = match &labels {
                Some(labels) => Batch::new(all, labels.view()).map_err(exception)?,
                None => Batch::unlabelled(all),
            };
            model.unlearn(batch).map(|_| ()).map_err(exception)
        })
    }

    fn relabel(
        &self,
        py: Python<'_>,
        rows: Rows<'_>,
        old: FromPython<'_>,
        new: FromPython<'_>,
    ) -> PyResult<()> {
        let rows = values(&rows)?;
        let (old, new) = (Given::new(&old.0, old.1)?, Given::new(&new.0, new.1)?);
        self.change(py, |model| {
            let all = features(rows, model.dim())?;
            let (old, before) = number(model, old)?;
            let (new, between) = number(model, new)?;
            let relabelled = model.relabel(all, old.view(), new.view());
            if let (Err(_), Some(names)) = (&relabelled, before.or(between)) {
                *model.label_names_mut() = names;
            }
            relabelled.map(|_| ()).map_err(exception)
        })
    }

    fn merge(&self, py: Python<'_>, other: &Bound<'_, Model>) -> PyResult<()> {
        // The other model is copied first: two threads that merge two models into each other would
        // deadlock if each held both locks.
        let other = other.get().read(py, hashbrook::Model::clone)?;
        self.change(py, |model| model.merge(&other).map_err(exception))
    }

    fn merge_part(&self, py: Python<'_>, other: &Bound<'_, Model>, batches: u64) -> PyResult<()> {
        let other = other.get().read(py, hashbrook::Model::clone)?;
        self.change(py, |model| model.merge_part(&other, batches).map_err(exception))
    }

    fn sibling(&self, py: Python<'_>) -> PyResult<Model> {
        self.read(py, |model| model.sibling().map(Model::of).map_err(exception))?
    }

    fn end_warmup(&self, py: Python<'_>) -> PyResult<()> {
        self.change(py, |model| model.end_warmup().map(|_| ()).map_err(exception))
    }

    fn hash_function(&self, py: Python<'_>) -> PyResult<HashFunction> {
        let found = self.read(py, hashbrook::Model::hash_function_and_warnings)?;
        let (function, warnings) = found.map_err(exception)?;
        for warning in warnings {
            let text = CString::new(warning).map_err(PyErr::from)?;
            // Stack level 2 is the caller of the Python method: the warning shows the line in the
            // user's code.
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 2)?;
        }
        Ok(HashFunction(function))
    }

    /// Returns the method and its parameters as JSON.
    #[getter]
    fn method(&self, py: Python<'_>) -> PyResult<String> {
        let text = self.read(py, |model| serde_json::to_string(model.method()))?;
        text.map_err(|problem| PyRuntimeError::new_err(problem.to_string()))
    }

    #[getter]
    fn dim(&self, py: Python<'_>) -> PyResult<usize> {
        self.read(py, hashbrook::Model::dim)
    }

    #[getter]
    fn bits(&self, py: Python<'_>) -> PyResult<usize> {
        self.read(py, hashbrook::Model::bits)
    }

    #[getter]
    fn seed(&self, py: Python<'_>) -> PyResult<u64> {
        self.read(py, hashbrook::Model::seed)
    }

    #[getter]
    fn seen(&self, py: Python<'_>) -> PyResult<u64> {
        self.read(py, hashbrook::Model::seen)
    }

    #[getter]
    fn batches(&self, py: Python<'_>) -> PyResult<u64> {
        self.read(py, hashbrook::Model::batches)
    }

    #[getter]
    fn warmup(&self, py: Python<'_>) -> PyResult<usize> {
        self.read(py, hashbrook::Model::warmup)
    }

    #[getter]
    fn is_warm(&self, py: Python<'_>) -> PyResult<bool> {
        self.read(py, hashbrook::Model::is_warm)
    }

    #[getter]
    fn label_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.read(py, |model| texts(model.label_names()))
    }
}

/// Learns the rows batch by batch. The second value is true if any batch was learned; learned
/// batches stay learned if a later batch fails.
fn learn(
    model: &mut hashbrook::Model,
    rows: hashbrook::Features<'_>,
    labels: Option<&LabelList>,
    batch: Option<usize>,
    watch: &mut Watch,
) -> (PyResult<()>, bool) {
    let all = match labels {
        Some(labels) => match Batch::new(rows, labels.view()) {
            Ok(all) => all,
            Err(error) => return (Err(exception(error)), false),
        },
        None => Batch::unlabelled(rows),
    };
    let mut any = false;
    // Zero rows form one empty batch, so that the model checks them, too.
    let (total, batch) = (rows.len(), batch.unwrap_or(rows.len()).max(1));
    for start in (0..total.max(1)).step_by(batch) {
        let range = start..total.min(start.saturating_add(batch));
        let mut stopped = Ok(());
        let learned = model.learn_while(all.slice(range), |rows| {
            stopped = watch.done(start + rows);
            stopped.is_ok()
        });
        if let Err(error) = stopped.and(learned.map_err(exception)) {
            return (Err(error), any);
        }
        any = true;
    }
    (Ok(()), any)
}
