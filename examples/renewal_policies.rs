//! Comparison of rules for when to re-encode all items, by the quality of search during a stream,
//! and by the number of renewals that each rule causes.
//!
//! ```text
//! cargo run --release --example renewal_policies -- DIRECTORY
//! ```
//!
//! DIRECTORY contains the directories `mnist`, `cifar10-cnn` and `tinyimagenet-cnn`. A fourth set,
//! of 1,000 classes, is generated. A stream of 10,000 rows is inserted and learned, 500 rows at a
//! time, either mixed or with a fifth of the classes at a time. After each step, items and queries
//! have codes of the function in use, and mAP is measured over all items inserted so far. The
//! rules:
//!
//! * *every*: after a number of steps;
//! * *flips*: when a given share of the bits of a sample would change;
//! * *information*: when the mutual information between distance and label sharing would grow by a
//!   given share of the entropy of label sharing;
//! * *default*: `gain:0.02`, the default rule of a store: an information gain of 2 %, or twice as
//!   many learned rows as the function in use has learned.

#[path = "sets/mod.rs"]
mod sets;
#[path = "worlds/mod.rs"]
mod worlds;

use hashbrook::dataset::Data;
use hashbrook::eval::{Metric, evaluate};
use hashbrook::{Batch, Codes, Features, HashFunction, LabelList, Method, hamming};
use worlds::World;

const ROWS: usize = 10_000;
const STEP: usize = 500;
const STEPS: usize = ROWS / STEP;
/// Number of rows of a sample: queries, each with a row of the same class.
const SAMPLE: usize = 1000;
const BITS: usize = 64;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Rows of a data set in the order of the stream.
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

/// Quality of search with one function at one step, and what the newest function would change.
#[derive(Clone, Copy, Default)]
struct Cell {
    map: f64,
    flips: f64,
    information: f64,
}

fn main() -> Outcome<()> {
    let directory = std::env::args().nth(1).ok_or("usage: renewal_policies DIRECTORY")?;
    for set in &sets::SETS {
        let files = |names: &[&str]| -> Vec<String> {
            names.iter().map(|name| format!("{directory}/{}/{name}", set.name)).collect()
        };
        let data = Data::load(&files(set.features), &files(set.labels))?;
        let (database, queries) =
            data.split(if set.name == "tinyimagenet-cnn" { 2 } else { 30 }, 1)?;
        drop(data);
        let queries = Rows::of(queries.batch(), &(0..queries.batch().len()).collect::<Vec<_>>());
        let stream = Rows::of(database.batch(), &(0..ROWS).collect::<Vec<_>>());
        drop(database);
        compare(set.name, stream, &queries)?;
    }
    let (stream, queries) = World::new(128, 1000).draw(ROWS, 1000);
    let [stream, queries] = [stream, queries].map(|rows| Rows {
        values: rows.values,
        labels: rows.labels.iter().map(|labels| labels[0]).collect(),
        dim: rows.dim,
    });
    compare("generated, 1,000 classes", stream, &queries)
}

/// Prints the outcome of all rules for a stream: mixed, and with a fifth of its classes at a time.
fn compare(name: &str, mixed: Rows, queries: &Rows) -> Outcome<()> {
    println!("\n{name}, mixed: mean mAP during the stream (renewals)");
    report(&measure(&mixed, queries)?);
    let classes = mixed.labels.iter().max().map_or(1, |last| last + 1);
    let mut order: Vec<usize> = (0..ROWS).collect();
    order.sort_by_key(|&row| mixed.labels[row] * 5 / classes);
    let sorted = Rows {
        values: order
            .iter()
            .flat_map(|&row| &mixed.values[row * mixed.dim..][..mixed.dim])
            .copied()
            .collect(),
        labels: order.iter().map(|&row| mixed.labels[row]).collect(),
        dim: mixed.dim,
    };
    println!("\n{name}, a fifth of the classes at a time: mean mAP during the stream (renewals)");
    report(&measure(&sorted, queries)?);
    Ok(())
}

/// Returns the cells, indexed by the step at which the function was learned and by the step at
/// which the function is in use.
fn measure(stream: &Rows, held_out: &Rows) -> Outcome<Vec<Vec<Cell>>> {
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
        // Queries whose classes have been inserted so far.
        let here = &stream.labels[..rows.end];
        let known: Vec<usize> =
            (0..held_out.labels.len()).filter(|&q| here.contains(&held_out.labels[q])).collect();
        let query_labels = LabelList::single(known.iter().map(|&q| held_out.labels[q]).collect());
        let sample = sample(here);
        let mut newest: Option<(Codes, f64)> = None;
        for (learned, function) in functions.iter().enumerate().rev() {
            let codes = function.encode(stream.features(0..rows.end)?)?;
            let queries =
                function.encode(held_out.features(0..held_out.labels.len())?)?.select(&known);
            let labels = stream.labels(0..rows.end);
            let found =
                evaluate(&queries, query_labels.view(), &codes, labels.view(), &[Metric::Map])?;
            let sampled = codes.select(&sample);
            let labels: Vec<u32> = sample.iter().map(|&row| stream.labels[row]).collect();
            let information = information(&sampled, &labels, sharing(here));
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

/// Returns rows with these labels: queries at regular intervals, each with the next row of its
/// class.
fn sample(labels: &[u32]) -> Vec<usize> {
    let mut is_drawn = vec![false; labels.len()];
    // An odd stride does not alias with classes that alternate.
    let stride = (2 * labels.len()).div_ceil(SAMPLE) | 1;
    for query in (0..labels.len()).step_by(stride) {
        let partner = (1..labels.len())
            .map(|step| (query + step) % labels.len())
            .find(|&other| labels[other] == labels[query]);
        is_drawn[query] = true;
        partner.into_iter().for_each(|row| is_drawn[row] = true);
    }
    (0..labels.len()).filter(|&row| is_drawn[row]).collect()
}

/// Returns the share of pairs of rows that have the same label.
fn sharing(labels: &[u32]) -> f64 {
    let mut counts = std::collections::HashMap::new();
    labels.iter().for_each(|label| *counts.entry(label).or_insert(0.0) += 1.0);
    let pairs: f64 = counts.values().map(|count: &f64| count * (count - 1.0)).sum();
    pairs / (labels.len() * (labels.len() - 1)) as f64
}

/// Returns the mutual information between the distance of two items and whether they share a label,
/// as a share of the entropy of the latter. `sharing` is the share of pairs with a common label
/// among all items; among the pairs of the sample this share is larger.
fn information(codes: &Codes, labels: &[u32], sharing: f64) -> f64 {
    let mut counts = [[0.0f64; BITS + 1]; 2];
    for one in 0..labels.len() {
        for other in 0..one {
            let different = usize::from(labels[one] != labels[other]);
            counts[different][hamming(codes.code(one), codes.code(other)) as usize] += 1.0;
        }
    }
    let entropy = |shares: &[f64]| -> f64 {
        shares.iter().filter(|&&share| share > 0.0).map(|share| -share * share.log2()).sum()
    };
    let weights = [sharing, 1.0 - sharing];
    let [same, different] = counts.map(|counts| {
        let all = counts.iter().sum::<f64>().max(1.0);
        counts.map(|count| count / all)
    });
    let both: Vec<f64> =
        same.iter().zip(&different).map(|(s, d)| weights[0] * s + weights[1] * d).collect();
    let given = weights[0] * entropy(&same) + weights[1] * entropy(&different);
    (entropy(&both) - given) / entropy(&weights)
}

/// Returns the mean mAP during the stream and the number of renewals, if codes are renewed whenever
/// `due` returns true.
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
    let gains = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2];
    line(
        "information",
        gains.map(|least| run(cells, |_, _, cell| cell.information >= least)).to_vec(),
    );
    let default = |used: usize, step: usize, cell: Cell| {
        cell.information >= 0.02 || step + 1 >= 2 * (used + 1)
    };
    line("default", vec![run(cells, default)]);
    let last = STEPS - 1;
    let stale = [0, STEPS / 4, STEPS / 2, last].map(|learned| cells[learned][last].map);
    println!(
        "{:>12}  at the end, by the functions of the first step, a quarter, half and all of the stream: {stale:.3?}",
        "stale"
    );
}
