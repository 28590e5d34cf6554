//! Bodies of search requests.

use hashbrook::store::{Description, ItemId, Queries, Search};
use hashbrook::{Codes, Dial, Features};
use serde::Deserialize;

use super::super::errors::Problem;
use super::super::hex;
use super::super::limits::Limits;
use super::json::{Id, Names};

/// Search request as JSON: one query or a list of queries, and options.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    vector: Option<Vec<f32>>,
    code: Option<String>,
    id: Option<Id>,
    queries: Option<Vec<WrittenQuery>>,
    k: Option<usize>,
    radius: Option<u32>,
    label_weight: Option<u32>,
    detail_weight: Option<u32>,
    #[serde(default)]
    float_query: bool,
    rerank: Option<usize>,
    #[serde(default, rename = "where")]
    filter: Filter,
    #[serde(default)]
    payloads: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenQuery {
    vector: Option<Vec<f32>>,
    code: Option<String>,
    id: Option<Id>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Filter {
    #[serde(default)]
    label: Names,
    #[serde(default)]
    not_label: Names,
}

/// Limit of a search: a number of hits or a distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The `k` nearest.
    Nearest(usize),
    /// All within a distance.
    Within(u32),
}

/// A validated search request.
pub struct Asked {
    queries: Vec<Query>,
    /// True if the request has a single query that is not in a list.
    pub single: bool,
    pub reach: Reach,
    pub search: Search,
    /// True if the payloads of hits are requested.
    pub payloads: bool,
}

enum Query {
    Vector(Vec<f32>),
    Code(String),
    Item(ItemId),
}

/// Queries of one kind, as a store takes them.
pub enum Gathered {
    Vectors(Vec<f32>, usize),
    Codes(Codes),
    Items(Vec<ItemId>),
}

impl WrittenQuery {
    fn read(self) -> Result<Query, Problem> {
        match (self.vector, self.code, self.id) {
            (Some(vector), None, None) => Ok(Query::Vector(vector)),
            (None, Some(code), None) => Ok(Query::Code(code)),
            (None, None, Some(Id(id))) => Ok(Query::Item(id)),
            _ => Err(Problem::unprocessable("a query has one of `vector`, `code` and `id`")),
        }
    }
}

impl Written {
    /// Validates a request for the nearest items, or, if `within`, for all items within a radius.
    pub fn read(self, within: bool, limits: &Limits) -> Result<Asked, Problem> {
        let reach = match (within, self.k, self.radius) {
            (false, Some(0), None) => {
                return Err(Problem::unprocessable("k must be 1 or more, not 0"));
            }
            (false, k, None) => Reach::Nearest(k.unwrap_or(10)),
            (true, None, Some(radius)) => Reach::Within(radius),
            (true, None, None) => return Err(Problem::unprocessable("`radius` is missing")),
            (true, Some(_), _) => {
                return Err(Problem::unprocessable("`k` is for /search; /within takes `radius`"));
            }
            (false, _, Some(_)) => {
                return Err(Problem::unprocessable("`radius` is for /within; /search takes `k`"));
            }
        };
        let one = WrittenQuery { vector: self.vector, code: self.code, id: self.id };
        let (queries, single) = match self.queries {
            None => (vec![one.read()?], true),
            Some(_) if one.vector.is_some() || one.code.is_some() || one.id.is_some() => {
                return Err(Problem::unprocessable("`queries` comes in place of a single query"));
            }
            Some(list) => {
                limits.check_results(list.len(), 0)?;
                let read = |(at, query): (usize, WrittenQuery)| {
                    query.read().map_err(|problem| problem.of(format_args!("query {at}")))
                };
                (list.into_iter().enumerate().map(read).collect::<Result<_, _>>()?, false)
            }
        };
        if let Reach::Nearest(k) = reach {
            limits.check_results(queries.len(), k)?;
        }
        limits
            .check_results(queries.len(), self.rerank.unwrap_or(0))
            .map_err(|p| p.of("rerank"))?;
        if self.rerank.is_some() && queries.iter().any(|query| matches!(query, Query::Code(_))) {
            let message =
                "`rerank` compares vectors, and a code has none; search by `vector` or `id`";
            return Err(Problem::unprocessable(message));
        }
        let mut search = Search::default();
        if self.label_weight.is_some() || self.detail_weight.is_some() || self.float_query {
            let (label, detail) = (self.label_weight.unwrap_or(1), self.detail_weight.unwrap_or(1));
            search.dial = Some(Dial::new(label, detail)?.float_query(self.float_query));
        }
        search.rerank = self.rerank;
        search.labels = self.filter.label.0;
        search.without_labels = self.filter.not_label.0;
        Ok(Asked { queries, single, reach, search, payloads: self.payloads })
    }
}

impl Asked {
    /// Returns whether the search is small enough to run on the current thread.
    pub fn is_small(&self) -> bool {
        let k = match self.reach {
            Reach::Nearest(k) => k,
            Reach::Within(_) => return false,
        };
        !self.payloads && self.queries.len() <= 4 && k.max(self.search.rerank.unwrap_or(0)) <= 1000
    }

    /// Returns the number of queries.
    pub fn len(&self) -> usize {
        self.queries.len()
    }

    /// Collects the queries; fails unless they are of one kind and fit the store.
    pub fn gathered(&mut self, store: &Description) -> Result<Gathered, Problem> {
        let mut gathered = match self.queries.first() {
            None | Some(Query::Vector(_)) => Gathered::Vectors(Vec::new(), store.dim),
            Some(Query::Code(_)) => Gathered::Codes(Codes::new(store.bits)?),
            Some(Query::Item(_)) => Gathered::Items(Vec::new()),
        };
        for query in self.queries.drain(..) {
            match (&mut gathered, query) {
                (Gathered::Vectors(values, dim), Query::Vector(vector)) => {
                    if vector.len() != *dim {
                        let (expected, found) = (*dim, vector.len());
                        return Err(hashbrook::Error::Dimension { expected, found }.into());
                    }
                    values.extend(vector);
                }
                (Gathered::Codes(codes), Query::Code(code)) => hex::decode(&code, codes)?,
                (Gathered::Items(ids), Query::Item(id)) => ids.push(id),
                _ => {
                    let message =
                        "the queries of one request are all vectors, all codes or all ids";
                    return Err(Problem::unprocessable(message));
                }
            }
        }
        Ok(gathered)
    }
}

impl Gathered {
    pub fn queries(&self) -> Result<Queries<'_>, Problem> {
        Ok(match self {
            Gathered::Vectors(values, dim) => Queries::Vectors(Features::new(values, *dim)?),
            Gathered::Codes(codes) => Queries::Codes(codes),
            Gathered::Items(ids) => Queries::Items(ids),
        })
    }
}
