//! **OSH**: F. Cakir, S. A. Bargal, S. Sclaroff, *Online Supervised Hashing*, CVIU 2017.
//!
//! Each label gets a random codeword `c` when it first appears. Every bit is a linear classifier
//! that separates the labels whose codeword has this bit set from the other labels. The classifiers
//! learn one point after the other, by gradient descent on
//!
//! ```text
//! boost:  sum_k  omega_k exp(-c_k w_k . x),   omega_k = exp(-sum_{j<k} c_j w_j . x)
//! hinge:  sum_k  max(0, 1 - c_k w_k . x)
//! ```
//!
//! # Memory and cost
//!
//! OSH stores the projection, and one codeword per label. A point costs O(dim x bits).
//!
//! # Deviations
//!
//! * Codewords are drawn when they are needed instead of from a pool of 10,000. They are redrawn
//!   while they equal another codeword (as long as unused codewords remain).
//! * Exponents are clipped at 50, so that weights stay finite on any data.
//! * The authors' released program forgets the map from labels to codewords after every step, so
//!   that all labels share the first codeword: `state = lost`.

use std::collections::HashMap;

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::checks::check_positive;
use super::random::{Purpose, random, start_projection};
use super::state::State;
use super::weights::{check_finite, function_of, take_weights};
use crate::kernel::{add_outer, project_row};
use crate::learner::{BuiltIn, Loaded, Start};
use crate::tensors::Tensors;
use crate::{Batch, HashFunction, HashParts, Learner, Result, Step};

/// The parameters of OSH. The defaults are those of the authors' program, but codewords are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Loss that is minimized.
    pub loss: Loss,
    /// Step size: eta. Above 0.
    pub rate: f64,
    /// State between steps: codewords are kept, or lost as in the released program.
    pub state: State,
}

/// The losses of OSH.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// The boosted exponential loss of the paper.
    Boost,
    /// The hinge loss, the alternative in the authors' program.
    Hinge,
}

impl Default for Params {
    fn default() -> Self {
        Params { loss: Loss::Boost, rate: 0.1, state: State::Kept }
    }
}

/// The OSH learner.
#[derive(Clone, Debug)]
pub(crate) struct Osh {
    params: Params,
    dim: usize,
    bits: usize,
    seed: u64,
    weights: Vec<f32>,
    /// Index of each label's codeword in `codewords`.
    places: HashMap<u32, usize>,
    /// Labels in order of appearance.
    labels: Vec<u32>,
    /// Codewords of the labels, of +1 and -1.
    codewords: Vec<Vec<f32>>,
}

impl Osh {
    /// Returns the index of a label's codeword, which is drawn if the label has none.
    fn codeword(&mut self, label: u32) -> usize {
        if self.params.state == State::Lost {
            // The map is empty for every label, so every label gets the first codeword.
            if self.codewords.is_empty() {
                self.add_codeword();
            }
            return 0;
        }
        if let Some(&place) = self.places.get(&label) {
            return place;
        }
        let place = self.codewords.len();
        self.add_codeword();
        self.places.insert(label, place);
        self.labels.push(label);
        place
    }

    fn add_codeword(&mut self) {
        let mut rng = random(self.seed, Purpose::Codewords, self.codewords.len() as u64);
        let mut draw = || -> Vec<f32> {
            (0..self.bits).map(|_| if rng.random_bool(0.5) { 1.0 } else { -1.0 }).collect()
        };
        let mut word = draw();
        // Once all possible codewords are used, duplicates are unavoidable.
        let room = self.bits >= 32 || self.codewords.len() < 1 << self.bits;
        while room && self.codewords.contains(&word) {
            word = draw();
        }
        self.codewords.push(word);
    }

    /// Updates the weights towards a codeword. `p` and `steps` are buffers.
    fn step(&mut self, x: &[f32], norm: f64, word: usize, p: &mut [f32], steps: &mut [f32]) {
        project_row(&self.weights, x, p);
        let word = &self.codewords[word];
        match self.params.loss {
            Loss::Boost => {
                // Sum of c_j w_j . x over the earlier bits, after their own updates.
                let mut margin = 0.0;
                for ((step, &c), &p) in steps.iter_mut().zip(word).zip(&*p) {
                    let (c, p) = (f64::from(c), f64::from(p));
                    let a = self.params.rate * (-margin - c * p).min(50.0).exp() * c;
                    margin += c * (p + a * norm);
                    *step = a as f32;
                }
            }
            Loss::Hinge => {
                for ((step, &c), &p) in steps.iter_mut().zip(word).zip(&*p) {
                    *step = if c * p < 1.0 { self.params.rate as f32 * c } else { 0.0 };
                }
            }
        }
        add_outer(&mut self.weights, x, steps);
    }
}

impl Learner for Osh {
    fn learn(&mut self, batch: Batch<'_>) -> Result<Step> {
        batch.features().expect_dim(self.dim)?;
        let labels = batch.require_labels(Osh::NAME)?;
        let before = self.weights.clone();
        let known = self.codewords.len();
        let (mut p, mut steps) = (vec![0.0; self.bits], vec![0.0; self.bits]);
        for row in 0..batch.len() {
            let x = batch.features().row(row);
            let norm = x.iter().map(|&value| f64::from(value) * f64::from(value)).sum();
            for &label in labels.row(row) {
                let word = self.codeword(label);
                self.step(x, norm, word, &mut p, &mut steps);
            }
        }
        if let Err(error) = check_finite(Osh::NAME, &self.weights) {
            self.weights = before;
            self.codewords.truncate(known);
            self.labels.truncate(known);
            self.places.retain(|_, place| *place < known);
            return Err(error);
        }
        Ok(Step { function_changed: self.weights != before, ..Step::default() })
    }

    fn hash_function(&self) -> HashFunction {
        function_of(self)
    }
}

impl BuiltIn for Osh {
    type Params = Params;
    const NAME: &'static str = "osh";
    const SUPERVISED: bool = true;

    fn check(params: &Params, _: &Start) -> Result<()> {
        check_positive("rate", params.rate)
    }

    fn start(params: &Params, start: Start) -> Self {
        Osh {
            params: params.clone(),
            dim: start.dim,
            bits: start.bits,
            seed: start.seed,
            weights: start_projection(&start),
            places: HashMap::new(),
            labels: Vec::new(),
            codewords: Vec::new(),
        }
    }

    fn hash_parts(&self) -> Result<HashParts> {
        Ok(HashParts::linear(self.dim, self.bits, self.weights.clone()))
    }

    fn save(&self, state: &mut Tensors) {
        state.put("osh.weights", self.bits, &self.weights);
        state.put("osh.labels", 1, &self.labels);
        state.put("osh.codewords", self.bits, &self.codewords.concat());
    }

    fn load(params: &Params, start: Start, state: &mut Tensors) -> Loaded<Self> {
        let Start { dim, bits, seed, .. } = start;
        let weights = take_weights(state, "osh.weights", dim, bits)?;
        let labels: Vec<u32> = state.take("osh.labels", 1)?;
        let codewords: Vec<f32> = state.take("osh.codewords", bits)?;
        let codewords: Vec<Vec<f32>> = codewords.chunks_exact(bits).map(<[f32]>::to_vec).collect();
        let places: HashMap<u32, usize> =
            labels.iter().enumerate().map(|(place, &label)| (label, place)).collect();
        if places.len() != labels.len() || labels.len() > codewords.len() {
            return Err("the labels and their codewords do not match".to_owned());
        }
        Ok(Osh { params: params.clone(), dim, bits, seed, weights, places, labels, codewords })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Features, Labels};

    fn start(params: Params, dim: usize, bits: usize) -> Osh {
        Osh::start(&params, Start { dim, bits, seed: 5, unit: true, warmup: 0, init: None })
    }

    fn rows(count: usize, dim: usize) -> Vec<f32> {
        (0..count * dim).map(|i| ((i * 7919 % 101) as f32 - 50.0) / 60.0).collect()
    }

    #[test]
    fn every_label_has_a_codeword_of_its_own_and_keeps_it() {
        let mut osh = start(Params::default(), 4, 6);
        let rows = rows(40, 4);
        let labels: Vec<u32> = (0..40).map(|i| i * 3 % 17).collect();
        for at in 0..40 {
            let x = Features::new(&rows[at * 4..(at + 1) * 4], 4).unwrap();
            osh.learn(Batch::new(x, Labels::single(&labels[at..=at])).unwrap()).unwrap();
        }
        assert_eq!(osh.codewords.len(), 17);
        let mut distinct = osh.codewords.concat();
        let mut words: Vec<&[f32]> = distinct.chunks_exact_mut(6).map(|word| &*word).collect();
        words.sort_by(|a, b| a.partial_cmp(b).unwrap());
        words.dedup();
        assert_eq!(words.len(), 17, "all different");
        assert_eq!(osh.labels[..4], [0, 3, 6, 9], "in the order in which they came up");

        let mut lost = start(Params { state: State::Lost, ..Params::default() }, 4, 6);
        let x = Features::new(&rows, 4).unwrap();
        lost.learn(Batch::new(x, Labels::single(&labels)).unwrap()).unwrap();
        assert_eq!(lost.codewords.len(), 1, "the released program has one for all");
    }

    /// Computes the steps as in the paper: bit after bit, each using the updated earlier bits.
    #[test]
    fn the_cheap_form_of_boosting_equals_the_plain_one() {
        for loss in [Loss::Boost, Loss::Hinge] {
            let (dim, bits) = (7, 9);
            let mut osh = start(Params { loss, ..Params::default() }, dim, bits);
            let mut w: Vec<f64> = osh.weights.iter().map(|&w| f64::from(w)).collect();
            for x in rows(60, dim).chunks_exact(dim) {
                let label = osh.codewords.len() as u32 % 3;
                let word = osh.codeword(label);
                let c: Vec<f64> = osh.codewords[word].iter().map(|&c| f64::from(c)).collect();
                let dot = |w: &[f64], k: usize| -> f64 {
                    x.iter()
                        .zip(w.iter().skip(k).step_by(bits))
                        .map(|(x, w)| f64::from(*x) * w)
                        .sum()
                };
                for k in 0..bits {
                    let margin: f64 = (0..k).map(|j| c[j] * dot(&w, j)).sum();
                    let step = match loss {
                        Loss::Boost => 0.1 * (-margin).exp() * (-c[k] * dot(&w, k)).exp() * c[k],
                        Loss::Hinge if c[k] * dot(&w, k) < 1.0 => 0.1 * c[k],
                        Loss::Hinge => 0.0,
                    };
                    for (i, x) in x.iter().enumerate() {
                        w[i * bits + k] += step * f64::from(*x);
                    }
                }
                let norm = x.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
                osh.step(x, norm, word, &mut vec![0.0; bits], &mut vec![0.0; bits]);
                for (found, expected) in osh.weights.iter().zip(&w) {
                    assert!((f64::from(*found) - expected).abs() < 1e-4 * expected.abs().max(1.0));
                }
            }
        }
    }
}
