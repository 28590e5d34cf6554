//! **brook**: the built-in method of this library. It pursues the objective of
//! [`bsodh`](super::bsodh) over the whole stream instead of the newest batch, and stores only sums.
//!
//! All items of a class share one target code. Let `u_c` be the code of class `c`, `n_c` its number
//! of items, and `z` a vector after the lift (see below). The weights that best fit the codes of
//! all items seen have a closed form:
//!
//! ```text
//! W = (A + ridge I)^-1 S U      A = sum z z^T      S = [s_1 .. s_C], s_c = sum of z over class c
//! ```
//!
//! Here `z` and the codes are centred on their means, so that every bit also has an offset.
//! Substituting this `W` leaves a small discrete problem in the codes of the classes alone:
//!
//! ```text
//! J(U) = 2k/r^2 sum over c != c' of p_c p_c' exp(r u_c . u_c' / k)  -  fit_weight / n tr(U^T M U)
//!
//! with M = S^T (A + ridge I)^-1 S,  p_c = n_c / n  and  r = repulsion
//! ```
//!
//! The first sum drives codes apart, and near codes the most. To second order it is the paper's
//! balanced similarity `1/k (u_c . u_c' + k eta)^2` with `eta = 1/r`. The second term prefers bits
//! that the vectors can predict. Bits are flipped singly while `J` falls. No two codes become
//! equal.
//!
//! # Memory and cost
//!
//! brook stores `A`, `S` and the counts: O(width^2 + classes x width), where `width` is the number
//! of anchors, or of dimensions without a lift. A row costs one lift and `width^2 / 2`
//! multiplications of 16-bit numbers, whatever the batch size, because rows are buffered in blocks
//! of 2048. Computing a function costs `width^3 / 3 + classes x width x bits`. The codes of up to
//! 1024 classes cost at most 64 passes of O(classes^2 bits) each. Classes beyond the 1024 most
//! frequent keep their random initial codes: among this many classes, random codes are as far apart
//! as any.
//!
//! # Exact sums
//!
//! Before a vector is added, its values are rounded to integer multiples of a fixed step (at most
//! 2047 steps). Sums of integers are exact: see [`StartFrom::Seeded`], [`Model::merge`] and
//! [`Model::unlearn`]. Only `half_life` makes sums inexact: a row that arrived `a` rows ago counts
//! `2^(-a / half_life)`, and the less a row counts, the coarser its rounding.
//!
//! # Detail bits
//!
//! Codes that encode only labels carry no more information than a classifier's output: thousands of
//! items share one code and have no order, and classes that the stream never had get arbitrary
//! codes. Each of the last [`Params::detail`] bits of a code therefore encodes on which side of a
//! plane the vector itself lies.
//!
//! The planes are the first principal directions of the warm-up, partly whitened (each divided by
//! the root of its deviation) and rotated to minimize the loss from taking signs, as in
//! [`itq`](super::itq). After the warm-up the planes are fixed and have no sums, so merging,
//! unlearning and the order of the stream are as exact as without detail bits.
//! [`HashFunction::label_bits`] returns where the detail bits begin, so that a search can weigh the
//! two kinds of bits. With `detail = 0`, `precision = full` and `follow = false` together, the
//! result is bit for bit that of brook without detail bits, compact lifts and additional anchors.
//!
//! # Targets of the bits
//!
//! The best target depends on the labels:
//!
//! * Codes of classes are best if classes are few and have many rows.
//! * Thousands of labels with a few rows each need directions in which labels differ
//!   ([`Targets::Discriminant`]).
//! * A rare label needs thresholds that rank its rows ([`Targets::Presence`]).
//! * If the labels are uninformative, the principal directions of the vectors are better than
//!   chance.
//!
//! With `targets = auto` and no half-life, brook selects the best target by measurement whenever it
//! computes a function. Each candidate searches a bounded sample of the learned rows, chosen by
//! hash. [`Model::measured_targets`](crate::Model::measured_targets) returns the scores of the
//! candidates and lists the sampled labels that the bits do not distinguish.
//!
//! Presence bits of rare labels are measured twice: as a regression on lifted vectors and as a
//! regression on the original vectors. The second regression has so few weights that a hundred rows
//! of a label suffice.
//!
//! Discriminant bits come from sums of the original vectors, which are stored next to the sums of
//! the lifted vectors (not for vectors of more than 2,048 dimensions). These sums merge and unlearn
//! exactly. So does the sample, with one exception: rows that did not fit into the sample are not
//! added to it later when other rows are unlearned.
//!
//! The lifted sums of a label take 24 KB and more. When the lifted sums of all labels exceed a
//! quarter of [`Params::memory`], they are discarded permanently. Bits then come from discriminant
//! directions or from the vectors alone, and a label takes 8 bytes per dimension. Labels that would
//! still exceed the memory limit are rejected before they are learned.
//!
//! # Unshuffled streams
//!
//! Anchors, too, come from the warm-up. If the warm-up contains only some of the classes, the
//! others can be distinguished only by their similarity to these. After every 2048 rows, brook
//! therefore counts the rows whose labels no anchor had. Some of these rows become anchors if their
//! share exceeds an eighth plus twice the share expected in a shuffled stream. (The expected share
//! is the share of warm-up rows whose labels occurred once.) Each time, a quarter of the initial
//! number of anchors is added, up to twice the initial number in all.
//!
//! The existing sums are extended by an estimate: the similarity to a new anchor is predicted from
//! the similarities to at most 1,024 of the old ones (`k(x, A) K^-1 k(A, b)`). In a shuffled stream
//! no anchors are added, and all sums stay exact. Rows learned before an estimate are unlearned as
//! accurately as the estimate allows. If the unlearned rows exceed their estimate, the ridge is
//! raised until the weights can be solved for. Rows learned after the estimate are unlearned
//! exactly. Rows that are still buffered when others are unlearned or merged do not become anchors.
//!
//! **Merging**: the anchors of a sibling never change, whatever rows it sees. Two models can be
//! merged if one has all anchors of the other; the sums over fewer anchors are extended by an
//! estimate. Siblings therefore merge exactly with each other. They also merge with a model that
//! has since added anchors.
//!
//! # Rows without labels
//!
//! Unlabelled rows of the warm-up determine the centre, the scale and the directions of the detail
//! bits. Rows with labels become anchors before rows without. If fewer than half of the first rows
//! have labels, the warm-up is extended until it has 3,000 rows with labels, up to 30,000 rows in
//! all. Later rows without labels are skipped. Unlearning rows does not change what the warm-up
//! fixed.
//!
//! # Several labels
//!
//! A row with several labels counts fully for each of them. If rows have more than one label on
//! average, the sum of the codes of their labels is a poor target, because it is zero wherever two
//! codes differ. Bits are then made of `f_l(x)`, the regression of "has label `l`" on the vectors,
//! whose covariances are `M / n`:
//!
//! * With at least two bits per label (and 1.05 labels per row), each bit encodes the presence of
//!   one label: `f_l(x) > t`. Each bit of a label has its own threshold, from 0.2 to 0.7 on a scale
//!   from the mean of `f_l` over rows without the label to the mean over rows with it. The more
//!   labels two rows share, the nearer their codes.
//! * With fewer bits (and 1.5 labels per row), every bit weighs all labels. A rotation brings the
//!   means of `f` over the rows of each label close to vectors of signs. Labels that always occur
//!   together, such as a class and its superclass, get near codes; other labels get distant codes.
//!
//! Memory grows with the number of labels, not with the number of their combinations. With
//! `start = steady` a rotation starts from the codes in use; the bits of single labels are
//! reassigned when a new label appears. In models loaded from files of earlier versions, a row
//! continues to count in equal parts for its labels, and its target is the mean of the codes of its
//! labels.
//!
//! [`Model::merge`]: crate::Model::merge
//! [`Model::unlearn`]: crate::Model::unlearn

mod choice;
mod codes;
mod detail;
mod discriminant;
mod embedding;
mod extension;
mod follow;
mod keys;
mod learned;
mod params;
mod presence;
mod sample;
mod solution;
mod sums;
mod warm;
mod whole_numbers;

use std::sync::OnceLock;

use self::embedding::Embedding;
use self::follow::Anchored;
use self::keys::Keys;
use self::learned::Plain;
pub use self::params::{Choice, LiftBy, Params, Precision, StartFrom, Targets};
use self::params::{FIRST_ROWS, MAX_WIDTH, numbers_to_solve};
use self::solution::{Solution, Task};
use self::sums::Sums;
use self::warm::{Limits, Warm, sums_of};
use self::whole_numbers::BLOCK;
use super::checks::{check_not_negative, check_positive, check_share};
use super::random::start_projection;
use super::weights::{function_of, try_function_of};
use crate::kernel::Gram;
use crate::labels::LabelNames;
use crate::learner::{BuiltIn, Loaded, Start, WARMUP};
pub use crate::learner::{Candidate, MadeOf, MeasuredTargets};
use crate::memory::{NoRoom, expect_room};
use crate::tensors::Tensors;
use crate::{Batch, Error, Features, HashFunction, HashParts, Labels, Learner, Result, Step};

/// Largest width at which the sums that remain after unlearning are checked by factoring them. For
/// wider sums only the variances are checked: factoring takes cubic time in the width, and would
/// hardly ever reject sums of thousands of rows.
const MOST_CHECKED: usize = 512;

/// The brook learner: its parameters, and its state once it has warmed up.
#[derive(Clone, Debug)]
pub(crate) struct Brook {
    params: Params,
    start: Start,
    keys: Keys,
    /// The state after the warm-up.
    warm: Option<Box<Warm>>,
    /// The function of all rows learned, computed on first use.
    solved: OnceLock<Solution>,
}

/// Fails if a parameter exceeds `most`.
fn check_most(name: &'static str, value: f64, most: f64) -> Result<()> {
    match value <= most {
        true => Ok(()),
        false => Err(Error::parameter(name, format!("at most {most}"), value)),
    }
}

impl Brook {
    /// Solves for the hash function. Returns `None` if nothing was learned.
    fn solve(&self, warm: &Warm) -> std::result::Result<Option<Solution>, NoRoom> {
        let classes = warm.sums.any().label_count();
        expect_room(numbers_to_solve(warm.embedding.width(), classes, self.start.bits))?;
        let mut sums = warm.complete(&self.keys, self.params.half_life)?;
        if self.params.targets == Targets::Auto && sums.has_too_many_labels(self.params.memory) {
            sums.to_mut().give_up_lifted(self.params.memory);
        }
        let Start { bits, seed, .. } = self.start;
        let (params, keys) = (&self.params, &self.keys);
        choice::solve(&Task { params, warm, learned: &sums, bits, seed, keys })
    }

    fn solved(&self) -> Result<Option<&Solution>> {
        let Some(warm) = &self.warm else { return Ok(None) };
        if let Some(solution) = self.solved.get() {
            return Ok(Some(solution));
        }
        let solution = self.solve(warm).map_err(|no_room| self.out_of_memory(no_room))?;
        Ok(solution.map(|solution| self.solved.get_or_init(|| solution)))
    }

    fn out_of_memory(&self, no_room: NoRoom) -> Error {
        match self.params.lift {
            LiftBy::Rbf => no_room.error(
                match self.params.anchors {
                    Choice::Auto => "brook".to_owned(),
                    Choice::Fixed(anchors) => format!("brook with {anchors} anchors"),
                },
                "use fewer anchors: with half as many it needs a quarter of that",
            ),
            LiftBy::None => no_room.error(
                format!("brook with lift = none on {} dimensions", self.start.dim),
                "use lift = rbf, where the number of anchors decides and not that of dimensions",
            ),
        }
    }

    /// Returns the number of rows that are buffered before they are added to the sums.
    fn block(&self) -> usize {
        // At most a quarter of a gigabyte.
        ((1 << 26) / self.start.dim).clamp(1, BLOCK)
    }

    /// Returns whether the codes in use are due for renewal between two row counts.
    fn renewal_due(&self, before: u64, after: u64) -> bool {
        if self.params.start == StartFrom::Seeded {
            return false;
        }
        match self.params.renew_every {
            0 => before / 512 != after / 512 && (after / 512).is_power_of_two(),
            every => before / every != after / every,
        }
    }

    fn warm(&self) -> Result<&Warm> {
        self.warm.as_deref().ok_or(Error::NotWarm)
    }

    fn warm_mut(&mut self) -> Result<&mut Warm> {
        self.warm.as_deref_mut().ok_or(Error::NotWarm)
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
        let warm = self.warm()?;
        let mut known = warm.sums.labels_with(labels.iter());
        let buffered = warm.pending.labels.view();
        let most = known + buffered.iter().map(<[u32]>::len).sum::<usize>();
        if warm.sums.expect_memory(most, &self.params).is_err() {
            known = warm.sums.labels_with(labels.iter().chain(buffered.iter()));
            warm.sums.expect_memory(known, &self.params)?;
        }
        warm.sums
            .expect_room(known, block, &self.params)
            .map_err(|no_room| self.out_of_memory(no_room))?;
        if self.params.start == StartFrom::Steady {
            // Re-encoding may become due within the batch, too late to return an error.
            let (width, classes) = (warm.embedding.width(), warm.sums.any().label_count());
            expect_room(numbers_to_solve(width, classes, self.start.bits))
                .map_err(|no_room| self.out_of_memory(no_room))?;
        }
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
            // Some of the rows of a loaded block may already be in the sums, so the number of rows
            // learned determines where the block ends.
            let ends = half_life == 0.0 && learned.is_multiple_of(block as u64);
            if ends || warm.pending.labels.len() == block {
                let limits = Limits::of(&self.params, warm, self.start.bits);
                warm.follow(block, limits, &self.keys, half_life);
                warm.flush(&self.keys, half_life);
                if self.params.targets == Targets::Auto {
                    warm.sums.give_up_lifted(self.params.memory);
                }
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
        function_of(self)
    }

    fn try_hash_function(&self) -> Result<HashFunction> {
        try_function_of(self)
    }
}

impl Brook {
    /// Replaces the codes in use by the best codes for the current sums.
    fn renew(&mut self) {
        let solution = self.warm.as_ref().map(|warm| self.solve(warm));
        if let (Some(warm), Some(Ok(Some(solution)))) = (&mut self.warm, solution) {
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
            LiftBy::None => WARMUP,
            LiftBy::Rbf => params.anchors.or(|| FIRST_ROWS).max(1),
        }
    }

    fn warmup_after(params: &Params, first: Labels<'_>, (dim, bits): (usize, usize)) -> usize {
        match params.lift {
            LiftBy::None => WARMUP,
            LiftBy::Rbf => match params.anchors {
                Choice::Fixed(anchors) => anchors.max(1),
                Choice::Auto => {
                    let anchors = params.anchors_for(Some(first), bits).max(FIRST_ROWS);
                    anchors.max(params.rows_with_labels(first, dim))
                }
            },
        }
    }

    fn check(params: &Params, start: &Start) -> Result<()> {
        let Params { gamma, ridge, fit_weight, repulsion, .. } = params;
        gamma.check(|value| check_positive("gamma", value))?;
        ridge.check(|value| check_positive("ridge", value))?;
        fit_weight.check(|value| check_not_negative("fit_weight", value))?;
        fit_weight.check(|value| check_most("fit_weight", value, 1e6))?;
        check_positive("repulsion", *repulsion)?;
        check_most("repulsion", *repulsion, 100.0)?;
        params.detail.check(|value| check_share("detail", value))?;
        check_not_negative("half_life", params.half_life)?;
        if start.init.is_some() {
            let expected = "left out (brook solves for its projection, and starts from none)";
            return Err(Error::parameter("init", expected, "given"));
        }
        match params.lift {
            LiftBy::Rbf => {
                params.anchors.check(|anchors| match (1..=MAX_WIDTH).contains(&anchors) {
                    true => Ok(()),
                    false => {
                        Err(Error::parameter("anchors", format!("from 1 to {MAX_WIDTH}"), anchors))
                    }
                })
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

    fn start(params: &Params, start: Start) -> Self {
        let keys = Keys::default();
        Brook { params: params.clone(), start, keys, warm: None, solved: OnceLock::new() }
    }

    fn hash_parts(&self) -> Result<HashParts> {
        let (dim, bits) = (self.start.dim, self.start.bits);
        let (Some(warm), Some(solution)) = (&self.warm, self.solved()?) else {
            return Ok(HashParts::linear(dim, bits, start_projection(&self.start)));
        };
        Ok(solution.parts(&warm.embedding, (dim, bits)))
    }

    fn warm_up(&mut self, first: Batch<'_>) -> Result<()> {
        let no_room = |no_room| self.out_of_memory(no_room);
        // The memory for the later computation of the function is checked here too: failing now is
        // better than failing after all rows are learned.
        let bits = self.start.bits;
        let anchors = self.params.anchors_for(first.labels(), bits);
        // A warm-up whose length was not given has been extended to fit an automatic number of
        // anchors.
        let is_grown = self.params.anchors == Choice::Auto && self.start.warmup >= FIRST_ROWS;
        let anchors = if is_grown { anchors } else { anchors.min(self.start.warmup) };
        let anchors = anchors.clamp(1, MAX_WIDTH);
        let width = match self.params.lift {
            LiftBy::None => first.features().dim(),
            LiftBy::Rbf => anchors.min(first.len()),
        };
        expect_room(Gram::numbers(width) + numbers_to_solve(width, 0, bits)).map_err(no_room)?;
        let embedding = Embedding::from_first(&self.params, anchors, self.start.unit, first);
        let directions = detail::directions(&self.params, bits, first.features());
        let directions = directions.map_err(no_room)?;
        let needs_plain = match self.params.targets {
            // The sample does not age: with a half-life it would favour rows that no longer count.
            Targets::Auto => self.params.half_life == 0.0,
            Targets::Discriminant => true,
            Targets::Classes | Targets::Presence => false,
        };
        let plain = needs_plain.then(|| Plain::from_first(self.start.unit, first.features()));
        let plain = plain.flatten();
        if plain.is_none() && self.params.targets == Targets::Discriminant {
            let expected = "auto or classes, for vectors of more than 2,048 dimensions";
            return Err(Error::parameter("targets", expected, self.params.targets));
        }
        let mut warm = Warm::new(embedding, plain, directions, anchors).map_err(no_room)?;
        if self.params.targets == Targets::Discriminant {
            warm.sums = warm.sums.without_lifted();
        }
        if self.params.follow && self.params.lift == LiftBy::Rbf {
            warm.anchored = Anchored::of_first(first);
        }
        self.warm = Some(Box::new(warm));
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
        let no_room = |no_room| other.out_of_memory(no_room);
        match (&mut self.warm, &other.warm) {
            (Some(warm), Some(others)) => {
                let Some(embedding) = warm.common_embedding(others).cloned() else {
                    return different("anchors or steps");
                };
                let keys = &self.keys;
                let complete = others.complete(&other.keys, half_life).map_err(no_room)?;
                let mut ours = warm.to_complete(keys, half_life).map_err(no_room)?;
                if !ours.fit(&complete) {
                    return Err(Error::NotMergeable {
                        problem: "one is from a file of an earlier version, where a row with \
                                  several labels counts a part for each of them, and the other has \
                                  rows with several labels that count fully"
                            .to_owned(),
                    });
                }
                let labels = ours.labels_with_all(&complete, translate);
                ours.expect_memory(labels, &self.params)?;
                if embedding == warm.embedding && embedding == others.embedding {
                    ours.merge(&complete, translate, keys);
                } else {
                    let extended_ours = ours.extended(&embedding).map_err(no_room)?;
                    let theirs = complete.into_owned().extended(&embedding).map_err(no_room)?;
                    let (Some(extended_ours), Some(theirs)) = (extended_ours, theirs) else {
                        return different("anchors");
                    };
                    ours = extended_ours;
                    ours.merge(&theirs, translate, keys);
                    warm.embedding = embedding;
                }
                if self.params.targets == Targets::Auto {
                    ours.give_up_lifted(self.params.memory);
                }
                warm.replace(ours);
                if let (Some(ours), Some(theirs)) = (&mut warm.anchored, &others.anchored) {
                    ours.merge(theirs, translate);
                }
                warm.learned = warm.learned.saturating_add(others.learned);
                let bits = warm.bits_in_use();
                for (label, code) in &others.in_use {
                    let label = translate(*label);
                    let fits = bits.is_none_or(|bits| bits == code.len());
                    if fits && warm.in_use.iter().all(|(known, _)| *known != label) {
                        warm.in_use.push((label, code.clone()));
                    }
                }
            }
            _ => return Err(Error::NotWarm),
        }
        self.solved = OnceLock::new();
        Ok(())
    }

    fn unlearn(&mut self, batch: Batch<'_>, name: &dyn Fn(u32) -> String) -> Result<()> {
        self.check_takes_back("unlearned")?;
        let labels = batch.require_labels(Brook::NAME)?;
        let no_room = |no_room| self.out_of_memory(no_room);
        let warm = self.warm()?;
        let gone = sums_of(warm, &self.keys, batch.features(), labels).map_err(no_room)?;
        let wrong = |problem: String| Error::NotLearned { what: "unlearned", problem };
        let sums = warm.to_complete(&self.keys, 0.0).map_err(no_room)?;
        let rest = sums.without(&gone, name).map_err(wrong)?;
        let has_rows = |sums: &&Sums| sums.rows() > 0.0 && sums.width() <= MOST_CHECKED;
        if let Some(sums) = rest.embedded().filter(has_rows)
            && !solution::is_sound(&self.params, &warm.embedding, sums).map_err(no_room)?
        {
            return Err(wrong("what would be left is no sum of any rows".to_owned()));
        }
        self.warm_mut()?.replace(rest);
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
        let no_room = |no_room| self.out_of_memory(no_room);
        let warm = self.warm()?;
        let mut sums = warm.to_complete(&self.keys, 0.0).map_err(no_room)?;
        sums.expect_memory(sums.labels_with(new.iter()), &self.params)?;
        let added = sums_of(warm, &self.keys, features, new).map_err(no_room)?;
        sums.merge(&added, &|label| label, &self.keys);
        drop(added);
        let gone = sums_of(warm, &self.keys, features, old).map_err(no_room)?;
        let rest = sums
            .without(&gone, name)
            .map_err(|problem| Error::NotLearned { what: "relabelled", problem })?;
        self.warm_mut()?.replace(rest);
        self.solved = OnceLock::new();
        Ok(())
    }

    fn sibling(&self) -> Result<Self> {
        let warm = self.warm()?;
        let no_room = |no_room| self.out_of_memory(no_room);
        let (embedding, directions) = (warm.embedding.clone(), warm.directions.clone());
        let plain = warm.plain.clone();
        let sibling = Warm::new(embedding, plain, directions, warm.anchors_wanted);
        let mut sibling = sibling.map_err(no_room)?;
        sibling.sums = warm.sums.empty().map_err(no_room)?;
        sibling.in_use = warm.in_use.clone();
        let (params, start, keys) = (self.params.clone(), self.start.clone(), self.keys.clone());
        Ok(Brook { params, start, keys, warm: Some(Box::new(sibling)), solved: OnceLock::new() })
    }

    fn with_bits(&self, bits: usize) -> Result<Self> {
        let mut other = self.clone();
        other.start.bits = bits;
        other.solved = OnceLock::new();
        if let Some(warm) = &mut other.warm {
            // The codes in use are only valid for the number of bits they were computed for.
            warm.in_use.clear();
        }
        Ok(other)
    }

    fn is_warm(&self) -> bool {
        self.warm.is_some()
    }

    fn measured_targets(&self) -> Option<MeasuredTargets> {
        self.solved.get().map(|solution| solution.targets.clone())
    }

    fn name_labels(&mut self, names: &LabelNames) {
        if self.keys.update(names) {
            self.solved = OnceLock::new();
            if let Some(warm) = &mut self.warm {
                warm.sums.sample.update_keys(&self.keys);
            }
        }
    }

    fn save(&self, state: &mut Tensors) {
        if let Some(warm) = &self.warm {
            let shape = (self.params.half_life, self.start.dim, self.start.bits);
            warm.save(&self.keys, shape, state);
            self.keys.save(state);
        }
        // Saving does not compute the function. If it was not requested yet, it is computed on the
        // first request.
        if let Some(solution) = self.solved.get() {
            solution.save(state, self.start.bits);
        }
    }

    fn save_learned(&self, state: &mut Tensors) {
        let Some(warm) = &self.warm else { return };
        let (half_life, dim, bits) = (self.params.half_life, self.start.dim, self.start.bits);
        warm.save_learned(&self.keys, (half_life, dim, bits), &warm.pending, None, state);
        self.keys.save(state);
    }

    fn load(params: &Params, start: Start, state: &mut Tensors) -> Loaded<Self> {
        let shape = (start.dim, start.bits);
        let mut brook = Brook::start(params, start);
        let warmup = brook.start.warmup;
        if !state.contains("brook.keys") {
            return Ok(brook);
        }
        brook.keys = Keys::load(state)?;
        let limits = (brook.block(), warmup);
        let Some(warm) = Warm::load(params, &brook.keys, shape, limits, state)? else {
            return Ok(brook);
        };
        if state.contains("brook.weights") {
            let solution = Solution::load(state, (shape.0, warm.embedding.width()), shape.1)?;
            brook.solved = OnceLock::from(solution);
        }
        brook.warm = Some(Box::new(warm));
        Ok(brook)
    }
}
