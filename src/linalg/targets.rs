//! Right-hand sides of a regression.

use faer::{Mat, MatRef};

use super::dense::multiply;

/// Columns to solve for. If few distinct rows occur in `Y`, as with one code per class, each
/// distinct row has one column: 1 for the rows of `Y` that equal it, otherwise 0. `W` is then
/// computed from the solutions of these columns.
pub(super) struct Targets {
    /// Values of the columns, row-major.
    pub(super) values: Vec<f64>,
    /// Number of columns.
    pub(super) count: usize,
    /// Distinct rows of `Y`; `None` if the columns are those of `Y`.
    distinct: Option<Mat<f64>>,
}

impl Targets {
    pub(super) fn plain(y: &[f64], columns: usize) -> Self {
        Targets { values: y.to_vec(), count: columns, distinct: None }
    }

    /// Returns one column per distinct row; `None` if the number of distinct rows is above `most`,
    /// or not below the number of columns.
    pub(super) fn of_distinct_rows(y: &[f64], columns: usize, most: usize) -> Option<Self> {
        let most = most.min(columns - 1);
        let mut distinct: Vec<&[f64]> = Vec::new();
        let mut which = Vec::with_capacity(y.len() / columns);
        for row in y.chunks_exact(columns) {
            let at = distinct.iter().position(|other| *other == row).unwrap_or(distinct.len());
            if at == distinct.len() {
                if at == most {
                    return None;
                }
                distinct.push(row);
            }
            which.push(at);
        }
        let count = distinct.len();
        let mut values = vec![0.0; which.len() * count];
        for (row, at) in values.chunks_exact_mut(count).zip(which) {
            row[at] = 1.0;
        }
        let distinct = Some(Mat::from_fn(count, columns, |i, j| distinct[i][j]));
        Some(Targets { values, count, distinct })
    }

    /// Returns `W`, computed from the weights of the targets.
    pub(super) fn of_weights(&self, weights: MatRef<'_, f64>) -> Mat<f64> {
        match &self.distinct {
            None => weights.to_owned(),
            Some(distinct) => multiply(weights, distinct.as_ref()),
        }
    }
}
