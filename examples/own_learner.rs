//! A custom method: implemented, checked against the contract, and compared.
//!
//! Each class gets a random codeword. The projection is the sum over the classes of the class mean
//! times the codeword: a regression that assumes independent features.
//!
//! ```text
//! cargo run --release --example own_learner
//! ```

use std::collections::BTreeMap;

use hashbrook::check::{Subject, check_learner};
use hashbrook::dataset::{Data, Digits, LabelList, digits};
use hashbrook::eval::Metric;
use hashbrook::protocol::Experiment;
use hashbrook::{Batch, Error, HashFunction, HashParts, Learner, Method, Result, Step};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

// --- the method: 40 lines ---

struct ClassMeans {
    dim: usize,
    bits: usize,
    seed: u64,
    /// Row count and row sum of each class.
    classes: BTreeMap<u32, (f32, Vec<f32>)>,
}

impl ClassMeans {
    fn codeword(&self, class: u32) -> Vec<f32> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed ^ u64::from(class));
        (0..self.bits).map(|_| if rng.random_bool(0.5) { 1.0 } else { -1.0 }).collect()
    }
}

impl Learner for ClassMeans {
    fn learn(&mut self, batch: Batch<'_>) -> Result<Step> {
        let (features, labels) = (batch.features(), batch.labels());
        if features.dim() != self.dim {
            return Err(Error::Dimension { expected: self.dim, found: features.dim() });
        }
        let labels = labels.ok_or(Error::LabelsMissing { method: "class means" })?;
        for row in 0..batch.len() {
            for &label in labels.row(row) {
                let (count, sum) =
                    self.classes.entry(label).or_insert_with(|| (0.0, vec![0.0; self.dim]));
                *count += 1.0;
                sum.iter_mut().zip(features.row(row)).for_each(|(sum, x)| *sum += x);
            }
        }
        Ok(Step { function_changed: true, ..Step::default() })
    }

    fn hash_function(&self) -> HashFunction {
        let mut weights = vec![0.0; self.dim * self.bits];
        for (class, (count, sum)) in &self.classes {
            let codeword = self.codeword(*class);
            for (weights, sum) in weights.chunks_exact_mut(self.bits).zip(sum) {
                weights.iter_mut().zip(&codeword).for_each(|(w, bit)| *w += sum / count * bit);
            }
        }
        let parts = HashParts::linear(self.dim, self.bits, weights);
        HashFunction::new(parts).expect("sums of finite numbers are finite here")
    }
}

// --- checked ---

fn start(dim: usize, bits: usize, seed: u64) -> Result<ClassMeans> {
    Ok(ClassMeans { dim, bits, seed, classes: BTreeMap::new() })
}

fn main() -> Result<()> {
    let report = check_learner(&Subject::new(&start));
    for (name, outcome) in &report.outcomes {
        println!("{name:30} {outcome:?}");
    }
    report.assert();

    // --- and compared, on digits that are centred first ---

    let Digits { mut features, labels } = digits();
    let all = Data::new(Digits::DIM, features.clone(), LabelList::single(labels.clone()))?;
    let mean = all.mean();
    for row in features.chunks_exact_mut(Digits::DIM) {
        row.iter_mut().zip(&mean).for_each(|(value, mean)| *value -= mean);
    }
    let data = Data::new(Digits::DIM, features, LabelList::single(labels))?;
    let (database, queries) = data.split(20, 1)?;
    let experiment = Experiment {
        stream: database.batch(),
        database: database.batch(),
        queries: queries.batch(),
        batch: 200,
        every: None,
        metrics: &[Metric::Map],
    };
    let mut map = BTreeMap::new();
    let mut measure = |name: &str, learner: &mut dyn Learner| -> Result<()> {
        let checkpoints = experiment.run(learner, |_| {})?;
        let last = checkpoints.last().map(|last| last.evaluation.get(Metric::Map));
        map.extend(last.map(|map| (name.to_owned(), map)));
        Ok(())
    };
    measure("class means", &mut start(Digits::DIM, 32, 1)?)?;
    for name in ["lsh", "bsodh", "mihash"] {
        measure(name, &mut Method::named(name)?.start(Digits::DIM, 32, 1)?)?;
    }
    println!();
    for (name, map) in &map {
        println!("{name:30} mAP {map:.3}");
    }
    assert!(map["class means"] > map["lsh"]);
    Ok(())
}
