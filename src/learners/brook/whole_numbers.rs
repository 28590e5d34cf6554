//! Rows as they are added up: whole numbers.

use rayon::prelude::*;

use crate::kernel::{LARGEST, nearest};

/// How many rows are gathered before they are added up, at most.
pub(super) const BLOCK: usize = 2048;

/// Rows of whole numbers: those that fit the fast sum, and those that do not.
pub(super) struct WholeNumbers {
    pub(super) width: usize,
    pub(super) rows: Vec<i16>,
    /// The place of each row that has larger numbers, and the numbers; zeros stand in `rows`.
    pub(super) large: Vec<(usize, Vec<f64>)>,
    /// With a half-life: the square root of what each row counts. The rows are multiplied by it.
    pub(super) roots: Option<Vec<f64>>,
}

impl WholeNumbers {
    /// The same rows, each counting half as much as the one that came `half_life` rows later; the
    /// last counts 1.
    ///
    /// A row that counts `w` is multiplied by the root of `w`, so that its square is `w` times what
    /// it was, and rounded again: the less a row counts, the coarser are its steps. So rows of any
    /// age are added up together, in the fast sum. To add them up in parts that count alike, all of
    /// the sums would have to be gone through for each part.
    pub(super) fn aged(mut self, half_life: f64) -> Self {
        let count = self.rows.len() / self.width;
        let root = |at: usize| (-0.5 * (count - 1 - at) as f64 / half_life).exp2();
        let roots: Vec<f64> = (0..count).map(root).collect();
        self.rows.par_chunks_exact_mut(self.width).zip(&roots).for_each(|(row, &root)| {
            let root = root as f32;
            row.iter_mut().for_each(|value| *value = nearest(f32::from(*value) * root));
        });
        for (at, row) in &mut self.large {
            row.iter_mut().for_each(|value| *value *= roots[*at]);
        }
        self.roots = Some(roots);
        self
    }

    /// The square root of what a row counts.
    pub(super) fn root(&self, at: usize) -> f64 {
        self.roots.as_ref().map_or(1.0, |roots| roots[at])
    }

    /// The first row that is not rounded to nothing, however large its numbers.
    pub(super) fn first_that_counts(&self) -> usize {
        let nothing = |root: &&f64| **root * f64::from(LARGEST) < 0.5;
        self.roots.as_ref().map_or(0, |roots| roots.iter().take_while(nothing).count())
    }

    /// The rows that fit, zeros for those that do not.
    pub(super) fn small(&self) -> &[i16] {
        &self.rows
    }

    pub(super) fn large(&self) -> &[(usize, Vec<f64>)] {
        &self.large
    }

    /// One of the rows that fit.
    pub(super) fn row(&self, at: usize) -> &[i16] {
        &self.rows[at * self.width..(at + 1) * self.width]
    }
}
