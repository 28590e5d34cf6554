//! What can be done to models that keep what they learn as sums: brook's.

use std::collections::{BTreeMap, HashMap};

use super::Model;
use super::description::Description;
use crate::labels::LabelNames;
use crate::{Batch, Error, Features, Labels, Result, Step};

impl Model {
    /// A model that has learned nothing, with all that this one's warm-up fixed: to learn another
    /// part of a stream with, elsewhere, and to be [merged](Model::merge) afterwards.
    ///
    /// # Errors
    /// When the method is another than brook, or the model has not warmed up.
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

    /// Returns a model that has learned the same, for shorter codes: one pass over a stream gives functions of several
    /// lengths. It is the model that was started with `bits` and learned the same rows, except that the directions of its
    /// detail bits may differ in the last digits. With `start = steady` its codes start from the seed.
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
    /// When the method is another than brook, or the model has fewer bits.
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

    /// Adds all that another model has learned: afterwards this one is as if it had learned both
    /// streams. The two must be [siblings](Model::sibling), or learned from siblings.
    ///
    /// Two models that have learned the very same are refused: one is a copy of the other, and its rows
    /// would count twice. (So are two parts of a few rows that happen to be equal: let one model learn
    /// both.) A model keeps sums and not rows, so it cannot tell that parts overlap: rows that both have
    /// learned among others do count twice.
    ///
    /// Labels that have names are known by their names. With a `half_life` the two count as streams
    /// that ran side by side, up to now; with `start = steady` a label keeps the code it has here.
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
    /// When the models do not fit each other or have learned the same, or the method is another than
    /// brook. Nothing is changed then.
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

    /// Adds what a sibling has learned of a part of a batch, which was divided among several: afterwards this
    /// model is as if it had learned the part itself. Other than for [`merge`](Model::merge), parts may be equal, as
    /// those of a stream that repeats itself are, and how many `batches` it counts is said: 1 for the first part
    /// of a batch, and 0 for the others. Labels get their numbers as if the parts had come in the order in which
    /// they are merged.
    ///
    /// # Errors
    /// When the models do not fit each other, or the method is another than brook. Nothing is changed then.
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
        self.learner.merge(&other.learner, &translate)?;
        self.learner.name_labels(&names);
        self.names = names;
        self.description.seen = self.description.seen.saturating_add(other.description.seen);
        self.description.batches = self.description.batches.saturating_add(batches);
        Ok(())
    }

    /// Forgets rows that were learned, with the labels they were learned with: afterwards the
    /// model is as if it had never seen them. What the warm-up fixed stays: the centre, and the
    /// anchors, which are rows themselves (and with `start = steady` the codes in use).
    ///
    /// The rows must have been learned. A model keeps sums, not rows, so it cannot always tell:
    /// rows that it never saw, or forgot already, are refused only where what is left could not be
    /// a sum of any rows. Each call costs about as much as a function.
    ///
    /// # Errors
    /// When the rows cannot have been learned, or the method is another than brook. Nothing is
    /// changed then.
    pub fn unlearn(&mut self, batch: Batch<'_>) -> Result<Step> {
        batch.features().expect_dim(self.description.dim)?;
        let (names, learner) = (&self.names, &mut self.learner);
        learner.name_labels(names);
        self.preparation
            .pass_on(batch, &mut |batch| learner.unlearn(batch, &|label| called(names, label)))?;
        self.description.seen = self.description.seen.saturating_sub(batch.len() as u64);
        Ok(Step { function_changed: true, ..Step::default() })
    }

    /// Takes rows that were learned as if they had been learned with other labels.
    ///
    /// # Errors
    /// When the rows cannot have been learned with the old labels, or the method is another than
    /// brook. Nothing is changed then.
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

    /// A number that tells what the model has learned, and how it prepares vectors: equal for a copy,
    /// whatever its file is called and whatever its [notes](Model::notes) say, and different for models
    /// that have learned other rows.
    pub fn fingerprint(&self) -> u64 {
        let mut names = String::new();
        // Lengths first, so that no two lists of names are one text.
        self.names.iter().for_each(|name| names += &format!("{}:{name}", name.len()));
        let Description { seen, bits, .. } = self.description;
        let text = format!("{} {seen} {bits}", self.method().name());
        let state = self.learned_state().checksum(&text);
        u64::from(state) << 32 | u64::from(crc32fast::hash(names.as_bytes())) ^ (seen & 0xffff_ffff)
    }

    /// Whether both have learned the very same, and not nothing.
    fn has_learned_the_same(&self, other: &Model) -> bool {
        self.description.seen == other.description.seen
            && self.fingerprint() == other.fingerprint()
            // A checksum can be the same by chance.
            && self.names == other.names
            && self.learned_state() == other.learned_state()
            && self.has_learned()
    }

    /// Whether it has learned anything: rows without labels teach nothing to methods that need them.
    pub fn has_learned(&self) -> bool {
        let nothing = self.sibling().map(|sibling| sibling.learned_state());
        nothing.map_or(self.description.seen > 0, |nothing| nothing != self.learned_state())
    }
}

/// What a label is called in messages.
fn called(names: &LabelNames, label: u32) -> String {
    names.name(label).map_or_else(|| format!("number {label}"), |name| format!("{name:?}"))
}
