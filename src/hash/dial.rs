//! Weights of label bits and detail bits in searches.

use serde::Serialize;

use super::HashFunction;
use crate::{Codes, Error, Features, Result};

/// Largest weight of a label or detail bit.
const MAX_WEIGHT: u32 = 10_000;

/// Largest factor by which certainty multiplies the weight of a label bit: a projection beyond 2
/// counts like a projection of 2. Classes are learned towards projections of 1.
const MOST_SURE: f64 = 4.0;

// Distances are `u32`, even for the longest codes.
const _: () = assert!(
    (crate::MAX_BITS as u64) * (MAX_WEIGHT as u64) * (Dial::UNIT as u64) * (MOST_SURE as u64)
        < u32::MAX as u64
);

/// Weights of code bits in a search or a re-ranking. Label bits and detail bits (see
/// [`HashFunction::label_bits`]) have one integer weight each. The same codes thus serve queries
/// for "the same kind", for "a similar look", and for everything between.
///
/// The distance of a code is the sum of the weights of the bits in which the code differs from the
/// query. A *float query* is not reduced to bits. Instead, each weight is multiplied by the query's
/// certainty of the bit, which depends on the bit's projection `f`: by `f^2`, at most 4, for label
/// bits, and by `|tanh f|` for detail bits. The label bits of a vector whose class was never
/// learned are uncertain, and so count less automatically.
///
/// Distances of float queries are measured in steps of `1 /` [`UNIT`](Dial::UNIT): a certain bit
/// (`f = 1` for a label bit) of weight 1 counts `UNIT`. These distances are therefore integers,
/// too, and are comparable between queries. Radii use the same steps.
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
    /// Distance that a bit of weight 1 contributes if a float query is certain of the bit.
    pub const UNIT: u32 = 64;

    /// Creates a dial with these weights.
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

    /// Returns the same dial with float queries enabled or disabled.
    #[must_use]
    pub fn float_query(self, float_query: bool) -> Dial {
        Dial { float_query, ..self }
    }

    /// Returns the weight of a label bit.
    pub fn label_weight(&self) -> u32 {
        self.label_weight
    }

    /// Returns the weight of a detail bit.
    pub fn detail_weight(&self) -> u32 {
        self.detail_weight
    }

    /// Returns whether queries are float queries, which are not reduced to bits.
    pub fn is_float_query(&self) -> bool {
        self.float_query
    }

    /// Returns the distance of one bit of weight 1: [`Dial::UNIT`] with a float query, else 1.
    pub fn unit(&self) -> u32 {
        if self.float_query { Dial::UNIT } else { 1 }
    }

    /// Encodes queries and computes the weights of their bits.
    ///
    /// # Errors
    /// When the vectors' dimension is not that of the function.
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

    /// Computes the weights of bits for queries that are codes already. The function determines
    /// which bits are label bits; without a function, both weights must be equal.
    ///
    /// # Errors
    /// * [`Error::FloatQueryOfCodes`]: the dial uses float queries.
    /// * [`Error::NoLabelBits`]: the two weights differ, and no function distinguishes label bits
    ///   from detail bits.
    /// * [`Error::CodeLength`]: the codes differ in length from those of the function.
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

    /// Returns the weights of bits without regard to certainty.
    fn weights(&self, bits: usize, label_bits: usize) -> Vec<u32> {
        let weight = |bit| if bit < label_bits { self.label_weight } else { self.detail_weight };
        (0..bits).map(weight).collect()
    }
}

/// Returns the factor by which certainty multiplies the weight of a label bit. Vectors with huge
/// numbers may project to infinity or NaN; NaN gives the factor 0.
fn label_sure(projection: f32) -> f64 {
    let f = f64::from(projection);
    if f.is_nan() { 0.0 } else { (f * f).min(MOST_SURE) }
}

fn detail_sure(projection: f32) -> f64 {
    let f = f64::from(projection);
    if f.is_nan() { 0.0 } else { f.tanh().abs() }
}

/// Queries with the weights of their bits, computed by a [`Dial`].
#[derive(Clone, Debug)]
pub struct Weighed {
    codes: Codes,
    /// One weight per bit: for each query, or once for all queries.
    weights: Vec<u32>,
}

impl Weighed {
    /// Returns the queries' codes.
    pub fn codes(&self) -> &Codes {
        &self.codes
    }

    /// Appends other queries that were weighted by the same dial and function.
    ///
    /// # Errors
    /// When the codes of `other` have another length.
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

    /// Returns the queries' codes, without the weights.
    pub(crate) fn into_codes(self) -> Codes {
        self.codes
    }

    /// Returns the weights of a query's bits. Their sum is below 2^32.
    ///
    /// # Panics
    /// When the query does not exist.
    pub fn weights(&self, query: usize) -> &[u32] {
        let bits = self.codes.bits();
        let row = if self.shared().is_some() { 0 } else { query };
        &self.weights[row * bits..(row + 1) * bits]
    }

    /// Returns the weights if all queries share them.
    pub(crate) fn shared(&self) -> Option<&[u32]> {
        (self.weights.len() == self.codes.bits()).then_some(&self.weights)
    }

    /// Returns some of the queries, in the order given.
    ///
    /// # Panics
    /// When the query does not exist.
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
