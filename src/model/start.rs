//! Starting a model from a method.

use std::collections::BTreeMap;

use super::Model;
use super::description::{Description, check_shape};
use super::preparation::{Center, Preparation, Scale};
use super::setup::Setup;
use super::warm_up::WarmUp;
use crate::labels::LabelNames;
use crate::learner::Start;
use crate::{Error, Features, Method, Result};

/// Starting.
impl Method {
    /// Starts learning vectors of `dim` dimensions into codes of `bits` bits, centred on the
    /// first rows of the stream and scaled to unit length.
    ///
    /// # Errors
    /// When a parameter, the dimension or the code length is out of range.
    pub fn start(&self, dim: usize, bits: usize, seed: u64) -> Result<Model> {
        self.start_with(dim, bits, seed, Setup::default())
    }

    /// Starts learning with custom settings. See [`start`](Method::start).
    ///
    /// # Errors
    /// As for [`start`](Method::start), and when the setup is invalid.
    pub fn start_with(&self, dim: usize, bits: usize, seed: u64, setup: Setup) -> Result<Model> {
        Model::start(self.clone(), dim, bits, seed, setup)
    }
}

impl Model {
    fn start(method: Method, dim: usize, bits: usize, seed: u64, setup: Setup) -> Result<Self> {
        check_shape(dim, bits)?;
        if let Some(init) = &setup.init {
            let rows = Features::new(init, bits)?;
            if rows.len() != dim {
                return Err(Error::parameter(
                    "init",
                    format!("a projection of {dim} x {bits}"),
                    format!("{} x {bits}", rows.len()),
                ));
            }
        }
        let Setup { center, scale, unit, warmup, init } = setup;
        let center_first = center == Center::First;
        let preparation = Preparation::new(center, unit, dim)?;
        let warmup_chosen = warmup.is_some();
        let warmup = warmup.unwrap_or_else(|| method.warmup());
        let wait = center_first || scale == Scale::Standard || method.warms_up();
        if wait && warmup == 0 {
            let expected = "1 or more: what comes from the first rows must come from some";
            return Err(Error::parameter("warmup", expected, 0));
        }
        let learner = method.start_learner(Start { dim, bits, seed, unit, warmup, init })?;
        let (seen, batches) = (0, 0);
        let description = Description {
            method,
            dim,
            bits,
            seed,
            center_first,
            scale,
            unit,
            warmup,
            warmup_chosen,
            seen,
            batches,
        };
        let warm_up = wait.then(WarmUp::default);
        let (names, notes) = (LabelNames::default(), BTreeMap::new());
        Ok(Model { description, names, notes, preparation, learner, warm_up })
    }
}
