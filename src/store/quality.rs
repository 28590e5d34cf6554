//! How good search is: labelled items are queries before they are put in.

use std::collections::VecDeque;

use super::answer::Quality;
use crate::{Codes, Labels, Result, Snapshot};

/// How many of the nearest are looked at.
const NEAREST: usize = 10;

/// How many queries the mean is taken of.
const QUERIES: usize = 1000;

/// How many items of one change are queries, so that this takes little time.
const OF_A_CHANGE: usize = 16;

/// The last queries.
#[derive(Default)]
pub(super) struct Window {
    precisions: VecDeque<f64>,
    /// The share of a sample of items that have the most frequent code.
    pub(super) same_code: Option<f64>,
}

impl Window {
    pub(super) fn quality(&self) -> Quality {
        let queries = self.precisions.len();
        let mean = (queries > 0).then(|| self.precisions.iter().sum::<f64>() / queries as f64);
        Quality { precision_at_10: mean, queries, same_code: self.same_code }
    }

    /// Searches with some of the items that are about to be put in.
    pub(super) fn look(
        &mut self,
        index: &Snapshot,
        ids: &[u64],
        codes: &Codes,
        labels: Labels<'_>,
    ) -> Result<()> {
        if index.is_empty() {
            return Ok(());
        }
        let labelled: Vec<usize> =
            (0..ids.len()).filter(|&row| !labels.row(row).is_empty()).collect();
        let step = labelled.len().div_ceil(OF_A_CHANGE).max(1);
        let rows: Vec<usize> = labelled.into_iter().step_by(step).collect();
        if rows.is_empty() {
            return Ok(());
        }
        // One more, since an item that gets other labels is there itself.
        let found = index.search_codes(&codes.select(&rows), NEAREST + 1)?;
        for (&row, hits) in rows.iter().zip(found.iter()) {
            let others = hits.iter().map(|hit| hit.id).filter(|&id| id != ids[row]);
            let others: Vec<u64> = others.take(NEAREST).collect();
            let same = |with: &&[u32]| with.iter().any(|label| labels.row(row).contains(label));
            let right = index.labels_of(&others)?.iter().filter(|with| same(with)).count();
            self.precisions.push_back(right as f64 / others.len().max(1) as f64);
        }
        while self.precisions.len() > QUERIES {
            self.precisions.pop_front();
        }
        Ok(())
    }
}
