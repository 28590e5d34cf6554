//! The few matrix routines that learners need, over faer. All matrices are row-major slices, all
//! sums in `f64`.
//!
//! Results do not depend on the number of threads: these share out tiles of a fixed size.

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{BlockStructure, matmul as triangular_matmul};
use faer::linalg::solvers::{Llt, Solve};
use faer::{Accum, Mat, MatMut, MatRef, Par, Side};
use rayon::prelude::*;

/// The side of the tiles that threads share out.
const TILE: usize = 256;

/// Ridge regression: the `W` (dim x columns) that minimises `||X W - Y||^2 + ridge ||W||^2`, for
/// `X` of rows of `dim` and `Y` of rows of `columns`.
///
/// Solved in the smaller of its two forms: over the dimensions when there are at least as many
/// rows, `(X^T X + ridge I) W = X^T Y`, and over the rows when there are fewer,
/// `W = X^T (X X^T + ridge I)^-1 Y`. `None` when the system has no Cholesky factor or the result
/// is not finite.
pub(crate) fn ridge_regression(
    x: &[f32],
    dim: usize,
    y: &[f64],
    columns: usize,
    ridge: f64,
) -> Option<Vec<f32>> {
    let x: Vec<f64> = x.iter().map(|&value| f64::from(value)).collect();
    let rows = x.len() / dim;
    let x = MatRef::from_row_major_slice(&x, rows, dim);
    let y = MatRef::from_row_major_slice(y, rows, columns);
    let w = if rows >= dim {
        solve(shifted_gram(x.transpose(), ridge), multiply(x.transpose(), y))?
    } else {
        multiply(x.transpose(), solve(shifted_gram(x, ridge), y.to_owned())?.as_ref())
    };
    let w: Vec<f32> = row_major(w.as_ref()).map(|value| value as f32).collect();
    w.iter().all(|value| value.is_finite()).then_some(w)
}

/// The Cholesky factor of a symmetric positive definite matrix.
pub(crate) struct Positive(Llt<f64>);

impl Positive {
    /// Of the matrix with these entries, asked for on and below the diagonal; `None` when it is
    /// not positive definite.
    pub(crate) fn factor(size: usize, entry: impl Fn(usize, usize) -> f64 + Sync) -> Option<Self> {
        let mut matrix = Mat::zeros(size, size);
        tiles(matrix.as_mut()).into_par_iter().for_each(|(row, column, mut tile)| {
            for j in 0..tile.ncols() {
                for i in (column + j).saturating_sub(row)..tile.nrows() {
                    tile[(i, j)] = entry(row + i, column + j);
                }
            }
        });
        matrix.llt(Side::Lower).ok().map(Positive)
    }

    /// Solves `A Z = B`, for `B` of rows of `columns` numbers.
    pub(crate) fn solve(&self, right: &[f64], columns: usize) -> Vec<f64> {
        let right = MatRef::from_row_major_slice(right, right.len() / columns, columns);
        row_major(self.0.solve(right).as_ref()).collect()
    }
}

/// `A B`, for `A` of rows of `inner` numbers and `B` of rows of `columns`.
pub(crate) fn product(a: &[f64], inner: usize, b: &[f64], columns: usize) -> Vec<f64> {
    let a = MatRef::from_row_major_slice(a, a.len() / inner, inner);
    let b = MatRef::from_row_major_slice(b, inner, columns);
    row_major(multiply(a, b).as_ref()).collect()
}

/// `A^T B`, for `A` of rows of `left` numbers and `B` of rows of `right`.
pub(crate) fn transposed_product(a: &[f64], left: usize, b: &[f64], right: usize) -> Vec<f64> {
    let a = MatRef::from_row_major_slice(a, a.len() / left, left);
    let b = MatRef::from_row_major_slice(b, b.len() / right, right);
    row_major(multiply(a.transpose(), b).as_ref()).collect()
}

/// The eigenvalues of `A A^T`, the largest first, and its eigenvectors as columns in that order;
/// `A` of rows of `columns` numbers. `None` when they cannot be found.
pub(crate) fn symmetric_eigen(a: &[f64], columns: usize) -> Option<(Vec<f64>, Mat<f64>)> {
    let a = MatRef::from_row_major_slice(a, a.len() / columns, columns);
    let eigen = shifted_gram(a, 0.0).self_adjoint_eigen(Side::Lower).ok()?;
    let mut values: Vec<f64> = eigen.S().column_vector().iter().copied().collect();
    values.reverse();
    Some((values, eigen.U().reverse_cols().to_owned()))
}

/// A square matrix with orthonormal columns from one of independent Gaussian numbers: every
/// direction is as likely as any other.
pub(crate) fn orthonormal_columns(gaussian: &[f64], size: usize) -> Vec<f64> {
    let factors = MatRef::from_row_major_slice(gaussian, size, size).qr();
    let (mut q, r) = (factors.compute_Q(), factors.R());
    for j in 0..size {
        // The factorisation chooses signs of its own; this makes them as random as the matrix.
        if r[(j, j)] < 0.0 {
            q.col_mut(j).iter_mut().for_each(|value| *value = -*value);
        }
    }
    row_major(q.as_ref()).collect()
}

fn row_major(matrix: MatRef<'_, f64>) -> impl Iterator<Item = f64> {
    (0..matrix.nrows()).flat_map(move |i| (0..matrix.ncols()).map(move |j| matrix[(i, j)]))
}

fn multiply(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let mut out = Mat::zeros(a.nrows(), b.ncols());
    tiles(out.as_mut()).into_par_iter().for_each(|(row, column, tile)| {
        let left = a.subrows(row, tile.nrows());
        let right = b.subcols(column, tile.ncols());
        matmul(tile, Accum::Replace, left, right, 1.0, Par::Seq);
    });
    out
}

/// The lower triangle of `A A^T + shift I`.
fn shifted_gram(a: MatRef<'_, f64>, shift: f64) -> Mat<f64> {
    let mut out = Mat::zeros(a.nrows(), a.nrows());
    tiles(out.as_mut()).into_par_iter().filter(|(row, column, _)| column <= row).for_each(
        |(row, column, tile)| {
            let left = a.subrows(row, tile.nrows());
            let right = a.subrows(column, tile.ncols()).transpose();
            let full = BlockStructure::Rectangular;
            let shape = if row == column { BlockStructure::TriangularLower } else { full };
            triangular_matmul(tile, shape, Accum::Replace, left, full, right, full, 1.0, Par::Seq);
        },
    );
    out.diagonal_mut().column_vector_mut().iter_mut().for_each(|value| *value += shift);
    out
}

/// Solves `A Z = B` from the lower triangle of a positive definite `A`.
fn solve(matrix: Mat<f64>, right: Mat<f64>) -> Option<Mat<f64>> {
    let factor = matrix.llt(Side::Lower).ok()?;
    Some(factor.solve(right))
}

/// Cuts a matrix into tiles, each with the row and column at which it begins.
fn tiles(matrix: MatMut<'_, f64>) -> Vec<(usize, usize, MatMut<'_, f64>)> {
    let mut tiles = Vec::new();
    let (rows, columns) = (matrix.nrows(), matrix.ncols());
    let mut below = matrix;
    for row in (0..rows).step_by(TILE) {
        let (mut right, rest) = below.split_at_row_mut(TILE.min(rows - row));
        for column in (0..columns).step_by(TILE) {
            let (tile, others) = right.split_at_col_mut(TILE.min(columns - column));
            tiles.push((row, column, tile));
            right = others;
        }
        below = rest;
    }
    tiles
}
