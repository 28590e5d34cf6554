//! What is stored of the rows that were learned: sums of them lifted and as they are, and a sample.

use std::collections::HashSet;

use super::embedding::Embedding;
use super::follow::extended;
use super::keys::Keys;
use super::params::{Params, Targets};
use super::sample::Sample;
use super::sums::Sums;
use super::whole_numbers::BLOCK;
use crate::kernel::Gram;
use crate::learner::Loaded;
use crate::memory::{NoRoom, expect_room};
use crate::tensors::Tensors;
use crate::{Error, Features, Labels};

/// Most dimensions of vectors that are added up as they are, next to the lifted ones.
pub(super) const MAX_PLAIN: usize = 2048;

/// Most rows of the warm-up that are stored for rotations.
const FIRST: usize = 2048;

/// The share of the memory that the lifted sums of labels may take before they are given up.
const MEMORY_OF_LABELS: u64 = 4;

/// How vectors are added up as they are, and rows of the warm-up; fixed by the warm-up.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plain {
    pub(super) embedding: Embedding,
    /// Rows by which directions are rotated.
    pub(super) first: Vec<f32>,
}

/// How rows are added up.
#[derive(Clone, Copy)]
pub(super) struct Adding<'a> {
    pub(super) embedding: &'a Embedding,
    pub(super) plain: Option<&'a Plain>,
    pub(super) keys: &'a Keys,
    pub(super) half_life: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Learned {
    /// Sums of embedded rows; none once they were given up for many labels.
    embedded: Option<Sums>,
    /// Sums of the rows as they are. Without a lift these are the embedded ones.
    plain: Option<Sums>,
    pub(super) sample: Sample,
}

impl Plain {
    /// `None` of vectors with too many dimensions.
    pub(super) fn from_first(unit: bool, first: Features<'_>) -> Option<Self> {
        if first.dim() > MAX_PLAIN {
            return None;
        }
        let count = first.len().min(FIRST);
        let rows = (0..count).flat_map(|at| first.row(at * first.len() / count));
        Some(Plain { embedding: Embedding::linear(unit, first), first: rows.copied().collect() })
    }

    pub(super) fn save(&self, state: &mut Tensors) {
        self.embedding.save("brook.plain", state);
        state.put("brook.plain.first", self.embedding.dim(), &self.first);
    }

    /// What was saved, if anything was.
    pub(super) fn load(dim: usize, state: &mut Tensors) -> Loaded<Option<Self>> {
        if !state.contains("brook.plain.first") {
            return Ok(None);
        }
        let embedding = Embedding::load_linear("brook.plain", dim, state)?;
        let first: Vec<f32> = state.take("brook.plain.first", dim)?;
        Features::new(&first, dim).map_err(|error| format!("its first rows: {error}"))?;
        Ok(Some(Plain { embedding, first }))
    }
}

impl Learned {
    pub(super) fn new(embedding: &Embedding, plain: Option<&Plain>) -> Result<Self, NoRoom> {
        let is_lifted = embedding.is_lifted();
        Ok(Learned {
            embedded: Some(Sums::new(embedding.width())?),
            plain: plain.filter(|_| is_lifted).map(|_| Sums::new(embedding.dim())).transpose()?,
            sample: Sample::new(embedding.dim()),
        })
    }

    /// Returns an empty one, in which rows count as in this one.
    pub(super) fn empty(&self) -> Result<Self, NoRoom> {
        let empty = |sums: &Option<Sums>| sums.as_ref().map(Sums::empty).transpose();
        Ok(Learned {
            embedded: empty(&self.embedded)?,
            plain: empty(&self.plain)?,
            sample: Sample::new(self.sample.dim()),
        })
    }

    pub(super) fn try_clone(&self) -> Result<Self, NoRoom> {
        let clone = |sums: &Option<Sums>| sums.as_ref().map(Sums::try_clone).transpose();
        Ok(Learned {
            embedded: clone(&self.embedded)?,
            plain: clone(&self.plain)?,
            sample: self.sample.clone(),
        })
    }

    /// Returns the sums of embedded rows, unless they were given up.
    pub(super) fn embedded(&self) -> Option<&Sums> {
        self.embedded.as_ref()
    }

    /// Returns the sums of the rows as they are, for a learner that [adds](Adding) them up as such.
    pub(super) fn plain(&self, is_lifted: bool) -> Option<&Sums> {
        if is_lifted { self.plain.as_ref() } else { self.embedded.as_ref() }
    }

    /// Sums by which rows and labels are counted: all count the same.
    pub(super) fn any(&self) -> &Sums {
        let sums = self.embedded.as_ref().or(self.plain.as_ref());
        sums.expect("embedded sums are given up where there are others")
    }

    /// Adds at most [`BLOCK`] rows; those without a label are skipped.
    pub(super) fn add(&mut self, rows: &[f32], labels: Labels<'_>, by: Adding<'_>) {
        let half_life = by.half_life;
        let add = |sums: &mut Sums, embedding: &Embedding| {
            let mut numbers = embedding.whole_numbers(rows);
            if half_life > 0.0 {
                sums.scale((-(labels.len() as f64) / half_life).exp2());
                numbers = numbers.aged(half_life);
            }
            sums.add(&numbers, labels);
        };
        if let Some(sums) = &mut self.embedded {
            add(sums, by.embedding);
        }
        if let (Some(sums), Some(plain)) = (&mut self.plain, by.plain) {
            add(sums, &plain.embedding);
        }
        if by.plain.is_some() {
            let known = self.any().label_count();
            self.sample.add(rows, labels, by.keys, known);
        }
    }

    /// Adds any number of rows.
    pub(super) fn add_all(&mut self, features: Features<'_>, labels: Labels<'_>, by: Adding<'_>) {
        for start in (0..labels.len()).step_by(BLOCK) {
            let rows = start..labels.len().min(start + BLOCK);
            self.add(features.slice(rows.clone()).values(), labels.slice(rows), by);
        }
    }

    /// Whether the lifted sums of the labels take so much of the memory that they are given up, once and for good. Codes of
    /// thousands of classes are not better than discriminant bits.
    pub(super) fn has_too_many_labels(&self, memory: u64) -> bool {
        let (Some(sums), Some(plain)) = (&self.embedded, &self.plain) else { return false };
        let bytes = (size_of::<f64>() * plain.label_count() * sums.width()) as u64;
        bytes > memory / MEMORY_OF_LABELS
    }

    /// Gives up the lifted sums where there are too many labels.
    pub(super) fn give_up_lifted(&mut self, memory: u64) {
        if self.has_too_many_labels(memory) {
            self.embedded = None;
        }
    }

    pub(super) fn without_lifted(self) -> Self {
        match self.plain.is_some() {
            true => Learned { embedded: None, ..self },
            false => self,
        }
    }

    /// Number of values in the sums of a label.
    fn values_of_a_label(&self) -> usize {
        [&self.embedded, &self.plain].into_iter().flatten().map(Sums::width).sum()
    }

    fn numbers_of_grams(&self) -> usize {
        let width = |sums: &Sums| Gram::numbers(sums.width());
        [&self.embedded, &self.plain].into_iter().flatten().map(width).sum()
    }

    /// Returns how many labels there would be with these.
    pub(super) fn labels_with(&self, labels: Labels<'_>) -> usize {
        let known = self.any();
        let new = labels.iter().flatten().filter(|&&label| !known.contains(label));
        known.label_count() + new.collect::<HashSet<_>>().len()
    }

    /// Fails if the sums of this number of labels would exceed the memory. They count twice, since there is a copy of them
    /// while a function is solved for.
    pub(super) fn expect_memory(&self, labels: usize, params: &Params) -> Result<(), Error> {
        let values = match (params.targets, &self.plain) {
            // Lifted sums would be given up before.
            (Targets::Auto, Some(plain)) => plain.width(),
            _ => self.values_of_a_label(),
        };
        let bytes = labels as u64 * (2 * size_of::<f64>() * values) as u64;
        if bytes <= params.memory {
            return Ok(());
        }
        let expected = format!("at least {bytes} bytes to learn {labels} labels");
        Err(Error::parameter("memory", expected, params.memory))
    }

    /// Fails if memory is unavailable to learn blocks of rows until there are this number of labels, and to save the model
    /// then.
    pub(super) fn expect_room(&self, labels: usize, block: usize) -> Result<(), NoRoom> {
        let added = (labels - self.any().label_count()) * self.values_of_a_label();
        // With the rows that wait, as arrays, and as the bytes of a file.
        let copies = 3 * (labels * self.values_of_a_label() + self.numbers_of_grams());
        // A block lifted and rounded, and sums of it by label.
        let widest = [&self.embedded, &self.plain].into_iter().flatten().map(Sums::width).max();
        let of_block = (block + block.min(labels)) * widest.unwrap_or(0);
        expect_room(added + of_block + copies)
    }

    /// Returns what this would be with all anchors that an embedding has now. `None` where that cannot be estimated.
    pub(super) fn extended(self, embedding: &Embedding) -> Result<Option<Self>, NoRoom> {
        let Some(embedded) = self.embedded else { return Ok(Some(self)) };
        let embedded = extended(embedded, embedding)?;
        Ok(embedded.map(|sums| Learned { embedded: Some(sums), ..self }))
    }

    /// Whether this can be added to `other`: see [`Sums::fit`].
    pub(super) fn fit(&self, other: &Learned) -> bool {
        self.any().fit(other.any())
    }

    /// Adds another one, which [fits](Self::fit), and whose labels are known here by the numbers that `translate` gives.
    pub(super) fn merge(&mut self, other: &Learned, translate: &dyn Fn(u32) -> u32, keys: &Keys) {
        match (&mut self.embedded, &other.embedded) {
            (Some(sums), Some(others)) => sums.merge(others, translate),
            // One of them has given them up.
            _ => self.embedded = None,
        }
        if let (Some(sums), Some(others)) = (&mut self.plain, &other.plain) {
            sums.merge(others, translate);
        }
        let known = self.any().label_count();
        self.sample.merge(&other.sample, translate, keys, known);
    }

    /// Returns what is left without `gone`, or why that was never part of this.
    pub(super) fn without(
        self,
        gone: &Learned,
        name: &dyn Fn(u32) -> String,
    ) -> std::result::Result<Self, String> {
        let rest = |sums: Option<Sums>, gone: &Option<Sums>| {
            let both = sums.zip(gone.as_ref());
            both.map(|(sums, gone)| sums.without(gone, name)).transpose()
        };
        let mut sample = self.sample;
        sample.remove(&gone.sample);
        let embedded = rest(self.embedded, &gone.embedded)?;
        Ok(Learned { embedded, plain: rest(self.plain, &gone.plain)?, sample })
    }

    pub(super) fn save(&self, state: &mut Tensors) {
        if let Some(sums) = &self.embedded {
            sums.save("brook", state);
        }
        if let Some(sums) = &self.plain {
            sums.save("brook.plain", state);
        }
        self.sample.save(state);
    }

    pub(super) fn load(embedding: &Embedding, keys: &Keys, state: &mut Tensors) -> Loaded<Self> {
        let dim = embedding.dim();
        let mut load = |prefix: &str, width| {
            let is_there = state.contains(&format!("{prefix}.gram"));
            is_there.then(|| Sums::load(prefix, width, state)).transpose()
        };
        let embedded = load("brook", embedding.width())?;
        let plain = if embedding.is_lifted() { load("brook.plain", dim)? } else { None };
        let counts = [&embedded, &plain]
            .map(|sums| sums.as_ref().map(|sums| (sums.rows(), sums.label_count())));
        match counts {
            [None, None] => Err("it has no sums".to_owned()),
            [Some(one), Some(other)] if one != other => {
                Err(format!("its sums are of {} and of {} rows", one.0, other.0))
            }
            _ => Ok(Learned { embedded, plain, sample: Sample::load(dim, keys, state)? }),
        }
    }
}
