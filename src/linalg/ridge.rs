//! Ridge regression, solved directly in double precision or by iterative refinement.
//!
//! Most of the time goes into `X^T X`, which takes half as long in single precision. A
//! single-precision solution is good to five or six digits. Its residual is computed in double
//! precision, by products of `X` with a few columns. Solving for the residual with the same factor
//! gives the next five digits. This repeats until the solution no longer changes. If it does not
//! converge, the system is solved directly.
//!
//! # Why is W solved to double precision, and how?
//!
//! Codes depend on signs. A regression in single precision moves W by 1e-6 or more, which flips
//! about one bit in a million, and fails if features are not scaled. With a regression in double
//! precision the golden cases hold, although vectors, W and projections are in single precision.
//!
//! Only the result must be that precise. This module computes `X^T X` and its Cholesky factor in
//! single precision, in half the time. It then repeats two steps until W is accurate to 1e-11 (two
//! corrections on MNIST): compute the residual of the targets in double precision
//! (`kernel/narrow.rs`), and solve for the residual with the same factor. Each correction costs two
//! products of `X` with as many columns as there are targets. The targets are few: `bsodh` gives
//! one code to all rows of a class, so one solution per distinct code is enough.
//!
//! Everything is done in double precision if there are too many columns for refinement to pay off,
//! if the ridge is too small for single precision, or if corrections do not shrink tenfold each
//! time. The choice and the division of sums depend on the batch alone, so the number of threads
//! does not matter (`cargo bench --bench core -- learn` times both ways).

use std::ops::RangeInclusive;

use faer::{ColRef, Mat, MatRef};
use rayon::prelude::*;

use super::dense::{Positive, cholesky, multiply, row_major, shifted_gram, solve};
use super::targets::Targets;
use crate::kernel::{add_transposed_times, squared_norm, times_columns};
use crate::memory::{NoRoom, expect_room};

/// Largest error of `W`, relative to the length of each column: far below the rounding error of
/// `f32`.
const TOLERANCE: f64 = 1e-11;

/// Maximum number of corrections.
const MOST_CORRECTIONS: usize = 5;

/// Largest allowed ratio of a correction to the previous correction. Above this ratio, the factor
/// is too inaccurate.
const LEAST_GAIN: f64 = 0.1;

/// Minimum number of equations for each column to solve for, so that refinement pays off.
const SIZE_PER_COLUMN: usize = 32;

/// Largest allowed ratio of the sum of all squares to the ridge. Above this ratio, the factor is
/// too inaccurate.
const MOST_STRETCH: f64 = 1e8;

/// Ridges for which the range of single precision suffices.
const RIDGES: RangeInclusive<f64> = 1e-12..=1e12;

/// Number of rows that stay in the cache while all columns are multiplied.
const BLOCK: usize = 64;

/// Method by which a regression is solved.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Regression {
    /// Refinement if it is likely to be faster, otherwise the direct solution.
    #[default]
    Quicker,
    /// Direct solution, in double precision throughout.
    Direct,
    /// Refinement for any size; the direct solution if refinement does not converge.
    Refined,
}

/// The problem `min ||X W - Y||^2 + ridge ||W||^2`, for `X` with rows of `dim` numbers and `Y` with
/// rows of `columns` numbers.
#[derive(Clone, Copy)]
pub(crate) struct Ridge<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) dim: usize,
    pub(crate) y: &'a [f64],
    pub(crate) columns: usize,
    pub(crate) ridge: f64,
}

impl Ridge<'_> {
    /// Returns the `W` (dim x columns) that minimises the sum.
    ///
    /// Solves the smaller of the two forms: over the dimensions if there are at least as many rows,
    /// `(X^T X + ridge I) W = X^T Y`, and over the rows if there are fewer,
    /// `W = X^T (X X^T + ridge I)^-1 Y`. Returns `None` if the system has no Cholesky factor or the
    /// result is not finite.
    pub(crate) fn solve(&self, way: Regression) -> Result<Option<Vec<f32>>, NoRoom> {
        let numbers = self.size().saturating_mul(self.size().saturating_add(self.columns));
        expect_room(self.x.len().saturating_add(numbers))?;
        let solved = match self.refined(way)? {
            Some(refined) => Some(refined),
            None => self.direct()?,
        };
        let Some(w) = solved else { return Ok(None) };
        let w: Vec<f32> = row_major(w.as_ref()).map(|value| value as f32).collect();
        Ok(w.iter().all(|value| value.is_finite()).then_some(w))
    }

    fn rows(&self) -> usize {
        self.x.len() / self.dim
    }

    /// Returns the number of equations of the smaller form.
    fn size(&self) -> usize {
        self.rows().min(self.dim)
    }

    fn over_rows(&self) -> bool {
        self.rows() < self.dim
    }

    fn direct(&self) -> Result<Option<Mat<f64>>, NoRoom> {
        let x: Vec<f64> = self.x.iter().map(|&value| f64::from(value)).collect();
        let x = MatRef::from_row_major_slice(&x, self.rows(), self.dim);
        let y = MatRef::from_row_major_slice(self.y, self.rows(), self.columns);
        Ok(if self.over_rows() {
            solve(shifted_gram(x, self.ridge)?, y.to_owned())
                .map(|solved| multiply(x.transpose(), solved.as_ref()))
        } else {
            solve(shifted_gram(x.transpose(), self.ridge)?, multiply(x.transpose(), y))
        })
    }

    /// Returns the refined solution; `None` if refinement does not pay off or does not converge.
    fn refined(&self, way: Regression) -> Result<Option<Mat<f64>>, NoRoom> {
        let most = match way {
            Regression::Direct => return Ok(None),
            Regression::Quicker => self.size() / SIZE_PER_COLUMN,
            Regression::Refined => usize::MAX,
        };
        if most == 0 || self.size() == 0 {
            return Ok(None);
        }
        let targets = match Targets::of_distinct_rows(self.y, self.columns, most) {
            Some(targets) => targets,
            None if self.columns <= most => Targets::plain(self.y, self.columns),
            None => return Ok(None),
        };
        let stretch = squared_norm(self.x) / self.ridge;
        if !RIDGES.contains(&self.ridge) || stretch > MOST_STRETCH {
            return Ok(None);
        }
        let Some(factor) = self.coarse_factor()? else { return Ok(None) };
        Ok(self.refine(&factor, &targets))
    }

    /// Returns the Cholesky factor of the system, in single precision.
    fn coarse_factor(&self) -> Result<Option<Positive<f32>>, NoRoom> {
        let x = MatRef::from_row_major_slice(self.x, self.rows(), self.dim);
        let x = if self.over_rows() { x } else { x.transpose() };
        Ok(cholesky(shifted_gram(x, self.ridge as f32)?))
    }

    fn refine(&self, factor: &Positive<f32>, targets: &Targets) -> Option<Mat<f64>> {
        let count = targets.count;
        // Weights are stored by columns and duals by rows, as the products require.
        let mut weights = vec![0.0; count * self.dim];
        let mut duals = vec![0.0; if self.over_rows() { self.rows() * count } else { 0 }];
        let mut result = Mat::zeros(self.dim, self.columns);
        let mut last_change = f64::INFINITY;
        for step in 0..=MOST_CORRECTIONS {
            let misfit = match step {
                0 => targets.values.clone(),
                _ => self.misfit(targets, &weights),
            };
            if self.over_rows() {
                let mut residual = misfit;
                subtract(&mut residual, self.ridge, &duals);
                let residual = MatRef::from_row_major_slice(&residual, self.rows(), count);
                let correction = coarse_solution(factor, residual);
                let places = duals.iter_mut().zip(row_major(correction.as_ref()));
                places.for_each(|(dual, more)| *dual += more);
                weights = self.transposed_product(&duals, count);
            } else {
                let mut residual = self.transposed_product(&misfit, count);
                subtract(&mut residual, self.ridge, &weights);
                let residual = MatRef::from_column_major_slice(&residual, self.dim, count);
                let correction = coarse_solution(factor, residual);
                let places = weights.iter_mut().zip(row_major(correction.transpose()));
                places.for_each(|(weight, more)| *weight += more);
            }
            let weights = MatRef::from_column_major_slice(&weights, self.dim, count);
            let moved = targets.of_weights(weights);
            let change = largest_change(moved.as_ref(), result.as_ref());
            result = moved;
            if step == 0 {
                last_change = 1.0;
                continue;
            }
            // Corrections shrink by about the same factor each time, so this product estimates the
            // next one.
            if change * (change / last_change).min(1.0) <= TOLERANCE {
                return Some(result);
            }
            if change.is_nan() || change > LEAST_GAIN * last_change {
                return None;
            }
            last_change = change;
        }
        None
    }

    /// Returns the residual of the targets for these weights, row after row.
    fn misfit(&self, targets: &Targets, weights: &[f64]) -> Vec<f64> {
        let count = targets.count;
        let mut out = vec![0.0; targets.values.len()];
        out.par_chunks_mut(BLOCK * count)
            .zip(self.x.par_chunks(BLOCK * self.dim))
            .zip(targets.values.par_chunks(BLOCK * count))
            .for_each(|((out, x), targets)| {
                times_columns(x, self.dim, weights, out);
                out.iter_mut().zip(targets).for_each(|(out, target)| *out = target - *out);
            });
        out
    }

    /// Returns `X^T V` by columns, for `V` with rows of `count` numbers.
    fn transposed_product(&self, values: &[f64], count: usize) -> Vec<f64> {
        // There are few parts, because each needs its own sums. Their size depends only on the
        // number of rows, so that the total does not depend on the number of threads.
        let part = self.rows().div_ceil(16).next_multiple_of(BLOCK).max(4 * BLOCK);
        let sums: Vec<Vec<f64>> = (self.x.par_chunks(part * self.dim))
            .zip(values.par_chunks(part * count))
            .map(|(x, values)| {
                let mut sums = vec![0.0; count * self.dim];
                for (x, values) in x.chunks(BLOCK * self.dim).zip(values.chunks(BLOCK * count)) {
                    add_transposed_times(x, self.dim, values, &mut sums);
                }
                sums
            })
            .collect();
        let mut sums = sums.into_iter();
        let mut total = sums.next().unwrap_or_default();
        for sums in sums {
            total.iter_mut().zip(&sums).for_each(|(total, sum)| *total += sum);
        }
        total
    }
}

/// Computes `residual -= ridge * values`.
fn subtract(residual: &mut [f64], ridge: f64, values: &[f64]) {
    residual.iter_mut().zip(values).for_each(|(residual, value)| *residual -= ridge * value);
}

/// Solves the system for the columns of `right` in single precision. Columns are first scaled to
/// the range of single precision, because corrections become very small.
fn coarse_solution(factor: &Positive<f32>, right: MatRef<'_, f64>) -> Mat<f64> {
    let largest =
        |column: ColRef<'_, f64>| column.iter().fold(0.0f64, |m, value| m.max(value.abs()));
    let scales: Vec<f64> =
        right.col_iter().map(largest).map(|scale| if scale > 0.0 { scale } else { 1.0 }).collect();
    let (rows, columns) = right.shape();
    let mut solution = Mat::from_fn(rows, columns, |i, j| (right[(i, j)] / scales[j]) as f32);
    factor.solve_in_place(solution.as_mut());
    Mat::from_fn(rows, columns, |i, j| f64::from(solution[(i, j)]) * scales[j])
}

/// Returns the largest change of a column, relative to its length.
fn largest_change(new: MatRef<'_, f64>, old: MatRef<'_, f64>) -> f64 {
    let columns = new.col_iter().zip(old.col_iter()).map(|(new, old)| {
        let length = new.iter().map(|value| value * value).sum::<f64>();
        let moved = new.iter().zip(old.iter()).map(|(new, old)| (new - old).powi(2)).sum::<f64>();
        // A column that stays all zero has not moved.
        if moved == 0.0 { 0.0 } else { (moved / length).sqrt() }
    });
    // Not `f64::max`, which would ignore NaN.
    columns.fold(0.0, |largest, change| if change <= largest { largest } else { change })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    /// A problem that owns its numbers.
    struct Owned {
        x: Vec<f32>,
        dim: usize,
        y: Vec<f64>,
        columns: usize,
        ridge: f64,
    }

    impl Owned {
        /// Draws targets from `classes` codes, or a separate code for each row if `classes` is 0.
        /// The squares of `x` add up to `stretch` times the ridge.
        fn new(
            (rows, dim, columns): (usize, usize, usize),
            classes: usize,
            (scale, stretch): (f64, f64),
            seed: u64,
        ) -> Self {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut draw =
                |n: usize| -> Vec<f64> { (0..n).map(|_| rng.random_range(-1.0..1.0)).collect() };
            let x: Vec<f32> = draw(rows * dim).iter().map(|v| (v * scale) as f32).collect();
            let code =
                |values: Vec<f64>| values.into_iter().map(|v| if v > 0.0 { 1.0 } else { -1.0 });
            let y: Vec<f64> = if classes == 0 {
                code(draw(rows * columns)).collect()
            } else {
                let codes: Vec<f64> = code(draw(classes * columns)).collect();
                let class = |row: usize| row * 7 % classes * columns;
                (0..rows).flat_map(|row| &codes[class(row)..][..columns]).copied().collect()
            };
            let ridge = (squared_norm(&x) / stretch).max(f64::MIN_POSITIVE);
            Owned { x, dim, y, columns, ridge }
        }

        fn view(&self) -> Ridge<'_> {
            let Owned { x, dim, y, columns, ridge } = self;
            Ridge { x, dim: *dim, y, columns: *columns, ridge: *ridge }
        }

        /// Returns the change from the direct solution to the refined solution; `None` if
        /// refinement fails.
        fn distance(&self) -> Option<f64> {
            let refined = self.view().refined(Regression::Refined).unwrap()?;
            let direct = self.view().direct().unwrap().unwrap();
            Some(largest_change(refined.as_ref(), direct.as_ref()))
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

        #[test]
        fn refined_is_the_direct_solution(
            shape in (1..120usize, 1..90usize, 1..12usize),
            classes in 0..9usize,
            exponent in -3..5i32,
            stretch in 0.0..5.0,
            seed: u64,
        ) {
            let size = (10f64.powi(exponent), 10f64.powf(stretch));
            let distance = Owned::new(shape, classes, size, seed).distance();
            // All of these problems are within the range of single precision.
            prop_assert!(distance.is_some_and(|distance| distance <= 1e-10), "{:?}", distance);
        }

        #[test]
        fn whatever_the_scale_the_result_is_that_of_the_direct_way(
            shape in (1..60usize, 1..60usize, 1..8usize),
            classes in 0..5usize,
            exponent in -44..38i32,
            stretch in -10.0..20.0,
            seed: u64,
        ) {
            let size = (10f64.powi(exponent), 10f64.powf(stretch));
            let problem = Owned::new(shape, classes, size, seed);
            // If the ridge is tiny, the direct solution loses more digits in double precision than
            // the refined solution does.
            let allowed = 1e-10 + 1e-15 * 10f64.powf(stretch);
            if let Some(distance) = problem.distance() {
                prop_assert!(distance <= allowed, "{}", distance);
            }
            let [refined, direct] = [Regression::Refined, Regression::Direct]
                .map(|way| problem.view().solve(way).unwrap().is_some());
            prop_assert_eq!(refined, direct);
        }
    }

    #[test]
    fn columns_that_hardly_differ_are_solved_directly() {
        for (rows, dim) in [(200, 40), (40, 200)] {
            let mut problem = Owned::new((rows, dim, 6), 3, (1.0, 1e7), 1);
            assert!(problem.distance().is_some_and(|distance| distance <= 1e-10));
            for row in problem.x.chunks_exact_mut(dim) {
                for i in 1..dim {
                    row[i] = row[0] * (1.0 + i as f32 * 1e-6);
                }
            }
            // Only the ridge distinguishes the columns, and single precision hardly resolves it.
            for ridge in [1e-2, 1e-4, 1e-6, 1e-9] {
                problem.ridge = ridge;
                let distance = problem.distance();
                let allowed = 1e-10 + 1e-15 * squared_norm(&problem.x) / ridge;
                assert!(distance.is_none_or(|distance| distance <= allowed), "{distance:?}");
            }
            assert!(problem.view().refined(Regression::Refined).unwrap().is_none());
            let [refined, direct] = [Regression::Refined, Regression::Direct]
                .map(|way| problem.view().solve(way).unwrap());
            assert!(refined.is_some() && refined == direct);
        }
    }

    #[test]
    fn refining_is_chosen_by_size_and_distinct_targets() {
        let chosen = |shape, classes| {
            let problem = Owned::new(shape, classes, (1.0, 100.0), 2);
            problem.view().refined(Regression::Quicker).unwrap().is_some()
        };
        assert!(chosen((200, 160, 16), 5) && chosen((160, 200, 16), 5));
        assert!(chosen((200, 160, 5), 0));
        assert!(!chosen((200, 160, 16), 0) && !chosen((200, 120, 16), 5));
        let problem = Owned::new((200, 160, 16), 5, (1.0, 100.0), 2);
        assert!(problem.view().refined(Regression::Direct).unwrap().is_none());
        let nothing = Ridge { x: &[], dim: 3, y: &[], columns: 2, ridge: 1.0 };
        assert_eq!(nothing.solve(Regression::Refined).unwrap(), Some(vec![0.0; 6]));
    }

    #[test]
    fn threads_do_not_matter() {
        for shape in [(1500, 300, 20), (290, 700, 20)] {
            let problem = Owned::new(shape, 9, (1.0, 1000.0), 3);
            let [one, three] = [1, 3].map(|threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| problem.view().refined(Regression::Quicker).unwrap().unwrap())
            });
            assert!(one == three);
        }
    }
}
