//! Label bits and detail bits, weighed when they are searched.

use serde::Serialize;

use super::HashFunction;
use crate::{Codes, Error, Features, Result};

/// The largest weight of a label or detail bit.
const MAX_WEIGHT: u32 = 10_000;

/// How often a label bit may count its weight: a query whose projection is beyond 2 is as sure as one
/// whose projection is 2. Classes are learned towards projections of 1.
const MOST_SURE: f64 = 4.0;

// Distances are `u32`, also those of the longest codes.
const _: () = assert!(
    (crate::MAX_BITS as u64) * (MAX_WEIGHT as u64) * (Dial::UNIT as u64) * (MOST_SURE as u64)
        < u32::MAX as u64
);

/// How the bits of codes are weighed in a search or a ranking: label bits and detail bits (see
/// [`HashFunction::label_bits`]) each by a whole number, so that one code serves "of the same kind" and
/// "looks alike", and everything between.
///
/// The distance of a code is the sum of the weights of the bits in which it differs from the query. With
/// a *float query* the query is not cut to bits: each weight is multiplied by how sure the query is of
/// its bit, as its projection `f` tells: by `f^2`, at most 4, for label bits, by `|tanh f|` for detail
/// bits. A vector of a class that was never learned is unsure of its label bits, which then count less by
/// themselves.
///
/// Distances of float queries count in steps of `1 /` [`UNIT`](Dial::UNIT): a bit of weight 1 of which
/// the query is sure (`f = 1` of a label bit) counts `UNIT`. So they are whole numbers, too, and those of
/// one query compare with those of another. Radii are in the same steps.
///
/// ```
/// use hashbrook::Dial;
///
/// let dial = Dial::new(4, 1)?.float_query(true);
/// assert_eq!((dial.label_weight(), dial.detail_weight()), (4, 1));
/// assert_eq!(dial.unit(), Dial::UNIT);
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
    /// What a bit of weight 1 counts in the distances of a float query that is sure of it.
    pub const UNIT: u32 = 64;

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
    #[must_use]
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

    /// The distance that stands for one bit of weight 1: [`Dial::UNIT`] with a float query, else 1.
    pub fn unit(&self) -> u32 {
        if self.float_query { Dial::UNIT } else { 1 }
    }

    /// Encodes queries, and weighs their bits.
    ///
    /// # Errors
    /// When the vectors have another dimension than the function takes.
    pub fn weigh(&self, function: &HashFunction, queries: Features<'_>) -> Result<Weighed> {
        let codes = function.encode(queries)?;
        let (bits, label_bits) = (function.bits(), function.label_bits());
        if !self.float_query {
            return Ok(Weighed { codes, weights: self.weights(bits, label_bits) });
        }
        let mut weights = Vec::with_capacity(codes.len() * bits);
        for row in function.project(queries)?.chunks_exact(bits) {
            let (label, detail) = row.split_at(label_bits);
            let label = label.iter().map(|&f| label_sure(f) * f64::from(self.label_weight));
            let detail = detail.iter().map(|&f| detail_sure(f) * f64::from(self.detail_weight));
            let unit = f64::from(Dial::UNIT);
            weights.extend(label.chain(detail).map(|weight| (weight * unit).round() as u32));
        }
        Ok(Weighed { codes, weights })
    }

    /// Weighs the bits of queries that are codes already. Of the function it takes which bits are label
    /// bits; without one, all have to weigh the same.
    ///
    /// # Errors
    /// With a float query ([`Error::FloatQueryOfCodes`]), when there is no function that tells label bits
    /// from detail bits of different weights ([`Error::NoLabelBits`]), or when codes have another length
    /// than those of the function.
    pub fn weigh_codes(&self, function: Option<&HashFunction>, codes: &Codes) -> Result<Weighed> {
        if self.float_query {
            return Err(Error::FloatQueryOfCodes);
        }
        let label_bits = match function {
            Some(function) => {
                codes.expect_bits(function.bits())?;
                function.label_bits()
            }
            None if self.label_weight == self.detail_weight => codes.bits(),
            None => return Err(Error::NoLabelBits),
        };
        Ok(Weighed { codes: codes.clone(), weights: self.weights(codes.bits(), label_bits) })
    }

    /// The weights of bits that queries are sure of.
    fn weights(&self, bits: usize, label_bits: usize) -> Vec<u32> {
        let weight = |bit| if bit < label_bits { self.label_weight } else { self.detail_weight };
        (0..bits).map(weight).collect()
    }
}

/// How often a label bit counts its weight. Vectors beyond all bounds may project to infinity, and to
/// what is not a number; of that a query is not sure at all.
fn label_sure(projection: f32) -> f64 {
    let f = f64::from(projection);
    if f.is_nan() { 0.0 } else { (f * f).min(MOST_SURE) }
}

fn detail_sure(projection: f32) -> f64 {
    let f = f64::from(projection);
    if f.is_nan() { 0.0 } else { f.tanh().abs() }
}

/// Queries with the weights of their bits: what a [`Dial`] makes of them.
#[derive(Clone, Debug)]
pub struct Weighed {
    codes: Codes,
    /// One for each bit: for each query, or for all.
    weights: Vec<u32>,
}

impl Weighed {
    /// The queries' codes.
    pub fn codes(&self) -> &Codes {
        &self.codes
    }

    /// Appends other queries that the same dial and function have weighed.
    ///
    /// # Errors
    /// When their codes have another length.
    pub fn append(&mut self, other: &Weighed) -> Result<()> {
        self.codes.expect_bits(other.codes.bits())?;
        let rows = |weighed: &Weighed| -> Vec<u32> {
            let rows = (0..weighed.codes.len()).flat_map(|query| weighed.weights(query));
            rows.copied().collect()
        };
        match (self.shared(), other.shared()) {
            (Some(own), Some(others)) if own == others => {}
            (own, _) => {
                if own.is_some() {
                    self.weights = rows(self);
                }
                self.weights.extend(rows(other));
            }
        }
        self.codes.append(&other.codes)
    }

    /// The queries' codes, without the weights.
    pub(crate) fn into_codes(self) -> Codes {
        self.codes
    }

    /// The weights of a query's bits. Their sum is below 2^32.
    ///
    /// # Panics
    /// When there is no such query.
    pub fn weights(&self, query: usize) -> &[u32] {
        let bits = self.codes.bits();
        let row = if self.shared().is_some() { 0 } else { query };
        &self.weights[row * bits..(row + 1) * bits]
    }

    /// The weights, if they are the same for all queries.
    pub(crate) fn shared(&self) -> Option<&[u32]> {
        (self.weights.len() == self.codes.bits()).then_some(&self.weights)
    }

    /// Some of the queries, in the order given.
    ///
    /// # Panics
    /// When there is no such query.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Weighed {
        let codes = self.codes.select(rows);
        let weights = match self.shared() {
            Some(weights) => weights.to_vec(),
            None => rows.iter().flat_map(|&row| self.weights(row)).copied().collect(),
        };
        Weighed { codes, weights }
    }
}
