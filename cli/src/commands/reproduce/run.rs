//! Runs a cell.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::time::Instant;

use anyhow::{Result, bail};
use hashbrook::dataset::{Data, Digits, digits};
use hashbrook::eval::Metric;
use hashbrook::learners::bsodh::dense::DenseBsodh;
use hashbrook::protocol::{Checkpoint, Experiment, SeveralLabels};
use hashbrook::{Batch, Center, Codes, Features, LabelList, Method, Model, Setup, hamming};

use super::plan::{Cell, DENSE, Dataset};
use super::store::{Classes, Drawn, Point, Record, Taught};
use super::tsne;
use crate::commands::compare::{Contender, Protocol, Run, fingerprint};

/// Maximum number of rows per class, and of classes, that are measured for [`Classes`].
const ROWS_PER_CLASS: usize = 50;
const MOST_CLASSES: usize = 10;

/// Metrics of a [`Point`] besides mAP and precision@R.
const TOP: Metric = Metric::MapAt(1000);
const RADIUS: Metric = Metric::PrecisionWithin(2);

/// A data set in memory, with the rows of the current cell.
pub struct Loaded {
    pub name: String,
    data: Data,
    center: Vec<f32>,
    /// Checksum of the data.
    pub fingerprint: String,
    split: Option<Split>,
}

/// Split for a seed: rows of the data, or rows combined from them that have several labels.
struct Split {
    seed: u64,
    several: Option<SeveralLabels>,
    database: Data,
    queries: Data,
}

impl Loaded {
    /// Returns whether the files of a data set exist.
    pub fn is_there(dataset: &Dataset, directory: Option<&Path>) -> bool {
        let mut files = dataset.features.iter().chain(&dataset.labels);
        match directory {
            _ if dataset.features.is_empty() => true,
            None => false,
            Some(directory) => files.all(|file| directory.join(&dataset.name).join(file).exists()),
        }
    }

    pub fn read(dataset: &Dataset, directory: Option<&Path>) -> Result<Loaded> {
        let data = match (dataset.features.as_slice(), directory) {
            ([], _) => {
                let Digits { features, labels } = digits();
                Data::new(Digits::DIM, features, LabelList::single(labels))?
            }
            (_, None) => bail!("no directory for {}", dataset.name),
            (_, Some(directory)) => {
                let path = |file: &String| directory.join(&dataset.name).join(file);
                let paths = |files: &[String]| -> Vec<String> {
                    files.iter().map(|file| path(file).display().to_string()).collect()
                };
                Data::load(&paths(&dataset.features), &paths(&dataset.labels))?
            }
        };
        let (center, fingerprint) = (data.mean(), fingerprint(&data));
        Ok(Loaded { name: dataset.name.clone(), data, center, fingerprint, split: None })
    }

    /// Runs a cell. The failure of a method that does not support the cell is a result, too.
    pub fn run(&mut self, dataset: &Dataset, cell: &Cell) -> Result<Record> {
        let mut record = Record {
            key: cell.key(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            data: self.fingerprint.clone(),
            parameters: cell.parameters.clone(),
            state_bytes: 0,
            checkpoints: Vec::new(),
            classes: Classes::default(),
            drawn: Vec::new(),
            measured: BTreeMap::new(),
            failed: None,
        };
        let (seed, several) = (cell.seed, cell.protocol.several_labels());
        // Drops the old split first: memory suffices for only one.
        let same = |split: &Split| split.seed == seed && split.several == several;
        let Split { database, queries, .. } = match self.split.take().filter(same) {
            Some(split) => self.split.insert(split),
            None => {
                let per_class = dataset.queries_per_class;
                let (database, queries) = cell.protocol.split(&self.data, per_class, seed)?;
                self.split.insert(Split { seed, several, database, queries })
            }
        };
        if cell.spec == DENSE {
            record.checkpoints = dense(&self.center, database, dataset, cell)?;
            return Ok(record);
        }
        if cell.protocol != Protocol::Paper {
            match beyond(&self.center, (database, queries), dataset, cell) {
                Ok(measured) => record.measured = measured,
                Err(error) => record.failed = Some(format!("{error:#}")),
            }
            return Ok(record);
        }
        let method = Contender::parse(&cell.spec, Some(&dataset.preset))?.method;
        let rows = dataset.rows.min(database.len());
        let mut setup = Setup::default();
        setup.center = Center::Given(self.center.clone());
        // With an explicit warm-up, brook has the number of anchors of its published tables for any
        // number of classes.
        setup.warmup = Some(method.warmup().min(rows));
        // Precision is measured at every cut-off only if curves are drawn.
        let first = if cell.every.is_some() { 1..=100 } else { 100..=100 };
        let mut metrics = vec![Metric::Map, TOP, RADIUS];
        metrics.extend(first.map(Metric::PrecisionAt));
        let experiment = Experiment {
            stream: database.batch().slice(0..rows),
            database: database.batch(),
            queries: queries.batch(),
            batch: cell.batch,
            every: cell.every,
            metrics: &metrics,
        };
        let started = method.start_with(database.dim(), cell.bits, cell.seed, setup);
        let outcome = started.and_then(|mut model| {
            let checkpoints = experiment.run(&mut model, |_| {})?;
            Ok((model, checkpoints))
        });
        match outcome {
            Err(error) => record.failed = Some(error.to_string()),
            Ok((model, checkpoints)) => {
                record.state_bytes = model.to_bytes().len();
                record.checkpoints = checkpoints.iter().map(point).collect();
                record.classes = classes(&model, database)?;
                if cell.tsne {
                    record.drawn = drawn(&model, database, experiment.stream, cell.batch)?;
                }
            }
        }
        Ok(record)
    }
}

/// Measures a cell by a protocol other than the paper's.
fn beyond(
    center: &[f32],
    (database, queries): (&Data, &Data),
    dataset: &Dataset,
    cell: &Cell,
) -> Result<BTreeMap<String, f64>> {
    let contender = Contender::named(&cell.spec, Some(&dataset.preset), cell.protocol)?;
    let run = Run {
        protocol: cell.protocol,
        contender: &contender,
        bits: cell.bits,
        seed: cell.seed,
        rows: dataset.rows,
        batch: Some(cell.batch),
        top: 1000,
        ndcg_at: 100,
        center: Center::Given(center.to_vec()),
        database: database.batch(),
        queries: queries.batch(),
    };
    let found = run.found()?;
    Ok(found.into_iter().filter_map(|(name, value)| Some((name, value.as_f64()?))).collect())
}

fn point(checkpoint: &Checkpoint) -> Point {
    let found = &checkpoint.evaluation;
    let precision_at = |(metric, value): &(Metric, f64)| match metric {
        Metric::PrecisionAt(r) => Some((*r, *value)),
        _ => None,
    };
    Point {
        seen: checkpoint.seen,
        seconds: checkpoint.learning.as_secs_f64(),
        map: found.get(Metric::Map),
        map_top: found.get(TOP),
        radius: found.get(RADIUS),
        precision_at: found.values.iter().filter_map(precision_at).collect(),
        iterations: checkpoint.step.changed_bits.len(),
        changed_bits: checkpoint.step.changed_bits.clone(),
    }
}

/// Measures the time of the literal form of bsodh, batch by batch; its quality is not measured.
fn dense(center: &[f32], database: &Data, dataset: &Dataset, cell: &Cell) -> Result<Vec<Point>> {
    let Method::Bsodh(params) = Contender::parse("bsodh", Some(&dataset.preset))?.method else {
        bail!("bsodh is a method");
    };
    // Vectors are prepared as in any model, and the start is that of any model.
    let mut setup = Setup::default();
    setup.center = Center::Given(center.to_vec());
    let lsh = Method::named("lsh")?.start_with(database.dim(), cell.bits, cell.seed, setup)?;
    let function = lsh.hash_function();
    let rows = dataset.rows.min(database.len());
    let stream = database.batch().slice(0..rows);
    let prepared = function.lifted(stream.features())?;
    let features = Features::new(&prepared, database.dim())?;
    let Some(labels) = stream.labels() else { bail!("rows without labels") };
    let weights = function.parts().weights.clone();
    let mut dense = DenseBsodh::new(params, database.dim(), cell.bits, weights);
    let (mut points, mut seconds) = (Vec::new(), 0.0);
    for start in (0..rows).step_by(cell.batch) {
        let batch = start..rows.min(start + cell.batch);
        let clock = Instant::now();
        dense.learn(features.slice(batch.clone()), labels.slice(batch.clone()));
        seconds += clock.elapsed().as_secs_f64();
        points.push(Point { seen: batch.end, seconds, ..Point::default() });
    }
    Ok(points)
}

/// Number of rows to draw.
const DRAWN: usize = 400;

/// Returns the codes of the items before the last batch, the codes of the last batch, and the codes
/// that the function gives the last batch.
fn drawn(model: &Model, database: &Data, stream: Batch<'_>, batch: usize) -> Result<Vec<Drawn>> {
    let Some(codes) = model.training_codes() else { return Ok(Vec::new()) };
    let start = stream.len() - codes.batch.len().min(stream.len());
    let (before, last) = (stream.slice(0..start), stream.slice(start..stream.len()));
    let labels = |batch: Batch<'_>, rows: usize| -> Vec<u32> {
        let labels = batch.labels();
        let first = |row: usize| labels.and_then(|labels| labels.row(row).first().copied());
        (0..rows).map(|row| first(row).unwrap_or(u32::MAX)).collect()
    };
    let known: HashMap<&[u32], &Vec<u64>> =
        codes.existing.iter().map(|(labels, code)| (labels.as_slice(), code)).collect();
    let (mut existing, mut existing_labels) = (Codes::new(model.bits())?, Vec::new());
    for label in labels(before, before.len().min(DRAWN)) {
        if let Some(code) = known.get(&[label][..]) {
            existing.push(code)?;
            existing_labels.push(label);
        }
    }
    let rows = last.len().min(DRAWN).min(batch);
    let first: Vec<usize> = (0..rows).collect();
    let linear = model.hash_function().encode(last.slice(0..rows).features())?;
    let draw = |name: &str, codes: &Codes, classes: Vec<u32>| {
        let pairs = codes.iter().flat_map(|a| codes.iter().map(move |b| hamming(a, b)));
        // The squared distance between codes of +1 and -1 is four times their Hamming distance.
        let squared: Vec<f64> = pairs.map(|distance| 4.0 * f64::from(distance)).collect();
        let different: BTreeSet<u32> = classes.iter().copied().collect();
        let names = different.into_iter().map(|label| name_of(database, label)).collect();
        let points = tsne::embed(&squared, codes.len());
        Drawn { name: name.to_owned(), classes, names, points }
    };
    Ok(vec![
        draw("B_e, existing items", &existing, existing_labels),
        draw("B_s, the last batch", &codes.batch.select(&first), labels(last, rows)),
        draw("sgn(W^T X_s)", &linear, labels(last, rows)),
    ])
}

/// Returns the name of a label, or its number if it has no name.
fn name_of(data: &Data, label: u32) -> String {
    let name = data.label_names().and_then(|names| names.name(label));
    name.map_or_else(|| label.to_string(), str::to_owned)
}

/// Measures the codes of the classes.
fn classes(model: &Model, database: &Data) -> Result<Classes> {
    let function = model.hash_function();
    let batch = database.batch();
    let Some(labels) = batch.labels() else { return Ok(Classes::default()) };
    let mut rows: HashMap<u32, Vec<usize>> = HashMap::new();
    for row in 0..labels.len() {
        let Some(&label) = labels.row(row).first() else { continue };
        let of = rows.entry(label).or_default();
        if of.len() < ROWS_PER_CLASS {
            of.push(row);
        }
    }
    let mut names: Vec<u32> = rows.keys().copied().collect();
    names.sort_unstable();
    let chosen: Vec<usize> = names.iter().flat_map(|name| rows[name].clone()).collect();
    let some = database.select(&chosen);
    let codes = function.encode(some.batch().features())?;
    let (mut starts, mut at) = (Vec::new(), 0);
    for name in &names {
        starts.push(at..at + rows[name].len());
        at += rows[name].len();
    }
    let most_frequent = |range: &std::ops::Range<usize>| {
        let mut votes: HashMap<&[u64], usize> = HashMap::new();
        range.clone().for_each(|row| *votes.entry(codes.code(row)).or_default() += 1);
        votes.into_iter().max_by(|a, b| (a.1, b.0).cmp(&(b.1, a.0))).map(|(code, _)| code.to_vec())
    };
    let distinct: HashSet<_> = starts.iter().map(most_frequent).collect();
    let few = &starts[..starts.len().min(MOST_CLASSES)];
    let bits = function.bits() as f64;
    let alike = |one: &std::ops::Range<usize>, other: &std::ops::Range<usize>| {
        let pairs = one.clone().flat_map(|i| other.clone().map(move |j| (i, j)));
        let (mut sum, mut count) = (0.0, 0.0);
        for (i, j) in pairs.filter(|(i, j)| i != j) {
            sum += 1.0 - f64::from(hamming(codes.code(i), codes.code(j))) / bits;
            count += 1.0;
        }
        if count > 0.0 { sum / count } else { 1.0 }
    };
    let set = |bit: usize| {
        let ones = codes.iter().filter(|code| code[bit / 64] >> (bit % 64) & 1 == 1).count();
        ones as f64 / codes.len() as f64
    };
    let taught = model.training_codes().map(|codes| {
        let existing: Vec<Vec<u64>> = codes.existing.into_iter().map(|(_, code)| code).collect();
        let bit = |code: &Vec<u64>, bit: usize| code[bit / 64] >> (bit % 64) & 1;
        let same =
            |at: &usize| existing.iter().all(|code| bit(code, *at) == bit(&existing[0], *at));
        Taught {
            same_bits: (0..function.bits()).filter(same).count(),
            distinct: existing.iter().collect::<HashSet<_>>().len(),
        }
    });
    Ok(Classes {
        taught,
        classes: names.len(),
        distinct: distinct.len(),
        names: names.iter().take(few.len()).map(|&label| name_of(database, label)).collect(),
        similarity: few.iter().map(|a| few.iter().map(|b| alike(a, b)).collect()).collect(),
        balance: (0..function.bits()).map(set).collect(),
    })
}
