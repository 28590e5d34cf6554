//! When should the codes of all items be made anew? Three ways to tell, each measured by how good search is on the
//! way, for the number of renewals that it asks for.
//!
//! ```text
//! cargo run --release --example renewal_policies -- FOLDER
//! ```
//!
//! FOLDER holds the folders `mnist` and `cifar10-cnn`. A stream of 10,000 rows is put in and learned, 500 at a time,
//! mixed or with two classes at a time. After each step, items and queries have codes of the function that was last
//! renewed to, and mAP is measured over all that came so far. The ways: *every* so many steps; *flips*, when so large a
//! share of the bits of 1,000 items would change; *information*, when the mutual information of distances and labels among
//! these items would grow by so much.

#[path = "sets/mod.rs"]
mod sets;

use hashbrook::dataset::Data;
use hashbrook::eval::{Metric, evaluate};
use hashbrook::{Batch, Codes, Features, HashFunction, LabelList, Method, hamming};

const ROWS: usize = 10_000;
const STEP: usize = 500;
const STEPS: usize = ROWS / STEP;
const SAMPLE: usize = 1000;
const BITS: usize = 64;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Rows of a data set, in an order of their own.
struct Rows {
    values: Vec<f32>,
    labels: Vec<u32>,
    dim: usize,
}

impl Rows {
    fn of(batch: Batch<'_>, order: &[usize]) -> Rows {
        let labels = batch.labels().expect("the sets are labelled");
        let values = order.iter().flat_map(|&row| batch.features().row(row).to_vec()).collect();
        let labels = order.iter().map(|&row| labels.row(row)[0]).collect();
        Rows { values, labels, dim: batch.features().dim() }
    }

    fn features(&self, rows: std::ops::Range<usize>) -> Outcome<Features<'_>> {
        Ok(Features::new(&self.values[rows.start * self.dim..rows.end * self.dim], self.dim)?)
    }

    fn labels(&self, rows: std::ops::Range<usize>) -> LabelList {
        LabelList::single(self.labels[rows].to_vec())
    }
}

/// What is known of a function at a step: how good search is by it, and what a newer one would change.
#[derive(Clone, Copy, Default)]
struct Cell {
    map: f64,
    flips: f64,
    information: f64,
}

fn main() -> Outcome<()> {
    let folder = std::env::args().nth(1).ok_or("usage: renewal_policies FOLDER")?;
    for set in &sets::SETS[..2] {
        let files = |names: &[&str]| -> Vec<String> {
            names.iter().map(|name| format!("{folder}/{}/{name}", set.name)).collect()
        };
        let data = Data::load(&files(set.features), &files(set.labels))?;
        let (database, queries) = data.split(30, 1)?;
        drop(data);
        let asked = Rows::of(queries.batch(), &(0..queries.batch().len()).collect::<Vec<_>>());
        for (name, two_at_a_time) in [("mixed", false), ("two classes at a time", true)] {
            let mut order: Vec<usize> = (0..ROWS).collect();
            if two_at_a_time {
                let labels = database.batch().labels().expect("the sets are labelled");
                order.sort_by_key(|&row| labels.row(row)[0] / 2);
            }
            let stream = Rows::of(database.batch(), &order);
            let cells = measure(&stream, &asked)?;
            println!("\n{}, {name}: mean mAP on the way (renewals)", set.name);
            report(&cells);
        }
    }
    Ok(())
}

/// By the step at which a function was learned, and the step at which it is in use.
fn measure(stream: &Rows, asked: &Rows) -> Outcome<Vec<Vec<Cell>>> {
    let mut method = Method::named("brook")?;
    method.set("anchors", "1000")?;
    let mut setup = hashbrook::Setup::default();
    setup.warmup = Some(1000);
    let mut model = method.start_with(stream.dim, BITS, 1, setup)?;
    let mut functions: Vec<HashFunction> = Vec::new();
    let mut cells = vec![vec![Cell::default(); STEPS]; STEPS];
    let starts: Vec<usize> = (0..ROWS).step_by(STEP).collect();
    for (step, &start) in starts.iter().enumerate() {
        let rows = start..start + STEP;
        let labels = stream.labels(rows.clone());
        model.learn(Batch::new(stream.features(rows.clone())?, labels.view())?)?;
        functions.push(model.hash_function());
        // Queries of classes that came so far.
        let here = &stream.labels[..rows.end];
        let known: Vec<usize> =
            (0..asked.labels.len()).filter(|&q| here.contains(&asked.labels[q])).collect();
        let query_labels = LabelList::single(known.iter().map(|&q| asked.labels[q]).collect());
        let sample: Vec<usize> = (0..rows.end).step_by(rows.end.div_ceil(SAMPLE)).collect();
        let mut newest: Option<(Codes, f64)> = None;
        for (learned, function) in functions.iter().enumerate().rev() {
            let codes = function.encode(stream.features(0..rows.end)?)?;
            let queries = function.encode(asked.features(0..asked.labels.len())?)?.select(&known);
            let labels = stream.labels(0..rows.end);
            let found =
                evaluate(&queries, query_labels.view(), &codes, labels.view(), &[Metric::Map])?;
            let sampled = codes.select(&sample);
            let labels: Vec<u32> = sample.iter().map(|&row| stream.labels[row]).collect();
            let information = information(&sampled, &labels);
            let (new, most) = newest.get_or_insert_with(|| (sampled.clone(), information));
            let flipped: u32 =
                sampled.iter().zip(new.iter()).map(|(old, new)| hamming(old, new)).sum();
            cells[learned][step] = Cell {
                map: found.get(Metric::Map),
                flips: f64::from(flipped) / (sample.len() * BITS) as f64,
                information: *most - information,
            };
        }
    }
    Ok(cells)
}

/// The mutual information of the distance of two items and whether they have one label, in bits.
fn information(codes: &Codes, labels: &[u32]) -> f64 {
    let mut counts = [[0.0f64; BITS + 1]; 2];
    for one in 0..labels.len() {
        for other in 0..one {
            let same = usize::from(labels[one] == labels[other]);
            counts[same][hamming(codes.code(one), codes.code(other)) as usize] += 1.0;
        }
    }
    let all: f64 = counts.iter().flatten().sum();
    let entropy = |counts: &[f64]| -> f64 {
        let sum: f64 = counts.iter().sum();
        counts.iter().filter(|&&n| n > 0.0).map(|n| -n / sum * (n / sum).log2()).sum()
    };
    let both: Vec<f64> = (0..=BITS).map(|d| counts[0][d] + counts[1][d]).collect();
    let given = counts
        .iter()
        .map(|of| of.iter().sum::<f64>() / all * entropy(of))
        .filter(|h| h.is_finite());
    entropy(&both) - given.sum::<f64>()
}

/// How good search is on the way, and how many renewals it takes, if codes are renewed when `due`.
fn run(cells: &[Vec<Cell>], due: impl Fn(usize, usize, Cell) -> bool) -> (f64, usize) {
    let (mut in_use, mut renewals, mut sum) = (0, 0, 0.0);
    let at = |learned: usize, step: usize| cells[learned][step];
    for step in 0..STEPS {
        if step > in_use && due(in_use, step, at(in_use, step)) {
            (in_use, renewals) = (step, renewals + 1);
        }
        sum += at(in_use, step).map;
    }
    (sum / STEPS as f64, renewals)
}

fn report(cells: &[Vec<Cell>]) {
    let line = |name: &str, of: Vec<(f64, usize)>| {
        let cells: Vec<String> = of.iter().map(|(map, n)| format!("{map:.3} ({n})")).collect();
        println!("{name:>12}  {}", cells.join("  "));
    };
    line("always", vec![run(cells, |_, _, _| true)]);
    line("never", vec![run(cells, |_, _, _| false)]);
    line("every", [2, 4, 7, 10].map(|n| run(cells, |used, step, _| step - used >= n)).to_vec());
    let shares = [0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2];
    line("flips", shares.map(|least| run(cells, |_, _, cell| cell.flips >= least)).to_vec());
    let gains = [0.001, 0.003, 0.01, 0.02, 0.03, 0.05, 0.1];
    line(
        "information",
        gains.map(|least| run(cells, |_, _, cell| cell.information >= least)).to_vec(),
    );
    let last = STEPS - 1;
    let stale = [0, STEPS / 4, STEPS / 2, last].map(|learned| cells[learned][last].map);
    println!(
        "{:>12}  at the end, by the functions of the first, a quarter, half and all of the stream: {stale:.3?}",
        "stale"
    );
}
