//! [`Mean`]: the mean of a stream.

use crate::{Features, Result};

/// The mean of vectors that come in pieces. The result does not depend on how they were cut.
#[derive(Clone, Debug)]
pub struct Mean {
    sums: Vec<f64>,
    rows: u64,
}

impl Mean {
    /// Of no vectors yet, of `dim` dimensions each.
    pub fn new(dim: usize) -> Self {
        Mean { sums: vec![0.0; dim], rows: 0 }
    }

    /// Adds some vectors.
    ///
    /// # Errors
    /// When they have another dimension.
    pub fn add(&mut self, features: Features<'_>) -> Result<()> {
        features.expect_dim(self.sums.len())?;
        for row in features.values().chunks_exact(self.sums.len()) {
            self.sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*value));
        }
        self.rows += features.len() as u64;
        Ok(())
    }

    /// The mean of what was added; zeros if nothing was.
    pub fn value(&self) -> Vec<f32> {
        let rows = self.rows.max(1) as f64;
        self.sums.iter().map(|sum| (sum / rows) as f32).collect()
    }
}
