//! **brook**: this library's own method. It seeks what [`bsodh`](super::bsodh) seeks, over the whole
//! stream instead of its newest batch, and keeps only sums.
//!
//! All items of a class share one target code. With `u_c` that of class `c`, `n_c` its items and
//! `z` a vector as it is learned (lifted, see below), the weights that fit the codes of everything
//! seen best are known in closed form:
//!
//! ```text
//! W = (A + ridge I)^-1 S U      A = sum z z^T      S = [s_1 .. s_C], s_c = sum of z over class c
//! ```
//!
//! with `z` and the codes centred on their means, which gives every bit an offset too. So `W` leaves
//! the problem. What is left is small and discrete, in the codes of the classes alone:
//!
//! ```text
//! J(U) = 2k/r^2 sum over c != c' of p_c p_c' exp(r u_c . u_c' / k)  -  fit_weight / n tr(U^T M U)
//!
//! with M = S^T (A + ridge I)^-1 S,  p_c = n_c / n  and  r = repulsion
//! ```
//!
//! The first sum drives codes apart, near ones most; to second order it is the paper's balanced
//! similarity `1/k (u_c . u_c' + k eta)^2` with `eta = 1/r`. The second prefers bits that the vectors
//! can tell. Single bits are flipped while `J` falls; no two codes become equal.
//!
//! # What is kept, and what it costs
//!
//! `A`, `S` and the counts: O(width^2 + classes x width), where `width` is the number of anchors, or
//! of dimensions without a lift. A row costs one lift and `width^2 / 2` multiplications of 16-bit
//! numbers, whatever the size of the batch: rows are gathered until there are 2048. A function costs
//! `width^3 / 3 + classes x width x bits` when it is asked for, and codes of up to 1024 classes at
//! most 64 passes of O(classes^2 bits) each. Classes beyond the 1024 most frequent keep the random codes they start
//! from: among so many, random codes lie as far apart as any.
//!
//! # Exact sums
//!
//! A vector is rounded to whole multiples of a fixed step before it is added (at most 2047 of
//! them). Sums of whole numbers are exact: see [`StartFrom::Seeded`], [`Model::merge`] and
//! [`Model::unlearn`]. Only `half_life` gives that up.
//!
//! # Several labels
//!
//! A row with several labels belongs to each of them in equal parts: its target is the mean of their
//! codes, so that rows are as alike as their labels overlap, and what is kept grows with the labels,
//! not with their combinations. Rows without labels are passed over.
//!
//! [`Model::merge`]: crate::Model::merge
//! [`Model::unlearn`]: crate::Model::unlearn

mod codes;
mod embedding;
mod params;
mod solution;
mod sums;

use std::borrow::Cow;
use std::sync::OnceLock;

use self::embedding::Embedding;
pub use self::params::{Choice, LiftBy, Params, StartFrom};
use self::solution::Solution;
use self::sums::{BLOCK, Sums};
use super::{BuiltIn, Loaded, check_not_negative, check_positive, linear};
use crate::dataset::{LabelList, LabelNames};
use crate::tensors::Tensors;
use crate::{Batch, Error, Features, HashFunction, HashParts, Labels, Learner, Result, Step};

/// The widest sum of products that is kept: 2 GB, and three times that again while it is solved.
const MAX_WIDTH: usize = 16_384;

/// brook at work.
#[derive(Clone, Debug)]
pub(crate) struct Brook {
    params: Params,
    start: super::Start,
    keys: Keys,
    /// What there is once the warm-up is over.
    warm: Option<Box<Warm>>,
    /// The function of what was learned, once it was asked for.
    solved: OnceLock<Solution>,
}

#[derive(Clone, Debug)]
struct Warm {
    embedding: Embedding,
    sums: Sums,
    pending: Pending,
    /// How many rows were learned in all, those unlearned again included.
    learned: u64,
    /// With `start = steady`: the codes in use, by class.
    in_use: Vec<(u32, Vec<i8>)>,
}

/// What labels are called, as numbers. Codes start from these, so that they hang neither on the
/// numbers of labels that have names nor on the order in which the names came up.
#[derive(Clone, Debug, Default)]
struct Keys(Vec<u64>);

impl Keys {
    fn of(&self, label: u32) -> u64 {
        let named = usize::try_from(label).ok().and_then(|label| self.0.get(label));
        named.copied().unwrap_or(u64::from(label))
    }

    /// Whether there was something new.
    fn update(&mut self, names: &LabelNames) -> bool {
        let before = self.0.len();
        self.0.truncate(names.len());
        // FNV-1a: the same on every machine and for ever.
        let hash = |name: &str| {
            name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            })
        };
        self.0.extend(names.iter().skip(self.0.len()).map(hash));
        self.0.len() != before
    }
}

/// Fails when a parameter is larger than makes sense.
fn check_most(name: &'static str, value: f64, most: f64) -> Result<()> {
    match value <= most {
        true => Ok(()),
        false => Err(Error::parameter(name, format!("at most {most}"), value)),
    }
}

/// Rows as sums, apart from what was learned before.
fn sums_of(embedding: &Embedding, features: Features<'_>, labels: Labels<'_>) -> Sums {
    let mut sums = Sums::new(embedding.width());
    for start in (0..labels.len()).step_by(BLOCK) {
        let rows = start..labels.len().min(start + BLOCK);
        let numbers = embedding.whole_numbers(features.slice(rows.clone()).values());
        sums.add(&numbers, labels.slice(rows));
    }
    sums
}

/// Rows that wait until there are enough of them.
#[derive(Clone, Debug, Default)]
struct Pending {
    rows: Vec<f32>,
    labels: LabelList,
}

impl Warm {
    fn new(embedding: Embedding) -> Self {
        let sums = Sums::new(embedding.width());
        let pending = Pending { rows: Vec::new(), labels: LabelList::new_sets() };
        Warm { embedding, sums, pending, learned: 0, in_use: Vec::new() }
    }

    /// The sums, of what is pending too.
    fn complete(&self, half_life: f64) -> Cow<'_, Sums> {
        let mut sums = Cow::Borrowed(&self.sums);
        if !self.pending.labels.is_empty() {
            self.pending.add_to(sums.to_mut(), &self.embedding, half_life);
        }
        sums
    }

    fn flush(&mut self, half_life: f64) {
        let pending = std::mem::take(&mut self.pending);
        pending.add_to(&mut self.sums, &self.embedding, half_life);
        self.pending.labels = LabelList::new_sets();
    }
}

impl Pending {
    fn add_to(&self, sums: &mut Sums, embedding: &Embedding, half_life: f64) {
        if self.labels.is_empty() {
            return;
        }
        if half_life > 0.0 {
            sums.scale((-(self.labels.len() as f64) / half_life).exp2());
        }
        sums.add(&embedding.whole_numbers(&self.rows), self.labels.view());
    }
}

impl Brook {
    fn solve(&self, warm: &Warm) -> Option<Solution> {
        let sums = warm.complete(self.params.half_life);
        let super::Start { bits, seed, .. } = self.start;
        let (params, keys) = (&self.params, &self.keys);
        Solution::find(params, &warm.embedding, &sums, bits, seed, keys, &warm.in_use)
    }

    fn solved(&self) -> Option<&Solution> {
        let warm = self.warm.as_ref()?;
        if let Some(solution) = self.solved.get() {
            return Some(solution);
        }
        let solution = self.solve(warm)?;
        Some(self.solved.get_or_init(|| solution))
    }

    /// How many rows are gathered before they are added up. The rows of a block count alike, which
    /// must not show beside the half-life.
    fn block(&self) -> usize {
        // A quarter of a gigabyte at most.
        let block = ((1 << 26) / self.start.dim).clamp(1, BLOCK);
        match self.params.half_life {
            0.0 => block,
            half_life => ((half_life / 16.0) as usize).clamp(1, block),
        }
    }

    /// Whether the codes in use are due for renewal between two numbers of rows.
    fn renewal_due(&self, before: u64, after: u64) -> bool {
        if self.params.start == StartFrom::Seeded {
            return false;
        }
        match self.params.renew_every {
            0 => before / 512 != after / 512 && (after / 512).is_power_of_two(),
            every => before / every != after / every,
        }
    }

    fn warm_mut(&mut self) -> Result<&mut Warm> {
        self.warm.as_deref_mut().ok_or(Error::NotWarm)
    }

    /// With all rows added up, and none pending.
    fn flushed(&mut self) -> Result<&Warm> {
        let half_life = self.params.half_life;
        let warm = self.warm_mut()?;
        warm.flush(half_life);
        Ok(warm)
    }

    fn check_takes_back(&self, what: &'static str) -> Result<()> {
        match self.params.half_life > 0.0 {
            true => Err(Error::NotLearned {
                what,
                problem: "with a half_life rows count less as they age, and how old these are is \
                          not known"
                    .to_owned(),
            }),
            false => Ok(()),
        }
    }
}

impl Learner for Brook {
    fn learn(&mut self, batch: Batch<'_>) -> Result<Step> {
        batch.features().expect_dim(self.start.dim)?;
        let labels = batch.require_labels(Brook::NAME)?;
        let (half_life, block) = (self.params.half_life, self.block());
        self.warm_mut()?;
        let mut changed = false;
        for row in 0..labels.len() {
            if labels.row(row).is_empty() {
                continue;
            }
            changed = true;
            let Some(warm) = &mut self.warm else { break };
            warm.pending.rows.extend_from_slice(batch.features().row(row));
            warm.pending.labels.push_set(labels.row(row));
            let before = warm.learned;
            warm.learned = before.saturating_add(1);
            let learned = warm.learned;
            if warm.pending.labels.len() == block {
                warm.flush(half_life);
            }
            if self.renewal_due(before, learned) {
                self.renew();
            }
        }
        if changed {
            self.solved = OnceLock::new();
        }
        Ok(Step { function_changed: changed, ..Step::default() })
    }

    fn hash_function(&self) -> HashFunction {
        let (dim, bits) = (self.start.dim, self.start.bits);
        let (Some(warm), Some(solution)) = (&self.warm, self.solved()) else {
            return linear(dim, bits, &self.start.projection());
        };
        let Solution { weights, offset, .. } = solution.clone();
        let parts = HashParts {
            lift: warm.embedding.lift(),
            offset: Some(offset),
            ..HashParts::linear(dim, bits, weights)
        };
        HashFunction::new(parts).expect("a solution is finite, and of the embedding's width")
    }
}

impl Brook {
    /// Takes the codes that are best now into use.
    fn renew(&mut self) {
        let solution = self.warm.as_ref().and_then(|warm| self.solve(warm));
        if let (Some(warm), Some(solution)) = (&mut self.warm, solution) {
            warm.in_use = solution.codes;
        }
    }
}

impl BuiltIn for Brook {
    type Params = Params;
    const NAME: &'static str = "brook";
    const SUPERVISED: bool = true;
    const WARMS_UP: bool = true;

    fn warmup(params: &Params) -> usize {
        match params.lift {
            LiftBy::None => super::WARMUP,
            LiftBy::Rbf => params.anchors.max(1),
        }
    }

    fn check(params: &Params, start: &super::Start) -> Result<()> {
        let Params { gamma, ridge, fit_weight, repulsion, .. } = params;
        gamma.check(|value| check_positive("gamma", value))?;
        ridge.check(|value| check_positive("ridge", value))?;
        fit_weight.check(|value| check_not_negative("fit_weight", value))?;
        fit_weight.check(|value| check_most("fit_weight", value, 1e6))?;
        check_positive("repulsion", *repulsion)?;
        check_most("repulsion", *repulsion, 100.0)?;
        check_not_negative("half_life", params.half_life)?;
        if start.init.is_some() {
            let expected = "left out: brook does not start from a projection, it solves for one";
            return Err(Error::parameter("init", expected, "a projection"));
        }
        match params.lift {
            LiftBy::Rbf if !(1..=MAX_WIDTH).contains(&params.anchors) => {
                let expected = format!("from 1 to {MAX_WIDTH}");
                Err(Error::parameter("anchors", expected, params.anchors))
            }
            LiftBy::None if start.dim > MAX_WIDTH => {
                let expected = format!(
                    "at most {MAX_WIDTH} for brook with lift = none, which sums up all pairs of \
                     dimensions (lift = rbf has no such bound)"
                );
                Err(Error::parameter("dim", expected, start.dim))
            }
            _ => Ok(()),
        }
    }

    fn start(params: &Params, start: super::Start) -> Self {
        let keys = Keys::default();
        Brook { params: params.clone(), start, keys, warm: None, solved: OnceLock::new() }
    }

    fn warm_up(&mut self, first: Batch<'_>) -> Result<()> {
        let embedding = Embedding::from_first(&self.params, self.start.unit, first.features());
        self.warm = Some(Box::new(Warm::new(embedding)));
        Ok(())
    }

    fn merge(&mut self, other: &Self, translate: &dyn Fn(u32) -> u32) -> Result<()> {
        let half_life = other.params.half_life;
        let different = |what: &str| {
            Err(Error::NotMergeable {
                problem: format!(
                    "their {what} differ; models that are to be merged must come from one that \
                     has warmed up (as siblings of it)"
                ),
            })
        };
        match (&mut self.warm, &other.warm) {
            (Some(warm), Some(others)) if warm.embedding == others.embedding => {
                warm.flush(half_life);
                warm.sums.merge(&others.complete(half_life), translate);
                warm.learned = warm.learned.saturating_add(others.learned);
                for (label, code) in &others.in_use {
                    let label = translate(*label);
                    if warm.in_use.iter().all(|(known, _)| *known != label) {
                        warm.in_use.push((label, code.clone()));
                    }
                }
            }
            (Some(_), Some(_)) => return different("anchors or steps"),
            _ => return Err(Error::NotWarm),
        }
        self.solved = OnceLock::new();
        Ok(())
    }

    fn unlearn(&mut self, batch: Batch<'_>, name: &dyn Fn(u32) -> String) -> Result<()> {
        self.check_takes_back("unlearned")?;
        let labels = batch.require_labels(Brook::NAME)?;
        let params = self.params.clone();
        let warm = self.flushed()?;
        let gone = sums_of(&warm.embedding, batch.features(), labels);
        let wrong = |problem: String| Error::NotLearned { what: "unlearned", problem };
        let rest = warm.sums.without(&gone, name).map_err(wrong)?;
        if rest.rows() > 0.0 && !solution::is_sound(&params, &warm.embedding, &rest) {
            return Err(wrong("what would be left is no sum of any rows".to_owned()));
        }
        self.warm_mut()?.sums = rest;
        self.solved = OnceLock::new();
        Ok(())
    }

    fn relabel(
        &mut self,
        features: Features<'_>,
        (old, new): (Labels<'_>, Labels<'_>),
        name: &dyn Fn(u32) -> String,
    ) -> Result<()> {
        self.check_takes_back("relabelled")?;
        let emptied = |labels: Labels<'_>, row: usize| labels.row(row).is_empty();
        if (0..old.len()).any(|row| emptied(old, row) != emptied(new, row)) {
            return Err(Error::NotLearned {
                what: "relabelled",
                problem: "rows without labels were never learned; learn or unlearn them".to_owned(),
            });
        }
        let warm = self.flushed()?;
        let gone = sums_of(&warm.embedding, features, old);
        let mut sums = warm.sums.clone();
        sums.merge(&sums_of(&warm.embedding, features, new), &|label| label);
        let rest = sums
            .without(&gone, name)
            .map_err(|problem| Error::NotLearned { what: "relabelled", problem })?;
        self.warm_mut()?.sums = rest;
        self.solved = OnceLock::new();
        Ok(())
    }

    fn sibling(&self) -> Result<Self> {
        let warm = self.warm.as_ref().ok_or(Error::NotWarm)?;
        let mut sibling = Warm::new(warm.embedding.clone());
        sibling.in_use = warm.in_use.clone();
        let (params, start, keys) = (self.params.clone(), self.start.clone(), self.keys.clone());
        Ok(Brook { params, start, keys, warm: Some(Box::new(sibling)), solved: OnceLock::new() })
    }

    fn is_warm(&self) -> bool {
        self.warm.is_some()
    }

    fn name_labels(&mut self, names: &LabelNames) {
        if self.keys.update(names) {
            self.solved = OnceLock::new();
        }
    }

    fn save(&self, state: &mut Tensors) {
        let Some(warm) = &self.warm else { return };
        warm.embedding.save(state);
        // Whole sums are the same wherever they are cut: no row itself needs to be kept.
        let (sums, pending) = match self.params.half_life {
            0.0 => (warm.complete(0.0), &Pending::default()),
            _ => (Cow::Borrowed(&warm.sums), &warm.pending),
        };
        sums.save(state);
        let (ends, labels) = pending.labels.to_lists();
        state.put("brook.pending", self.start.dim, &pending.rows);
        state.put_places("brook.pending.ends", &ends);
        state.put("brook.pending.labels", 1, &labels);
        state.put("brook.learned", 1, &[warm.learned]);
        state.put("brook.keys", 1, &self.keys.0);
        codes::save(state, "brook.in_use", self.start.bits, &warm.in_use);
        if let Some(solution) = self.solved() {
            solution.save(state, self.start.bits);
        }
    }

    fn load(params: &Params, start: super::Start, state: &mut Tensors) -> Loaded<Self> {
        let (dim, bits) = (start.dim, start.bits);
        let mut brook = Brook::start(params, start);
        if !state.contains("brook.gram") {
            return Ok(brook);
        }
        let embedding = Embedding::load(params, dim, state)?;
        let sums = Sums::load(embedding.width(), state)?;
        let rows = state.take("brook.pending", dim)?;
        let ends = state.take_places("brook.pending.ends")?;
        let labels: Vec<u32> = state.take("brook.pending.labels", 1)?;
        let wrong = |error: Error| format!("the rows that wait: {error}");
        let labels = Labels::sets(&ends, &labels).map_err(wrong)?;
        let batch = Batch::new(Features::new(&rows, dim).map_err(wrong)?, labels).map_err(wrong)?;
        if batch.len() >= brook.block() {
            return Err(format!("{} rows wait, which should have been added up", batch.len()));
        }
        let mut sets = LabelList::new_sets();
        for row in 0..labels.len() {
            if labels.row(row).is_empty() {
                return Err("a row without labels waits to be learned".to_owned());
            }
            sets.push_set(labels.row(row));
        }
        let pending = Pending { rows, labels: sets };
        let learned = state.take_rows::<u64>("brook.learned", 1, 1)?[0];
        brook.keys = Keys(state.take("brook.keys", 1)?);
        let in_use = codes::load(state, "brook.in_use", bits)?;
        if state.contains("brook.weights") {
            brook.solved = OnceLock::from(Solution::load(state, embedding.width(), bits)?);
        }
        brook.warm = Some(Box::new(Warm { embedding, sums, pending, learned, in_use }));
        Ok(brook)
    }
}
