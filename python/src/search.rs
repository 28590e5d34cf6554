//! Searches in an index, in chunks of queries, with their results as arrays.

use hashbrook::{Codes, Dial, Features, Filter, Hit, RankedHit, View};
use numpy::{PyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arrays::{Rows, codes, expect_room, features, matrix, values, with_room};
use crate::errors::exception;
use crate::fork;
use crate::ids::Ids;
use crate::labels::Given;
use crate::snapshot::Snapshot;
use crate::watch::{Watch, chunks};

/// Number of queries that are searched between two checks for signals. Smaller chunks would be
/// slower, because the queries of a chunk share work.
pub const QUERIES_AT_ONCE: usize = 4096;

/// Id that pads a row with fewer hits than requested.
pub const NO_ID: u64 = u64::MAX;
const NO_DISTANCE: u32 = u32::MAX;

/// Error message if code queries are combined with `rerank`.
pub const RERANK_OF_CODES: &str =
    "rerank ranks by vectors, so it takes vectors to search with, not codes";

/// Limit of a search: a number of nearest items, or a radius.
#[derive(Clone, Copy)]
pub enum Goal {
    Nearest(usize),
    Within(u32),
}

/// Queries as passed by the Python part: vectors, or packed codes.
#[derive(FromPyObject)]
pub enum Queries<'py> {
    Vectors(Rows<'py>),
    Codes(PyReadonlyArray2<'py, u8>),
}

/// Search options as passed by the Python part: required labels, excluded labels, ids, `rerank`,
/// and the weights of a dial.
pub type How<'py> = (
    Option<Bound<'py, PyAny>>,
    Option<Bound<'py, PyAny>>,
    Option<Ids<'py>>,
    Option<usize>,
    Option<Weights>,
);

/// Weight of a label bit, weight of a detail bit, and whether the query is a float query.
pub type Weights = (u32, u32, bool);

/// Creates the dial of the given weights.
///
/// # Errors
/// If a weight is out of range.
pub fn dialled((labels, details, float): Weights) -> PyResult<Dial> {
    Ok(Dial::new(labels, details).map_err(exception)?.float_query(float))
}

/// Queries in the form that the library takes.
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

/// Searches a snapshot. Returns ids, distances, and scores or `None`. For a radius, row offsets
/// precede the ids.
pub fn search<'py>(
    py: Python<'py>,
    searched: &Snapshot,
    queries: &Queries<'py>,
    goal: Goal,
    how: How<'py>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyTuple>> {
    fork::check()?;
    let (labels, without, ids, rerank, dial) = how;
    let snapshot = &searched.snapshot;
    let mut filter = Filter::all();
    if let Some(labels) = labels {
        filter = filter.labels(&Given::new(&labels, None)?.known(snapshot)?);
    }
    if let Some(labels) = without {
        filter = filter.without_labels(&Given::new(&labels, None)?.known(snapshot)?);
    }
    if let Some(ids) = ids {
        filter = filter.ids_in(searched.texts.find(snapshot.has_text_ids(), ids.given())?);
    }
    let dial = dial.map(dialled).transpose()?;
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
        let room = Room { items: snapshot.len(), texts: snapshot.has_text_ids() };
        found(&view, &asked, (goal, rerank), room, &mut Watch::new(progress))
    })?;
    arrays.into_python(py)
}

fn found(
    view: &View<'_>,
    asked: &Asked<'_>,
    (goal, rerank): (Goal, Option<usize>),
    room: Room,
    watch: &mut Watch,
) -> PyResult<Arrays> {
    let mut arrays = Arrays::new(asked.len(), goal, rerank.is_some(), room)?;
    for chunk in chunks(asked.len(), QUERIES_AT_ONCE) {
        watch.done(chunk.start)?;
        match (asked, rerank) {
            (Asked::Codes(_), Some(_)) => {
                return Err(PyValueError::new_err(RERANK_OF_CODES));
            }
            (Asked::Codes(codes), None) => {
                // A chunk that holds all codes, as is usual, needs no copy.
                let all = chunk.len() == codes.len();
                let some = (!all).then(|| codes.select(&chunk.collect::<Vec<_>>()));
                let codes = some.as_ref().unwrap_or(codes);
                let hits = match goal {
                    Goal::Nearest(k) => view.search_codes(codes, k),
                    Goal::Within(radius) => view.within_codes(codes, radius),
                };
                arrays.append(hits.map_err(exception)?.iter());
            }
            (Asked::Vectors(features), None) => {
                let hits = match goal {
                    Goal::Nearest(k) => view.search(features.slice(chunk), k),
                    Goal::Within(radius) => view.within(features.slice(chunk), radius),
                };
                arrays.append(hits.map_err(exception)?.iter());
            }
            (Asked::Vectors(features), Some(candidates)) => {
                let view = view.rerank(candidates);
                let hits = match goal {
                    Goal::Nearest(k) => view.search(features.slice(chunk), k),
                    Goal::Within(radius) => view.within(features.slice(chunk), radius),
                };
                arrays.append(hits.map_err(exception)?.iter());
            }
        }
    }
    Ok(arrays)
}

/// Fields that all kinds of hits have.
pub trait Found {
    fn id(&self) -> u64;
    fn distance(&self) -> u32;

    /// Returns the score of a re-ranked hit, and NaN for other hits.
    fn score(&self) -> f32 {
        f32::NAN
    }
}

impl Found for Hit {
    fn id(&self) -> u64 {
        self.id
    }

    fn distance(&self) -> u32 {
        self.distance
    }
}

impl Found for RankedHit {
    fn id(&self) -> u64 {
        self.id
    }

    fn distance(&self) -> u32 {
        self.distance
    }

    fn score(&self) -> f32 {
        self.score
    }
}

/// Properties of the searched collection that determine the memory of the results.
#[derive(Clone, Copy)]
pub struct Room {
    /// Number of items that are searched.
    pub items: usize,
    /// Whether ids are strings.
    pub texts: bool,
}

impl Room {
    /// Returns the bytes of a hit: id, distance and score. A string id takes additional memory: a
    /// string in Rust, and two references to a Python string.
    fn hit_bytes(self, ranked: bool) -> usize {
        let numbers = size_of::<u64>() + size_of::<u32>();
        let score = if ranked { size_of::<f32>() } else { 0 };
        let text = size_of::<Option<String>>() + 2 * size_of::<usize>();
        numbers + score + if self.texts { text } else { 0 }
    }
}

/// Results of a search, column by column.
pub struct Arrays {
    /// Number of hits per row; `None` if rows differ, so that `offsets` holds their ends.
    columns: Option<usize>,
    offsets: Vec<i64>,
    ids: Vec<u64>,
    distances: Vec<u32>,
    scores: Option<Vec<f32>>,
}

impl Arrays {
    /// Creates arrays, with capacity for the hits of all queries if the number of hits is known.
    ///
    /// # Errors
    /// `MemoryError` if the hits and their padding do not fit into memory.
    pub fn new(queries: usize, goal: Goal, ranked: bool, room: Room) -> PyResult<Arrays> {
        let (columns, capacity) = match goal {
            Goal::Nearest(k) => {
                expect_room(queries, k, room.items, room.hit_bytes(ranked))?;
                (Some(k), (queries, k))
            }
            Goal::Within(_) => (None, (0, 0)),
        };
        Ok(Arrays {
            columns,
            offsets: vec![0],
            ids: with_room(capacity)?,
            distances: with_room(capacity)?,
            scores: ranked.then(|| with_room(capacity)).transpose()?,
        })
    }

    /// Appends the hits of further queries.
    pub fn append<'a, H: Found + 'a>(&mut self, rows: impl Iterator<Item = &'a [H]>) {
        for row in rows {
            let end = self.ids.len() + self.columns.unwrap_or(row.len());
            self.ids.extend(row.iter().map(H::id));
            self.ids.resize(end, NO_ID);
            self.distances.extend(row.iter().map(H::distance));
            self.distances.resize(end, NO_DISTANCE);
            if let Some(scores) = &mut self.scores {
                scores.extend(row.iter().map(H::score));
                scores.resize(end, f32::NAN);
            }
            self.offsets.push(end as i64);
        }
    }

    pub fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
        let Arrays { columns, offsets, ids, distances, scores } = self;
        match columns {
            Some(k) => {
                let scores = scores.map(|scores| matrix(py, scores, k)).transpose()?;
                (matrix(py, ids, k)?, matrix(py, distances, k)?, scores).into_pyobject(py)
            }
            None => {
                let scores = scores.map(|scores| PyArray1::from_vec(py, scores));
                let (ids, distances) =
                    (PyArray1::from_vec(py, ids), PyArray1::from_vec(py, distances));
                (PyArray1::from_vec(py, offsets), ids, distances, scores).into_pyobject(py)
            }
        }
    }
}
