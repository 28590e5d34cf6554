//! What can be done to models that keep what they learn as sums: brook's.

use std::collections::HashMap;

use super::Model;
use crate::kernel::prepare;
use crate::{Batch, Error, Features, Labels, Result, Step};

impl Model {
    /// A model that has learned nothing, with all that this one's warm-up fixed: to learn another
    /// part of a stream with, elsewhere, and to be [merged](Model::merge) afterwards.
    ///
    /// # Errors
    /// When the method is another than brook, or the model has not warmed up.
    pub fn sibling(&self) -> Result<Model> {
        let Some(learner) = self.learner.sibling() else {
            return Err(match self.learner.clone().unlearn(self.no_rows()?) {
                Err(error @ Error::NotSums { .. }) => error,
                _ => Error::NotMergeable {
                    problem: "this one has not warmed up, so nothing is fixed yet".to_owned(),
                },
            });
        };
        let mut sibling = Model { learner, held: None, ..self.clone() };
        sibling.notes.clear();
        (sibling.about.seen, sibling.about.batches) = (0, 0);
        Ok(sibling)
    }

    /// Adds all that another model has learned: afterwards this one is as if it had learned both
    /// streams. The two must be [siblings](Model::sibling), or learned from siblings.
    ///
    /// Labels that have names in both are known by their names.
    ///
    /// ```
    /// use hashbrook::{Batch, Features, Labels, Learner, Method};
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
    /// When the models do not fit each other, or the method is another than brook. Nothing is
    /// changed then.
    pub fn merge(&mut self, other: &Model) -> Result<()> {
        let different = |what: &str, here: String, there: String| Error::NotMergeable {
            problem: format!("their {what} differ: {here} and {there}"),
        };
        let (a, b) = (&self.about, &other.about);
        let number = |value: usize| value.to_string();
        if a.method != b.method {
            let text =
                |method: &crate::Method| serde_json::Value::Object(method.table()).to_string();
            return Err(different("methods", text(&a.method), text(&b.method)));
        }
        for (what, here, there) in [
            ("dimensions", number(a.dim), number(b.dim)),
            ("code lengths", number(a.bits), number(b.bits)),
            ("seeds", a.seed.to_string(), b.seed.to_string()),
            ("unit lengths", a.unit.to_string(), b.unit.to_string()),
        ] {
            if here != there {
                return Err(different(what, here, there));
            }
        }
        if self.center != other.center {
            return Err(Error::NotMergeable {
                problem: "their centres differ; models that are to be merged must come from one \
                          that has warmed up (as siblings of it)"
                    .to_owned(),
            });
        }
        let mut names = self.names.clone();
        let translation: HashMap<u32, u32> =
            (0..).zip(other.names.iter()).map(|(there, name)| (there, names.id(name))).collect();
        let translate = |label: u32| translation.get(&label).copied().unwrap_or(label);
        self.learner.merge(&other.learner, &translate)?;
        self.names = names;
        self.about.seen += other.about.seen;
        self.about.batches += other.about.batches;
        Ok(())
    }

    /// Forgets rows that were learned, with the labels they were learned with: afterwards the
    /// model is as if it had never seen them. What the warm-up fixed stays.
    ///
    /// # Errors
    /// When the rows cannot have been learned, or the method is another than brook. Nothing is
    /// changed then.
    pub fn unlearn(&mut self, batch: Batch<'_>) -> Result<Step> {
        let rows = self.prepared(batch.features())?;
        let features = Features::new(&rows, self.about.dim)?;
        self.learner.unlearn(batch.with_features(features))?;
        self.about.seen = self.about.seen.saturating_sub(batch.len() as u64);
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
        Batch::new(features, old)?;
        Batch::new(features, new)?;
        let rows = self.prepared(features)?;
        self.learner.relabel(Features::new(&rows, self.about.dim)?, old, new)?;
        Ok(Step { function_changed: true, ..Step::default() })
    }

    /// Rows as the learner was given them.
    fn prepared(&self, features: Features<'_>) -> Result<Vec<f32>> {
        features.expect_dim(self.about.dim)?;
        let mut rows = Vec::new();
        let center = self.center.as_deref();
        prepare(center, self.about.unit, self.about.dim, features.values(), &mut rows);
        Ok(rows)
    }

    fn no_rows(&self) -> Result<Batch<'static>> {
        Batch::new(Features::new(&[], self.about.dim)?, Labels::single(&[]))
    }
}
