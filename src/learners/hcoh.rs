//! **HCOH**: M. Lin, R. Ji, H. Liu, Y. Wu, *Supervised Online Hashing via Hadamard Codebook Learning*,
//! ACM MM 2018.
//!
//! Each label gets a row of a Hadamard matrix as its codeword `b` when it first appears. Any two
//! codewords differ in half of their bits. Every bit is regressed on the codeword, one row after
//! the other, by gradient descent on
//!
//! ```text
//! 1/2 || tanh(x W) - b ||^2
//! ```
//!
//! # Memory and cost
//!
//! HCOH stores the projection, and the labels that have appeared. A row costs O(dim x bits).
//!
//! # Deviations
//!
//! * The authors choose the order of the matrix by hand, so that it is at least the number of
//!   labels. In a stream this number is unknown. Here the order is `order`, or the smallest that
//!   fits the bits, and labels beyond the last row of the matrix have random codewords.
//! * The paper has one label per row. For several labels, the codeword is as in
//!   [`hmoh`](super::hmoh); rows without labels are skipped.

use serde::{Deserialize, Serialize};

use super::checks::check_positive;
use super::codebook::Codebook;
use super::random::start_projection;
use super::weights::{check_finite, function_of, take_weights};
use crate::kernel::{add_outer, project_row};
use crate::learner::{BuiltIn, Loaded, Start};
use crate::tensors::Tensors;
use crate::{Batch, HashFunction, HashParts, Learner, Result, Step};

/// The parameters of HCOH. The defaults are the authors' values for MNIST and CIFAR-10.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Step size: eta. Above 0.
    pub rate: f64,
    /// Order of the Hadamard matrix: a power of two, at least the number of bits. 0 selects the
    /// smallest.
    pub order: usize,
}

impl Default for Params {
    fn default() -> Self {
        Params { rate: 0.2, order: 0 }
    }
}

/// The HCOH learner.
#[derive(Clone, Debug)]
pub(crate) struct Hcoh {
    params: Params,
    dim: usize,
    bits: usize,
    weights: Vec<f32>,
    codebook: Codebook,
}

impl Hcoh {
    fn codebook(params: &Params, start: &Start) -> Codebook {
        Codebook::new(params.order, start.bits, start.seed, true)
    }

    /// Updates the weights towards a codeword. `steps` is a buffer.
    fn step(&mut self, x: &[f32], word: &[f32], steps: &mut [f32]) {
        project_row(&self.weights, x, steps);
        for (step, &target) in steps.iter_mut().zip(word) {
            let found = f64::from(*step).tanh();
            let slope = 1.0 - found * found;
            *step = (-self.params.rate * (found - f64::from(target)) * slope) as f32;
        }
        add_outer(&mut self.weights, x, steps);
    }
}

impl Learner for Hcoh {
    fn learn(&mut self, batch: Batch<'_>) -> Result<Step> {
        batch.features().expect_dim(self.dim)?;
        let labels = batch.require_labels(Hcoh::NAME)?;
        let (before, known) = (self.weights.clone(), self.codebook.len());
        let mut steps = vec![0.0; self.bits];
        for row in (0..batch.len()).filter(|&row| !labels.row(row).is_empty()) {
            let word = self.codebook.word(labels.row(row));
            self.step(batch.features().row(row), &word, &mut steps);
        }
        if let Err(error) = check_finite(Hcoh::NAME, &self.weights) {
            self.weights = before;
            self.codebook.truncate(known);
            return Err(error);
        }
        Ok(Step { function_changed: self.weights != before, ..Step::default() })
    }

    fn hash_function(&self) -> HashFunction {
        function_of(self)
    }
}

impl BuiltIn for Hcoh {
    type Params = Params;
    const NAME: &'static str = "hcoh";
    const SUPERVISED: bool = true;

    fn check(params: &Params, start: &Start) -> Result<()> {
        check_positive("rate", params.rate)?;
        Codebook::check(params.order, start.bits)
    }

    fn start(params: &Params, start: Start) -> Self {
        let codebook = Hcoh::codebook(params, &start);
        let weights = start_projection(&start);
        Hcoh { params: params.clone(), dim: start.dim, bits: start.bits, weights, codebook }
    }

    fn hash_parts(&self) -> Result<HashParts> {
        Ok(HashParts::linear(self.dim, self.bits, self.weights.clone()))
    }

    fn save(&self, state: &mut Tensors) {
        state.put("hcoh.weights", self.bits, &self.weights);
        self.codebook.save(Hcoh::NAME, state);
    }

    fn load(params: &Params, start: Start, state: &mut Tensors) -> Loaded<Self> {
        let Start { dim, bits, .. } = start;
        let weights = take_weights(state, "hcoh.weights", dim, bits)?;
        let codebook = Hcoh::codebook(params, &start).load(Hcoh::NAME, state)?;
        Ok(Hcoh { params: params.clone(), dim, bits, weights, codebook })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Features, Labels};

    /// Computes W <- W - eta x^T [(F - b)(1 - F^2)], F = tanh(x W), by its definition.
    #[test]
    fn the_recurrence_is_followed() {
        let (dim, bits) = (5, 16);
        let start = Start { dim, bits, seed: 2, unit: true, warmup: 0, init: None };
        let params = Params::default();
        let mut hcoh = Hcoh::start(&params, start.clone());
        let mut codebook = Hcoh::codebook(&params, &start);
        let mut w: Vec<f64> = start_projection(&start).iter().map(|&w| f64::from(w)).collect();
        let rows: Vec<f32> =
            (0..40 * dim).map(|i| ((i * 7919 % 101) as f32 - 50.0) / 60.0).collect();
        let labels: Vec<u32> = (0..40).map(|i| i * 3 % 7).collect();
        for (x, &label) in rows.chunks_exact(dim).zip(&labels) {
            let b = codebook.word(&[label]);
            let f: Vec<f64> = (0..bits)
                .map(|r| (0..dim).map(|i| f64::from(x[i]) * w[i * bits + r]).sum::<f64>().tanh())
                .collect();
            for i in 0..dim {
                for r in 0..bits {
                    let gradient = (f[r] - f64::from(b[r])) * (1.0 - f[r] * f[r]);
                    w[i * bits + r] -= 0.2 * f64::from(x[i]) * gradient;
                }
            }
        }
        let features = Features::new(&rows, dim).unwrap();
        hcoh.learn(Batch::new(features, Labels::single(&labels)).unwrap()).unwrap();
        for (found, expected) in hcoh.weights.iter().zip(&w) {
            assert!((f64::from(*found) - expected).abs() < 1e-5, "{found} {expected}");
        }
        assert_eq!(hcoh.codebook.len(), 7);
    }
}
