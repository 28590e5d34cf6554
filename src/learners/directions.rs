//! Principal directions of rows, and bits from them: PCA, and the rotation of Y. Gong, S. Lazebnik,
//! A. Gordo, F. Perronnin, *Iterative Quantization*, TPAMI 2013.

use rand_distr::{Distribution, StandardNormal};

use super::random::{Purpose, random};
use super::subspace::spanning;
use crate::learner::Loaded;
use crate::linalg::{self, orthonormal_columns, product, transposed_product};
use crate::memory::{NoRoom, expect_room};
use crate::tensors::Tensors;
use crate::{Features, Mean};

/// Number of additional directions in the iteration, so that the last requested ones are accurate.
const SPARE: usize = 8;

/// The first principal directions of some rows, and the projections of these rows on them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Directions {
    mean: Vec<f32>,
    /// Row-major, dimensions x directions; the directions are unit vectors, in order of variance.
    axes: Vec<f32>,
    /// Row-major, rows x directions.
    along: Vec<f32>,
}

/// A linear projection with an offset. The weights are dimensions x bits, the offset has `bits`
/// values.
#[derive(Clone, Debug)]
pub(super) struct Projection {
    pub(super) weights: Vec<f32>,
    pub(super) offset: Vec<f32>,
}

impl Directions {
    /// Computes at most `count` directions, and no more than there are dimensions or rows.
    pub(super) fn of(rows: Features<'_>, count: usize) -> Result<Self, NoRoom> {
        let (dim, most) = (rows.dim(), rows.dim().min(rows.len()).max(1));
        let (count, followed) = (count.clamp(1, most), (count + SPARE).min(most));
        expect_room(rows.values().len() + 3 * followed * (dim + rows.len()))?;
        let mut mean = Mean::new(dim);
        mean.add(rows).expect("of its own dimension");
        let mean = mean.value();
        let largest = rows.values().iter().fold(f32::MIN_POSITIVE, |most, v| most.max(v.abs()));
        let centred = |row: &[f32]| -> Vec<f32> {
            row.iter().zip(&mean).map(|(x, m)| x / largest - m / largest).collect()
        };
        let centred: Vec<f32> = rows.values().chunks_exact(dim).flat_map(centred).collect();
        let spanning = match followed == dim {
            // The standard basis of the whole space.
            true => (0..dim * dim).map(|at| f32::from(at % dim == at / dim)).collect(),
            false => spanning(Features::new(&centred, dim).expect("of finite rows"), followed),
        };
        let double = |values: &[f32]| -> Vec<f64> { values.iter().map(|&v| v.into()).collect() };
        let basis: Vec<f64> = (0..dim)
            .flat_map(|row| spanning[row..].iter().step_by(dim).map(|&value| f64::from(value)))
            .collect();
        // The directions of largest variance within the subspace.
        let along = product(&double(&centred), dim, &basis, followed);
        let turn = linalg::principal_axes(&along, followed)?;
        let first = |values: Vec<f64>, scale: f64| -> Vec<f32> {
            let finite = |value: f64| (scale * value).clamp(f32::MIN.into(), f32::MAX.into());
            let rows = values.chunks_exact(followed);
            rows.flat_map(|row| row[..count].iter().map(|&value| finite(value) as f32)).collect()
        };
        let axes = first(product(&basis, followed, &turn, followed), 1.0);
        let along = first(product(&along, followed, &turn, followed), f64::from(largest));
        Ok(Directions { mean, axes, along })
    }

    /// Returns directions with these axes, row-major, dimensions x directions, and the projections
    /// of `rows` on them.
    pub(super) fn along_axes(mean: Vec<f32>, axes: Vec<f64>, rows: &[f32]) -> Self {
        let count = axes.len() / mean.len();
        let centred: Vec<f64> =
            rows.iter().zip(mean.iter().cycle()).map(|(x, m)| f64::from(x - m)).collect();
        let single = |values: Vec<f64>| values.into_iter().map(|value| value as f32).collect();
        let along = single(product(&centred, mean.len(), &axes, count));
        Directions { axes: single(axes), along, mean }
    }

    pub(super) fn dim(&self) -> usize {
        self.mean.len()
    }

    /// Returns the number of directions.
    pub(super) fn count(&self) -> usize {
        self.axes.len() / self.dim()
    }

    /// Sets directions to zero if rows vary along them only by rounding errors, so that no bit
    /// depends on these arbitrary eigenvectors. Returns the number of remaining directions.
    pub(super) fn drop_noise(&mut self, rows: Features<'_>) -> usize {
        let count = self.count();
        let largest = rows.values().iter().fold(0.0f32, |most, value| most.max(value.abs()));
        let rounding = f64::from(f32::EPSILON) * f64::from(largest) * (self.dim() as f64).sqrt();
        let least = rounding.powi(2) * (self.along.len() / count) as f64;
        let mut squares = vec![0.0; count];
        for row in self.along.chunks_exact(count) {
            squares.iter_mut().zip(row).for_each(|(sum, &value)| *sum += f64::from(value).powi(2));
        }
        let remaining = squares.iter().take_while(|&&sum| sum > least).count();
        for row in self.along.chunks_exact_mut(count).chain(self.axes.chunks_exact_mut(count)) {
            row[remaining..].fill(0.0);
        }
        remaining
    }

    /// Returns bits as [`rotated`](Self::rotated) does, one for each of the first `count`
    /// directions. The other bits use columns of `fill` (dimensions x `bits`), scaled to the same
    /// mean variance.
    pub(super) fn rotated_and_filled(
        &self,
        count: usize,
        fill: &[f32],
        bits: usize,
        iterations: usize,
        seed: u64,
    ) -> Projection {
        let rotated = self.rotated(count, 0.0, iterations, seed);
        let extra = bits - count;
        let filled: Vec<f64> = fill
            .chunks_exact(bits)
            .flat_map(|row| row[count..].iter().map(|&value| f64::from(value)))
            .collect();
        let all = self.count();
        let along_fill = transposed_product(&self.first(&self.axes, all), all, &filled, extra);
        let projected = product(&self.first(&self.along, all), all, &along_fill, extra);
        let variance = projected.iter().map(|v| v * v).sum::<f64>() / projected.len() as f64;
        let scale = if variance > 0.0 { 1.0 / variance.sqrt() } else { 1.0 };
        let (mut weights, mut at_mean) = (Vec::with_capacity(fill.len()), vec![0.0; extra]);
        for (row, values) in filled.chunks_exact(extra).enumerate() {
            weights.extend_from_slice(&rotated.weights[row * count..(row + 1) * count]);
            let mean = f64::from(self.mean[row]);
            for (sum, &value) in at_mean.iter_mut().zip(values) {
                *sum += scale * value * mean;
                weights.push((scale * value) as f32);
            }
        }
        let offset = at_mean.into_iter().map(|value| -value as f32);
        Projection { weights, offset: rotated.offset.into_iter().chain(offset).collect() }
    }

    /// Returns bits along the first directions, one per bit, rotated so that the rows lose least
    /// when they are reduced to signs. If there are more bits than directions, further bits use the
    /// same directions with another rotation. The projections of the rows have a mean of 0 and a
    /// mean variance of 1.
    ///
    /// Before the rotation, directions are divided by their variance to the power of `evened`: 0
    /// leaves the directions unchanged, and 1/2 gives all of them equal weight.
    pub(super) fn rotated(
        &self,
        bits: usize,
        evened: f64,
        iterations: usize,
        seed: u64,
    ) -> Projection {
        let dim = self.dim();
        let blocks = bits.div_ceil(self.count()).max(1);
        let mut weights = vec![0.0; dim * bits];
        let mut offset = Vec::with_capacity(bits);
        for block in 0..blocks {
            let (start, end) = (bits * block / blocks, bits * (block + 1) / blocks);
            let size = end - start;
            if size == 0 {
                continue;
            }
            let (mut along, mut axes) =
                (self.first(&self.along, size), self.first(&self.axes, size));
            if evened > 0.0 {
                self.even_out(&mut along, &mut axes, size, evened);
            }
            let turn = quantizing_rotation(&along, size, iterations, seed, block as u64);
            let variance = along.iter().map(|v| v * v).sum::<f64>() / along.len() as f64;
            let scale = if variance > 0.0 { 1.0 / variance.sqrt() } else { 1.0 };
            let turned = product(&axes, size, &turn, size);
            let mut at_mean = vec![0.0; size];
            let rows = weights.chunks_exact_mut(bits).zip(turned.chunks_exact(size));
            for ((row, turned), &mean) in rows.zip(&self.mean) {
                for (at, &value) in turned.iter().enumerate() {
                    row[start + at] = (scale * value) as f32;
                    at_mean[at] += scale * value * f64::from(mean);
                }
            }
            offset.extend(at_mean.into_iter().map(|value| -value as f32));
        }
        Projection { weights, offset }
    }

    /// Divides directions by a power of the variance of the rows along them.
    fn even_out(&self, along: &mut [f64], axes: &mut [f64], size: usize, power: f64) {
        let mut squares = vec![0.0; size];
        for row in along.chunks_exact(size) {
            squares.iter_mut().zip(row).for_each(|(sum, value)| *sum += value * value);
        }
        // A direction without variance cannot be scaled, and becomes zero.
        let factor = |square: &f64| if *square > 0.0 { square.powf(-power) } else { 0.0 };
        let factors: Vec<f64> = squares.iter().map(factor).collect();
        for row in along.chunks_exact_mut(size).chain(axes.chunks_exact_mut(size)) {
            row.iter_mut().zip(&factors).for_each(|(value, factor)| *value *= factor);
        }
    }

    /// Returns the first `size` numbers of each row.
    fn first(&self, values: &[f32], size: usize) -> Vec<f64> {
        let rows = values.chunks_exact(self.count());
        rows.flat_map(|row| row[..size].iter().map(|&value| f64::from(value))).collect()
    }

    pub(super) fn save(&self, name: &str, state: &mut Tensors) {
        state.put(&format!("{name}.mean"), self.dim(), &self.mean);
        state.put(&format!("{name}.axes"), self.count(), &self.axes);
        state.put(&format!("{name}.along"), self.count(), &self.along);
    }

    /// Reads the saved directions, if there are any.
    pub(super) fn load(name: &str, dim: usize, state: &mut Tensors) -> Loaded<Option<Self>> {
        if !state.contains(&format!("{name}.mean")) {
            return Ok(None);
        }
        let mean: Vec<f32> = state.take_rows(&format!("{name}.mean"), 1, dim)?;
        let count = state.width(&format!("{name}.axes"))?;
        let axes: Vec<f32> = state.take_rows(&format!("{name}.axes"), dim, count)?;
        let along: Vec<f32> = state.take(&format!("{name}.along"), count)?;
        let finite = [&mean, &axes, &along].iter().all(|all| all.iter().all(|v| v.is_finite()));
        if !finite || !(1..=dim).contains(&count) || along.is_empty() {
            return Err(format!("the directions {name:?} make no sense"));
        }
        Ok(Some(Directions { mean, axes, along }))
    }
}

/// Returns the rotation `R` that brings `V R` nearest to its signs. Alternates between the signs
/// for a given rotation and the best rotation for given signs.
fn quantizing_rotation(
    rows: &[f64],
    size: usize,
    iterations: usize,
    seed: u64,
    block: u64,
) -> Vec<f64> {
    let mut rng = random(seed, Purpose::Rotation, block);
    let gaussian: Vec<f64> = (0..size * size).map(|_| StandardNormal.sample(&mut rng)).collect();
    let mut turn = orthonormal_columns(&gaussian, size);
    for _ in 0..iterations {
        let mut signs = product(rows, size, &turn, size);
        signs.iter_mut().for_each(|value| *value = if *value > 0.0 { 1.0 } else { -1.0 });
        let Some(best) = linalg::nearest_rotation(&transposed_product(rows, size, &signs, size))
        else {
            break;
        };
        turn = best;
    }
    turn
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    /// Returns rows that spread along the axes, less along each axis than along the one before.
    fn spread(rows: usize, dim: usize) -> Vec<f32> {
        let mut rng = random(3, Purpose::Signs, 0);
        let value = |at: usize, random: f32| 4.0 * random * 0.8f32.powi((at % dim) as i32) + 1.0;
        (0..rows * dim).map(|at| value(at, rng.random_range(-1.0..1.0))).collect()
    }

    fn variance(along: &[f32], count: usize, direction: usize) -> f64 {
        let values = along.iter().skip(direction).step_by(count);
        values.map(|v| f64::from(*v).powi(2)).sum::<f64>() / (along.len() / count) as f64
    }

    #[test]
    fn directions_are_unit_vectors_in_order_of_variance() {
        let values = spread(500, 30);
        let found = Directions::of(Features::new(&values, 30).unwrap(), 6).unwrap();
        assert_eq!((found.dim(), found.count()), (30, 6));
        for a in 0..6 {
            for b in 0..=a {
                let column = |c: usize| found.axes.iter().skip(c).step_by(6);
                let inner: f32 = column(a).zip(column(b)).map(|(a, b)| a * b).sum();
                assert!((inner - f32::from(a == b)).abs() < 1e-5, "{a} {b}: {inner}");
            }
        }
        let variances: Vec<f64> = (0..6).map(|a| variance(&found.along, 6, a)).collect();
        assert!(variances.is_sorted_by(|a, b| a >= b), "{variances:?}");
        // All directions of a small space are computed exactly; the iterated ones are nearly as
        // good.
        let all = Directions::of(Features::new(&values, 30).unwrap(), 30).unwrap();
        for (a, found) in variances.iter().enumerate() {
            let best = variance(&all.along, 30, a);
            assert!((found / best - 1.0).abs() < 1e-3, "direction {a}: {found} for {best}");
        }
    }

    #[test]
    fn turning_loses_less_and_projections_are_centred_and_scaled() {
        let values = spread(400, 20);
        let features = Features::new(&values, 20).unwrap();
        let found = Directions::of(features, 8).unwrap();
        let project = |projection: &Projection, bits: usize| -> Vec<f64> {
            let weights: Vec<f64> = projection.weights.iter().map(|&w| f64::from(w)).collect();
            let x: Vec<f64> = values.iter().map(|&v| f64::from(v)).collect();
            let mut out = product(&x, 20, &weights, bits);
            for row in out.chunks_exact_mut(bits) {
                row.iter_mut().zip(&projection.offset).for_each(|(v, b)| *v += f64::from(*b));
            }
            out
        };
        let loss = |all: &[f64]| -> f64 { all.iter().map(|v| (v.abs() - 1.0).powi(2)).sum() };
        let (plain, turned) = (found.rotated(8, 0.0, 0, 1), found.rotated(8, 0.0, 50, 1));
        let (plain, turned) = (project(&plain, 8), project(&turned, 8));
        assert!(loss(&turned) < 0.9 * loss(&plain), "{} for {}", loss(&turned), loss(&plain));
        let variance = turned.iter().map(|v| v * v).sum::<f64>() / turned.len() as f64;
        assert!((variance - 1.0).abs() < 1e-4, "{variance}");
        assert!(turned.iter().sum::<f64>().abs() < 1e-2);
    }

    #[test]
    fn more_bits_than_directions_and_rows_that_are_alike() {
        let values = spread(50, 3);
        let found = Directions::of(Features::new(&values, 3).unwrap(), 10).unwrap();
        let projection = found.rotated(10, 0.25, 20, 1);
        assert_eq!((projection.weights.len(), projection.offset.len()), (30, 10));
        let columns = |c: usize| -> Vec<f32> {
            projection.weights.iter().skip(c).step_by(10).copied().collect()
        };
        assert_ne!(columns(0), columns(4), "turned in another way");
        let alike = Directions::of(Features::new(&[1.0; 12], 3).unwrap(), 2).unwrap();
        let projection = alike.rotated(5, 0.25, 20, 1);
        assert!(projection.weights.iter().chain(&projection.offset).all(|v| v.is_finite()));
    }
}
