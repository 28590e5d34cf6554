//! brook: rows with several labels.

use hashbrook::{Batch, Codes, Features, LabelList, Model};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::brook::{AsBatch, Rows, brook, learned};
use crate::streams::setup_with;

/// A generator of rows. Each label has a direction; a row is the sum of the directions of its
/// labels, plus noise.
struct World {
    dim: usize,
    directions: Vec<f32>,
    rng: ChaCha8Rng,
}

impl World {
    fn new(labels: usize, dim: usize, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let directions = (0..labels * dim).map(|_| rng.random_range(-1.0..1.0)).collect();
        World { dim, directions, rng }
    }

    fn rows(&mut self, sets: &[Vec<u32>]) -> Rows {
        let (dim, mut labels) = (self.dim, LabelList::new());
        let mut features = Vec::new();
        for set in sets {
            labels.push_set(set);
            for i in 0..dim {
                let sum: f32 = set.iter().map(|&l| self.directions[l as usize * dim + i]).sum();
                features.push(sum + self.rng.random_range(-0.3..0.3));
            }
        }
        Rows { dim, features, labels }
    }

    /// Returns `count` sets of `size` labels out of `labels`.
    fn sets(&mut self, count: usize, labels: u32, size: usize) -> Vec<Vec<u32>> {
        let mut draw = || {
            let mut set: Vec<u32> = Vec::new();
            while set.len() < size {
                let label = self.rng.random_range(0..labels);
                if !set.contains(&label) {
                    set.push(label);
                }
            }
            set
        };
        (0..count).map(|_| draw()).collect()
    }
}

fn model(rows: &Rows, bits: usize, lift: &str) -> Model {
    let setup = setup_with(|setup| setup.warmup = Some(300));
    // All bits are label bits, because these tests are about labels.
    let method = brook(&[("lift", lift), ("detail", "0")]);
    let model = method.start_with(rows.dim, bits, 1, setup).unwrap();
    learned(model, [rows.as_batch()])
}

fn codes(model: &Model, rows: &Rows) -> Codes {
    model.hash_function().encode(rows.as_batch().features()).unwrap()
}

/// Returns the mean distance between rows, by the number of labels that they share.
fn by_shared(left: (&Codes, &Rows), right: (&Codes, &Rows)) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); 5];
    for i in 0..left.0.len() {
        for j in 0..right.0.len() {
            let (a, b) = (left.1.labels.view().row(i), right.1.labels.view().row(j));
            let shared = a.iter().filter(|label| b.contains(label)).count();
            let words = left.0.code(i).iter().zip(right.0.code(j));
            sums[shared].0 += f64::from(words.map(|(a, b)| (a ^ b).count_ones()).sum::<u32>());
            sums[shared].1 += 1.0;
        }
    }
    sums.into_iter().map(|(sum, count): (f64, f64)| sum / count).collect()
}

/// Tests with enough bits for every label to have its own, and with labels that share bits.
#[test]
fn rows_of_two_labels_are_near_those_of_either() {
    for (labels, lift) in [(6, "none"), (6, "rbf"), (40, "none"), (40, "rbf")] {
        let mut world = World::new(labels as usize, 50, 1);
        let mut sets = world.sets(2400, labels, 2);
        sets.extend(world.sets(600, labels, 1));
        let stream = world.rows(&sets);
        let model = model(&stream, 64, lift);
        let (singles, pairs) = (world.sets(150, labels, 1), world.sets(150, labels, 2));
        let (singles, pairs) = (world.rows(&singles), world.rows(&pairs));
        let (one, two) = (codes(&model, &singles), codes(&model, &pairs));
        let mixed = by_shared((&two, &pairs), (&one, &singles));
        assert!(mixed[1] < 0.8 * mixed[0], "{labels} labels, {lift}: {mixed:?}");
        let among = by_shared((&two, &pairs), (&two, &pairs));
        assert!(among[1] < 0.85 * among[0], "{labels} labels, {lift}: {among:?}");
        assert!(among[2] < 0.5 * among[1], "{labels} labels, {lift}: {among:?}");
    }
}

#[test]
fn nested_labels_are_graded() {
    // Labels 0 to 39 are classes, and 40 to 44 superclasses. Vectors depend on the classes alone.
    let superclass = |class: u32| 40 + class % 5;
    for bits in [64, 128] {
        let mut world = World::new(45, 60, 2);
        world.directions[40 * 60..].fill(0.0);
        let nested = |sets: Vec<Vec<u32>>| -> Vec<Vec<u32>> {
            sets.into_iter().map(|set| vec![set[0], superclass(set[0])]).collect()
        };
        let sets = nested(world.sets(3000, 40, 1));
        let stream = world.rows(&sets);
        let model = model(&stream, bits, "none");
        let sets = nested(world.sets(200, 40, 1));
        let others = world.rows(&sets);
        let found = codes(&model, &others);
        let by = by_shared((&found, &others), (&found, &others));
        assert!(by[2] < 0.5 * by[1] && by[1] < 0.8 * by[0], "{bits} bits: {by:?}");
    }
}

/// A label that every row has carries no information; a label that always occurs with another one
/// repeats its information.
#[test]
fn labels_that_are_everywhere_or_come_together_do_no_harm() {
    for labels in [5, 50] {
        let mut world = World::new(labels as usize + 2, 60, 3);
        let mut sets = world.sets(2000, labels, 2);
        for set in &mut sets {
            set.push(labels);
            if set.contains(&0) {
                set.push(labels + 1);
            }
        }
        let stream = world.rows(&sets);
        let model = model(&stream, 64, "none");
        let parts = model.hash_function().parts().clone();
        let mut numbers = parts.weights.iter().chain(parts.offset.iter().flatten());
        assert!(numbers.all(|value| value.is_finite()));
        let first = Rows::select(stream.as_batch(), &(0..300).collect::<Vec<_>>());
        let found = codes(&model, &first);
        let by = by_shared((&found, &first), (&found, &first));
        // All rows share one label.
        assert!(by[2] < 0.85 * by[1] && by[3] < 0.7 * by[2], "{labels} labels: {by:?}");
    }
}

/// Learning single labels gives the same result however the labels are given. A few rows with a
/// second label among thousands of rows do not change how codes distinguish the other rows.
#[test]
fn a_rare_second_label_leaves_codes_of_classes() {
    let mut world = World::new(5, 30, 4);
    let mut sets = world.sets(2000, 5, 1);
    let stream = world.rows(&sets);
    let single: Vec<u32> = sets.iter().map(|set| set[0]).collect();
    let features = Features::new(&stream.features, 30).unwrap();
    let given = Batch::new(features, hashbrook::Labels::single(&single)).unwrap();
    let in_sets = model(&stream, 64, "none");
    let setup = setup_with(|setup| setup.warmup = Some(300));
    let start = brook(&[("lift", "none"), ("detail", "0")]).start_with(30, 64, 1, setup).unwrap();
    let as_single = learned(start, [given]);
    assert_eq!(in_sets.hash_function().parts(), as_single.hash_function().parts());
    // In the second stream three rows have two labels.
    for set in &mut sets[..3] {
        let other = (set[0] + 1) % 5;
        set.push(other);
    }
    let mut labels = LabelList::new();
    sets.iter().for_each(|set| labels.push_set(set));
    let nearly = Rows { dim: 30, features: stream.features.clone(), labels };
    let (before, after) = (codes(&in_sets, &stream), codes(&model(&nearly, 64, "none"), &stream));
    let words = before.words().iter().zip(after.words());
    let different: u32 = words.map(|(a, b)| (a ^ b).count_ones()).sum();
    assert!(different < 2000 * 64 / 20, "{different} bits of 128,000");
}
