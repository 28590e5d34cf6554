//! From the sums to a hash function.

use super::codes::{self, Codes, Problem};
use super::embedding::Embedding;
use super::sums::{Class, Sums};
use super::{LiftBy, Loaded, Params};
use crate::learners::take_weights;
use crate::linalg::{Positive, transposed_product};
use crate::tensors::Tensors;

/// How many classes take part in the search for codes: the most frequent.
const MOST_CLASSES: usize = 1024;

/// The weights and the offsets of a function, and the codes of the classes it comes from.
#[derive(Clone, Debug)]
pub(super) struct Solution {
    pub(super) weights: Vec<f32>,
    pub(super) offset: Vec<f32>,
    pub(super) codes: Codes,
}

/// The centred sums in their own units, and the factor of `A + ridge I`.
struct System<'a> {
    rows: f64,
    width: usize,
    steps: Vec<f64>,
    total: &'a [f64],
    factor: Positive,
}

impl<'a> System<'a> {
    /// `None` when the sums are not those of any rows, or beyond all bounds.
    fn new(params: &Params, embedding: &Embedding, sums: &'a Sums) -> Option<Self> {
        let (rows, width, total) = (sums.rows(), embedding.width(), sums.total());
        let steps: Vec<f64> = embedding.steps().iter().map(|&step| f64::from(step)).collect();
        let entry = |i: usize, j: usize| {
            let centred = sums.gram().row(i)[j] - total[i] * total[j] / rows;
            centred * steps[i] * steps[j]
        };
        let mean_square = (0..width).map(|i| entry(i, i)).sum::<f64>() / rows;
        let mut ridge = params.ridge.or(|| {
            let part = match params.lift {
                LiftBy::None => 1.0,
                LiftBy::Rbf => 5e-4,
            };
            // Rows that are all alike have nothing to punish, nor to tell.
            if mean_square > 0.0 { part * mean_square } else { 1.0 }
        });
        // What rounding could do to the smallest eigenvalues of a long sum.
        ridge = ridge.max(1e-13 * mean_square * rows);
        if !(ridge.is_finite() && mean_square >= -1e-9) {
            return None;
        }
        let factor = Positive::factor(width, |i, j| entry(i, j) + if i == j { ridge } else { 0.0 })?;
        Some(System { rows, width, steps, total, factor })
    }

    /// Adds the centred sum of a class, times `factor`, to the column of a matrix of `columns`.
    fn add_class(&self, class: &Class<'_>, out: &mut [f64], columns: usize, factor: &[i8]) {
        let share = class.rows / self.rows;
        let centred = class.sum().zip(self.total).zip(&self.steps);
        for (row, ((sum, total), step)) in out.chunks_exact_mut(columns).zip(centred) {
            let value = (sum - share * total) * step;
            row.iter_mut().zip(factor).for_each(|(out, &factor)| *out += value * f64::from(factor));
        }
    }
}

/// Whether sums can be those of any rows.
pub(super) fn is_sound(params: &Params, embedding: &Embedding, sums: &Sums) -> bool {
    System::new(params, embedding, sums).is_some()
}

impl Solution {
    /// `None` when nothing was learned.
    pub(super) fn find(
        params: &Params,
        embedding: &Embedding,
        sums: &Sums,
        bits: usize,
        seed: u64,
        in_use: Option<&[(u32, Vec<i8>)]>,
    ) -> Option<Solution> {
        let rows = sums.rows();
        // With a half-life, what is long gone never quite reaches zero.
        let present = |class: &Class<'_>| class.rows > 1e-12 * rows;
        let classes: Vec<Class<'_>> = sums.classes().into_iter().filter(present).collect();
        if classes.is_empty() {
            return None;
        }
        let system = System::new(params, embedding, sums)?;
        let labels: Vec<u32> = classes.iter().map(|class| class.label).collect();
        let mut codes = codes::start(&labels, bits, seed, in_use.unwrap_or_default());
        system.find_codes(params, &classes, &mut codes, in_use.unwrap_or_default(), bits);

        let width = system.width;
        let mut right = vec![0.0; width * bits];
        let mut mean_code = vec![0.0; bits];
        for (class, (_, code)) in classes.iter().zip(&codes) {
            system.add_class(class, &mut right, bits, code);
            let share = class.rows / rows;
            mean_code.iter_mut().zip(code).for_each(|(mean, &u)| *mean += share * f64::from(u));
        }
        let weights = system.factor.solve(&right, bits);
        // z is centred on the mean of all rows here, the function's on nothing.
        let mut offset = mean_code;
        let center = embedding.center().iter().copied().chain(std::iter::repeat(0.0));
        let mean = system.total.iter().zip(&system.steps).map(|(total, step)| total * step / rows);
        for ((row, mean), center) in weights.chunks_exact(bits).zip(mean).zip(center) {
            let at = mean + f64::from(center);
            offset.iter_mut().zip(row).for_each(|(offset, weight)| *offset -= weight * at);
        }
        let single = |values: &[f64]| values.iter().map(|&value| value as f32).collect::<Vec<_>>();
        let (weights, offset) = (single(&weights), single(&offset));
        let finite = weights.iter().chain(&offset).all(|value| value.is_finite());
        finite.then_some(Solution { weights, offset, codes })
    }

    pub(super) fn save(&self, state: &mut Tensors, bits: usize) {
        state.put("brook.weights", bits, &self.weights);
        state.put("brook.offset", bits, &self.offset);
        codes::save(state, "brook.codes", bits, &self.codes);
    }

    pub(super) fn load(state: &mut Tensors, width: usize, bits: usize) -> Loaded<Self> {
        Ok(Solution {
            weights: take_weights(state, "brook.weights", width, bits)?,
            offset: take_weights(state, "brook.offset", 1, bits)?,
            codes: codes::load(state, "brook.codes", bits)?,
        })
    }
}

impl System<'_> {
    /// Finds the codes of the most frequent classes; the others keep theirs.
    fn find_codes(
        &self,
        params: &Params,
        classes: &[Class<'_>],
        codes: &mut Codes,
        in_use: &[(u32, Vec<i8>)],
        bits: usize,
    ) {
        let mut chosen: Vec<usize> = (0..classes.len()).collect();
        chosen.sort_by(|&a, &b| classes[b].rows.total_cmp(&classes[a].rows).then(a.cmp(&b)));
        chosen.truncate(MOST_CLASSES);
        chosen.sort_unstable();
        let count = chosen.len();
        let mut sums = vec![0.0; self.width * count];
        for (column, &class) in chosen.iter().enumerate() {
            self.add_class(&classes[class], &mut sums[column..], count, &[1]);
        }
        let scores = self.factor.solve(&sums, count);
        let mut fit = transposed_product(&sums, count, &scores, count);
        let shares: Vec<f64> = chosen.iter().map(|&c| classes[c].rows / self.rows).collect();
        // One over this is the number of classes, with rare ones counting less.
        let concentration: f64 = shares.iter().map(|share| share * share).sum();
        let fit_weight = params.fit_weight.or(|| {
            let explained: f64 = (0..count).map(|c| fit[c * count + c]).sum::<f64>() / self.rows;
            let unexplained = 1.0 - explained / (1.0 - concentration).max(1e-9);
            (15.0 * unexplained.clamp(0.0, 1.0) * concentration).min(1.0)
        });
        fit.iter_mut().for_each(|value| *value *= fit_weight / self.rows);
        let apart = params.dissimilar_weight.or(|| 1.0 / (count as f64 - 1.0).max(1.0));
        let problem = Problem { bits, shares, apart, fit };
        let mut moving: Codes = chosen.iter().map(|&class| codes[class].clone()).collect();
        let steady: Vec<bool> = moving
            .iter()
            .map(|(label, _)| in_use.iter().any(|(in_use, _)| in_use == label))
            .collect();
        problem.descend(&mut moving, &steady);
        chosen.into_iter().zip(moving).for_each(|(class, code)| codes[class] = code);
    }
}
