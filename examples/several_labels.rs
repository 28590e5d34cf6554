//! Rows with several labels: brook compared with every other method, at 64 bits, as means over
//! seeds. For mAP, an item is relevant if it shares at least one label with the query. For
//! nDCG@100, the gain is the number of shared labels.
//!
//! ```text
//! cargo run --release --example several_labels -- DIRECTORY [SEEDS] [WORDS ...]
//! ```
//!
//! DIRECTORY contains `mnist`, `cifar10-cnn` and `tinyimagenet-cnn`. Only rows whose text, such as
//! `cifar10-cnn pairs mihash`, contains all WORDS are computed.
//!
//! * *pairs*: images averaged two at a time, with the labels of both. A tenth of the pairs are of
//!   one class and have one label. No image of a query is in the database.
//! * *superclass*: each class also has one of 20 superclasses, assigned at random.
//! * *cosine*: ranking by the vectors themselves.
//!
//! The seed determines the pairs and superclasses. All methods learn the same stream of vectors,
//! centred and of unit length. brook has its default parameters, and the other methods have the
//! papers' parameters for the data set.

#[path = "sets/mod.rs"]
mod sets;

use std::path::Path;
use std::sync::Arc;

use hashbrook::dataset::Data;
use hashbrook::eval::Metric;
use hashbrook::protocol::{Experiment, Ranked, SeveralLabels, Vectors};
use hashbrook::{Center, Method, Setup};

use crate::sets::{SETS, Set};

type Failure = Box<dyn std::error::Error>;

/// mAP, nDCG@100, precision within radius 2, seconds of learning.
type Scores = [f64; 4];

const BITS: usize = 64;

const QUERIES: usize = 1_000;

/// Number of queries for the ranking by the vectors, which takes longer.
const BY_COSINE: usize = 300;

/// Largest number of rows to learn from a set.
const STREAM: usize = 40_000;

/// Name of a row, its method, and the parameters that differ from the preset.
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

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let directory =
        arguments.next().ok_or("usage: several_labels DIRECTORY [SEEDS] [WORDS ...]")?;
    let seeds: u64 = arguments.next().as_deref().unwrap_or("3").parse()?;
    let words: Vec<String> = arguments.collect();
    println!("{:48}{:>8}{:>10}{:>8}{:>10}", "means", "mAP", "nDCG@100", "P r<=2", "learn, s");
    for set in &SETS {
        let (several, kind) = match set.name {
            "tinyimagenet-cnn" => (SeveralLabels::Superclass, "superclass"),
            _ => (SeveralLabels::Pairs, "pairs"),
        };
        let text = |row: &Row| format!("{} {kind} {}", set.name, row.0);
        let wanted = |row: &&Row| words.iter().all(|word| text(row).contains(word.as_str()));
        let methods: Vec<&Row> = METHODS.iter().filter(wanted).collect();
        if methods.is_empty() {
            continue;
        }
        let path = |file: &&str| Path::new(&directory).join(set.name).join(file);
        let files = |files: &[&str]| {
            files.iter().map(path).map(|p| p.display().to_string()).collect::<Vec<_>>()
        };
        let data = Data::load(&files(set.features), &files(set.labels))?;
        let mut sums = vec![Scores::default(); methods.len()];
        for seed in 1..=seeds {
            let (database, queries) = several.draw(data.batch(), QUERIES, seed)?;
            let mut setup = Setup::default();
            setup.center = Center::Given(database.mean());
            let drawn = Drawn { set, database, queries, setup, seed };
            for (row, sum) in methods.iter().zip(&mut sums) {
                let scores = match row.1 {
                    "cosine" => drawn.by_cosine()?,
                    _ => drawn.run(row)?,
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

/// Data drawn from a set by a seed.
struct Drawn<'a> {
    set: &'a Set,
    database: Data,
    queries: Data,
    setup: Setup,
    seed: u64,
}

impl Drawn<'_> {
    fn run(&self, row: &Row) -> Result<Scores, Failure> {
        let mut method = Method::named(row.1)?;
        if row.1 != "brook" {
            method.preset(self.set.preset)?;
        }
        for (parameter, value) in row.2 {
            method.set(parameter, value)?;
        }
        let database = self.database.batch();
        let metrics = [Metric::Map, Metric::NdcgAt(100), Metric::PrecisionWithin(2)];
        let experiment = Experiment {
            stream: database.slice(0..self.set.rows.min(STREAM).min(database.len())),
            database,
            queries: self.queries.batch(),
            batch: self.set.batch,
            every: None,
            metrics: &metrics,
        };
        let (dim, setup) = (self.database.dim(), self.setup.clone());
        let mut model = method.start_with(dim, BITS, self.seed, setup)?;
        let end = experiment.run(&mut model, |_| {})?.pop().ok_or("no rows")?;
        let [map, ndcg, radius] = metrics.map(|metric| end.evaluation.get(metric));
        Ok([map, ndcg, radius, end.learning.as_secs_f64()])
    }

    /// Returns the scores of the ranking by the vectors, as all models prepare them.
    fn by_cosine(&self) -> Result<Scores, Failure> {
        let (database, queries) = (self.database.batch(), self.queries.batch());
        let lsh = Method::named("lsh")?;
        let lsh = lsh.start_with(self.database.dim(), BITS, self.seed, self.setup.clone())?;
        let vectors = Vectors::new(&lsh.hash_function(), database, queries)?;
        let ranked = Ranked::by_cosine(Arc::new(vectors), database, queries);
        let (some, all): (Vec<_>, Vec<_>) =
            ((0..BY_COSINE).collect(), (0..database.len()).collect());
        let metrics = [Metric::Map, Metric::NdcgAt(100)];
        let found = ranked.evaluate_part(&some, &all, &metrics)?;
        let [map, ndcg] = metrics.map(|metric| found.get(metric));
        // The cosine has no radius and needs no learning.
        Ok([map, ndcg, f64::NAN, 0.0])
    }
}
