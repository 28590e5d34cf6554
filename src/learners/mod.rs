//! The methods, one file per paper, all in the same order: what it is and what it costs, its
//! parameters, its state, the step, and the tests.

pub mod bsodh;

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::tensors::Tensors;
use crate::{Features, HashFunction, HashParts, Learner};

/// A learner of the library's own: it can be saved as arrays, and told what it needs to know.
pub(crate) trait BuiltIn: Learner {
    /// Adds the learner's state to the arrays of a model file.
    fn save(&self, state: &mut Tensors);
}

/// The random start that most methods have: Gaussian, each bit's column of unit length.
pub(crate) fn random_projection(dim: usize, bits: usize, seed: u64) -> Vec<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let weights: Vec<f64> = (0..dim * bits).map(|_| StandardNormal.sample(&mut rng)).collect();
    let mut norms = vec![0.0; bits];
    for row in weights.chunks_exact(bits) {
        norms.iter_mut().zip(row).for_each(|(norm, weight)| *norm += weight * weight);
    }
    norms.iter_mut().for_each(|norm| *norm = f64::sqrt(*norm));
    weights.iter().zip(norms.iter().cycle()).map(|(weight, norm)| (weight / norm) as f32).collect()
}

/// A linear function from weights that are known to fit and to be finite.
pub(crate) fn linear(dim: usize, bits: usize, weights: &[f32]) -> HashFunction {
    HashFunction::new(HashParts::linear(dim, bits, weights.to_vec()))
        .expect("learners check their weights before they keep them")
}

/// Weights from a saved state: of the right shape, and finite.
pub(crate) fn take_weights(
    state: &mut Tensors,
    name: &str,
    dim: usize,
    bits: usize,
) -> Result<Vec<f32>, String> {
    let weights = state.take_rows(name, dim, bits)?;
    Features::new(&weights, bits).map_err(|error| format!("array {name:?}: {error}"))?;
    Ok(weights)
}
