//! Anchors that follow a stream whose labels arrive unshuffled.
//!
//! Anchors are rows of the warm-up. If a stream brings one class after the other, the warm-up has
//! no rows of the later classes. Later classes could then be distinguished only by their similarity
//! to earlier ones. Whenever a block holds many rows whose labels no anchor had, some of these rows
//! therefore become anchors too.
//!
//! Rows that were already added to the sums are no longer stored, so their similarity to the new
//! anchors is estimated from their similarity to the old ones. The similarity `k(x, b)` of a row to
//! a new anchor is approximated by `k(x, A) K^-1 k(A, b)`, where `K` holds the similarities between
//! the old anchors `A`. The estimate is linear in the rows of the sums, so it applies to the sums
//! directly.
//!
//! In a shuffled stream no anchors are added, because its first rows have nearly all labels.

use std::collections::{BTreeMap, BTreeSet};

use super::embedding::Embedding;
use super::extension::Extension;
use super::sums::Sums;
use crate::learner::Loaded;
use crate::memory::NoRoom;
use crate::tensors::Tensors;
use crate::{Batch, Labels};

/// The number of anchors added at a time is the warm-up's number of anchors divided by this.
const PART: usize = 4;

/// Share of a block's rows, beyond twice the expected share, that must have new labels.
const MANY: f64 = 0.125;

/// The labels of the rows that became anchors.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Anchored {
    labels: BTreeSet<u32>,
    /// Expected share of rows in a shuffled stream whose labels no first row had. Estimated by the
    /// share of the first rows whose labels occurred once (Good and Turing).
    expected: f64,
}

impl Anchored {
    /// Returns `None` if most of the first rows have no labels: new labels then cannot be
    /// recognized.
    pub(super) fn of_first(first: Batch<'_>) -> Option<Self> {
        let labels = first.labels()?;
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        let sets: Vec<BTreeSet<u32>> =
            labels.iter().map(|labels| labels.iter().copied().collect()).collect();
        sets.iter().flatten().for_each(|label| *counts.entry(*label).or_default() += 1);
        let labelled = sets.iter().filter(|set| !set.is_empty()).count();
        if labelled == 0 || 2 * labelled < labels.len() {
            return None;
        }
        // A row is new if all of its labels are.
        let once = |set: &&BTreeSet<u32>| set.iter().all(|label| counts[label] == 1);
        let once = sets.iter().filter(|set| !set.is_empty()).filter(once).count();
        let expected = once as f64 / labelled as f64;
        Some(Anchored { labels: counts.into_keys().collect(), expected })
    }

    /// Returns whether a row has none of the labels that anchors had.
    pub(super) fn is_new(&self, labels: &[u32]) -> bool {
        labels.iter().all(|label| !self.labels.contains(label))
    }

    /// Returns the positions of the rows with new labels in a block that should become anchors. The
    /// result is empty if no more rows are new than in a shuffled stream. `anchors` is the number
    /// of anchors of the warm-up, `room` the number that may still be added.
    pub(super) fn choose(
        &self,
        newcomers: usize,
        block: usize,
        anchors: usize,
        room: usize,
    ) -> Vec<usize> {
        if newcomers as f64 <= (2.0 * self.expected + MANY) * block as f64 {
            return Vec::new();
        }
        let count = (anchors / PART).max(1).min(room).min(newcomers);
        (0..count).map(|at| at * newcomers / count).collect()
    }

    /// Records that anchors with the labels of these rows now exist.
    pub(super) fn add(&mut self, labels: Labels<'_>, rows: &[usize]) {
        self.labels.extend(rows.iter().flat_map(|&row| labels.row(row)));
    }

    /// Adds the labels of `other`. `translate` maps them to the labels used here.
    pub(super) fn merge(&mut self, other: &Anchored, translate: &dyn Fn(u32) -> u32) {
        self.labels.extend(other.labels.iter().map(|&label| translate(label)));
    }

    pub(super) fn save(&self, state: &mut Tensors) {
        let labels: Vec<u32> = self.labels.iter().copied().collect();
        state.put("brook.anchored", 1, &labels);
        state.put("brook.anchored.expected", 1, &[self.expected]);
    }

    /// Reads the saved labels, if there are any.
    pub(super) fn load(state: &mut Tensors) -> Loaded<Option<Self>> {
        if !state.contains("brook.anchored") {
            return Ok(None);
        }
        let labels: Vec<u32> = state.take("brook.anchored", 1)?;
        let expected = state.take_rows::<f64>("brook.anchored.expected", 1, 1)?[0];
        match (0.0..=1.0).contains(&expected) {
            true => Ok(Some(Anchored { labels: labels.into_iter().collect(), expected })),
            false => Err(format!("a share of {expected} rows with new labels")),
        }
    }
}

/// Extends sums over the first anchors of an embedding to all of its anchors. Returns `None` if the
/// similarities to the new anchors cannot be estimated.
pub(super) fn extended(sums: Sums, embedding: &Embedding) -> Result<Option<Sums>, NoRoom> {
    let old = sums.total().len();
    if old == embedding.width() {
        return Ok(Some(sums));
    }
    match Extension::of(embedding, old)? {
        Some(extension) => sums.extended(&extension).map(Some),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Features;

    fn first(labels: &[u32]) -> Option<Anchored> {
        let rows = vec![0.5; labels.len()];
        let features = Features::new(&rows, 1).unwrap();
        Anchored::of_first(Batch::new(features, Labels::single(labels)).unwrap())
    }

    #[test]
    fn many_rows_with_new_labels_are_told_from_a_few() {
        let anchored = first(&[1, 1, 2, 2, 1, 2, 1, 2]).unwrap();
        assert!(anchored.choose(1, 8, 16, 100).is_empty(), "one in eight");
        assert_eq!(anchored.choose(8, 8, 16, 100), [0, 2, 4, 6], "a quarter of the anchors");
        assert_eq!(anchored.choose(2, 8, 16, 1), [0], "as far as there is room");
        let mut later = anchored.clone();
        later.add(Labels::single(&[3, 4]), &[0]);
        assert!(!later.is_new(&[1]) && !later.is_new(&[3, 4]) && later.is_new(&[4]));
    }

    #[test]
    fn rows_with_several_labels_count_once() {
        let features = Features::new(&[0.5; 2], 1).unwrap();
        let labels = Labels::sets(&[3, 5], &[1, 2, 2, 3, 1]).unwrap();
        let anchored = Anchored::of_first(Batch::new(features, labels).unwrap()).unwrap();
        assert_eq!(anchored.expected, 0.0, "each row has a label that comes twice");
        let labels = Labels::sets(&[3, 5], &[1, 2, 4, 3, 5]).unwrap();
        let anchored = Anchored::of_first(Batch::new(features, labels).unwrap()).unwrap();
        assert_eq!(anchored.expected, 1.0);
        let mut state = Tensors::default();
        anchored.save(&mut state);
        assert_eq!(Anchored::load(&mut state), Ok(Some(anchored)));
    }

    #[test]
    fn where_most_labels_come_but_once_new_ones_are_nothing_new() {
        let anchored = first(&[1, 2, 3, 4, 5, 6, 6, 6]).unwrap();
        assert!(anchored.choose(4, 4, 16, 100).is_empty());
        assert!(Anchored::of_first(Batch::unlabelled(Features::new(&[0.5], 1).unwrap())).is_none());
    }
}
