//! brook compared with every other method, by the papers' protocol: mAP, mAP@1000, precision within
//! radius 2 and the seconds of learning, at 32, 64 and 128 bits, as means over seeds.
//!
//! ```text
//! cargo run --release --example brook_table -- DIRECTORY [SEEDS] [WORDS ...]
//! ```
//!
//! DIRECTORY contains `mnist`, `cifar10-cnn` and `tinyimagenet-cnn`. Only rows whose text, such as
//! `mnist linear mihash`, contains all WORDS are computed. `linear` means vectors that are centred
//! and of unit length, for all methods. `lifted` means:
//!
//! * brook with 2,000 anchors, and all other methods on its lifted vectors, which are again centred
//!   and scaled to unit length;
//! * brook with 3,000 anchors, in full precision and compact, with label bits only;
//! * brook with default settings, which include detail bits.

#[path = "sets/mod.rs"]
mod sets;

use std::path::Path;

use hashbrook::dataset::Data;
use hashbrook::eval::Metric;
use hashbrook::protocol::Experiment;
use hashbrook::{Batch, Center, Features, Mean, Method, Setup};

use crate::sets::{SETS, Set};

/// Parameters that differ from the preset.
type Parameters = &'static [(&'static str, &'static str)];

/// All methods, with every variant that may be a method's best.
const METHODS: [(&str, &str, Parameters); 19] = [
    ("brook", "brook", &[("anchors", "2000"), ("detail", "0"), ("precision", "full")]),
    ("brook, 3,000 anchors", "brook", &[("detail", "0"), ("precision", "full")]),
    ("brook, compact", "brook", &[("detail", "0")]),
    ("brook, default", "brook", &[]),
    ("bsodh", "bsodh", &[]),
    ("bsodh, alternating", "bsodh", &[("order", "alternating")]),
    // With the papers' weights, all codes become similar when there are hundreds of classes.
    ("bsodh, 1/(C-1)", "bsodh", &[("dissimilar_weight", "0.006")]),
    ("hmoh", "hmoh", &[]),
    // This variant is for vectors that are lifted already.
    ("hmoh, no lift of its own", "hmoh", &[("lift", "none")]),
    ("hcoh", "hcoh", &[]),
    ("mihash, exact", "mihash", &[]),
    ("mihash, released", "mihash", &[("gradient", "released")]),
    ("osh", "osh", &[]),
    ("osh, hinge", "osh", &[("loss", "hinge")]),
    ("adapthash", "adapthash", &[]),
    ("okh", "okh", &[]),
    ("sketchhash", "sketchhash", &[]),
    ("frosh", "frosh", &[]),
    ("lsh", "lsh", &[]),
];

const BITS: [usize; 3] = [32, 64, 128];

type Failure = Box<dyn std::error::Error>;

/// mAP, mAP@1000, precision within radius 2, seconds.
type Scores = [f64; 4];

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().ok_or("usage: brook_table DIRECTORY [SEEDS] [WORDS ...]")?;
    let seeds: u64 = arguments.next().as_deref().unwrap_or("3").parse()?;
    let words: Vec<String> = arguments.collect();
    let wanted = |text: &str| words.iter().all(|word| text.contains(word.as_str()));
    println!(
        "{:46}{:^23}{:^23}{:^23}",
        "means; at 32, 64 and 128 bits each", "mAP", "mAP@1000", "P r<=2"
    );
    for set in &SETS {
        for lifted in [false, true] {
            let text = |method: &str| {
                format!("{} {} {method}", set.name, if lifted { "lifted" } else { "linear" })
            };
            // Without a lift, brook has no anchors, so its variants do not differ.
            let differs = |name: &str| lifted || !name.starts_with("brook,");
            let methods: Vec<_> =
                METHODS.iter().filter(|m| wanted(&text(m.0)) && differs(m.0)).collect();
            if methods.is_empty() {
                continue;
            }
            let mut sums = vec![[Scores::default(); BITS.len()]; methods.len()];
            let path = |file: &&str| Path::new(&directory).join(set.name).join(file);
            let files = |files: &[&str]| {
                files.iter().map(path).map(|p| p.display().to_string()).collect::<Vec<_>>()
            };
            let data = Data::load(&files(set.features), &files(set.labels))?;
            for seed in 1..=seeds {
                let (database, queries) = data.split(set.queries_per_class, seed)?;
                let given = Given {
                    set,
                    seed,
                    center: data.mean(),
                    database: database.batch(),
                    queries: queries.batch(),
                };
                let others = if lifted && methods.iter().any(|method| method.1 != "brook") {
                    Some(given.lift()?)
                } else {
                    None
                };
                for (method, sums) in methods.iter().zip(&mut sums) {
                    for (sums, bits) in sums.iter_mut().zip(BITS) {
                        let scores = match (&others, method.1) {
                            (Some(others), name) if name != "brook" => {
                                others.given(&given)?.run(method.1, method.2, bits, lifted)?
                            }
                            _ => given.run(method.1, method.2, bits, lifted)?,
                        };
                        sums.iter_mut()
                            .zip(scores)
                            .for_each(|(sum, score)| *sum += score / seeds as f64);
                    }
                }
            }
            for (method, sums) in methods.iter().zip(&sums) {
                let three = |at: usize| sums.map(|sum| format!("{:.3}", sum[at])).join(" ");
                let seconds = sums.map(|sum| format!("{:.2}", sum[3])).join(" ");
                println!(
                    "{:46}{:^23}{:^23}{:^23}{seconds} s",
                    text(method.0),
                    three(0),
                    three(1),
                    three(2)
                );
            }
        }
    }
    Ok(())
}

/// Data on which the methods are compared.
struct Given<'a> {
    set: &'a Set,
    seed: u64,
    center: Vec<f32>,
    database: Batch<'a>,
    queries: Batch<'a>,
}

/// Lifted vectors of the same data.
struct Lifted {
    center: Vec<f32>,
    database: Vec<f32>,
    queries: Vec<f32>,
}

impl Given<'_> {
    /// Returns all vectors as brook lifts them, after its warm-up on the stream.
    fn lift(&self) -> Result<Lifted, Failure> {
        let mut method = Method::named("brook")?;
        method.set("anchors", "2000")?;
        let mut setup = Setup::default();
        setup.center = Center::Given(self.center.clone());
        let mut model = method.start_with(self.center.len(), 32, self.seed, setup)?;
        model.learn(self.database.slice(0..method.warmup()))?;
        let function = model.hash_function();
        let database = function.lifted(self.database.features())?;
        let queries = function.lifted(self.queries.features())?;
        let mut mean = Mean::new(function.parts().lifted_dim());
        mean.add(Features::new(&database, function.parts().lifted_dim())?)?;
        Ok(Lifted { center: mean.value(), database, queries })
    }

    fn run(
        &self,
        name: &str,
        parameters: Parameters,
        bits: usize,
        lifted: bool,
    ) -> Result<Scores, Failure> {
        let mut method = Method::named(name)?;
        method.preset(self.set.preset)?;
        if name == "brook" && !lifted {
            method.set("lift", "none")?;
        }
        for (parameter, value) in parameters {
            method.set(parameter, value)?;
        }
        let mut setup = Setup::default();
        setup.center = Center::Given(self.center.clone());
        let mut model = method.start_with(self.center.len(), bits, self.seed, setup)?;
        let metrics = [Metric::Map, Metric::MapAt(1000), Metric::PrecisionWithin(2)];
        let experiment = Experiment {
            stream: self.database.slice(0..self.set.rows),
            database: self.database,
            queries: self.queries,
            batch: self.set.batch,
            every: None,
            metrics: &metrics,
        };
        let end = experiment.run(&mut model, |_| {})?.pop().ok_or("no rows")?;
        let [map, top, radius] = metrics.map(|metric| end.evaluation.get(metric));
        Ok([map, top, radius, end.learning.as_secs_f64()])
    }
}

impl Lifted {
    fn given<'a>(&'a self, given: &Given<'a>) -> Result<Given<'a>, Failure> {
        let batch = |values: &'a [f32], batch: Batch<'a>| {
            let labels =
                batch.labels().ok_or(hashbrook::Error::LabelsMissing { method: "table" })?;
            Batch::new(Features::new(values, self.center.len())?, labels)
        };
        Ok(Given {
            center: self.center.clone(),
            database: batch(&self.database, given.database)?,
            queries: batch(&self.queries, given.queries)?,
            ..*given
        })
    }
}
