//! Label bits and detail bits, weighed when they are searched.

use std::ops::Range;

use serde::Serialize;

use super::scored::Scorer;
use crate::{Codes, Error, Features, HashFunction, Result};

/// The largest weight. With it the scores of the longest codes are whole numbers that `f32` holds.
const MAX_WEIGHT: u32 = 10_000;

/// Whole numbers up to this one are exact in `f32`.
const EXACT: f64 = (1 << 24) as f64;

/// How the bits of codes are weighed in a ranking: label bits and detail bits (see
/// [`HashFunction::label_bits`]) each by a whole number, so that one code serves "of the same kind" and
/// "looks alike", and everything between.
///
/// A code's score is the sum of the weights of the bits in which it differs from the query. With a
/// *float query* the query is not cut to bits: each weight is multiplied by how sure the query is of
/// its bit, as its projection `f` tells: by `f^2` for label bits, by `|tanh f|` for detail bits. A vector
/// of a class that was never learned is unsure of its label bits, which then count less by themselves.
///
/// ```
/// use hashbrook::eval::Dial;
///
/// let dial = Dial::new(4, 1)?.float_query(true);
/// assert_eq!((dial.label_weight(), dial.detail_weight()), (4, 1));
/// assert!(Dial::new(0, 0).is_err());
/// # Ok::<(), hashbrook::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Dial {
    label_weight: u32,
    detail_weight: u32,
    float_query: bool,
}

impl Dial {
    /// A dial with these weights.
    ///
    /// # Errors
    /// When a weight is above 10,000, or both are 0.
    pub fn new(label_weight: u32, detail_weight: u32) -> Result<Dial> {
        for (name, weight) in [("label_weight", label_weight), ("detail_weight", detail_weight)] {
            if weight > MAX_WEIGHT {
                return Err(Error::parameter(name, format!("at most {MAX_WEIGHT}"), weight));
            }
        }
        if label_weight == 0 && detail_weight == 0 {
            let expected = "above 0 if detail_weight is 0";
            return Err(Error::parameter("label_weight", expected, 0));
        }
        Ok(Dial { label_weight, detail_weight, float_query: false })
    }

    /// The same dial, with a float query or without.
    pub fn float_query(self, float_query: bool) -> Dial {
        Dial { float_query, ..self }
    }

    /// What a label bit counts.
    pub fn label_weight(&self) -> u32 {
        self.label_weight
    }

    /// What a detail bit counts.
    pub fn detail_weight(&self) -> u32 {
        self.detail_weight
    }

    /// Whether the query is not cut to bits.
    pub fn is_float_query(&self) -> bool {
        self.float_query
    }

    /// Encodes queries, and weighs their bits.
    ///
    /// # Errors
    /// When the vectors have another dimension than the function takes.
    pub fn weigh(&self, function: &HashFunction, queries: Features<'_>) -> Result<Weighed> {
        let codes = function.encode(queries)?;
        let bits = function.bits();
        let weight = |bit: usize| {
            f64::from(if bit < function.label_bits() {
                self.label_weight
            } else {
                self.detail_weight
            })
        };
        let weights = if self.float_query {
            let projections = function.project(queries)?;
            let weigh = |row: &[f32]| {
                let sure = row.iter().enumerate().map(|(bit, &f)| {
                    // Vectors beyond all bounds may project to infinity.
                    let f = f64::from(f.clamp(f32::MIN, f32::MAX));
                    let sure = if bit < function.label_bits() { f * f } else { f.tanh().abs() };
                    sure * weight(bit)
                });
                whole_numbers(&sure.collect::<Vec<_>>())
            };
            projections.chunks_exact(bits).flat_map(weigh).collect()
        } else {
            (0..bits).map(|bit| weight(bit) as f32).collect()
        };
        Ok(Weighed { codes, weights })
    }
}

/// Weights as whole numbers in the same proportions, as exactly as their sums in `f32` allow. So a sum
/// does not depend on its order, and equal codes have equal scores.
fn whole_numbers(weights: &[f64]) -> Vec<f32> {
    let largest = weights.iter().copied().fold(0.0, f64::max);
    // A query at the origin is sure of nothing: all codes are as good.
    let factor = if largest > 0.0 { EXACT / weights.len() as f64 / largest } else { 0.0 };
    weights.iter().map(|weight| (weight * factor).max(0.0).floor() as f32).collect()
}

/// Queries with the weights of their bits: what a [`Dial`] makes of them.
#[derive(Clone, Debug)]
pub struct Weighed {
    codes: Codes,
    /// One for each bit, all of them whole: for each query, or for all.
    weights: Vec<f32>,
}

impl Weighed {
    /// The queries' codes.
    pub fn codes(&self) -> &Codes {
        &self.codes
    }

    /// The weights of a query's bits.
    ///
    /// # Panics
    /// When there is no such query.
    pub fn weights(&self, query: usize) -> &[f32] {
        let bits = self.codes.bits();
        let row = if self.weights.len() == bits { 0 } else { query };
        &self.weights[row * bits..(row + 1) * bits]
    }

    /// Some of the queries, in the order given.
    ///
    /// # Panics
    /// When there is no such query.
    pub fn select(&self, rows: &[usize]) -> Weighed {
        let codes = self.codes.select(rows);
        let weights = if self.weights.len() == self.codes.bits() {
            self.weights.clone()
        } else {
            rows.iter().flat_map(|&row| self.weights(row)).copied().collect()
        };
        Weighed { codes, weights }
    }

    /// The ranking of a database by these queries.
    ///
    /// # Errors
    /// When its codes have another length.
    pub fn rank<'a>(&'a self, database: &'a Codes) -> Result<Dialled<'a>> {
        database.expect_bits(self.codes.bits())?;
        Ok(Dialled { queries: self, database })
    }
}

/// Codes ranked by a [`Dial`].
#[derive(Clone, Copy, Debug)]
pub struct Dialled<'a> {
    queries: &'a Weighed,
    database: &'a Codes,
}

impl Scorer for Dialled<'_> {
    fn queries(&self) -> usize {
        self.queries.codes.len()
    }

    fn database(&self) -> usize {
        self.database.len()
    }

    fn score(&self, queries: Range<usize>, out: &mut [f32]) {
        let stride = self.database.words_per_code();
        for (query, out) in queries.zip(out.chunks_exact_mut(self.database.len().max(1))) {
            let code = self.queries.codes.code(query);
            let tables = tables(self.queries.weights(query));
            for (out, item) in out.iter_mut().zip(self.database.words().chunks_exact(stride)) {
                let bytes = item.iter().zip(code).flat_map(|(i, q)| (i ^ q).to_le_bytes());
                *out = tables.iter().zip(bytes).map(|(table, b)| table[usize::from(b)]).sum();
            }
        }
    }
}

/// For each byte of a code: what each of its values weighs.
fn tables(weights: &[f32]) -> Vec<[f32; 256]> {
    let table = |weights: &[f32]| {
        let mut table = [0.0; 256];
        for value in 1..256usize {
            let bit = value.trailing_zeros() as usize;
            let weight = weights.get(bit).copied().unwrap_or(0.0);
            table[value] = table[value & (value - 1)] + weight;
        }
        table
    };
    weights.chunks(8).map(table).collect()
}
