//! Timings of the library's calls without Python overhead, the baseline of `bench.py`.

use std::time::Instant;

use hashbrook::{Batch, Labels};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::arrays::{Rows, features, values};
use crate::errors::exception;
use crate::function::HashFunction;
use crate::model::method;
use crate::snapshot::Snapshot;

/// Returns the seconds that the library takes to learn the rows in one batch.
#[pyfunction]
pub fn time_learn(
    py: Python<'_>,
    name: &str,
    parameters: &str,
    bits: usize,
    rows: Rows<'_>,
    labels: PyReadonlyArray1<'_, u32>,
) -> PyResult<f64> {
    let (rows, labels) = (values(&rows)?, labels.as_array().to_vec());
    let mut model = method(name, None, parameters)?.start(rows.1, bits, 1).map_err(exception)?;
    py.detach(|| {
        let clock = Instant::now();
        let batch = Batch::new(features(rows, rows.1)?, Labels::single(&labels));
        model.learn(batch.map_err(exception)?).map_err(exception)?;
        Ok(clock.elapsed().as_secs_f64())
    })
}

/// Returns the seconds that the library takes to encode the rows.
#[pyfunction]
pub fn time_encode(
    py: Python<'_>,
    function: &Bound<'_, HashFunction>,
    rows: Rows<'_>,
) -> PyResult<f64> {
    let (rows, function) = (values(&rows)?, &function.get().0);
    py.detach(|| {
        let clock = Instant::now();
        let codes = function.encode(features(rows, function.dim())?).map_err(exception)?;
        let seconds = clock.elapsed().as_secs_f64();
        drop(codes);
        Ok(seconds)
    })
}

/// Returns the seconds that the library takes to search with the rows.
#[pyfunction]
pub fn time_search(
    py: Python<'_>,
    snapshot: &Bound<'_, Snapshot>,
    rows: Rows<'_>,
    k: usize,
) -> PyResult<f64> {
    let (rows, snapshot) = (values(&rows)?, &snapshot.get().snapshot);
    py.detach(|| {
        let clock = Instant::now();
        let hits = snapshot.search(features(rows, rows.1)?, k).map_err(exception)?;
        let seconds = clock.elapsed().as_secs_f64();
        drop(hits);
        Ok(seconds)
    })
}
