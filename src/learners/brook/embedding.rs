//! Conversion of vectors to the integers that are added up.

use rayon::prelude::*;

use super::params::{LiftBy, MAX_WIDTH, MOST_TIMES, Params, Precision};
use super::whole_numbers::{BLOCK, WholeNumbers};
use crate::hash::Lifter;
use crate::kernel::{LARGEST, nearest, squared_norm};
use crate::learner::Loaded;
use crate::learners::subspace;
use crate::memory::{NoRoom, expect_room};
use crate::tensors::Tensors;
use crate::{Batch, Compact, Features, Lift, Mean};

/// Bound to which larger numbers are clamped: a few hundred times the largest value of the warm-up.
/// A single outlier must neither dominate all other values nor make the sums inexact.
const FARTHEST: f64 = 1_048_576.0;

/// Minimum number of products of a vector with the anchors for which reducing them pays off.
const MANY_PRODUCTS: usize = 1 << 17;

/// Returns the rows that become anchors, in ascending order: the first rows with labels and, if
/// these are too few, the first rows without.
fn chosen_anchors(batch: Batch<'_>, count: usize) -> Vec<usize> {
    let has_label = |row: &usize| batch.labels().is_none_or(|labels| !labels.row(*row).is_empty());
    let (labelled, others): (Vec<usize>, Vec<usize>) = (0..batch.len()).partition(has_label);
    let mut chosen: Vec<usize> = labelled.into_iter().chain(others).take(count).collect();
    chosen.sort_unstable();
    chosen
}

/// Conversion of a vector before it is added up: lifting, centring, and rounding to integer steps.
/// Fixed by the warm-up.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Embedding {
    lifter: Lifter,
    /// Vector subtracted from lifted vectors, so that sums stay small. Empty without a lift, and
    /// with a lift that centres its output.
    center: Vec<f32>,
    /// Value of one integer step in each dimension: a power of two.
    steps: Vec<f32>,
}

impl Embedding {
    /// Returns the embedding for the stream's first rows, of which `anchors` become anchors. The
    /// rows must be preprocessed like all later rows.
    pub(super) fn from_first(
        params: &Params,
        anchors: usize,
        unit: bool,
        batch: Batch<'_>,
    ) -> Self {
        let first = batch.features();
        if params.lift == LiftBy::None {
            return Embedding::linear(unit, first);
        }
        let chosen = chosen_anchors(batch, anchors.min(first.len()));
        let rows: Vec<f32>;
        let anchors = match chosen.last() {
            // If the anchors are the very first rows, these are used in place, without a copy.
            Some(&last) if last >= chosen.len() => {
                rows = chosen.iter().flat_map(|&row| first.row(row)).copied().collect();
                Features::new(&rows, first.dim()).expect("rows of checked features")
            }
            _ => first.slice(0..chosen.len()),
        };
        let gamma = params.gamma.or(|| 1.0 / mean_squared_distance(anchors)) as f32;
        let gamma = gamma.clamp(f32::MIN_POSITIVE, f32::MAX);
        // Similarities are from 0 to 1, and therefore within 1 of their mean.
        let steps = vec![1.0 / (f32::from(LARGEST) + 1.0); anchors.len()];
        let compact = match params.precision {
            Precision::Auto => anchors.values().len() >= MANY_PRODUCTS,
            Precision::Full => false,
            Precision::Compact => true,
        };
        if compact && let Some(compact) = Embedding::compact(anchors, gamma, first) {
            let lifter = ready(Lift::Compact(compact), first.dim());
            return Embedding { lifter, center: Vec::new(), steps };
        }
        let anchors = anchors.values().to_vec();
        let lifter = ready(Lift::Rbf { anchors, gamma }, first.dim());
        Embedding { center: mean(&lifter, first), lifter, steps }
    }

    /// Returns the embedding that leaves vectors unchanged.
    pub(super) fn linear(unit: bool, first: Features<'_>) -> Self {
        let lifter = ready(Lift::Identity, first.dim());
        Embedding { lifter, center: Vec::new(), steps: linear_steps(unit, first) }
    }

    /// Returns whether vectors are lifted.
    pub(super) fn is_lifted(&self) -> bool {
        !matches!(self.lift(), Lift::Identity)
    }

    /// Returns the lift in integer arithmetic, whose results are exactly the numbers that are added
    /// up.
    fn compact(anchors: Features<'_>, gamma: f32, first: Features<'_>) -> Option<Compact> {
        let dim = first.dim();
        let compact = Compact::new(anchors.values(), subspace::principal(first), dim, gamma);
        let compact = compact.ok()?;
        let center = mean(&ready(Lift::Compact(compact.clone()), dim), first);
        Some(compact.centered(&center))
    }

    /// Returns the embedding with additional anchors `more`, centred by the similarities of `rows`.
    /// Returns `None` if the rows of `more` cannot be anchors.
    pub(super) fn with_anchors(&self, more: Features<'_>, rows: Features<'_>) -> Option<Self> {
        if let Lift::Identity = self.lift() {
            return None;
        }
        let (lift, center) = self.lift().with_anchors(more, rows).ok()?;
        let step = *self.steps.first()?;
        let steps = self.steps.iter().copied().chain(std::iter::repeat_n(step, more.len()));
        let lifter = Lifter::new(lift, more.dim()).ok()?;
        let center = [&self.center[..], &center].concat();
        Some(Embedding { lifter, center, steps: steps.collect() })
    }

    /// Returns whether `other` is this embedding, possibly with additional anchors.
    pub(super) fn begins(&self, other: &Embedding) -> bool {
        self.lift().begins(other.lift())
            && other.center.starts_with(&self.center)
            && other.steps.starts_with(&self.steps)
    }

    /// Returns the similarity between all pairs of these anchors.
    pub(super) fn between_anchors(&self, chosen: &[usize]) -> Result<Vec<f64>, NoRoom> {
        // The similarities twice, and the anchors in original and transposed form.
        expect_room(chosen.len() * (2 * chosen.len() + 3 * self.dim()))?;
        Ok(self.lift().between_anchors(self.dim(), chosen))
    }

    /// Returns the values that are subtracted from the similarities to the anchors.
    pub(super) fn centers(&self) -> &[f32] {
        match self.lift() {
            Lift::Compact(compact) => &compact.center,
            _ => &self.center,
        }
    }

    /// Returns the value of one integer step in lifted vectors.
    pub(super) fn step(&self) -> f64 {
        f64::from(self.steps[0])
    }

    pub(super) fn width(&self) -> usize {
        self.steps.len()
    }

    /// Returns the dimension of the input vectors.
    pub(super) fn dim(&self) -> usize {
        self.lifter.dim()
    }

    pub(super) fn steps(&self) -> &[f32] {
        &self.steps
    }

    pub(super) fn center(&self) -> &[f32] {
        &self.center
    }

    pub(super) fn lift(&self) -> &Lift {
        self.lifter.lift()
    }

    /// Returns the rows as the integers that are added up.
    pub(super) fn whole_numbers(&self, rows: &[f32]) -> WholeNumbers {
        if let Some(rows) = self.lifter.whole_rows(rows) {
            return WholeNumbers { width: self.width(), rows, large: Vec::new(), roots: None };
        }
        let lifted;
        let values = match self.lift() {
            Lift::Identity => rows,
            _ => {
                lifted = self.lifter.lift_rows(rows);
                &lifted
            }
        };
        let width = self.width();
        let inverse: Vec<f32> = self.steps.iter().map(|step| 1.0 / step).collect();
        let mut rows = vec![0; values.len()];
        let large = values
            .par_chunks_exact(width)
            .zip(rows.par_chunks_exact_mut(width))
            .enumerate()
            .filter_map(|(at, (row, small))| {
                if round(row, &self.center, &inverse, small) {
                    return None;
                }
                small.fill(0);
                let center = self.center.iter().copied().chain(std::iter::repeat(0.0));
                let whole = |((value, center), inverse): ((&f32, f32), &f32)| {
                    let number = f64::from(value - center) * f64::from(*inverse);
                    number.round_ties_even().clamp(-FARTHEST, FARTHEST)
                };
                Some((at, row.iter().zip(center).zip(&inverse).map(whole).collect()))
            })
            .collect();
        WholeNumbers { width, rows, large, roots: None }
    }

    /// Stores the arrays under names that begin with `prefix`.
    pub(super) fn save(&self, prefix: &str, state: &mut Tensors) {
        state.put(&format!("{prefix}.steps"), self.width(), &self.steps);
        self.lifter.save(prefix, state);
        if !self.center.is_empty() {
            state.put(&format!("{prefix}.center"), self.width(), &self.center);
        }
    }

    /// Reads an embedding that leaves vectors unchanged.
    pub(super) fn load_linear(prefix: &str, dim: usize, state: &mut Tensors) -> Loaded<Self> {
        let steps = load_steps(prefix, dim, state)?;
        Ok(Embedding { lifter: ready(Lift::Identity, dim), center: Vec::new(), steps })
    }

    pub(super) fn load(params: &Params, dim: usize, state: &mut Tensors) -> Loaded<Self> {
        if params.lift == LiftBy::None {
            return Embedding::load_linear("brook", dim, state);
        }
        let lifter = Lifter::load("brook", dim, state)?;
        let lifter = lifter.ok_or_else(|| "holds no array \"brook.anchors\"".to_owned())?;
        let width = lifter.width();
        let mut center: Vec<f32> = Vec::new();
        let most = MOST_TIMES * params.anchors.or(|| MAX_WIDTH / MOST_TIMES);
        if !(1..=most).contains(&width) {
            return Err(format!("{width} anchors, where 1 to {most} may be"));
        }
        if let Lift::Rbf { .. } = lifter.lift() {
            center = state.take_rows("brook.center", 1, width)?;
            if !center.iter().all(|value| value.is_finite()) {
                return Err("array \"brook.center\" holds numbers that are not finite".to_owned());
            }
        }
        let steps = load_steps("brook", width, state)?;
        Ok(Embedding { lifter, center, steps })
    }
}

fn load_steps(prefix: &str, width: usize, state: &mut Tensors) -> Loaded<Vec<f32>> {
    let steps: Vec<f32> = state.take_rows(&format!("{prefix}.steps"), 1, width)?;
    match steps.iter().find(|step| !(step.is_normal() && **step > 0.0)) {
        Some(step) => Err(format!("steps should be above 0, one is {step}")),
        None => Ok(steps),
    }
}

fn ready(lift: Lift, dim: usize) -> Lifter {
    Lifter::new(lift, dim).expect("of finite rows of that dimension, and a gamma above 0")
}

/// Returns the mean of lifted rows.
fn mean(lifter: &Lifter, rows: Features<'_>) -> Vec<f32> {
    let mut mean = Mean::new(lifter.width());
    // In blocks, because all lifted rows at once could be larger than the sums.
    for part in rows.values().chunks(BLOCK * rows.dim()) {
        let values = lifter.lift_rows(part);
        let lifted = Features::new(&values, lifter.width()).expect("similarities are finite");
        mean.add(lifted).expect("of the width of the anchors");
    }
    mean.value()
}

/// Rounds a row to integer numbers of steps. Returns whether all numbers fit the fast sum.
fn round(row: &[f32], center: &[f32], inverse: &[f32], out: &mut [i16]) -> bool {
    if center.is_empty() {
        out.iter_mut().zip(row).zip(inverse).for_each(|((out, value), inverse)| {
            *out = nearest(value * inverse);
        });
    } else {
        let rows = out.iter_mut().zip(row).zip(center).zip(inverse);
        rows.for_each(|(((out, value), center), inverse)| {
            *out = nearest((value - center) * inverse)
        });
    }
    out.iter().fold(true, |all, value| all & (value.unsigned_abs() <= LARGEST.unsigned_abs()))
}

/// Returns the steps for vectors that are not lifted. Unit vectors have no value beyond 1. For
/// other vectors, each dimension may have its own scale: values may grow to twice those of the
/// first rows before the slower sum for large numbers is used.
fn linear_steps(unit: bool, first: Features<'_>) -> Vec<f32> {
    let dim = first.dim();
    let range = f32::from(LARGEST) + 1.0;
    if unit {
        return vec![1.0 / range; dim];
    }
    let mut largest = vec![0.0f32; dim];
    for row in first.values().chunks_exact(dim) {
        largest
            .iter_mut()
            .zip(row)
            .for_each(|(largest, value)| *largest = largest.max(value.abs()));
    }
    let overall = largest.iter().copied().fold(0.0, f32::max);
    // A dimension that is zero in all first rows may change later, so it gets the largest scale.
    let known = |value: f32| if value > 0.0 { value } else { overall };
    let step = |value: f32| (known(value).log2().ceil() + 1.0).clamp(-100.0, 120.0).exp2() / range;
    largest.into_iter().map(step).collect()
}

/// Returns the mean squared distance between two rows; 1 if it is zero or not finite.
fn mean_squared_distance(rows: Features<'_>) -> f64 {
    let mut mean = Mean::new(rows.dim());
    mean.add(rows).expect("of its own dimension");
    let n = rows.len() as f64;
    let norms: f64 = rows.values().chunks_exact(rows.dim()).map(squared_norm).sum();
    // Over pairs of different rows, the mean is twice the variance.
    let mean = 2.0 * (norms / n - squared_norm(&mean.value())) * n / (n - 1.0).max(1.0);
    if mean.is_finite() && mean > 1e-9 * norms / n { mean } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HashFunction, HashParts};

    #[test]
    fn rounding_is_that_of_the_standard_library() {
        let values =
            [0.0, 0.5, 1.5, -0.5, -1.5, 2.5, 1000.49, -1000.51, 2047.5, 1e9, -1e9, 40_000.0];
        for value in values.into_iter().chain((-4000..4000).map(|v| v as f32 * 0.37)) {
            assert_eq!(nearest(value), value.round_ties_even() as i16, "{value}");
        }
    }

    #[test]
    fn compact_sums_are_of_the_very_numbers_that_the_function_projects() {
        let values: Vec<f32> = (0..40 * 6).map(|at| (at as f32 * 1.7).sin()).collect();
        let features = Features::new(&values, 6).unwrap();
        let params = Params { precision: Precision::Compact, ..Params::default() };
        let embedding = Embedding::from_first(&params, 15, false, Batch::unlabelled(features));
        let numbers = embedding.whole_numbers(&values);
        assert!(numbers.large().is_empty() && embedding.center().is_empty());
        let added: Vec<f32> =
            numbers.small().iter().map(|&q| f32::from(q) * embedding.steps()[0]).collect();
        let lift = embedding.lift().clone();
        let parts = HashParts { lift, ..HashParts::linear(6, 1, vec![1.0; 15]) };
        assert_eq!(HashFunction::new(parts).unwrap().lifted(features).unwrap(), added);
        let sums = added.chunks_exact(15).fold([0.0; 15], |mut sums, row| {
            sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value / 40.0);
            sums
        });
        assert!(sums.iter().all(|mean| mean.abs() < 1e-3), "centred: {sums:?}");
    }

    #[test]
    fn by_itself_it_is_compact_where_there_are_many_products() {
        let values: Vec<f32> = (0..512 * 256).map(|at| (at as f32 * 1.7).sin()).collect();
        let lift = |precision, anchors| {
            let params = Params { precision, ..Params::default() };
            let first = Features::new(&values, 256).unwrap();
            Embedding::from_first(&params, anchors, true, Batch::unlabelled(first)).lift().clone()
        };
        assert!(matches!(lift(Precision::Auto, 512), Lift::Compact(_)));
        assert!(matches!(lift(Precision::Auto, 511), Lift::Rbf { .. }));
        assert!(matches!(lift(Precision::Full, 512), Lift::Rbf { .. }));
        assert!(matches!(lift(Precision::Compact, 3), Lift::Compact(_)));
    }

    #[test]
    fn rows_with_large_numbers_are_told_apart_and_lose_nothing() {
        let first = [1.0, -2.0, 0.0, 0.5, 4.0, 0.0];
        let params = Params { lift: LiftBy::None, ..Params::default() };
        let first = Features::new(&first, 3).unwrap();
        let embedding = Embedding::from_first(&params, 0, false, Batch::unlabelled(first));
        let numbers = embedding.whole_numbers(&[0.5, 7.5, -7.5, 0.5, 50.0, 0.25]);
        assert_eq!(numbers.large().len(), 1);
        let (at, row) = &numbers.large()[0];
        let back = |row: &[f64]| -> Vec<f32> {
            row.iter().zip(embedding.steps()).map(|(q, step)| *q as f32 * step).collect()
        };
        let most = FARTHEST as f32 * embedding.steps()[1];
        assert_eq!((*at, back(row)), (1, vec![0.5, 50.0_f32.min(most), 0.25]));
        let small: Vec<f64> = numbers.row(0).iter().map(|&q| f64::from(q)).collect();
        assert_eq!(back(&small), [0.5, 7.5, -7.5]);
    }
}
