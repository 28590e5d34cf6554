//! **HMOH**: M. Lin, R. Ji, H. Liu, X. Sun, S. Chen, Q. Tian, *Hadamard Matrix Guided Online Hashing*, IJCV
//! 2020.
//!
//! Each label gets a row of a Hadamard matrix as its codeword `b` when it first appears. Every bit
//! is a perceptron that starts from zero. The function is the sum of the perceptron's states after
//! every row:
//!
//! ```text
//! where sgn(w_r . x) != b_r:  w_r <- w_r + rate b_r x          bit r of x:  [sum_t w_r(t) . x > 0]
//! ```
//!
//! # Memory and cost
//!
//! HMOH stores the perceptrons and their sum, and the labels that have appeared. The sum is stored
//! as `(t + 1) W` minus the sum of all changes, each times the number of its row. A row therefore
//! costs no more than its own change: O(width x bits), where `width` is the number of anchors, or
//! of dimensions without a lift.
//!
//! # Deviations
//!
//! * The division of each bit by its number of mistakes is omitted, because it changes no sign.
//! * The authors do not centre vectors or scale them to unit length (`center = none`,
//!   `unit = false`), and choose the order of the matrix by hand: see [`hcoh`](super::hcoh).
//! * Anchors come from the warm-up rows.

use serde::{Deserialize, Serialize};

use super::brook::LiftBy;
use super::checks::check_positive;
use super::codebook::Codebook;
use super::random::start_projection;
use super::rbf;
use super::weights::{check_finite, function_of};
use crate::hash::Lifter;
use crate::learner::{BuiltIn, Loaded, Start, WARMUP};
use crate::tensors::Tensors;
use crate::{Batch, Error, Features, HashFunction, HashParts, Learner, Result, Step};

/// The parameters of HMOH. The defaults are the authors' values for MNIST.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Step size. Above 0; its value changes no sign.
    pub rate: f64,
    /// Mapping of the vectors before they are learned.
    pub lift: LiftBy,
    /// Number of anchors of the lift; at most half of the warm-up.
    pub anchors: usize,
    /// Divisor of the mean squared distance that gives the bandwidth. Above 0.
    pub narrowing: f64,
    /// Order of the Hadamard matrix: a power of two, at least the number of bits. 0 selects the
    /// smallest.
    pub order: usize,
}

impl Default for Params {
    fn default() -> Self {
        Params { rate: 0.1, lift: LiftBy::Rbf, anchors: 300, narrowing: 6.0, order: 0 }
    }
}

/// The HMOH learner.
#[derive(Clone, Debug)]
pub(crate) struct Hmoh {
    params: Params,
    start: Start,
    lift: Option<Lifter>,
    codebook: Codebook,
    bits: Bits,
}

/// The perceptrons.
#[derive(Clone, Debug, Default, PartialEq)]
struct Bits {
    /// Number of rows learned.
    rows: u64,
    /// Weights, width x bits.
    weights: Vec<f64>,
    /// Sum of each change of the weights times the number of its row. Rows are numbered from 1.
    changes: Vec<f64>,
}

impl Bits {
    fn new(width: usize, bits: usize) -> Bits {
        Bits { rows: 0, weights: vec![0.0; width * bits], changes: vec![0.0; width * bits] }
    }

    /// Learns one row; `p` is a buffer.
    fn step(&mut self, rate: f64, x: &[f32], word: &[f32], p: &mut [f64]) {
        self.rows += 1;
        p.fill(0.0);
        for (weights, &x) in self.weights.chunks_exact(p.len()).zip(x) {
            p.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += f64::from(x) * weight);
        }
        // The update per bit, which is zero for correct bits.
        for (p, &target) in p.iter_mut().zip(word) {
            let right = (*p > 0.0) == (target > 0.0);
            *p = if right { 0.0 } else { rate * f64::from(target) };
        }
        if p.iter().all(|&step| step == 0.0) {
            return;
        }
        let row = self.rows as f64;
        let both =
            self.weights.chunks_exact_mut(p.len()).zip(self.changes.chunks_exact_mut(p.len()));
        for ((weights, changes), &x) in both.zip(x) {
            for ((weight, change), step) in weights.iter_mut().zip(changes).zip(&*p) {
                *weight += step * f64::from(x);
                *change += row * step * f64::from(x);
            }
        }
    }

    /// Returns the sum of the weights after each row, divided by the number of rows plus one.
    fn mean(&self) -> Vec<f32> {
        let count = self.rows as f64 + 1.0;
        let both = self.weights.iter().zip(&self.changes);
        both.map(|(weight, change)| (weight - change / count) as f32).collect()
    }
}

impl Hmoh {
    fn codebook(params: &Params, start: &Start) -> Codebook {
        Codebook::new(params.order, start.bits, start.seed, false)
    }

    /// Returns the number of values of a row after the lift.
    fn width(&self) -> usize {
        self.lift.as_ref().map_or(self.start.dim, Lifter::width)
    }

    fn is_lifted(&self) -> bool {
        self.params.lift == LiftBy::Rbf
    }
}

impl Learner for Hmoh {
    fn learn(&mut self, batch: Batch<'_>) -> Result<Step> {
        batch.features().expect_dim(self.start.dim)?;
        let labels = batch.require_labels(Hmoh::NAME)?;
        if self.is_lifted() && self.lift.is_none() {
            let problem = "there are no anchors yet";
            return Err(Error::NoSolution { method: Hmoh::NAME, problem });
        }
        let lifted = self.lift.as_ref().map(|lift| lift.lift_rows(batch.features().values()));
        let rows = match &lifted {
            Some(lifted) => Features::new(lifted, self.width())?,
            None => batch.features(),
        };
        let (before, known) = (self.bits.clone(), self.codebook.len());
        let mut p = vec![0.0; self.start.bits];
        for row in (0..labels.len()).filter(|&row| !labels.row(row).is_empty()) {
            let word = self.codebook.word(labels.row(row));
            self.bits.step(self.params.rate, rows.row(row), &word, &mut p);
        }
        if let Err(error) = check_finite(Hmoh::NAME, &self.bits.mean()) {
            self.bits = before;
            self.codebook.truncate(known);
            return Err(error);
        }
        Ok(Step { function_changed: self.bits != before, ..Step::default() })
    }

    fn hash_function(&self) -> HashFunction {
        function_of(self)
    }
}

impl BuiltIn for Hmoh {
    type Params = Params;
    const NAME: &'static str = "hmoh";
    const SUPERVISED: bool = true;
    const WARMS_UP: bool = true;

    fn warmup(params: &Params) -> usize {
        match params.lift {
            LiftBy::None => WARMUP,
            LiftBy::Rbf => WARMUP.max(params.anchors.saturating_mul(2)),
        }
    }

    fn check(params: &Params, start: &Start) -> Result<()> {
        check_positive("rate", params.rate)?;
        check_positive("narrowing", params.narrowing)?;
        Codebook::check(params.order, start.bits)?;
        if params.lift == LiftBy::Rbf {
            rbf::check_anchors(params.anchors, start.warmup)?;
        }
        if start.init.is_some() {
            let expected = "left out: hmoh starts from zero";
            return Err(Error::parameter("init", expected, "given"));
        }
        Ok(())
    }

    fn start(params: &Params, start: Start) -> Self {
        let codebook = Hmoh::codebook(params, &start);
        let bits = Bits::new(start.dim, start.bits);
        Hmoh { params: params.clone(), start, lift: None, codebook, bits }
    }

    fn hash_parts(&self) -> Result<HashParts> {
        let Start { dim, bits, .. } = self.start;
        if self.bits.rows == 0 {
            return Ok(HashParts::linear(dim, bits, start_projection(&self.start)));
        }
        let lift = self.lift.as_ref().map(|lift| lift.lift().clone()).unwrap_or_default();
        Ok(HashParts { lift, ..HashParts::linear(dim, bits, self.bits.mean()) })
    }

    fn warm_up(&mut self, first: Batch<'_>) -> Result<()> {
        if self.is_lifted() {
            let Params { anchors, narrowing, .. } = self.params;
            // exp(-d^2 / (2 eta)), eta = mean squared distance / narrowing
            let gamma = |mean: f64| narrowing / (2.0 * mean);
            let lift = rbf::from_first(first.features(), anchors, self.start.seed, gamma)?;
            self.bits = Bits::new(lift.width(), self.start.bits);
            self.lift = Some(lift);
        }
        Ok(())
    }

    fn is_warm(&self) -> bool {
        !self.is_lifted() || self.lift.is_some()
    }

    fn save(&self, state: &mut Tensors) {
        if let Some(lift) = &self.lift {
            lift.save(Hmoh::NAME, state);
        }
        state.put("hmoh.rows", 1, &[self.bits.rows]);
        state.put("hmoh.weights", self.start.bits, &self.bits.weights);
        state.put("hmoh.changes", self.start.bits, &self.bits.changes);
        self.codebook.save(Hmoh::NAME, state);
    }

    fn load(params: &Params, start: Start, state: &mut Tensors) -> Loaded<Self> {
        let mut hmoh = Hmoh::start(params, start);
        let bits = hmoh.start.bits;
        if hmoh.is_lifted() {
            hmoh.lift = Lifter::load(Hmoh::NAME, hmoh.start.dim, state)?;
        }
        let width = hmoh.width();
        hmoh.bits.rows = state.take_rows::<u64>("hmoh.rows", 1, 1)?[0];
        hmoh.bits.weights = state.take_rows("hmoh.weights", width, bits)?;
        hmoh.bits.changes = state.take_rows("hmoh.changes", width, bits)?;
        let finite = |numbers: &[f64]| numbers.iter().all(|number| number.is_finite());
        if !finite(&hmoh.bits.weights) || !finite(&hmoh.bits.changes) {
            return Err("its weights are not all finite".to_owned());
        }
        check_finite(Hmoh::NAME, &hmoh.bits.mean()).map_err(|error| error.to_string())?;
        hmoh.codebook = Hmoh::codebook(params, &hmoh.start).load(Hmoh::NAME, state)?;
        Ok(hmoh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Labels;

    /// Computes the perceptron of each bit by its definition, and the sum of all its states.
    #[test]
    fn the_recurrence_is_followed() {
        let (dim, bits) = (5, 16);
        let start = Start { dim, bits, seed: 2, unit: true, warmup: 0, init: None };
        let params = Params { lift: LiftBy::None, ..Params::default() };
        let mut hmoh = Hmoh::start(&params, start.clone());
        let mut codebook = Hmoh::codebook(&params, &start);
        let rows: Vec<f32> =
            (0..60 * dim).map(|i| ((i * 7919 % 101) as f32 - 50.0) / 60.0).collect();
        let labels: Vec<u32> = (0..60).map(|i| i * 3 % 7).collect();
        let (mut w, mut sum) = (vec![0.0; dim * bits], vec![0.0; dim * bits]);
        for (x, &label) in rows.chunks_exact(dim).zip(&labels) {
            let b = codebook.word(&[label]);
            for r in 0..bits {
                let p: f64 = (0..dim).map(|i| f64::from(x[i]) * w[i * bits + r]).sum();
                let sign = if p > 0.0 { 1.0 } else { -1.0 };
                if sign != b[r] {
                    (0..dim).for_each(|i| w[i * bits + r] += 0.1 * f64::from(b[r] * x[i]));
                }
            }
            sum.iter_mut().zip(&w).for_each(|(sum, w)| *sum += w);
        }
        let features = Features::new(&rows, dim).unwrap();
        hmoh.learn(Batch::new(features, Labels::single(&labels)).unwrap()).unwrap();
        for (found, expected) in hmoh.bits.mean().iter().zip(&sum) {
            assert!((f64::from(*found) - expected / 61.0).abs() < 1e-6, "{found} {expected}");
        }
    }
}
