//! Rankings by a [`Dial`](crate::Dial).

use std::ops::Range;

use super::scored::Scorer;
use crate::{Codes, Result, Weighed};

/// Codes ranked by a [`Dial`](crate::Dial), with the same distances as a search with the dial.
#[derive(Clone, Copy, Debug)]
pub struct Dialled<'a> {
    queries: &'a Weighed,
    database: &'a Codes,
}

impl Weighed {
    /// Returns the ranking of a database by these queries.
    ///
    /// # Errors
    /// When codes of the database and codes of the queries differ in length.
    pub fn rank<'a>(&'a self, database: &'a Codes) -> Result<Dialled<'a>> {
        database.expect_bits(self.codes().bits())?;
        Ok(Dialled { queries: self, database })
    }
}

impl Scorer for Dialled<'_> {
    fn queries(&self) -> usize {
        self.queries.codes().len()
    }

    fn database(&self) -> usize {
        self.database.len()
    }

    fn score(&self, queries: Range<usize>, out: &mut [f32]) {
        self.distances(queries, out.iter_mut(), |out, distance| *out = distance as f32);
    }

    /// Writes the distances as keys: `f32` does not represent all integers beyond 2^24.
    fn keys(&self, queries: Range<usize>, out: &mut [u32]) {
        self.distances(queries, out.iter_mut(), |out, distance| *out = distance);
    }

    fn key_within(&self, radius: usize) -> u32 {
        radius.try_into().unwrap_or(u32::MAX)
    }
}

impl Dialled<'_> {
    /// Calls `put` with the distances of some queries to all codes, ordered by query.
    fn distances<T>(
        &self,
        queries: Range<usize>,
        mut out: impl Iterator<Item = T>,
        put: impl Fn(T, u32),
    ) {
        let stride = self.database.words_per_code();
        for query in queries {
            let code = self.queries.codes().code(query);
            let tables = tables(self.queries.weights(query));
            for (item, out) in self.database.words().chunks_exact(stride).zip(&mut out) {
                let bytes = item.iter().zip(code).flat_map(|(i, q)| (i ^ q).to_le_bytes());
                put(out, tables.iter().zip(bytes).map(|(table, b)| table[usize::from(b)]).sum());
            }
        }
    }
}

/// Returns, for each byte of a code, the weight of each of its 256 values.
fn tables(weights: &[u32]) -> Vec<[u32; 256]> {
    let table = |weights: &[u32]| {
        let mut table = [0; 256];
        for value in 1..256usize {
            let bit = value.trailing_zeros() as usize;
            let weight = weights.get(bit).copied().unwrap_or(0);
            table[value] = table[value & (value - 1)] + weight;
        }
        table
    };
    weights.chunks(8).map(table).collect()
}
