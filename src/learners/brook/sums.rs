//! All that is kept of what was learned.

use std::collections::BTreeMap;

use super::Loaded;
use super::embedding::WholeNumbers;
use crate::Labels;
use crate::kernel::{Gram, MOST_ROWS};
use crate::tensors::Tensors;

/// How many rows are gathered before they are added up.
pub(super) const BLOCK: usize = MOST_ROWS;

/// What the row of one label counts in the sum of that label. One of `n` labels counts the whole
/// number next to an `n`-th of this.
const WHOLE: u32 = 840;

/// Sums over rows `q` of whole numbers. Exact, in any order, unless they are scaled.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sums {
    rows: f64,
    /// Of `q q^T`.
    gram: Gram,
    /// Of `q`.
    total: Vec<f64>,
    /// By label.
    labels: BTreeMap<u32, LabelSum>,
}

/// Sums over the rows with a label, weighed by their share in it.
#[derive(Clone, Debug, PartialEq)]
struct LabelSum {
    weight: f64,
    sum: Vec<f64>,
}

/// A label's sums as they are solved with: rows count 1, numbers are still whole steps.
pub(super) struct Class<'a> {
    pub(super) label: u32,
    pub(super) rows: f64,
    sum: &'a [f64],
}

impl Class<'_> {
    pub(super) fn sum(&self) -> impl Iterator<Item = f64> + '_ {
        self.sum.iter().map(|sum| sum / f64::from(WHOLE))
    }
}

impl Sums {
    pub(super) fn new(width: usize) -> Self {
        let (gram, total) = (Gram::new(width), vec![0.0; width]);
        Sums { rows: 0.0, gram, total, labels: BTreeMap::new() }
    }

    pub(super) fn rows(&self) -> f64 {
        self.rows
    }

    pub(super) fn gram(&self) -> &Gram {
        &self.gram
    }

    pub(super) fn total(&self) -> &[f64] {
        &self.total
    }

    /// The classes there are rows of, by label.
    pub(super) fn classes(&self) -> Vec<Class<'_>> {
        let class = |(&label, of): (&u32, &'_ LabelSum)| Class {
            label,
            rows: of.weight / f64::from(WHOLE),
            sum: &self.labels[&label].sum,
        };
        self.labels.iter().map(class).collect()
    }

    /// Adds at most [`BLOCK`] rows; those without a label are passed over.
    pub(super) fn add(&mut self, numbers: &WholeNumbers, labels: Labels<'_>, sign: f64) {
        let width = self.total.len();
        let labelled = |row: usize| !labels.row(row).is_empty();
        if (0..labels.len()).all(labelled) {
            self.gram.add_rows(numbers.small(), sign);
        } else {
            let rows = numbers.small().chunks_exact(width).enumerate();
            let rows: Vec<i16> =
                rows.filter(|(at, _)| labelled(*at)).flat_map(|(_, row)| row).copied().collect();
            self.gram.add_rows(&rows, sign);
        }
        for (_, row) in numbers.large().iter().filter(|(at, _)| labelled(*at)) {
            self.gram.add_row(row, sign);
        }
        numbers.for_each(|at, row| {
            let mut set = labels.row(at).to_vec();
            set.sort_unstable();
            set.dedup();
            if set.is_empty() {
                return;
            }
            self.rows += sign;
            let row: Vec<f64> = row.collect();
            self.total.iter_mut().zip(&row).for_each(|(sum, value)| *sum += sign * value);
            let weight = sign * (f64::from(WHOLE) / set.len() as f64).round().max(1.0);
            for label in set {
                let of = self.labels.entry(label).or_insert_with(|| LabelSum::new(width));
                of.weight += weight;
                of.sum.iter_mut().zip(&row).for_each(|(sum, value)| *sum += weight * value);
            }
        });
    }

    pub(super) fn scale(&mut self, factor: f64) {
        self.rows *= factor;
        self.gram.scale(factor);
        self.total.iter_mut().for_each(|sum| *sum *= factor);
        for of in self.labels.values_mut() {
            of.weight *= factor;
            of.sum.iter_mut().for_each(|sum| *sum *= factor);
        }
    }

    /// Adds other sums, whose labels are known here by the names that `translate` gives.
    pub(super) fn merge(&mut self, other: &Sums, translate: &dyn Fn(u32) -> u32) {
        self.rows += other.rows;
        self.gram.add(&other.gram, 1.0);
        self.total.iter_mut().zip(&other.total).for_each(|(sum, value)| *sum += value);
        for (&label, of) in &other.labels {
            let width = self.total.len();
            self.labels
                .entry(translate(label))
                .or_insert_with(|| LabelSum::new(width))
                .add(of, 1.0);
        }
    }

    /// These sums without `gone`, or why that was never part of them.
    pub(super) fn without(&self, gone: &Sums) -> std::result::Result<Sums, String> {
        let mut rest = self.clone();
        rest.rows -= gone.rows;
        rest.gram.add(&gone.gram, -1.0);
        rest.total.iter_mut().zip(&gone.total).for_each(|(sum, value)| *sum -= value);
        for (label, gone) in &gone.labels {
            let Some(of) = rest.labels.get_mut(label) else {
                return Err(format!("no row with label number {label} was learned"));
            };
            of.add(gone, -1.0);
            if of.weight < 0.0 {
                return Err(format!("fewer rows with label number {label} were learned"));
            }
            if of.weight == 0.0 {
                if of.sum.iter().any(|&sum| sum != 0.0) {
                    return Err(format!("other rows with label number {label} were learned"));
                }
                rest.labels.remove(label);
            }
        }
        let width = rest.total.len();
        if rest.rows < 0.0 || (0..width).any(|i| rest.gram.row(i)[i] < 0.0) {
            return Err("other rows were learned".to_owned());
        }
        if rest.rows == 0.0 && (0..width).any(|i| rest.gram.row(i)[i] != 0.0) {
            return Err("other rows were learned".to_owned());
        }
        Ok(rest)
    }

    pub(super) fn save(&self, state: &mut Tensors) {
        let width = self.total.len();
        let triangle: Vec<f64> = (0..width).flat_map(|i| self.gram.row(i)).copied().collect();
        state.put("brook.gram", 1, &triangle);
        state.put("brook.total", width, &self.total);
        state.put("brook.rows", 1, &[self.rows]);
        let labels: Vec<u32> = self.labels.keys().copied().collect();
        let weights: Vec<f64> = self.labels.values().map(|of| of.weight).collect();
        let sums: Vec<f64> = self.labels.values().flat_map(|of| &of.sum).copied().collect();
        state.put("brook.labels", 1, &labels);
        state.put("brook.weights_of_labels", 1, &weights);
        state.put("brook.sums", width, &sums);
    }

    pub(super) fn load(width: usize, state: &mut Tensors) -> Loaded<Self> {
        let mut sums = Sums::new(width);
        let triangle: Vec<f64> = state.take_rows("brook.gram", width * (width + 1) / 2, 1)?;
        let mut rest = &triangle[..];
        for i in 0..width {
            let (row, below) = rest.split_at(i + 1);
            sums.gram.row_mut(i).copy_from_slice(row);
            rest = below;
        }
        sums.total = state.take_rows("brook.total", 1, width)?;
        sums.rows = state.take_rows("brook.rows", 1, 1)?[0];
        let labels: Vec<u32> = state.take("brook.labels", 1)?;
        let weights: Vec<f64> = state.take_rows("brook.weights_of_labels", labels.len(), 1)?;
        let values: Vec<f64> = state.take_rows("brook.sums", labels.len(), width)?;
        let numbers = [&triangle, &sums.total, &weights, &values];
        if !numbers.iter().all(|numbers| numbers.iter().all(|number| number.is_finite())) {
            return Err("its sums hold numbers that are not finite".to_owned());
        }
        if !(sums.rows.is_finite() && sums.rows >= 0.0 && weights.iter().all(|&w| w >= 0.0)) {
            return Err("its sums hold negative counts".to_owned());
        }
        if !labels.is_sorted_by(|a, b| a < b) {
            return Err("its labels are not in order".to_owned());
        }
        for ((label, weight), sum) in labels.into_iter().zip(weights).zip(values.chunks_exact(width))
        {
            sums.labels.insert(label, LabelSum { weight, sum: sum.to_vec() });
        }
        Ok(sums)
    }
}

impl LabelSum {
    fn new(width: usize) -> Self {
        LabelSum { weight: 0.0, sum: vec![0.0; width] }
    }

    fn add(&mut self, other: &LabelSum, sign: f64) {
        self.weight += sign * other.weight;
        self.sum.iter_mut().zip(&other.sum).for_each(|(sum, value)| *sum += sign * value);
    }
}
