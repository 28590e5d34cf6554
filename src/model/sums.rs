//! Operations on models that store sums, as brook's do.
//!
//! # How is a copy distinguished from another part of a stream?
//!
//! A model stores sums, so it cannot detect that rows were learned twice. But two models that have
//! learned exactly the same rows are copies: `Model::fingerprint` is a checksum of what was
//! learned, without the solution. If fingerprints are equal, `merge` compares the arrays
//! themselves, and refuses to merge equal arrays. It cannot detect that parts overlap, or that one
//! model was merged into the other before.

use std::collections::{BTreeMap, HashMap};

use super::Model;
use super::description::Description;
use crate::labels::LabelNames;
use crate::{Batch, Error, Features, Labels, Result, Step};

impl Model {
    /// Returns a model that has learned nothing, but shares everything that this model's warm-up
    /// fixed. A sibling can learn another part of a stream elsewhere, to be [merged](Model::merge)
    /// afterwards.
    ///
    /// # Errors
    /// When the method is not brook, or the model has not warmed up.
    pub fn sibling(&self) -> Result<Model> {
        let learner = self.learner.sibling()?;
        let description = Description { seen: 0, batches: 0, ..self.description.clone() };
        let (names, preparation) = (self.names.clone(), self.preparation.clone());
        Ok(Model {
            description,
            names,
            notes: BTreeMap::new(),
            preparation,
            learner,
            warm_up: None,
        })
    }

    /// Returns a model for shorter codes that has learned the same rows. One pass over a stream
    /// thus gives functions of several lengths. The result equals a model that was started with
    /// `bits` and learned the same rows. Only the directions of the detail bits may differ in the
    /// last digits. With `start = steady` the codes of the new model start from the seed.
    ///
    /// ```
    /// use hashbrook::dataset::{Digits, digits};
    /// use hashbrook::{Batch, Features, Labels, Method};
    ///
    /// let Digits { features, labels } = digits();
    /// let all = Batch::new(Features::new(&features, Digits::DIM)?, Labels::single(&labels))?;
    /// let mut model = Method::named("brook")?.start(Digits::DIM, 128, 1)?;
    /// model.learn(all)?;
    /// model.end_warmup()?;
    /// assert_eq!(model.with_bits(16)?.hash_function().bits(), 16);
    /// assert!(model.with_bits(129).is_err());
    /// # Ok::<(), hashbrook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the method is not brook, or the model has fewer bits.
    pub fn with_bits(&self, bits: usize) -> Result<Model> {
        let most = self.description.bits;
        if !(1..=most).contains(&bits) {
            return Err(Error::parameter(
                "bits",
                format!("from 1 to {most}, those of the model"),
                bits,
            ));
        }
        let learner = self.learner.with_bits(bits)?;
        let description = Description { bits, ..self.description.clone() };
        Ok(Model { description, learner, ..self.clone() })
    }

    /// Adds everything that another model has learned. Afterwards this model equals a model that
    /// learned both streams. The two must be [siblings](Model::sibling), or have learned from
    /// siblings.
    ///
    /// Two models that have learned exactly the same rows are refused: presumably one is a copy of
    /// the other, and its rows would count twice. Small parts of a stream that happen to be equal
    /// are also refused; let one model learn both. A model stores sums and not rows, so it cannot
    /// detect parts that overlap partly. Rows in the overlap count twice.
    ///
    /// Named labels are matched by their names. With a `half_life` the two models count as streams
    /// that ran in parallel until now. With `start = steady` a label keeps the code that it has in
    /// this model.
    ///
    /// ```
    /// use hashbrook::{Batch, Features, Labels, Method};
    ///
    /// let rows: Vec<f32> = (0..80).map(|i| (i * i % 17) as f32).collect();
    /// let labels: Vec<u32> = (0..20).map(|i| i % 2).collect();
    /// let all = Batch::new(Features::new(&rows, 4)?, Labels::single(&labels))?;
    ///
    /// let mut here = Method::named("brook")?.start(4, 16, 1)?;
    /// here.learn(all.slice(0..8))?;
    /// here.end_warmup()?; // the centre and the anchors are fixed from here on
    /// let mut there = here.sibling()?;
    /// let mut whole = here.clone();
    ///
    /// here.learn(all.slice(8..14))?;
    /// there.learn(all.slice(14..20))?;
    /// here.merge(&there)?;
    ///
    /// whole.learn(all.slice(8..20))?;
    /// assert_eq!(here.hash_function().parts(), whole.hash_function().parts());
    /// # Ok::<(), hashbrook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the models do not fit each other, have learned the same rows, or the method is not
    /// brook. The model is then unchanged.
    pub fn merge(&mut self, other: &Model) -> Result<()> {
        if self.has_learned_the_same(other) {
            return Err(Error::NotMergeable {
                problem: format!(
                    "both have learned the very same {} rows, which would count twice; is one a copy \
                     of the other?",
                    self.description.seen
                ),
            });
        }
        self.merge_part(other, other.description.batches)
    }

    /// Adds what a sibling has learned from its part of a batch that was divided among several
    /// models. Afterwards this model equals a model that learned the part itself. Unlike
    /// [`merge`](Model::merge), this method accepts equal parts, as in a stream that repeats
    /// itself. The caller gives the number of `batches` to count: 1 for the first part of a batch,
    /// and 0 for the others. Labels are numbered as if the parts had arrived in the order in which
    /// they are merged.
    ///
    /// # Errors
    /// When the models do not fit each other, or the method is not brook. The model is then
    /// unchanged.
    pub fn merge_part(&mut self, other: &Model, batches: u64) -> Result<()> {
        let differ = |what: &str, here: &str, there: &str| Error::NotMergeable {
            problem: format!("their {what} differ: {here} and {there}"),
        };
        let (a, b) = (&self.description, &other.description);
        if a.method.name() != b.method.name() {
            return Err(differ("methods", a.method.name(), b.method.name()));
        }
        let (here, there) = (a.method.table(), b.method.table());
        let number = |value: usize| value.to_string();
        let parameters = here
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_string(), there[name].to_string()));
        let others = [
            ("dimensions", number(a.dim), number(b.dim)),
            ("code lengths", number(a.bits), number(b.bits)),
            ("seeds", a.seed.to_string(), b.seed.to_string()),
            ("scales", a.scale.to_string(), b.scale.to_string()),
            ("unit lengths", a.unit.to_string(), b.unit.to_string()),
        ];
        for (what, here, there) in parameters.chain(others) {
            if here != there {
                return Err(differ(what, &here, &there));
            }
        }
        if self.warm_up.is_some() || other.warm_up.is_some() {
            return Err(Error::NotWarm);
        }
        if self.preparation != other.preparation {
            let (one, two) = (&self.preparation, &other.preparation);
            let what = if one.center == two.center { "scales" } else { "centres" };
            return Err(Error::NotMergeable {
                problem: format!(
                    "their {what} differ; models that are to be merged must come from one that has \
                     warmed up (as siblings of it)"
                ),
            });
        }
        if self.names.is_empty() != other.names.is_empty() && other.description.seen > 0 {
            return Err(Error::NotMergeable {
                problem: "the labels of one have names, and those of the other only numbers"
                    .to_owned(),
            });
        }
        let mut names = self.names.clone();
        let translation: HashMap<u32, u32> =
            (0..).zip(other.names.iter()).map(|(there, name)| (there, names.id(name))).collect();
        let translate = |label: u32| translation.get(&label).copied().unwrap_or(label);
        // Rows are sampled by the names of their labels, so the names are set first.
        self.learner.name_labels(&names);
        if let Err(error) = self.learner.merge(&other.learner, &translate) {
            self.learner.name_labels(&self.names);
            return Err(error);
        }
        self.names = names;
        self.description.seen = self.description.seen.saturating_add(other.description.seen);
        self.description.batches = self.description.batches.saturating_add(batches);
        Ok(())
    }

    /// Forgets learned rows, given with the labels with which they were learned. Afterwards the
    /// model equals a model that never learned these rows. Everything that the warm-up fixed stays:
    /// the centre, the anchors (which are rows), and with `start = steady` the codes in use.
    ///
    /// The rows must have been learned. A model stores sums, not rows, so it cannot detect every
    /// error: rows that it never learned, or has already forgotten, are refused only if no rows
    /// could have the remaining sums. Each call costs about as much as computing a function.
    ///
    /// # Errors
    /// When the rows cannot have been learned, or the method is not brook. The model is then
    /// unchanged.
    pub fn unlearn(&mut self, batch: Batch<'_>) -> Result<Step> {
        batch.features().expect_dim(self.description.dim)?;
        let (names, learner) = (&self.names, &mut self.learner);
        learner.name_labels(names);
        self.preparation
            .pass_on(batch, &mut |batch| learner.unlearn(batch, &|label| called(names, label)))?;
        self.description.seen = self.description.seen.saturating_sub(batch.len() as u64);
        Ok(Step { function_changed: true, ..Step::default() })
    }

    /// Changes the labels of rows that were learned. Afterwards the model equals a model that
    /// learned them with the new labels.
    ///
    /// # Errors
    /// When the rows cannot have been learned with the old labels, or the method is not brook. The
    /// model is then unchanged.
    pub fn relabel(
        &mut self,
        features: Features<'_>,
        old: Labels<'_>,
        new: Labels<'_>,
    ) -> Result<Step> {
        features.expect_dim(self.description.dim)?;
        Batch::new(features, new)?;
        let (names, learner) = (&self.names, &mut self.learner);
        learner.name_labels(names);
        self.preparation.pass_on(Batch::new(features, old)?, &mut |batch| {
            learner.relabel(batch.features(), (old, new), &|label| called(names, label))
        })?;
        Ok(Step { function_changed: true, ..Step::default() })
    }

    /// Returns a number that identifies what the model has learned and how it prepares vectors. A
    /// copy has the same fingerprint, whatever its file name and its [notes](Model::notes). Models
    /// that have learned different rows have different fingerprints.
    pub fn fingerprint(&self) -> u64 {
        let mut names = String::new();
        // Each name is preceded by its length, so that no two lists of names give the same string.
        self.names.iter().for_each(|name| names += &format!("{}:{name}", name.len()));
        let Description { seen, bits, .. } = self.description;
        let text = format!("{} {seen} {bits}", self.method().name());
        let state = self.learned_state().checksum(&text);
        u64::from(state) << 32 | u64::from(crc32fast::hash(names.as_bytes())) ^ (seen & 0xffff_ffff)
    }

    /// Returns whether both models have the same learned state, and have learned anything at all.
    fn has_learned_the_same(&self, other: &Model) -> bool {
        self.description.seen == other.description.seen
            && self.fingerprint() == other.fingerprint()
            // Different models may have the same fingerprint by chance.
            && self.names == other.names
            && self.learned_state() == other.learned_state()
            && self.has_learned()
    }

    /// Returns whether the model has learned anything. Rows without labels teach nothing to methods
    /// that need labels.
    pub fn has_learned(&self) -> bool {
        let nothing = self.sibling().map(|sibling| sibling.learned_state());
        nothing.map_or(self.description.seen > 0, |nothing| nothing != self.learned_state())
    }
}

/// Returns the name of a label for messages.
fn called(names: &LabelNames, label: u32) -> String {
    names.name(label).map_or_else(|| format!("number {label}"), |name| format!("{name:?}"))
}
