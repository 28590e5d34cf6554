//! Preparation of vectors: applied before learning, and by the hash function before the lift.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::kernel::prepare;
use crate::tensors::Tensors;
use crate::{Batch, Error, Features, Mean, Result, Spread};

/// Centre that is subtracted from vectors.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Center {
    /// Nothing is subtracted.
    None,
    /// Mean of the stream's first [`warmup`](crate::Setup::warmup) rows.
    First,
    /// Vector known beforehand.
    Given(Vec<f32>),
}

/// Scale by which columns are divided after centring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Scale {
    /// No scaling.
    #[default]
    None,
    /// Standard deviations of the columns in the stream's first [`warmup`](crate::Setup::warmup)
    /// rows, so that all columns have equal weight. A column that is constant in these rows is
    /// ignored in all rows: its deviation is unknown, and with a factor above 0 the column might
    /// outweigh all others.
    Standard,
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Scale::None => "none",
            Scale::Standard => "standard",
        })
    }
}

/// Preparation of vectors. Centre and scale may be unknown until the warm-up ends.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Preparation {
    dim: usize,
    pub(super) center: Option<Vec<f32>>,
    /// Factor of each column.
    pub(super) scale: Option<Vec<f32>>,
    pub(super) unit: bool,
}

impl Preparation {
    pub(super) fn new(center: Center, unit: bool, dim: usize) -> Result<Self> {
        let center = match center {
            Center::None | Center::First => None,
            Center::Given(center) => {
                Features::new(&center, dim)?;
                if center.len() != dim {
                    return Err(Error::Dimension { expected: dim, found: center.len() });
                }
                Some(center)
            }
        };
        Ok(Preparation { dim, center, scale: None, unit })
    }

    /// Returns the preparation with the centre and scale computed from the first rows of the
    /// stream.
    pub(super) fn fixed(
        mut self,
        center_first: bool,
        scale: Scale,
        first: Features<'_>,
    ) -> Result<Self> {
        if center_first {
            let mut mean = Mean::new(self.dim);
            mean.add(first)?;
            self.center = Some(mean.value());
        }
        if scale == Scale::Standard {
            let mut spread = Spread::new(self.dim);
            spread.add(first)?;
            self.scale = Some(spread.factors());
        }
        Ok(self)
    }

    /// Passes a batch to a learner, prepared as the hash function will prepare it.
    pub(super) fn pass_on<T>(
        &self,
        batch: Batch<'_>,
        learner: &mut dyn FnMut(Batch<'_>) -> Result<T>,
    ) -> Result<T> {
        let Preparation { dim, center, scale, unit } = self;
        if center.is_none() && scale.is_none() && !unit {
            return learner(batch);
        }
        let mut rows = Vec::new();
        let values = batch.features().values();
        prepare(center.as_deref(), scale.as_deref(), *unit, *dim, values, &mut rows);
        learner(batch.with_features(Features::new(&rows, *dim)?))
    }

    pub(super) fn save(&self, state: &mut Tensors) {
        for (name, values) in [("center", &self.center), ("scale", &self.scale)] {
            if let Some(values) = values {
                state.put(name, self.dim, values);
            }
        }
    }

    /// Reads the preparation from a model file. `scaled` is true if the file should contain a
    /// scale.
    pub(super) fn load(
        dim: usize,
        unit: bool,
        scaled: bool,
        state: &mut Tensors,
    ) -> std::result::Result<Self, String> {
        if scaled != state.contains("scale") {
            let problem = if scaled { "should have a scale, and has none" } else { "has a scale" };
            return Err(format!("it {problem}, which does not fit its description"));
        }
        let mut row = |name: &str| {
            if !state.contains(name) {
                return Ok(None);
            }
            let values: Vec<f32> = state.take_rows(name, 1, dim)?;
            Features::new(&values, dim).map_err(|error| format!("its {name}: {error}"))?;
            Ok::<_, String>(Some(values))
        };
        Ok(Preparation { dim, center: row("center")?, scale: row("scale")?, unit })
    }
}
