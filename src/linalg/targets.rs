//! What a regression is solved for.

use faer::{Mat, MatRef};

use super::dense::multiply;

/// The columns to solve for. Where rows of `Y` repeat, as codes of one class do, there is one per
/// distinct row: 1 where `Y` has that row, otherwise 0. What `W` is follows from their solutions.
pub(super) struct Targets {
    /// Row after row.
    pub(super) values: Vec<f64>,
    /// How many columns there are.
    pub(super) count: usize,
    /// The distinct rows.
    distinct: Option<Mat<f64>>,
}

impl Targets {
    pub(super) fn plain(y: &[f64], columns: usize) -> Self {
        Targets { values: y.to_vec(), count: columns, distinct: None }
    }

    /// If there are no more than `most` distinct rows, and fewer than columns.
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

    /// `W` from the weights of the targets.
    pub(super) fn of_weights(&self, weights: MatRef<'_, f64>) -> Mat<f64> {
        match &self.distinct {
            None => weights.to_owned(),
            Some(distinct) => multiply(weights, distinct.as_ref()),
        }
    }
}
