//! What bits are made of is measured: candidates search a sample of the rows learned.
//!
//! A quarter of the sample are queries, all of it is searched. Each candidate is as it would be if it had not learned the
//! queries: their rows are subtracted from the sums of discriminant bits, and what a regression remembers of a row's own
//! target is subtracted from its projection, on average. The candidate with the highest nDCG of the first ten hits is chosen,
//! with the mean over labels, so that a rare label counts as much as a frequent one.

use std::collections::HashMap;

use super::params::Targets;
use super::presence::{TargetWeights, Wanted};
use super::sample::Sampled;
use super::solution::{self, Regression, Solution, Task};
use super::sums::Sums;
use crate::learner::{Candidate, MadeOf};
use crate::memory::NoRoom;
use crate::{Codes, Features, HashFunction, Labels, hamming};

/// Fewer queries decide nothing.
const QUERIES: usize = 50;

/// Number of hits that are judged.
const HITS: usize = 10;

/// How many times signs and rotation of a candidate are improved in turn.
const ITERATIONS: usize = 10;

/// Least difference for which another candidate is chosen instead of codes of classes.
const MARGIN: f64 = 0.02;

/// Returns the function of what was learned; `None` when nothing was.
pub(super) fn solve(task: &Task<'_>) -> Result<Option<Solution>, NoRoom> {
    if task.learned.any().rows() <= 0.0 {
        return Ok(None);
    }
    let targets = task.params.targets;
    let embedded = task.learned.embedded().filter(|_| targets != Targets::Discriminant);
    let classes = embedded.map(|sums| task.classes(sums));
    let regression = match embedded.zip(classes.as_ref()) {
        Some((sums, classes)) => Regression::new(*task, sums, classes)?,
        None => None,
    };
    match targets {
        Targets::Auto => choose(task, regression.as_ref()),
        Targets::Discriminant => task.discriminant(None, solution::ITERATIONS),
        Targets::Classes | Targets::Presence => {
            let wanted = (targets == Targets::Presence).then_some(Wanted::Presence);
            let solved = regression.map(|regression| regression.solve(wanted)).transpose()?;
            Ok(solved.flatten().map(|(solution, _)| solution))
        }
    }
}

/// Returns the function of the candidate that is best on the sample.
fn choose(
    task: &Task<'_>,
    regression: Option<&Regression<'_>>,
) -> Result<Option<Solution>, NoRoom> {
    let of_classes = regression.map(|regression| regression.solve(None)).transpose()?.flatten();
    let gave_up_lifted = regression.is_none() && task.warm.embedding.is_lifted();
    let Some(sample) = Judged::of(task) else {
        let solution = match of_classes {
            Some((solution, _)) => Some(solution),
            None => complete(task, MadeOf::Discriminant)?,
        };
        return Ok(solution.map(|solution| Solution { gave_up_lifted, ..solution }));
    };
    let mut candidates = Vec::new();
    let mut solutions = Vec::new();
    if let Some(regression) = regression {
        let leverage = regression.leverage()?;
        let can_rank = regression.has_rare_labels() && 2 * regression.classes().len() <= task.bits;
        let rare = can_rank.then(|| regression.solve(Some(Wanted::Presence))).transpose()?;
        for (solution, targets) in of_classes.into_iter().chain(rare.flatten()) {
            let score = sample.score(task, &solution, Some((&targets, leverage)));
            candidates.push(Candidate { made_of: solution.made_of, score });
            solutions.push(solution);
        }
    }
    let is_lifted = task.warm.embedding.is_lifted();
    if let Some(sums) = task.learned.plain(is_lifted)
        && let Some(rest) = sample.subtracted_from(task, sums)?
        && let Some(solution) = task.discriminant(Some(&rest), ITERATIONS)?
    {
        let score = sample.score(task, &solution, None);
        candidates.push(Candidate { made_of: MadeOf::Discriminant, score });
    }
    if let Some(solution) = task.vectors(ITERATIONS)? {
        let score = sample.score(task, &solution, None);
        candidates.push(Candidate { made_of: MadeOf::Vectors, score });
    }
    let mut best: Option<Candidate> = None;
    for &candidate in &candidates {
        if best.is_none_or(|best| candidate.score > best.score + MARGIN) {
            best = Some(candidate);
        }
    }
    let Some(best) = best else { return Ok(None) };
    let solved = solutions.into_iter().find(|solution| solution.made_of == best.made_of);
    let solution = match solved {
        Some(solution) => Some(solution),
        None => complete(task, best.made_of)?,
    };
    Ok(solution.map(|solution| Solution { candidates, gave_up_lifted, ..solution }))
}

/// Returns a linear function of all that was learned; without labels where these do not differ.
fn complete(task: &Task<'_>, made_of: MadeOf) -> Result<Option<Solution>, NoRoom> {
    if made_of == MadeOf::Discriminant
        && let Some(solution) = task.discriminant(None, solution::ITERATIONS)?
    {
        return Ok(Some(solution));
    }
    task.vectors(solution::ITERATIONS)
}

/// A sample, and the rows that are searched for.
struct Judged {
    rows: Sampled,
    dim: usize,
    queries: Vec<usize>,
}

impl Judged {
    /// `None` where there are too few queries that share a label with another row.
    fn of(task: &Task<'_>) -> Option<Judged> {
        let plain = task.warm.plain.as_ref()?;
        let rows = task.learned.sample.rows();
        let labels = rows.labels.view();
        let has_partner = |&row: &usize| {
            (0..labels.len()).any(|other| other != row && shared(labels, row, other) > 0)
        };
        let queries: Vec<usize> =
            (0..labels.len()).filter(|&row| rows.is_query[row]).filter(has_partner).collect();
        let dim = plain.embedding.dim();
        (queries.len() >= QUERIES).then_some(Judged { rows, dim, queries })
    }

    /// Returns sums without the queries. `None` if they were never part of them, as with a half-life.
    fn subtracted_from(&self, task: &Task<'_>, sums: &Sums) -> Result<Option<Sums>, NoRoom> {
        let Some(plain) = &task.warm.plain else { return Ok(None) };
        let mut gone = sums.empty()?;
        let row = |&row: &usize| &self.rows.values[row * self.dim..(row + 1) * self.dim];
        let values: Vec<f32> = self.queries.iter().flat_map(row).copied().collect();
        let labels = self.rows.labels.select(&self.queries);
        gone.add(&plain.embedding.whole_numbers(&values), labels.view());
        Ok(sums.try_clone()?.without(&gone, &|label| label.to_string()).ok())
    }

    /// Returns how well a function finds rows that share a label. Projections of queries are as if their rows had not been
    /// learned, given the targets of a regression and how much it remembers of them.
    fn score(
        &self,
        task: &Task<'_>,
        solution: &Solution,
        remembered: Option<(&TargetWeights, f64)>,
    ) -> f64 {
        let (bits, labels) = (task.bits, self.rows.labels.view());
        let parts = solution.parts(&task.warm.embedding, (self.dim, bits));
        let rows = Features::new(&self.rows.values, self.dim);
        let projected = HashFunction::new(parts).and_then(|function| function.project(rows?));
        let Ok(mut projections) = projected else { return 0.0 };
        let stored = signs(&projections, bits);
        if let Some((targets, leverage)) = remembered {
            let places: HashMap<u32, usize> =
                solution.codes.iter().enumerate().map(|(at, (label, _))| (*label, at)).collect();
            let factor = leverage / (1.0 - leverage);
            for &query in &self.queries {
                let own = labels.row(query).iter().filter_map(|label| places.get(label));
                let mut target: Vec<f64> = targets.thresholds.iter().map(|at| -at).collect();
                for &label in own {
                    let weights = targets.weights.chunks_exact(solution.label_bits).nth(label);
                    let sums = target.iter_mut().zip(weights.into_iter().flatten());
                    sums.for_each(|(sum, weight)| *sum += weight);
                }
                let row = &mut projections[query * bits..(query + 1) * bits];
                for (value, target) in row.iter_mut().zip(target) {
                    *value += (factor * (f64::from(*value) - target)) as f32;
                }
            }
        }
        let searched = signs(&projections, bits);
        let groups = self.rows.groups.iter().max().map_or(0, |most| most + 1);
        let mut means = vec![(0.0, 0.0); groups];
        for &query in &self.queries {
            let others = || (0..labels.len()).filter(|&other| other != query);
            let distance = |other| (hamming(searched.code(query), stored.code(other)), other);
            let mut order: Vec<(u32, usize)> = others().map(distance).collect();
            order.sort_unstable();
            let gains = order.iter().map(|&(_, other)| shared(labels, query, other));
            let mut ideal: Vec<usize> = gains.clone().collect();
            ideal.sort_unstable_by(|a, b| b.cmp(a));
            let (sum, count) = &mut means[self.rows.groups[query]];
            *sum += discounted(gains) / discounted(ideal.into_iter());
            *count += 1.0;
        }
        let means: Vec<f64> = means.iter().filter(|of| of.1 > 0.0).map(|of| of.0 / of.1).collect();
        means.iter().sum::<f64>() / means.len() as f64
    }
}

/// Codes whose bits are set where projections are above 0.
fn signs(projections: &[f32], bits: usize) -> Codes {
    let mut codes = Codes::zeros(bits, projections.len() / bits);
    let stride = codes.words_per_code();
    let rows = codes.words_mut().chunks_exact_mut(stride).zip(projections.chunks_exact(bits));
    for (code, row) in rows {
        for (word, values) in code.iter_mut().zip(row.chunks(64)) {
            let set =
                |word: u64, (bit, &value): (usize, &f32)| word | u64::from(value > 0.0) << bit;
            *word = values.iter().enumerate().fold(0, set);
        }
    }
    codes
}

/// The sum of the gains of the first hits, of which later ones count less.
fn discounted(gains: impl Iterator<Item = usize>) -> f64 {
    gains.take(HITS).enumerate().map(|(rank, gain)| gain as f64 / (rank as f64 + 2.0).log2()).sum()
}

/// Number of labels that two rows share.
fn shared(labels: Labels<'_>, one: usize, other: usize) -> usize {
    let others = labels.row(other);
    labels.row(one).iter().filter(|label| others.contains(label)).count()
}
