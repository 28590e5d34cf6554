//! Computation of a hash function from the sums.

use std::collections::HashSet;

use rand::RngExt;

use super::codes::{self, Codes, Problem};
use super::embedding::Embedding;
use super::keys::Keys;
use super::learned::Learned;
use super::params::{Choice, MOST_CLASSES, Params};
use super::presence::{Fitted, TargetWeights, Wanted};
use super::sums::{Class, Sums};
use super::warm::Warm;
use super::{detail, discriminant};
use crate::learner::{Candidate, Loaded, MadeOf, MeasuredTargets};
use crate::learners::directions::{Directions, Projection};
use crate::learners::random::{Purpose, random};
use crate::learners::weights::take_weights;
use crate::linalg::{Positive, dot, transposed_product};
use crate::memory::NoRoom;
use crate::tensors::Tensors;
use crate::{Features, HashParts, Lift};

/// The weights and offsets of a function, and the codes of the classes that it was solved for.
#[derive(Clone, Debug)]
pub(super) struct Solution {
    pub(super) targets: MeasuredTargets,
    /// Weights of the label bits, on lifted or on original vectors.
    pub(super) weights: Vec<f32>,
    pub(super) offset: Vec<f32>,
    /// Codes of the classes; empty for discriminant bits.
    pub(super) codes: Codes,
    /// Number of bits of the codes, the weights and the offsets.
    pub(super) label_bits: usize,
    /// Projection of the detail bits, if there are any.
    pub(super) detail: Option<Projection>,
}

/// Number of times that the ridge may be multiplied by ten.
const RAISED: usize = 8;

/// Number of alternating updates of signs and rotation.
pub(super) const ITERATIONS: usize = 50;

/// Input of a solution.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub(super) params: &'a Params,
    pub(super) warm: &'a Warm,
    pub(super) learned: &'a Learned,
    pub(super) bits: usize,
    pub(super) seed: u64,
    pub(super) keys: &'a Keys,
}

/// The centred sums in the units of the vectors, and the factor of `A + ridge I`.
struct System<'a> {
    rows: f64,
    width: usize,
    steps: Vec<f64>,
    total: &'a [f64],
    ridge: f64,
    factor: Positive,
}

impl<'a> System<'a> {
    /// Returns `None` if the sums cannot be those of any rows, or are not finite.
    fn new(params: &Params, embedding: &Embedding, sums: &'a Sums) -> Result<Option<Self>, NoRoom> {
        let (rows, width, total) = (sums.rows(), embedding.width(), sums.total());
        let steps: Vec<f64> = embedding.steps().iter().map(|&step| f64::from(step)).collect();
        let entry = |i: usize, j: usize| {
            let centred = sums.gram().row(i)[j] - total[i] * total[j] / rows;
            centred * steps[i] * steps[j]
        };
        let mean_square = (0..width).map(|i| entry(i, i)).sum::<f64>() / rows;
        let mut ridge = params.ridge.or(|| {
            let part = if embedding.is_lifted() { 5e-4 } else { 1.0 };
            // If all rows are equal there is no variance to regularize.
            if mean_square > 0.0 { part * mean_square } else { 1.0 }
        });
        // The ridge must exceed the effect of rounding on the smallest eigenvalues of a long sum.
        ridge = ridge.max(1e-13 * mean_square * rows);
        let uncentred: f64 =
            (0..width).map(|i| sums.gram().row(i)[i] * steps[i] * steps[i]).sum::<f64>() / rows;
        if !(ridge.is_finite() && mean_square >= -1e-9 * uncentred) {
            return Ok(None);
        }
        // Estimated sums from which rows were unlearned may have eigenvalues below 0.
        let mut tries = if sums.is_estimated() { RAISED } else { 0 };
        loop {
            let lower = |i: usize, j: usize| entry(i, j) + if i == j { ridge } else { 0.0 };
            match Positive::factor(width, lower)? {
                Some(factor) => {
                    return Ok(Some(System { rows, width, steps, total, ridge, factor }));
                }
                None if tries == 0 => return Ok(None),
                None => (ridge, tries) = (10.0 * ridge, tries - 1),
            }
        }
    }

    /// Returns the centred sum of a class.
    fn centred<'c>(&'c self, class: &'c Class<'_>) -> impl Iterator<Item = f64> + 'c {
        let share = class.rows / self.rows;
        let sums = class.sum().zip(self.total).zip(&self.steps);
        sums.map(move |((sum, total), step)| (sum - share * total) * step)
    }
}

/// Returns whether sums can be those of any rows, judged by whether a function can be solved for.
pub(super) fn is_sound(
    params: &Params,
    embedding: &Embedding,
    sums: &Sums,
) -> Result<bool, NoRoom> {
    Ok(System::new(params, embedding, sums)?.is_some())
}

impl<'a> Task<'a> {
    /// Returns the labels with rows, in an order that depends neither on the numbers of the labels
    /// nor on the order of the rows.
    pub(super) fn classes<'s>(&self, sums: &'s Sums) -> Vec<Class<'s>> {
        // With a half-life, the weight of a label never quite reaches zero.
        let present = |class: &Class<'_>| class.rows > 1e-12 * sums.rows();
        let mut classes: Vec<Class<'_>> = sums.classes().into_iter().filter(present).collect();
        classes.sort_by_key(|class| (self.keys.of(class.label), class.label));
        classes
    }

    /// Returns a function with discriminant bits, from the given sums or, by default, from those of
    /// the learned rows. Returns `None` if labels do not differ beyond chance.
    pub(super) fn discriminant(
        &self,
        sums: Option<&Sums>,
        iterations: usize,
    ) -> Result<Option<Solution>, NoRoom> {
        let Some(plain) = &self.warm.plain else { return Ok(None) };
        let is_lifted = self.warm.embedding.is_lifted();
        let Some(sums) = sums.or(self.learned.plain(is_lifted)) else { return Ok(None) };
        let detail_bits = match (self.params.detail, &self.warm.directions) {
            (Choice::Fixed(_), Some(_)) => {
                self.bits - detail::label_bits(self.params, self.bits, 1.0)
            }
            _ => 0,
        };
        let label_bits = self.bits - detail_bits;
        let directions = discriminant::directions(sums, &self.classes(sums), plain, label_bits)?;
        let Some(directions) = directions else { return Ok(None) };
        let Projection { weights, offset } =
            directions.rotated(label_bits, 0.0, iterations, self.seed);
        let detail = self.warm.directions.as_ref().filter(|_| detail_bits > 0);
        let detail = detail.map(|all| detail::projection(self.params, all, detail_bits, self.seed));
        let targets = MeasuredTargets::unmeasured(MadeOf::Discriminant);
        let codes = Codes::new();
        let solution = Solution { targets, weights, offset, codes, label_bits, detail };
        Ok(solution.finite())
    }

    /// Returns a function of the principal directions of the first warm-up rows, without labels.
    pub(super) fn vectors(
        &self,
        rows: usize,
        iterations: usize,
    ) -> Result<Option<Solution>, NoRoom> {
        let Some(plain) = &self.warm.plain else { return Ok(None) };
        let dim = plain.embedding.dim();
        let values = plain.first.len().min(rows.saturating_mul(dim));
        let Ok(first) = Features::new(&plain.first[..values], dim) else { return Ok(None) };
        let mut directions = Directions::of(first, self.bits)?;
        if directions.drop_noise(first) == 0 {
            return Ok(None);
        }
        let Projection { weights, offset } =
            directions.rotated(self.bits, 0.0, iterations, self.seed);
        let targets = MeasuredTargets::unmeasured(MadeOf::Vectors);
        let (codes, label_bits, detail) = (Codes::new(), self.bits, None);
        let solution = Solution { targets, weights, offset, codes, label_bits, detail };
        Ok(solution.finite())
    }
}

/// Regression of targets on embedded vectors, from sums.
pub(super) struct Regression<'a> {
    task: Task<'a>,
    embedding: &'a Embedding,
    sums: &'a Sums,
    classes: &'a [Class<'a>],
    system: System<'a>,
}

impl<'a> Regression<'a> {
    /// Returns `None` if there are no classes, or if the sums are not finite.
    pub(super) fn new(
        task: Task<'a>,
        (embedding, sums): (&'a Embedding, &'a Sums),
        classes: &'a [Class<'a>],
    ) -> Result<Option<Self>, NoRoom> {
        if classes.is_empty() {
            return Ok(None);
        }
        let system = System::new(task.params, embedding, sums)?;
        Ok(system.map(|system| Regression { task, embedding, sums, classes, system }))
    }

    pub(super) fn sums(&self) -> &Sums {
        self.sums
    }

    pub(super) fn classes(&self) -> &[Class<'a>] {
        self.classes
    }

    /// Returns the share of a row's own target that its projection remembers, on average: the mean
    /// diagonal element of `Z (A + ridge I)^-1 Z^T`. Estimated with random signs (M. F. Hutchinson,
    /// 1989).
    pub(super) fn leverage(&self) -> Result<f64, NoRoom> {
        const SIGNS: usize = 8;
        let System { width, rows, ridge, ref factor, .. } = self.system;
        let mut rng = random(0, Purpose::Signs, width as u64);
        let signs: Vec<f64> =
            (0..width * SIGNS).map(|_| if rng.random() { 1.0 } else { -1.0 }).collect();
        let solved = factor.solve(&signs, SIGNS)?;
        let trace = dot(&signs, &solved) / SIGNS as f64;
        Ok(((width as f64 - ridge * trace) / rows).clamp(0.0, 0.95))
    }

    /// Returns the function for the targets, and the targets. The kind of targets is `wanted` or,
    /// by default, follows from the number of labels per row.
    pub(super) fn solve(
        &self,
        wanted: Option<Wanted>,
    ) -> Result<Option<(Solution, TargetWeights)>, NoRoom> {
        let Regression { task, embedding, sums, classes, system } = self;
        let Task { params, warm, bits: all_bits, seed, keys, .. } = *task;
        let in_use = &warm.in_use;
        let rows = sums.rows();
        let concentration: f64 = classes.iter().map(|class| (class.rows / rows).powi(2)).sum();
        // If rows have several labels, the shares add up to more than one, and each row has more
        // labels to encode.
        let classes_told = sums.labels_per_row().powi(3) / concentration;
        // Codes in use keep their bits, and may get additional ones.
        let bits = match warm.directions {
            Some(_) => detail::label_bits(params, all_bits, classes_told)
                .max(warm.bits_in_use().unwrap_or(0)),
            None => all_bits,
        };
        let labels = classes.iter().map(|class| (class.label, keys.of(class.label)));
        let mut codes = codes::start(labels, bits, seed, in_use);
        let is_rare = wanted.is_some();
        let wanted =
            wanted.unwrap_or_else(|| Wanted::of(sums.labels_per_row(), classes.len(), bits));
        let targets =
            system.find_targets(params, classes, &mut codes, in_use, (bits, wanted, is_rare))?;

        let width = system.width;
        let mut right = vec![0.0; width * bits];
        let mut mean_target = vec![0.0; bits];
        for (class, target) in classes.iter().zip(targets.weights.chunks_exact(bits)) {
            for (row, value) in right.chunks_exact_mut(bits).zip(system.centred(class)) {
                row.iter_mut().zip(target).for_each(|(sum, u)| *sum += value * u);
            }
            let share = class.rows / rows;
            mean_target.iter_mut().zip(target).for_each(|(mean, u)| *mean += share * u);
        }
        let weights = system.factor.solve(&right, bits)?;
        // Here z is centred on the mean of all rows, but the function's input is not centred.
        let mut offset = mean_target;
        offset.iter_mut().zip(&targets.thresholds).for_each(|(offset, at)| *offset -= at);
        let center = embedding.center().iter().copied().chain(std::iter::repeat(0.0));
        let mean = system.total.iter().zip(&system.steps).map(|(total, step)| total * step / rows);
        for ((row, mean), center) in weights.chunks_exact(bits).zip(mean).zip(center) {
            let at = mean + f64::from(center);
            offset.iter_mut().zip(row).for_each(|(offset, weight)| *offset -= weight * at);
        }
        let single = |values: &[f64]| values.iter().map(|&value| value as f32).collect::<Vec<_>>();
        let (weights, offset) = (single(&weights), single(&offset));
        let directions = warm.directions.as_ref().filter(|_| bits < all_bits);
        let detail = directions.map(|all| detail::projection(params, all, all_bits - bits, seed));
        let made_of = match wanted {
            Wanted::Presence if !embedding.is_lifted() => MadeOf::LinearPresence,
            Wanted::Presence => MadeOf::Presence,
            Wanted::Codes | Wanted::Rotation => MadeOf::Classes,
        };
        let made_of = MeasuredTargets::unmeasured(made_of);
        let solution =
            Solution { targets: made_of, weights, offset, codes, label_bits: bits, detail };
        Ok(solution.finite().map(|solution| (solution, targets)))
    }
}

impl Solution {
    /// Returns the solution if all of its numbers are finite.
    fn finite(self) -> Option<Self> {
        let detail =
            self.detail.iter().flat_map(|detail| detail.weights.iter().chain(&detail.offset));
        let mut values = self.weights.iter().chain(&self.offset).chain(detail);
        values.all(|value| value.is_finite()).then_some(self)
    }

    /// Returns the parts of the function for vectors of `dim` dimensions and codes of `bits` bits.
    pub(super) fn parts(&self, embedding: &Embedding, (dim, bits): (usize, usize)) -> HashParts {
        let lift = match self.targets.made_of {
            MadeOf::Classes | MadeOf::Presence => embedding.lift().clone(),
            MadeOf::LinearPresence | MadeOf::Discriminant | MadeOf::Vectors => Lift::Identity,
        };
        let shape = (dim, bits, self.label_bits);
        detail::parts(shape, lift, (&self.weights, &self.offset), self.detail.as_ref())
    }

    pub(super) fn save(&self, state: &mut Tensors, bits: usize) {
        state.put("brook.weights", self.label_bits, &self.weights);
        state.put("brook.offset", self.label_bits, &self.offset);
        codes::save(state, "brook.codes", self.label_bits, &self.codes);
        let targets = &self.targets;
        let candidates = targets.candidates.iter();
        let (numbers, scores): (Vec<u32>, Vec<f64>) =
            candidates.map(|candidate| (candidate.made_of as u32, candidate.score)).unzip();
        state.put("brook.made_of", 2, &[targets.made_of as u32, targets.gave_up_lifted.into()]);
        state.put("brook.candidates", 1, &numbers);
        state.put("brook.candidates.scores", 1, &scores);
        state.put("brook.not_distinguished", 1, &targets.not_distinguished);
        if let Some(detail) = &self.detail {
            state.put("brook.detail.weights", bits - self.label_bits, &detail.weights);
            state.put("brook.detail.offset", bits - self.label_bits, &detail.offset);
        }
    }

    /// Reads a solution for vectors of `dim` numbers, `width` when lifted, and codes of `bits`
    /// bits.
    pub(super) fn load(
        state: &mut Tensors,
        (dim, width): (usize, usize),
        bits: usize,
    ) -> Loaded<Self> {
        let label_bits = state.width("brook.weights")?;
        if !(1..=bits).contains(&label_bits) {
            return Err(format!("{label_bits} label bits, of {bits} bits"));
        }
        let codes = codes::load(state, "brook.codes", bits)?;
        if codes.iter().any(|(_, code)| code.len() != label_bits) {
            return Err(format!("its codes should have {label_bits} bits"));
        }
        let detail = match bits - label_bits {
            0 => None,
            bits => Some(Projection {
                weights: take_weights(state, "brook.detail.weights", dim, bits)?,
                offset: take_weights(state, "brook.detail.offset", 1, bits)?,
            }),
        };
        let known = |number: u32| {
            let found = MadeOf::ALL.into_iter().find(|&made_of| made_of as u32 == number);
            found.ok_or_else(|| format!("its bits are made of something unknown ({number})"))
        };
        let mut targets = MeasuredTargets::unmeasured(MadeOf::Classes);
        if state.contains("brook.made_of") {
            let numbers: Vec<u32> = state.take_rows("brook.made_of", 1, 2)?;
            (targets.made_of, targets.gave_up_lifted) = (known(numbers[0])?, numbers[1] != 0);
            targets.not_distinguished = state.take("brook.not_distinguished", 1)?;
            let numbers: Vec<u32> = state.take("brook.candidates", 1)?;
            let scores: Vec<f64> = state.take_rows("brook.candidates.scores", numbers.len(), 1)?;
            for (number, score) in numbers.into_iter().zip(scores) {
                targets.candidates.push(Candidate { made_of: known(number)?, score });
            }
        }
        let width = match targets.made_of {
            MadeOf::Classes | MadeOf::Presence => width,
            MadeOf::LinearPresence | MadeOf::Discriminant | MadeOf::Vectors => dim,
        };
        Ok(Solution {
            targets,
            weights: take_weights(state, "brook.weights", width, label_bits)?,
            offset: take_weights(state, "brook.offset", 1, label_bits)?,
            codes,
            label_bits,
            detail,
        })
    }
}

impl System<'_> {
    /// Finds the targets of the most frequent classes, and their codes; the other classes keep
    /// their codes.
    fn find_targets(
        &self,
        params: &Params,
        classes: &[Class<'_>],
        codes: &mut Codes,
        in_use: &[(u32, Vec<i8>)],
        (bits, wanted, is_rare): (usize, Wanted, bool),
    ) -> Result<TargetWeights, NoRoom> {
        let mut chosen: Vec<usize> = (0..classes.len()).collect();
        chosen.sort_by(|&a, &b| classes[b].rows.total_cmp(&classes[a].rows).then(a.cmp(&b)));
        chosen.truncate(MOST_CLASSES);
        chosen.sort_unstable();
        let count = chosen.len();
        let mut sums = vec![0.0; self.width * count];
        for (column, &class) in chosen.iter().enumerate() {
            let rows = sums.chunks_exact_mut(count).zip(self.centred(&classes[class]));
            rows.for_each(|(row, value)| row[column] = value);
        }
        let scores = self.factor.solve(&sums, count)?;
        let mut fit = transposed_product(&sums, count, &scores, count);
        let shares: Vec<f64> = chosen.iter().map(|&c| classes[c].rows / self.rows).collect();
        if wanted != Wanted::Codes {
            fit.iter_mut().for_each(|value| *value /= self.rows);
            let fitted = Fitted { bits, shares: &shares, fit: &fit };
            return match wanted {
                Wanted::Presence => Ok(fitted.presence(&chosen, codes, is_rare)),
                _ => fitted.rotation(&chosen, codes),
            };
        }
        // The inverse of this is the number of classes, with rare classes counting less.
        let concentration: f64 = shares.iter().map(|share| share * share).sum();
        let fit_weight = params.fit_weight.or(|| {
            let explained: f64 = (0..count).map(|c| fit[c * count + c]).sum::<f64>() / self.rows;
            let unexplained = 1.0 - explained / (1.0 - concentration).max(1e-9);
            (60.0 * unexplained.clamp(0.0, 1.0) * concentration).min(0.6)
        });
        fit.iter_mut().for_each(|value| *value *= fit_weight / self.rows);
        let problem = Problem { bits, shares, repulsion: params.repulsion, fit };
        let mut moving: Codes = chosen.iter().map(|&class| codes[class].clone()).collect();
        let in_use: HashSet<u32> = in_use.iter().map(|(label, _)| *label).collect();
        let steady: Vec<bool> = moving.iter().map(|(label, _)| in_use.contains(label)).collect();
        problem.descend(&mut moving, &steady);
        chosen.into_iter().zip(moving).for_each(|(class, code)| codes[class] = code);
        Ok(TargetWeights::of_codes(codes, bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::brook::{Choice, LiftBy, choice};
    use crate::learners::random::{Purpose, random};
    use crate::{Batch, Features, HashFunction, HashParts, Labels};
    use rand::RngExt;

    /// Solves `A x = b` by plain elimination.
    fn eliminate(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
        let n = b.len();
        for i in 0..n {
            for j in i + 1..n {
                let factor = a[j][i] / a[i][i];
                let (upper, lower) = a.split_at_mut(j);
                lower[0].iter_mut().zip(&upper[i]).for_each(|(l, u)| *l -= factor * u);
                b[j] -= factor * b[i];
            }
        }
        for i in (0..n).rev() {
            let known: f64 = (i + 1..n).map(|j| a[i][j] * b[j]).sum();
            b[i] = (b[i] - known) / a[i][i];
        }
        b
    }

    #[test]
    fn the_function_is_the_regression_of_the_codes_on_the_centred_rows() {
        let mut rng = random(1, Purpose::Signs, 0);
        for lift in [LiftBy::None, LiftBy::Rbf] {
            let (rows, dim, bits) = (200, 4, 6);
            let values: Vec<f32> = (0..rows * dim).map(|_| rng.random_range(-1.0..1.0)).collect();
            let labels: Vec<u32> = (0..rows as u32).map(|row| row * row % 5).collect();
            let features = Features::new(&values, dim).unwrap();
            let (ridge, detail) = (Choice::Fixed(0.7), Choice::Fixed(0.0));
            let params = Params { lift, ridge, detail, ..Params::default() };
            let embedding = Embedding::from_first(&params, 9, false, Batch::unlabelled(features));
            let warm = Warm::new(embedding.clone(), None, None, 9).unwrap();
            let mut learned = Learned::new(&embedding, None).unwrap();
            let keys = Keys::default();
            learned.add(&values, Labels::single(&labels), warm.adding(&keys, 0.0));
            let (params, warm, learned, keys) = (&params, &warm, &learned, &keys);
            let solution = choice::solve(&Task { params, warm, learned, bits, seed: 1, keys });
            let solution = solution.unwrap().unwrap();
            let code = |label: u32| &solution.codes.iter().find(|(l, _)| *l == label).unwrap().1;

            // Rows and codes are centred on their means in doubles, and the regression is solved
            // directly.
            let parts = HashParts {
                lift: embedding.lift().clone(),
                offset: Some(solution.offset.clone()),
                ..HashParts::linear(dim, bits, solution.weights.clone())
            };
            let function = HashFunction::new(parts).unwrap();
            let width = embedding.width();
            let z = function.lifted(features).unwrap();
            let column_mean = |j: usize| {
                z.iter().skip(j).step_by(width).map(|&v| f64::from(v)).sum::<f64>() / rows as f64
            };
            let means: Vec<f64> = (0..width).map(column_mean).collect();
            let z: Vec<Vec<f64>> = z
                .chunks_exact(width)
                .map(|row| row.iter().zip(&means).map(|(v, mean)| f64::from(*v) - mean).collect())
                .collect();
            let projections = function.project(features).unwrap();
            for r in 0..bits {
                let target: Vec<f64> = labels.iter().map(|&l| f64::from(code(l)[r])).collect();
                let mean = target.iter().sum::<f64>() / rows as f64;
                let a = (0..width).map(|i| {
                    (0..width)
                        .map(|j| {
                            let sum: f64 = z.iter().map(|row| row[i] * row[j]).sum();
                            sum + if i == j { 0.7 } else { 0.0 }
                        })
                        .collect()
                });
                let b = (0..width)
                    .map(|i| z.iter().zip(&target).map(|(row, t)| row[i] * (t - mean)).sum());
                let weights = eliminate(a.collect(), b.collect());
                for (row, z) in z.iter().enumerate() {
                    let expected = mean + z.iter().zip(&weights).map(|(z, w)| z * w).sum::<f64>();
                    let found = f64::from(projections[row * bits + r]);
                    assert!((found - expected).abs() < 3e-3, "{lift:?}: {found} for {expected}");
                }
            }
        }
    }

    /// The search for codes must have a bounded size, however many classes exist.
    #[test]
    fn only_the_codes_of_the_most_frequent_classes_are_searched_for() {
        let mut rng = random(2, Purpose::Signs, 0);
        let (classes, dim, bits) = (MOST_CLASSES as u32 + 500, 4, 32);
        // Each class has two rows, except the last five hundred, which have one.
        let labels: Vec<u32> = (0..classes).chain(0..classes - 500).collect();
        let values: Vec<f32> =
            (0..labels.len() * dim).map(|_| rng.random_range(-1.0..1.0)).collect();
        let features = Features::new(&values, dim).unwrap();
        let detail = Choice::Fixed(0.0);
        let params = Params { lift: LiftBy::None, detail, ..Params::default() };
        let embedding = Embedding::from_first(&params, 0, false, Batch::unlabelled(features));
        let keys = Keys::default();
        let mut learned = Learned::new(&embedding, None).unwrap();
        let warm = Warm::new(embedding, None, None, 0).unwrap();
        for (rows, labels) in values.chunks(dim).zip(labels.chunks(1)) {
            learned.add(rows, Labels::single(labels), warm.adding(&keys, 0.0));
        }
        let (params, warm, learned, keys) = (&params, &warm, &learned, &keys);
        let solution = choice::solve(&Task { params, warm, learned, bits, seed: 1, keys });
        let found = solution.unwrap().unwrap().codes;
        let started =
            codes::start((0..classes).map(|class| (class, u64::from(class))), bits, 1, &[]);
        let moved: Vec<u32> = found
            .iter()
            .zip(&started)
            .filter(|(found, started)| found != started)
            .map(|(found, _)| found.0)
            .collect();
        assert!(moved.len() > MOST_CLASSES / 2, "{} codes moved", moved.len());
        assert!(moved.iter().all(|class| (*class as usize) < MOST_CLASSES));
    }
}
