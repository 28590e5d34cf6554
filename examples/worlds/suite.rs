//! The suite of generated worlds, similar to users' data: from thousands of identities to a rare
//! class.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;

use super::{Rows, World};

/// Rows to learn from, queries, and the labels by which hits are judged.
pub struct Drawn {
    /// Rows with the labels that a learner is given.
    pub stream: Rows,
    /// The true labels of the stream's rows.
    pub truth: Vec<Vec<u32>>,
    /// Queries with their true labels.
    pub queries: Rows,
    pub goal: Goal,
}

/// The measure of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Share of the first ten hits that have the query's label.
    Precision,
    /// Share of an identity's rows that are among the first ten hits.
    Recall,
    /// nDCG of the first ten hits, by the number of shared labels.
    Ndcg,
}

/// Name of a world, its description, and its generator, which takes a share of the full size and a
/// seed.
pub struct Named {
    pub name: &'static str,
    pub about: &'static str,
    pub draw: fn(f64, u64) -> Drawn,
}

pub const SUITE: &[Named] = &[
    Named {
        name: "identities",
        about: "20,000 identities with 3 to 5 rows each",
        draw: |scale, seed| identities(scale, seed, 0.2, 0.7, 0.02),
    },
    Named {
        name: "nuisance",
        about: "the same identities with strong nuisance variation",
        draw: |scale, seed| identities(scale, seed, 0.2, 2.0, 0.5),
    },
    Named {
        name: "classes-100",
        about: "60,000 rows in 100 classes",
        draw: |scale, seed| classes(scale, seed, 100),
    },
    Named {
        name: "classes-1000",
        about: "60,000 rows in 1,000 classes",
        draw: |scale, seed| classes(scale, seed, 1000),
    },
    Named {
        name: "classes-5000",
        about: "60,000 rows in 5,000 classes",
        draw: |scale, seed| classes(scale, seed, 5000),
    },
    Named {
        name: "rare",
        about: "1 % of the rows are positives",
        draw: |scale, seed| rare(scale, seed, 0.9),
    },
    Named {
        name: "rare-hard",
        about: "1 % of the rows are positives, hidden among the others",
        draw: |scale, seed| rare(scale, seed, 2.0),
    },
    Named {
        name: "hierarchy",
        about: "a fine label and a coarse one, judged by the fine one",
        draw: |scale, seed| hierarchy(scale, seed, true),
    },
    Named {
        name: "fine-alone",
        about: "the rows of `hierarchy` with the fine label alone",
        draw: |scale, seed| hierarchy(scale, seed, false),
    },
    Named {
        name: "tags",
        about: "8 of 5,000 tags a row",
        draw: |scale, seed| tags(scale, seed, 5000, 8),
    },
    Named {
        name: "few-labels",
        about: "1 % of the rows have a label, of 20 classes",
        draw: few_labels,
    },
    Named {
        name: "label-noise",
        about: "100 classes, 30 % of the labels wrong",
        draw: label_noise,
    },
    Named {
        name: "drift",
        about: "100 classes that appear and vanish along the stream",
        draw: drift,
    },
    Named {
        name: "dim-16",
        about: "16 dimensions, 50 classes",
        draw: |scale, seed| dimensions(scale, seed, 16),
    },
    Named {
        name: "dim-4096",
        about: "4,096 dimensions, 50 classes",
        draw: |scale, seed| dimensions(scale / 8.0, seed, 4096),
    },
    Named {
        name: "heavy-tails",
        about: "100 classes, some values a hundred times as large as others",
        draw: heavy_tails,
    },
    Named {
        name: "sparse",
        about: "1,024 non-negative numbers, most of them zero, 100 classes",
        draw: sparse,
    },
];

const QUERIES: usize = 1000;

fn scaled(count: usize, scale: f64) -> usize {
    ((count as f64 * scale) as usize).max(20)
}

fn drawn((stream, queries): (Rows, Rows), goal: Goal) -> Drawn {
    Drawn { truth: stream.labels.clone(), stream, queries, goal }
}

fn identities(scale: f64, seed: u64, noise: f32, nuisance: f32, leak: f32) -> Drawn {
    let count = scaled(20_000, scale) as u32;
    let world = World { noise, nuisance, leak, seed, ..World::new(128, count as usize) };
    let order = (0..count).flat_map(|id| std::iter::repeat_n(id, 3 + id as usize % 3)).collect();
    let step = (count as usize / QUERIES).max(1);
    let queried: Vec<u32> = (0..count).step_by(step).take(QUERIES).collect();
    drawn(world.draw_classes(order, &queried), Goal::Recall)
}

fn classes(scale: f64, seed: u64, classes: usize) -> Drawn {
    let classes = scaled(classes, scale.max(0.1));
    let world = World { noise: 0.9, nuisance: 1.0, seed, ..World::new(128, classes) };
    drawn(world.draw(scaled(60_000, scale), QUERIES), Goal::Precision)
}

/// Draws fifty clusters of equal size, and a small cluster whose rows are the positives. All
/// queries are positives.
fn rare(scale: f64, seed: u64, noise: f32) -> Drawn {
    let world = World { noise, nuisance: 1.0, seed, ..World::new(128, 51) };
    let rows = scaled(60_000, scale);
    let order = (0..rows as u32).map(|row| if row % 100 == 0 { 50 } else { row % 50 }).collect();
    let (mut stream, mut queries) = world.draw_classes(order, &[50; QUERIES / 2]);
    for labels in stream.labels.iter_mut().chain(&mut queries.labels) {
        *labels = vec![u32::from(labels[0] == 50)];
    }
    drawn((stream, queries), Goal::Precision)
}

fn hierarchy(scale: f64, seed: u64, several_labels: bool) -> Drawn {
    let world = World { several_labels, seed, ..World::new(128, 200) };
    let mut drawn = drawn(world.draw(scaled(40_000, scale), QUERIES), Goal::Precision);
    drawn.truth.iter_mut().chain(&mut drawn.queries.labels).for_each(|labels| labels.truncate(1));
    drawn
}

/// Draws rows that are the mean of their tags' directions, with noise. The frequencies of tags
/// differ widely.
fn tags(scale: f64, seed: u64, tags: usize, of_a_row: usize) -> Drawn {
    let (dim, tags, rows) = (256, scaled(tags, scale.max(0.02)), scaled(40_000, scale));
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let directions: Vec<f32> = (0..tags * dim).map(|_| random.sample(StandardNormal)).collect();
    let mut draw = |count: usize| {
        let mut drawn = Rows { dim, ..Rows::default() };
        for _ in 0..count {
            let mut labels: Vec<u32> = (0..of_a_row)
                .map(|_| (tags as f64 * random.random::<f64>().powi(2)) as u32)
                .map(|tag| tag.min(tags as u32 - 1))
                .collect();
            labels.sort_unstable();
            labels.dedup();
            for at in 0..dim {
                let sum: f32 = labels.iter().map(|&tag| directions[tag as usize * dim + at]).sum();
                let noise: f32 = random.sample(StandardNormal);
                drawn.values.push(sum / (labels.len() as f32).sqrt() + 0.7 * noise);
            }
            drawn.labels.push(labels);
        }
        drawn
    };
    let stream = draw(rows);
    drawn((stream, draw(QUERIES / 2)), Goal::Ndcg)
}

fn few_labels(scale: f64, seed: u64) -> Drawn {
    let world = World { noise: 0.9, seed, ..World::new(128, 20) };
    let mut drawn = drawn(world.draw(scaled(97_400, scale.max(0.2)), QUERIES), Goal::Precision);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    drawn.stream.labels.iter_mut().filter(|_| random.random_bool(0.99)).for_each(Vec::clear);
    drawn
}

fn label_noise(scale: f64, seed: u64) -> Drawn {
    let world = World { noise: 0.8, seed, ..World::new(128, 100) };
    let mut drawn = drawn(world.draw(scaled(40_000, scale), QUERIES), Goal::Precision);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for labels in &mut drawn.stream.labels {
        if random.random_bool(0.3) {
            *labels = vec![random.random_range(0..100)];
        }
    }
    drawn
}

/// Draws a stream in which each class is present for a fifth of the stream, so that classes
/// overlap. Queries are of all classes.
fn drift(scale: f64, seed: u64) -> Drawn {
    let world = World { sorted: true, noise: 0.8, seed, ..World::new(128, 100) };
    let (rows, mut random) = (scaled(40_000, scale), ChaCha8Rng::seed_from_u64(seed));
    let order = (0..rows)
        .map(|row| (row as f64 / rows as f64 * 80.0) as u32 + random.random_range(0..20))
        .collect();
    let queried: Vec<u32> = (0..QUERIES as u32).map(|row| row % 99).collect();
    drawn(world.draw_classes(order, &queried), Goal::Precision)
}

fn dimensions(scale: f64, seed: u64, dim: usize) -> Drawn {
    let world = World { noise: 0.6, nuisance: 1.0, leak: 0.02, seed, ..World::new(dim, 50) };
    drawn(world.draw(scaled(40_000, scale), QUERIES / 2), Goal::Precision)
}

fn heavy_tails(scale: f64, seed: u64) -> Drawn {
    let world = World { noise: 0.8, seed, ..World::new(128, 100) };
    let mut drawn = drawn(world.draw(scaled(40_000, scale), QUERIES), Goal::Precision);
    // The cube of a normal number has heavy tails, which affect a few rows in a thousand.
    let cubed = |value: &mut f32| *value = value.powi(3).clamp(-1e4, 1e4);
    drawn.stream.values.iter_mut().chain(&mut drawn.queries.values).for_each(cubed);
    drawn
}

/// Draws rows of words: each class has forty words that its rows use often, in addition to other
/// words.
fn sparse(scale: f64, seed: u64) -> Drawn {
    let (dim, classes, rows) = (1024, 100, scaled(20_000, scale));
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let words: Vec<usize> = (0..classes * 40).map(|_| random.random_range(0..dim)).collect();
    let mut draw = |count: usize| {
        let mut drawn = Rows { dim, ..Rows::default() };
        for row in 0..count {
            let class = if count == rows { random.random_range(0..classes) } else { row % classes };
            let mut values = vec![0.0f32; dim];
            for _ in 0..12 {
                values[words[class * 40 + random.random_range(0..40)]] += random.random::<f32>();
            }
            for _ in 0..25 {
                values[random.random_range(0..dim)] += random.random::<f32>();
            }
            drawn.values.extend(values);
            drawn.labels.push(vec![class as u32]);
        }
        drawn
    };
    let stream = draw(rows);
    drawn((stream, draw(QUERIES)), Goal::Precision)
}
