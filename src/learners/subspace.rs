//! A subspace of few dimensions that contains nearly all variance of rows.
//!
//! The subspace is computed by orthogonal iteration: a basis is multiplied by `X^T X` and
//! orthogonalized again. Two rounds are enough, because any basis of nearly the same subspace is
//! sufficient. Products are chains of fused multiply-adds and sums are in a fixed order, so every
//! machine computes the same directions.

use rayon::prelude::*;

use crate::Features;
use crate::kernel::{Panels, squared_norm};
use crate::linalg::dot;

/// Numbers of directions, tried one after the other.
const COUNTS: [usize; 2] = [128, 256];

/// Share of the rows' squared length that the directions must contain.
const SHARE: f64 = 0.93;

const ROUNDS: usize = 2;

/// Returns concatenated orthogonal unit vectors whose span contains nearly all of the rows. Returns
/// an empty vector if there are no such directions, or if the rows have so few dimensions that the
/// directions are useless.
pub(super) fn principal(rows: Features<'_>) -> Vec<f32> {
    let dim = rows.dim();
    let total: f64 = rows.values().chunks_exact(dim).map(squared_norm).sum();
    for count in COUNTS.into_iter().filter(|count| 2 * count <= dim && *count <= rows.len()) {
        let directions = spanning(rows, count);
        let held = directions.len() / dim;
        let products = multiply(rows.values(), &Panels::pack_transposed(&directions, dim), held);
        let held_length: f64 = products.chunks_exact(held.max(1)).map(squared_norm).sum();
        if directions.iter().all(|value| value.is_finite()) && held_length >= SHARE * total {
            return directions;
        }
    }
    Vec::new()
}

/// Returns `count` concatenated orthogonal unit vectors whose span contains nearly as much of the
/// rows as possible. If the rows have fewer directions, the others are zero vectors. `count` is at
/// most the number of rows.
pub(super) fn spanning(rows: Features<'_>, count: usize) -> Vec<f32> {
    let (dim, n) = (rows.dim(), rows.len());
    let mut transposed = vec![0.0; n * dim];
    transposed.par_chunks_mut(n).enumerate().for_each(|(column, out)| {
        let values = rows.values().iter().skip(column).step_by(dim);
        out.iter_mut().zip(values).for_each(|(out, value)| *out = *value);
    });
    // Rows from the whole warm-up, because they are already in the subspace of the data.
    let mut basis: Vec<f64> =
        (0..count).flat_map(|at| rows.row(at * n / count)).map(|&value| f64::from(value)).collect();
    for _ in 0..ROUNDS {
        orthogonalise(&mut basis, dim);
        let single: Vec<f32> = basis.iter().map(|&value| value as f32).collect();
        let products = multiply(rows.values(), &Panels::pack_transposed(&single, dim), count);
        let products = multiply(&transposed, &Panels::pack(&products, n, count), count);
        for (column, values) in products.chunks_exact(count).enumerate() {
            let places = basis.iter_mut().skip(column).step_by(dim);
            places.zip(values).for_each(|(place, value)| *place = f64::from(*value));
        }
    }
    orthogonalise(&mut basis, dim);
    basis.iter().map(|&value| value as f32).collect()
}

/// Returns the products of rows with panels of `columns` columns, computed in parallel.
fn multiply(rows: &[f32], panels: &Panels, columns: usize) -> Vec<f32> {
    const ROWS: usize = 48;
    let mut out = vec![0.0; rows.len() / panels.depth() * panels.width()];
    out.par_chunks_mut(ROWS * panels.width())
        .zip(rows.par_chunks(ROWS * panels.depth()))
        .for_each(|(out, rows)| panels.multiply(rows, out));
    if panels.width() > columns {
        // Removes the padding of the panels.
        out = out.chunks_exact(panels.width()).flat_map(|row| &row[..columns]).copied().collect();
    }
    out
}

/// Applies Gram-Schmidt orthogonalization twice. Rows that depend linearly on earlier rows become
/// zero.
fn orthogonalise(basis: &mut [f64], dim: usize) {
    for at in 0..basis.len() / dim {
        let (before, row) = basis.split_at_mut(at * dim);
        let row = &mut row[..dim];
        let length = dot(row, row).sqrt();
        for _ in 0..2 {
            for other in before.chunks_exact(dim) {
                let along = dot(row, other);
                row.iter_mut().zip(other).for_each(|(value, other)| *value -= along * other);
            }
        }
        let left = dot(row, row).sqrt();
        let scale = if left > 1e-6 * length { 1.0 / left } else { 0.0 };
        row.iter_mut().for_each(|value| *value *= scale);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::random::{Purpose, random};
    use rand::RngExt;

    /// Returns rows that spread over `rank` directions, and by `noise` over all.
    fn rows(count: usize, dim: usize, rank: usize, noise: f32) -> Vec<f32> {
        let mut rng = random(3, Purpose::Signs, 0);
        let mut draw =
            |n: usize| (0..n).map(|_| rng.random_range(-1.0..1.0f32)).collect::<Vec<f32>>();
        let (basis, weights) = (draw(rank * dim), draw(count * rank));
        let mut values = draw(count * dim);
        for (row, weights) in values.chunks_exact_mut(dim).zip(weights.chunks_exact(rank)) {
            row.iter_mut().for_each(|value| *value *= noise);
            for (weight, direction) in weights.iter().zip(basis.chunks_exact(dim)) {
                row.iter_mut().zip(direction).for_each(|(value, d)| *value += weight * d);
            }
        }
        values
    }

    #[test]
    fn directions_are_orthogonal_and_hold_the_rows() {
        for (dim, rank, noise, expected) in [
            (300, 40, 0.1, 128),
            (300, 40, 20.0, 0),
            (255, 40, 0.1, 0),
            (600, 200, 0.1, 256),
            (600, 500, 50.0, 0),
        ] {
            let values = rows(700, dim, rank, noise);
            let features = Features::new(&values, dim).unwrap();
            let directions = principal(features);
            assert_eq!(directions.len(), expected * dim, "{dim} dimensions, rank {rank}");
            let single = |row: &[f32]| row.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
            for (i, left) in directions.chunks_exact(dim).enumerate() {
                for (j, right) in directions.chunks_exact(dim).enumerate() {
                    let found = dot(&single(left), &single(right));
                    assert!((found - f64::from(i == j)).abs() < 1e-5, "{i}, {j}: {found}");
                }
            }
        }
    }

    #[test]
    fn rows_that_are_alike_or_beyond_all_bounds_are_no_trouble() {
        let alike = [0.5f32; 300].repeat(200);
        let found = principal(Features::new(&alike, 300).unwrap());
        assert_eq!(found.len(), 128 * 300);
        assert!(found[300..].iter().all(|&value| value == 0.0), "one direction holds all");
        for value in [0.0, 1e30] {
            let rows = vec![value; 300 * 200];
            let found = principal(Features::new(&rows, 300).unwrap());
            assert!(found.iter().all(|value| value.is_finite()));
        }
    }
}
