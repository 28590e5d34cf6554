//! Large batches, learned in parts so that learning can be observed and stopped.

use super::Model;
use crate::{Batch, Method, Result, Step};

/// Number of rows learned between two calls of `go_on`. brook sums rows in blocks of at most 2048.
const ROWS_AT_ONCE: usize = 2048;

impl Model {
    /// Like [`learn`](Model::learn), for a batch so large that the caller may want to stop midway.
    /// `go_on` is called from time to time with the number of rows learned so far. If `go_on`
    /// returns `false`, the model is restored to its earlier state, and the result is `None`.
    ///
    /// The outcome is the same as that of [`learn`](Model::learn), to the last bit.
    /// [brook](crate::learners::brook) learns the batch in pieces, and holds a copy of the model
    /// until the end, to restore it after a stop. Other methods learn the batch in one piece, so
    /// `go_on` is called once, before learning.
    ///
    /// ```
    /// use hashbrook::dataset::{Digits, digits};
    /// use hashbrook::{Batch, Features, Labels, Method};
    ///
    /// let Digits { features, labels } = digits();
    /// let all = Batch::new(Features::new(&features, Digits::DIM)?, Labels::single(&labels))?;
    /// let mut model = Method::named("brook")?.start(Digits::DIM, 32, 1)?;
    /// assert!(model.learn_while(all, |_| false)?.is_none());
    /// assert_eq!(model.seen(), 0);
    /// assert!(model.learn_while(all, |_| true)?.is_some());
    /// assert_eq!((model.seen(), model.batches()), (1797, 1));
    /// # Ok::<(), hashbrook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`learn`](Model::learn).
    pub fn learn_while(
        &mut self,
        batch: Batch<'_>,
        mut go_on: impl FnMut(usize) -> bool,
    ) -> Result<Option<Step>> {
        let rows = batch.len();
        let held_back = match &self.warm_up {
            Some(warm_up) => warm_up.rows() + rows < self.warmup_with(batch)?,
            None => false,
        };
        // A batch that is only buffered is not divided, because the warm-up preserves batches.
        let whole = held_back
            || rows <= ROWS_AT_ONCE
            || !matches!(self.description.method, Method::Brook(_));
        if whole {
            return if go_on(0) { self.learn(batch).map(Some) } else { Ok(None) };
        }
        let before = self.clone();
        let mut learn = || {
            let mut step = Step::default();
            for start in (0..rows).step_by(ROWS_AT_ONCE) {
                if !go_on(start) {
                    return Ok(None);
                }
                step += self.learn(batch.slice(start..rows.min(start + ROWS_AT_ONCE)))?;
            }
            Ok(Some(step))
        };
        let learned = learn();
        match &learned {
            Ok(Some(_)) => self.description.batches = before.description.batches.saturating_add(1),
            _ => *self = before,
        }
        learned
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use crate::{Batch, Features, Labels, Method, Setup};

    const DIM: usize = 6;

    fn rows(count: usize) -> (Vec<f32>, Vec<u32>) {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let labels: Vec<u32> = (0..count).map(|_| rng.random_range(0..4)).collect();
        let near = |label: u32, column: usize| if column as u32 == label { 3.0 } else { 0.0 };
        let row =
            |&label: &u32| (0..DIM).map(move |column| near(label, column)).collect::<Vec<_>>();
        let mut values: Vec<f32> = labels.iter().flat_map(row).collect();
        values.iter_mut().for_each(|value| *value += rng.random_range(-1.0..1.0));
        (values, labels)
    }

    /// Learning in parts and learning at once give the same model for all parameters of brook,
    /// whether the warm-up ends before, in or after the batch.
    #[test]
    fn parts_of_a_batch_teach_what_the_batch_teaches() {
        let (values, labels) = rows(7000);
        let all =
            Batch::new(Features::new(&values, DIM).unwrap(), Labels::single(&labels)).unwrap();
        let settings: [(&str, &str); 6] = [
            ("", ""),
            ("half_life", "500"),
            ("start", "steady"),
            ("lift", "none"),
            ("detail", "0.5"),
            ("follow", "true"),
        ];
        for (name, value) in settings {
            for warmup in [50, 2500, 6999, 9000] {
                let mut method = Method::named("brook").unwrap();
                method.set("anchors", "40").unwrap();
                if !name.is_empty() {
                    method.set(name, value).unwrap();
                }
                let setup = Setup { warmup: Some(warmup), ..Setup::default() };
                let mut whole = method.start_with(DIM, 16, 1, setup).unwrap();
                whole.learn(all.slice(0..100)).unwrap();
                let mut parts = whole.clone();
                let mut asked = Vec::new();
                let step = whole.learn(all.slice(100..7000)).unwrap();
                let watched = parts.learn_while(all.slice(100..7000), |rows| {
                    asked.push(rows);
                    true
                });
                let told = format!("{name}={value}, warm-up of {warmup}");
                assert_eq!(watched.unwrap(), Some(step), "{told}");
                assert!(parts.to_bytes() == whole.to_bytes(), "{told}");
                let expected: &[usize] = if warmup > 7000 { &[0] } else { &[0, 2048, 4096, 6144] };
                assert_eq!(asked, expected, "{told}");
            }
        }
    }

    #[test]
    fn who_stops_or_fails_has_the_model_as_it_was() {
        let (values, labels) = rows(6000);
        let features = Features::new(&values, DIM).unwrap();
        let all = Batch::new(features, Labels::single(&labels)).unwrap();
        let mut model = Method::named("brook").unwrap().start(DIM, 16, 1).unwrap();
        model.learn(all.slice(0..100)).unwrap();
        let before = model.to_bytes();
        assert_eq!(model.learn_while(all, |rows| rows < 4096).unwrap(), None);
        assert!(model.to_bytes() == before);
        model.learn_while(Batch::unlabelled(features), |_| true).unwrap_err();
        assert!(model.to_bytes() == before);
        let mut other = Method::named("bsodh").unwrap().start(DIM, 16, 1).unwrap();
        let mut asked = 0;
        other
            .learn_while(all, |_| {
                asked += 1;
                true
            })
            .unwrap()
            .unwrap();
        assert_eq!((asked, other.batches()), (1, 1));
    }
}
