//! **ITQ**: Y. Gong, S. Lazebnik, A. Gordo, F. Perronnin, *Iterative Quantization: A Procrustean
//! Approach to Learning Binary Codes for Large-Scale Image Retrieval*, TPAMI 2013. Without labels.
//!
//! The first principal directions `E` of the rows, turned by the rotation `R` whose signs lie nearest:
//!
//! ```text
//! min over B, R of || B - V R ||^2      V = (X - mean) E,  B of -1 and +1,  R a rotation
//! ```
//!
//! solved by turns: `B = sgn(V R)`, then `R` from the singular vectors of `V^T B`. It keeps what is near
//! by the vectors themselves: the reference for codes that should find more than labels.
//!
//! # What is kept, and what it costs
//!
//! The projection. It is found from the stream's first rows (the warm-up) and stays: learning costs
//! nothing after them.
//!
//! # Deviations
//!
//! * The paper learns from all rows at once; the first rows stand for them here.
//! * The principal directions come from subspace iteration, not from a full decomposition.
//! * Beyond as many bits as dimensions, the directions are turned again, from another start.

use serde::{Deserialize, Serialize};

use super::directions::{Directions, Projection};
use super::random::start_projection;
use super::weights::{function_of, take_weights};
use crate::learner::{BuiltIn, Loaded, Start};
use crate::tensors::Tensors;
use crate::{Batch, Error, HashFunction, HashParts, Learner, Result, Step};

/// The parameters of ITQ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How many times signs and rotation are improved in turn.
    pub iterations: usize,
}

impl Default for Params {
    fn default() -> Self {
        Params { iterations: 50 }
    }
}

/// ITQ at work.
#[derive(Clone, Debug)]
pub(crate) struct Itq {
    params: Params,
    start: Start,
    /// What there is once the warm-up is over: weights and offset.
    found: Option<(Vec<f32>, Vec<f32>)>,
}

impl Learner for Itq {
    fn learn(&mut self, batch: Batch<'_>) -> Result<Step> {
        batch.features().expect_dim(self.start.dim)?;
        if self.found.is_none() { Err(Error::NotWarm) } else { Ok(Step::default()) }
    }

    fn hash_function(&self) -> HashFunction {
        function_of(self)
    }
}

impl BuiltIn for Itq {
    type Params = Params;
    const NAME: &'static str = "itq";
    const SUPERVISED: bool = false;
    const WARMS_UP: bool = true;

    fn warmup(_: &Params) -> usize {
        3000
    }

    fn check(params: &Params, start: &Start) -> Result<()> {
        if params.iterations > 10_000 {
            return Err(Error::parameter("iterations", "at most 10000", params.iterations));
        }
        if start.init.is_some() {
            let expected = "left out (itq finds its projection, and starts from none)";
            return Err(Error::parameter("init", expected, "given"));
        }
        Ok(())
    }

    fn start(params: &Params, start: Start) -> Self {
        Itq { params: params.clone(), start, found: None }
    }

    fn hash_parts(&self) -> Result<HashParts> {
        let Start { dim, bits, .. } = self.start;
        let Some((weights, offset)) = self.found.clone() else {
            return Ok(HashParts::linear(dim, bits, start_projection(&self.start)));
        };
        let parts = HashParts::linear(dim, bits, weights);
        Ok(HashParts { offset: Some(offset), ..parts })
    }

    fn warm_up(&mut self, first: Batch<'_>) -> Result<()> {
        let Start { dim, bits, seed, .. } = self.start;
        let directions = Directions::of(first.features(), bits).map_err(|no_room| {
            let hint = "warm up with fewer rows: the warm-up is held in double precision";
            no_room.error(format!("itq on {dim} dimensions"), hint)
        })?;
        let Projection { weights, offset } =
            directions.rotated(bits, 0.0, self.params.iterations, seed);
        if !weights.iter().chain(&offset).all(|value| value.is_finite()) {
            let problem = "the first rows have numbers beyond all bounds";
            return Err(Error::NoSolution { method: Itq::NAME, problem });
        }
        self.found = Some((weights, offset));
        Ok(())
    }

    fn is_warm(&self) -> bool {
        self.found.is_some()
    }

    fn save(&self, state: &mut Tensors) {
        let Some((weights, offset)) = &self.found else { return };
        state.put("itq.weights", self.start.bits, weights);
        state.put("itq.offset", self.start.bits, offset);
    }

    fn load(params: &Params, start: Start, state: &mut Tensors) -> Loaded<Self> {
        let Start { dim, bits, .. } = start;
        let mut itq = Itq::start(params, start);
        if state.contains("itq.weights") {
            let weights = take_weights(state, "itq.weights", dim, bits)?;
            itq.found = Some((weights, take_weights(state, "itq.offset", 1, bits)?));
        }
        Ok(itq)
    }
}
