//! **BSODH**: M. Lin, R. Ji, H. Liu, X. Sun, Y. Wu, Y. Wu, *Towards Optimal Discrete Online
//! Hashing with Balanced Similarity*, AAAI 2019.
//!
//! Let `X` be the batch, `B` its codes, `E` the codes of all earlier items, and `S~` the balanced
//! similarities of batch and earlier items (`+similar_weight` for pairs that share a label,
//! `-dissimilar_weight` for others). BSODH seeks
//!
//! ```text
//! min  ||B^T E - k S~||^2  +  fit_weight ||W^T X - B||^2  +  ridge ||W||^2
//! ```
//!
//! over `W`, `B` and `E` in turn: `W` by ridge regression, `E = sgn(B S~)`, and `B` bit by bit.
//!
//! # Memory and cost
//!
//! Since `E = sgn(B S~)`, the code of an existing item depends on its label set alone. For all
//! items older than the last batch, BSODH therefore stores one code and one count per label set;
//! for the last batch it stores sums. In all, this takes O(sets x bits + bits^2 + dim x bits), and
//! nothing per item. A batch of `n` rows costs O(min(n d^2 + d^3, n^2 d + n^3) + n d k + n k^2 +
//! sets k^2), whatever the number of earlier rows.
//!
//! With one label per row, a set is a class. With several labels, sets can become numerous, and the
//! cost of a batch grows with their number (not with the number of rows). A batch then costs k
//! operations for each pair of a set and a set of the batch that share a label.
//!
//! # Important settings
//!
//! * The weights must fit the number of classes: `dissimilar_weight` should be near
//!   `similar_weight / (classes - 1)`. The default is for about ten classes; with hundreds of
//!   classes, all codes become similar.
//! * A batch should contain most classes: all classes that it lacks get the same code.
//! * The first batch only assigns codes to its items: nothing is learned from one batch alone.
//!
//! # Order of the steps
//!
//! The paper's Algorithm 1, the paper's text and the authors' released program differ in the order
//! of the steps; see [`Order`].
//!
//! # Deviations
//!
//! Only the arithmetic differs. Vectors and `W` are stored in `f32`, sums in `f64`. `W` is solved
//! to `f64` precision, by refining a solution in `f32` where this is faster. An exact tie in `B S~`
//! is decided by a single-precision sum over the batch, as in the authors' program.

// For tests and measurements only.
#[doc(hidden)]
pub mod dense;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::checks::{check_not_negative, check_positive};
use super::random::start_projection;
use super::weights::{function_of, take_weights};
use crate::learner::{BuiltIn, Loaded, Start, TrainingCodes};
use crate::linalg::{Regression, Ridge, product, transposed_product};
use crate::similarity::{Balance, BatchCodes, LabelSets, SetSums};
use crate::tensors::Tensors;
use crate::{Batch, Codes, Error, Features, HashFunction, HashParts, Learner, Result, Step};

/// The parameters of BSODH. The defaults are the paper's values for MNIST.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Order of the steps.
    pub order: Order,
    /// Penalty on large weights: the paper's lambda. Above 0.
    pub ridge: f64,
    /// Weight of the linear fit of the codes to the vectors: the paper's sigma. Above 0.
    pub fit_weight: f64,
    /// Weight of a similar pair: the paper's eta_s.
    pub similar_weight: f64,
    /// Weight of a dissimilar pair: the paper's eta_d.
    pub dissimilar_weight: f64,
    /// Maximum number of passes over the bits of a batch, if they do not converge earlier
    /// (`printed` and `alternating`; `released` makes one pass).
    pub max_iterations: usize,
}

/// The order of the steps within a batch. The first batch only assigns codes to its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Algorithm 1 as printed: `W`, from the batch's signs under the last `W`; then the codes of
    /// existing items; then the batch's codes until they converge. `W` never uses the converged
    /// codes.
    Printed,
    /// The paper's text: codes of existing items; the batch's codes until they converge; then `W`
    /// from these codes.
    Alternating,
    /// The authors' program: each item of the batch takes the code of the first existing item
    /// similar to it. One pass over the bits follows, with `k^2` in place of `k` and without
    /// `fit_weight`; then the codes of existing items; then `W`.
    Released,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            order: Order::Released,
            ridge: 0.6,
            fit_weight: 0.5,
            similar_weight: 1.2,
            dissimilar_weight: 0.2,
            max_iterations: 100,
        }
    }
}

/// The BSODH learner.
#[derive(Clone, Debug)]
pub(crate) struct Bsodh {
    params: Params,
    dim: usize,
    bits: usize,
    weights: Vec<f32>,
    sets: LabelSets,
    existing: Existing,
    /// The last batch, whose items take the codes of their sets when the next batch arrives
    /// (`released` only: the other orders do so before they use any existing code).
    last: Option<Summary>,
    started: bool,
    /// The codes of the last batch, for inspection; not part of the state.
    batch_codes: Option<Codes>,
    /// Solver for `W`. Only tests and measurements change the default.
    regression: Regression,
}

/// Items that have the code of their label set.
#[derive(Clone, Debug, Default)]
struct Existing {
    /// Number of items, per set.
    counts: Vec<f64>,
    /// Codes, sets x bits; zeros for sets without items.
    codes: Vec<i8>,
}

/// Statistics of a batch's final codes.
#[derive(Clone, Debug, Default)]
struct Summary {
    /// The sets with items in the batch, ascending. The next three fields have one entry per set.
    sets: Vec<usize>,
    /// Number of items, per set.
    counts: Vec<f64>,
    /// Sum of the items' codes, per set.
    sums: Vec<f64>,
    /// Code of the first item, per set.
    first: Vec<i8>,
    /// Sum of `b b^T` over all items, bits x bits.
    gram: Vec<f64>,
}

impl Bsodh {
    /// Processes a batch whose sets are numbered. `self` changes only if every step succeeds.
    fn step(&mut self, features: Features<'_>, sets: &[usize]) -> Result<Step> {
        let projections = self.hash_function().project(features)?;
        let mut codes = self.signs(projections.iter().copied().map(f64::from));
        let mut existing = self.existing.clone();
        existing.grow(self.sets.len(), self.bits);

        let (step, weights) = if !self.started {
            (Step::default(), None)
        } else {
            let (step, weights) = match self.params.order {
                Order::Printed => {
                    let weights = self.solve(features, &codes)?;
                    existing.recode(sets, &codes, self);
                    let parts = HashParts::linear(self.dim, self.bits, weights.clone());
                    let pull = HashFunction::new(parts)?.project(features)?;
                    (self.settle(&mut codes, sets, &existing, &pull), weights)
                }
                Order::Alternating => {
                    existing.recode(sets, &codes, self);
                    let step = self.settle(&mut codes, sets, &existing, &projections);
                    (step, self.solve(features, &codes)?)
                }
                Order::Released => {
                    self.adopt_first_similar(&mut codes, sets, &existing);
                    let step = self.settle(&mut codes, sets, &existing, &projections);
                    if let Some(last) = &self.last {
                        existing.absorb(last);
                    }
                    existing.recode(sets, &codes, self);
                    (step, self.solve(features, &codes)?)
                }
            };
            (step, Some(weights))
        };

        let summary = Summary::new(sets, &codes, self.bits);
        self.batch_codes = Some(packed(self.bits, codes.iter().map(|&value| value > 0.0)));
        match self.params.order {
            Order::Released => self.last = Some(summary),
            Order::Printed | Order::Alternating => existing.absorb(&summary),
        }
        self.existing = existing;
        self.started = true;
        let function_changed = weights.is_some();
        self.weights = weights.unwrap_or_else(|| std::mem::take(&mut self.weights));
        Ok(Step { function_changed, ..step })
    }

    /// Returns the sign of a value. The sign of zero depends on the order: `+1` in the released
    /// program, `-1` in the paper.
    fn sign(&self, value: f64) -> f64 {
        let positive = match self.params.order {
            Order::Released => value >= 0.0,
            Order::Printed | Order::Alternating => value > 0.0,
        };
        if positive { 1.0 } else { -1.0 }
    }

    fn signs(&self, values: impl Iterator<Item = f64>) -> Vec<f64> {
        values.map(|value| self.sign(value)).collect()
    }

    fn balance(&self) -> Balance {
        Balance { similar: self.params.similar_weight, dissimilar: self.params.dissimilar_weight }
    }

    /// Solves the W-step: `(X X^T + (lambda / sigma) I)^-1 X B^T`.
    fn solve(&self, features: Features<'_>, codes: &[f64]) -> Result<Vec<f32>> {
        let ridge = self.params.ridge / self.params.fit_weight;
        let (x, dim, y, columns) = (features.values(), self.dim, codes, self.bits);
        let solved =
            Ridge { x, dim, y, columns, ridge }.solve(self.regression).map_err(|no_room| {
                let rows = features.len();
                no_room.error(
                    format!("bsodh on {rows} rows of {dim} dimensions"),
                    "use smaller batches",
                )
            })?;
        solved.ok_or(Error::NoSolution {
            method: Bsodh::NAME,
            problem: "the regression of W is singular",
        })
    }

    /// Gives each item the code of the first existing item that is similar to it, if any is.
    fn adopt_first_similar(&self, codes: &mut [f64], sets: &[usize], existing: &Existing) {
        for (&set, code) in sets.iter().zip(codes.chunks_exact_mut(self.bits)) {
            // Sets are numbered in order of appearance, so the first similar item is in the first
            // similar set.
            let found = |set: usize| {
                let last = || self.last.as_ref()?.first(set, self.bits);
                existing.code(set, self.bits).or_else(last)
            };
            let first = self.sets.first_similar(set, |other| found(other).is_some());
            let found = first.and_then(found);
            for (bit, &value) in code.iter_mut().zip(found.unwrap_or_default()) {
                *bit = f64::from(value);
            }
        }
    }

    /// Runs the B_s-step: passes over the bits of every item, in which each bit is set to
    /// `sgn(p_r - sum_{q != r} G_rq b_q)`, with `G = E E^T` and `P = k E S~^T + sigma W^T X`.
    fn settle(
        &self,
        codes: &mut [f64],
        sets: &[usize],
        existing: &Existing,
        projections: &[f32],
    ) -> Step {
        let bits = self.bits;
        let k = bits as f64;
        let (scale, pull, most) = match self.params.order {
            Order::Released => (k * k, 1.0, 1),
            _ => (k, self.params.fit_weight, self.params.max_iterations),
        };
        let (sums, gram) = existing.sums_and_gram(self.last.as_ref(), bits);
        // One vector of E S~^T per set, which all items of the set share.
        let mut present = sets.to_vec();
        present.sort_unstable();
        present.dedup();
        let weigh = |&set: &usize| self.balance().weigh(set, &self.sets, &sums);
        let targets: Vec<Vec<f64>> = present.par_iter().map(weigh).collect();
        // G b for all items at once, updated as bits change.
        let mut fields = product(codes, bits, &gram, bits);
        let mut step = Step::default();
        while step.changed_bits.len() < most {
            let changed: u64 = codes
                .par_chunks_exact_mut(bits)
                .zip(fields.par_chunks_exact_mut(bits))
                .zip(projections.par_chunks_exact(bits))
                .zip(sets)
                .map(|(((code, field), projections), &set)| {
                    let target = &targets[present.partition_point(|&other| other < set)];
                    let mut changed = 0;
                    for r in 0..bits {
                        let column = &gram[r * bits..(r + 1) * bits];
                        let p = scale * target[r] + pull * f64::from(projections[r]);
                        let value = self.sign(p - (field[r] - column[r] * code[r]));
                        if value != code[r] {
                            code[r] = value;
                            changed += 1;
                            for (field, g) in field.iter_mut().zip(column) {
                                *field += 2.0 * value * g;
                            }
                        }
                    }
                    changed
                })
                .sum();
            step.changed_bits.push(changed);
            if changed == 0 {
                break;
            }
        }
        step
    }
}

impl Learner for Bsodh {
    fn learn(&mut self, batch: Batch<'_>) -> Result<Step> {
        batch.features().expect_dim(self.dim)?;
        let labels = batch.require_labels(Bsodh::NAME)?;
        if batch.is_empty() {
            return Ok(Step::default());
        }
        let known = self.sets.len();
        let sets = self.sets.number_rows(labels);
        let step = self.step(batch.features(), &sets);
        if step.is_err() {
            self.sets.truncate(known);
        }
        step
    }

    fn hash_function(&self) -> HashFunction {
        function_of(self)
    }
}

impl Existing {
    fn grow(&mut self, sets: usize, bits: usize) {
        self.counts.resize(sets, 0.0);
        self.codes.resize(sets * bits, 0);
    }

    fn code(&self, set: usize, bits: usize) -> Option<&[i8]> {
        (self.counts[set] > 0.0).then(|| &self.codes[set * bits..(set + 1) * bits])
    }

    /// Adds the counts of a batch.
    fn absorb(&mut self, batch: &Summary) {
        for (&set, count) in batch.sets.iter().zip(&batch.counts) {
            self.counts[set] += count;
        }
    }

    /// Runs the B_e-step: `sgn(B S~)`, one code per set that has items.
    fn recode(&mut self, sets: &[usize], codes: &[f64], learner: &Bsodh) {
        let balance = learner.balance();
        let batch = BatchCodes::new(sets, codes, &learner.sets, learner.bits);
        let Existing { counts, codes } = self;
        codes.par_chunks_exact_mut(learner.bits).zip(counts).enumerate().for_each(
            |(set, (code, count))| {
                if *count > 0.0 {
                    let weighed = balance.weigh_batch(set, &learner.sets, &batch);
                    let signs = weighed.iter().map(|&sum| learner.sign(sum) as i8);
                    code.iter_mut().zip(signs).for_each(|(bit, sign)| *bit = sign);
                }
            },
        );
    }

    /// Returns, for the codes `b` of all existing items including the last batch, their sums by set
    /// and the sum of `b b^T`.
    fn sums_and_gram(&self, last: Option<&Summary>, bits: usize) -> (SetSums, Vec<f64>) {
        let mut sums = SetSums::new(self.counts.len(), bits);
        let (mut codes, mut weighed) = (Vec::new(), Vec::new());
        for (set, &count) in self.counts.iter().enumerate() {
            if let Some(code) = self.code(set, bits) {
                let at = codes.len();
                codes.extend(code.iter().map(|&bit| f64::from(bit)));
                weighed.extend(codes[at..].iter().map(|bit| count * bit));
                sums.add(set, &weighed[at..]);
            }
        }
        let mut gram = transposed_product(&weighed, bits, &codes, bits);
        if let Some(last) = last {
            for (&set, sum) in last.sets.iter().zip(last.sums.chunks_exact(bits)) {
                sums.add(set, sum);
            }
            gram.iter_mut().zip(&last.gram).for_each(|(g, more)| *g += more);
        }
        (sums, gram)
    }
}

impl Summary {
    fn new(sets: &[usize], codes: &[f64], bits: usize) -> Self {
        let mut present = sets.to_vec();
        present.sort_unstable();
        present.dedup();
        let mut counts = vec![0.0; present.len()];
        let mut sums = vec![0.0; present.len() * bits];
        let mut first = vec![0; present.len() * bits];
        for (set, code) in sets.iter().zip(codes.chunks_exact(bits)) {
            let at = present.partition_point(|other| other < set);
            let place = at * bits..(at + 1) * bits;
            if counts[at] == 0.0 {
                let code = code.iter().map(|&bit| bit as i8);
                first[place.clone()].iter_mut().zip(code).for_each(|(bit, value)| *bit = value);
            }
            counts[at] += 1.0;
            sums[place].iter_mut().zip(code).for_each(|(sum, bit)| *sum += bit);
        }
        let gram = transposed_product(codes, bits, codes, bits);
        Summary { sets: present, counts, sums, first, gram }
    }

    fn first(&self, set: usize, bits: usize) -> Option<&[i8]> {
        let at = self.sets.binary_search(&set).ok()?;
        Some(&self.first[at * bits..(at + 1) * bits])
    }
}

/// Packs bits into codes, row after row.
fn packed(bits: usize, values: impl ExactSizeIterator<Item = bool>) -> Codes {
    let mut codes = Codes::zeros(bits, values.len() / bits);
    let stride = codes.words_per_code();
    for (at, _) in values.enumerate().filter(|(_, set)| *set) {
        let (row, bit) = (at / bits, at % bits);
        codes.words_mut()[row * stride + bit / 64] |= 1 << (bit % 64);
    }
    codes
}

impl BuiltIn for Bsodh {
    type Params = Params;
    const NAME: &'static str = "bsodh";
    const SUPERVISED: bool = true;

    fn check(params: &Params, _: &Start) -> Result<()> {
        check_positive("ridge", params.ridge)?;
        check_positive("fit_weight", params.fit_weight)?;
        check_not_negative("similar_weight", params.similar_weight)?;
        check_not_negative("dissimilar_weight", params.dissimilar_weight)?;
        if params.similar_weight + params.dissimilar_weight == 0.0 {
            let expected = "above 0, unless dissimilar_weight is";
            return Err(Error::parameter("similar_weight", expected, 0));
        }
        if params.max_iterations == 0 {
            return Err(Error::parameter("max_iterations", "1 or more", 0));
        }
        Ok(())
    }

    fn start(params: &Params, start: Start) -> Self {
        Bsodh {
            params: params.clone(),
            dim: start.dim,
            bits: start.bits,
            weights: start_projection(&start),
            sets: LabelSets::default(),
            existing: Existing::default(),
            last: None,
            started: false,
            batch_codes: None,
            regression: Regression::default(),
        }
    }

    fn hash_parts(&self) -> Result<HashParts> {
        Ok(HashParts::linear(self.dim, self.bits, self.weights.clone()))
    }

    fn training_codes(&self) -> Option<TrainingCodes> {
        let batch = self.batch_codes.clone()?;
        let sets = self.existing.codes.chunks_exact(self.bits).enumerate();
        let existing = sets.filter(|(_, code)| code.iter().any(|&u| u != 0)).map(|(set, code)| {
            let words = packed(self.bits, code.iter().map(|&u| u > 0)).words().to_vec();
            (self.sets.labels(set).to_vec(), words)
        });
        Some(TrainingCodes { batch, existing: existing.collect() })
    }

    fn save(&self, state: &mut Tensors) {
        let (ends, values) = self.sets.to_lists();
        state.put("bsodh.weights", self.bits, &self.weights);
        state.put("bsodh.started", 1, &[u32::from(self.started)]);
        state.put_places("bsodh.sets.ends", &ends);
        state.put("bsodh.sets.labels", 1, &values);
        state.put("bsodh.existing.counts", 1, &self.existing.counts);
        state.put("bsodh.existing.codes", self.bits, &self.existing.codes);
        if let Some(last) = &self.last {
            state.put_places("bsodh.last.sets", &last.sets);
            state.put("bsodh.last.counts", 1, &last.counts);
            state.put("bsodh.last.sums", self.bits, &last.sums);
            state.put("bsodh.last.first", self.bits, &last.first);
            state.put("bsodh.last.gram", self.bits, &last.gram);
        }
    }

    fn load(params: &Params, start: Start, state: &mut Tensors) -> Loaded<Self> {
        let Start { dim, bits, .. } = start;
        let weights = take_weights(state, "bsodh.weights", dim, bits)?;
        let started = state.take_rows::<u32>("bsodh.started", 1, 1)? == [1];
        let ends = state.take_places("bsodh.sets.ends")?;
        let labels: Vec<u32> = state.take("bsodh.sets.labels", 1)?;
        let sets = LabelSets::from_lists(&ends, &labels).map_err(|error| error.to_string())?;
        if sets.len() != ends.len() {
            return Err("holds one label set twice".to_owned());
        }
        let counts: Vec<f64> = state.take("bsodh.existing.counts", 1)?;
        let codes = state.take_rows("bsodh.existing.codes", counts.len(), bits)?;
        let count = |count: &f64| count.is_finite() && *count >= 0.0;
        if counts.len() > sets.len() || !counts.iter().all(count) {
            return Err("the counts of its existing items make no sense".to_owned());
        }
        let mut existing = Existing { counts, codes };
        existing.grow(sets.len(), bits);
        let mut last = None;
        if state.contains("bsodh.last.sets") {
            let present = state.take_places("bsodh.last.sets")?;
            let ascending = present.is_sorted_by(|a, b| a < b);
            if !ascending || present.last().is_some_and(|&set| set >= sets.len()) {
                return Err("the last batch has label sets that are not listed".to_owned());
            }
            last = Some(Summary {
                counts: state.take_rows("bsodh.last.counts", present.len(), 1)?,
                sums: state.take_rows("bsodh.last.sums", present.len(), bits)?,
                first: state.take_rows("bsodh.last.first", present.len(), bits)?,
                gram: state.take_rows("bsodh.last.gram", bits, bits)?,
                sets: present,
            });
        }
        let (params, batch_codes) = (params.clone(), None);
        let regression = Regression::default();
        Ok(Bsodh {
            params,
            dim,
            bits,
            weights,
            sets,
            existing,
            last,
            started,
            batch_codes,
            regression,
        })
    }
}
