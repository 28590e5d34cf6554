//! The ranking that codes approximate: by the cosine of the vectors themselves.

use std::ops::Range;

use rayon::prelude::*;

use super::scored::Scorer;
use crate::kernel::{Panels, squared_norm};
use crate::{Features, Result};

/// Number of database rows that are multiplied at a time, so that they stay in the cache.
const ROWS_AT_ONCE: usize = 1024;

/// Ranking by the cosine of vectors, the largest first. A zero vector is orthogonal to all others.
///
/// Vectors should be centred and scaled as the hash function does: see [`HashFunction::prepared`].
///
/// [`HashFunction::prepared`]: crate::HashFunction::prepared
#[derive(Clone, Debug)]
pub struct Cosine<'a> {
    queries: Features<'a>,
    database: Features<'a>,
    /// Inverse norm of each row of the database; 0 for a zero row.
    factors: Vec<f32>,
}

impl<'a> Cosine<'a> {
    /// Creates the ranking of a database for these queries.
    ///
    /// # Errors
    /// When their dimensions differ.
    pub fn new(queries: Features<'a>, database: Features<'a>) -> Result<Cosine<'a>> {
        database.expect_dim(queries.dim())?;
        let factor = |row: &[f32]| {
            let norm = squared_norm(row).sqrt() as f32;
            if norm > 0.0 { (1.0 / norm).min(f32::MAX) } else { 0.0 }
        };
        let factors = database.values().par_chunks(database.dim()).map(factor).collect();
        Ok(Cosine { queries, database, factors })
    }

    /// Returns the cosines of some queries with all rows of the database, multiplied by the norm of
    /// the query. The norm of the query does not change the order.
    pub(super) fn products(&self, queries: Range<usize>) -> Products {
        let (queries, database) = (self.queries.slice(queries), self.database);
        let panels = Panels::pack_transposed(queries.values(), queries.dim());
        let width = panels.width();
        let mut values = vec![0.0; database.len() * width];
        let rows = database.values().chunks(ROWS_AT_ONCE * database.dim());
        for (rows, out) in rows.zip(values.chunks_mut(ROWS_AT_ONCE * width)) {
            panels.multiply(rows, out);
        }
        for (row, factor) in values.chunks_exact_mut(width.max(1)).zip(&self.factors) {
            for value in row {
                *value *= factor;
                // An item whose product overflows to NaN ranks last.
                if value.is_nan() {
                    *value = f32::NEG_INFINITY;
                }
            }
        }
        Products { values, width }
    }
}

impl Scorer for Cosine<'_> {
    fn queries(&self) -> usize {
        self.queries.len()
    }

    fn database(&self) -> usize {
        self.database.len()
    }

    fn score(&self, queries: Range<usize>, out: &mut [f32]) {
        let products = self.products(queries);
        for (query, out) in out.chunks_exact_mut(self.database.len().max(1)).enumerate() {
            out.iter_mut().zip(products.column(query)).for_each(|(out, cosine)| *out = -cosine);
        }
    }
}

/// Matrix with a row for each item of the database and a column for each query.
pub(super) struct Products {
    values: Vec<f32>,
    width: usize,
}

impl Products {
    pub(super) fn column(&self, query: usize) -> impl Iterator<Item = f32> + Clone + '_ {
        self.values.iter().skip(query).step_by(self.width).copied()
    }
}
