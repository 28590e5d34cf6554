//! What a model is, besides what it has learned.

use serde::{Deserialize, Serialize};

use super::preparation::Scale;
use crate::batch::MAX_DIM;
use crate::codes::check_bits;
use crate::{Error, Method, Result};

/// What a model file says of the model besides its arrays.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Description {
    pub(super) method: Method,
    pub(super) dim: usize,
    pub(super) bits: usize,
    pub(super) seed: u64,
    /// Whether the centre comes, or came, from the warm-up.
    pub(super) center_first: bool,
    /// The first version had none.
    #[serde(default)]
    pub(super) scale: Scale,
    pub(super) unit: bool,
    pub(super) warmup: usize,
    /// The user gave the number of rows to warm up with.
    #[serde(default)]
    pub(super) warmup_chosen: bool,
    pub(super) seen: u64,
    pub(super) batches: u64,
}

/// Fails unless there can be a model of this shape.
pub(super) fn check_shape(dim: usize, bits: usize) -> Result<()> {
    check_bits(bits)?;
    match (1..=MAX_DIM).contains(&dim) {
        true => Ok(()),
        false => Err(Error::parameter("dim", format!("from 1 to {MAX_DIM}"), dim)),
    }
}
