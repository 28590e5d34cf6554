//! Weights as learners keep them: finite, a row for each dimension and a column for each bit.

use crate::learner::Loaded;
use crate::tensors::Tensors;
use crate::{Error, Features, HashFunction, HashParts, Result};

/// A linear function from weights that are known to fit and to be finite.
pub(crate) fn linear(dim: usize, bits: usize, weights: &[f32]) -> HashFunction {
    HashFunction::new(HashParts::linear(dim, bits, weights.to_vec()))
        .expect("learners check their weights before they keep them")
}

/// Keeps `new` weights if they are finite; otherwise the batch is to be forgotten.
pub(crate) fn check_finite(method: &'static str, weights: &[f32]) -> Result<()> {
    // Branch-free, since this comes after every batch, however small.
    match weights.iter().fold(true, |all, weight| all & weight.is_finite()) {
        true => Ok(()),
        false => Err(Error::NoSolution { method, problem: "the weights grow beyond all bounds" }),
    }
}

/// Weights from a saved state: of the right shape, and finite.
pub(crate) fn take_weights(
    state: &mut Tensors,
    name: &str,
    dim: usize,
    bits: usize,
) -> Loaded<Vec<f32>> {
    let weights = state.take_rows(name, dim, bits)?;
    Features::new(&weights, bits).map_err(|error| format!("array {name:?}: {error}"))?;
    Ok(weights)
}
