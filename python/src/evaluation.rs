//! Evaluation, comparison of methods, and the bundled data set.

use hashbrook::dataset::{Data, Digits};
use hashbrook::eval::{self, Evaluation, Metric, parts};
use hashbrook::protocol::Experiment;
use hashbrook::{Center, Codes, LabelList, LabelNames, Method, Setup};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Rows, codes, matrix, values};
use crate::errors::exception;
use crate::fork;
use crate::labels::{FromPython, Given};

/// Vectors with one label each.
type Labelled<'py> = (Bound<'py, PyArray2<f32>>, Bound<'py, PyArray1<i64>>);

/// Returns the vectors and labels of the handwritten digits that are bundled with the library.
#[pyfunction]
pub fn digits(py: Python<'_>) -> PyResult<Labelled<'_>> {
    let Digits { features, labels } = hashbrook::dataset::digits();
    let labels = labels.into_iter().map(i64::from).collect();
    Ok((matrix(py, features, Digits::DIM)?, PyArray1::from_vec(py, labels)))
}

fn metrics(names: Option<Vec<String>>) -> PyResult<Vec<Metric>> {
    match names {
        None => Ok(Metric::DEFAULT.to_vec()),
        Some(names) => names.iter().map(|name| name.parse().map_err(exception)).collect(),
    }
}

/// Converts an evaluation to a dictionary with the names that the command prints.
fn table<'py>(py: Python<'py>, found: &Evaluation) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    for (metric, value) in &found.values {
        table.set_item(metric.to_string(), value)?;
    }
    table.set_item("queries", found.queries)?;
    table.set_item("answerable_queries", found.answerable)?;
    table.set_item("database", found.database)?;
    Ok(table)
}

/// Evaluates the ranking by the distances of codes.
#[pyfunction]
#[pyo3(signature = (bits, queries, query_labels, database, database_labels, names=None))]
pub fn evaluate<'py>(
    py: Python<'py>,
    bits: usize,
    queries: PyReadonlyArray2<'_, u8>,
    query_labels: FromPython<'_>,
    database: PyReadonlyArray2<'_, u8>,
    database_labels: FromPython<'_>,
    names: Option<Vec<String>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (queries, database): (Codes, Codes) = (codes(&queries, bits)?, codes(&database, bits)?);
    fork::check()?;
    let metrics = metrics(names)?;
    let mut known = LabelNames::new();
    let mut number = |(labels, ends)| Given::new(&labels, ends)?.number(&mut known);
    let (query_labels, database_labels) = (number(query_labels)?, number(database_labels)?);
    let found = py.detach(|| {
        eval::evaluate(&queries, query_labels.view(), &database, database_labels.view(), &metrics)
    });
    table(py, &found.map_err(exception)?)
}

/// Queries as passed by the Python part: number of bits of the codes, the codes, and labels.
type Asked<'py> = (usize, PyReadonlyArray2<'py, u8>, FromPython<'py>);

/// Numbers that the evaluations of parts exchange.
type Words<'py> = Bound<'py, PyArray1<u64>>;

/// Converts codes and labels. Queries and database have the same label numbers, stored in `known`.
fn labelled(
    bits: usize,
    bytes: &PyReadonlyArray2<'_, u8>,
    (labels, ends): FromPython<'_>,
    known: &mut LabelNames,
) -> PyResult<(Codes, LabelList)> {
    Ok((codes(bytes, bits)?, Given::new(&labels, ends)?.number(known)?))
}

/// Counts the items of a part of a database by their distance from each query. The counts of
/// several parts can be added.
#[pyfunction]
pub fn tally_part<'py>(
    py: Python<'py>,
    queries: Asked<'_>,
    database: PyReadonlyArray2<'_, u8>,
    database_labels: FromPython<'_>,
) -> PyResult<Words<'py>> {
    fork::check()?;
    let (mut known, bits) = (LabelNames::new(), queries.0);
    let (queries, wanted) = labelled(bits, &queries.1, queries.2, &mut known)?;
    let (database, labels) = labelled(bits, &database, database_labels, &mut known)?;
    let tally =
        py.detach(|| parts::Queries::new(&queries, wanted.view())?.tally(&database, labels.view()));
    Ok(PyArray1::from_slice(py, tally.map_err(exception)?.words()))
}

/// Ranks the items of a part among the items of all parts. Returns numbers for [`score_parts`], and
/// the sum of `before` and the tally of this part. `total` is the sum of the tallies of all parts;
/// `before` is the sum for the preceding parts.
#[pyfunction]
#[pyo3(signature = (queries, database, database_labels, total, before, names=None))]
pub fn rank_part<'py>(
    py: Python<'py>,
    queries: Asked<'_>,
    database: PyReadonlyArray2<'_, u8>,
    database_labels: FromPython<'_>,
    total: PyReadonlyArray1<'_, u64>,
    before: PyReadonlyArray1<'_, u64>,
    names: Option<Vec<String>>,
) -> PyResult<(Words<'py>, Words<'py>)> {
    fork::check()?;
    let (mut known, bits) = (LabelNames::new(), queries.0);
    let (queries, wanted) = labelled(bits, &queries.1, queries.2, &mut known)?;
    let (database, labels) = labelled(bits, &database, database_labels, &mut known)?;
    let metrics = metrics(names)?;
    let (total, before) = (total.as_array().to_vec(), before.as_array().to_vec());
    let ranked = py.detach(|| {
        let queries = parts::Queries::new(&queries, wanted.view())?;
        let (total, mut before) = (queries.tally_of(total)?, queries.tally_of(before)?);
        let ranks = queries.rank((&database, labels.view()), &total, &mut before, &metrics)?;
        Ok((ranks.to_words(), before))
    });
    let (ranks, before) = ranked.map_err(exception)?;
    Ok((PyArray1::from_vec(py, ranks), PyArray1::from_slice(py, before.words())))
}

/// Evaluates the ranking of all parts, with the same result as [`evaluate`] of the whole database.
#[pyfunction]
#[pyo3(signature = (queries, total, ranks, names=None))]
pub fn score_parts<'py>(
    py: Python<'py>,
    queries: Asked<'_>,
    total: PyReadonlyArray1<'_, u64>,
    ranks: Vec<PyReadonlyArray1<'_, u64>>,
    names: Option<Vec<String>>,
) -> PyResult<Bound<'py, PyDict>> {
    fork::check()?;
    let (codes, wanted) = labelled(queries.0, &queries.1, queries.2, &mut LabelNames::new())?;
    let metrics = metrics(names)?;
    let queries = parts::Queries::new(&codes, wanted.view()).map_err(exception)?;
    let total = queries.tally_of(total.as_array().to_vec()).map_err(exception)?;
    // If there are no parts, the ranks are those of an empty database.
    let mut all = queries.no_ranks(&total, &metrics).map_err(exception)?;
    for part in &ranks {
        let part = queries.ranks_of(&part.as_array().to_vec()).map_err(exception)?;
        all.add(&part).map_err(exception)?;
    }
    let found = py.detach(|| queries.score(&total, &all, &metrics));
    table(py, &found.map_err(exception)?)
}

/// Runs a method by the papers' protocol, as the command `compare` does: the seed determines the
/// split of the data, and the first rows of the database are streamed. Returns one table per
/// checkpoint.
#[pyfunction]
#[pyo3(signature = (method, data, labels, bits, seed, queries_per_class, stream, batch, every, center, names))]
#[expect(clippy::too_many_arguments, reason = "called by name from the Python part alone")]
pub fn compare<'py>(
    py: Python<'py>,
    method: (String, Option<String>, String),
    data: Rows<'_>,
    labels: FromPython<'_>,
    bits: usize,
    seed: u64,
    queries_per_class: usize,
    stream: usize,
    batch: Option<usize>,
    every: Option<usize>,
    center: &str,
    names: Option<Vec<String>>,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let method: Method = crate::model::method(&method.0, method.1.as_deref(), &method.2)?;
    fork::check()?;
    let metrics = metrics(names)?;
    let (rows, dim) = values(&data)?;
    let mut known = LabelNames::new();
    let labels = Given::new(&labels.0, labels.1)?.number(&mut known)?;
    let checkpoints = py.detach(|| {
        let data = Data::new(dim, rows.to_vec(), labels)?;
        let (database, queries) = data.split(queries_per_class, seed)?;
        let stream = stream.min(database.len());
        let mut setup = Setup::default();
        setup.center = match center {
            "all" => Center::Given(data.mean()),
            "first" => Center::First,
            _ => Center::None,
        };
        setup.warmup = (stream < method.warmup()).then_some(stream);
        let mut model = method.start_with(dim, bits, seed, setup)?;
        let experiment = Experiment {
            stream: database.batch().slice(0..stream),
            database: database.batch(),
            queries: queries.batch(),
            batch: batch.unwrap_or_else(|| stream.div_ceil(10).clamp(1, 2000)),
            every,
            metrics: &metrics,
        };
        experiment.run(&mut model, |_| {})
    });
    let checkpoints = checkpoints.map_err(exception)?;
    py.check_signals()?;
    let tables = checkpoints.iter().map(|checkpoint| {
        let table = table(py, &checkpoint.evaluation)?;
        table.set_item("rows", checkpoint.seen)?;
        table.set_item("learn_seconds", checkpoint.learning.as_secs_f64())?;
        Ok(table)
    });
    tables.collect()
}
