//! Balanced similarity of a stream, collapsed by label set.
//!
//! The label sets of two items alone decide whether the items are similar. So every sum over items
//! that is weighted by similarity can be computed set by set. A stream of any length takes only as
//! much memory as its distinct label sets.
//!
//! # Why is BSODH's cost per batch constant?
//!
//! Implemented literally, each batch compares its n items with all m earlier items: an n x m
//! similarity matrix, and m codes to update. But the step that updates them, `E = sgn(B S~)`,
//! depends on an item's labels only: two items with the same label set get the same code. So:
//!
//! 1. After that step, one code and one count per label set represent all older items.
//! 2. Items appended since (one batch at most) enter the next step through three sums: their codes
//!    by set, the code of the first item of each set, and `B B^T`.
//! 3. `E E^T` is then a sum over sets, and `E S~^T` has one column per set.
//!
//! Only the batch's own regression remains as cost per batch. This file implements the sums by set,
//! `learners/bsodh.rs` the steps, and `learners/bsodh/dense.rs` the literal form. A property test
//! checks that both forms give identical codes.
//!
//! The sums are integers in `f64`, which represents them exactly. Exact ties in `B S~` are decided
//! as the authors' program decides them, by a single-precision sum (`tests/golden/README.md`).

use std::borrow::Cow;
use std::collections::HashMap;

use crate::{Labels, Result};

/// For each label, the numbers of its carriers (rows or label sets), ascending.
#[derive(Clone, Debug, Default)]
pub(crate) struct Carriers(HashMap<u32, Vec<u32>>);

impl Carriers {
    /// Adds a carrier of some labels. The carrier's number must exceed those of earlier carriers.
    fn add(&mut self, labels: &[u32], carrier: u32) {
        for label in labels {
            let carriers = self.0.entry(*label).or_default();
            // A label that occurs twice in a set counts once.
            if carriers.last() != Some(&carrier) {
                carriers.push(carrier);
            }
        }
    }

    /// Returns, for each label, the rows that carry it.
    pub(crate) fn of_rows(labels: Labels<'_>) -> Self {
        let mut carriers = Carriers::default();
        (0..).zip(labels.iter()).for_each(|(row, labels)| carriers.add(labels, row));
        carriers
    }

    fn of(&self, label: u32) -> &[u32] {
        self.0.get(&label).map_or(&[], Vec::as_slice)
    }

    /// Returns the same carriers as [`of_any`](Self::of_any), and for each carrier the number of
    /// the given labels that the carrier has. The counts are empty if all of them are 1.
    pub(crate) fn of_any_counted(&self, labels: &[u32]) -> (Cow<'_, [u32]>, Vec<u32>) {
        if labels.len() < 2 {
            return (self.of_any(labels), Vec::new());
        }
        let mut different = labels.to_vec();
        different.sort_unstable();
        different.dedup();
        let mut all: Vec<u32> =
            different.iter().flat_map(|&label| self.of(label)).copied().collect();
        all.sort_unstable();
        let carried = all.chunk_by(|a, b| a == b);
        let (carriers, counts) = carried.map(|same| (same[0], same.len() as u32)).unzip();
        (Cow::Owned(carriers), counts)
    }

    /// Returns all carriers of at least one of the labels, ascending.
    pub(crate) fn of_any(&self, labels: &[u32]) -> Cow<'_, [u32]> {
        match labels {
            [] => Cow::Borrowed(&[]),
            [label] => Cow::Borrowed(self.of(*label)),
            several => {
                let mut all: Vec<u32> =
                    several.iter().flat_map(|&label| self.of(label)).copied().collect();
                all.sort_unstable();
                all.dedup();
                Cow::Owned(all)
            }
        }
    }
}

/// Distinct label sets of a stream, numbered in order of first occurrence.
#[derive(Clone, Debug, Default)]
pub(crate) struct LabelSets {
    members: Vec<Box<[u32]>>,
    numbers: HashMap<Box<[u32]>, usize>,
    carriers: Carriers,
}

impl LabelSets {
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns the labels of a set, ascending.
    pub(crate) fn labels(&self, set: usize) -> &[u32] {
        &self.members[set]
    }

    /// Returns the sets with at least one of the labels, ascending.
    pub(crate) fn carriers_of_any(&self, labels: &[u32]) -> Cow<'_, [u32]> {
        self.carriers.of_any(labels)
    }

    /// Returns the first set that shares a label with this set and satisfies the predicate.
    pub(crate) fn first_similar(&self, set: usize, asked: impl Fn(usize) -> bool) -> Option<usize> {
        let first = |label: &u32| {
            self.carriers.of(*label).iter().map(|&other| other as usize).find(|&other| asked(other))
        };
        self.members[set].iter().filter_map(first).min()
    }

    /// Returns the number of the set of each row, and adds sets that are new.
    pub(crate) fn number_rows(&mut self, labels: Labels<'_>) -> Vec<usize> {
        labels.iter().map(|labels| self.number(labels)).collect()
    }

    /// Returns the number of a set, or `None` if it is unknown. `labels` must ascend.
    pub(crate) fn find(&self, labels: &[u32]) -> Option<usize> {
        self.numbers.get(labels).copied()
    }

    /// Returns the number of a set, and adds the set if it is new.
    pub(crate) fn number(&mut self, labels: &[u32]) -> usize {
        if labels.is_sorted_by(|a, b| a < b) {
            return self.number_sorted(labels);
        }
        let mut sorted = labels.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        self.number_sorted(&sorted)
    }

    fn number_sorted(&mut self, labels: &[u32]) -> usize {
        if let Some(&number) = self.numbers.get(labels) {
            return number;
        }
        let number = self.members.len();
        self.carriers.add(labels, number as u32);
        self.members.push(labels.into());
        self.numbers.insert(labels.into(), number);
        number
    }

    /// Removes all sets from number `len` on.
    pub(crate) fn truncate(&mut self, len: usize) {
        while self.members.len() > len {
            let Some(labels) = self.members.pop() else { return };
            self.numbers.remove(&labels);
            for label in &labels {
                // The newest set is the last element in the list of each of its labels.
                if let Some(carriers) = self.carriers.0.get_mut(label) {
                    carriers.pop();
                }
            }
        }
    }

    /// Returns the sets in the form that [`Labels::sets`] takes.
    pub(crate) fn to_lists(&self) -> (Vec<usize>, Vec<u32>) {
        let values: Vec<u32> = self.members.concat();
        (self.members.iter().map(|set| &**set).scan(0, running_total).collect(), values)
    }

    pub(crate) fn from_lists(ends: &[usize], values: &[u32]) -> Result<Self> {
        let mut sets = LabelSets::default();
        sets.number_rows(Labels::sets(ends, values)?);
        Ok(sets)
    }
}

/// Codes of `+1` and `-1` summed by label set. The sums are integers, exact in `f64`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SetSums {
    bits: usize,
    sums: Vec<f64>,
    total: Vec<f64>,
}

impl SetSums {
    pub(crate) fn new(sets: usize, bits: usize) -> Self {
        SetSums { bits, sums: vec![0.0; sets * bits], total: vec![0.0; bits] }
    }

    /// Adds a code, or a sum of codes, to the sum of a set.
    pub(crate) fn add(&mut self, set: usize, code: &[f64]) {
        let sum = &mut self.sums[set * self.bits..(set + 1) * self.bits];
        for ((sum, total), value) in sum.iter_mut().zip(&mut self.total).zip(code) {
            *sum += value;
            *total += value;
        }
    }

    /// Returns the sum over some sets.
    fn of_all(&self, sets: &[u32]) -> Vec<f64> {
        let mut all = vec![0.0; self.bits];
        for &set in sets {
            let sum = &self.sums[set as usize * self.bits..][..self.bits];
            all.iter_mut().zip(sum).for_each(|(all, sum)| *all += sum);
        }
        all
    }
}

/// Weights of similar and dissimilar pairs: `eta_s` and `eta_d` of the paper.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Balance {
    pub(crate) similar: f64,
    pub(crate) dissimilar: f64,
}

impl Balance {
    /// Returns `sum_i S~(set, i) b_i` over all items that were added to `sums`. Items of similar
    /// sets have the weight `similar`, all others `-dissimilar`.
    pub(crate) fn weigh(&self, set: usize, sets: &LabelSets, sums: &SetSums) -> Vec<f64> {
        let near = sums.of_all(&sets.carriers.of_any(sets.labels(set)));
        self.split(near, sums).map(|(near, far)| near - far).collect()
    }

    /// Returns, for each bit, the weighted sum of the similar items and the weighted sum of all
    /// others.
    fn split<'s>(
        &'s self,
        near: Vec<f64>,
        sums: &'s SetSums,
    ) -> impl Iterator<Item = (f64, f64)> + 's {
        near.into_iter()
            .zip(&sums.total)
            .map(|(near, total)| (self.similar * near, self.dissimilar * (total - near)))
    }

    /// Computes [`weigh`](Self::weigh) over the items of one batch, for callers that need the sign.
    /// Where similar and dissimilar items cancel, the batch is summed in single precision, item by
    /// item.
    ///
    /// Such ties are common with small batches and weights like 1.2 and 0.2. The program published
    /// with the paper stores its similarities in single precision, so the rounding remainder of its
    /// sum decides ties. The sum in single precision reproduces these decisions.
    pub(crate) fn weigh_batch(&self, set: usize, sets: &LabelSets, batch: &BatchCodes) -> Vec<f64> {
        let similar = batch.carriers.of_any(sets.labels(set));
        let mut weights: Option<Vec<f32>> = None;
        self.split(batch.sums.of_all(&similar), &batch.sums)
            .enumerate()
            .map(|(bit, (near, far))| {
                if (near - far).abs() > 1e-9 * near.abs().max(far.abs()) {
                    return near - far;
                }
                let weights = weights.get_or_insert_with(|| {
                    let mut weights = vec![-self.dissimilar as f32; batch.sets.len()];
                    for (weight, set) in weights.iter_mut().zip(batch.sets) {
                        if similar.binary_search(&(*set as u32)).is_ok() {
                            *weight = self.similar as f32;
                        }
                    }
                    weights
                });
                let column = batch.codes.iter().skip(bit).step_by(batch.sums.bits);
                let sum: f32 = column.zip(weights).fold(0.0, |sum, (b, w)| sum + *b as f32 * *w);
                f64::from(sum)
            })
            .collect()
    }
}

/// Codes of a batch (row-major, `+1` and `-1`), with the label set of each row.
pub(crate) struct BatchCodes<'a> {
    sets: &'a [usize],
    codes: &'a [f64],
    sums: SetSums,
    /// For each label, the sets of the batch that carry it.
    carriers: Carriers,
}

impl<'a> BatchCodes<'a> {
    pub(crate) fn new(sets: &'a [usize], codes: &'a [f64], all: &LabelSets, bits: usize) -> Self {
        let mut sums = SetSums::new(all.len(), bits);
        for (&set, code) in sets.iter().zip(codes.chunks_exact(bits)) {
            sums.add(set, code);
        }
        let mut present = sets.to_vec();
        present.sort_unstable();
        present.dedup();
        let mut carriers = Carriers::default();
        present.iter().for_each(|&set| carriers.add(all.labels(set), set as u32));
        BatchCodes { sets, codes, sums, carriers }
    }
}

/// Adds a set's length to the running total, and returns it, for [`scan`](Iterator::scan).
pub(crate) fn running_total(end: &mut usize, set: &[u32]) -> Option<usize> {
    *end += set.len();
    Some(*end)
}

/// Returns whether two rows are similar, which means that they share a label.
pub(crate) fn share_a_label(left: &[u32], right: &[u32]) -> bool {
    match (left, right) {
        ([left], [right]) => left == right,
        _ => left.iter().any(|label| right.contains(label)),
    }
}
