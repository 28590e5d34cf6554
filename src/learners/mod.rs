//! The methods, one file per paper, all in the same order: what it is, what it keeps and what it
//! costs, where it deviates; its parameters, its state, the step, and how it is saved.

pub mod adapthash;
pub mod brook;
pub mod bsodh;
mod codebook;
mod directions;
pub mod frosh;
pub mod hcoh;
pub mod hmoh;
pub mod itq;
pub mod lsh;
pub mod mihash;
pub mod okh;
pub mod osh;
mod pairs;
mod rbf;
mod sketch;
pub mod sketchhash;
mod subspace;

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use crate::dataset::LabelNames;
use crate::tensors::Tensors;
use crate::{Batch, Codes, Error, Features, HashFunction, HashParts, Labels, Learner, Result};

/// A learner of the library's own: it is started from parameters, and can be saved as arrays.
pub(crate) trait BuiltIn: Learner + Sized {
    /// Its parameters.
    type Params;
    /// Its name, in files and on the command line.
    const NAME: &'static str;
    /// Whether it learns from labels.
    const SUPERVISED: bool;
    /// Whether it must see the first rows of the stream before it can learn.
    const WARMS_UP: bool = false;

    /// Whatever is wrong with the parameters is found here, before anything else is done.
    fn check(params: &Self::Params, start: &Start) -> Result<()>;

    /// A learner that has seen nothing, of parameters that were checked.
    fn start(params: &Self::Params, start: Start) -> Self;

    /// How many rows it wants to see first, if the user does not say.
    fn warmup(_params: &Self::Params) -> usize {
        WARMUP
    }

    /// Fixes what must be fixed before learning, from the stream's first rows.
    fn warm_up(&mut self, _first: Batch<'_>) -> Result<()> {
        Ok(())
    }

    /// Adds all that `other` learned, whose labels have the numbers that `translate` gives them.
    fn merge(&mut self, _other: &Self, _translate: &dyn Fn(u32) -> u32) -> Result<()> {
        Err(Error::NotSums { method: Self::NAME, what: "be merged" })
    }

    /// Forgets rows, as if they had never been learned. `name` is what a label is called in errors.
    fn unlearn(&mut self, _batch: Batch<'_>, _name: &dyn Fn(u32) -> String) -> Result<()> {
        Err(Error::NotSums { method: Self::NAME, what: "unlearn" })
    }

    /// Takes rows as if they had been learned with other labels.
    fn relabel(
        &mut self,
        _: Features<'_>,
        _old_and_new: (Labels<'_>, Labels<'_>),
        _name: &dyn Fn(u32) -> String,
    ) -> Result<()> {
        Err(Error::NotSums { method: Self::NAME, what: "relabel" })
    }

    /// A learner that has seen nothing, with all that the warm-up fixed.
    fn sibling(&self) -> Result<Self> {
        Err(Error::NotSums { method: Self::NAME, what: "have siblings" })
    }

    /// Whether what the warm-up fixes is fixed; asked of learners that have one.
    fn is_warm(&self) -> bool {
        true
    }

    /// The codes that learning gave to items, where a method gives them any.
    fn training_codes(&self) -> Option<TrainingCodes> {
        None
    }

    /// Takes notice of what labels are called.
    fn name_labels(&mut self, _names: &LabelNames) {}

    /// Adds the learner's state to the arrays of a model file.
    fn save(&self, state: &mut Tensors);

    /// The same, without what follows from the rest and would have to be computed.
    fn save_learned(&self, state: &mut Tensors) {
        self.save(state);
    }

    /// Takes up a learner from its state; the parameters were checked.
    fn load(params: &Self::Params, start: Start, state: &mut Tensors) -> Loaded<Self>;
}

/// How many of the stream's first rows a model warms up with, unless its method or its user says
/// otherwise.
pub(crate) const WARMUP: usize = 1000;

/// The codes that a discrete method gave to the items it learned from, as it left them: not those
/// that its hash function gives. For looking into a method; they are not saved with a model.
#[derive(Clone, Debug)]
pub struct TrainingCodes {
    /// Those of the last batch, row by row: `B_s` of BSODH.
    pub batch: Codes,
    /// That of all older items with a set of labels: `B_e`.
    pub existing: Vec<(Vec<u32>, Vec<u64>)>,
}

/// A learner that was loaded; or what is wrong with its state.
pub(crate) type Loaded<T> = std::result::Result<T, String>;

/// What all learners are started from, besides their parameters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Start {
    pub(crate) dim: usize,
    pub(crate) bits: usize,
    pub(crate) seed: u64,
    /// Whether rows come scaled to unit length.
    pub(crate) unit: bool,
    /// How many rows [`BuiltIn::warm_up`] will be given; fewer if the stream is shorter.
    pub(crate) warmup: usize,
    /// A projection to start from, dim x bits.
    pub(crate) init: Option<Vec<f32>>,
}

impl Start {
    /// The projection to start from: the one given, or a random one.
    fn projection(&self) -> Vec<f32> {
        let random = || random_projection(self.dim, self.bits, self.seed);
        self.init.clone().unwrap_or_else(random)
    }
}

/// What the programs that came with some papers forget between batches, by mistake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// What is learned is kept, as the paper has it.
    #[default]
    Kept,
    /// What is learned besides the projection is lost after each step, as in the released program.
    Lost,
}

/// What randomness is for. Each purpose has numbers of its own, found again by their place, so that
/// a learner that is loaded goes on with the same ones.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    Projection,
    Anchors,
    Codewords,
    Reservoir,
    Rotation,
    Signs,
}

/// The random numbers of a learner with this seed, for a purpose, at a place.
pub(crate) fn random(seed: u64, purpose: Purpose, at: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream((purpose as u64) << 56 | at & (u64::MAX >> 8));
    rng
}

/// The random start that most methods have: Gaussian, each bit's column of unit length.
pub(crate) fn random_projection(dim: usize, bits: usize, seed: u64) -> Vec<f32> {
    let mut rng = random(seed, Purpose::Projection, 0);
    let weights: Vec<f64> = (0..dim * bits).map(|_| StandardNormal.sample(&mut rng)).collect();
    let mut norms = vec![0.0; bits];
    for row in weights.chunks_exact(bits) {
        norms.iter_mut().zip(row).for_each(|(norm, weight)| *norm += weight * weight);
    }
    norms.iter_mut().for_each(|norm| *norm = f64::sqrt(*norm));
    weights.iter().zip(norms.iter().cycle()).map(|(weight, norm)| (weight / norm) as f32).collect()
}

/// A linear function from weights that are known to fit and to be finite.
pub(crate) fn linear(dim: usize, bits: usize, weights: &[f32]) -> HashFunction {
    HashFunction::new(HashParts::linear(dim, bits, weights.to_vec()))
        .expect("learners check their weights before they keep them")
}

/// Keeps `new` weights if they are finite; otherwise the batch is to be forgotten.
pub(crate) fn check_finite(method: &'static str, weights: &[f32]) -> Result<()> {
    // Branch-free, since this comes after every batch, however small.
    match weights.iter().fold(true, |all, weight| all & weight.is_finite()) {
        true => Ok(()),
        false => Err(Error::NoSolution { method, problem: "the weights grow beyond all bounds" }),
    }
}

/// Weights from a saved state: of the right shape, and finite.
pub(crate) fn take_weights(
    state: &mut Tensors,
    name: &str,
    dim: usize,
    bits: usize,
) -> Loaded<Vec<f32>> {
    let weights = state.take_rows(name, dim, bits)?;
    Features::new(&weights, bits).map_err(|error| format!("array {name:?}: {error}"))?;
    Ok(weights)
}

/// Fails unless a parameter is above 0 and finite.
pub(crate) fn check_positive(name: &'static str, value: f64) -> Result<()> {
    match value.is_finite() && value > 0.0 {
        true => Ok(()),
        false => Err(Error::parameter(name, "above 0", value)),
    }
}

/// Fails unless a parameter is 0 or above, and finite.
pub(crate) fn check_not_negative(name: &'static str, value: f64) -> Result<()> {
    match value.is_finite() && value >= 0.0 {
        true => Ok(()),
        false => Err(Error::parameter(name, "0 or above", value)),
    }
}

/// Fails unless a parameter is a share, from 0 to 1.
pub(crate) fn check_share(name: &'static str, value: f64) -> Result<()> {
    match (0.0..=1.0).contains(&value) {
        true => Ok(()),
        false => Err(Error::parameter(name, "from 0 to 1", value)),
    }
}
