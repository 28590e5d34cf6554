//! Selection of the targets of the bits: each candidate searches a sample of the learned rows.
//!
//! A quarter of the sample are queries; the whole sample is searched. Each candidate is evaluated
//! as if it had not learned the queries. For discriminant bits, the rows of the queries are
//! subtracted from the sums. For a regression, a projection remembers a share of its row's own
//! target; the average of this share is subtracted. The candidate with the highest nDCG of the
//! first ten hits is chosen. The nDCG is averaged over labels, so that a rare label counts as much
//! as a frequent one.
//!
//! If there are many labels, only a few of them are sampled, and rare ones with a larger share of
//! their rows. Rows of labels other than the query's are therefore weighted (with weights above or
//! below 1) so that hits of other labels are as likely in the sample as among all rows. If several
//! rows are at the same distance, each of their ranks has the mean of their gains.

use std::collections::HashMap;

use super::params::Targets;
use super::presence::{PRESENCE_FROM, ROTATION_FROM, TargetWeights, Wanted};
use super::sample::Sampled;
use super::solution::{self, Regression, Solution, Task};
use super::sums::{Class, Sums};
use crate::learner::{Candidate, MadeOf, MeasuredTargets};
use crate::memory::NoRoom;
use crate::{Codes, Features, HashFunction, Labels, hamming};

/// Minimum number of queries for a decision.
const QUERIES: usize = 50;

/// Number of hits that are evaluated.
const HITS: usize = 10;

/// Minimum number of queries for which a label is evaluated separately.
const QUERIES_OF_A_LABEL: f64 = 5.0;

/// Score that queries may reach by chance, above the share of their label.
const BY_CHANCE: f64 = 0.02;

/// Number of alternating updates of signs and rotation for a candidate.
const ITERATIONS: usize = 10;

/// Number of warm-up rows whose principal directions the candidate without labels uses.
const FIRST_ROWS: usize = 1000;

/// A label is rare if it has less than this share of the mean number of rows.
const RARE: f64 = 0.25;

/// Minimum lead in score for a later candidate to be chosen instead of an earlier one.
const MARGIN: f64 = 0.02;

/// Returns the function for the learned rows, or `None` if nothing was learned.
pub(super) fn solve(task: &Task<'_>) -> Result<Option<Solution>, NoRoom> {
    if task.learned.any().rows() <= 0.0 {
        return Ok(None);
    }
    let targets = task.params.targets;
    let embedded = task.learned.embedded().filter(|_| targets != Targets::Discriminant);
    let classes = embedded.map(|sums| task.classes(sums));
    let regression = match embedded.zip(classes.as_ref()) {
        Some((sums, classes)) => Regression::new(*task, (&task.warm.embedding, sums), classes)?,
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

/// Returns the function of the candidate with the highest score on the sample.
fn choose(
    task: &Task<'_>,
    regression: Option<&Regression<'_>>,
) -> Result<Option<Solution>, NoRoom> {
    let of_classes = regression.map(|regression| regression.solve(None)).transpose()?.flatten();
    let gave_up_lifted = task.learned.embedded().is_none();
    let Some(sample) = Judged::of(task) else {
        let solution = match of_classes {
            Some((solution, _)) => Some(solution),
            None => complete(task, MadeOf::Discriminant)?,
        };
        return Ok(solution.map(|mut solution| {
            solution.targets.gave_up_lifted = gave_up_lifted;
            solution
        }));
    };
    let is_lifted = task.warm.embedding.is_lifted();
    let plain = task.learned.plain(is_lifted);
    let plain_classes = plain.filter(|_| is_lifted).map(|sums| task.classes(sums));
    let linear = match (&task.warm.plain, plain, &plain_classes) {
        (Some(warm), Some(sums), Some(classes)) if can_rank(task, sums, classes) => {
            Regression::new(*task, (&warm.embedding, sums), classes)?
        }
        _ => None,
    };
    let (mut scores, mut solutions) = (Vec::new(), Vec::new());
    let mut add = |regression: &Regression<'_>, solved| -> Result<(), NoRoom> {
        let Some((solution, targets)) = solved else { return Ok(()) };
        let score = sample.score(task, &solution, Some((&targets, regression.leverage()?)));
        scores.push((solution.targets.made_of, score));
        solutions.push(solution);
        Ok(())
    };
    if let Some(regression) = regression {
        add(regression, of_classes)?;
    }
    if let Some(linear) = linear {
        add(&linear, linear.solve(Some(Wanted::Presence))?)?;
    }
    if let Some(regression) = regression
        && can_rank(task, regression.sums(), regression.classes())
    {
        add(regression, regression.solve(Some(Wanted::Presence))?)?;
    }
    // With several labels per row, mixtures of the labels blur the most specific of them.
    let prefers_discriminant = task.learned.any().labels_per_row() >= ROTATION_FROM;
    // If a candidate is within the margin of the perfect score, no later candidate can beat it.
    let is_open = |scores: &[(MadeOf, Score)]| {
        prefers_discriminant || scores.iter().all(|(_, score)| score.mean() + MARGIN < 1.0)
    };
    if is_open(&scores)
        && let Some(sums) = plain
        && let Some(rest) = sample.subtracted_from(task, sums)?
        && let Some(solution) = task.discriminant(Some(&rest), ITERATIONS)?
    {
        let score = sample.score(task, &solution, None);
        scores.push((MadeOf::Discriminant, score));
    }
    if is_open(&scores)
        && let Some(solution) = task.vectors(FIRST_ROWS, ITERATIONS)?
    {
        let score = sample.score(task, &solution, None);
        scores.push((MadeOf::Vectors, score));
    }
    if prefers_discriminant {
        scores.sort_by_key(|(made_of, _)| *made_of != MadeOf::Discriminant);
    }
    let mut best: Option<&(MadeOf, Score)> = None;
    for candidate in &scores {
        if best.is_none_or(|best| candidate.1.mean() > best.1.mean() + MARGIN) {
            best = Some(candidate);
        }
    }
    let Some((made_of, score)) = best else { return Ok(None) };
    let solved = solutions.into_iter().find(|solution| solution.targets.made_of == *made_of);
    let solution = match solved {
        Some(solution) => Some(solution),
        None => complete(task, *made_of)?,
    };
    let candidate = |(made_of, score): &(MadeOf, Score)| (*made_of, score.mean());
    let candidates = scores.iter().map(candidate);
    let candidates = candidates.map(|(made_of, score)| Candidate { made_of, score }).collect();
    let not_distinguished = sample.no_better_than_chance(score);
    Ok(solution.map(|mut solution| {
        let made_of = solution.targets.made_of;
        solution.targets =
            MeasuredTargets { made_of, candidates, not_distinguished, gave_up_lifted };
        solution
    }))
}

/// Returns whether labels may have bits that rank their rows. This requires that nearly all rows
/// have one label, some labels are much rarer than the mean, and each label can have two bits.
fn can_rank(task: &Task<'_>, sums: &Sums, classes: &[Class<'_>]) -> bool {
    let least = classes.iter().map(|class| class.rows).fold(f64::INFINITY, f64::min);
    let mean = classes.iter().map(|class| class.rows).sum::<f64>() / classes.len() as f64;
    let are_rare = sums.labels_per_row() < PRESENCE_FROM && least < RARE * mean;
    are_rare && 2 * classes.len() <= task.bits
}

/// Returns a linear function of all learned rows, which ignores labels if they do not differ.
fn complete(task: &Task<'_>, made_of: MadeOf) -> Result<Option<Solution>, NoRoom> {
    if made_of == MadeOf::Discriminant
        && let Some(solution) = task.discriminant(None, solution::ITERATIONS)?
    {
        return Ok(Some(solution));
    }
    task.vectors(usize::MAX, solution::ITERATIONS)
}

/// A sample, and which of its rows are queries.
struct Judged {
    rows: Sampled,
    dim: usize,
    queries: Vec<usize>,
    /// For each sampled label, the weight of a row that was drawn for another label.
    others: Vec<f64>,
}

impl Judged {
    /// Returns `None` if too few queries share a label with another row.
    fn of(task: &Task<'_>) -> Option<Judged> {
        let plain = task.warm.plain.as_ref()?;
        let rows = task.learned.sample.rows(task.keys);
        let labels = rows.labels.view();
        let has_partner = |&row: &usize| {
            (0..labels.len()).any(|other| other != row && shared(labels, row, other) > 0)
        };
        let queries: Vec<usize> =
            (0..labels.len()).filter(|&row| rows.is_query[row]).filter(has_partner).collect();
        let dim = plain.embedding.dim();
        let others = others(task, &rows);
        (queries.len() >= QUERIES).then_some(Judged { rows, dim, queries, others })
    }

    /// Returns the sums without the queries. Returns `None` if the queries were never part of the
    /// sums, as is the case with a half-life.
    fn subtracted_from(&self, task: &Task<'_>, sums: &Sums) -> Result<Option<Sums>, NoRoom> {
        let Some(plain) = &task.warm.plain else { return Ok(None) };
        let mut gone = sums.empty()?;
        let row = |&row: &usize| &self.rows.values[row * self.dim..(row + 1) * self.dim];
        let values: Vec<f32> = self.queries.iter().flat_map(row).copied().collect();
        let labels = self.rows.labels.select(&self.queries);
        gone.add(&plain.embedding.whole_numbers(&values), labels.view());
        Ok(sums.try_clone()?.without(&gone, &|label| label.to_string()).ok())
    }

    /// Returns how well a function finds rows that share a label. For a regression, `remembered`
    /// holds its targets and its leverage; the projections of queries are then corrected as if
    /// their rows had not been learned.
    fn score(
        &self,
        task: &Task<'_>,
        solution: &Solution,
        remembered: Option<(&TargetWeights, f64)>,
    ) -> Score {
        let (bits, labels) = (task.bits, self.rows.labels.view());
        let parts = solution.parts(&task.warm.embedding, (self.dim, bits));
        let rows = Features::new(&self.rows.values, self.dim);
        let projected = HashFunction::new(parts).and_then(|function| function.project(rows?));
        let mut means = vec![(0.0, 0.0); self.rows.drawn.len()];
        let Ok(mut projections) = projected else { return Score(means) };
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
        for &query in &self.queries {
            let group = self.rows.groups[query];
            let mut at_distance = vec![Tied::default(); bits + 1];
            let mut with_gain: Vec<Tied> = Vec::new();
            for other in (0..labels.len()).filter(|&other| other != query) {
                let is_own = self.rows.groups[other] == group;
                let count = if is_own { 1.0 } else { self.others[group] };
                let gain = shared(labels, query, other);
                with_gain.resize(with_gain.len().max(gain + 1), Tied::default());
                let distance = hamming(searched.code(query), stored.code(other));
                at_distance[distance as usize].add(count, gain);
                with_gain[gain].add(count, gain);
            }
            let (sum, count) = &mut means[group];
            *sum += discounted(&at_distance) / discounted(with_gain.iter().rev());
            *count += 1.0;
        }
        Score(means)
    }

    /// Returns the labels whose queries score hardly better than the share of these labels among
    /// all rows.
    fn no_better_than_chance(&self, score: &Score) -> Vec<u32> {
        let all = self.rows.groups.len() as f64;
        let mut own = vec![0.0; self.rows.drawn.len()];
        self.rows.groups.iter().for_each(|&group| own[group] += 1.0);
        let is_lost = |&group: &usize| {
            let (sum, queries) = score.0[group];
            let chance = own[group] / (own[group] + self.others[group] * (all - own[group]));
            queries >= QUERIES_OF_A_LABEL && sum / queries < chance + BY_CHANCE
        };
        (0..own.len()).filter(is_lost).map(|group| self.rows.drawn[group]).collect()
    }
}

/// For each sampled label, the sum of the scores of its queries and the number of its queries.
struct Score(Vec<(f64, f64)>);

impl Score {
    fn mean(&self) -> f64 {
        let means = self.0.iter().filter(|(_, queries)| *queries > 0.0);
        let means: Vec<f64> = means.map(|(sum, queries)| sum / queries).collect();
        means.iter().sum::<f64>() / means.len().max(1) as f64
    }
}

/// Returns codes whose bits are set where projections are above 0.
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

/// Rows at the same distance, with the sum of their gains.
#[derive(Clone, Copy, Default)]
struct Tied {
    count: f64,
    gains: f64,
}

impl Tied {
    fn add(&mut self, count: f64, gain: usize) {
        self.count += count;
        self.gains += count * gain as f64;
    }
}

/// Returns the discounted cumulative gain of the first [`HITS`] hits.
fn discounted<'a>(hits: impl IntoIterator<Item = &'a Tied>) -> f64 {
    // The sum of the discounts up to a rank, interpolated linearly between integers.
    let discount = |rank: f64| 1.0 / (rank + 2.0).log2();
    let until = |place: f64| {
        let place = place.min(HITS as f64);
        let whole = (0..place as usize).map(|rank| discount(rank as f64)).sum::<f64>();
        whole + place.fract() * discount(place.floor())
    };
    let (mut place, mut sum) = (0.0, 0.0);
    for tied in hits.into_iter().filter(|tied| tied.count > 0.0) {
        if place >= HITS as f64 {
            break;
        }
        sum += tied.gains / tied.count * (until(place + tied.count) - until(place));
        place += tied.count;
    }
    sum
}

/// Returns, for each sampled label, the number of rows that each sampled row of another label
/// represents, if each row of the label itself represents one.
fn others(task: &Task<'_>, rows: &Sampled) -> Vec<f64> {
    let is_lifted = task.warm.embedding.is_lifted();
    let counts: HashMap<u32, f64> = task
        .learned
        .plain(is_lifted)
        .map(|sums| sums.classes().iter().map(|class| (class.label, class.rows)).collect())
        .unwrap_or_default();
    let sampled = rows.groups.len() as f64;
    let labels_per_row =
        rows.labels.view().iter().map(<[u32]>::len).sum::<usize>() as f64 / sampled;
    let all = counts.values().sum::<f64>() / labels_per_row;
    let mut own = vec![0.0; rows.drawn.len()];
    rows.groups.iter().for_each(|&group| own[group] += 1.0);
    let ratio = |(label, own): (&u32, f64)| {
        let of_label = counts.get(label).map_or(own, |&count| count.max(own));
        let others = (all - of_label).max(sampled - own) / (sampled - own).max(1.0);
        others * own / of_label
    };
    rows.drawn.iter().zip(own).map(ratio).collect()
}

/// Returns the number of labels that two rows share.
fn shared(labels: Labels<'_>, one: usize, other: usize) -> usize {
    let others = labels.row(other);
    labels.row(one).iter().filter(|label| others.contains(label)).count()
}
