//! [`Description`]: what a store is made of, fixed when it is made.

use serde::{Deserialize, Serialize};

use super::held_out::HeldOut;
use crate::{Center, Error, Method, Model, Result, Scale, Setup, VectorMetric};

/// How the vectors of a store are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VectorPrecision {
    /// As they come, 4 bytes a number.
    #[default]
    F32,
    /// In half precision, 2 bytes a number. They are rounded before anything is learned from them, so that
    /// what is learned is what is kept.
    F16,
}

/// What the ids of a store are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdKind {
    /// Numbers from 0 to 2^64 - 1.
    #[default]
    Numbers,
    /// Texts.
    Texts,
}

/// What a store is made of: fixed when it is made, and kept in its folder.
///
/// ```
/// use hashbrook::Method;
/// use hashbrook::store::Description;
///
/// let mut description = Description::new(Method::named("brook")?, 128, 64);
/// description.seed = 7;
/// # Ok::<(), hashbrook::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Description {
    /// The method that it learns by, with its parameters.
    pub method: Method,
    /// The dimension of its vectors.
    pub dim: usize,
    /// The length of its codes.
    pub bits: usize,
    /// What the random start depends on.
    pub seed: u64,
    /// Whether vectors are centred on the mean of the first.
    pub center: bool,
    /// What columns are divided by.
    pub scale: Scale,
    /// Whether vectors are scaled to unit length.
    pub unit: bool,
    /// How many of the first rows fix what is fixed before learning; `None`: as many as the method asks for.
    pub warmup: Option<usize>,
    /// How many rows are learned at once. Methods to which it makes no difference learn rows as they come.
    pub batch: usize,
    /// How vectors are kept.
    pub precision: VectorPrecision,
    /// Score that hits are re-ranked by.
    #[serde(default)]
    pub metric: VectorMetric,
    /// What its ids are.
    pub ids: IdKind,
    /// One of this number of items is never learned, so that [precision](super::Quality) is measured on items like those
    /// that are not stored yet. Which items these are follows from a hash of their ids. With 0 all items are learned.
    #[serde(default)]
    pub held_out: u32,
}

impl Description {
    /// Vectors of `dim` dimensions, learned into codes of `bits` bits, and defaults for the rest.
    pub fn new(method: Method, dim: usize, bits: usize) -> Self {
        Description {
            method,
            dim,
            bits,
            seed: 1,
            center: true,
            scale: Scale::None,
            unit: true,
            warmup: None,
            batch: 1000,
            precision: VectorPrecision::default(),
            metric: VectorMetric::default(),
            ids: IdKind::default(),
            held_out: HeldOut::ONE_IN,
        }
    }

    /// The model that a store begins with.
    ///
    /// # Errors
    /// When something is out of range.
    pub fn start(&self) -> Result<Model> {
        if self.batch == 0 {
            return Err(Error::parameter("batch", "1 or more", 0));
        }
        HeldOut::check(self.held_out)?;
        let center = if self.center { Center::First } else { Center::None };
        let Description { scale, unit, warmup, .. } = *self;
        let setup = Setup { center, scale, unit, warmup, init: None };
        self.method.start_with(self.dim, self.bits, self.seed, setup)
    }
}
