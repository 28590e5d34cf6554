//! Queries and a database, encoded and ready to be ranked.

use std::sync::Arc;

use super::rows::select;
use crate::eval::{
    Cosine, Dial, Evaluation, Items, Metric, Neighbours, Weighed, evaluate, evaluate_scores,
    neighbours, neighbours_by,
};
use crate::{Batch, Codes, Features, HashFunction, Labels, Result};

/// A database and queries, encoded once, together with the way of ranking the database for each
/// query.
#[derive(Clone, Debug)]
pub struct Ranked<'a> {
    database: Batch<'a>,
    queries: Batch<'a>,
    by: By,
}

#[derive(Clone, Debug)]
enum By {
    Codes { database: Arc<Codes>, queries: Arc<Codes> },
    Dial { database: Arc<Codes>, queries: Weighed },
    Cosine(Arc<Vectors>),
}

/// Vectors of a database and of queries, centred and scaled as a hash function does.
#[derive(Clone, Debug)]
pub struct Vectors {
    dim: usize,
    database: Vec<f32>,
    queries: Vec<f32>,
}

impl Vectors {
    /// Prepares the vectors as `function` does.
    ///
    /// # Errors
    /// When the vectors have another dimension than the function takes.
    pub fn new(function: &HashFunction, database: Batch<'_>, queries: Batch<'_>) -> Result<Self> {
        let database = function.prepared(database.features())?;
        let queries = function.prepared(queries.features())?;
        Ok(Vectors { dim: function.dim(), database, queries })
    }

    fn database(&self) -> Result<Features<'_>> {
        Features::new(&self.database, self.dim)
    }

    fn queries(&self) -> Result<Features<'_>> {
        Features::new(&self.queries, self.dim)
    }
}

impl<'a> Ranked<'a> {
    /// Encodes the rows, to rank them by the Hamming distance of their codes.
    ///
    /// # Errors
    /// When the vectors have another dimension than the function takes.
    pub fn by_codes(
        function: &HashFunction,
        database: Batch<'a>,
        queries: Batch<'a>,
    ) -> Result<Ranked<'a>> {
        let codes = |batch: Batch<'_>| function.encode(batch.features()).map(Arc::new);
        let by = By::Codes { database: codes(database)?, queries: codes(queries)? };
        Ok(Ranked { database, queries, by })
    }

    /// Ranks by the cosine of the vectors themselves.
    pub fn by_cosine(vectors: Arc<Vectors>, database: Batch<'a>, queries: Batch<'a>) -> Ranked<'a> {
        Ranked { database, queries, by: By::Cosine(vectors) }
    }

    /// Returns the same rows, ranked by codes of the same function and a dial. An encoded database
    /// is reused.
    ///
    /// # Errors
    /// When the vectors have another dimension than the function takes.
    pub fn with_dial(&self, function: &HashFunction, dial: Dial) -> Result<Ranked<'a>> {
        let database = match &self.by {
            By::Codes { database, .. } | By::Dial { database, .. } => database.clone(),
            By::Cosine(_) => Arc::new(function.encode(self.database.features())?),
        };
        let queries = dial.weigh(function, self.queries.features())?;
        Ok(Ranked { by: By::Dial { database, queries }, ..*self })
    }

    /// Returns the number of rows of the database.
    pub fn database_rows(&self) -> usize {
        self.database.len()
    }

    /// Returns the number of queries.
    pub fn query_rows(&self) -> usize {
        self.queries.len()
    }

    /// Returns the labels of the database.
    ///
    /// # Errors
    /// When the database has no labels.
    pub fn database_labels(&self) -> Result<Labels<'a>> {
        self.database.require_labels("evaluation")
    }

    /// Returns the labels of the queries.
    ///
    /// # Errors
    /// When the queries have no labels.
    pub fn query_labels(&self) -> Result<Labels<'a>> {
        self.queries.require_labels("evaluation")
    }

    /// Evaluates all queries on the whole database.
    ///
    /// # Errors
    /// When there are no labels, or as for [`evaluate`].
    pub fn evaluate(&self, metrics: &[Metric]) -> Result<Evaluation> {
        let (wanted, labels) = (self.query_labels()?, self.database_labels()?);
        match &self.by {
            By::Codes { database, queries } => evaluate(queries, wanted, database, labels, metrics),
            By::Dial { database, queries } => {
                evaluate_scores(&queries.rank(database)?, wanted, labels, metrics)
            }
            By::Cosine(vectors) => {
                let cosine = Cosine::new(vectors.queries()?, vectors.database()?)?;
                evaluate_scores(&cosine, wanted, labels, metrics)
            }
        }
    }

    /// Evaluates some queries on some rows of the database. Ties are broken by the order of
    /// `database`.
    ///
    /// # Errors
    /// As for [`Ranked::evaluate`].
    ///
    /// # Panics
    /// When a row does not exist.
    pub fn evaluate_part(
        &self,
        queries: &[usize],
        database: &[usize],
        metrics: &[Metric],
    ) -> Result<Evaluation> {
        let wanted = select(self.query_labels()?, queries);
        let labels = select(self.database_labels()?, database);
        let (wanted, labels) = (wanted.view(), labels.view());
        match &self.by {
            By::Codes { database: codes, queries: asked } => {
                let (asked, codes) = (asked.select(queries), codes.select(database));
                evaluate(&asked, wanted, &codes, labels, metrics)
            }
            By::Dial { database: codes, queries: asked } => {
                let (asked, codes) = (asked.select(queries), codes.select(database));
                evaluate_scores(&asked.rank(&codes)?, wanted, labels, metrics)
            }
            By::Cosine(vectors) => {
                let asked = gather(vectors.queries()?, queries);
                let asked = Features::new(&asked, vectors.dim)?;
                let everything = database.iter().copied().eq(0..self.database.len());
                let part;
                let found = if everything {
                    vectors.database()?
                } else {
                    part = gather(vectors.database()?, database);
                    Features::new(&part, vectors.dim)?
                };
                evaluate_scores(&Cosine::new(asked, found)?, wanted, labels, metrics)
            }
        }
    }

    /// Measures whether the ranking preserves the nearest neighbours by the vectors themselves.
    ///
    /// # Errors
    /// When there are no labels, or as for [`neighbours`].
    pub fn neighbours(&self, vectors: &Vectors, among: &[usize]) -> Result<Neighbours> {
        let all: Vec<usize> = (0..self.queries.len()).collect();
        self.neighbours_of(&all, vectors, among)
    }

    /// Measures the same as [`neighbours`](Self::neighbours) for some queries.
    ///
    /// # Errors
    /// As for [`Ranked::neighbours`].
    ///
    /// # Panics
    /// When a query does not exist.
    pub fn neighbours_of(
        &self,
        queries: &[usize],
        vectors: &Vectors,
        among: &[usize],
    ) -> Result<Neighbours> {
        let wanted = select(self.query_labels()?, queries);
        let (wanted, labels) = (wanted.view(), self.database_labels()?);
        let asked = gather(vectors.queries()?, queries);
        let asked = Features::new(&asked, vectors.dim)?;
        let found = vectors.database()?;
        let rows = || Ok((Batch::new(asked, wanted)?, Batch::new(found, labels)?));
        match &self.by {
            By::Codes { database, queries: codes } => neighbours(
                Items::new(&codes.select(queries), asked, wanted)?,
                Items::new(database, found, labels)?,
                among,
            ),
            By::Dial { database, queries: weighed } => {
                let (asked, found) = rows()?;
                neighbours_by(&weighed.select(queries).rank(database)?, asked, found, among)
            }
            By::Cosine(by) => {
                let (asked, found) = rows()?;
                let own = gather(by.queries()?, queries);
                let own = Features::new(&own, by.dim)?;
                neighbours_by(&Cosine::new(own, by.database()?)?, asked, found, among)
            }
        }
    }
}

/// Copies some rows, in the given order.
fn gather(all: Features<'_>, rows: &[usize]) -> Vec<f32> {
    rows.iter().flat_map(|&row| all.row(row)).copied().collect()
}
