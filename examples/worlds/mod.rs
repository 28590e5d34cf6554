//! Generated data similar to users' data: many classes, long tails, several labels, wrong and
//! missing labels.
//!
//! Class means lie in a subspace. Rows scatter around them, most of all in nuisance directions that
//! do not depend on the class (lighting, length, language). Some of this scatter leaks into the
//! subspace.

#![allow(dead_code, reason = "not every user takes all of it")]

pub mod suite;

use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;

/// Description of a data set. Start from [`World::new`], and change individual fields.
#[derive(Clone, Debug)]
pub struct World {
    pub dim: usize,
    pub classes: usize,
    /// Whether class sizes fall as one over the rank; otherwise they are equal.
    pub long_tailed: bool,
    /// Whether each row has a second label, which is that of a group of ten classes.
    pub several_labels: bool,
    /// Whether rows arrive class by class; otherwise they arrive mixed.
    pub sorted: bool,
    /// Scatter within a class, relative to the scatter of the class means.
    pub noise: f32,
    /// Scatter in the directions that do not depend on the class, and the share of this scatter
    /// that leaks into the subspace.
    pub nuisance: f32,
    pub leak: f32,
    /// Share of rows with the label of another class, and share of rows without a label.
    pub wrong: f64,
    pub missing: f64,
    pub seed: u64,
}

/// Rows of a world, and their labels.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    pub values: Vec<f32>,
    pub labels: Vec<Vec<u32>>,
    pub dim: usize,
}

impl World {
    pub fn new(dim: usize, classes: usize) -> World {
        World {
            dim,
            classes,
            long_tailed: false,
            several_labels: false,
            sorted: false,
            noise: 0.6,
            nuisance: 1.5,
            leak: 0.1,
            wrong: 0.0,
            missing: 0.0,
            seed: 1,
        }
    }

    /// Describes 1,000 classes of 768 dimensions with a long tail, with 10 % of the labels wrong
    /// and 5 % missing.
    pub fn thousand_classes() -> World {
        World {
            noise: 0.7,
            nuisance: 0.3,
            long_tailed: true,
            wrong: 0.1,
            missing: 0.05,
            ..World::new(768, 1000)
        }
    }

    /// Draws rows to learn from, and queries with their true labels.
    pub fn draw(&self, rows: usize, queries: usize) -> (Rows, Rows) {
        let order: Vec<u32> = (0..rows).map(|row| self.class_of(row, rows)).collect();
        let queried: Vec<u32> = (0..queries).map(|row| self.class_of(row, queries)).collect();
        self.draw_classes(order, &queried)
    }

    /// Draws one row to learn from for each class in `order`, and queries of the classes in
    /// `queried`. Rows keep this order if the world is sorted.
    pub fn draw_classes(&self, mut order: Vec<u32>, queried: &[u32]) -> (Rows, Rows) {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        let subspace = (self.dim / 2).min(48);
        let mut normal = |scale: f32| scale * random.sample::<f32, _>(StandardNormal);
        let means: Vec<f32> = (0..self.classes * subspace).map(|_| normal(1.0)).collect();
        let leak: Vec<f32> = (0..self.dim * subspace).map(|_| normal(self.leak)).collect();
        if !self.sorted {
            order.shuffle(&mut random);
        }
        let mut vectors = |classes: &[u32]| {
            let mut values = Vec::with_capacity(classes.len() * self.dim);
            for &class in classes {
                let nuisance: Vec<f32> =
                    (subspace..self.dim).map(|_| random.sample(StandardNormal)).collect();
                let mean = &means[class as usize * subspace..][..subspace];
                for (at, mean) in mean.iter().enumerate() {
                    let leaked: f32 =
                        nuisance.iter().zip(&leak[at * self.dim..]).map(|(n, l)| n * l).sum();
                    let scatter: f32 = random.sample(StandardNormal);
                    values.push(mean + self.noise * (scatter + leaked));
                }
                values.extend(nuisance.iter().map(|value| self.nuisance * value));
            }
            values
        };
        let (values, queried_values) = (vectors(&order), vectors(queried));
        let labels = |classes: &[u32]| classes.iter().map(|&class| self.labels(class)).collect();
        let mut stream = Rows { values, labels: labels(&order), dim: self.dim };
        let queries = Rows { values: queried_values, labels: labels(queried), dim: self.dim };
        for labels in &mut stream.labels {
            if random.random_bool(self.wrong) {
                *labels = self.labels(random.random_range(0..self.classes as u32));
            }
            if random.random_bool(self.missing) {
                labels.clear();
            }
        }
        (stream, queries)
    }

    /// Returns the class of a row among `rows` rows that are sorted by class.
    fn class_of(&self, row: usize, rows: usize) -> u32 {
        let share = (row as f64 + 0.5) / rows as f64;
        let class = match self.long_tailed {
            false => share * self.classes as f64,
            // The sum of 1/rank up to a class grows as the logarithm of the class.
            true => (self.classes as f64 + 1.0).powf(share) - 1.0,
        };
        (class as u32).min(self.classes as u32 - 1)
    }

    fn labels(&self, class: u32) -> Vec<u32> {
        match self.several_labels {
            false => vec![class],
            true => vec![class, self.classes as u32 + class / 10],
        }
    }
}
