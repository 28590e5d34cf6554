//! Description of a model, without its learned state.

use serde::{Deserialize, Serialize};

use super::preparation::Scale;
use crate::batch::MAX_DIM;
use crate::codes::check_bits;
use crate::{Error, Method, Result};

/// Description of a model in its file, without the arrays.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Description {
    pub(super) method: Method,
    pub(super) dim: usize,
    pub(super) bits: usize,
    pub(super) seed: u64,
    /// True if the centre is computed from the warm-up rows.
    pub(super) center_first: bool,
    /// Absent in files of the first version.
    #[serde(default)]
    pub(super) scale: Scale,
    pub(super) unit: bool,
    pub(super) warmup: usize,
    /// True if the user chose the number of warm-up rows.
    #[serde(default)]
    pub(super) warmup_chosen: bool,
    pub(super) seen: u64,
    pub(super) batches: u64,
}

/// Fails unless the dimension and the code length are supported.
pub(super) fn check_shape(dim: usize, bits: usize) -> Result<()> {
    check_bits(bits)?;
    match (1..=MAX_DIM).contains(&dim) {
        true => Ok(()),
        false => Err(Error::parameter("dim", format!("from 1 to {MAX_DIM}"), dim)),
    }
}
