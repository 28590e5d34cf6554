//! Estimate of the sums for additional anchors, from sums that were computed without them.

use super::embedding::Embedding;
use crate::linalg::Positive;
use crate::memory::NoRoom;

/// Regularization of the estimate, as a share of the similarity of an anchor to itself.
const RIDGE: f64 = 1e-3;

/// Largest number of old anchors that the estimate uses. Similarity is so smooth that more of them
/// add little, and the cost grows with the square of their number.
const MOST_NODES: usize = 1024;

/// Linear prediction of the numbers of additional anchors from those of some old ones:
/// `q' = B^T q + d`.
pub(super) struct Extension {
    /// The old anchors that are used, in ascending order.
    pub(super) nodes: Vec<usize>,
    /// `B`, row-major: a row for each of `nodes`, a column for each additional anchor.
    pub(super) by: Vec<f64>,
    pub(super) shift: Vec<f64>,
}

impl Extension {
    /// Returns the extension of the first `old` anchors of an embedding to all of them. Returns
    /// `None` if it cannot be computed.
    pub(super) fn of(embedding: &Embedding, old: usize) -> Result<Option<Self>, NoRoom> {
        let width = embedding.width();
        let (count, added) = (old.min(MOST_NODES), width - old);
        let nodes: Vec<usize> = (0..count).map(|at| at * old / count).collect();
        let chosen: Vec<usize> = nodes.iter().copied().chain(old..width).collect();
        let between = embedding.between_anchors(&chosen)?;
        let at = |i: usize, j: usize| between[i * chosen.len() + j];
        let ridge = |i: usize, j: usize| if i == j { RIDGE } else { 0.0 };
        let Some(factor) = Positive::factor(count, |i, j| at(i, j) + ridge(i, j))? else {
            return Ok(None);
        };
        let right = (0..count).flat_map(|i| (count..chosen.len()).map(move |j| at(i, j)));
        let by = factor.solve(&right.collect::<Vec<f64>>(), added)?;
        // Similarities are stored as integer steps above their centre, for old and new anchors.
        let (center, step) = (embedding.centers(), embedding.step());
        let mut shift: Vec<f64> = center[old..].iter().map(|&c| -f64::from(c) / step).collect();
        for (row, &node) in by.chunks_exact(added).zip(&nodes) {
            let center = f64::from(center[node]) / step;
            shift.iter_mut().zip(row).for_each(|(shift, by)| *shift += by * center);
        }
        Ok(Some(Extension { nodes, by, shift }))
    }
}
