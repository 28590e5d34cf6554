//! Searches in a store, with their results as arrays.

use std::ops::Range;

use hashbrook::store::{self, Answer, Description, IdKind, ItemId, Reader, Search};
use hashbrook::{Codes, Result};
use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arrays::{Rows, codes, features, values};
use crate::errors::exception;
use crate::fork;
use crate::ids::Ids;
use crate::search::{
    Arrays, Found, Goal, NO_ID, QUERIES_AT_ONCE, RERANK_OF_CODES, Room, Weights, dialled,
};
use crate::watch::{Watch, chunks};

/// Queries as passed by the Python part: vectors, packed codes, or items.
#[derive(FromPyObject)]
pub enum Queries<'py> {
    Vectors(Rows<'py>),
    Codes(PyReadonlyArray2<'py, u8>),
    Items(Ids<'py>),
}

/// Search options as passed by the Python part: required labels, excluded labels, `rerank`, and the
/// weights of a dial.
pub type How = (Vec<String>, Vec<String>, Option<usize>, Option<Weights>);

/// Queries that can be used without Python's lock.
enum Asked<'a> {
    /// Values of all vectors, and the dimension.
    Vectors((&'a [f32], usize)),
    Codes(Codes),
    Items(Vec<ItemId>),
}

/// [`Found::id`] returns `NO_ID` for a string id; string ids are returned in a separate list.
impl Found for store::Found {
    fn id(&self) -> u64 {
        match self.id {
            ItemId::Number(id) => id,
            ItemId::Text(_) => NO_ID,
        }
    }

    fn distance(&self) -> u32 {
        self.distance
    }

    fn score(&self) -> f32 {
        self.score.unwrap_or(f32::NAN)
    }
}

/// Results of a search.
struct Gathered {
    arrays: Arrays,
    /// Ids of the hits of all rows, if ids are strings. `None` pads a row with fewer hits.
    texts: Option<Vec<Option<String>>>,
    /// Labels of each hit of each query.
    labels: Vec<Vec<Vec<String>>>,
}

/// Searches a store. Returns the version, the arrays that an index search returns, the string ids,
/// and the labels.
pub fn found<'py>(
    py: Python<'py>,
    reader: &Reader,
    description: &Description,
    queries: Queries<'py>,
    goal: Goal,
    (labels, without_labels, rerank, dial): How,
) -> PyResult<Bound<'py, PyTuple>> {
    fork::check()?;
    let mut search = Search::default();
    (search.labels, search.without_labels, search.rerank) = (labels, without_labels, rerank);
    search.dial = dial.map(dialled).transpose()?;
    let asked = match queries {
        Queries::Vectors(ref rows) => Asked::Vectors(values(rows)?),
        Queries::Codes(_) if rerank.is_some() => {
            return Err(PyValueError::new_err(RERANK_OF_CODES));
        }
        Queries::Codes(ref bytes) => Asked::Codes(codes(bytes, description.bits)?),
        Queries::Items(ids) => Asked::Items(ids.given().into()),
    };
    let gathered = py.detach(|| match asked {
        Asked::Vectors(rows) => {
            let rows = features(rows, description.dim)?;
            gathered(reader, description, goal, &search, rows.len(), |chunk, ask| {
                ask(store::Queries::Vectors(rows.slice(chunk)))
            })
        }
        Asked::Codes(codes) => {
            gathered(reader, description, goal, &search, codes.len(), |chunk, ask| {
                ask(store::Queries::Codes(&codes.select(&chunk.collect::<Vec<_>>())))
            })
        }
        Asked::Items(ids) => {
            gathered(reader, description, goal, &search, ids.len(), |chunk, ask| {
                ask(store::Queries::Items(&ids[chunk]))
            })
        }
    })?;
    let Gathered { arrays, texts, labels } = gathered;
    (reader.version(), arrays.into_python(py)?, texts, labels).into_pyobject(py)
}

/// Searches with one chunk of queries after another; `with` passes the queries of a chunk to a
/// search.
fn gathered(
    reader: &Reader,
    description: &Description,
    goal: Goal,
    search: &Search,
    queries: usize,
    with: impl Fn(Range<usize>, &dyn Fn(store::Queries<'_>) -> Result<Answer>) -> Result<Answer>,
) -> PyResult<Gathered> {
    let texts = (description.ids == IdKind::Texts).then(Vec::new);
    let room = Room { items: reader.index().len(), texts: texts.is_some() };
    let arrays = Arrays::new(queries, goal, search.rerank.is_some(), room)?;
    let mut gathered = Gathered { arrays, texts, labels: Vec::with_capacity(queries) };
    let mut watch = Watch::new(None);
    for chunk in chunks(queries, QUERIES_AT_ONCE) {
        watch.done(chunk.start)?;
        let answer = with(chunk, &|queries| match goal {
            Goal::Nearest(k) => reader.search(queries, k, search),
            Goal::Within(radius) => reader.within(queries, radius, search),
        });
        gathered.append(answer.map_err(exception)?, goal);
    }
    Ok(gathered)
}

impl Gathered {
    fn append(&mut self, answer: Answer, goal: Goal) {
        self.arrays.append(answer.results.iter().map(Vec::as_slice));
        for row in answer.results {
            let columns = if let Goal::Nearest(k) = goal { k } else { row.len() };
            let mut of_row = Vec::with_capacity(row.len());
            let end = self.texts.as_ref().map_or(0, |texts| texts.len() + columns);
            for hit in row {
                of_row.push(hit.labels);
                if let (Some(texts), ItemId::Text(id)) = (&mut self.texts, hit.id) {
                    texts.push(Some(id));
                }
            }
            if let Some(texts) = &mut self.texts {
                texts.resize(end, None);
            }
            self.labels.push(of_row);
        }
    }
}
