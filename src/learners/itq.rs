//! **ITQ**: Y. Gong, S. Lazebnik, A. Gordo, F. Perronnin, *Iterative Quantization: A Procrustean
//! Approach to Learning Binary Codes for Large-Scale Image Retrieval*, TPAMI 2013. Without labels.
//!
//! ITQ takes the first principal directions `E` of the rows, and rotates them by the matrix `R`
//! that brings the projections nearest to their signs:
//!
//! ```text
//! min over B, R of || B - V R ||^2      V = (X - mean) E,  B of -1 and +1,  R a rotation
//! ```
//!
//! The problem is solved by alternating: `B = sgn(V R)`, then `R` from the singular vectors of
//! `V^T B`. ITQ preserves similarity of the vectors themselves. It is the reference for codes that
//! should capture more than labels.
//!
//! # Memory and cost
//!
//! ITQ stores the projection, which is computed from the stream's first rows (the warm-up) and then
//! fixed: later rows cost nothing to learn.
//!
//! # Deviations
//!
//! * The paper learns from all rows at once; here the first rows represent them.
//! * The principal directions come from subspace iteration, not from a full decomposition.
//! * The paper has at most one bit per dimension. With more bits than dimensions, the directions
//!   are reused with a rotation from another start.
//! * Directions without variance beyond rounding errors are not used. With more bits than
//!   directions, the user gets a warning. With more than three times as many bits, each direction
//!   has one rotated bit; the other bits are seeded Gaussian projections, which represent new rows
//!   better than another rotation.

use serde::{Deserialize, Serialize};

use super::directions::{Directions, Projection};
use super::random::start_projection;
use super::weights::{function_of, take_weights};
use crate::learner::{BuiltIn, Loaded, Start};
use crate::tensors::Tensors;
use crate::{Batch, Error, HashFunction, HashParts, Learner, Result, Step};

/// Largest ratio of bits to directions at which rotations of these directions fill all bits.
/// Measured on digits with few rows. Above this ratio, Gaussian projections find more of the
/// nearest neighbours than another rotation; below it, they find fewer rows of the same label.
const MOST_BITS_PER_DIRECTION: usize = 3;

/// The parameters of ITQ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Number of alternating updates of signs and rotation.
    pub iterations: usize,
}

impl Default for Params {
    fn default() -> Self {
        Params { iterations: 50 }
    }
}

/// The ITQ learner.
#[derive(Clone, Debug)]
pub(crate) struct Itq {
    params: Params,
    start: Start,
    /// Weights and offset; `None` during the warm-up.
    found: Option<(Vec<f32>, Vec<f32>)>,
    /// Number of directions with variance in the warm-up; not saved.
    directions: Option<usize>,
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
        Itq { params: params.clone(), start, found: None, directions: None }
    }

    fn hash_parts(&self) -> Result<HashParts> {
        let Start { dim, bits, .. } = self.start;
        let Some((weights, offset)) = self.found.clone() else {
            return Ok(HashParts::linear(dim, bits, start_projection(&self.start)));
        };
        let parts = HashParts::linear(dim, bits, weights);
        Ok(HashParts { offset: Some(offset), ..parts })
    }

    fn hash_parts_and_directions(&self) -> Result<(HashParts, Option<usize>)> {
        Ok((self.hash_parts()?, self.directions))
    }

    fn warm_up(&mut self, first: Batch<'_>) -> Result<()> {
        let Start { dim, bits, seed, .. } = self.start;
        let mut directions = Directions::of(first.features(), bits).map_err(|no_room| {
            let hint = "warm up with fewer rows: the warm-up is held in double precision";
            no_room.error(format!("itq on {dim} dimensions"), hint)
        })?;
        let count = directions.drop_noise(first.features());
        let iterations = self.params.iterations;
        let Projection { weights, offset } = match bits <= MOST_BITS_PER_DIRECTION * count {
            true => directions.rotated(bits, 0.0, iterations, seed),
            false => {
                let fill = start_projection(&self.start);
                directions.rotated_and_filled(count, &fill, bits, iterations, seed)
            }
        };
        if !weights.iter().chain(&offset).all(|value| value.is_finite()) {
            let problem = "the first rows have numbers beyond all bounds";
            return Err(Error::NoSolution { method: Itq::NAME, problem });
        }
        self.found = Some((weights, offset));
        self.directions = Some(count);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Features;
    use crate::learners::random::{Purpose, random};
    use crate::linalg::dot;
    use rand::RngExt;

    const DIM: usize = 40;

    fn rows(count: usize) -> Vec<f32> {
        let mut rng = random(7, Purpose::Signs, 0);
        (0..count * DIM).map(|_| rng.random_range(-1.0..1.0)).collect()
    }

    fn warm(values: &[f32], bits: usize) -> Itq {
        let start = Start { dim: DIM, bits, seed: 1, unit: false, warmup: 3000, init: None };
        let mut itq = Itq::start(&Params::default(), start);
        itq.warm_up(Batch::unlabelled(Features::new(values, DIM).unwrap())).unwrap();
        itq
    }

    /// Returns the length of the part of each weight column that is outside the span of the centred
    /// rows.
    fn outside_span(values: &[f32], itq: &Itq) -> Vec<f64> {
        let count = values.len() / DIM;
        let mut basis: Vec<Vec<f64>> = Vec::new();
        let orthogonal = |mut vector: Vec<f64>, basis: &[Vec<f64>]| {
            for axis in basis.iter().chain(basis) {
                let along = dot(&vector, axis);
                vector.iter_mut().zip(axis).for_each(|(value, axis)| *value -= along * axis);
            }
            vector
        };
        for row in values.chunks_exact(DIM).take(count - 1) {
            let last = &values[(count - 1) * DIM..];
            let difference = row.iter().zip(last).map(|(a, b)| f64::from(a - b)).collect();
            let left = orthogonal(difference, &basis);
            let length = dot(&left, &left).sqrt();
            basis.push(left.into_iter().map(|value| value / length).collect());
        }
        let (weights, _) = itq.found.as_ref().unwrap();
        let bits = itq.start.bits;
        let column = |bit| weights.iter().skip(bit).step_by(bits).map(|&w| f64::from(w)).collect();
        let left = (0..bits).map(|bit| {
            let column: Vec<f64> = column(bit);
            let length = dot(&column, &column).sqrt();
            let left = orthogonal(column, &basis);
            dot(&left, &left).sqrt() / length
        });
        left.collect()
    }

    #[test]
    fn bits_do_not_depend_on_directions_without_variance() {
        // Twelve rows have eleven directions; further directions are determined by rounding errors.
        let values = rows(12);
        for (repeats, bits) in [(1, 12), (7, 12), (5, 33)] {
            let itq = warm(&values.repeat(repeats), bits);
            assert_eq!(itq.directions, Some(11));
            let outside = outside_span(&values, &itq);
            assert!(outside.iter().all(|&left| left < 1e-5), "{bits} bits: {outside:?}");
        }
        // Constant rows have no directions.
        let constant = warm(&rows(1).repeat(5), 12);
        assert_eq!(constant.directions, Some(0));
        let (weights, _) = constant.found.unwrap();
        assert_eq!(weights, start_projection(&constant.start));
    }

    #[test]
    fn many_bits_of_few_directions_are_filled_from_the_seed() {
        let values = rows(12);
        let itq = warm(&values, 64);
        assert_eq!(itq.directions, Some(11));
        let outside = outside_span(&values, &itq);
        assert!(outside[..11].iter().all(|&left| left < 1e-5), "{outside:?}");
        let (weights, start) = (itq.found.unwrap().0, start_projection(&itq.start));
        let scale = weights[63] / start[63];
        for (row, first) in weights.chunks_exact(64).zip(start.chunks_exact(64)) {
            for (weight, first) in row[11..].iter().zip(&first[11..]) {
                assert!((weight - scale * first).abs() < 1e-5 * scale, "{weight} {first} {scale}");
            }
        }
    }
}
