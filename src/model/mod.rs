//! [`Model`]: a method at work on a stream.

mod description;
mod file;
mod large;
mod preparation;
mod setup;
mod start;
mod sums;
mod warm_up;

use std::collections::BTreeMap;

use self::description::Description;
use self::preparation::Preparation;
pub use self::preparation::{Center, Scale};
pub use self::setup::Setup;
use self::warm_up::{WarmUp, first_rows};
use crate::labels::{LabelList, LabelNames};
use crate::learner::{MeasuredTargets, TrainingCodes};
use crate::method::AnyLearner;
use crate::{Batch, Error, HashFunction, HashParts, Learner, Method, Result, Step};

/// A method at work: it learns from a stream, gives out the hash function learned so far, and can
/// be saved at any time and taken up again as if nothing had happened.
///
/// While it warms up it only holds rows back; a function that is asked for then is what these rows
/// alone teach, as if the warm-up ended with them. What the warm-up fixes depends on the first rows of
/// the stream and not on how they were cut into batches.
#[derive(Clone, Debug)]
pub struct Model {
    description: Description,
    names: LabelNames,
    notes: BTreeMap<String, String>,
    /// What is known so far of what is done to vectors before they are learned.
    preparation: Preparation,
    learner: AnyLearner,
    /// Rows held back; `None` once the model is warm.
    warm_up: Option<WarmUp>,
}

impl Model {
    /// Ends the warm-up now, with the rows there are, as if the stream's first rows were just
    /// these. Does nothing if the model is warm or has seen no rows.
    ///
    /// # Errors
    /// When the rows held back cannot be learned.
    pub fn end_warmup(&mut self) -> Result<Step> {
        match &self.warm_up {
            Some(warm_up) if warm_up.rows() > 0 => self.warm_up(None, self.description.warmup),
            _ => Ok(Step::default()),
        }
    }

    /// Fixes what is fixed before learning, then learns what was held back, and `batch`. All of
    /// it or nothing.
    fn warm_up(&mut self, batch: Option<Batch<'_>>, warmup: usize) -> Result<Step> {
        let Some(warm_up) = &self.warm_up else { return Ok(Step::default()) };
        let batches: Vec<_> =
            warm_up.batches(self.description.dim)?.into_iter().chain(batch).collect();
        let first = first_rows(&batches, warmup);
        let first = first.view(self.description.dim)?;
        let Description { center_first, scale, .. } = self.description;
        let preparation = self.preparation.clone().fixed(center_first, scale, first.features())?;
        let mut learner = self.learner.clone();
        preparation.pass_on(first, &mut |first| learner.warm_up(first))?;
        let mut step = Step::default();
        for batch in batches {
            step += preparation.pass_on(batch, &mut |batch| learner.learn(batch))?;
        }
        // Even if nothing was learned, the centre is new.
        step.function_changed = true;
        (self.learner, self.preparation, self.warm_up) = (learner, preparation, None);
        Ok(step)
    }

    /// Returns how many rows the warm-up has, if `batch` is the next: the method may want more, once it knows the labels of
    /// the first rows.
    fn warmup_with(&self, batch: Batch<'_>) -> Result<usize> {
        let Description { ref method, dim, bits, warmup, warmup_chosen, .. } = self.description;
        let Some(warm_up) = &self.warm_up else { return Ok(warmup) };
        let is_known = warmup_chosen || warmup != method.warmup();
        if is_known || warm_up.rows() + batch.len() < warmup {
            return Ok(warmup);
        }
        let batches: Vec<_> = warm_up.batches(dim)?.into_iter().chain([batch]).collect();
        let first = first_rows(&batches, warmup);
        let labels = first.labels.as_ref().map(LabelList::view);
        Ok(labels.map_or(warmup, |labels| method.warmup_after(labels, (dim, bits))))
    }

    /// The method and its parameters.
    pub fn method(&self) -> &Method {
        &self.description.method
    }

    /// The dimension of the vectors it learns from.
    pub fn dim(&self) -> usize {
        self.description.dim
    }

    /// The length of its codes.
    pub fn bits(&self) -> usize {
        self.description.bits
    }

    /// The seed it started from.
    pub fn seed(&self) -> u64 {
        self.description.seed
    }

    /// Whether it scales vectors to unit length.
    pub fn unit(&self) -> bool {
        self.description.unit
    }

    /// What it divides columns by.
    pub fn scale(&self) -> Scale {
        self.description.scale
    }

    /// How many rows it has been given, those held back included.
    pub fn seen(&self) -> u64 {
        self.description.seen
    }

    /// In how many batches they came.
    pub fn batches(&self) -> u64 {
        self.description.batches
    }

    /// Returns how many of the stream's first rows it buffers at most before it learns. A method that was given no number
    /// may want more, once it knows the labels of the first rows.
    pub fn warmup(&self) -> usize {
        self.description.warmup
    }

    /// Whether it has begun to learn, or would with the next row: nothing is held back.
    pub fn is_warm(&self) -> bool {
        self.warm_up.is_none()
    }

    /// The codes that learning itself gave to items, for methods that give them any (bsodh); `None`
    /// for others, and before the first batch.
    pub fn training_codes(&self) -> Option<TrainingCodes> {
        self.learner.training_codes()
    }

    /// Returns what the bits of the last function that was made are made of, and the candidates it was chosen from. `None` of
    /// methods without such a choice, and before a function was made.
    pub fn measured_targets(&self) -> Option<MeasuredTargets> {
        self.learner.measured_targets()
    }

    /// The names of the labels it was given, for labels that come from outside. It is the
    /// caller's to fill, and is saved with the model.
    pub fn label_names(&self) -> &LabelNames {
        &self.names
    }

    /// The names of the labels, to be added to.
    pub fn label_names_mut(&mut self) -> &mut LabelNames {
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
        batch.features().expect_dim(self.description.dim)?;
        self.learner.name_labels(&self.names);
        let warmup = self.warmup_with(batch)?;
        let step = match &mut self.warm_up {
            None => {
                let learner = &mut self.learner;
                self.preparation.pass_on(batch, &mut |batch| learner.learn(batch))?
            }
            Some(warm_up) if warm_up.rows() + batch.len() < warmup => {
                // A batch that could never be learned is refused before it is held back.
                if self.description.method.is_supervised() {
                    batch.require_labels(self.description.method.name())?;
                }
                warm_up.push(batch);
                Step { function_changed: !batch.is_empty(), ..Step::default() }
            }
            Some(_) => self.warm_up(Some(batch), warmup)?,
        };
        self.description.warmup = warmup;
        self.description.seen = self.description.seen.saturating_add(batch.len() as u64);
        self.description.batches = self.description.batches.saturating_add(1);
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
        self.hash_function_and_warnings().map(|(function, _)| function)
    }

    /// [`try_hash_function`](Model::try_hash_function), with warnings for the user: that the function has
    /// more bits than directions with variance (`itq`, `sketchhash` and `frosh`). A loaded `itq` model does
    /// not repeat its warning.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn hash_function_and_warnings(&self) -> Result<(HashFunction, Vec<String>)> {
        if self.warm_up.as_ref().is_some_and(|warm_up| warm_up.rows() > 0) {
            let mut now = self.clone();
            match now.end_warmup() {
                Ok(_) => return now.hash_function_and_warnings(),
                Err(error @ Error::OutOfMemory { .. }) => return Err(error),
                // What cannot be learned yet leaves the random start, which is a function too.
                Err(_) => {}
            }
        }
        let (parts, directions) = self.learner.hash_parts_and_directions()?;
        let Preparation { center, scale, unit, .. } = self.preparation.clone();
        let function = HashFunction::new(HashParts { center, scale, unit, ..parts })
            .expect("the centre and the scale were checked when they were set");
        let warnings = directions.and_then(|count| self.too_few_directions(count));
        Ok((function.with_label_names(self.names.clone()), warnings.into_iter().collect()))
    }

    /// The warning that bits outnumber the directions with variance, if they do.
    fn too_few_directions(&self, directions: usize) -> Option<String> {
        let (method, bits) = (self.method().name(), self.bits());
        let extra = bits.checked_sub(directions).filter(|&extra| extra > 0)?;
        let fewer_bits = match directions {
            0 => String::new(),
            count => format!("use at most {count} bits, or "),
        };
        let larger_sketch = if method == "itq" { "" } else { ", or set a larger sketch" };
        Some(format!(
            "{method} found {directions} directions with variance for {bits} bits, so {extra} bits \
             carry no direction of their own; {fewer_bits}learn from more rows{larger_sketch}"
        ))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Features, dataset};

    #[test]
    fn more_bits_than_directions_with_variance_are_warned_of() {
        let digits = dataset::digits();
        let warnings = |method: &str, bits: usize, rows: usize| {
            let mut model = Method::named(method).unwrap().start(64, bits, 1).unwrap();
            let features = Features::new(&digits.features[..rows * 64], 64).unwrap();
            model.learn(Batch::unlabelled(features)).unwrap();
            model.hash_function_and_warnings().unwrap().1
        };
        let expected = "itq found 29 directions with variance for 64 bits, so 35 bits carry no direction of \
                        their own; use at most 29 bits, or learn from more rows";
        assert_eq!(warnings("itq", 64, 30), [expected]);
        let expected = "sketchhash found 49 directions with variance for 64 bits, so 15 bits carry no direction \
                        of their own; use at most 49 bits, or learn from more rows, or set a larger sketch";
        assert_eq!(warnings("sketchhash", 64, 60), [expected]);
        for (method, bits, rows) in [
            ("itq", 29, 30),
            ("itq", 61, 1500),
            ("sketchhash", 32, 200),
            ("sketchhash", 32, 0),
            ("lsh", 64, 5),
        ] {
            assert_eq!(warnings(method, bits, rows), [""; 0], "{method} {bits} {rows}");
        }
    }
}
