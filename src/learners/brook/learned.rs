//! State that is stored for the learned rows: sums over lifted rows, sums over original rows, and a
//! sample.
//!
//! # Why are the sums exact?
//!
//! `embedding.rs` converts a vector to `z` (by lift and centring) and rounds its values to integer
//! multiples of a power of two, at most 2047 times this power. `kernel/gram.rs` adds products of
//! these integers in 32 bits, 512 rows at a time, and then in `f64`, where integers are exact up to
//! 2^53. Sums of integers do not depend on their order. So batches, shards, threads and machines do
//! not matter, and subtracting rows leaves no trace: the tests compare functions for equality.
//! Rounding moves a number by 1/4096 at most, far below what the ridge smooths. 16-bit products
//! also run at twice the speed of single precision and four times that of double precision. A row
//! that does not fit is added in `f64` alone. Such rows are rare: their vectors are not of unit
//! length and have a value twice as large as any in the warm-up.
//!
//! With a `half_life` a row of age `a` counts `w = 2^(-a / half_life)`. The row is multiplied by
//! the root of `w` and rounded again before it is added. Rows of any age therefore use the same
//! fast sum, 2048 at a time, and the earlier sums are scaled once per 2048 rows. Such sums are no
//! longer integers, but their order is fixed: buffered rows are saved as rows, and a model that is
//! loaded continues with the same bits.
//!
//! Nothing is solved while learning or saving. `hash_function` solves for the codes of the classes
//! (`codes.rs`) and the weights (`solution.rs`) on request, and caches the result until the next
//! row.

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

/// Largest number of dimensions for which original vectors are added up next to the lifted ones.
pub(super) const MAX_PLAIN: usize = 2048;

/// Largest number of warm-up rows that are stored for rotations.
const FIRST: usize = 2048;

/// The divisor of the memory limit that bounds the lifted sums of labels. Larger sums are
/// discarded.
const MEMORY_OF_LABELS: u64 = 4;

/// Embedding of the original vectors, and rows of the warm-up. Fixed by the warm-up.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plain {
    pub(super) embedding: Embedding,
    /// Rows on which directions are rotated.
    pub(super) first: Vec<f32>,
}

/// Parameters for adding rows to the sums and the sample.
#[derive(Clone, Copy)]
pub(super) struct Adding<'a> {
    pub(super) embedding: &'a Embedding,
    pub(super) plain: Option<&'a Plain>,
    pub(super) keys: &'a Keys,
    pub(super) half_life: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Learned {
    /// Sums over embedded rows; `None` once they were discarded because of too many labels.
    embedded: Option<Sums>,
    /// Sums over the original rows. `None` without a lift, where `embedded` has them.
    plain: Option<Sums>,
    pub(super) sample: Sample,
}

impl Plain {
    /// Returns `None` for vectors with too many dimensions.
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

    /// Reads the saved state, if there is any.
    pub(super) fn load(dim: usize, state: &mut Tensors) -> Loaded<Option<Self>> {
        if !state.contains("brook.plain.first") {
            return Ok(None);
        }
        let embedding = Embedding::load_linear("brook.plain", dim, state)?;
        let first: Vec<f32> = state.take("brook.plain.first", dim)?;
        let rows =
            Features::new(&first, dim).map_err(|error| format!("its first rows: {error}"))?;
        if dim > MAX_PLAIN || !(1..=FIRST).contains(&rows.len()) {
            let found = format!("{} first rows of {dim} dimensions", rows.len());
            return Err(format!("{found}, where 1 to {FIRST} of {MAX_PLAIN} may be"));
        }
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

    /// Returns an empty state that counts rows with several labels in the same way.
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

    /// Returns the sums over embedded rows, unless they were discarded.
    pub(super) fn embedded(&self) -> Option<&Sums> {
        self.embedded.as_ref()
    }

    /// Returns the sums over the original rows, if the learner [adds](Adding) them.
    pub(super) fn plain(&self, is_lifted: bool) -> Option<&Sums> {
        if is_lifted { self.plain.as_ref() } else { self.embedded.as_ref() }
    }

    /// Returns sums that count rows and labels. Lifted and original sums have the same counts.
    pub(super) fn any(&self) -> &Sums {
        let sums = self.embedded.as_ref().or(self.plain.as_ref());
        sums.expect("embedded sums are given up where there are others")
    }

    /// Adds at most [`BLOCK`] rows. Rows without labels are skipped.
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

    /// Returns whether the lifted sums of the labels take so much memory that they must be
    /// discarded permanently. Codes of thousands of classes are not better than discriminant bits.
    pub(super) fn has_too_many_labels(&self, memory: u64) -> bool {
        let (Some(sums), Some(plain)) = (&self.embedded, &self.plain) else { return false };
        let bytes = (size_of::<f64>() * plain.label_count() * sums.width()) as u64;
        bytes > memory / MEMORY_OF_LABELS
    }

    /// Discards the lifted sums if there are too many labels.
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

    /// Returns the number of values in the sums of a label.
    fn values_of_a_label(&self) -> usize {
        [&self.embedded, &self.plain].into_iter().flatten().map(Sums::width).sum()
    }

    fn numbers_of_grams(&self) -> usize {
        let width = |sums: &Sums| Gram::numbers(sums.width());
        [&self.embedded, &self.plain].into_iter().flatten().map(width).sum()
    }

    /// Returns the number of labels that the state would have after adding `labels`.
    pub(super) fn labels_with<'l>(&self, labels: impl Iterator<Item = &'l [u32]>) -> usize {
        let known = self.any();
        let new = labels.flatten().filter(|&&label| !known.contains(label));
        known.label_count() + new.collect::<HashSet<_>>().len()
    }

    /// Returns the number of labels that the state would have after merging `other`.
    pub(super) fn labels_with_all(&self, other: &Learned, translate: &dyn Fn(u32) -> u32) -> usize {
        let known = self.any();
        let theirs = other.any().classes();
        let new = theirs.iter().filter(|class| !known.contains(translate(class.label))).count();
        known.label_count() + new
    }

    /// Fails if the sums of this number of labels would exceed the memory limit. The sums count
    /// twice, since they are copied while a function is solved for.
    pub(super) fn expect_memory(&self, labels: usize, params: &Params) -> Result<(), Error> {
        let values = match (params.targets, &self.plain) {
            // In this case the lifted sums would be discarded first.
            (Targets::Auto, Some(plain)) => plain.width(),
            _ => self.values_of_a_label(),
        };
        let bytes = labels as u64 * (2 * size_of::<f64>() * values) as u64;
        if bytes <= params.memory || labels == self.any().label_count() {
            return Ok(());
        }
        let expected = format!("at least {bytes} bytes to learn {labels} labels");
        Err(Error::parameter("memory", expected, params.memory))
    }

    /// Fails if memory is insufficient to learn rows until the number of labels reaches the given
    /// number, or to save the model afterwards.
    pub(super) fn expect_room(
        &self,
        labels: usize,
        block: usize,
        params: &Params,
    ) -> Result<(), NoRoom> {
        let known = self.any().label_count();
        let of_labels = match (params.targets, &self.embedded, &self.plain) {
            // Lifted sums of more labels are discarded at the end of a block.
            (Targets::Auto, Some(embedded), Some(plain)) => {
                let of_label = (MEMORY_OF_LABELS as usize * size_of::<f64>()) * embedded.width();
                let lifted = known + block + params.memory as usize / of_label;
                labels * plain.width() + labels.min(lifted) * embedded.width()
            }
            _ => labels * self.values_of_a_label(),
        };
        let added = of_labels - (known * self.values_of_a_label()).min(of_labels);
        // Three copies: the sums with the buffered rows, the arrays to save, and the bytes of the
        // file.
        let copies = 3 * (of_labels + self.numbers_of_grams());
        // A block of lifted and rounded rows, and its sums by label.
        let widest = [&self.embedded, &self.plain].into_iter().flatten().map(Sums::width).max();
        let of_block = (block + block.min(labels)) * widest.unwrap_or(0);
        expect_room(added + of_block + copies)
    }

    /// Returns this state for all anchors that an embedding now has. Returns `None` if the sums
    /// cannot be estimated.
    pub(super) fn extended(self, embedding: &Embedding) -> Result<Option<Self>, NoRoom> {
        let Some(embedded) = self.embedded else { return Ok(Some(self)) };
        let embedded = extended(embedded, embedding)?;
        Ok(embedded.map(|sums| Learned { embedded: Some(sums), ..self }))
    }

    /// Returns whether this state can be added to `other`: see [`Sums::fit`].
    pub(super) fn fit(&self, other: &Learned) -> bool {
        self.any().fit(other.any())
    }

    /// Adds another state, which must [fit](Self::fit). `translate` maps its labels to the labels
    /// used here.
    pub(super) fn merge(&mut self, other: &Learned, translate: &dyn Fn(u32) -> u32, keys: &Keys) {
        match (&mut self.embedded, &other.embedded) {
            (Some(sums), Some(others)) => sums.merge(others, translate),
            // One of the two states has discarded its lifted sums.
            _ => self.embedded = None,
        }
        if let (Some(sums), Some(others)) = (&mut self.plain, &other.plain) {
            sums.merge(others, translate);
        }
        let known = self.any().label_count();
        self.sample.merge(&other.sample, translate, keys, known);
    }

    /// Returns the state without `gone`. Fails with the reason if `gone` was never part of it.
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
        let same_labels = |one: &Sums, other: &Sums| {
            one.classes().iter().all(|class| other.contains(class.label))
        };
        if let (Some(one), Some(other)) = (&embedded, &plain)
            && !same_labels(one, other)
        {
            return Err("its sums are of different labels".to_owned());
        }
        match counts {
            [None, None] => Err("it has no sums".to_owned()),
            [Some(one), Some(other)] if one != other => {
                Err(format!("its sums are of {} and of {} rows", one.0, other.0))
            }
            _ => Ok(Learned { embedded, plain, sample: Sample::load(dim, keys, state)? }),
        }
    }
}
