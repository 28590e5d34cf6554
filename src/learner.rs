//! [`Learner`], the trait behind every method, and [`BuiltIn`], the additional interface of the
//! built-in learners: how they are started, warmed up, merged and saved.

use std::fmt;

use serde::Serialize;

use crate::labels::LabelNames;
use crate::tensors::Tensors;
use crate::{Batch, Codes, Error, Features, HashFunction, HashParts, Labels, Result};

/// Learns a hash function from a stream, batch by batch.
///
/// User-defined methods implement this trait. The built-in methods are chosen by
/// [`Method`](crate::Method) and run in a [`Model`](crate::Model).
pub trait Learner: Send + Sync {
    /// Updates the learner with the next batch of the stream. A batch that fails leaves the learner
    /// unchanged.
    ///
    /// # Errors
    /// When the batch does not fit the learner or cannot be learned.
    fn learn(&mut self, batch: Batch<'_>) -> Result<Step>;

    /// Returns the hash function learned so far. It can be called before the first batch.
    ///
    /// # Panics
    /// When a learner that solves for its function runs out of memory: see
    /// [`try_hash_function`](Learner::try_hash_function).
    fn hash_function(&self) -> HashFunction;

    /// Returns the [`hash_function`](Learner::hash_function), or an error if memory is
    /// insufficient. Learners that solve for their function in temporary memory override this
    /// method.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    fn try_hash_function(&self) -> Result<HashFunction> {
        Ok(self.hash_function())
    }
}

/// Result of one call of [`Learner::learn`], for monitoring.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Number of bits changed by each pass of the inner optimization over the codes of the batch.
    /// Empty for methods without such passes.
    pub changed_bits: Vec<u64>,
    /// Set if [`Learner::hash_function`] now returns a different function, so that existing codes
    /// are out of date.
    pub function_changed: bool,
}

impl std::ops::AddAssign for Step {
    fn add_assign(&mut self, other: Step) {
        self.changed_bits.extend(other.changed_bits);
        self.function_changed = self.function_changed || other.function_changed;
    }
}

/// A built-in learner: it is started from parameters, and can be saved as arrays.
pub(crate) trait BuiltIn: Learner + Sized {
    /// The parameters of the method.
    type Params;
    /// Name of the method, in files and on the command line.
    const NAME: &'static str;
    /// Set if the method learns from labels.
    const SUPERVISED: bool;
    /// Set if the learner must see the first rows of the stream before it can learn.
    const WARMS_UP: bool = false;

    /// Checks the parameters. Invalid parameters are reported here, before any work starts.
    fn check(params: &Self::Params, start: &Start) -> Result<()>;

    /// Returns a learner without any learned rows. The parameters must have been checked.
    fn start(params: &Self::Params, start: Start) -> Self;

    /// Returns the default number of warm-up rows.
    fn warmup(_params: &Self::Params) -> usize {
        WARMUP
    }

    /// Returns the default total number of warm-up rows, if the first [`warmup`](BuiltIn::warmup)
    /// rows have these labels and the given dimension.
    fn warmup_after(
        params: &Self::Params,
        _first: Labels<'_>,
        (_dim, _bits): (usize, usize),
    ) -> usize {
        Self::warmup(params)
    }

    /// Computes whatever must be fixed before learning, from the stream's first rows.
    fn warm_up(&mut self, _first: Batch<'_>) -> Result<()> {
        Ok(())
    }

    /// Returns the parts of the function learned so far, for vectors that are already preprocessed.
    /// The parts are consistent and finite.
    fn hash_parts(&self) -> Result<HashParts>;

    /// Returns [`hash_parts`](BuiltIn::hash_parts) and, for methods that need one direction per
    /// bit, the number of directions with variance that the parts use.
    fn hash_parts_and_directions(&self) -> Result<(HashParts, Option<usize>)> {
        Ok((self.hash_parts()?, None))
    }

    /// Adds everything that `other` learned. `translate` converts labels of `other`.
    fn merge(&mut self, _other: &Self, _translate: &dyn Fn(u32) -> u32) -> Result<()> {
        Err(Error::NotSums { method: Self::NAME, what: "be merged" })
    }

    /// Unlearns rows, as if they had never been learned. `name` returns the name of a label for
    /// error messages.
    fn unlearn(&mut self, _batch: Batch<'_>, _name: &dyn Fn(u32) -> String) -> Result<()> {
        Err(Error::NotSums { method: Self::NAME, what: "unlearn" })
    }

    /// Changes the labels of rows, as if they had been learned with the new labels.
    fn relabel(
        &mut self,
        _: Features<'_>,
        _old_and_new: (Labels<'_>, Labels<'_>),
        _name: &dyn Fn(u32) -> String,
    ) -> Result<()> {
        Err(Error::NotSums { method: Self::NAME, what: "relabel" })
    }

    /// Returns a learner without any learned rows that shares the result of the warm-up.
    fn sibling(&self) -> Result<Self> {
        Err(Error::NotSums { method: Self::NAME, what: "have siblings" })
    }

    /// Returns a learner that has learned the same rows, for codes of fewer bits.
    fn with_bits(&self, _bits: usize) -> Result<Self> {
        Err(Error::NotSums { method: Self::NAME, what: "change the length of their codes" })
    }

    /// Returns whether the warm-up is complete. Only called for learners that warm up.
    fn is_warm(&self) -> bool {
        true
    }

    /// Returns the codes that learning assigned to items, if the method assigns any.
    fn training_codes(&self) -> Option<TrainingCodes> {
        None
    }

    /// Returns the targets of the last function's bits, for methods that choose between targets.
    /// Returns `None` before the first function was computed.
    fn measured_targets(&self) -> Option<MeasuredTargets> {
        None
    }

    /// Updates the names of the labels.
    fn name_labels(&mut self, _names: &LabelNames) {}

    /// Adds the learner's state to the arrays of a model file.
    fn save(&self, state: &mut Tensors);

    /// Adds the learner's state, except for arrays that can be computed from the others.
    fn save_learned(&self, state: &mut Tensors) {
        self.save(state);
    }

    /// Restores a learner from its state. The parameters must have been checked.
    fn load(params: &Self::Params, start: Start, state: &mut Tensors) -> Loaded<Self>;
}

/// Default number of warm-up rows.
pub(crate) const WARMUP: usize = 1000;

/// Final codes that a discrete method assigned to the items it learned from. They may differ from
/// the codes of the method's hash function. For inspection of a method; not saved with a model.
#[derive(Clone, Debug)]
pub struct TrainingCodes {
    /// Codes of the last batch, one per row: `B_s` of BSODH.
    pub batch: Codes,
    /// For each label set, the code that all older items with this set share: `B_e`.
    pub existing: Vec<(Vec<u32>, Vec<u64>)>,
}

/// Targets that the label bits of a function predict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MadeOf {
    /// Codes of classes; for rows with several labels, mixtures or presence of labels.
    Classes,
    /// Presence of single labels, by thresholds that rank the rows of rare labels.
    Presence,
    /// Presence of single labels, from vectors that are not lifted.
    LinearPresence,
    /// Directions in which labels differ.
    Discriminant,
    /// Directions in which the vectors differ, without labels.
    Vectors,
}

impl MadeOf {
    pub(crate) const ALL: [MadeOf; 5] = [
        MadeOf::Classes,
        MadeOf::Presence,
        MadeOf::LinearPresence,
        MadeOf::Discriminant,
        MadeOf::Vectors,
    ];
}

impl fmt::Display for MadeOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MadeOf::Classes => "classes",
            MadeOf::Presence => "presence",
            MadeOf::LinearPresence => "linear presence",
            MadeOf::Discriminant => "discriminant",
            MadeOf::Vectors => "vectors",
        })
    }
}

/// Candidate targets of the label bits, and their score on a sample of the learned rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Candidate {
    /// The targets of the candidate.
    pub made_of: MadeOf,
    /// nDCG of the first ten hits on a sample of the learned rows, averaged over labels.
    pub score: f64,
}

/// Targets of the label bits of a function, and the measurements behind the choice.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MeasuredTargets {
    /// The chosen targets.
    pub made_of: MadeOf,
    /// The candidates that were compared. Empty if only one candidate was possible, or if the
    /// sample was too small.
    pub candidates: Vec<Candidate>,
    /// Sampled labels that the bits do not distinguish: searches find the rows of these labels no
    /// better than by chance.
    #[serde(skip)]
    pub not_distinguished: Vec<u32>,
    /// Set if the sums of lifted vectors were discarded because of too many labels. Codes of
    /// classes are then not available.
    pub gave_up_lifted: bool,
}

impl MeasuredTargets {
    /// Returns the description of bits whose targets were not compared with others.
    pub(crate) fn unmeasured(made_of: MadeOf) -> Self {
        let (candidates, not_distinguished) = (Vec::new(), Vec::new());
        MeasuredTargets { made_of, candidates, not_distinguished, gave_up_lifted: false }
    }
}

/// Result of loading a learner; the error describes what is wrong with its state.
pub(crate) type Loaded<T> = std::result::Result<T, String>;

/// Settings that all learners are started from, in addition to their parameters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Start {
    pub(crate) dim: usize,
    pub(crate) bits: usize,
    pub(crate) seed: u64,
    /// Set if rows are scaled to unit length.
    pub(crate) unit: bool,
    /// Number of rows passed to [`BuiltIn::warm_up`], if the stream has that many.
    pub(crate) warmup: usize,
    /// An initial projection, dim x bits.
    pub(crate) init: Option<Vec<f32>>,
}
