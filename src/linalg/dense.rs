//! Products, factors and eigenvectors of dense matrices.

use std::ops::AddAssign;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::cholesky::llt::solve::solve_in_place;
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{BlockStructure, matmul as triangular_matmul};
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::traits::RealField;
use faer::{Accum, Mat, MatMut, MatRef, Par, Side};
use rayon::prelude::*;

use crate::memory::{NoRoom, expect_room};

/// Side length of the tiles that are divided among threads.
const TILE: usize = 256;

/// The Cholesky factor of a symmetric positive definite matrix, in its lower triangle.
pub(crate) struct Positive<T = f64>(Mat<T>);

impl Positive {
    /// Factors the matrix with these entries; `entry` is called on and below the diagonal. Returns
    /// `None` if the matrix is not positive definite.
    pub(crate) fn factor(
        size: usize,
        entry: impl Fn(usize, usize) -> f64 + Sync,
    ) -> Result<Option<Self>, NoRoom> {
        let mut matrix = zeros(size, size)?;
        tiles(matrix.as_mut()).into_par_iter().for_each(|(row, column, mut tile)| {
            for j in 0..tile.ncols() {
                for i in (column + j).saturating_sub(row)..tile.nrows() {
                    tile[(i, j)] = entry(row + i, column + j);
                }
            }
        });
        Ok(cholesky(matrix))
    }

    /// Solves `A Z = B`, for `B` with rows of `columns` numbers.
    pub(crate) fn solve(&self, right: &[f64], columns: usize) -> Result<Vec<f64>, NoRoom> {
        let right = MatRef::from_row_major_slice(right, right.len() / columns, columns);
        let mut solution = zeros(right.nrows(), columns)?;
        solution.copy_from(right);
        self.solve_in_place(solution.as_mut());
        Ok(row_major(solution.as_ref()).collect())
    }

    /// Solves `L Z = B` for the factor `L` of `A = L L^T`, and `B` with rows of `columns` numbers.
    pub(crate) fn solve_lower(&self, right: &[f64], columns: usize) -> Result<Vec<f64>, NoRoom> {
        let right = MatRef::from_row_major_slice(right, right.len() / columns, columns);
        let mut solution = zeros(right.nrows(), columns)?;
        solution.copy_from(right);
        solve_lower_triangular_in_place(self.0.as_ref(), solution.as_mut(), Par::Seq);
        Ok(row_major(solution.as_ref()).collect())
    }

    /// Solves `L^T Z = B`.
    pub(crate) fn solve_upper(&self, right: &[f64], columns: usize) -> Result<Vec<f64>, NoRoom> {
        let right = MatRef::from_row_major_slice(right, right.len() / columns, columns);
        let mut solution = zeros(right.nrows(), columns)?;
        solution.copy_from(right);
        solve_upper_triangular_in_place(self.0.transpose(), solution.as_mut(), Par::Seq);
        Ok(row_major(solution.as_ref()).collect())
    }
}

impl<T: RealField> Positive<T> {
    pub(super) fn solve_in_place(&self, right: MatMut<'_, T>) {
        solve_in_place(self.0.as_ref(), right, Par::Seq, MemStack::new(&mut []));
    }
}

/// Factors a matrix in place, from its lower triangle: memory for a copy may be unavailable.
pub(super) fn cholesky<T: RealField>(mut matrix: Mat<T>) -> Option<Positive<T>> {
    let scratch = cholesky_in_place_scratch::<T>(matrix.nrows(), Par::Seq, Default::default());
    let mut scratch = MemBuffer::new(scratch);
    let stack = MemStack::new(&mut scratch);
    let (by, how) = (Default::default(), Default::default());
    cholesky_in_place(matrix.as_mut(), by, Par::Seq, stack, how).ok()?;
    Some(Positive(matrix))
}

/// Returns `A B`, for `A` with rows of `inner` numbers and `B` with rows of `columns` numbers.
pub(crate) fn product(a: &[f64], inner: usize, b: &[f64], columns: usize) -> Vec<f64> {
    let a = MatRef::from_row_major_slice(a, a.len() / inner, inner);
    let b = MatRef::from_row_major_slice(b, inner, columns);
    row_major(multiply(a, b).as_ref()).collect()
}

/// Returns `A^T B`, for `A` with rows of `left` numbers and `B` with rows of `right` numbers.
pub(crate) fn transposed_product(a: &[f64], left: usize, b: &[f64], right: usize) -> Vec<f64> {
    let a = MatRef::from_row_major_slice(a, a.len() / left, left);
    let b = MatRef::from_row_major_slice(b, b.len() / right, right);
    row_major(multiply(a.transpose(), b).as_ref()).collect()
}

/// Returns an inner product, computed in eight partial sums so that it is vectorised with the same
/// result everywhere.
pub(crate) fn dot(left: &[f64], right: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let ((left, left_rest), (right, right_rest)) = (left.as_chunks::<8>(), right.as_chunks::<8>());
    for (left, right) in left.iter().zip(right) {
        for lane in 0..8 {
            sums[lane] += left[lane] * right[lane];
        }
    }
    let rest: f64 = left_rest.iter().zip(right_rest).map(|(left, right)| left * right).sum();
    sums.iter().sum::<f64>() + rest
}

/// Eigenvalues, and eigenvectors as columns.
pub(crate) type Eigen = (Vec<f64>, Mat<f64>);

/// Returns the eigenvalues of `A A^T`, the largest first, and its eigenvectors as columns in the
/// same order, for `A` with rows of `columns` numbers. Returns `None` if the decomposition fails.
pub(crate) fn symmetric_eigen(a: &[f64], columns: usize) -> Result<Option<Eigen>, NoRoom> {
    let a = MatRef::from_row_major_slice(a, a.len() / columns, columns);
    // Memory for the matrix, its eigenvectors, their copy in order, and the decomposition itself.
    expect_room(a.nrows().saturating_mul(a.nrows()).saturating_mul(4))?;
    Ok(eigen(shifted_gram(a, 0.0)?.as_ref()))
}

/// Returns the eigenvalues and eigenvectors of a symmetric matrix in the form of
/// [`symmetric_eigen`]. Only the lower triangle is read.
pub(crate) fn eigen_of_symmetric(matrix: &[f64]) -> Result<Option<Eigen>, NoRoom> {
    let size = matrix.len().isqrt();
    expect_room(matrix.len().saturating_mul(3))?;
    Ok(eigen(MatRef::from_row_major_slice(matrix, size, size)))
}

fn eigen(matrix: MatRef<'_, f64>) -> Option<Eigen> {
    let eigen = matrix.self_adjoint_eigen(Side::Lower).ok()?;
    let mut values: Vec<f64> = eigen.S().column_vector().iter().copied().collect();
    values.reverse();
    Some((values, eigen.U().reverse_cols().to_owned()))
}

/// Returns a square matrix with orthonormal columns, computed from a matrix of independent Gaussian
/// numbers. Every direction is equally likely.
pub(crate) fn orthonormal_columns(gaussian: &[f64], size: usize) -> Vec<f64> {
    let factors = MatRef::from_row_major_slice(gaussian, size, size).qr();
    let (mut q, r) = (factors.compute_Q(), factors.R());
    for j in 0..size {
        // The factorisation determines the signs; this makes them as random as the matrix.
        if r[(j, j)] < 0.0 {
            q.col_mut(j).iter_mut().for_each(|value| *value = -*value);
        }
    }
    row_major(q.as_ref()).collect()
}

/// Returns the eigenvectors of `A^T A` as columns, that of the largest eigenvalue first, for `A`
/// with rows of `columns` numbers. Returns the identity if the decomposition fails.
pub(crate) fn principal_axes(a: &[f64], columns: usize) -> Result<Vec<f64>, NoRoom> {
    let a = MatRef::from_row_major_slice(a, a.len() / columns, columns);
    let Ok(eigen) = shifted_gram(a.transpose(), 0.0)?.self_adjoint_eigen(Side::Lower) else {
        return Ok(row_major(Mat::<f64>::identity(columns, columns).as_ref()).collect());
    };
    Ok(row_major(eigen.U().reverse_cols()).collect())
}

/// Returns the rotation `R` for which `tr(R^T M)` is largest; `None` if the decomposition fails.
pub(crate) fn nearest_rotation(square: &[f64]) -> Option<Vec<f64>> {
    let size = square.len().isqrt();
    let svd = MatRef::from_row_major_slice(square, size, size).svd().ok()?;
    Some(row_major(multiply(svd.U(), svd.V().transpose()).as_ref()).collect())
}

pub(super) fn row_major(matrix: MatRef<'_, f64>) -> impl Iterator<Item = f64> {
    (0..matrix.nrows()).flat_map(move |i| (0..matrix.ncols()).map(move |j| matrix[(i, j)]))
}

pub(super) fn multiply(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let mut out = Mat::zeros(a.nrows(), b.ncols());
    tiles(out.as_mut()).into_par_iter().for_each(|(row, column, tile)| {
        let left = a.subrows(row, tile.nrows());
        let right = b.subcols(column, tile.ncols());
        matmul(tile, Accum::Replace, left, right, 1.0, Par::Seq);
    });
    out
}

/// Returns the lower triangle of `A A^T + shift I`.
pub(super) fn shifted_gram<T: RealField + From<f32> + AddAssign>(
    a: MatRef<'_, T>,
    shift: T,
) -> Result<Mat<T>, NoRoom> {
    let mut out = zeros(a.nrows(), a.nrows())?;
    tiles(out.as_mut()).into_par_iter().filter(|(row, column, _)| column <= row).for_each(
        |(row, column, tile)| {
            let left = a.subrows(row, tile.nrows());
            let right = a.subrows(column, tile.ncols()).transpose();
            let full = BlockStructure::Rectangular;
            let shape = if row == column { BlockStructure::TriangularLower } else { full };
            triangular_matmul(
                tile,
                shape,
                Accum::Replace,
                left,
                full,
                right,
                full,
                T::from(1.0),
                Par::Seq,
            );
        },
    );
    out.diagonal_mut().column_vector_mut().iter_mut().for_each(|value| *value += shift.clone());
    Ok(out)
}

/// Solves `A Z = B` from the lower triangle of a positive definite `A`.
pub(super) fn solve(matrix: Mat<f64>, mut right: Mat<f64>) -> Option<Mat<f64>> {
    cholesky(matrix)?.solve_in_place(right.as_mut());
    Some(right)
}

/// Returns a matrix of zeros; fails if the allocation fails.
pub(super) fn zeros<T: RealField>(rows: usize, columns: usize) -> Result<Mat<T>, NoRoom> {
    let mut matrix = Mat::new();
    let room = matrix.try_reserve(rows, columns);
    room.map_err(|_| {
        let numbers = (rows as u64).saturating_mul(columns as u64);
        NoRoom { bytes: numbers.saturating_mul(size_of::<T>() as u64) }
    })?;
    matrix.resize_with(rows, columns, |_, _| T::zero_impl());
    Ok(matrix)
}

/// Cuts a matrix into tiles, each with the row and column at which it begins.
pub(super) fn tiles<T>(matrix: MatMut<'_, T>) -> Vec<(usize, usize, MatMut<'_, T>)> {
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
