//! Sums over the learned rows.

use std::collections::BTreeMap;

use super::extension::Extension;
use super::whole_numbers::WholeNumbers;
use crate::Labels;
use crate::kernel::Gram;
use crate::learner::Loaded;
use crate::linalg::{product, transposed_product};
use crate::memory::{NoRoom, expect_room};
use crate::tensors::Tensors;

/// Weight of a row in the sum of each of its labels, as an integer. If a row with `n` labels counts
/// in equal parts, its weight is the integer nearest to `WHOLE / n`.
const WHOLE: u32 = 840;

/// Weight of a row with several labels in the sum of each label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counting {
    /// The same weight as a row that has this label alone.
    Full,
    /// An equal part, as in files from before targets for several labels were supported. Full sums
    /// cannot be computed from sums of parts, so models with such sums continue to count parts.
    Parts,
}

/// Sums over integer rows `q`. Exact, and independent of the order, unless rows count less as they
/// age.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sums {
    counting: Counting,
    /// Set if some of the sums were estimated: see [`extended`](Sums::extended).
    estimated: bool,
    rows: f64,
    /// Sum of `q q^T`.
    gram: Gram,
    /// Sum of `q`.
    total: Vec<f64>,
    /// Sums by label.
    labels: BTreeMap<u32, LabelSum>,
}

/// Sums over the rows with a label, each row multiplied by its weight: [`WHOLE`] or a part of it.
#[derive(Clone, Debug, PartialEq)]
struct LabelSum {
    weight: f64,
    sum: Vec<f64>,
}

/// The sums of a label as the solver uses them: rows count 1, and numbers are still integer steps.
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
    pub(super) fn new(width: usize) -> Result<Self, NoRoom> {
        let (gram, total) = (Gram::new(width)?, vec![0.0; width]);
        let counting = Counting::Full;
        let (estimated, rows, labels) = (false, 0.0, BTreeMap::new());
        Ok(Sums { counting, estimated, rows, gram, total, labels })
    }

    /// Returns empty sums with the same `Counting`.
    pub(super) fn empty(&self) -> Result<Self, NoRoom> {
        Ok(Sums { counting: self.counting, ..Sums::new(self.total.len())? })
    }

    pub(super) fn try_clone(&self) -> Result<Self, NoRoom> {
        let (total, labels) = (self.total.clone(), self.labels.clone());
        let gram = self.gram.try_clone()?;
        let Sums { counting, estimated, rows, .. } = *self;
        Ok(Sums { counting, estimated, rows, gram, total, labels })
    }

    pub(super) fn rows(&self) -> f64 {
        self.rows
    }

    /// Returns whether some of the sums were estimated.
    pub(super) fn is_estimated(&self) -> bool {
        self.estimated
    }

    /// Returns the sums over rows with additional numbers, whose sums are estimated from the
    /// existing sums. Integer sums stay integers.
    pub(super) fn extended(self, extension: &Extension) -> Result<Self, NoRoom> {
        let (old, added) = (self.total.len(), extension.shift.len());
        let width = old + added;
        let nodes = &extension.nodes;
        expect_room(Gram::numbers(width) + old * (nodes.len() + 2 * added))?;
        let whole = (self.rows).fract() == 0.0;
        let number = |value: f64| if whole { value.round() } else { value };
        let (by, shift) = (&extension.by, &extension.shift);
        // B^T v + weight d
        let carried = |values: &[f64], weight: f64| -> Vec<f64> {
            let mut out: Vec<f64> = shift.iter().map(|d| weight * d).collect();
            for (row, &node) in by.chunks_exact(added).zip(nodes) {
                out.iter_mut().zip(row).for_each(|(sum, by)| *sum += by * values[node]);
            }
            out
        };
        // The columns of the Gram matrix at the anchors that the estimate uses.
        let entry = |i: usize, j: usize| self.gram.row(i.max(j))[i.min(j)];
        let columns = (0..old).flat_map(|i| nodes.iter().map(move |&node| entry(i, node)));
        let columns: Vec<f64> = columns.collect();
        let across = product(&columns, nodes.len(), by, added);
        drop(columns);
        let of_nodes = nodes.iter().flat_map(|&node| &across[node * added..(node + 1) * added]);
        let of_nodes: Vec<f64> = of_nodes.copied().collect();
        let within = transposed_product(by, added, &of_nodes, added);
        let bare = carried(&self.total, 0.0);
        let mut gram = Gram::new(width)?;
        for i in 0..old {
            gram.row_mut(i).copy_from_slice(self.gram.row(i));
        }
        for a in 0..added {
            let row = gram.row_mut(old + a);
            for j in 0..old {
                row[j] = number(across[j * added + a] + self.total[j] * shift[a]);
            }
            for b in 0..=a {
                let shifted = bare[a] * shift[b] + bare[b] * shift[a];
                let sum = within[a * added + b] + shifted + self.rows * shift[a] * shift[b];
                // Each row's estimate is off by at least a step, independently of other rows.
                row[old + b] = number(sum + if a == b { self.rows } else { 0.0 });
            }
        }
        let extend = |values: &[f64], weight: f64| -> Vec<f64> {
            let added = carried(values, weight).into_iter().map(number);
            values.iter().copied().chain(added).collect()
        };
        let total = extend(&self.total, self.rows);
        let label = |(label, of): (u32, LabelSum)| {
            (label, LabelSum { sum: extend(&of.sum, of.weight), weight: of.weight })
        };
        let labels = self.labels.into_iter().map(label).collect();
        let (counting, rows) = (self.counting, self.rows);
        Ok(Sums { counting, estimated: rows > 0.0, rows, gram, total, labels })
    }

    /// Returns the number of labels with rows.
    pub(super) fn label_count(&self) -> usize {
        self.labels.len()
    }

    /// Returns whether rows with this label were added.
    pub(super) fn contains(&self, label: u32) -> bool {
        self.labels.contains_key(&label)
    }

    /// Returns the length of the rows.
    pub(super) fn width(&self) -> usize {
        self.total.len()
    }

    pub(super) fn gram(&self) -> &Gram {
        &self.gram
    }

    pub(super) fn total(&self) -> &[f64] {
        &self.total
    }

    /// Returns the mean number of labels per row; 1 if rows count in parts, where the number is
    /// unknown.
    pub(super) fn labels_per_row(&self) -> f64 {
        match self.counting {
            Counting::Parts => 1.0,
            Counting::Full => {
                let labels: f64 = self.labels.values().map(|of| of.weight).sum();
                labels / (self.rows * f64::from(WHOLE))
            }
        }
    }

    /// Returns whether these sums can be added to `other`: both have the same `Counting`, or the
    /// rows of one of them count the same with either `Counting`.
    pub(super) fn fit(&self, other: &Sums) -> bool {
        let single = |sums: &Sums| {
            sums.counting == Counting::Full && (sums.labels_per_row() - 1.0).abs() < 1e-9
        };
        let fits = |sums: &Sums| sums.rows == 0.0 || single(sums);
        self.counting == other.counting || fits(self) || fits(other)
    }

    /// Returns the classes with rows, in order of their labels.
    pub(super) fn classes(&self) -> Vec<Class<'_>> {
        let rows = |of: &LabelSum| of.weight / f64::from(WHOLE);
        self.labels
            .iter()
            .map(|(&label, of)| Class { label, rows: rows(of), sum: &of.sum })
            .collect()
    }

    /// Adds at most [`BLOCK`](super::whole_numbers::BLOCK) rows. Rows without labels are skipped.
    pub(super) fn add(&mut self, numbers: &WholeNumbers, labels: Labels<'_>) {
        let width = self.total.len();
        let labelled = |row: usize| !labels.row(row).is_empty();
        if (0..labels.len()).all(labelled) {
            self.gram.add_rows(&numbers.small()[numbers.first_that_counts() * width..]);
        } else {
            let rows = numbers.small().chunks_exact(width).enumerate();
            let rows: Vec<i16> =
                rows.filter(|(at, _)| labelled(*at)).flat_map(|(_, row)| row).copied().collect();
            self.gram.add_rows(&rows);
        }
        // Rows with the same labels are added up first. The order is fixed, because with a
        // half-life the sums are not integers.
        let mut by_set: BTreeMap<&[u32], (f64, Vec<f64>)> = BTreeMap::new();
        let mut large = numbers.large().iter().peekable();
        for at in 0..labels.len() {
            let (set, root) = (labels.row(at), numbers.root(at));
            let large = large.next_if(|(place, _)| *place == at);
            match large {
                _ if set.is_empty() => {}
                Some((_, row)) => {
                    self.gram.add_row(row);
                    self.add_sum(set, root * root, row.iter().map(|value| root * value));
                }
                None => {
                    let (rows, sum) = by_set.entry(set).or_insert_with(|| (0.0, vec![0.0; width]));
                    *rows += root * root;
                    let values = numbers.row(at).iter().map(|&value| root * f64::from(value));
                    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
                }
            }
        }
        for (set, (rows, sum)) in by_set {
            self.add_sum(set, rows, sum.into_iter());
        }
    }

    /// Adds rows with the same labels that together count as `rows` rows, given their sum.
    fn add_sum(&mut self, labels: &[u32], rows: f64, sum: impl Iterator<Item = f64> + Clone) {
        self.rows += rows;
        let totals = self.total.iter_mut().zip(sum.clone());
        totals.for_each(|(total, value)| *total += value);
        let mut set = labels.to_vec();
        set.sort_unstable();
        set.dedup();
        let weight = match self.counting {
            Counting::Full => f64::from(WHOLE),
            Counting::Parts => (f64::from(WHOLE) / set.len() as f64).round().max(1.0),
        };
        for label in set {
            let width = self.total.len();
            let of = self.labels.entry(label).or_insert_with(|| LabelSum::new(width));
            of.weight += rows * weight;
            of.sum.iter_mut().zip(sum.clone()).for_each(|(sum, value)| *sum += weight * value);
        }
    }

    /// Multiplies the weight of everything added so far by `factor`.
    pub(super) fn scale(&mut self, factor: f64) {
        self.rows *= factor;
        self.gram.scale(factor);
        self.total.iter_mut().for_each(|sum| *sum *= factor);
        for of in self.labels.values_mut() {
            of.weight *= factor;
            of.sum.iter_mut().for_each(|sum| *sum *= factor);
        }
        // Weights below the smallest normal number are treated as zero.
        self.labels.retain(|_, of| of.weight >= f64::MIN_POSITIVE);
    }

    /// Adds other sums, which must [fit](Self::fit). `translate` maps their labels to the labels
    /// used here.
    pub(super) fn merge(&mut self, other: &Sums, translate: &dyn Fn(u32) -> u32) {
        // Sums that count parts continue to; empty sums take the `Counting` of `other`.
        if self.rows == 0.0 || (other.counting == Counting::Parts && other.rows > 0.0) {
            self.counting = other.counting;
        }
        self.estimated |= other.estimated;
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

    /// Returns these sums without `gone`. Fails with the reason if `gone` was never part of them.
    pub(super) fn without(
        self,
        gone: &Sums,
        name: &dyn Fn(u32) -> String,
    ) -> std::result::Result<Sums, String> {
        let mut rest = self;
        rest.rows -= gone.rows;
        rest.gram.add(&gone.gram, -1.0);
        rest.total.iter_mut().zip(&gone.total).for_each(|(sum, value)| *sum -= value);
        for (label, gone) in &gone.labels {
            let Some(of) = rest.labels.get_mut(label) else {
                return Err(format!("no row with the label {} was learned", name(*label)));
            };
            of.add(gone, -1.0);
            if of.weight < 0.0 {
                return Err(format!("fewer rows with the label {} were learned", name(*label)));
            }
            if of.weight == 0.0 {
                if !rest.estimated && of.sum.iter().any(|&sum| sum != 0.0) {
                    return Err(format!("other rows with the label {} were learned", name(*label)));
                }
                rest.labels.remove(label);
            }
        }
        let width = rest.total.len();
        if rest.estimated && rest.rows == 0.0 {
            // Without rows, all that remains is the error of the estimate.
            rest.gram.scale(0.0);
            rest.total.fill(0.0);
            rest.estimated = false;
        } else if rest.estimated {
            for i in 0..width {
                let diagonal = &mut rest.gram.row_mut(i)[i];
                *diagonal = diagonal.max(0.0);
            }
        }
        if rest.rows < 0.0 || (0..width).any(|i| rest.gram.row(i)[i] < 0.0) {
            return Err("other rows were learned".to_owned());
        }
        if rest.rows == 0.0 && (0..width).any(|i| rest.gram.row(i)[i] != 0.0) {
            return Err("other rows were learned".to_owned());
        }
        // Rows never have a variance below 0, but estimated sums may.
        let varies = |i: usize| {
            let square = rest.gram.row(i)[i];
            square * rest.rows - rest.total[i].powi(2) >= -1e-9 * square * rest.rows
        };
        if !rest.estimated && !(0..width).all(varies) {
            return Err("what would be left is no sum of any rows".to_owned());
        }
        Ok(rest)
    }

    /// Stores the arrays under names that begin with `prefix`.
    pub(super) fn save(&self, prefix: &str, state: &mut Tensors) {
        let width = self.total.len();
        let name = |of: &str| format!("{prefix}.{of}");
        let triangle = (0..width).flat_map(|i| self.gram.row(i)).copied();
        state.put_numbers(&name("gram"), 1, width * (width + 1) / 2, triangle);
        state.put(&name("total"), width, &self.total);
        state.put(&name("rows"), 1, &[self.rows]);
        let labels: Vec<u32> = self.labels.keys().copied().collect();
        let weights: Vec<f64> = self.labels.values().map(|of| of.weight).collect();
        state.put(&name("labels"), 1, &labels);
        state.put(&name(name_of_weights(self.counting)), 1, &weights);
        let sums = self.labels.values().flat_map(|of| &of.sum).copied();
        state.put_numbers(&name("sums"), width, self.labels.len() * width, sums);
        if self.estimated {
            state.put(&name("estimated"), 1, &[1u32]);
        }
    }

    pub(super) fn load(prefix: &str, width: usize, state: &mut Tensors) -> Loaded<Self> {
        let name = |of: &str| format!("{prefix}.{of}");
        let mut sums = Sums::new(width).map_err(|NoRoom { bytes }| {
            format!("its sums take {bytes} bytes, which cannot be had")
        })?;
        let triangle: Vec<f64> = state.take_rows(&name("gram"), width * (width + 1) / 2, 1)?;
        let mut rest = &triangle[..];
        for i in 0..width {
            let (row, below) = rest.split_at(i + 1);
            sums.gram.row_mut(i).copy_from_slice(row);
            rest = below;
        }
        sums.total = state.take_rows(&name("total"), 1, width)?;
        sums.rows = state.take_rows(&name("rows"), 1, 1)?[0];
        let labels: Vec<u32> = state.take(&name("labels"), 1)?;
        let full = state.contains(&name(name_of_weights(Counting::Full)));
        sums.counting = if full { Counting::Full } else { Counting::Parts };
        let weights: Vec<f64> =
            state.take_rows(&name(name_of_weights(sums.counting)), labels.len(), 1)?;
        let values: Vec<f64> = state.take_rows(&name("sums"), labels.len(), width)?;
        let numbers = [&triangle, &sums.total, &weights, &values];
        if !numbers.iter().all(|numbers| numbers.iter().all(|number| number.is_finite())) {
            return Err("its sums hold numbers that are not finite".to_owned());
        }
        if !(sums.rows.is_finite() && sums.rows >= 0.0 && weights.iter().all(|&w| w >= 0.0)) {
            return Err("its sums hold negative counts".to_owned());
        }
        let diagonal = |i: usize| sums.gram.row(i)[i];
        // With a half-life, sums fade until numbers have few digits left, and then none. The check
        // allows for this loss of precision.
        let root = |i: usize| (diagonal(i) + f64::MIN_POSITIVE).sqrt();
        let estimated = state.contains(&name("estimated"));
        let possible = |i: usize| {
            // If rows learned after an estimate are unlearned together with earlier rows, the sums
            // may exceed the bound.
            if estimated {
                return true;
            }
            let most = |j: usize| root(i) * root(j) * (1.0 + 1e-9);
            sums.gram.row(i).iter().enumerate().all(|(j, value)| value.abs() <= most(j))
        };
        if !(0..width).all(|i| diagonal(i) >= 0.0) || !(0..width).all(possible) {
            return Err("its sums are not those of any rows".to_owned());
        }
        sums.estimated = estimated;
        if (sums.rows == 0.0) != labels.is_empty() {
            return Err(format!("it has {} labels, of {} rows", labels.len(), sums.rows));
        }
        if !labels.is_sorted_by(|a, b| a < b) {
            return Err("its labels are not in order".to_owned());
        }
        for ((label, weight), sum) in
            labels.into_iter().zip(weights).zip(values.chunks_exact(width))
        {
            sums.labels.insert(label, LabelSum { weight, sum: sum.to_vec() });
        }
        Ok(sums)
    }
}

/// Returns the name of the array of label weights. The name depends on the counting, so that a
/// program that supports only one way of counting cannot misread the other.
fn name_of_weights(counting: Counting) -> &'static str {
    match counting {
        Counting::Full => "counts_of_labels",
        Counting::Parts => "weights_of_labels",
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::brook::embedding::Embedding;
    use crate::learners::brook::{LiftBy, Params};
    use crate::learners::random::{Purpose, random};
    use crate::{Batch, Features};
    use rand::RngExt;

    /// A model whose columns have long been empty must not be rejected as damaged.
    #[test]
    fn what_fades_away_can_be_loaded_at_any_time() {
        let params = Params { lift: LiftBy::None, ..Params::default() };
        let all = [0.3, 0.9, -0.7, 0.5];
        let all_rows = Features::new(&all, 4).unwrap();
        let embedding = Embedding::from_first(&params, 0, true, Batch::unlabelled(all_rows));
        let (old, new) =
            (embedding.whole_numbers(&all), embedding.whole_numbers(&[1.0, 0.0, 0.0, 0.0]));
        for half_lives in [7, 100, 333] {
            let mut sums = Sums::new(4).unwrap();
            sums.add(&old, Labels::single(&[1]));
            for _ in 0..2000 / half_lives {
                sums.scale(f64::from(-half_lives).exp2());
                sums.add(&new, Labels::single(&[2]));
                let mut state = Tensors::default();
                sums.save("brook", &mut state);
                let loaded = Sums::load("brook", 4, &mut state).map(|loaded| loaded.total);
                assert_eq!(loaded, Ok(sums.total.clone()), "after {half_lives} at a time");
            }
        }
    }

    #[test]
    fn sums_are_those_of_the_definition() {
        let mut rng = random(1, Purpose::Signs, 0);
        for (lift, dim, rows) in
            [(LiftBy::None, 5, 300), (LiftBy::Rbf, 3, 150), (LiftBy::Rbf, 8, 512)]
        {
            let values: Vec<f32> = (0..rows * dim).map(|_| rng.random_range(-1.0..1.0)).collect();
            let labels: Vec<u32> = (0..rows as u32).map(|row| row % 7).collect();
            let features = Features::new(&values, dim).unwrap();
            let params = Params { lift, ..Params::default() };
            let embedding = Embedding::from_first(&params, 130, false, Batch::unlabelled(features));
            let numbers = embedding.whole_numbers(&values);
            let mut sums = Sums::new(embedding.width()).unwrap();
            sums.add(&numbers, Labels::single(&labels));
            let row =
                |at: usize| numbers.row(at).iter().map(|&q| f64::from(q)).collect::<Vec<f64>>();
            let all: Vec<Vec<f64>> = (0..rows).map(row).collect();
            let (label, of) = sums.labels.iter().nth(3).unwrap();
            let mine = all.iter().skip(3).step_by(7);
            let expected: f64 = mine.clone().map(|row| row[1]).sum::<f64>() * f64::from(WHOLE);
            assert_eq!((*label, of.sum[1]), (3, expected));
            assert_eq!(of.weight, mine.count() as f64 * f64::from(WHOLE));
            for i in 0..embedding.width() {
                for j in 0..=i {
                    let expected: f64 = all.iter().map(|row| row[i] * row[j]).sum();
                    assert_eq!(sums.gram.row(i)[j], expected, "{lift:?} {i} {j}");
                }
                assert_eq!(sums.total[i], all.iter().map(|row| row[i]).sum::<f64>());
            }
        }
    }
}
