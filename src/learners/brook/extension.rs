//! What further anchors would have added to sums that were made without them.

use super::embedding::Embedding;
use crate::linalg::Positive;
use crate::memory::NoRoom;

/// What keeps the estimate steady: a small part of the similarity of an anchor to itself.
const RIDGE: f64 = 1e-3;

/// How the numbers of further anchors follow from those of the ones there were: `q' = B^T q + d`.
pub(super) struct Extension {
    /// `B`, row-major: a row for each old anchor, a number for each new one.
    pub(super) by: Vec<f64>,
    pub(super) shift: Vec<f64>,
}

impl Extension {
    /// From the first `old` anchors of an embedding to all of them; `None` where there is no estimate.
    pub(super) fn of(embedding: &Embedding, old: usize) -> Result<Option<Self>, NoRoom> {
        let (all, width) = (embedding.between_anchors()?, embedding.width());
        let added = width - old;
        let at = |i: usize, j: usize| all[i * width + j];
        let ridge = |i: usize, j: usize| if i == j { RIDGE } else { 0.0 };
        let Some(factor) = Positive::factor(old, |i, j| at(i, j) + ridge(i, j))? else {
            return Ok(None);
        };
        let right: Vec<f64> = (0..old).flat_map(|i| (old..width).map(move |j| at(i, j))).collect();
        let by = factor.solve(&right, added)?;
        // Similarities are whole steps above their centre, before and after.
        let (center, step) = (embedding.centers(), embedding.step());
        let mut shift: Vec<f64> = center[old..].iter().map(|&c| -f64::from(c) / step).collect();
        for (row, &center) in by.chunks_exact(added).zip(center) {
            let sums = shift.iter_mut().zip(row);
            sums.for_each(|(shift, by)| *shift += by * f64::from(center) / step);
        }
        Ok(Some(Extension { by, shift }))
    }
}
