//! **MIHash**: F. Cakir, K. He, S. A. Bargal, S. Sclaroff, *MIHash: Online Hashing with Mutual
//! Information*, ICCV 2017.
//!
//! For each point, the distances to a reservoir of earlier points should distinguish similar from
//! dissimilar points. MIHash performs gradient ascent on the mutual information of distance and
//! similarity
//!
//! ```text
//! MI = H(P) - p+ H(P+) - p- H(P-)
//! ```
//!
//! where `P+` and `P-` are the histograms of distances to similar and dissimilar points, and bits
//! are relaxed to `phi(x) = 1 / (1 + e^(-A W^T x))`.
//!
//! # Memory and cost
//!
//! MIHash stores the projection, the reservoir and its projections `W^T x_r`. A step changes `W` by
//! a matrix of rank one, so that updating the projections costs O(reservoir x bits). The products
//! `x_r . x` are computed for many rows at once. A point costs O(reservoir x (dim + bits)) in all.
//!
//! # When does the function change?
//!
//! Codes of existing items are out of date whenever the function changes. The published function is
//! therefore a snapshot, which is replaced only when this pays off: see [`Trigger`]. [`Step`]
//! reports each replacement.
//!
//! # Deviations
//!
//! * The reservoir starts with rows of the warm-up; the published protocol draws them from all
//!   data.
//! * The default gradient is that of the objective. The authors' program uses relaxed bits in [0,
//!   1] where the formula has them in [-1, 1], and a factor of 1/2: `gradient = released`.

use rand::RngExt;
use rand::seq::index::sample;
use serde::{Deserialize, Serialize};

mod information;
mod reservoir;

use self::information::Histograms;
use self::reservoir::Reservoir;
use super::checks::{check_not_negative, check_positive};
use super::random::{Purpose, random, start_projection};
use super::weights::{check_finite, function_of, take_weights};
use crate::kernel::{Panels, add_outer, project_row};
use crate::learner::{BuiltIn, Loaded, Start};
use crate::tensors::Tensors;
use crate::{
    Batch, Error, Features, HashFunction, HashParts, Labels, Learner, MAX_BITS, Result, Step,
};

/// The parameters of MIHash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Number of earlier points in the reservoir.
    pub reservoir: usize,
    /// Number of bins of the distances: K. More bins than bits are useless.
    pub bins: usize,
    /// Slope of the relaxed bits: A. Above 0.
    pub slope: f64,
    /// Step size: eta. Above 0.
    pub rate: f64,
    /// Decay of the step size: the step at point t is rate / (1 + decay t).
    pub decay: f64,
    /// Gradient of the updates.
    pub gradient: Gradient,
    /// Condition for publishing a new function.
    pub trigger: Trigger,
    /// Number of points between two checks of the trigger.
    pub every: u64,
    /// Required growth of the mutual information, for the trigger `mi`.
    pub threshold: f64,
}

/// The gradients of MIHash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gradient {
    /// The gradient of the objective.
    Exact,
    /// The gradient of the authors' program.
    Released,
}

/// Condition for replacing the published function by the newest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// If the new function's mutual information on the reservoir is higher by
    /// [`threshold`](Params::threshold) bits, as in the paper.
    Mi,
    /// At each check.
    Fixed,
    /// After every point.
    Always,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            reservoir: 1000,
            bins: 16,
            slope: 10.0,
            rate: 1.0,
            decay: 0.0,
            gradient: Gradient::Exact,
            trigger: Trigger::Mi,
            every: 100,
            threshold: 0.0,
        }
    }
}

/// The MIHash learner.
#[derive(Clone, Debug)]
pub(crate) struct MiHash {
    params: Params,
    dim: usize,
    bits: usize,
    seed: u64,
    weights: Vec<f32>,
    /// The weights of the published function.
    snapshot: Vec<f32>,
    reservoir: Reservoir,
    seen: u64,
}

/// Number of rows that are multiplied with the reservoir at once.
const ROWS_AT_ONCE: usize = 64;

impl MiHash {
    /// Learns a few rows. Returns whether a new function was published.
    fn learn_rows(&mut self, features: Features<'_>, labels: Labels<'_>) -> bool {
        // Products x_r . x for every point of the reservoir and every row. The products between the
        // rows are needed because rows may enter the reservoir before later rows are learned.
        let columns = Panels::pack_transposed(features.values(), self.dim);
        let product = |rows: &[f32]| {
            let mut out = vec![0.0; rows.len() / self.dim * columns.width()];
            columns.multiply(rows, &mut out);
            out
        };
        let mut products = product(self.reservoir.features());
        let among = product(features.values());
        let width = columns.width();
        let mut renewed = false;
        for row in 0..features.len() {
            let x = features.row(row);
            let mut projection = vec![0.0; self.bits];
            project_row(&self.weights, x, &mut projection);
            if let Some(step) = self.gradient_step(&projection, labels.row(row)) {
                add_outer(&mut self.weights, x, &step);
                let along = products.iter().skip(row).step_by(width);
                self.reservoir.follow(along, &step);
                let own = among[row * width + row];
                projection.iter_mut().zip(&step).for_each(|(p, step)| *p += own * step);
            }
            let key = random(self.seed, Purpose::Reservoir, self.seen).random::<f64>();
            let (labels, given_out) = (labels.row(row), &self.snapshot);
            if let Some(place) = self.reservoir.offer(x, labels, &projection, given_out, key) {
                let others = &among[row * width..(row + 1) * width];
                products.resize(self.reservoir.len() * width, 0.0);
                products[place * width..(place + 1) * width].copy_from_slice(others);
            }
            self.seen += 1;
            if self.seen.is_multiple_of(self.params.every) || self.params.trigger == Trigger::Always
            {
                renewed |= self.pull_trigger();
            }
        }
        renewed
    }

    /// Returns the factor of the point in the update to each column of `W`; `None` for no update.
    fn gradient_step(&mut self, projection: &[f32], labels: &[u32]) -> Option<Vec<f32>> {
        let gradient = self.gradient(projection, labels)?;
        let rate = self.params.rate / (1.0 + self.params.decay * self.seen as f64);
        Some(gradient.iter().map(|g| (rate * g) as f32).collect())
    }

    /// Returns the gradient of the mutual information with respect to `W^T x`.
    fn gradient(&mut self, projection: &[f32], labels: &[u32]) -> Option<Vec<f64>> {
        if self.reservoir.len() == 0 {
            return None;
        }
        let slope = self.params.slope;
        let phi: Vec<f64> = projection
            .iter()
            .map(|&p| 1.0 / (1.0 + (-(slope * f64::from(p)).clamp(-42.0, 42.0)).exp()))
            .collect();
        let own: Vec<f32> = phi.iter().map(|phi| (2.0 * phi - 1.0) as f32).collect();
        let similar = self.reservoir.similar_to(labels);
        let relaxed = self.reservoir.relaxed(slope);
        let histograms = Histograms::new(&own, relaxed, &similar, self.params.bins);
        let weights = histograms.slopes();
        let mut pull = vec![0.0f64; self.bits];
        for (weight, relaxed) in weights.iter().zip(relaxed.chunks_exact(self.bits)) {
            if *weight == 0.0 {
                continue;
            }
            match self.params.gradient {
                Gradient::Exact => {
                    pull.iter_mut().zip(relaxed).for_each(|(p, r)| *p += weight * f64::from(*r));
                }
                Gradient::Released => {
                    // Bits in [0, 1], and the factor of 1/2.
                    let half = weight / 4.0;
                    pull.iter_mut()
                        .zip(relaxed)
                        .for_each(|(p, r)| *p += half * f64::from(*r + 1.0));
                }
            }
        }
        let gradient: Vec<f64> =
            pull.iter().zip(&phi).map(|(pull, phi)| slope * phi * (1.0 - phi) * pull).collect();
        gradient.iter().any(|g| *g != 0.0).then_some(gradient)
    }

    /// Returns whether a batch could make the weights overflow. If it could not, as with numbers of
    /// ordinary size, the reservoir need not be copied for a rollback.
    fn could_overflow(&self, features: Features<'_>) -> bool {
        let ordinary = |value: &f32| value.abs() < 1e6;
        let all_ordinary = |values: &[f32]| values.iter().fold(true, |all, v| all & ordinary(v));
        !(self.params.rate * self.params.slope < 1e6
            && all_ordinary(features.values())
            && all_ordinary(&self.weights))
    }

    /// Publishes the newest function if the trigger requires it. Returns whether it did.
    fn pull_trigger(&mut self) -> bool {
        if self.snapshot == self.weights {
            return false;
        }
        let renew = match self.params.trigger {
            Trigger::Always | Trigger::Fixed => true,
            Trigger::Mi => self.reservoir.gain() > self.params.threshold,
        };
        if renew {
            self.snapshot.clone_from(&self.weights);
            self.reservoir.give_out();
        }
        renew
    }
}

impl Learner for MiHash {
    fn learn(&mut self, batch: Batch<'_>) -> Result<Step> {
        batch.features().expect_dim(self.dim)?;
        let labels = batch.require_labels(MiHash::NAME)?;
        let before = self.could_overflow(batch.features()).then(|| self.clone());
        let mut function_changed = false;
        for start in (0..batch.len()).step_by(ROWS_AT_ONCE) {
            let rows = start..batch.len().min(start + ROWS_AT_ONCE);
            function_changed |=
                self.learn_rows(batch.features().slice(rows.clone()), labels.slice(rows));
        }
        if let Some(before) = before
            && let Err(error) = check_finite(MiHash::NAME, &self.weights)
        {
            *self = before;
            return Err(error);
        }
        Ok(Step { function_changed, ..Step::default() })
    }

    fn hash_function(&self) -> HashFunction {
        function_of(self)
    }
}

impl BuiltIn for MiHash {
    type Params = Params;
    const NAME: &'static str = "mihash";
    const SUPERVISED: bool = true;
    const WARMS_UP: bool = true;

    fn check(params: &Params, _: &Start) -> Result<()> {
        if params.reservoir == 0 {
            return Err(Error::parameter("reservoir", "1 or more", 0));
        }
        if !(1..=MAX_BITS).contains(&params.bins) {
            return Err(Error::parameter("bins", format!("from 1 to {MAX_BITS}"), params.bins));
        }
        if params.every == 0 {
            return Err(Error::parameter("every", "1 or more", 0));
        }
        check_positive("slope", params.slope)?;
        check_positive("rate", params.rate)?;
        check_not_negative("decay", params.decay)?;
        check_not_negative("threshold", params.threshold)
    }

    fn start(params: &Params, start: Start) -> Self {
        let weights = start_projection(&start);
        MiHash {
            params: params.clone(),
            dim: start.dim,
            bits: start.bits,
            seed: start.seed,
            snapshot: weights.clone(),
            weights,
            reservoir: Reservoir::new(start.dim, start.bits, params.reservoir),
            seen: 0,
        }
    }

    fn hash_parts(&self) -> Result<HashParts> {
        Ok(HashParts::linear(self.dim, self.bits, self.snapshot.clone()))
    }

    /// Fills a tenth of the reservoir.
    fn warm_up(&mut self, first: Batch<'_>) -> Result<()> {
        let labels = first.require_labels(MiHash::NAME)?;
        let mut rng = random(self.seed, Purpose::Anchors, 0);
        let count = self.params.reservoir.div_ceil(10).min(first.len());
        for row in sample(&mut rng, first.len(), count) {
            let x = first.features().row(row);
            let mut projection = vec![0.0; self.bits];
            project_row(&self.weights, x, &mut projection);
            self.reservoir.offer(x, labels.row(row), &projection, &self.snapshot, rng.random());
        }
        Ok(())
    }

    fn save(&self, state: &mut Tensors) {
        state.put("mihash.weights", self.bits, &self.weights);
        state.put("mihash.snapshot", self.bits, &self.snapshot);
        state.put("mihash.seen", 1, &[self.seen]);
        self.reservoir.save("mihash.reservoir", state);
    }

    fn load(params: &Params, start: Start, state: &mut Tensors) -> Loaded<Self> {
        let Start { dim, bits, seed, .. } = start;
        Ok(MiHash {
            params: params.clone(),
            dim,
            bits,
            seed,
            weights: take_weights(state, "mihash.weights", dim, bits)?,
            snapshot: take_weights(state, "mihash.snapshot", dim, bits)?,
            reservoir: Reservoir::load("mihash.reservoir", dim, bits, params.reservoir, state)?,
            seen: state.take_rows("mihash.seen", 1, 1)?[0],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;

    fn learner(bits: usize, dim: usize, params: Params, seed: u64) -> MiHash {
        MiHash::start(&params, Start { dim, bits, seed, unit: true, warmup: 50, init: None })
    }

    fn rows(count: usize, dim: usize, seed: u64) -> Vec<f32> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        (0..count * dim).map(|_| rng.random_range(-1.0..1.0)).collect()
    }

    /// Returns a learner whose reservoir is full of random points.
    fn filled(bits: usize, dim: usize, params: Params, seed: u64) -> MiHash {
        let mut learner = learner(bits, dim, params, seed);
        for (at, x) in rows(40, dim, seed).chunks_exact(dim).enumerate() {
            let mut projection = vec![0.0; bits];
            project_row(&learner.weights, x, &mut projection);
            let given_out = learner.snapshot.clone();
            learner.reservoir.offer(x, &[at as u32 % 3], &projection, &given_out, at as f64);
        }
        learner
    }

    /// Computes the mutual information by its definition, in double precision, as a function of
    /// `W^T x`.
    fn information(learner: &mut MiHash, projection: &[f64], labels: &[u32]) -> f64 {
        let slope = learner.params.slope;
        let relax = |p: f64| 2.0 / (1.0 + (-slope * p).exp()) - 1.0;
        let bits = learner.bits as f64;
        let bins = learner.params.bins;
        let width = bits / bins as f64;
        let similar = learner.reservoir.similar_to(labels);
        let own: Vec<f64> = projection.iter().map(|&p| relax(p)).collect();
        let mut histograms = [vec![0.0; bins + 1], vec![0.0; bins + 1]];
        let points = learner.reservoir.projections().chunks_exact(learner.bits);
        for (point, &similar) in points.zip(&similar) {
            let agreement: f64 =
                point.iter().zip(&own).map(|(&p, own)| relax(f64::from(p)) * own).sum();
            let distance = (bits - agreement) / 2.0;
            for (bin, count) in histograms[usize::from(similar)].iter_mut().enumerate() {
                *count += (1.0 - (distance - bin as f64 * width).abs() / width).max(0.0);
            }
        }
        let total = similar.len() as f64;
        let entropy = |counts: &[f64], sum: f64| -> f64 {
            let part = |c: &f64| if *c > 0.0 { -c / sum * (c / sum).log2() } else { 0.0 };
            counts.iter().map(part).sum()
        };
        let near = similar.iter().filter(|&&s| s).count() as f64;
        let all: Vec<f64> = histograms[0].iter().zip(&histograms[1]).map(|(a, b)| a + b).collect();
        entropy(&all, total)
            - near / total * entropy(&histograms[1], near)
            - (1.0 - near / total) * entropy(&histograms[0], total - near)
    }

    #[test]
    fn the_exact_gradient_is_that_of_the_mutual_information() {
        for seed in 0..20 {
            let params = Params { slope: 2.0, bins: 5, reservoir: 40, ..Params::default() };
            let mut learner = filled(12, 6, params, seed);
            let x = rows(1, 6, seed + 100);
            let mut projection = vec![0.0; 12];
            project_row(&learner.weights, &x, &mut projection);
            let gradient = learner.gradient(&projection, &[1]).unwrap();
            let double: Vec<f64> = projection.iter().map(|&p| f64::from(p)).collect();
            for (bit, gradient) in gradient.iter().enumerate() {
                let h = 1e-6;
                let mut at = |step: f64| {
                    let mut moved = double.clone();
                    moved[bit] += step;
                    information(&mut learner, &moved, &[1])
                };
                let slope = (at(h) - at(-h)) / (2.0 * h);
                assert!((gradient - slope).abs() < 1e-6, "{seed}, {bit}: {gradient} {slope}");
            }
        }
    }

    #[test]
    fn the_released_gradient_is_another() {
        let direction = |gradient| {
            let params = Params { gradient, reservoir: 40, ..Params::default() };
            let mut learner = filled(12, 6, params, 3);
            let projection = vec![0.01; 12];
            learner.gradient(&projection, &[1]).unwrap()
        };
        let (exact, released) = (direction(Gradient::Exact), direction(Gradient::Released));
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let cosine =
            dot(&exact, &released) / (dot(&exact, &exact) * dot(&released, &released)).sqrt();
        assert!(cosine < 0.999, "{cosine}");
    }

    /// The projections of the reservoir are updated step by step. They must equal the projections
    /// of its points under the current weights, however rows are split into chunks, and also when
    /// points leave and enter the reservoir.
    #[test]
    fn the_reservoir_follows_the_weights() {
        let params = Params { reservoir: 30, rate: 0.3, ..Params::default() };
        let mut learner = learner(20, 9, params, 5);
        let rows = rows(400, 9, 6);
        let labels: Vec<u32> = (0..400).map(|i| i % 4).collect();
        let all = Batch::new(Features::new(&rows, 9).unwrap(), Labels::single(&labels)).unwrap();
        for (start, end) in [(0, 1), (1, 5), (5, 150), (150, 151), (151, 400)] {
            learner.learn(all.slice(start..end)).unwrap();
            let points = learner.reservoir.features().chunks_exact(9);
            for (x, found) in points.zip(learner.reservoir.projections().chunks_exact(20)) {
                let mut expected = vec![0.0; 20];
                project_row(&learner.weights, x, &mut expected);
                for (found, expected) in found.iter().zip(&expected) {
                    assert!((found - expected).abs() < 1e-4, "{found} {expected}");
                }
            }
        }
        assert_eq!(learner.reservoir.len(), 30);
        assert!(learner.seen == 400);
    }

    #[test]
    fn the_trigger_decides_when_a_function_is_given_out() {
        let rows = rows(250, 9, 6);
        let labels: Vec<u32> = (0..250).map(|i| i % 4).collect();
        let all = Batch::new(Features::new(&rows, 9).unwrap(), Labels::single(&labels)).unwrap();
        let changes = |trigger, threshold| {
            let params = Params { reservoir: 30, trigger, threshold, ..Params::default() };
            let mut learner = learner(20, 9, params, 5);
            let mut changes = Vec::new();
            for row in 0..250 {
                let before = learner.hash_function().parts().clone();
                let step = learner.learn(all.slice(row..row + 1)).unwrap();
                let changed = *learner.hash_function().parts() != before;
                assert_eq!(step.function_changed, changed);
                if changed {
                    changes.push(row + 1);
                }
            }
            changes
        };
        assert_eq!(changes(Trigger::Fixed, 0.0), [100, 200]);
        assert!(changes(Trigger::Always, 0.0).len() > 200);
        assert_eq!(changes(Trigger::Mi, 1e9), [0; 0]);
        assert!(changes(Trigger::Mi, 0.0).iter().all(|row| row % 100 == 0));
    }
}
