//! What all lifts have in common: how rows go through them.

use crate::{Error, Result};

/// How many rows are taken through all stages together, so that they stay in the cache.
pub(super) const ROWS_AT_ONCE: usize = 48;

/// Buffers that are used again from one handful of rows to the next.
#[derive(Default)]
pub(crate) struct LiftScratch {
    pub(super) floats: Vec<f32>,
    pub(super) products: Vec<f32>,
    pub(super) rows: Vec<i16>,
    pub(super) whole: Vec<i16>,
    pub(super) words: Vec<i32>,
}

/// Fails unless similarity falls with distance.
pub(super) fn check_gamma(gamma: f32) -> Result<()> {
    match gamma.is_finite() && gamma > 0.0 {
        true => Ok(()),
        false => Err(Error::parameter("gamma", "finite and above 0", gamma)),
    }
}
