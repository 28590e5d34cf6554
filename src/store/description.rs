//! [`Description`]: the properties of a store that are fixed when it is created.

use serde::{Deserialize, Serialize};

use super::held_out::HeldOut;
use crate::{Center, Error, Method, Model, Result, Scale, Setup, VectorMetric};

/// Format in which a store keeps its vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VectorPrecision {
    /// Single precision as inserted, 4 bytes per number.
    #[default]
    F32,
    /// Half precision, 2 bytes per number. Vectors are rounded before they are learned, so that the
    /// model learns exactly the stored values.
    F16,
}

/// Kind of ids of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdKind {
    /// Integers from 0 to 2^64 - 1.
    #[default]
    Numbers,
    /// Strings.
    Texts,
}

/// Properties of a store that are fixed when it is created, and stored in its directory.
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
    /// Learning method, with its parameters.
    pub method: Method,
    /// Dimension of the vectors.
    pub dim: usize,
    /// Length of the codes in bits.
    pub bits: usize,
    /// Seed of the method's random numbers.
    pub seed: u64,
    /// Whether vectors are centred on the mean of the first vectors.
    pub center: bool,
    /// Scaling of the vectors' columns.
    pub scale: Scale,
    /// Whether vectors are scaled to unit length.
    pub unit: bool,
    /// Number of rows of the warm-up; `None` for the number that the method requests.
    pub warmup: Option<usize>,
    /// Number of rows per batch. Methods whose result does not depend on batches ignore this
    /// number, and learn rows as they arrive.
    pub batch: usize,
    /// Format in which vectors are stored.
    pub precision: VectorPrecision,
    /// Score that hits are re-ranked by.
    #[serde(default)]
    pub metric: VectorMetric,
    /// Kind of ids.
    pub ids: IdKind,
    /// One in this number of items is held out, that is, never learned, so that
    /// [precision](super::Quality) can be measured on items that represent new ones. A hash of the
    /// ids determines which items are held out. With 0 all items are learned.
    #[serde(default)]
    pub held_out: u32,
}

impl Description {
    /// Creates a description for vectors of `dim` dimensions and codes of `bits` bits, with
    /// defaults for the rest.
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

    /// Returns the model that a store starts with.
    ///
    /// # Errors
    /// Fails if a value is out of range.
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
