//! **SketchHash**: C. Leng, J. Wu, J. Cheng, X. Bai, H. Lu, *Online Sketching Hashing*, CVPR 2015.
//! Without labels.
//!
//! SketchHash computes principal components of the whole stream from a sketch of fixed size. The
//! sketch is a matrix `B` of few rows with `B^T B` near the scatter matrix of all rows seen
//! (frequent directions). The bits are the first directions of `B`, rotated randomly.
//!
//! # Memory and cost
//!
//! SketchHash stores the sketch (sketch x dim), the mean, and the rows of an incomplete mini-batch.
//! Every sketch / 2 rows, the sketch is shrunk using its Gram matrix: O(sketch^2 dim + sketch^3).
//! The projection is computed when a function is requested.
//!
//! # Deviations
//!
//! * If the sketch has fewer directions than the function has bits, columns of the random initial
//!   projection replace the missing directions, and the user gets a warning. These columns depend
//!   on the seed alone.
//! * The method forms its own mini-batches (`batch`), so the result does not depend on how the
//!   stream was split.
//! * The program in common use forgets sketch and mean after every mini-batch. It therefore finds
//!   the components of the last mini-batch, not centred: `state = lost`.

use serde::{Deserialize, Serialize};

use super::random::{Purpose, random, start_projection};
use super::sketch::{Centring, check_sketch, no_sketch, parts, shrink};
use super::state::State;
use super::weights::{function_of, take_weights, try_function_of};
use crate::learner::{BuiltIn, Loaded, Start};
use crate::tensors::Tensors;
use crate::{Batch, Error, HashFunction, HashParts, Learner, Result, Step};

/// The parameters of SketchHash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Number of rows of the sketch; even, and at least the number of bits.
    pub sketch: usize,
    /// Number of rows that are centred and sketched together.
    pub batch: usize,
    /// State between mini-batches: the sketch is kept, or lost as in the released program.
    pub state: State,
}

impl Default for Params {
    fn default() -> Self {
        Params { sketch: 200, batch: 50, state: State::Kept }
    }
}

/// The SketchHash learner.
#[derive(Clone, Debug)]
pub(crate) struct SketchHash {
    params: Params,
    dim: usize,
    bits: usize,
    seed: u64,
    /// The random initial projection, which supplies columns if the sketch has too few directions.
    first: Vec<f32>,
    centring: Centring,
    /// The rows of the sketch that are in use.
    sketch: Vec<f64>,
    batches: u64,
}

impl SketchHash {
    fn insert(sketch: &mut Vec<f64>, rows: &[f64], params: &Params, dim: usize) -> Result<()> {
        for row in rows.chunks_exact(dim) {
            sketch.extend_from_slice(row);
            if sketch.len() == params.sketch * dim {
                *sketch = shrink(sketch, dim, SketchHash::NAME)?;
            }
        }
        Ok(())
    }
}

impl Learner for SketchHash {
    fn learn(&mut self, batch: Batch<'_>) -> Result<Step> {
        batch.features().expect_dim(self.dim)?;
        let mut centring = self.centring.clone();
        let lost = self.params.state == State::Lost;
        let complete = centring.push(batch.features(), lost);
        if !complete.is_empty() {
            let mut sketch = self.sketch.clone();
            for rows in &complete {
                match lost {
                    true => sketch.clone_from(rows),
                    false => SketchHash::insert(&mut sketch, rows, &self.params, self.dim)?,
                }
                if !sketch.iter().all(|value| value.is_finite()) {
                    return Err(no_sketch(SketchHash::NAME));
                }
            }
            self.sketch = sketch;
            self.batches += complete.len() as u64;
        }
        self.centring = centring;
        Ok(Step { function_changed: !complete.is_empty(), ..Step::default() })
    }

    fn hash_function(&self) -> HashFunction {
        function_of(self)
    }

    fn try_hash_function(&self) -> Result<HashFunction> {
        try_function_of(self)
    }
}

impl BuiltIn for SketchHash {
    type Params = Params;
    const NAME: &'static str = "sketchhash";
    const SUPERVISED: bool = false;

    fn check(params: &Params, start: &Start) -> Result<()> {
        let bits = start.bits;
        check_sketch(params.sketch, params.batch, bits, start.dim)?;
        if params.state == State::Lost && params.batch <= bits {
            let expected = format!("more than the {bits} bits when nothing else is remembered");
            return Err(Error::parameter("batch", expected, params.batch));
        }
        Ok(())
    }

    fn start(params: &Params, start: Start) -> Self {
        let Start { dim, bits, seed, .. } = start;
        SketchHash {
            params: params.clone(),
            dim,
            bits,
            seed,
            first: start_projection(&start),
            centring: Centring::new(dim, params.batch),
            sketch: Vec::new(),
            batches: 0,
        }
    }

    fn hash_parts(&self) -> Result<HashParts> {
        self.hash_parts_and_directions().map(|(parts, _)| parts)
    }

    fn hash_parts_and_directions(&self) -> Result<(HashParts, Option<usize>)> {
        let mut rng = random(self.seed, Purpose::Rotation, self.batches);
        let (mean, first) = (self.centring.mean(), &self.first);
        parts(SketchHash::NAME, &self.sketch, mean, first, &mut rng)
    }

    fn save(&self, state: &mut Tensors) {
        state.put("sketchhash.first", self.bits, &self.first);
        state.put("sketchhash.sketch", self.dim, &self.sketch);
        state.put("sketchhash.batches", 1, &[self.batches]);
        self.centring.save("sketchhash.centring", state);
    }

    fn load(params: &Params, start: Start, state: &mut Tensors) -> Loaded<Self> {
        let Start { dim, bits, seed, .. } = start;
        let sketch: Vec<f64> = state.take("sketchhash.sketch", dim)?;
        let room = params.sketch.max(params.batch) + 1;
        if sketch.len() / dim > room || !sketch.iter().all(|value| value.is_finite()) {
            return Err("array \"sketchhash.sketch\" makes no sense".to_owned());
        }
        Ok(SketchHash {
            params: params.clone(),
            dim,
            bits,
            seed,
            first: take_weights(state, "sketchhash.first", dim, bits)?,
            centring: Centring::load("sketchhash.centring", dim, params.batch, state)?,
            sketch,
            batches: state.take_rows("sketchhash.batches", 1, 1)?[0],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::sketch::tests::{covariance_error, random_rows};

    /// Checks `0 <= A^T A - B^T B <= 2 ||A||^2 / sketch` for any rows.
    #[test]
    fn the_sketch_keeps_within_the_bound_of_frequent_directions() {
        for (seed, (dim, sketch, count)) in
            [(10, 4, 100), (24, 16, 300), (30, 20, 19), (5, 12, 200), (40, 8, 500)]
                .into_iter()
                .enumerate()
        {
            let params = Params { sketch, ..Params::default() };
            let rows = random_rows(count, dim, seed as u64);
            let mut kept = Vec::new();
            for row in &rows {
                SketchHash::insert(&mut kept, row, &params, dim).unwrap();
                assert!(kept.len() < sketch * dim);
            }
            let (error, total) = covariance_error(&rows, &kept, dim);
            assert!(error <= 2.0 * total / sketch as f64 * (1.0 + 1e-9), "{dim} {sketch} {count}");
            if count < sketch || dim <= sketch / 2 {
                assert!(error < 1e-9 * total, "with room for everything nothing is lost: {error}");
            }
        }
    }
}
