//! State of brook after the warm-up: the sums, and rows that are buffered until they are added.

use std::borrow::Cow;

use super::codes;
use super::embedding::Embedding;
use super::follow::Anchored;
use super::keys::Keys;
use super::learned::{Adding, Learned, Plain};
use super::params::{Choice, LiftBy, MAX_WIDTH, MOST_TIMES, Params};
use crate::labels::LabelList;
use crate::learner::Loaded;
use crate::learners::directions::Directions;
use crate::memory::NoRoom;
use crate::tensors::Tensors;
use crate::{Batch, Error, Features, Labels};

#[derive(Clone, Debug)]
pub(super) struct Warm {
    pub(super) embedding: Embedding,
    /// Directions for the detail bits.
    pub(super) directions: Option<Directions>,
    /// Embedding of unlifted rows; `None` if the vectors have too many dimensions.
    pub(super) plain: Option<Plain>,
    pub(super) sums: Learned,
    pub(super) pending: Pending,
    /// Number of rows learned, including those that were unlearned later.
    pub(super) learned: u64,
    /// Number of anchors that a warm-up of full length has.
    pub(super) anchors_wanted: usize,
    /// The labels of the anchors, if anchors follow the stream.
    pub(super) anchored: Option<Anchored>,
    /// With `start = steady`: the codes in use, by class.
    pub(super) in_use: Vec<(u32, Vec<i8>)>,
}

/// Number of anchors of the warm-up, and the largest number allowed.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) anchors: usize,
    pub(super) most: usize,
}

impl Limits {
    pub(super) fn of(params: &Params, warm: &Warm, bits: usize) -> Limits {
        let anchors = warm.anchors_wanted;
        let most = (MOST_TIMES * anchors).min(MAX_WIDTH);
        match params.anchors {
            Choice::Fixed(_) => Limits { anchors, most },
            Choice::Auto => {
                let most = most.min(params.most_anchors(warm.sums.any().label_count(), bits));
                Limits { anchors, most }
            }
        }
    }
}

/// Rows that are buffered until a block is full.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    pub(super) rows: Vec<f32>,
    pub(super) labels: LabelList,
}

impl Warm {
    pub(super) fn new(
        embedding: Embedding,
        plain: Option<Plain>,
        directions: Option<Directions>,
        anchors_wanted: usize,
    ) -> Result<Self, NoRoom> {
        let sums = Learned::new(&embedding, plain.as_ref())?;
        let pending = Pending { rows: Vec::new(), labels: LabelList::new() };
        let (anchored, in_use) = (None, Vec::new());
        Ok(Warm {
            embedding,
            directions,
            plain,
            sums,
            pending,
            learned: 0,
            anchors_wanted,
            anchored,
            in_use,
        })
    }

    /// Returns the embedding to which the sums of both states can be extended: the one with more
    /// anchors, if it has all anchors of the other; otherwise `None`.
    pub(super) fn common_embedding<'a>(&'a self, other: &'a Warm) -> Option<&'a Embedding> {
        let (ours, theirs) = (&self.embedding, &other.embedding);
        let common = match ours.begins(theirs) {
            true => Some(theirs),
            false => theirs.begins(ours).then_some(ours),
        };
        common.filter(|_| (&self.directions, &self.plain) == (&other.directions, &other.plain))
    }

    /// Returns the parameters for adding rows to the sums.
    pub(super) fn adding<'a>(&'a self, keys: &'a Keys, half_life: f64) -> Adding<'a> {
        Adding { embedding: &self.embedding, plain: self.plain.as_ref(), keys, half_life }
    }

    /// Adds anchors from the buffered rows if many of these have labels that no anchor had. Called
    /// at the end of a block of `block` rows.
    pub(super) fn follow(&mut self, block: usize, limits: Limits, keys: &Keys, half_life: f64) {
        let Some(anchored) = &self.anchored else { return };
        if self.sums.embedded().is_none() {
            return;
        }
        let dim = self.embedding.dim();
        let room = limits.most.saturating_sub(self.embedding.width());
        let (newcomers, others) = self.pending.split(dim, anchored);
        let chosen = anchored.choose(newcomers.labels.len(), block, limits.anchors, room);
        let row = |&row: &usize| &newcomers.rows[row * dim..(row + 1) * dim];
        let more: Vec<f32> = chosen.iter().flat_map(row).copied().collect();
        let more = Features::new(&more, dim).ok().filter(|more| !more.is_empty());
        let Some((more, rows)) = more.zip(Features::new(&newcomers.rows, dim).ok()) else { return };
        let Some(embedding) = self.embedding.with_anchors(more, rows) else { return };
        // If memory for more anchors is unavailable, the existing anchors remain in use.
        let Ok(mut sums) = self.sums.try_clone() else { return };
        // Saving a model adds rows with known labels to the sums. They are added here too, before
        // the sums are extended, so that the result does not depend on whether the model was saved.
        // With a half-life, saving adds no rows.
        if half_life == 0.0 {
            others.add_to(&mut sums, self.adding(keys, half_life));
        }
        let Ok(Some(sums)) = sums.extended(&embedding) else { return };
        let mut anchored = anchored.clone();
        anchored.add(newcomers.labels.view(), &chosen);
        (self.embedding, self.sums, self.anchored) = (embedding, sums, Some(anchored));
        if half_life == 0.0 {
            self.pending = newcomers;
        }
    }

    /// Returns the sums, including the buffered rows.
    pub(super) fn complete(&self, keys: &Keys, half_life: f64) -> Result<Cow<'_, Learned>, NoRoom> {
        self.with(&self.pending, keys, half_life)
    }

    /// Returns [`complete`](Self::complete) sums that can be modified.
    pub(super) fn to_complete(&self, keys: &Keys, half_life: f64) -> Result<Learned, NoRoom> {
        match self.complete(keys, half_life)? {
            Cow::Borrowed(sums) => sums.try_clone(),
            Cow::Owned(sums) => Ok(sums),
        }
    }

    /// Replaces the sums, and discards the buffered rows, which the new sums include.
    pub(super) fn replace(&mut self, sums: Learned) {
        self.sums = sums;
        self.pending = Pending { rows: Vec::new(), labels: LabelList::new() };
    }

    /// Returns the sums, including additional rows.
    fn with(
        &self,
        more: &Pending,
        keys: &Keys,
        half_life: f64,
    ) -> Result<Cow<'_, Learned>, NoRoom> {
        if more.labels.is_empty() {
            return Ok(Cow::Borrowed(&self.sums));
        }
        let mut sums = self.sums.try_clone()?;
        more.add_to(&mut sums, self.adding(keys, half_life));
        Ok(Cow::Owned(sums))
    }

    /// Returns the number of bits of the codes in use, or `None` if there are no such codes.
    pub(super) fn bits_in_use(&self) -> Option<usize> {
        self.in_use.first().map(|(_, code)| code.len())
    }

    pub(super) fn flush(&mut self, keys: &Keys, half_life: f64) {
        let pending = std::mem::take(&mut self.pending);
        let (embedding, plain) = (&self.embedding, self.plain.as_ref());
        pending.add_to(&mut self.sums, Adding { embedding, plain, keys, half_life });
        self.pending.labels = LabelList::new();
    }

    /// Saves the state of a learner for rows of `dim` numbers and codes of `bits` bits.
    pub(super) fn save(
        &self,
        keys: &Keys,
        (half_life, dim, bits): (f64, usize, usize),
        state: &mut Tensors,
    ) {
        // Integer sums do not depend on where the stream is split. A row is therefore stored only
        // if it may still become an anchor.
        let (kept, added) = match &self.anchored {
            Some(anchored) => self.pending.split(dim, anchored),
            None => (Pending::default(), self.pending.clone()),
        };
        if let Some(anchored) = &self.anchored {
            anchored.save(state);
        }
        self.save_learned(keys, (half_life, dim, bits), &added, Some(&kept), state);
    }

    /// Saves the state. Rows of `added` are included in the sums; rows of `kept` are saved as is.
    pub(super) fn save_learned(
        &self,
        keys: &Keys,
        (half_life, dim, bits): (f64, usize, usize),
        added: &Pending,
        kept: Option<&Pending>,
        state: &mut Tensors,
    ) {
        self.embedding.save("brook", state);
        if let Some(plain) = &self.plain {
            plain.save(state);
        }
        if let Some(directions) = &self.directions {
            directions.save("brook.directions", state);
        }
        // If memory for the updated sums is unavailable, the rows are saved as they are.
        let complete = if half_life == 0.0 { self.with(added, keys, 0.0).ok() } else { None };
        let (sums, pending) = match complete {
            Some(complete) => (complete, kept.unwrap_or(&Pending::default()).clone()),
            None => (Cow::Borrowed(&self.sums), self.pending.clone()),
        };
        sums.save(state);
        pending.save(dim, state);
        state.put("brook.learned", 1, &[self.learned]);
        state.put("brook.anchors_wanted", 1, &[self.anchors_wanted as u64]);
        codes::save(state, "brook.in_use", self.bits_in_use().unwrap_or(bits), &self.in_use);
    }

    /// Reads a saved state. Returns `None` if the learner was still warming up.
    pub(super) fn load(
        params: &Params,
        keys: &Keys,
        (dim, bits): (usize, usize),
        (block, warmup): (usize, usize),
        state: &mut Tensors,
    ) -> Loaded<Option<Self>> {
        if !state.contains("brook.steps") {
            return Ok(None);
        }
        let embedding = Embedding::load(params, dim, state)?;
        let directions = Directions::load("brook.directions", dim, state)?;
        let plain = Plain::load(dim, state)?;
        let sums = Learned::load(&embedding, keys, state)?;
        if embedding.is_lifted() && plain.is_some() != sums.plain(true).is_some() {
            return Err("its sums of the original vectors lack their first rows".to_owned());
        }
        let pending = Pending::load(dim, block, state)?;
        let learned = state.take_rows::<u64>("brook.learned", 1, 1)?[0];
        let anchors_wanted = match state.contains("brook.anchors_wanted") {
            true => state.take_rows::<u64>("brook.anchors_wanted", 1, 1)?[0],
            false => params.anchors.or(|| embedding.width()).min(warmup).max(1) as u64,
        };
        if !(1..=MAX_WIDTH as u64).contains(&anchors_wanted) {
            return Err(format!("{anchors_wanted} anchors wanted, where 1 to {MAX_WIDTH} may be"));
        }
        let anchors_wanted = anchors_wanted as usize;
        let follows = params.follow && params.lift == LiftBy::Rbf;
        let anchored = if follows { Anchored::load(state)? } else { None };
        let in_use = codes::load(state, "brook.in_use", bits)?;
        Ok(Some(Warm {
            embedding,
            directions,
            plain,
            sums,
            pending,
            learned,
            anchors_wanted,
            anchored,
            in_use,
        }))
    }
}

impl Pending {
    /// Returns the rows whose labels no anchor had, and the other rows.
    fn split(&self, dim: usize, anchored: &Anchored) -> (Pending, Pending) {
        let empty = || Pending { rows: Vec::new(), labels: LabelList::new() };
        let mut parts = (empty(), empty());
        for (row, values) in self.rows.chunks_exact(dim).enumerate() {
            let labels = self.labels.view().row(row);
            let part = if anchored.is_new(labels) { &mut parts.0 } else { &mut parts.1 };
            part.rows.extend_from_slice(values);
            part.labels.push_set(labels);
        }
        parts
    }

    fn add_to(&self, sums: &mut Learned, by: Adding<'_>) {
        if !self.labels.is_empty() {
            sums.add(&self.rows, self.labels.view(), by);
        }
    }

    fn save(&self, dim: usize, state: &mut Tensors) {
        let (ends, labels) = self.labels.to_lists();
        state.put("brook.pending", dim, &self.rows);
        state.put_places("brook.pending.ends", &ends);
        state.put("brook.pending.labels", 1, &labels);
    }

    /// Reads buffered rows, which must be fewer than a `block`.
    fn load(dim: usize, block: usize, state: &mut Tensors) -> Loaded<Self> {
        let rows = state.take("brook.pending", dim)?;
        let ends = state.take_places("brook.pending.ends")?;
        let labels: Vec<u32> = state.take("brook.pending.labels", 1)?;
        let wrong = |error: Error| format!("the rows that wait: {error}");
        let labels = Labels::sets(&ends, &labels).map_err(wrong)?;
        let batch = Batch::new(Features::new(&rows, dim).map_err(wrong)?, labels).map_err(wrong)?;
        if batch.len() >= block {
            return Err(format!("{} rows wait, which should have been added up", batch.len()));
        }
        let mut sets = LabelList::new();
        for row in 0..labels.len() {
            if labels.row(row).is_empty() {
                return Err("a row without labels waits to be learned".to_owned());
            }
            sets.push_set(labels.row(row));
        }
        Ok(Pending { rows, labels: sets })
    }
}

/// Returns the sums of these rows alone.
pub(super) fn sums_of(
    warm: &Warm,
    keys: &Keys,
    features: Features<'_>,
    labels: Labels<'_>,
) -> Result<Learned, NoRoom> {
    let mut sums = warm.sums.empty()?;
    sums.sample.store_all();
    sums.add_all(features, labels, warm.adding(keys, 0.0));
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::super::sums::Sums;
    use super::super::whole_numbers::BLOCK;
    use super::super::{Brook, LiftBy};
    use super::*;
    use crate::Learner;
    use crate::learner::{BuiltIn, Start};
    use crate::learners::random::{Purpose, random};
    use rand::RngExt;

    const DIM: usize = 3;

    fn rows(count: usize) -> (Vec<f32>, Vec<u32>) {
        let mut rng = random(1, Purpose::Signs, 0);
        let values = (0..count * DIM).map(|_| rng.random_range(-1.0..1.0)).collect();
        (values, (0..count as u32).map(|row| row * row % 5).collect())
    }

    /// Learns rows one by one, and passes the state to `look` after each.
    fn learned(half_life: f64, count: usize, mut look: impl FnMut(&Warm)) -> Brook {
        let (values, labels) = rows(count);
        let all =
            Batch::new(Features::new(&values, DIM).unwrap(), Labels::single(&labels)).unwrap();
        let params = Params { lift: LiftBy::None, half_life, ..Params::default() };
        let start = Start { dim: DIM, bits: 8, seed: 1, unit: false, warmup: 10, init: None };
        let mut brook = Brook::start(&params, start);
        brook.warm_up(all.slice(0..10)).unwrap();
        for row in 0..count {
            brook.learn(all.slice(row..row + 1)).unwrap();
            look(brook.warm().unwrap());
        }
        brook
    }

    /// Iterating over the sums dominates the cost of a row, so rows must share one iteration,
    /// whatever the half-life.
    #[test]
    fn a_short_half_life_does_not_make_the_sums_be_gone_through_more_often() {
        for half_life in [0.0, 0.5, 20.0, 500.0] {
            let mut before = Sums::new(DIM).unwrap();
            let mut changes = 0;
            learned(half_life, 2 * BLOCK + 100, |warm| {
                let sums = warm.sums.embedded().unwrap();
                if *sums != before {
                    changes += 1;
                    before = sums.clone();
                }
            });
            assert_eq!(changes, 2, "with a half-life of {half_life}");
        }
    }

    /// A file of an earlier version has the array of equal parts; its model still counts parts.
    #[test]
    fn sums_in_parts_stay_in_parts() {
        let (values, _) = rows(8);
        let (ends, sets) =
            ([2, 3, 6, 8, 10, 11, 12, 14], [1, 2, 1, 1, 2, 3, 2, 3, 1, 3, 2, 3, 1, 2]);
        let labels = Labels::sets(&ends, &sets).unwrap();
        let features = Features::new(&values, DIM).unwrap();
        let all = Batch::new(features, labels).unwrap();
        let params = Params { lift: LiftBy::None, ..Params::default() };
        let start = || Start { dim: DIM, bits: 8, seed: 1, unit: false, warmup: 8, init: None };
        let mut full = Brook::start(&params, start());
        full.warm_up(all).unwrap();
        let mut state = Tensors::default();
        full.save(&mut state);
        // Simulates such a file. No label was learned yet, so the files differ only in the array's
        // name.
        let none: Vec<f64> = state.take("brook.counts_of_labels", 1).unwrap();
        state.put("brook.weights_of_labels", 1, &none);
        let mut old = Brook::load(&params, start(), &mut state).unwrap();
        full.learn(all).unwrap();
        old.learn(all).unwrap();
        let rows_of = |brook: &Brook| -> Vec<f64> {
            let sums = brook.warm().unwrap().complete(&Keys::default(), 0.0).unwrap();
            sums.any().classes().iter().map(|class| class.rows).collect()
        };
        let third = 1.0 / 3.0;
        assert_eq!(rows_of(&full), [5.0, 5.0, 4.0]);
        let parts =
            [0.5 + 1.0 + third + 0.5 + 0.5, 0.5 + third + 0.5 + 1.0 + 0.5, third + 0.5 + 0.5 + 1.0];
        rows_of(&old).iter().zip(parts).for_each(|(a, b)| assert!((a - b).abs() < 1e-9));
        // A model that is saved and loaded again still counts in parts. What was learned can be
        // unlearned.
        let mut state = Tensors::default();
        old.save(&mut state);
        assert!(!state.contains("brook.counts_of_labels"));
        let mut again = Brook::load(&params, start(), &mut state).unwrap();
        let same = |label| label;
        assert!(again.merge(&full, &same).unwrap_err().to_string().contains("several labels"));
        assert!(full.merge(&again, &same).is_err());
        again.merge(&old, &same).unwrap();
        let doubled = parts.map(|rows| 2.0 * rows);
        rows_of(&again).iter().zip(doubled).for_each(|(a, b)| assert!((a - b).abs() < 1e-9));
        again.unlearn(all, &|label| label.to_string()).unwrap();
        again.unlearn(all, &|label| label.to_string()).unwrap();
        // Rows with one label count the same either way: their sums merge into either kind.
        let mut single = full.sibling().unwrap();
        single
            .learn(Batch::new(features, Labels::single(&[1, 2, 3, 1, 2, 3, 1, 2])).unwrap())
            .unwrap();
        let mut both = old.clone();
        both.merge(&single, &same).unwrap();
        full.merge(&single, &same).unwrap();
        assert_eq!(rows_of(&full), [8.0, 8.0, 6.0]);
        assert!(both.merge(&full, &same).is_err());
    }

    #[test]
    fn a_row_counts_by_its_age_whether_it_waits_or_not() {
        let count = 2 * BLOCK + 700;
        let (values, labels) = rows(count);
        for half_life in [3.0, 60.0, 1500.0] {
            let brook = learned(half_life, count, |_| ());
            let warm = brook.warm().unwrap();
            let complete = warm.complete(&Keys::default(), half_life).unwrap();
            let sums = complete.any();
            let weight = |row: usize| (-((count - 1 - row) as f64) / half_life).exp2();
            let rows: f64 = (0..count).map(weight).sum();
            assert!((sums.rows() - rows).abs() < 1e-9 * rows, "{} for {rows}", sums.rows());
            for class in sums.classes() {
                let of = (0..count).filter(|&row| labels[row] == class.label).map(weight);
                let rows: f64 = of.sum();
                assert!((class.rows - rows).abs() < 1e-9 * rows, "{} for {rows}", class.rows);
            }
            let steps: Vec<f64> = warm.embedding.steps().iter().map(|&s| f64::from(s)).collect();
            for i in 0..DIM {
                for j in 0..=i {
                    let product = |row: usize| values[row * DIM + i] * values[row * DIM + j];
                    let exact: f64 =
                        (0..count).map(|row| weight(row) * f64::from(product(row))).sum();
                    let found = sums.gram().row(i)[j] * steps[i] * steps[j];
                    // A number is off by at most half a step, whatever the weight of its row.
                    assert!(
                        (found - exact).abs() < 2e-3 * rows,
                        "half-life {half_life}: {found} for {exact}"
                    );
                }
            }
        }
    }
}
