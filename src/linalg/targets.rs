//! Right-hand sides of a regression.

use faer::{Mat, MatRef};

use super::dense::multiply;

/// Columns to solve for. If rows of `Y` repeat, as codes of one class do, there is one column per
/// distinct row: 1 where `Y` has that row, otherwise 0. `W` is then computed from the solutions of
/// these columns.
pub(super) struct Targets {
    /// Numbers of the columns, row after row.
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

    /// Returns one column per distinct row; `None` if there are more than `most` distinct rows, or
    /// at least as many as columns.
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
