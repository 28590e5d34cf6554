//! A bounded sample of the labelled rows, on which targets are compared.
//!
//! Rows and labels have hashes. The sample takes the labels with the smallest hashes until they
//! have [`ROWS`] rows, and for each label the rows with the smallest hashes. The sample therefore
//! has rows that share a label, however many labels exist. It does not depend on the order of the
//! rows, two samples merge to the sample of both streams, and rows that are unlearned leave the
//! sample. Rows that did not fit into a sample do not return when others leave.

use std::collections::BTreeMap;

use super::keys::Keys;
use crate::labels::LabelList;
use crate::learner::Loaded;
use crate::tensors::Tensors;
use crate::{Batch, Error, Features, Labels};

/// Number of rows at which no further label is sampled. A single label may have more rows.
const ROWS: usize = 2000;

/// Bounds on the number of sampled rows of a label.
const OF_A_LABEL: (usize, usize) = (40, 500);

/// Rows of a label, by hash.
type Group = BTreeMap<u64, Row>;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    dim: usize,
    /// Groups by the hash of their label.
    groups: BTreeMap<u64, Group>,
    /// Largest hash of a label that may be sampled.
    bound: u64,
    /// Whether rows and labels beyond the bounds are dropped.
    is_bounded: bool,
}

/// A row, and the number of times it was learned.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    copies: u32,
    values: Box<[f32]>,
    labels: Box<[u32]>,
}

/// Rows of a sample, in the order of their hashes.
pub(super) struct Sampled {
    pub(super) values: Vec<f32>,
    pub(super) labels: LabelList,
    /// For each row, the index in `drawn` of the label that it was drawn for.
    pub(super) groups: Vec<usize>,
    /// The sampled labels.
    pub(super) drawn: Vec<u32>,
    /// For each row, whether it is a query. A quarter of the rows are.
    pub(super) is_query: Vec<bool>,
}

impl Sample {
    pub(super) fn new(dim: usize) -> Self {
        Sample { dim, groups: BTreeMap::new(), bound: u64::MAX, is_bounded: true }
    }

    /// Adds rows before they are lifted. Rows without labels are skipped. `known` is the number of
    /// labels of all learned rows.
    pub(super) fn add(&mut self, rows: &[f32], labels: Labels<'_>, keys: &Keys, known: usize) {
        for (row, values) in rows.chunks_exact(self.dim).enumerate() {
            self.add_row(values, labels.row(row), 1, keys);
        }
        self.trim(known);
    }

    /// Adds all rows of another sample. `translate` maps their labels to the labels used here.
    pub(super) fn merge(
        &mut self,
        other: &Sample,
        translate: &dyn Fn(u32) -> u32,
        keys: &Keys,
        known: usize,
    ) {
        for row in other.groups.values().flat_map(Group::values) {
            let labels: Vec<u32> = row.labels.iter().map(|&label| translate(label)).collect();
            self.add_row(&row.values, &labels, row.copies, keys);
        }
        self.trim(known);
    }

    /// Removes the rows of another sample.
    pub(super) fn remove(&mut self, gone: &Sample) {
        for (group, rows) in &gone.groups {
            let Some(of_label) = self.groups.get_mut(group) else { continue };
            for (hash, row) in rows {
                let Some(found) = of_label.get_mut(hash) else { continue };
                found.copies = found.copies.saturating_sub(row.copies);
                if found.copies == 0 {
                    of_label.remove(hash);
                }
            }
            if of_label.is_empty() {
                self.groups.remove(group);
            }
        }
        if self.len() < ROWS {
            self.bound = u64::MAX;
        }
    }

    fn add_row(&mut self, values: &[f32], labels: &[u32], copies: u32, keys: &Keys) {
        let Some(group) = labels.iter().map(|&label| mixed(keys.of(label))).min() else { return };
        if group > self.bound {
            return;
        }
        let mut sorted: Vec<u64> = labels.iter().map(|&label| keys.of(label)).collect();
        sorted.sort_unstable();
        sorted.dedup();
        let start = sorted.into_iter().fold(0, |hash, key| mixed(hash ^ key));
        let hash = values.iter().fold(start, |hash, value| {
            // Adding zero maps -0 to 0, so that both have the same hash.
            let bits = u64::from((value + 0.0).to_bits());
            (hash ^ bits).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
        });
        let new = || Row { copies: 0, values: values.into(), labels: labels.into() };
        let row = self.groups.entry(group).or_default().entry(mixed(hash)).or_insert_with(new);
        row.copies = row.copies.saturating_add(copies);
    }

    /// Stores all rows from now on, so that all of them can be removed from another sample.
    pub(super) fn store_all(&mut self) {
        self.is_bounded = false;
    }

    /// Sorts rows by new keys of their labels.
    pub(super) fn update_keys(&mut self, keys: &Keys) {
        let groups = std::mem::take(&mut self.groups);
        let bound = std::mem::replace(&mut self.bound, u64::MAX);
        let labels: Vec<u64> = groups.keys().copied().collect();
        for row in groups.into_values().flat_map(Group::into_values) {
            self.add_row(&row.values, &row.labels, row.copies, keys);
        }
        if self.groups.keys().eq(&labels) {
            self.bound = bound;
        }
    }

    /// Removes rows and labels beyond the bounds.
    fn trim(&mut self, known: usize) {
        if !self.is_bounded {
            return;
        }
        let most = (ROWS / known.max(1)).clamp(OF_A_LABEL.0, OF_A_LABEL.1);
        let mut rows = 0;
        for (&label, group) in &mut self.groups {
            if rows >= ROWS {
                self.bound = self.bound.min(label - 1);
                continue;
            }
            while group.len() > most {
                group.pop_last();
            }
            rows += group.len();
        }
        let bound = self.bound;
        self.groups.retain(|&label, _| label <= bound);
    }

    pub(super) fn dim(&self) -> usize {
        self.dim
    }

    pub(super) fn len(&self) -> usize {
        self.groups.values().map(BTreeMap::len).sum()
    }

    /// Returns all rows.
    pub(super) fn rows(&self, keys: &Keys) -> Sampled {
        let hash = |label: &u32| mixed(keys.of(*label));
        let label = |group: &Group| {
            let of_first = group.values().next().map_or(&[][..], |row| &row.labels);
            of_first.iter().copied().min_by_key(hash).unwrap_or_default()
        };
        let groups = self.groups.values().enumerate();
        let mut rows: Vec<(u64, usize, &Row)> = groups
            .flat_map(|(number, group)| group.iter().map(move |(&hash, row)| (hash, number, row)))
            .collect();
        rows.sort_by_key(|&(hash, number, _)| (hash, number));
        let mut labels = LabelList::new();
        rows.iter().for_each(|(_, _, row)| labels.push_set(&row.labels));
        Sampled {
            values: rows.iter().flat_map(|(_, _, row)| &row.values).copied().collect(),
            labels,
            groups: rows.iter().map(|&(_, number, _)| number).collect(),
            drawn: self.groups.values().map(label).collect(),
            is_query: rows.iter().map(|&(hash, ..)| hash % 4 == 0).collect(),
        }
    }

    pub(super) fn save(&self, state: &mut Tensors) {
        let rows = || self.groups.values().flat_map(Group::values);
        let mut labels = LabelList::new();
        rows().for_each(|row| labels.push_set(&row.labels));
        let values: Vec<f32> = rows().flat_map(|row| &row.values).copied().collect();
        let copies: Vec<u32> = rows().map(|row| row.copies).collect();
        let (ends, labels) = labels.to_lists();
        state.put("brook.sample", self.dim, &values);
        state.put("brook.sample.copies", 1, &copies);
        state.put_places("brook.sample.ends", &ends);
        state.put("brook.sample.labels", 1, &labels);
        state.put("brook.sample.bound", 1, &[self.bound]);
    }

    /// Reads the saved sample; an empty sample if none was saved.
    pub(super) fn load(dim: usize, keys: &Keys, state: &mut Tensors) -> Loaded<Self> {
        let mut sample = Sample::new(dim);
        if !state.contains("brook.sample") {
            return Ok(sample);
        }
        let values: Vec<f32> = state.take("brook.sample", dim)?;
        let copies: Vec<u32> = state.take("brook.sample.copies", 1)?;
        let ends = state.take_places("brook.sample.ends")?;
        let labels: Vec<u32> = state.take("brook.sample.labels", 1)?;
        let bound = state.take_rows::<u64>("brook.sample.bound", 1, 1)?[0];
        let wrong = |error: Error| format!("its sample: {error}");
        let labels = Labels::sets(&ends, &labels).map_err(wrong)?;
        let batch =
            Batch::new(Features::new(&values, dim).map_err(wrong)?, labels).map_err(wrong)?;
        if copies.len() != batch.len() || copies.contains(&0) {
            return Err(format!("{} counts of {} sampled rows", copies.len(), batch.len()));
        }
        let most = ROWS + OF_A_LABEL.1;
        if batch.len() > most {
            return Err(format!("{} sampled rows, where {most} may be", batch.len()));
        }
        for (row, &copies) in copies.iter().enumerate() {
            sample.add_row(batch.features().row(row), labels.row(row), copies, keys);
        }
        sample.bound = bound;
        Ok(sample)
    }
}

/// Mixes the bits of a number so that similar numbers have distant hashes (the finalizer of
/// SplitMix64, by Steele, Lea and Flood).
fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(rows: std::ops::Range<u32>, classes: u32) -> Sample {
        let values: Vec<f32> = rows.clone().map(|row| row as f32).collect();
        let labels: Vec<u32> = rows.map(|row| row % classes).collect();
        let mut sample = Sample::new(1);
        sample.add(&values, Labels::single(&labels), &Keys::default(), classes as usize);
        sample
    }

    #[test]
    fn a_sample_is_bounded_and_has_rows_that_share_a_label() {
        for (rows, classes, expected) in
            [(90_000, 2, 1000), (90_000, 900, 2000), (60_000, 20_000, 2001)]
        {
            let sample = sampled(0..rows, classes);
            assert_eq!(sample.len(), expected, "{classes} classes");
            let most = sample.groups.values().map(BTreeMap::len).max().unwrap();
            let least = sample.groups.values().map(BTreeMap::len).min().unwrap();
            let of_class = (rows / classes) as usize;
            assert!(least >= of_class.min(OF_A_LABEL.0) && most <= OF_A_LABEL.1, "{least} {most}");
        }
    }

    #[test]
    fn a_sample_depends_neither_on_the_order_nor_on_the_parts_of_a_stream() {
        for classes in [3, 700, 5000] {
            let whole = sampled(0..20_000, classes);
            let mut merged = sampled(12_000..20_000, classes);
            let other = sampled(0..12_000, classes);
            merged.merge(&other, &|label| label, &Keys::default(), classes as usize);
            assert_eq!(merged, whole, "{classes} classes");
        }
    }

    #[test]
    fn rows_that_are_removed_leave_what_was_before() {
        let mut sample = sampled(0..900, 300);
        let before = sample.clone();
        let gone = sampled(900..1200, 300);
        sample.merge(&gone, &|label| label, &Keys::default(), 300);
        assert_ne!(sample, before);
        sample.remove(&gone);
        assert_eq!(sample, before);
        let mut state = Tensors::default();
        sample.save(&mut state);
        assert_eq!(Sample::load(1, &Keys::default(), &mut state), Ok(sample));
    }

    #[test]
    fn rows_that_are_removed_leave_however_many_are_removed_at_once() {
        let keys = Keys::default();
        let rows =
            |range: std::ops::Range<u32>| -> Vec<f32> { range.map(|row| row as f32).collect() };
        let mut sample = Sample::new(1);
        sample.add(&rows(0..5000), Labels::single(&[0; 5000]), &keys, 1);
        let mut gone = Sample::new(1);
        gone.store_all();
        gone.add(&rows(0..5000), Labels::single(&[0; 5000]), &keys, 1);
        sample.remove(&gone);
        assert_eq!(
            sample.len(),
            0,
            "a bounded sample of the removed rows would leave most of them"
        );
        sample.add_row(&[1.0], &[3, 3], 1, &keys);
        gone.add_row(&[1.0], &[3], 1, &keys);
        sample.remove(&gone);
        assert_eq!(sample.len(), 0, "a label counts once for each row");
    }
}
