//! Rows with several labels: brook beside every other method, at 64 bits, means over some seeds.
//! mAP counts an item as relevant that shares at least one label; the gain of nDCG@100 is the number
//! of labels shared.
//!
//! ```text
//! cargo run --release --example several_labels -- FOLDER [SEEDS] [WORDS ...]
//! ```
//!
//! FOLDER holds `mnist`, `cifar10-cnn` and `tinyimagenet-cnn`. Only rows whose text, such as
//! `cifar10-cnn pairs mihash`, contains all WORDS are computed.
//!
//! *pairs*: pictures averaged two at a time, with the labels of both; a tenth are pairs of one class
//! and have one label. No picture of a query is in the database. *superclass*: each class also has one
//! of 20 superclasses, dealt out at random. Pairs and superclasses are drawn by the seed. All methods
//! see the same stream of vectors, centred and of unit length; brook has its defaults, the others the
//! papers' parameters for the data set. *cosine* ranks by the vectors themselves.

use std::path::Path;

use hashbrook::dataset::Data;
use hashbrook::eval::Measures;
use hashbrook::protocol::Experiment;
use hashbrook::{Batch, Center, Features, LabelList, Mean, Method, Setup};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;

type Failure = Box<dyn std::error::Error>;

/// mAP, nDCG@100, precision within radius 2, seconds of learning.
type Scores = [f64; 4];

struct Set {
    name: &'static str,
    folder: &'static str,
    preset: &'static str,
    features: &'static [&'static str],
    labels: &'static [&'static str],
    pairs: bool,
    queries: usize,
    stream: usize,
    batch: usize,
}

const SETS: [Set; 3] = [
    Set {
        name: "mnist pairs",
        folder: "mnist",
        preset: "mnist",
        features: &["train-images-idx3-ubyte.gz", "t10k-images-idx3-ubyte.gz"],
        labels: &["train-labels-idx1-ubyte.gz", "t10k-labels-idx1-ubyte.gz"],
        pairs: true,
        queries: 1_000,
        stream: 20_000,
        batch: 2_000,
    },
    Set {
        name: "cifar10-cnn pairs",
        folder: "cifar10-cnn",
        preset: "cifar10",
        features: &["features.npy"],
        labels: &["labels.npy"],
        pairs: true,
        queries: 1_000,
        stream: 20_000,
        batch: 2_000,
    },
    Set {
        name: "tinyimagenet-cnn superclass",
        folder: "tinyimagenet-cnn",
        preset: "places205",
        features: &["features.npy"],
        labels: &["labels.npy"],
        pairs: false,
        queries: 1_000,
        stream: 40_000,
        batch: 10_000,
    },
];

/// What a row is called, the method, and what differs from its preset.
type Row = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const METHODS: [Row; 15] = [
    ("brook", "brook", &[]),
    ("brook, no lift", "brook", &[("lift", "none")]),
    ("bsodh", "bsodh", &[]),
    ("bsodh, alternating", "bsodh", &[("order", "alternating")]),
    ("mihash", "mihash", &[]),
    ("osh", "osh", &[]),
    ("osh, hinge", "osh", &[("loss", "hinge")]),
    ("okh", "okh", &[]),
    ("adapthash", "adapthash", &[]),
    ("sketchhash", "sketchhash", &[]),
    ("frosh", "frosh", &[]),
    ("hcoh", "hcoh", &[]),
    ("hmoh", "hmoh", &[]),
    ("lsh", "lsh", &[]),
    ("cosine", "cosine", &[]),
];

struct Rows {
    dim: usize,
    features: Vec<f32>,
    labels: LabelList,
}

impl Rows {
    fn new(dim: usize) -> Self {
        Rows { dim, features: Vec::new(), labels: LabelList::new() }
    }

    fn batch(&self) -> Result<Batch<'_>, hashbrook::Error> {
        Batch::new(Features::new(&self.features, self.dim)?, self.labels.view())
    }
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("usage: several_labels FOLDER [SEEDS] [WORDS ...]")?;
    let seeds: u64 = arguments.next().as_deref().unwrap_or("3").parse()?;
    let words: Vec<String> = arguments.collect();
    println!("{:48}{:>8}{:>10}{:>8}{:>10}", "means", "mAP", "nDCG@100", "P r<=2", "learn, s");
    for set in &SETS {
        let text = |row: &Row| format!("{} {}", set.name, row.0);
        let wanted = |row: &&Row| words.iter().all(|word| text(row).contains(word.as_str()));
        let methods: Vec<&Row> = METHODS.iter().filter(wanted).collect();
        if methods.is_empty() {
            continue;
        }
        let path = |file: &&str| Path::new(&folder).join(set.folder).join(file);
        let files = |files: &[&str]| {
            files.iter().map(path).map(|p| p.display().to_string()).collect::<Vec<_>>()
        };
        let data = Data::load(&files(set.features), &files(set.labels))?;
        let mut sums = vec![Scores::default(); methods.len()];
        for seed in 1..=seeds {
            let (database, queries) = set.draw(data.batch(), seed)?;
            for (row, sum) in methods.iter().zip(&mut sums) {
                let scores = match row.1 {
                    "cosine" => by_cosine(&database, &queries)?,
                    _ => set.run(row, &database, &queries, seed)?,
                };
                sum.iter_mut().zip(scores).for_each(|(sum, score)| *sum += score / seeds as f64);
            }
        }
        for (row, [map, ndcg, radius, seconds]) in methods.iter().zip(&sums) {
            println!("{:48}{map:8.3}{ndcg:10.3}{radius:8.3}{seconds:10.2}", text(row));
        }
    }
    Ok(())
}

impl Set {
    /// The database, in the order of the stream, and the queries.
    fn draw(&self, all: Batch<'_>, seed: u64) -> Result<(Rows, Rows), Failure> {
        let labels = all.labels().ok_or("the data has no labels")?;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.shuffle(&mut rng);
        let classes = labels.as_single().ok_or("one label each")?.iter().max().map_or(0, |c| c + 1);
        let mut superclasses: Vec<u32> = (0..classes).map(|class| classes + class % 20).collect();
        superclasses.shuffle(&mut rng);
        let dim = all.features().dim();
        let (mut database, mut queries) = (Rows::new(dim), Rows::new(dim));
        for (at, pictures) in order.chunks_exact(if self.pairs { 2 } else { 1 }).enumerate() {
            let rows = if at < self.queries { &mut queries } else { &mut database };
            let mean = |i: usize| {
                let sum: f32 = pictures.iter().map(|&p| all.features().row(p)[i]).sum();
                sum / pictures.len() as f32
            };
            rows.features.extend((0..dim).map(mean));
            let mut set: Vec<u32> = pictures.iter().map(|&p| labels.row(p)[0]).collect();
            if !self.pairs {
                set.push(superclasses[set[0] as usize]);
            }
            rows.labels.push_set(&set);
        }
        Ok((database, queries))
    }

    fn run(
        &self,
        row: &Row,
        database: &Rows,
        queries: &Rows,
        seed: u64,
    ) -> Result<Scores, Failure> {
        let mut method = Method::named(row.1)?;
        if row.1 != "brook" {
            method.preset(self.preset)?;
        }
        for (parameter, value) in row.2 {
            method.set(parameter, value)?;
        }
        let mut setup = Setup::default();
        setup.center = Center::Given(mean(database)?);
        let mut model = method.start_with(database.dim, 64, seed, setup)?;
        let experiment = Experiment {
            stream: database.batch()?.slice(0..self.stream),
            database: database.batch()?,
            queries: queries.batch()?,
            batch: self.batch,
            every: None,
            measures: Measures::new(&[], &[], &[2]),
        };
        let end = experiment.run(&mut model, |_| {})?.pop().ok_or("no rows")?;
        let found = end.evaluation;
        let (ndcg, radius) = (found.ndcg_at[0].1, found.precision_radius[0].1);
        Ok([found.map, ndcg, radius, end.learning.as_secs_f64()])
    }
}

fn mean(rows: &Rows) -> Result<Vec<f32>, hashbrook::Error> {
    let mut mean = Mean::new(rows.dim);
    mean.add(Features::new(&rows.features, rows.dim)?)?;
    Ok(mean.value())
}

/// The same measures of the ranking by cosine, of the first 300 queries.
fn by_cosine(database: &Rows, queries: &Rows) -> Result<Scores, Failure> {
    let center = mean(database)?;
    let prepared = |rows: &Rows| -> Vec<f32> {
        let centred = |row: &[f32]| -> Vec<f32> {
            let row: Vec<f32> = row.iter().zip(&center).map(|(value, c)| value - c).collect();
            let length = dot(&row, &row).sqrt().max(1e-12);
            row.iter().map(|value| value / length).collect()
        };
        rows.features.chunks_exact(rows.dim).flat_map(centred).collect()
    };
    let (items, asked) = (prepared(database), prepared(queries));
    let (mut map, mut ndcg, mut count) = (0.0, 0.0, 0.0);
    for (at, query) in asked.chunks_exact(queries.dim).enumerate().take(300) {
        let cosines: Vec<f32> = items.chunks_exact(database.dim).map(|x| dot(query, x)).collect();
        let mut order: Vec<usize> = (0..cosines.len()).collect();
        order.sort_by(|&a, &b| cosines[b].total_cmp(&cosines[a]));
        let wanted = queries.labels.view().row(at);
        let mut set = wanted.to_vec();
        set.sort_unstable();
        set.dedup();
        let gain = |item: &usize| {
            let labels = database.labels.view().row(*item);
            set.iter().filter(|label| labels.contains(label)).count() as f64
        };
        let gains: Vec<f64> = order.iter().map(gain).collect();
        let (mut found, mut precisions) = (0.0, 0.0);
        for (rank, _) in gains.iter().enumerate().filter(|(_, gain)| **gain > 0.0) {
            found += 1.0;
            precisions += found / (rank as f64 + 1.0);
        }
        let mut best = gains.clone();
        best.sort_by(|a, b| b.total_cmp(a));
        let discounted = |gains: &[f64]| -> f64 {
            let first = gains.iter().take(100).enumerate();
            first.map(|(rank, gain)| gain / (rank as f64 + 2.0).log2()).sum()
        };
        if found > 0.0 {
            map += precisions / found;
            ndcg += discounted(&gains) / discounted(&best);
            count += 1.0;
        }
    }
    Ok([map / count, ndcg / count, f64::NAN, 0.0])
}

/// In eight sums, so that it is vectorised.
fn dot(left: &[f32], right: &[f32]) -> f32 {
    let mut sums = [0.0; 8];
    let ((left, left_rest), (right, right_rest)) = (left.as_chunks::<8>(), right.as_chunks::<8>());
    for (left, right) in left.iter().zip(right) {
        (0..8).for_each(|lane| sums[lane] += left[lane] * right[lane]);
    }
    let rest: f32 = left_rest.iter().zip(right_rest).map(|(left, right)| left * right).sum();
    sums.iter().sum::<f32>() + rest
}
