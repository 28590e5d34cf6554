//! The ranking that codes stand in for: by the cosine of the vectors themselves.

use std::ops::Range;

use rayon::prelude::*;

use super::scored::Scorer;
use crate::kernel::{Panels, squared_norm};
use crate::{Features, Result};

/// Rows of the database that are multiplied at a time, so that they stay in the cache.
const ROWS_AT_ONCE: usize = 1024;

/// Ranks by the cosine of vectors, the largest first. A zero vector is at right angles to all others.
///
/// Vectors should be as a function tells them apart: see [`HashFunction::prepared`].
///
/// [`HashFunction::prepared`]: crate::HashFunction::prepared
#[derive(Clone, Debug)]
pub struct Cosine<'a> {
    queries: Features<'a>,
    database: Features<'a>,
    /// One over the length of each row of the database; 0 where that is 0.
    factors: Vec<f32>,
}

impl<'a> Cosine<'a> {
    /// Of these queries, and the rows to be found.
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

    /// The cosines of some queries and all of the database, but for the length of the queries, which
    /// changes no order.
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
                // What overflows is no nearer than anything else.
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

/// A row for each item of the database, a column for each query.
pub(super) struct Products {
    values: Vec<f32>,
    width: usize,
}

impl Products {
    pub(super) fn column(&self, query: usize) -> impl Iterator<Item = f32> + Clone + '_ {
        self.values.iter().skip(query).step_by(self.width).copied()
    }
}
