//! **FROSH**: X. Chen, I. King, M. R. Lyu, *FROSH: FasteR Online Sketching Hashing*, UAI 2017.
//! Without labels.
//!
//! FROSH is [SketchHash](super::sketchhash) with a cheaper update of the sketch. A buffer `F` of
//! `m` rows is first reduced to `q = sketch / 2` rows by a random Hadamard transform,
//! `Y = S H D F / sqrt(q)`. `D` are random signs, `H` is the Hadamard matrix, and `S` a random
//! choice of `q` rows; `D` and `S` are redrawn for every buffer. The sketch is therefore shrunk
//! only once per `m` rows.
//!
//! # Memory and cost
//!
//! FROSH stores the sketch, the partial sums of `Y`, and a block of `c <= q` rows: O(sketch x dim),
//! since the buffer itself is never stored. `H` of order `m` consists of blocks, each plus or
//! minus the Hadamard matrix of order `c`. A block of rows is therefore transformed separately and
//! added to each row of `Y` with a sign. `m` rows cost O(m dim (log c + q / c)) and one shrink.
//!
//! # Deviations
//!
//! The authors released no program. We chose the buffer size, a power of two not below the
//! dimension, and we pad an incomplete buffer with zeros when a function is requested.

use rand::seq::index::sample;
use rand::{RngExt, rngs::ChaCha8Rng};
use serde::{Deserialize, Serialize};

use super::random::{Purpose, random, start_projection};
use super::sketch::{Centring, MAX_ROWS, check_sketch, no_sketch, parts, shrink};
use super::weights::{function_of, take_weights, try_function_of};
use crate::learner::{BuiltIn, Loaded, Start};
use crate::tensors::Tensors;
use crate::{Batch, Error, HashFunction, HashParts, Learner, Result, Step};

/// The parameters of FROSH.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Number of rows of the sketch; even, and at least the number of bits.
    pub sketch: usize,
    /// Number of rows that are mixed together: a power of two. 0 selects the first power that is
    /// not below the dimension and half of the sketch (65,536 at most).
    pub buffer: usize,
    /// Number of rows that are centred together.
    pub batch: usize,
}

impl Default for Params {
    fn default() -> Self {
        Params { sketch: 200, buffer: 0, batch: 50 }
    }
}

/// The FROSH learner.
#[derive(Clone, Debug)]
pub(crate) struct Frosh {
    dim: usize,
    bits: usize,
    seed: u64,
    /// The random initial projection, which supplies columns if the sketch has too few directions.
    first: Vec<f32>,
    centring: Centring,
    sketch: FastSketch,
}

/// Frequent directions after a Hadamard transform.
#[derive(Clone, Debug)]
struct FastSketch {
    dim: usize,
    seed: u64,
    /// Numbers of rows of a buffer, and of a block.
    buffer: usize,
    block_rows: usize,
    /// The first half of the sketch; empty before the first buffer is full.
    rows: Vec<f64>,
    /// Number of full buffers so far, and number of rows in the current one.
    buffers: u64,
    taken: usize,
    mix: Mix,
    /// The incomplete block, with signs applied.
    block: Vec<f64>,
    /// The rows of `Y`, before scaling.
    sums: Vec<f64>,
}

/// Random choices for the transform of one buffer.
#[derive(Clone, Debug)]
struct Mix {
    signs: Vec<f64>,
    chosen: Vec<usize>,
}

impl Mix {
    fn new(rng: &mut ChaCha8Rng, buffer: usize, half: usize) -> Self {
        let signs = (0..buffer).map(|_| if rng.random_bool(0.5) { 1.0 } else { -1.0 }).collect();
        Mix { signs, chosen: sample(rng, buffer, half).into_vec() }
    }
}

impl FastSketch {
    fn new(dim: usize, seed: u64, sketch: usize, buffer: usize) -> Self {
        let half = sketch / 2;
        let mix = Mix::new(&mut random(seed, Purpose::Signs, 0), buffer, half);
        // The largest power of two that is not above half of the sketch.
        let block_rows = (half / 2 + 1).next_power_of_two().min(buffer);
        let (rows, block) = (Vec::new(), Vec::new());
        let sums = vec![0.0; half * dim];
        FastSketch { dim, seed, buffer, block_rows, rows, buffers: 0, taken: 0, mix, block, sums }
    }

    fn half(&self) -> usize {
        self.mix.chosen.len()
    }

    fn insert(&mut self, row: &[f64]) -> Result<()> {
        let sign = self.mix.signs[self.taken];
        self.block.extend(row.iter().map(|value| sign * value));
        self.taken += 1;
        if self.block.len() == self.block_rows * self.dim {
            let block = std::mem::take(&mut self.block);
            let number = self.taken / self.block_rows - 1;
            add_block(block, number, self.dim, &self.mix.chosen, &mut self.sums);
        }
        if self.taken == self.buffer {
            let full = self.with_mixed_rows();
            self.rows = match full.len() > self.sums.len() {
                true => shrink(&full, self.dim, Frosh::NAME)?,
                false => full,
            };
            self.buffers += 1;
            self.taken = 0;
            self.sums.fill(0.0);
            let mut rng = random(self.seed, Purpose::Signs, self.buffers);
            self.mix = Mix::new(&mut rng, self.buffer, self.half());
        }
        Ok(())
    }

    /// Returns the sketch with the mixed rows of the incomplete buffer, padded with zeros.
    fn with_mixed_rows(&self) -> Vec<f64> {
        let mut all = self.rows.clone();
        if self.taken > 0 {
            let mut sums = self.sums.clone();
            if !self.block.is_empty() {
                let mut block = self.block.clone();
                block.resize(self.block_rows * self.dim, 0.0);
                let number = (self.taken - 1) / self.block_rows;
                add_block(block, number, self.dim, &self.mix.chosen, &mut sums);
            }
            let scale = 1.0 / (self.half() as f64).sqrt();
            all.extend(sums.iter().map(|sum| scale * sum));
        }
        all
    }
}

/// Transforms a block of rows and adds its part to each chosen row.
fn add_block(mut block: Vec<f64>, number: usize, dim: usize, chosen: &[usize], sums: &mut [f64]) {
    let rows = block.len() / dim;
    hadamard(&mut block, dim);
    for (sum, &row) in sums.chunks_exact_mut(dim).zip(chosen) {
        let sign = hadamard_sign(row / rows, number);
        let from = &block[row % rows * dim..][..dim];
        sum.iter_mut().zip(from).for_each(|(sum, value)| *sum += sign * value);
    }
}

/// Applies the fast Walsh-Hadamard transform over the rows, whose number is a power of two.
fn hadamard(rows: &mut [f64], dim: usize) {
    let mut width = dim;
    while width < rows.len() {
        for pair in rows.chunks_exact_mut(2 * width) {
            let (upper, lower) = pair.split_at_mut(width);
            for (upper, lower) in upper.iter_mut().zip(lower) {
                (*upper, *lower) = (*upper + *lower, *upper - *lower);
            }
        }
        width *= 2;
    }
}

/// Returns an entry of the Hadamard matrix.
fn hadamard_sign(row: usize, column: usize) -> f64 {
    if (row & column).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 }
}

impl Learner for Frosh {
    fn learn(&mut self, batch: Batch<'_>) -> Result<Step> {
        batch.features().expect_dim(self.dim)?;
        let mut centring = self.centring.clone();
        let complete = centring.push(batch.features(), false).concat();
        if !complete.is_empty() {
            let mut sketch = self.sketch.clone();
            complete.chunks_exact(self.dim).try_for_each(|row| sketch.insert(row))?;
            if !sketch.with_mixed_rows().iter().all(|value| value.is_finite()) {
                return Err(no_sketch(Frosh::NAME));
            }
            self.sketch = sketch;
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

/// Returns the buffer size that the parameters specify.
fn buffer_size(params: &Params, dim: usize) -> usize {
    match params.buffer {
        0 => dim.max(params.sketch / 2).next_power_of_two().min(MAX_ROWS),
        chosen => chosen,
    }
}

impl BuiltIn for Frosh {
    type Params = Params;
    const NAME: &'static str = "frosh";
    const SUPERVISED: bool = false;

    fn check(params: &Params, start: &Start) -> Result<()> {
        check_sketch(params.sketch, params.batch, start.bits, start.dim)?;
        let half = params.sketch / 2;
        let fits = (half..=MAX_ROWS).contains(&params.buffer) && params.buffer.is_power_of_two();
        if params.buffer == 0 || fits {
            return Ok(());
        }
        let expected =
            format!("0, or a power of two from half of the sketch, {half}, to {MAX_ROWS}");
        Err(Error::parameter("buffer", expected, params.buffer))
    }

    fn start(params: &Params, start: Start) -> Self {
        let Start { dim, bits, seed, .. } = start;
        Frosh {
            dim,
            bits,
            seed,
            first: start_projection(&start),
            centring: Centring::new(dim, params.batch),
            sketch: FastSketch::new(dim, seed, params.sketch, buffer_size(params, dim)),
        }
    }

    fn hash_parts(&self) -> Result<HashParts> {
        self.hash_parts_and_directions().map(|(parts, _)| parts)
    }

    fn hash_parts_and_directions(&self) -> Result<(HashParts, Option<usize>)> {
        let mut rng = random(self.seed, Purpose::Rotation, 0);
        let sketch = self.sketch.with_mixed_rows();
        parts(Frosh::NAME, &sketch, self.centring.mean(), &self.first, &mut rng)
    }

    fn save(&self, state: &mut Tensors) {
        let sketch = &self.sketch;
        state.put("frosh.first", self.bits, &self.first);
        state.put("frosh.sketch", self.dim, &sketch.rows);
        state.put("frosh.place", 1, &[sketch.buffers, sketch.taken as u64]);
        state.put("frosh.block", self.dim, &sketch.block);
        state.put("frosh.sums", self.dim, &sketch.sums);
        self.centring.save("frosh.centring", state);
    }

    fn load(params: &Params, start: Start, state: &mut Tensors) -> Loaded<Self> {
        let Start { dim, bits, seed, .. } = start;
        let first = take_weights(state, "frosh.first", dim, bits)?;
        let buffer = buffer_size(params, dim);
        let mut sketch = FastSketch::new(dim, seed, params.sketch, buffer);
        let half = sketch.half();
        let place: Vec<u64> = state.take_rows("frosh.place", 2, 1)?;
        sketch.buffers = place[0];
        sketch.taken = place[1] as usize;
        sketch.mix = Mix::new(&mut random(seed, Purpose::Signs, place[0]), buffer, half);
        sketch.rows = state.take("frosh.sketch", dim)?;
        sketch.block = state.take("frosh.block", dim)?;
        sketch.sums = state.take_rows("frosh.sums", half, dim)?;
        let in_block = sketch.taken % sketch.block_rows;
        let fits = sketch.taken < buffer
            && sketch.block.len() == in_block * dim
            && [0, half * dim].contains(&sketch.rows.len());
        let all = [&sketch.rows, &sketch.block, &sketch.sums];
        if !fits || !all.iter().all(|values| values.iter().all(|value| value.is_finite())) {
            return Err("the arrays of its sketch do not match".to_owned());
        }
        Ok(Frosh {
            dim,
            bits,
            seed,
            first,
            centring: Centring::load("frosh.centring", dim, params.batch, state)?,
            sketch,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::sketch::tests::{covariance_error, random_rows};

    /// Computes the transform with the whole matrix: `Y = S H D F / sqrt(q)`.
    fn plain_mix(mix: &Mix, rows: &[Vec<f64>], dim: usize) -> Vec<f64> {
        let scale = 1.0 / (mix.chosen.len() as f64).sqrt();
        let mut out = Vec::new();
        for &chosen in &mix.chosen {
            for i in 0..dim {
                let sum: f64 = rows
                    .iter()
                    .enumerate()
                    .map(|(k, row)| hadamard_sign(chosen, k) * mix.signs[k] * row[i])
                    .sum();
                out.push(scale * sum);
            }
        }
        out
    }

    #[test]
    fn block_by_block_it_is_the_whole_transform() {
        let dim = 5;
        for (sketch, buffer) in [(8, 16), (6, 16), (20, 64), (2, 4), (16, 8)] {
            let mut fast = FastSketch::new(dim, 9, sketch, buffer);
            let rows = random_rows(buffer - 1, dim, 3);
            for (count, row) in rows.iter().enumerate() {
                fast.insert(row).unwrap();
                let plain = plain_mix(&fast.mix, &rows[..=count], dim);
                for (found, expected) in fast.with_mixed_rows().iter().zip(&plain) {
                    assert!((found - expected).abs() < 1e-12, "{sketch} {buffer} {count}");
                }
            }
        }
    }

    #[test]
    fn on_average_the_covariance_is_as_near_as_that_of_frequent_directions() {
        let (dim, sketch, buffer) = (24, 16, 32);
        let mut ratio = 0.0;
        for seed in 0..40 {
            let rows = random_rows(320, dim, seed);
            let mut fast = FastSketch::new(dim, seed, sketch, buffer);
            rows.iter().for_each(|row| fast.insert(row).unwrap());
            let (error, total) = covariance_error(&rows, &fast.with_mixed_rows(), dim);
            ratio += error / (total * 2.0 / sketch as f64) / 40.0;
        }
        assert!(ratio < 1.0, "{ratio} of the bound of frequent directions");
    }
}
