//! [`HashFunction`]: from a vector to its code.

mod compact;
pub(crate) mod dial;
mod file;
mod grown;
mod lift;
mod prepared;
mod rows;

use std::sync::Arc;

use rayon::prelude::*;

pub use self::compact::Compact;
use self::compact::WholeWeights;
pub use self::lift::Lift;
pub(crate) use self::lift::Lifter;
use self::lift::{Lifted, Packed, lift_rows};
use self::rows::{LiftScratch, ROWS_AT_ONCE};
use crate::codes::{Codes, check_bits};
use crate::kernel::{LANES, Panels, prepare};
use crate::{Error, Features, LabelNames, Result};

/// Frozen hash function: bit `r` of `x` is `[w_r . phi(x) + v_r . x + b_r > 0]`, usually with
/// `v = 0`.
///
/// The function includes all preparation that learning applied to vectors (centring, scaling,
/// lifting), so learning and serving cannot diverge. A vector gets the same code whether it is
/// encoded alone or with others, on any number of threads. [`save`](HashFunction::save) writes the
/// function to a small file.
///
/// Clones share all data, so each thread can have its own clone at no cost.
#[derive(Clone, Debug)]
pub struct HashFunction {
    made_of: Arc<MadeOf>,
    names: Arc<LabelNames>,
}

/// Parts of a function, in original form and packed for matrix products.
#[derive(Debug)]
struct MadeOf {
    parts: HashParts,
    lift: Packed,
    weights: Weights,
    linear_weights: Option<Panels>,
}

/// The projection, packed for the lift's output.
#[derive(Clone, Debug)]
enum Weights {
    Floats(Panels),
    Whole(WholeWeights),
}

impl Weights {
    fn new(parts: &HashParts) -> Self {
        let (inputs, bits) = (parts.lifted_dim(), parts.bits);
        match parts.lift {
            Lift::Compact(_) => Weights::Whole(WholeWeights::new(&parts.weights, inputs, bits)),
            _ => Weights::Floats(Panels::pack(&parts.weights, inputs, bits)),
        }
    }

    /// Returns the length of a projected row.
    fn width(&self) -> usize {
        match self {
            Weights::Floats(panels) => panels.width(),
            Weights::Whole(weights) => weights.width(),
        }
    }

    fn multiply(&self, lifted: Lifted<'_>, words: &mut Vec<i32>, out: &mut [f32]) {
        match (self, lifted) {
            (Weights::Floats(panels), Lifted::Floats(rows)) => panels.multiply(rows, out),
            (Weights::Whole(weights), Lifted::Whole(rows)) => weights.multiply(rows, words, out),
            _ => unreachable!("weights are packed for what the lift beside them gives"),
        }
    }
}

/// Parts of a [`HashFunction`], in the order in which they are applied to a vector.
#[derive(Clone, Debug, PartialEq)]
pub struct HashParts {
    /// Dimension of the input vectors.
    pub dim: usize,
    /// Length of the codes in bits.
    pub bits: usize,
    /// Vector subtracted from every input vector, if present.
    pub center: Option<Vec<f32>>,
    /// Factors by which the columns are multiplied after centring, if present.
    pub scale: Option<Vec<f32>>,
    /// True if vectors are scaled to unit length after centring and scaling. A zero vector stays
    /// zero.
    pub unit: bool,
    /// Map applied to vectors before the projection.
    pub lift: Lift,
    /// The projection, row-major: lifted dimensions x bits.
    pub weights: Vec<f32>,
    /// Projection of the vectors before the lift, added to the projection of the lifted vectors, if
    /// present; row-major: dimensions x bits.
    pub linear_weights: Option<Vec<f32>>,
    /// Offset added to the projections, if present; one number per bit.
    pub offset: Option<Vec<f32>>,
    /// Number of label bits: the first bits, which distinguish labels. All other bits are detail
    /// bits, which preserve the neighbourhood of the vectors themselves. A search can weight the
    /// two groups.
    pub label_bits: usize,
}

impl HashParts {
    /// Returns the parts of a linear function without centring, scaling or offset.
    pub fn linear(dim: usize, bits: usize, weights: Vec<f32>) -> Self {
        HashParts {
            dim,
            bits,
            center: None,
            scale: None,
            unit: false,
            lift: Lift::Identity,
            weights,
            linear_weights: None,
            offset: None,
            label_bits: bits,
        }
    }

    /// Returns the dimension of the lifted vectors.
    pub fn lifted_dim(&self) -> usize {
        self.lift.width(self.dim)
    }

    fn check(&self) -> Result<()> {
        check_bits(self.bits)?;
        let row_of = |values: &[f32], dim: usize| {
            let features = Features::new(values, dim)?;
            if features.len() == 1 {
                Ok(())
            } else {
                Err(Error::Shape { values: values.len(), dim })
            }
        };
        for values in [&self.center, &self.scale].into_iter().flatten() {
            row_of(values, self.dim)?;
        }
        self.lift.check(self.dim)?;
        let inputs = self.lifted_dim();
        if inputs == 0 || Features::new(&self.weights, self.bits)?.len() != inputs {
            return Err(Error::Shape { values: self.weights.len(), dim: self.bits });
        }
        if let Some(weights) = &self.linear_weights
            && Features::new(weights, self.bits)?.len() != self.dim
        {
            return Err(Error::Shape { values: weights.len(), dim: self.bits });
        }
        if self.label_bits > self.bits {
            let expected = format!("at most the {} bits", self.bits);
            return Err(Error::parameter("label_bits", expected, self.label_bits));
        }
        self.offset.as_ref().map_or(Ok(()), |offset| row_of(offset, self.bits))
    }
}

impl HashFunction {
    /// Builds a hash function from its parts.
    ///
    /// # Errors
    /// When the parts do not fit each other, or contain numbers that are not finite.
    pub fn new(parts: HashParts) -> Result<Self> {
        parts.check()?;
        let (weights, lift) = (Weights::new(&parts), Packed::new(&parts.lift, parts.dim));
        let linear = |weights: &Vec<f32>| Panels::pack(weights, parts.dim, parts.bits);
        let linear_weights = parts.linear_weights.as_ref().map(linear);
        let made_of = Arc::new(MadeOf { parts, lift, weights, linear_weights });
        Ok(HashFunction { made_of, names: Arc::default() })
    }

    /// Returns the parts of the function.
    pub fn parts(&self) -> &HashParts {
        &self.made_of.parts
    }

    /// Returns the dimension of the input vectors.
    pub fn dim(&self) -> usize {
        self.made_of.parts.dim
    }

    /// Returns the length of the codes in bits.
    pub fn bits(&self) -> usize {
        self.made_of.parts.bits
    }

    /// Returns the number of label bits: the first bits, which distinguish labels. All other bits
    /// are detail bits, which preserve the neighbourhood of the vectors themselves.
    pub fn label_bits(&self) -> usize {
        self.made_of.parts.label_bits
    }

    /// Returns the names of the labels that the function was learned from, in the order of their
    /// numbers; empty if the labels have no names.
    pub fn label_names(&self) -> &LabelNames {
        &self.names
    }

    /// Returns the same function with these label names.
    pub fn with_label_names(self, names: LabelNames) -> Self {
        HashFunction { names: Arc::new(names), ..self }
    }

    /// Returns the code of one vector, 64 bits to a word, equal to the result of
    /// [`encode`](HashFunction::encode).
    ///
    /// ```
    /// use hashbrook::{HashFunction, HashParts};
    ///
    /// let function = HashFunction::new(HashParts::linear(2, 3, vec![1.0, -1.0, 0.5, 0.0, 2.0, 0.5]))?;
    /// assert_eq!(function.encode_one(&[1.0, 1.0])?, [0b111]);
    /// assert!(function.encode_one(&[1.0]).is_err());
    /// # Ok::<(), hashbrook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the vector's dimension is not that of the function, or a number is not finite.
    pub fn encode_one(&self, vector: &[f32]) -> Result<Vec<u64>> {
        if vector.len() != self.dim() {
            return Err(Error::Dimension { expected: self.dim(), found: vector.len() });
        }
        Ok(self.encode(Features::new(vector, self.dim())?)?.words().to_vec())
    }

    /// Returns the codes of vectors, computed in parallel.
    ///
    /// # Errors
    /// When the vectors' dimension is not that of the function.
    pub fn encode(&self, features: Features<'_>) -> Result<Codes> {
        features.expect_dim(self.dim())?;
        Ok(self.encode_rows(features.values(), false))
    }

    /// Returns the codes of rows, which may be prepared already.
    fn encode_rows(&self, rows: &[f32], are_prepared: bool) -> Codes {
        let mut codes = Codes::zeros(self.bits(), rows.len() / self.dim());
        let stride = codes.words_per_code();
        codes
            .words_mut()
            .par_chunks_mut(ROWS_AT_ONCE * stride)
            .zip(rows.par_chunks(ROWS_AT_ONCE * self.dim()))
            .for_each_init(Scratch::default, |scratch, (codes, rows)| {
                let projections = self.project_into(rows, are_prepared, scratch);
                let projections = projections.chunks_exact(self.made_of.weights.width());
                for (code, projections) in codes.chunks_exact_mut(stride).zip(projections) {
                    pack_signs(projections, self.bits(), code);
                }
            });
        codes
    }

    /// Returns the projections whose signs are the bits: `w_r . phi(x) + v_r . x + b_r`, row-major,
    /// vectors x bits.
    ///
    /// # Errors
    /// When the vectors' dimension is not that of the function.
    pub fn project(&self, features: Features<'_>) -> Result<Vec<f32>> {
        features.expect_dim(self.dim())?;
        let bits = self.bits();
        let mut out = vec![0.0; features.len() * bits];
        out.par_chunks_mut(ROWS_AT_ONCE * bits)
            .zip(features.values().par_chunks(ROWS_AT_ONCE * self.dim()))
            .for_each_init(Scratch::default, |scratch, (out, rows)| {
                let projections = self.project_into(rows, false, scratch);
                let projections = projections.chunks_exact(self.made_of.weights.width());
                for (out, projections) in out.chunks_exact_mut(bits).zip(projections) {
                    out.copy_from_slice(&projections[..bits]);
                }
            });
        Ok(out)
    }

    /// Returns vectors after centring and scaling and before the lift, row-major.
    ///
    /// # Errors
    /// When the vectors' dimension is not that of the function.
    pub fn prepared(&self, features: Features<'_>) -> Result<Vec<f32>> {
        features.expect_dim(self.dim())?;
        let mut rows = Vec::new();
        self.prepare(features.values(), &mut rows);
        Ok(rows)
    }

    /// Returns vectors after centring, scaling and lifting, row-major: the input of the projection.
    ///
    /// # Errors
    /// When the vectors' dimension is not that of the function.
    pub fn lifted(&self, features: Features<'_>) -> Result<Vec<f32>> {
        let rows = self.prepared(features)?;
        Ok(match &self.made_of.lift {
            Packed::Identity => rows,
            lift => lift_rows(lift, &rows, self.dim(), self.made_of.parts.lifted_dim()),
        })
    }

    /// Applies the stages before the lift to rows.
    fn prepare(&self, rows: &[f32], out: &mut Vec<f32>) {
        let HashParts { dim, center, scale, unit, .. } = &self.made_of.parts;
        prepare(center.as_deref(), scale.as_deref(), *unit, *dim, rows, out);
    }

    /// Projects a few rows: applies all stages except taking signs. Rows that are prepared already
    /// skip the preparation. The rows of the result have the width of the panels.
    fn project_into<'s>(
        &self,
        rows: &[f32],
        are_prepared: bool,
        scratch: &'s mut Scratch,
    ) -> &'s [f32] {
        let Scratch { prepared, lift, words, projections, linear } = scratch;
        let mut rows = rows;
        let HashParts { center, scale, unit, .. } = &self.made_of.parts;
        if !are_prepared && (*unit || center.is_some() || scale.is_some()) {
            self.prepare(rows, prepared);
            rows = prepared;
        }
        projections.resize(rows.len() / self.dim() * self.made_of.weights.width(), 0.0);
        self.made_of.weights.multiply(
            self.made_of.lift.lift(rows, self.dim(), lift),
            words,
            projections,
        );
        if let Some(weights) = &self.made_of.linear_weights {
            linear.resize(rows.len() / self.dim() * weights.width(), 0.0);
            weights.multiply(rows, linear);
            for (row, linear) in projections
                .chunks_exact_mut(self.made_of.weights.width())
                .zip(linear.chunks_exact(weights.width()))
            {
                row.iter_mut().zip(linear).for_each(|(value, linear)| *value += linear);
            }
        }
        if let Some(offset) = &self.made_of.parts.offset {
            for row in projections.chunks_exact_mut(self.made_of.weights.width()) {
                row.iter_mut().zip(offset).for_each(|(value, offset)| *value += offset);
            }
        }
        projections
    }
}

/// Sets bit `r` of `code` where `projections[r] > 0`.
fn pack_signs(projections: &[f32], bits: usize, code: &mut [u64]) {
    for (word, signs) in code.iter_mut().zip(projections.chunks(64)) {
        let (lanes, _) = signs.as_chunks::<LANES>();
        for (at, lanes) in lanes.iter().enumerate() {
            let mut mask = 0u64;
            for (lane, &value) in lanes.iter().enumerate() {
                mask |= u64::from(value > 0.0) << lane;
            }
            *word |= mask << (at * LANES);
        }
    }
    // The padding columns of the panels project to zero and get no offset, so no bits need
    // clearing.
    debug_assert!(bits.is_multiple_of(64) || code[code.len() - 1] >> (bits % 64) == 0);
}

/// Buffers reused for successive groups of rows.
#[derive(Default)]
struct Scratch {
    prepared: Vec<f32>,
    lift: LiftScratch,
    words: Vec<i32>,
    projections: Vec<f32>,
    linear: Vec<f32>,
}
