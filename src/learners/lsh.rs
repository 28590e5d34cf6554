//! **LSH**: random projections, after M. Charikar, *Similarity Estimation Techniques from Rounding
//! Algorithms*, STOC 2002. LSH learns nothing, and is the baseline that every other method has to
//! beat.
//!
//! # Memory and cost
//!
//! LSH stores the projection. Learning costs nothing.
//!
//! # Deviations
//!
//! The columns are scaled to unit length, like the initial projection of all other methods. The
//! codes do not depend on this.

use serde::{Deserialize, Serialize};

use super::random::start_projection;
use super::weights::{function_of, take_weights};
use crate::learner::{BuiltIn, Loaded, Start};
use crate::tensors::Tensors;
use crate::{Batch, HashFunction, HashParts, Learner, Result, Step};

/// LSH has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {}

/// Random projections.
#[derive(Clone, Debug)]
pub(crate) struct Lsh {
    dim: usize,
    bits: usize,
    weights: Vec<f32>,
}

impl Learner for Lsh {
    fn learn(&mut self, batch: Batch<'_>) -> Result<Step> {
        batch.features().expect_dim(self.dim)?;
        Ok(Step::default())
    }

    fn hash_function(&self) -> HashFunction {
        function_of(self)
    }
}

impl BuiltIn for Lsh {
    type Params = Params;
    const NAME: &'static str = "lsh";
    const SUPERVISED: bool = false;

    fn check(_: &Params, _: &Start) -> Result<()> {
        Ok(())
    }

    fn start(_: &Params, start: Start) -> Self {
        Lsh { dim: start.dim, bits: start.bits, weights: start_projection(&start) }
    }

    fn hash_parts(&self) -> Result<HashParts> {
        Ok(HashParts::linear(self.dim, self.bits, self.weights.clone()))
    }

    fn save(&self, state: &mut Tensors) {
        state.put("lsh.weights", self.bits, &self.weights);
    }

    fn load(_: &Params, start: Start, state: &mut Tensors) -> Loaded<Self> {
        let Start { dim, bits, .. } = start;
        Ok(Lsh { dim, bits, weights: take_weights(state, "lsh.weights", dim, bits)? })
    }
}
