//! Code shared by SketchHash and FROSH: incremental centring of rows, and the directions of a
//! sketch.

use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::linalg::{Eigen, orthonormal_columns, product, symmetric_eigen, transposed_product};
use crate::memory::NoRoom;
use crate::tensors::Tensors;
use crate::{Error, Features, HashParts, Result};

use crate::learner::Loaded;

/// Converts a stream to rows whose sum of squares is the stream's scatter about its mean so far.
/// Each batch is centred on its own mean. One additional row per batch accounts for the difference
/// between this mean and the mean of all earlier batches.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Centring {
    dim: usize,
    batch: usize,
    /// Rows of the incomplete batch.
    waiting: Vec<f32>,
    mean: Vec<f64>,
    rows: f64,
}

impl Centring {
    pub(crate) fn new(dim: usize, batch: usize) -> Self {
        Centring { dim, batch, waiting: Vec::new(), mean: vec![0.0; dim], rows: 0.0 }
    }

    /// Returns the mean of all complete batches.
    pub(crate) fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Adds rows. Returns the centred rows of each batch that is now complete. With `forget`, each
    /// batch is processed without the batches before it.
    pub(crate) fn push(&mut self, features: Features<'_>, forget: bool) -> Vec<Vec<f64>> {
        let mut complete = Vec::new();
        for row in 0..features.len() {
            self.waiting.extend_from_slice(features.row(row));
            if self.waiting.len() == self.batch * self.dim {
                complete.push(self.complete());
                if forget {
                    self.mean.fill(0.0);
                    self.rows = 0.0;
                }
            }
        }
        complete
    }

    fn complete(&mut self) -> Vec<f64> {
        let mut centred: Vec<f64> = self.waiting.drain(..).map(f64::from).collect();
        let new = self.batch as f64;
        let mut mean = vec![0.0; self.dim];
        for row in centred.chunks_exact(self.dim) {
            mean.iter_mut().zip(row).for_each(|(mean, value)| *mean += value / new);
        }
        for row in centred.chunks_exact_mut(self.dim) {
            row.iter_mut().zip(&mean).for_each(|(value, mean)| *value -= mean);
        }
        let total = self.rows + new;
        if self.rows > 0.0 {
            let weight = (self.rows * new / total).sqrt();
            centred.extend(mean.iter().zip(&self.mean).map(|(new, old)| weight * (new - old)));
        }
        for (mean, new_mean) in self.mean.iter_mut().zip(&mean) {
            *mean += (new_mean - *mean) * new / total;
        }
        self.rows = total;
        centred
    }

    pub(crate) fn save(&self, name: &str, state: &mut Tensors) {
        state.put(&format!("{name}.waiting"), self.dim, &self.waiting);
        state.put(&format!("{name}.mean"), self.dim, &self.mean);
        state.put(&format!("{name}.rows"), 1, &[self.rows]);
    }

    pub(crate) fn load(name: &str, dim: usize, batch: usize, state: &mut Tensors) -> Loaded<Self> {
        let waiting: Vec<f32> = state.take(&format!("{name}.waiting"), dim)?;
        let mean: Vec<f64> = state.take_rows(&format!("{name}.mean"), 1, dim)?;
        let rows: f64 = state.take_rows(&format!("{name}.rows"), 1, 1)?[0];
        let finite = mean.iter().all(|mean| (*mean as f32).is_finite()) && rows.is_finite();
        if waiting.len() >= batch * dim || !finite || rows < 0.0 {
            return Err(format!("the arrays {name:?} make no sense"));
        }
        Ok(Centring { dim, batch, waiting, mean, rows })
    }
}

/// Halves a full sketch: reduces the squared length of all directions by that of the middle one,
/// and rotates the sketch so that its second half is zero. Returns the first half.
pub(crate) fn shrink(sketch: &[f64], dim: usize, method: &'static str) -> Result<Vec<f64>> {
    let half = sketch.len() / dim / 2;
    // The squared lengths of the sketch along its directions, and the directions as weights of
    // rows.
    let eigen = symmetric_eigen(sketch, dim).map_err(|no_room| too_large(method, no_room))?;
    let (squares, vectors) = eigen.ok_or_else(|| no_sketch(method))?;
    let middle = squares[half].max(0.0);
    // B' = S' V^T = S' S^-1 U^T B.
    let mut turn = vec![0.0; half * squares.len()];
    for (at, row) in turn.chunks_exact_mut(squares.len()).enumerate() {
        let kept = squares[at] - middle;
        if kept > 0.0 {
            let scale = (kept / squares[at]).sqrt();
            row.iter_mut().enumerate().for_each(|(i, value)| *value = scale * vectors[(i, at)]);
        }
    }
    Ok(product(&turn, squares.len(), sketch, dim))
}

/// Returns the error for a sketch that is not finite.
pub(crate) fn no_sketch(method: &'static str) -> Error {
    Error::NoSolution { method, problem: "the sketch cannot be shrunk" }
}

fn too_large(method: &'static str, no_room: NoRoom) -> Error {
    no_room.error(method, "use a smaller sketch: with half the rows it needs a quarter of that")
}

/// Returns the parts of the function of a sketch, centred on `mean`. The first `bits` directions
/// are rotated randomly, so that each bit gets a share of every direction. If the sketch has fewer
/// directions than bits, columns of `first`, the random initial projection, replace the missing
/// directions. Also returns the number of directions, or `None` for an empty sketch, whose function
/// is `first`.
pub(crate) fn parts(
    method: &'static str,
    sketch: &[f64],
    mean: &[f64],
    first: &[f32],
    rng: &mut ChaCha8Rng,
) -> Result<(HashParts, Option<usize>)> {
    let bits = first.len() / mean.len();
    let start = || HashParts::linear(mean.len(), bits, first.to_vec());
    if sketch.is_empty() {
        return Ok((start(), None));
    }
    let eigen = symmetric_eigen(sketch, mean.len()).map_err(|none| too_large(method, none))?;
    let found = eigen.and_then(|eigen| directions(eigen, sketch, mean, first, rng));
    let (parts, count) = found.unwrap_or_else(|| (start(), 0));
    Ok((parts, Some(count)))
}

/// Returns `None` if there are no directions, or if the result is not finite.
fn directions(
    (squares, vectors): Eigen,
    sketch: &[f64],
    mean: &[f64],
    first: &[f32],
    rng: &mut ChaCha8Rng,
) -> Option<(HashParts, usize)> {
    let dim = mean.len();
    let (rows, bits) = (sketch.len() / dim, first.len() / dim);
    // Directions that consist of rounding errors alone do not count.
    let count = squares.iter().take(bits).filter(|square| **square > squares[0] * 1e-12).count();
    if count == 0 {
        return None;
    }
    // V = B^T U S^-1, as columns.
    let mut scaled = vec![0.0; rows * count];
    for (i, row) in scaled.chunks_exact_mut(count).enumerate() {
        row.iter_mut().enumerate().for_each(|(r, v)| *v = vectors[(i, r)] / squares[r].sqrt());
    }
    let found = transposed_product(sketch, dim, &scaled, count);
    let mut basis = vec![0.0; dim * bits];
    for (i, row) in basis.chunks_exact_mut(bits).enumerate() {
        row[..count].copy_from_slice(&found[i * count..(i + 1) * count]);
        let others = &first[i * bits + count..(i + 1) * bits];
        row[count..].iter_mut().zip(others).for_each(|(v, other)| *v = f64::from(*other));
    }
    let gaussian: Vec<f64> = (0..bits * bits).map(|_| StandardNormal.sample(rng)).collect();
    let weights = product(&basis, bits, &orthonormal_columns(&gaussian, bits), bits);
    let mut offset = vec![0.0; bits];
    for (weights, mean) in weights.chunks_exact(bits).zip(mean) {
        offset.iter_mut().zip(weights).for_each(|(offset, weight)| *offset -= weight * mean);
    }
    let single = |values: Vec<f64>| -> Vec<f32> { values.into_iter().map(|v| v as f32).collect() };
    let (weights, offset) = (single(weights), single(offset));
    let is_finite = weights.iter().chain(&offset).all(|value| value.is_finite());
    let parts = || HashParts { offset: Some(offset), ..HashParts::linear(dim, bits, weights) };
    is_finite.then(|| (parts(), count))
}

/// Largest number of rows of a sketch, a mini-batch or a buffer.
pub(crate) const MAX_ROWS: usize = 1 << 16;

/// Fails unless a sketch of this size can provide `bits` bits.
pub(crate) fn check_sketch(sketch: usize, batch: usize, bits: usize, dim: usize) -> Result<()> {
    if !(bits..=MAX_ROWS).contains(&sketch) || !sketch.is_multiple_of(2) {
        let expected = format!("even, from the {bits} bits (twice that is better) to {MAX_ROWS}");
        return Err(Error::parameter("sketch", expected, sketch));
    }
    if bits > dim {
        let expected =
            format!("at most the {dim} dimensions, as each bit is a direction of its own");
        return Err(Error::parameter("bits", expected, bits));
    }
    if !(1..=MAX_ROWS).contains(&batch) {
        return Err(Error::parameter("batch", format!("from 1 to {MAX_ROWS}"), batch));
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use faer::Mat;
    use rand::{RngExt, SeedableRng};

    /// Returns random rows, with some directions much larger than others.
    pub(crate) fn random_rows(count: usize, dim: usize, seed: u64) -> Vec<Vec<f64>> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let scale = |i: usize| 1.0 / (1.0 + i as f64 * 0.7);
        let mut row = || (0..dim).map(|i| rng.random_range(-1.0..1.0) * scale(i)).collect();
        (0..count).map(|_| row()).collect()
    }

    /// Returns the spectral norm of `A^T A - B^T B`, and the sum of squares of `A`.
    pub(crate) fn covariance_error(rows: &[Vec<f64>], sketch: &[f64], dim: usize) -> (f64, f64) {
        let a = rows.concat();
        let difference = Mat::<f64>::from_fn(dim, dim, |i, j| {
            let sum = |m: &[f64]| m.chunks_exact(dim).map(|row| row[i] * row[j]).sum::<f64>();
            sum(&a) - sum(sketch)
        });
        let values = difference.self_adjoint_eigenvalues(faer::Side::Lower).unwrap();
        let norm = values.iter().fold(0.0, |max: f64, value| max.max(value.abs()));
        (norm, a.iter().map(|value| value * value).sum())
    }

    /// Whatever the batches, the squares of the centred rows add up to the scatter about the mean.
    #[test]
    fn centred_rows_have_the_scatter_of_the_whole() {
        let dim = 6;
        let mut rng = ChaCha8Rng::seed_from_u64(8);
        let rows: Vec<f32> =
            (0..60 * dim).map(|i| rng.random_range(-1.0..1.0) + (i / 40) as f32 * 0.1).collect();
        let mut centring = Centring::new(dim, 10);
        let mut centred = Vec::new();
        for part in rows.chunks(7 * dim) {
            let complete = centring.push(Features::new(part, dim).unwrap(), false);
            centred.extend(complete.concat());
        }
        let mean: Vec<f64> = (0..dim)
            .map(|i| rows.iter().skip(i).step_by(dim).map(|&v| f64::from(v)).sum::<f64>() / 60.0)
            .collect();
        for i in 0..dim {
            assert!((centring.mean()[i] - mean[i]).abs() < 1e-12);
            for j in 0..dim {
                let scatter: f64 = rows
                    .chunks_exact(dim)
                    .map(|r| (f64::from(r[i]) - mean[i]) * (f64::from(r[j]) - mean[j]))
                    .sum();
                let found: f64 = centred.chunks_exact(dim).map(|r| r[i] * r[j]).sum();
                assert!((scatter - found).abs() < 1e-9);
            }
        }
    }
}
