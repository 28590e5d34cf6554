//! **OKH**: L.-K. Huang, Q. Yang, W.-S. Zheng, *Online Hashing*, IJCAI 2013 (journal version TNNLS
//! 2017).
//!
//! Vectors are lifted by their RBF similarity to anchors. The stream is processed in pairs. If the
//! codes of a pair are too far apart or too near (by `R` bits), a passive-aggressive step moves the
//! pair to the nearest correct pair of codes:
//!
//! ```text
//! W += tau (z_i (g_i - h_i)^T + z_j (g_j - h_j)^T),   tau = min(C, loss / ||.||^2)
//! ```
//!
//! where `h` are the current codes and `g` the desired codes. For `g`, the `R` wrong bits that are
//! cheapest to flip are flipped, each in the point whose projection is smaller.
//!
//! # Memory and cost
//!
//! OKH stores the anchors, and a projection of anchors + 1 (a constant) x bits. A pair costs O(dim
//! x anchors) for the lift, O(anchors x bits) for its codes, and O(anchors) per flipped bit.
//!
//! # Deviations
//!
//! * Anchors are drawn from the first half of the warm-up, and the bandwidth comes from its second
//!   half; the published protocol draws both from all data beforehand.
//! * The bandwidth is that of the program in common use: `exp(-d^2 / (2 s^2))` with `s` the mean
//!   *squared* distance. This bandwidth makes all similarities nearly equal.
//! * The step follows the paper's description; its authors released no readable program. The paper
//!   does not specify how the two thresholds follow from its single parameter, so here they are two
//!   parameters.

use serde::{Deserialize, Serialize};

use super::checks::{check_positive, check_share};
use super::pairs::Pairs;
use super::random::random_projection;
use super::rbf;
use super::weights::{check_finite, function_of, take_weights};
use crate::hash::Lifter;
use crate::kernel::squared_norm;
use crate::learner::{BuiltIn, Loaded, Start};
use crate::tensors::Tensors;
use crate::{Batch, Error, Features, HashFunction, HashParts, Learner, Result, Step};

/// The parameters of OKH.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Number of anchors of the lift; at most half of the warm-up.
    pub anchors: usize,
    /// Share of the bits in which similar pairs may differ.
    pub similar_within: f64,
    /// Share of the bits in which dissimilar pairs should differ.
    pub dissimilar_beyond: f64,
    /// Largest step size: C. Above 0.
    pub aggressiveness: f64,
}

impl Default for Params {
    fn default() -> Self {
        Params { anchors: 300, similar_within: 0.0, dissimilar_beyond: 0.7, aggressiveness: 1e-4 }
    }
}

/// The OKH learner.
#[derive(Clone, Debug)]
pub(crate) struct Okh {
    params: Params,
    dim: usize,
    bits: usize,
    seed: u64,
    lifted: Option<Lifted>,
    pairs: Pairs,
}

/// State after the anchors are chosen.
#[derive(Clone, Debug, PartialEq)]
struct Lifted {
    lift: Lifter,
    /// Anchors + 1 rows of bits; the last row belongs to the constant.
    weights: Vec<f32>,
}

impl Okh {
    /// Updates the weights for one pair of lifted points.
    fn step(params: &Params, weights: &mut [f32], bits: usize, z: [&[f32]; 2], similar: bool) {
        let [v, u] = z.map(|z| {
            let mut out = weights[weights.len() - bits..].to_vec();
            for (weights, value) in weights.chunks_exact(bits).zip(z) {
                out.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += value * weight);
            }
            out
        });
        let differ = |r: usize| (v[r] > 0.0) != (u[r] > 0.0);
        let distance = (0..bits).filter(|&r| differ(r)).count() as f64;
        let excess = match similar {
            true => distance - params.similar_within * bits as f64,
            false => params.dissimilar_beyond * bits as f64 - distance,
        };
        if excess <= 0.0 {
            return;
        }
        let mut wrong: Vec<usize> = (0..bits).filter(|&r| differ(r) == similar).collect();
        let price = |r: usize| v[r].abs().min(u[r].abs());
        wrong.sort_by(|&r, &q| price(r).total_cmp(&price(q)));
        wrong.truncate(excess.ceil() as usize);

        // Each flip is in only one of the two points, so the norm of the step is a sum.
        let flips_first = |r: usize| v[r].abs() < u[r].abs();
        let loss = 2.0 * wrong.iter().map(|&r| f64::from(price(r))).sum::<f64>() + excess.sqrt();
        let norms = z.map(|z| squared_norm(z) + 1.0);
        let norm: f64 =
            wrong.iter().map(|&r| 4.0 * norms[if flips_first(r) { 0 } else { 1 }]).sum();
        let tau = params.aggressiveness.min(loss / norm);
        for r in wrong {
            let (z, projection) = if flips_first(r) { (z[0], v[r]) } else { (z[1], u[r]) };
            // From the sign of the projection to the opposite sign.
            let change = (if projection > 0.0 { -2.0 } else { 2.0 } * tau) as f32;
            let column = weights.iter_mut().skip(r).step_by(bits);
            column
                .zip(z.iter().chain(&[1.0]))
                .for_each(|(weight, value)| *weight += change * value);
        }
    }
}

impl Learner for Okh {
    fn learn(&mut self, batch: Batch<'_>) -> Result<Step> {
        batch.features().expect_dim(self.dim)?;
        let labels = batch.require_labels(Okh::NAME)?;
        let Some(lifted) = &mut self.lifted else {
            return Err(Error::NoSolution {
                method: Okh::NAME,
                problem: "there are no anchors yet",
            });
        };
        let points = lifted.lift.lift_rows(batch.features().values());
        let points = Features::new(&points, lifted.lift.width())?;
        let (mut weights, mut pairs) = (lifted.weights.clone(), self.pairs.clone());
        pairs.take(points, labels, |zi, zj, similar| {
            Okh::step(&self.params, &mut weights, self.bits, [zi, zj], similar);
        });
        check_finite(Okh::NAME, &weights)?;
        let function_changed = weights != lifted.weights;
        (lifted.weights, self.pairs) = (weights, pairs);
        Ok(Step { function_changed, ..Step::default() })
    }

    fn hash_function(&self) -> HashFunction {
        function_of(self)
    }
}

impl BuiltIn for Okh {
    type Params = Params;
    const NAME: &'static str = "okh";
    const SUPERVISED: bool = true;
    const WARMS_UP: bool = true;

    fn check(params: &Params, start: &Start) -> Result<()> {
        rbf::check_anchors(params.anchors, start.warmup)?;
        if start.init.is_some() {
            let expected =
                "left out: okh projects similarities to anchors, which are not known yet";
            return Err(Error::parameter("init", expected, "given"));
        }
        check_share("similar_within", params.similar_within)?;
        check_share("dissimilar_beyond", params.dissimilar_beyond)?;
        check_positive("aggressiveness", params.aggressiveness)
    }

    fn start(params: &Params, start: Start) -> Self {
        let Start { dim, bits, seed, .. } = start;
        let pairs = Pairs::default();
        Okh { params: params.clone(), dim, bits, seed, lifted: None, pairs }
    }

    fn hash_parts(&self) -> Result<HashParts> {
        let Some(lifted) = &self.lifted else {
            let random = random_projection(self.dim, self.bits, self.seed);
            return Ok(HashParts::linear(self.dim, self.bits, random));
        };
        let (weights, offset) = lifted.weights.split_at(lifted.weights.len() - self.bits);
        Ok(HashParts {
            lift: lifted.lift.lift().clone(),
            offset: Some(offset.to_vec()),
            ..HashParts::linear(self.dim, self.bits, weights.to_vec())
        })
    }

    fn warm_up(&mut self, first: Batch<'_>) -> Result<()> {
        // The bandwidth is the mean squared distance itself.
        let gamma = |mean: f64| 1.0 / (2.0 * mean * mean);
        let lift = rbf::from_first(first.features(), self.params.anchors, self.seed, gamma)?;
        let weights = random_projection(lift.width() + 1, self.bits, self.seed);
        self.lifted = Some(Lifted { lift, weights });
        Ok(())
    }

    fn save(&self, state: &mut Tensors) {
        if let Some(lifted) = &self.lifted {
            lifted.lift.save(Okh::NAME, state);
            state.put("okh.weights", self.bits, &lifted.weights);
            self.pairs.save("okh.waiting", lifted.lift.width(), state);
        }
    }

    fn load(params: &Params, start: Start, state: &mut Tensors) -> Loaded<Self> {
        let Start { dim, bits, seed, .. } = start;
        let (mut lifted, mut pairs) = (None, Pairs::default());
        if let Some(lift) = Lifter::load(Okh::NAME, dim, state)? {
            let weights = take_weights(state, "okh.weights", lift.width() + 1, bits)?;
            pairs = Pairs::load("okh.waiting", lift.width(), state)?;
            lifted = Some(Lifted { lift, weights });
        }
        Ok(Okh { params: params.clone(), dim, bits, seed, lifted, pairs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    /// After a step without a limit, the pair has its target codes or is nearer to them. The
    /// whole-matrix form of the step gives the same weights.
    #[test]
    fn a_step_equals_its_matrix_form() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let (anchors, bits) = (6, 11);
        for round in 0..300 {
            let params = Params {
                aggressiveness: if round % 2 == 0 { 1e-2 } else { 1e9 },
                ..Params::default()
            };
            let mut weights = random_projection(anchors + 1, bits, round);
            let mut z = || (0..anchors).map(|_| rng.random_range(0.0..1.0)).collect::<Vec<f32>>();
            let (zi, zj) = (z(), z());
            let similar = rng.random_bool(0.5);

            // W in double precision, points with their constant, codes h and g computed by
            // definition.
            let full =
                |z: &[f32]| -> Vec<f64> { z.iter().map(|&z| f64::from(z)).chain([1.0]).collect() };
            let points = [full(&zi), full(&zj)];
            let w: Vec<f64> = weights.iter().map(|&w| f64::from(w)).collect();
            let project = |z: &[f64]| -> Vec<f64> {
                (0..bits)
                    .map(|r| z.iter().enumerate().map(|(i, z)| z * w[i * bits + r]).sum())
                    .collect()
            };
            let p = [project(&points[0]), project(&points[1])];
            let sign = |t: f64| if t > 0.0 { 1.0 } else { -1.0 };
            let h: Vec<Vec<f64>> = p.iter().map(|p| p.iter().map(|&t| sign(t)).collect()).collect();
            let mut g = h.clone();
            let distance = (0..bits).filter(|&r| h[0][r] != h[1][r]).count() as f64;
            let excess = if similar { distance } else { 0.7 * bits as f64 - distance }.max(0.0);
            let mut candidates: Vec<usize> =
                (0..bits).filter(|&r| (h[0][r] != h[1][r]) == similar).collect();
            let delta = |r: usize| p[0][r].abs().min(p[1][r].abs());
            candidates.sort_by(|&a, &b| delta(a).total_cmp(&delta(b)));
            for &r in candidates.iter().take(excess.ceil() as usize) {
                let side = if p[0][r].abs() < p[1][r].abs() { 0 } else { 1 };
                g[side][r] = -h[side][r];
            }
            let mut expected = w.clone();
            if excess > 0.0 {
                let mut loss = excess.sqrt();
                let mut step = vec![0.0; w.len()];
                for side in 0..2 {
                    for r in 0..bits {
                        loss += (h[side][r] - g[side][r]) * p[side][r];
                        for (i, z) in points[side].iter().enumerate() {
                            step[i * bits + r] += z * (g[side][r] - h[side][r]);
                        }
                    }
                }
                let norm: f64 = step.iter().map(|s| s * s).sum();
                let tau = params.aggressiveness.min(loss / norm);
                expected.iter_mut().zip(&step).for_each(|(w, s)| *w += tau * s);
            }
            Okh::step(&params, &mut weights, bits, [&zi, &zj], similar);
            for (found, expected) in weights.iter().zip(&expected) {
                assert!((f64::from(*found) - expected).abs() < 1e-5 * expected.abs().max(1.0));
            }
        }
    }
}
