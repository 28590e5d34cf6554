//! [`Learner`], the trait behind every method, and what the library's own learners keep to besides it:
//! how they are started, warmed up, merged and saved ([`BuiltIn`]).

use std::fmt;

use serde::Serialize;

use crate::labels::LabelNames;
use crate::tensors::Tensors;
use crate::{Batch, Codes, Error, Features, HashFunction, HashParts, Labels, Result};

/// Learns a hash function from a stream, batch by batch.
///
/// Methods of one's own implement this; those that come with the library are chosen by
/// [`Method`](crate::Method) and run in a [`Model`](crate::Model).
pub trait Learner: Send + Sync {
    /// Updates the learner with the next batch of the stream. A batch that fails leaves the
    /// learner as it was.
    ///
    /// # Errors
    /// When the batch does not fit the learner or cannot be learned.
    fn learn(&mut self, batch: Batch<'_>) -> Result<Step>;

    /// Freezes the hash function learned so far; usable before the first batch.
    ///
    /// # Panics
    /// When a learner that solves for its function has not the memory for it: see
    /// [`try_hash_function`](Learner::try_hash_function).
    fn hash_function(&self) -> HashFunction;

    /// [`hash_function`](Learner::hash_function), for those who want to know when there is not the
    /// memory for it. Learners that solve for their function, in memory that they do not keep,
    /// have an answer of their own here.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    fn try_hash_function(&self) -> Result<HashFunction> {
        Ok(self.hash_function())
    }
}

/// What one call of [`Learner::learn`] did, for those who watch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Step {
    /// How many bits each pass of the inner optimisation over the batch's codes changed; empty for
    /// methods that make none.
    pub changed_bits: Vec<u64>,
    /// Whether [`Learner::hash_function`] gives another function than before: codes made with the
    /// old one are no longer current.
    pub function_changed: bool,
}

impl std::ops::AddAssign for Step {
    fn add_assign(&mut self, other: Step) {
        self.changed_bits.extend(other.changed_bits);
        self.function_changed = self.function_changed || other.function_changed;
    }
}

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

    /// Returns how many rows it warms up with in all, if the user does not say, once the first
    /// [`warmup`](BuiltIn::warmup) rows, of `dim` numbers each, have these labels.
    fn warmup_after(
        params: &Self::Params,
        _first: Labels<'_>,
        (_dim, _bits): (usize, usize),
    ) -> usize {
        Self::warmup(params)
    }

    /// Fixes what must be fixed before learning, from the stream's first rows.
    fn warm_up(&mut self, _first: Batch<'_>) -> Result<()> {
        Ok(())
    }

    /// What the function learned so far is made of, for vectors that are prepared already. The parts fit
    /// each other, and are finite.
    fn hash_parts(&self) -> Result<HashParts>;

    /// [`hash_parts`](BuiltIn::hash_parts), and the number of directions with variance that they use, for
    /// methods whose bits need one direction each.
    fn hash_parts_and_directions(&self) -> Result<(HashParts, Option<usize>)> {
        Ok((self.hash_parts()?, None))
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

    /// Returns a learner that has learned the same, for codes of fewer bits.
    fn with_bits(&self, _bits: usize) -> Result<Self> {
        Err(Error::NotSums { method: Self::NAME, what: "change the length of their codes" })
    }

    /// Whether what the warm-up fixes is fixed; asked of learners that have one.
    fn is_warm(&self) -> bool {
        true
    }

    /// The codes that learning gave to items, where a method gives them any.
    fn training_codes(&self) -> Option<TrainingCodes> {
        None
    }

    /// Returns what the bits of the last function are made of, for methods that choose that. `None` before a function was
    /// made.
    fn measured_targets(&self) -> Option<MeasuredTargets> {
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

/// What the label bits of a function are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MadeOf {
    /// Codes of classes; for rows with several labels, mixtures of labels or their presence.
    Classes,
    /// Presence of single labels, by thresholds that rank rare ones.
    Presence,
    /// The same, from vectors that are not lifted.
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

/// What the label bits of a function may have been made of, and how well that would find rows that share a label.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Candidate {
    /// What its label bits are made of.
    pub made_of: MadeOf,
    /// nDCG of the first ten hits on a sample of the rows learned, as the mean over labels.
    pub score: f64,
}

/// What the label bits of a function are made of, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MeasuredTargets {
    /// What they are made of.
    pub made_of: MadeOf,
    /// The candidates that were compared; none if there was no choice, or the sample was too small.
    pub candidates: Vec<Candidate>,
    /// Those of the sampled labels that bits do not distinguish: their rows are found no better than by chance.
    #[serde(skip)]
    pub not_distinguished: Vec<u32>,
    /// Whether the sums of lifted vectors were given up, as labels became many. Then codes of classes are out of the question.
    pub gave_up_lifted: bool,
}

impl MeasuredTargets {
    /// Describes bits that were not chosen among others.
    pub(crate) fn unmeasured(made_of: MadeOf) -> Self {
        let (candidates, not_distinguished) = (Vec::new(), Vec::new());
        MeasuredTargets { made_of, candidates, not_distinguished, gave_up_lifted: false }
    }
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
