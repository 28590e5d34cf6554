//! Code shared by all lifts.

use crate::{Error, Result};

/// Number of rows that pass through all stages together, so that they stay in the cache.
pub(super) const ROWS_AT_ONCE: usize = 48;

/// Buffers reused for successive groups of rows.
#[derive(Default)]
pub(crate) struct LiftScratch {
    pub(super) floats: Vec<f32>,
    pub(super) products: Vec<f32>,
    pub(super) rows: Vec<i16>,
    pub(super) whole: Vec<i16>,
    pub(super) words: Vec<i32>,
}

/// Fails unless `gamma` is finite and above 0, so that similarity falls with distance.
pub(super) fn check_gamma(gamma: f32) -> Result<()> {
    match gamma.is_finite() && gamma > 0.0 {
        true => Ok(()),
        false => Err(Error::parameter("gamma", "finite and above 0", gamma)),
    }
}
