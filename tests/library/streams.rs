//! Random streams for tests, and the settings for running them.

use hashbrook::{Batch, Features, LabelList, Labels, Setup};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// Returns a configuration with the same cases in every run: a bitwise comparison of floating-point
/// results must not depend on chance.
pub fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(20190127),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Returns the default setup, changed by `change`.
pub fn setup_with(change: impl FnOnce(&mut Setup)) -> Setup {
    let mut setup = Setup::default();
    change(&mut setup);
    setup
}

/// A labelled stream, cut into batches.
#[derive(Debug)]
pub struct Stream {
    pub dim: usize,
    pub features: Vec<f32>,
    pub labels: LabelList,
    /// End row of each batch.
    pub ends: Vec<usize>,
}

impl Stream {
    pub fn features(&self) -> Features<'_> {
        Features::new(&self.features, self.dim).unwrap()
    }

    pub fn labels(&self) -> Labels<'_> {
        self.labels.view()
    }

    pub fn batches(&self) -> impl Iterator<Item = Batch<'_>> {
        let all = Batch::new(self.features(), self.labels()).unwrap();
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(move |(start, &end)| all.slice(start..end))
    }
}

/// Generates difficult streams: batches of one row, a single class, classes that appear late or
/// never, several labels per row or none.
pub fn stream() -> impl Strategy<Value = Stream> {
    let sizes = prop_oneof![
        3 => prop::collection::vec(1..30usize, 2..7),
        1 => prop::collection::vec(Just(1usize), 2..25),
    ];
    (1..12usize, 1..7u32, sizes, 0..4usize, any::<u64>())
        .prop_map(|(dim, classes, sizes, kind, seed)| random(dim, classes, &sizes, kind, seed))
}

fn random(dim: usize, classes: u32, sizes: &[usize], kind: usize, seed: u64) -> Stream {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let centers: Vec<f32> =
        (0..classes as usize * dim).map(|_| rng.random_range(-1.0..1.0)).collect();
    let (mut features, mut labels, mut ends) = (Vec::new(), LabelList::default(), Vec::new());
    for (batch, &size) in sizes.iter().enumerate() {
        for _ in 0..size {
            let class = match kind {
                // Every batch adds a class.
                1 => rng.random_range(0..classes.min(batch as u32 + 1)),
                // Each batch has only two classes, and the next batch has two others.
                2 => (batch as u32 * 2 + rng.random_range(0..2)) % classes,
                _ => rng.random_range(0..classes),
            };
            let center = &centers[class as usize * dim..][..dim];
            features.extend(center.iter().map(|center| center + rng.random_range(-0.7..0.7)));
            if kind == 3 {
                let mut set: Vec<u32> = (0..classes).filter(|_| rng.random_bool(0.3)).collect();
                if rng.random_bool(0.8) {
                    set.push(class);
                }
                labels.push_set(&set);
            } else {
                labels.push_set(&[class]);
            }
        }
        ends.push(labels.len());
    }
    Stream { dim, features, labels, ends }
}
