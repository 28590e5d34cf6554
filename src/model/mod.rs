//! [`Model`]: a learner running on a stream.

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

/// Running learner: learns from a stream, and returns the hash function learned so far. A model can
/// be saved at any time, and resumed without any effect on what it learns.
///
/// During its warm-up a model only buffers rows. A function requested then is learned from these
/// rows alone, as if the warm-up ended with them. The values that the warm-up fixes depend only on
/// the first rows of the stream, not on their division into batches.
#[derive(Clone, Debug)]
pub struct Model {
    description: Description,
    names: LabelNames,
    notes: BTreeMap<String, String>,
    /// Preparation of vectors before learning; the warm-up may complete it.
    preparation: Preparation,
    learner: AnyLearner,
    /// Buffered rows; `None` once the model is warm.
    warm_up: Option<WarmUp>,
}

impl Model {
    /// Ends the warm-up now, as if the rows buffered so far were the stream's first rows. Does
    /// nothing if the model is warm or has seen no rows.
    ///
    /// # Errors
    /// When the buffered rows cannot be learned.
    pub fn end_warmup(&mut self) -> Result<Step> {
        match &self.warm_up {
            Some(warm_up) if warm_up.rows() > 0 => self.warm_up(None, self.description.warmup),
            _ => Ok(Step::default()),
        }
    }

    /// Fixes the preparation from the first rows, then learns the buffered rows and `batch`. If
    /// anything fails, the model is unchanged.
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
        // Even if the batches taught the learner nothing, the new centre changes the function.
        step.function_changed = true;
        (self.learner, self.preparation, self.warm_up) = (learner, preparation, None);
        Ok(step)
    }

    /// Returns the number of warm-up rows, given that `batch` is the next batch. The method may
    /// need more rows once it knows the labels of the first rows.
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

    /// Returns the method and its parameters.
    pub fn method(&self) -> &Method {
        &self.description.method
    }

    /// Returns the dimension of the vectors.
    pub fn dim(&self) -> usize {
        self.description.dim
    }

    /// Returns the length of the codes in bits.
    pub fn bits(&self) -> usize {
        self.description.bits
    }

    /// Returns the seed that the model started from.
    pub fn seed(&self) -> u64 {
        self.description.seed
    }

    /// Returns whether the model scales vectors to unit length.
    pub fn unit(&self) -> bool {
        self.description.unit
    }

    /// Returns the scale by which columns are divided.
    pub fn scale(&self) -> Scale {
        self.description.scale
    }

    /// Returns the number of rows given to the model, including buffered rows.
    pub fn seen(&self) -> u64 {
        self.description.seen
    }

    /// Returns the number of batches given to the model.
    pub fn batches(&self) -> u64 {
        self.description.batches
    }

    /// Returns the largest number of first rows that the model buffers before it learns. If the
    /// user chose no number, the method may need more rows once it knows the labels of the first
    /// rows.
    pub fn warmup(&self) -> usize {
        self.description.warmup
    }

    /// Returns whether the warm-up has ended or is unnecessary. A warm model buffers no rows.
    pub fn is_warm(&self) -> bool {
        self.warm_up.is_none()
    }

    /// Returns the codes that learning assigned to items, for methods that assign codes (bsodh).
    /// Returns `None` for other methods, and before the first batch.
    pub fn training_codes(&self) -> Option<TrainingCodes> {
        self.learner.training_codes()
    }

    /// Returns the targets of the bits of the last computed function, and the candidates that were
    /// compared. Returns `None` for methods that do not choose targets, and before the first
    /// function was computed.
    pub fn measured_targets(&self) -> Option<MeasuredTargets> {
        self.learner.measured_targets()
    }

    /// Returns the names of the labels. The caller fills them in for labels from external sources;
    /// they are saved with the model.
    pub fn label_names(&self) -> &LabelNames {
        &self.names
    }

    /// Returns the names of the labels, so that the caller can add names.
    pub fn label_names_mut(&mut self) -> &mut LabelNames {
        &mut self.names
    }

    /// Returns the caller's notes, which are saved with the model and otherwise ignored.
    pub fn notes(&self) -> &BTreeMap<String, String> {
        &self.notes
    }

    /// Returns the notes, so that the caller can change them.
    pub fn notes_mut(&mut self) -> &mut BTreeMap<String, String> {
        &mut self.notes
    }
}

/// Learning.
impl Model {
    /// Updates the model with the next batch of the stream. A batch that fails leaves the model
    /// unchanged.
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
                // A batch that can never be learned is refused before it is buffered.
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

    /// Returns a frozen copy of the hash function learned so far, with the names of the labels. The
    /// call succeeds even before the first batch.
    ///
    /// # Panics
    /// When a method that solves for its function runs out of memory: see
    /// [`try_hash_function`](Model::try_hash_function).
    pub fn hash_function(&self) -> HashFunction {
        self.try_hash_function().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Like [`hash_function`](Model::hash_function), but returns an error if there is not enough
    /// memory.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn try_hash_function(&self) -> Result<HashFunction> {
        self.hash_function_and_warnings().map(|(function, _)| function)
    }

    /// Like [`try_hash_function`](Model::try_hash_function), but also returns warnings for the
    /// user. A warning reports that the function has more bits than directions with variance
    /// (`itq`, `sketchhash` and `frosh`). A loaded `itq` model does not repeat its warning.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn hash_function_and_warnings(&self) -> Result<(HashFunction, Vec<String>)> {
        if self.warm_up.as_ref().is_some_and(|warm_up| warm_up.rows() > 0) {
            let mut now = self.clone();
            match now.end_warmup() {
                Ok(_) => return now.hash_function_and_warnings(),
                Err(error @ Error::OutOfMemory { .. }) => return Err(error),
                // If the rows cannot be learned yet, return the function of the random start.
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

    /// Returns a warning if the bits outnumber the directions with variance.
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
