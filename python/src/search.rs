//! Searches, chunk by chunk of queries, and what they find as arrays.

use hashbrook::{Codes, Dial, Features, Filter, Hit, Hits, RankedHit, Snapshot, View};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arrays::{Rows, codes, features, matrix, values, with_room};
use crate::errors::exception;
use crate::fork;
use crate::labels::Given;
use crate::watch::{Watch, chunks};

/// How many queries are searched between two looks at signals. Fewer would cost those that are searched
/// together what they share.
const QUERIES_AT_ONCE: usize = 4096;

/// What fills the end of a row of fewer hits than were asked for.
const NO_ID: u64 = u64::MAX;
const NO_DISTANCE: u32 = u32::MAX;

/// How far a search goes.
#[derive(Clone, Copy)]
pub enum Goal {
    Nearest(usize),
    Within(u32),
}

/// What is searched with, as the Python part gives it: vectors, or packed codes.
#[derive(FromPyObject)]
pub enum Queries<'py> {
    Vectors(Rows<'py>),
    Codes(PyReadonlyArray2<'py, u8>),
}

/// How to search, as the Python part gives it: labels and labels to be without, ids, `rerank`, and a dial of
/// two weights and whether the query is a float one.
pub type How<'py> = (
    Option<Bound<'py, PyAny>>,
    Option<Bound<'py, PyAny>>,
    Option<PyReadonlyArray1<'py, u64>>,
    Option<usize>,
    Option<(u32, u32, bool)>,
);

/// One kind of hit or the other.
enum Found {
    Plain(Hits<Hit>),
    Ranked(Hits<RankedHit>),
}

/// Queries as the library takes them.
enum Asked<'a> {
    Vectors(Features<'a>),
    Codes(Codes),
}

impl Asked<'_> {
    fn len(&self) -> usize {
        match self {
            Asked::Vectors(features) => features.len(),
            Asked::Codes(codes) => codes.len(),
        }
    }
}

/// Searches a snapshot: ids, distances, and cosines or `None`; of a radius, offsets before them.
pub fn search<'py>(
    py: Python<'py>,
    snapshot: &Snapshot,
    queries: &Queries<'py>,
    goal: Goal,
    how: How<'py>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyTuple>> {
    fork::check()?;
    let (labels, without, ids, rerank, dial) = how;
    let names = snapshot.label_names();
    let known = |labels: Bound<'py, PyAny>| Ok::<_, PyErr>(Given::new(&labels, None)?.known(names));
    let mut filter = Filter::all();
    if let Some(labels) = labels {
        filter = filter.labels(&known(labels)?);
    }
    if let Some(labels) = without {
        filter = filter.without_labels(&known(labels)?);
    }
    if let Some(ids) = ids {
        filter = filter.ids_in(ids.as_array().iter().copied());
    }
    let dial = match dial {
        None => None,
        Some((labels, details, float)) => {
            Some(Dial::new(labels, details).map_err(exception)?.float_query(float))
        }
    };
    let rows = match queries {
        Queries::Vectors(rows) => Some(values(rows)?),
        Queries::Codes(_) => None,
    };
    let packed = match queries {
        Queries::Vectors(_) => None,
        Queries::Codes(bytes) => Some(codes(bytes, snapshot.bits())?),
    };
    let asked = |rows| {
        let dim = snapshot.function().ok_or(hashbrook::Error::NoFunction).map_err(exception)?.dim();
        Ok::<_, PyErr>(Asked::Vectors(features(rows, dim)?))
    };
    let arrays = py.detach(|| {
        let asked = match (rows, packed) {
            (Some(rows), _) => asked(rows)?,
            (None, Some(codes)) => Asked::Codes(codes),
            (None, None) => unreachable!("queries are vectors or codes"),
        };
        let mut view = snapshot.filtered(&filter);
        if let Some(dial) = dial {
            view = view.dial(dial);
        }
        Arrays::of(&found(&view, &asked, goal, rerank, &mut Watch::new(progress))?, goal)
    })?;
    arrays.into_python(py)
}

fn found(
    view: &View<'_>,
    asked: &Asked<'_>,
    goal: Goal,
    rerank: Option<usize>,
    watch: &mut Watch,
) -> PyResult<Found> {
    let mut plain = Hits::default();
    let mut ranked = Hits::default();
    // No queries are searched, too: what is wrong with the rest should show.
    let none = (asked.len() == 0).then_some(0..0);
    for chunk in none.into_iter().chain(chunks(asked.len(), QUERIES_AT_ONCE)) {
        watch.done(chunk.start)?;
        match (asked, rerank) {
            (Asked::Codes(_), Some(_)) => {
                let problem =
                    "rerank ranks by vectors, so it takes vectors to search with, not codes";
                return Err(PyValueError::new_err(problem));
            }
            (Asked::Codes(codes), None) => {
                // Most often all of them, which need not be copied.
                let some =
                    (chunk.len() < codes.len()).then(|| codes.select(&chunk.collect::<Vec<_>>()));
                let codes = some.as_ref().unwrap_or(codes);
                plain.append(
                    match goal {
                        Goal::Nearest(k) => view.search_codes(codes, k),
                        Goal::Within(radius) => view.within_codes(codes, radius),
                    }
                    .map_err(exception)?,
                );
            }
            (Asked::Vectors(features), None) => plain.append(
                match goal {
                    Goal::Nearest(k) => view.search(features.slice(chunk), k),
                    Goal::Within(radius) => view.within(features.slice(chunk), radius),
                }
                .map_err(exception)?,
            ),
            (Asked::Vectors(features), Some(candidates)) => {
                let view = view.rerank(candidates);
                ranked.append(
                    match goal {
                        Goal::Nearest(k) => view.search(features.slice(chunk), k),
                        Goal::Within(radius) => view.within(features.slice(chunk), radius),
                    }
                    .map_err(exception)?,
                );
            }
        }
    }
    Ok(if rerank.is_some() { Found::Ranked(ranked) } else { Found::Plain(plain) })
}

/// What was found, column by column.
struct Arrays {
    /// How many hits a row has; `None` if they differ, and offsets say.
    columns: Option<usize>,
    offsets: Vec<i64>,
    ids: Vec<u64>,
    distances: Vec<u32>,
    cosines: Option<Vec<f32>>,
}

impl Arrays {
    fn of(found: &Found, goal: Goal) -> PyResult<Arrays> {
        match found {
            Found::Plain(hits) => {
                Arrays::from(hits, goal, |hit| (hit.id, hit.distance, 0.0), false)
            }
            Found::Ranked(hits) => {
                Arrays::from(hits, goal, |hit| (hit.id, hit.distance, hit.cosine), true)
            }
        }
    }

    fn from<H>(
        hits: &Hits<H>,
        goal: Goal,
        take: impl Fn(&H) -> (u64, u32, f32),
        ranked: bool,
    ) -> PyResult<Arrays> {
        let (room, columns) = match goal {
            Goal::Nearest(k) => ((hits.len(), k), Some(k)),
            Goal::Within(_) => ((1, hits.all().len()), None),
        };
        let (mut ids, mut distances) = (with_room(room)?, with_room(room)?);
        let mut cosines = if ranked { with_room(room)? } else { Vec::new() };
        for row in hits.iter() {
            let end = columns.map_or(ids.len() + row.len(), |k| ids.len() + k);
            ids.extend(row.iter().map(|hit| take(hit).0));
            ids.resize(end, NO_ID);
            distances.extend(row.iter().map(|hit| take(hit).1));
            distances.resize(end, NO_DISTANCE);
            if ranked {
                cosines.extend(row.iter().map(|hit| take(hit).2));
                cosines.resize(end, f32::NAN);
            }
        }
        Ok(Arrays {
            columns,
            offsets: hits.offsets().iter().map(|&offset| offset as i64).collect(),
            ids,
            distances,
            cosines: ranked.then_some(cosines),
        })
    }

    fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
        let Arrays { columns, offsets, ids, distances, cosines } = self;
        match columns {
            Some(k) => {
                let cosines = cosines.map(|cosines| matrix(py, cosines, k)).transpose()?;
                (matrix(py, ids, k)?, matrix(py, distances, k)?, cosines).into_pyobject(py)
            }
            None => {
                let cosines = cosines.map(|cosines| PyArray1::from_vec(py, cosines));
                let (ids, distances) =
                    (PyArray1::from_vec(py, ids), PyArray1::from_vec(py, distances));
                (PyArray1::from_vec(py, offsets), ids, distances, cosines).into_pyobject(py)
            }
        }
    }
}
