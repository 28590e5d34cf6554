//! Weights of learners: finite, with a row for each dimension and a column for each bit.

use crate::learner::{BuiltIn, Loaded};
use crate::tensors::Tensors;
use crate::{Error, Features, HashFunction, Result};

/// Returns the current function of a learner, without a model that preprocesses vectors. Panics if
/// a learner that solves for its function runs out of memory.
pub(crate) fn function_of<L: BuiltIn>(learner: &L) -> HashFunction {
    try_function_of(learner).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the current function of a learner, or an error if it runs out of memory.
pub(crate) fn try_function_of<L: BuiltIn>(learner: &L) -> Result<HashFunction> {
    let function = HashFunction::new(learner.hash_parts()?);
    Ok(function.expect("learners check their weights before they keep them"))
}

/// Fails unless `weights` are finite. The caller then discards the batch.
pub(crate) fn check_finite(method: &'static str, weights: &[f32]) -> Result<()> {
    // Branch-free, because this runs after every batch, however small.
    match weights.iter().fold(true, |all, weight| all & weight.is_finite()) {
        true => Ok(()),
        false => Err(Error::NoSolution { method, problem: "the weights grow beyond all bounds" }),
    }
}

/// Reads weights from a saved state. Fails unless they have the right shape and are finite.
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
