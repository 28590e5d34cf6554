//! Rows of integers, in the form in which they are added up.

use rayon::prelude::*;

use crate::kernel::{LARGEST, nearest};

/// Largest number of rows that are buffered before they are added up.
pub(super) const BLOCK: usize = 2048;

/// Rows of integers: small numbers for the fast sum, and rows with larger numbers.
pub(super) struct WholeNumbers {
    pub(super) width: usize,
    pub(super) rows: Vec<i16>,
    /// The index and the numbers of each row that has larger numbers. Such a row is zero in `rows`.
    pub(super) large: Vec<(usize, Vec<f64>)>,
    /// With a half-life: the square root of each row's weight. The rows are multiplied by it.
    pub(super) roots: Option<Vec<f64>>,
}

impl WholeNumbers {
    /// Returns the same rows, each counting half as much as the row `half_life` rows later. The
    /// last row counts 1.
    ///
    /// A row with the weight `w` is multiplied by the root of `w`, so that its square is multiplied
    /// by `w`. The product is rounded again: the less a row counts, the coarser its steps. Rows of
    /// any age can then be added up together, in the fast sum. Adding them in groups of equal
    /// weight would require a pass over all sums for each group.
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

    /// Returns the square root of a row's weight.
    pub(super) fn root(&self, at: usize) -> f64 {
        self.roots.as_ref().map_or(1.0, |roots| roots[at])
    }

    /// Returns the index of the first row with enough weight to be rounded to nonzero numbers.
    pub(super) fn first_that_counts(&self) -> usize {
        let nothing = |root: &&f64| **root * f64::from(LARGEST) < 0.5;
        self.roots.as_ref().map_or(0, |roots| roots.iter().take_while(nothing).count())
    }

    /// Returns the rows of small numbers, with zeros for the other rows.
    pub(super) fn small(&self) -> &[i16] {
        &self.rows
    }

    pub(super) fn large(&self) -> &[(usize, Vec<f64>)] {
        &self.large
    }

    /// Returns a row of small numbers.
    pub(super) fn row(&self, at: usize) -> &[i16] {
        &self.rows[at * self.width..(at + 1) * self.width]
    }
}
