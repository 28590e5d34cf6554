//! The balanced similarity of a stream, collapsed by label set.
//!
//! Whether two items are similar depends on their label sets alone. So whatever is summed over
//! items with their similarity as weight can be summed set by set: a stream of any length is as
//! small as the number of distinct sets in it.

use std::collections::HashMap;

use crate::{Labels, Result};

/// The distinct label sets of a stream, numbered in the order in which they came up.
#[derive(Clone, Debug, Default)]
pub(crate) struct LabelSets {
    members: Vec<Box<[u32]>>,
    numbers: HashMap<Box<[u32]>, usize>,
    /// The sets that carry a label.
    carriers: HashMap<u32, Vec<usize>>,
    /// Per set the sets that share a label with it, ascending; itself among them.
    similar: Vec<Vec<usize>>,
}

impl LabelSets {
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// The sets similar to this one, ascending.
    pub(crate) fn similar(&self, set: usize) -> &[usize] {
        &self.similar[set]
    }

    /// The set of each row; new ones are added.
    pub(crate) fn number_rows(&mut self, labels: Labels<'_>) -> Vec<usize> {
        (0..labels.len()).map(|row| self.number(labels.row(row))).collect()
    }

    fn number(&mut self, labels: &[u32]) -> usize {
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
        for label in labels {
            self.carriers.entry(*label).or_default().push(number);
        }
        let mut similar: Vec<usize> =
            labels.iter().flat_map(|label| &self.carriers[label]).copied().collect();
        similar.sort_unstable();
        similar.dedup();
        for &other in &similar {
            if other != number {
                self.similar[other].push(number);
            }
        }
        self.similar.push(similar);
        self.members.push(labels.into());
        self.numbers.insert(labels.into(), number);
        number
    }

    /// Forgets all sets from number `len` on.
    pub(crate) fn truncate(&mut self, len: usize) {
        while self.members.len() > len {
            let number = self.members.len() - 1;
            let Some(labels) = self.members.pop() else { return };
            self.numbers.remove(&labels);
            for label in &labels {
                // The newest set is the last one in each of its lists.
                if let Some(carriers) = self.carriers.get_mut(label) {
                    carriers.pop();
                }
            }
            for other in self.similar.pop().unwrap_or_default() {
                if other != number {
                    self.similar[other].pop();
                }
            }
        }
    }

    /// The sets as [`Labels::sets`] takes them.
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

/// Codes of `+1` and `-1` summed by label set. The sums are whole numbers, exact in `f64`.
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

    pub(crate) fn of(&self, set: usize) -> &[f64] {
        &self.sums[set * self.bits..(set + 1) * self.bits]
    }
}

/// How much similar and dissimilar pairs count: `eta_s` and `eta_d` of the paper.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Balance {
    pub(crate) similar: f64,
    pub(crate) dissimilar: f64,
}

impl Balance {
    /// `sum_i S~(set, i) b_i` over all items that were added to `sums`: those of similar sets
    /// count `similar`, all others `-dissimilar`.
    pub(crate) fn weigh(&self, set: usize, sets: &LabelSets, sums: &SetSums) -> Vec<f64> {
        self.split(set, sets, sums).map(|(near, far)| near - far).collect()
    }

    /// The two parts of [`weigh`](Self::weigh), bit by bit: what similar items pull, and what the
    /// others pull the other way.
    fn split<'s>(
        &'s self,
        set: usize,
        sets: &LabelSets,
        sums: &'s SetSums,
    ) -> impl Iterator<Item = (f64, f64)> + 's {
        let mut near = vec![0.0; sums.bits];
        for &other in sets.similar(set) {
            near.iter_mut().zip(sums.of(other)).for_each(|(near, sum)| *near += sum);
        }
        near.into_iter()
            .zip(&sums.total)
            .map(|(near, total)| (self.similar * near, self.dissimilar * (total - near)))
    }

    /// [`weigh`](Self::weigh) over the items of one batch, for those who want the sign: where the
    /// two parts cancel, the batch is added up in single precision, item by item.
    ///
    /// With small batches and weights like 1.2 and 0.2 such ties are common, and the program that
    /// goes with the paper keeps its similarities in single precision: the remainder of that sum
    /// decides them there. So it does here.
    pub(crate) fn weigh_batch(&self, set: usize, sets: &LabelSets, batch: &BatchCodes) -> Vec<f64> {
        let mut weights: Option<Vec<f32>> = None;
        self.split(set, sets, &batch.sums)
            .enumerate()
            .map(|(bit, (near, far))| {
                if (near - far).abs() > 1e-9 * near.abs().max(far.abs()) {
                    return near - far;
                }
                let weights = weights.get_or_insert_with(|| self.weights(set, sets));
                let column = batch.codes.iter().skip(bit).step_by(batch.sums.bits);
                let items = batch.sets.iter().map(|&set| weights[set]);
                let sum: f32 = column.zip(items).fold(0.0, |sum, (b, w)| sum + *b as f32 * w);
                f64::from(sum)
            })
            .collect()
    }

    /// The balanced similarity of a set with every set, in single precision.
    fn weights(&self, set: usize, sets: &LabelSets) -> Vec<f32> {
        let mut weights = vec![-self.dissimilar as f32; sets.len()];
        sets.similar(set).iter().for_each(|&other| weights[other] = self.similar as f32);
        weights
    }
}

/// The codes of a batch, row-major, `+1` and `-1`, with the label set of each row.
pub(crate) struct BatchCodes<'a> {
    sets: &'a [usize],
    codes: &'a [f64],
    sums: SetSums,
}

impl<'a> BatchCodes<'a> {
    pub(crate) fn new(sets: &'a [usize], codes: &'a [f64], all: &LabelSets, bits: usize) -> Self {
        let mut sums = SetSums::new(all.len(), bits);
        for (&set, code) in sets.iter().zip(codes.chunks_exact(bits)) {
            sums.add(set, code);
        }
        BatchCodes { sets, codes, sums }
    }
}

/// For [`scan`](Iterator::scan): where each set ends when all are put one after the other.
pub(crate) fn running_total(end: &mut usize, set: &[u32]) -> Option<usize> {
    *end += set.len();
    Some(*end)
}
