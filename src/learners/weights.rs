//! Weights as learners keep them: finite, a row for each dimension and a column for each bit.

use crate::learner::{BuiltIn, Loaded};
use crate::tensors::Tensors;
use crate::{Error, Features, HashFunction, Result};

/// The function of a learner as it stands, without a model that prepares vectors for it. Panics where it
/// solves for its function and has not the memory.
pub(crate) fn function_of<L: BuiltIn>(learner: &L) -> HashFunction {
    try_function_of(learner).unwrap_or_else(|error| panic!("{error}"))
}

/// [`function_of`] a learner that may not have the memory for it.
pub(crate) fn try_function_of<L: BuiltIn>(learner: &L) -> Result<HashFunction> {
    let function = HashFunction::new(learner.hash_parts()?);
    Ok(function.expect("learners check their weights before they keep them"))
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
