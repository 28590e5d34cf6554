//! [`Model`]: a method at work on a stream.

mod file;
mod preparation;
mod sums;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub(crate) use self::file::FORMAT;
use self::preparation::Preparation;
pub use self::preparation::{Center, Scale};
use crate::batch::MAX_DIM;
use crate::codes::check_bits;
use crate::dataset::{LabelList, LabelNames};
use crate::learner::Running;
use crate::learners::{Start, TrainingCodes};
use crate::{Batch, Error, Features, HashFunction, HashParts, Learner, Method, Result, Step};

/// How vectors are prepared for a method, and where it starts.
///
/// There may be more fields one day: begin with the default, and change what should be different.
///
/// ```
/// use hashbrook::{Scale, Setup};
///
/// let mut setup = Setup::default();
/// setup.scale = Scale::Standard;
/// setup.warmup = Some(500);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Setup {
    /// What is subtracted from every vector.
    pub center: Center,
    /// What each column is divided by after that.
    pub scale: Scale,
    /// Whether vectors are scaled to unit length after that.
    pub unit: bool,
    /// How many of the stream's first rows are held back until what is fixed before learning can
    /// be fixed from them: the centre, the scale, and whatever else a method needs. `None`: as many as the
    /// method [asks for](Method::warmup).
    pub warmup: Option<usize>,
    /// The projection to start from, dim x bits, row-major; random if not given.
    pub init: Option<Vec<f32>>,
}

impl Default for Setup {
    fn default() -> Self {
        let (center, scale) = (Center::First, Scale::None);
        Setup { center, scale, unit: true, warmup: None, init: None }
    }
}

/// A method at work: it learns from a stream, gives out the hash function learned so far, and can
/// be saved at any time and taken up again as if nothing had happened.
///
/// While it warms up it only holds rows back; a function that is asked for then is what these rows
/// alone teach, as if the warm-up ended with them. What the warm-up fixes depends on the first rows of
/// the stream and not on how they were cut into batches.
#[derive(Clone, Debug)]
pub struct Model {
    about: About,
    names: LabelNames,
    notes: BTreeMap<String, String>,
    /// What is known so far of what is done to vectors before they are learned.
    preparation: Preparation,
    learner: Running,
    /// Rows held back; `None` once the model is warm.
    held: Option<Held>,
}

/// What a model file says of the model besides its arrays.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct About {
    method: Method,
    dim: usize,
    bits: usize,
    seed: u64,
    /// Whether the centre comes, or came, from the warm-up.
    center_first: bool,
    /// The first version had none.
    #[serde(default)]
    scale: Scale,
    unit: bool,
    warmup: usize,
    seen: u64,
    batches: u64,
}

/// Batches that wait for the warm-up to end.
#[derive(Clone, Debug, Default)]
struct Held {
    features: Vec<f32>,
    labels: Option<LabelList>,
    /// The row at which each batch ends.
    ends: Vec<usize>,
}

impl Model {
    pub(crate) fn start(
        method: Method,
        dim: usize,
        bits: usize,
        seed: u64,
        setup: Setup,
    ) -> Result<Self> {
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
        let warmup = warmup.unwrap_or_else(|| method.warmup());
        let wait = center_first || scale == Scale::Standard || method.warms_up();
        if wait && warmup == 0 {
            let expected = "1 or more: what comes from the first rows must come from some";
            return Err(Error::parameter("warmup", expected, 0));
        }
        let learner = method.start_learner(Start { dim, bits, seed, unit, warmup, init })?;
        let (seen, batches) = (0, 0);
        let about =
            About { method, dim, bits, seed, center_first, scale, unit, warmup, seen, batches };
        let held = wait.then(Held::default);
        let (names, notes) = (LabelNames::default(), BTreeMap::new());
        Ok(Model { about, names, notes, preparation, learner, held })
    }

    /// Ends the warm-up now, with the rows there are, as if the stream's first rows were just
    /// these. Does nothing if the model is warm or has seen no rows.
    ///
    /// # Errors
    /// When the rows held back cannot be learned.
    pub fn end_warmup(&mut self) -> Result<Step> {
        match &self.held {
            Some(held) if held.rows() > 0 => self.warm_up(None),
            _ => Ok(Step::default()),
        }
    }

    /// Fixes what is fixed before learning, then learns what was held back, and `batch`. All of
    /// it or nothing.
    fn warm_up(&mut self, batch: Option<Batch<'_>>) -> Result<Step> {
        let Some(held) = &self.held else { return Ok(Step::default()) };
        let batches: Vec<_> = held.batches(self.about.dim)?.into_iter().chain(batch).collect();
        let first = first_rows(&batches, self.about.warmup);
        let first = first.view(self.about.dim)?;
        let About { center_first, scale, .. } = self.about;
        let preparation = self.preparation.clone().fixed(center_first, scale, first.features())?;
        let mut learner = self.learner.clone();
        preparation.pass_on(first, &mut |first| learner.warm_up(first))?;
        let mut step = Step::default();
        for batch in batches {
            step += preparation.pass_on(batch, &mut |batch| learner.learn(batch))?;
        }
        // Even if nothing was learned, the centre is new.
        step.function_changed = true;
        (self.learner, self.preparation, self.held) = (learner, preparation, None);
        Ok(step)
    }

    /// The method and its parameters.
    pub fn method(&self) -> &Method {
        &self.about.method
    }

    /// The dimension of the vectors it learns from.
    pub fn dim(&self) -> usize {
        self.about.dim
    }

    /// The length of its codes.
    pub fn bits(&self) -> usize {
        self.about.bits
    }

    /// The seed it started from.
    pub fn seed(&self) -> u64 {
        self.about.seed
    }

    /// Whether it scales vectors to unit length.
    pub fn unit(&self) -> bool {
        self.about.unit
    }

    /// What it divides columns by.
    pub fn scale(&self) -> Scale {
        self.about.scale
    }

    /// How many rows it has been given, those held back included.
    pub fn seen(&self) -> u64 {
        self.about.seen
    }

    /// In how many batches they came.
    pub fn batches(&self) -> u64 {
        self.about.batches
    }

    /// How many of the stream's first rows it holds back at most before it learns.
    pub fn warmup(&self) -> usize {
        self.about.warmup
    }

    /// Whether it has begun to learn, or would with the next row: nothing is held back.
    pub fn is_warm(&self) -> bool {
        self.held.is_none()
    }

    /// The codes that learning itself gave to items, for methods that give them any (bsodh); `None`
    /// for others, and before the first batch.
    pub fn training_codes(&self) -> Option<TrainingCodes> {
        self.learner.training_codes()
    }

    /// The names of the labels it was given, for labels that come from outside. It is the
    /// caller's to fill, and is saved with the model.
    pub fn names(&self) -> &LabelNames {
        &self.names
    }

    /// The names of the labels, to be added to.
    pub fn names_mut(&mut self) -> &mut LabelNames {
        &mut self.names
    }

    /// Whatever the caller wants to be saved with the model; it means nothing to the model.
    pub fn notes(&self) -> &BTreeMap<String, String> {
        &self.notes
    }

    /// The notes, to be changed.
    pub fn notes_mut(&mut self) -> &mut BTreeMap<String, String> {
        &mut self.notes
    }
}

/// Learning.
impl Model {
    /// Updates the model with the next batch of the stream. A batch that fails leaves it as it was.
    ///
    /// # Errors
    /// When the batch does not fit the model or cannot be learned.
    pub fn learn(&mut self, batch: Batch<'_>) -> Result<Step> {
        batch.features().expect_dim(self.about.dim)?;
        self.learner.name_labels(&self.names);
        let step = match &mut self.held {
            None => {
                let learner = &mut self.learner;
                self.preparation.pass_on(batch, &mut |batch| learner.learn(batch))?
            }
            Some(held) if held.rows() + batch.len() < self.about.warmup => {
                // A batch that could never be learned is refused before it is held back.
                if self.about.method.is_supervised() {
                    batch.require_labels(self.about.method.name())?;
                }
                held.push(batch);
                Step { function_changed: !batch.is_empty(), ..Step::default() }
            }
            Some(_) => self.warm_up(Some(batch))?,
        };
        self.about.seen = self.about.seen.saturating_add(batch.len() as u64);
        self.about.batches = self.about.batches.saturating_add(1);
        Ok(step)
    }

    /// Freezes the hash function learned so far, with the names of the labels; usable before the first
    /// batch.
    ///
    /// # Panics
    /// When a method that solves for its function has not the memory for it: see
    /// [`try_hash_function`](Model::try_hash_function).
    pub fn hash_function(&self) -> HashFunction {
        self.try_hash_function().unwrap_or_else(|error| panic!("{error}"))
    }

    /// [`hash_function`](Model::hash_function), for those who want to know when there is not the memory
    /// for it.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn try_hash_function(&self) -> Result<HashFunction> {
        if self.held.as_ref().is_some_and(|held| held.rows() > 0) {
            let mut now = self.clone();
            match now.end_warmup() {
                Ok(_) => return now.try_hash_function(),
                Err(error @ Error::OutOfMemory { .. }) => return Err(error),
                // What cannot be learned yet leaves the random start, which is a function too.
                Err(_) => {}
            }
        }
        let parts = self.learner.try_hash_function()?.parts().clone();
        let Preparation { center, scale, unit, .. } = self.preparation.clone();
        let function = HashFunction::new(HashParts { center, scale, unit, ..parts })
            .expect("the centre and the scale were checked when they were set");
        Ok(function.with_label_names(self.names.clone()))
    }
}

impl Learner for Model {
    fn learn(&mut self, batch: Batch<'_>) -> Result<Step> {
        Model::learn(self, batch)
    }

    fn hash_function(&self) -> HashFunction {
        Model::hash_function(self)
    }

    fn try_hash_function(&self) -> Result<HashFunction> {
        Model::try_hash_function(self)
    }
}

impl Held {
    fn rows(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    fn push(&mut self, batch: Batch<'_>) {
        self.ends.push(self.rows() + batch.len());
        self.features.extend_from_slice(batch.features().values());
        if let Some(labels) = batch.labels() {
            self.labels.get_or_insert_default().extend(labels);
        }
    }

    /// All of it in one.
    fn view(&self, dim: usize) -> Result<Batch<'_>> {
        let features = Features::new(&self.features, dim)?;
        match &self.labels {
            Some(labels) => Batch::new(features, labels.view()),
            None => Ok(Batch::unlabelled(features)),
        }
    }

    fn batches(&self, dim: usize) -> Result<Vec<Batch<'_>>> {
        let all = self.view(dim)?;
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        Ok(starts.zip(&self.ends).map(|(start, &end)| all.slice(start..end)).collect())
    }
}

/// The first rows of some batches, at most `count`.
fn first_rows(batches: &[Batch<'_>], count: usize) -> Held {
    let mut first = Held::default();
    for batch in batches {
        let rows = batch.len().min(count - first.rows());
        first.push(batch.slice(0..rows));
    }
    first
}

/// Fails unless there can be a model of this shape.
fn check_shape(dim: usize, bits: usize) -> Result<()> {
    check_bits(bits)?;
    match (1..=MAX_DIM).contains(&dim) {
        true => Ok(()),
        false => Err(Error::parameter("dim", format!("from 1 to {MAX_DIM}"), dim)),
    }
}
