//! **AdaptHash**: F. Cakir, S. Sclaroff, *Adaptive Hashing for Fast Similarity Search*, ICCV 2015.
//!
//! The stream is processed in pairs. Let `f(t) = 2 / (1 + e^-t) - 1` approximate the sign, and let
//! `s` be +1 for a similar pair and -1 for a dissimilar pair. If the codes of a pair are too far
//! apart or too near, the bits that are most wrong are changed, by gradient descent on
//!
//! ```text
//! (f(W^T x_i) . f(W^T x_j) - bits s)^2  +  orthogonality ||W^T W - I||^2 / 4
//! ```
//!
//! # Memory and cost
//!
//! AdaptHash stores the projection `W`, and the steps that are not yet applied to it. Each step
//! multiplies `W` by a matrix of bits x bits and adds a matrix of rank two. The steps of a block of
//! pairs are stored separately, as `W T + X^T R`, so that all but every 32nd pair cost O(dim x bits
//! + bits^3) instead of O(dim x bits^2). Updating `G = W^T W` costs O(bits^3).
//!
//! # Deviations
//!
//! As in the authors' program, the second term's step is not scaled by the rate, the columns of `W`
//! are scaled to unit length after each step, and pairs without loss change nothing.

use serde::{Deserialize, Serialize};

mod block;

use self::block::Block;
use super::checks::{check_not_negative, check_positive, check_share};
use super::pairs::Pairs;
use super::random::start_projection;
use super::weights::{check_finite, function_of};
use crate::learner::{BuiltIn, Loaded, Start};
use crate::tensors::Tensors;
use crate::{Batch, HashFunction, HashParts, Learner, Result, Step};

/// The parameters of AdaptHash. The defaults are the values of the authors' program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Share of bits in which dissimilar pairs should differ, and similar pairs agree: alpha.
    pub threshold: f64,
    /// Strength with which the bits are decorrelated: lambda.
    pub orthogonality: f64,
    /// Step size: eta. Above 0.
    pub rate: f64,
}

impl Default for Params {
    fn default() -> Self {
        Params { threshold: 0.9, orthogonality: 0.01, rate: 1.0 }
    }
}

/// The AdaptHash learner.
#[derive(Clone, Debug)]
pub(crate) struct AdaptHash {
    params: Params,
    dim: usize,
    bits: usize,
    block: Block,
    pairs: Pairs,
}

impl AdaptHash {
    /// Learns one pair. Returns whether it changed anything.
    fn step(&mut self, xi: &[f32], xj: &[f32], similar: bool) -> bool {
        let (v, u) = self.block.project([xi, xj]);
        match self.gradient(&v, &u, similar) {
            None => false,
            Some((a, c)) => {
                let lambda = self.params.orthogonality;
                self.block.step(lambda, [xi, xj], [&v, &u], [&a, &c]);
                true
            }
        }
    }

    /// Returns the steps of the columns along `x_i` and `x_j`, times the rate. Returns `None` if
    /// the pair has no loss.
    fn gradient(&self, v: &[f32], u: &[f32], similar: bool) -> Option<(Vec<f32>, Vec<f32>)> {
        let k = self.bits as f64;
        let differ = |(v, u): (&f32, &f32)| (*v > 0.0) != (*u > 0.0);
        let distance = v.iter().zip(u).filter(|&pair| differ(pair)).count() as f64;
        let loss = match similar {
            true => distance - (1.0 - self.params.threshold) * k,
            false => self.params.threshold * k - distance,
        };
        if loss <= 0.0 {
            return None;
        }
        // The most certain of the wrong bits are changed first.
        let mut wrong: Vec<usize> =
            (0..self.bits).filter(|&r| differ((&v[r], &u[r])) == similar).collect();
        let sureness = |r: usize| v[r].abs().max(u[r].abs());
        wrong.sort_by(|&r, &q| sureness(q).total_cmp(&sureness(r)));
        wrong.truncate(loss.ceil() as usize);

        let f = |t: f32| 2.0 / (1.0 + (-f64::from(t)).exp()) - 1.0;
        let agreement: f64 = v.iter().zip(u).map(|(&v, &u)| f(v) * f(u)).sum();
        let scale = self.params.rate * 2.0 * (agreement - if similar { k } else { -k });
        let (mut a, mut c) = (vec![0.0; self.bits], vec![0.0; self.bits]);
        for r in wrong {
            let (fv, fu) = (f(v[r]), f(u[r]));
            // f' = (1 - f^2) / 2.
            a[r] = (scale * fu * (1.0 - fv * fv) / 2.0) as f32;
            c[r] = (scale * fv * (1.0 - fu * fu) / 2.0) as f32;
        }
        Some((a, c))
    }
}

impl Learner for AdaptHash {
    fn learn(&mut self, batch: Batch<'_>) -> Result<Step> {
        batch.features().expect_dim(self.dim)?;
        let labels = batch.require_labels(AdaptHash::NAME)?;
        let before = self.clone();
        let mut pairs = std::mem::take(&mut self.pairs);
        let mut function_changed = false;
        pairs.take(batch.features(), labels, |xi, xj, similar| {
            function_changed |= self.step(xi, xj, similar);
        });
        self.pairs = pairs;
        if let Err(error) = check_finite(AdaptHash::NAME, &self.block.weights()) {
            *self = before;
            return Err(error);
        }
        Ok(Step { function_changed, ..Step::default() })
    }

    fn hash_function(&self) -> HashFunction {
        function_of(self)
    }
}

impl BuiltIn for AdaptHash {
    type Params = Params;
    const NAME: &'static str = "adapthash";
    const SUPERVISED: bool = true;

    fn check(params: &Params, _: &Start) -> Result<()> {
        check_share("threshold", params.threshold)?;
        check_not_negative("orthogonality", params.orthogonality)?;
        check_positive("rate", params.rate)
    }

    fn start(params: &Params, start: Start) -> Self {
        AdaptHash {
            params: params.clone(),
            dim: start.dim,
            bits: start.bits,
            block: Block::new(start_projection(&start), start.dim, start.bits),
            pairs: Pairs::default(),
        }
    }

    fn hash_parts(&self) -> Result<HashParts> {
        Ok(HashParts::linear(self.dim, self.bits, self.block.weights()))
    }

    fn save(&self, state: &mut Tensors) {
        self.block.save("adapthash", state);
        self.pairs.save("adapthash.waiting", self.dim, state);
    }

    fn load(params: &Params, start: Start, state: &mut Tensors) -> Loaded<Self> {
        let Start { dim, bits, .. } = start;
        Ok(AdaptHash {
            params: params.clone(),
            dim,
            bits,
            block: Block::load("adapthash", dim, bits, state)?,
            pairs: Pairs::load("adapthash.waiting", dim, state)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    /// Computes the step as in the paper and its program, in double precision and with whole
    /// matrices.
    fn plain_step(w: &mut [f64], bits: usize, params: &Params, x: [&[f32]; 2], similar: bool) {
        let dot = |w: &[f64], x: &[f32], r: usize| -> f64 {
            x.iter().zip(w.iter().skip(r).step_by(bits)).map(|(x, w)| f64::from(*x) * w).sum()
        };
        let v: Vec<f64> = (0..bits).map(|r| dot(w, x[0], r)).collect();
        let u: Vec<f64> = (0..bits).map(|r| dot(w, x[1], r)).collect();
        let s = if similar { 1.0 } else { -1.0 };
        let differ: Vec<bool> = (0..bits).map(|r| (v[r] > 0.0) != (u[r] > 0.0)).collect();
        let distance = differ.iter().filter(|&&d| d).count() as f64;
        let k = bits as f64;
        let loss = match similar {
            true => distance - (1.0 - params.threshold) * k,
            false => params.threshold * k - distance,
        };
        if loss <= 0.0 {
            return;
        }
        let mut wrong: Vec<usize> = (0..bits).filter(|&r| differ[r] == similar).collect();
        wrong.sort_by(|&r, &q| v[q].abs().max(u[q].abs()).total_cmp(&v[r].abs().max(u[r].abs())));
        wrong.truncate(loss.ceil() as usize);
        let f = |t: f64| 2.0 / (1.0 + (-t).exp()) - 1.0;
        let derivative = |t: f64| (1.0 - f(t) * f(t)) / 2.0;
        let inner: f64 = (0..bits).map(|r| f(v[r]) * f(u[r])).sum::<f64>() - k * s;
        let old = w.to_vec();
        let dim = x[0].len();
        for r in 0..bits {
            for i in 0..dim {
                let mut step = 0.0;
                if wrong.contains(&r) {
                    let toward_j = f(u[r]) * derivative(v[r]) * f64::from(x[0][i]);
                    let toward_i = f(v[r]) * derivative(u[r]) * f64::from(x[1][i]);
                    step += params.rate * 2.0 * inner * (toward_j + toward_i);
                }
                for q in 0..bits {
                    let gram: f64 = (0..dim).map(|i| old[i * bits + q] * old[i * bits + r]).sum();
                    let excess = gram - if q == r { 1.0 } else { 0.0 };
                    step += params.orthogonality * old[i * bits + q] * excess;
                }
                w[i * bits + r] -= step;
            }
        }
        for r in 0..bits {
            let norm = (0..dim).map(|i| w[i * bits + r].powi(2)).sum::<f64>().sqrt();
            (0..dim).for_each(|i| w[i * bits + r] /= norm);
        }
    }

    #[test]
    fn a_step_in_a_block_equals_the_plain_one() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        for (dim, bits) in [(9, 5), (20, 17)] {
            let params = Params { threshold: 0.8, orthogonality: 0.01, rate: 0.2 };
            let start = Start { dim, bits, seed: 3, unit: true, warmup: 0, init: None };
            let mut learner = AdaptHash::start(&params, start);
            let mut steps = 0;
            for _ in 0..200 {
                let before = learner.block.weights();
                let mut plain: Vec<f64> = before.iter().map(|&w| f64::from(w)).collect();
                let mut x = || -> Vec<f32> {
                    let x: Vec<f32> = (0..dim).map(|_| rng.random_range(-1.0..1.0)).collect();
                    let norm = x.iter().map(|x| x * x).sum::<f32>().sqrt();
                    x.iter().map(|x| x / norm).collect()
                };
                let (xi, xj) = (x(), x());
                let similar = rng.random_bool(0.3);
                steps += usize::from(learner.step(&xi, &xj, similar));
                plain_step(&mut plain, bits, &params, [&xi, &xj], similar);
                for (found, expected) in learner.block.weights().iter().zip(&plain) {
                    assert!((f64::from(*found) - expected).abs() < 2e-5, "{found} {expected}");
                }
            }
            assert!(steps > 100, "{steps} steps: several blocks");
        }
    }
}
