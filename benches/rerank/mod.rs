//! Cost and quality of re-ranking by the vectors.

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use hashbrook::dataset::{Reader, read_labels_all};
use hashbrook::{
    Batch, Features, HashFunction, HashParts, Index, LabelNames, Labels, Method, VectorFormat,
    hamming,
};

use crate::on_threads;

const CANDIDATES: usize = 1000;

pub fn rerank() {
    costs();
    quality();
}

fn mixed(number: u64) -> u64 {
    let mixed = (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

fn random(number: u64) -> f32 {
    (mixed(number) >> 40) as f32 / (1 << 23) as f32 - 1.0
}

/// Returns vectors around the centres of 100 classes.
fn vectors(dim: usize, count: usize, seed: u64) -> Vec<f32> {
    let value = |at: usize| {
        let (row, column) = ((at / dim) as u64, (at % dim) as u64);
        let class = mixed(row ^ seed << 40) % 100;
        random(class << 20 | column) + 0.7 * random(at as u64 ^ seed << 44)
    };
    (0..dim * count).map(value).collect()
}

fn projection(dim: usize, bits: usize) -> HashFunction {
    let weights = (0..dim * bits).map(|at| random(at as u64 ^ 1 << 50)).collect();
    let mut parts = HashParts::linear(dim, bits, weights);
    parts.unit = true;
    HashFunction::new(parts).expect("finite weights")
}

/// Prints the microseconds per query of a search for 1,000 candidates by code, of a search that
/// also re-ranks them, and of the difference. Both searches are measured alternately.
fn costs() {
    /// A small number, so that some runs are not interrupted by other work.
    const QUERIES: usize = 16;
    const ROUNDS: usize = 64;
    println!(
        "one thread, {QUERIES} queries at once, 64 bits, k=10 of {CANDIDATES}: microseconds a query, medians and \
         the fastest"
    );
    println!(
        "{:>9} {:>5} {:>6} {:>10} {:>9} {:>9} {:>9} {:>9}",
        "items", "dim", "format", "where", "by code", "ranked", "added", "fastest"
    );
    let directory = tempfile::tempdir().expect("a directory");
    for (count, dim) in [(100_000, 128), (1_000_000, 128), (100_000, 784)] {
        let (rows, asked) = (vectors(dim, count, 1), vectors(dim, QUERIES * ROUNDS, 2));
        let features = Features::new(&rows, dim).expect("finite");
        let queries = Features::new(&asked, dim).expect("finite");
        let ids: Vec<u64> = (0..count as u64).collect();
        for format in [VectorFormat::F16, VectorFormat::I8] {
            let mut index = Index::with_vectors(projection(dim, 64), format);
            index.add(&ids, features, None).expect("new ids");
            let path = directory.path().join("a.index");
            index.save(&path).expect("room on the disk");
            for (place, index) in
                [("memory", index), ("a file", Index::open(&path).expect("sound"))]
            {
                index.build_search_structures().expect("sound");
                let part = |round: usize| queries.slice(round * QUERIES..(round + 1) * QUERIES);
                let by_code = |some: Features<'_>| {
                    drop(black_box(index.search(some, CANDIDATES)).expect("sound"))
                };
                let ranked = |some: Features<'_>| {
                    drop(black_box(index.rerank(CANDIDATES).search(some, 10)).expect("sound"))
                };
                let micros = |run: &dyn Fn(Features<'_>), round: usize| {
                    let clock = Instant::now();
                    run(part(round));
                    clock.elapsed().as_secs_f64() * 1e6 / QUERIES as f64
                };
                let mut times: Vec<[f64; 2]> = on_threads(1, || {
                    // The warm-up rounds verify checksums, so that the measured rounds do not.
                    (0..ROUNDS).for_each(|round| ranked(part(round)));
                    let time = |round| [micros(&by_code, round), micros(&ranked, round)];
                    (0..4 * ROUNDS).map(|round| time(round % ROUNDS)).collect()
                });
                let mut sorted = |of: fn(&[f64; 2]) -> f64, at: usize| {
                    times.sort_by(|one, other| of(one).total_cmp(&of(other)));
                    of(&times[at])
                };
                let middle = 2 * ROUNDS;
                println!(
                    "{count:>9} {dim:>5} {:>6} {place:>10} {:>9.1} {:>9.1} {:>9.1} {:>9.1}",
                    format!("{format:?}").to_lowercase(),
                    sorted(|times| times[0], middle),
                    sorted(|times| times[1], middle),
                    sorted(|times| times[1] - times[0], middle),
                    sorted(|times| times[1], 0) - sorted(|times| times[0], 0)
                );
            }
        }
    }
}

/// Returns a data set: vectors, their dimension, and labels; `None` if it is not available.
fn data(set: &str, features: &[&str], labels: &[&str]) -> Option<(Vec<f32>, usize, Vec<u32>)> {
    let directory = std::env::var_os("HASHBROOK_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data"),
        PathBuf::from,
    );
    let paths = |names: &[&str]| -> Option<Vec<String>> {
        let path = |name: &&str| directory.join(set).join(name);
        let there = names.iter().all(|name| path(name).exists());
        there.then(|| names.iter().map(|name| path(name).to_string_lossy().into_owned()).collect())
    };
    let (features, labels) = (paths(features)?, paths(labels)?);
    let mut reader = Reader::open_all(&features).expect("readable");
    let mut values = Vec::new();
    while let Some(rows) = reader.next(10_000).expect("readable") {
        values.extend_from_slice(rows.values());
    }
    let labels = read_labels_all(&labels, &mut LabelNames::new()).expect("readable");
    Some((values, reader.dim(), labels.view().as_single().expect("one label each").to_vec()))
}

fn quality() {
    println!(
        "\nbrook, 64 bits, learned on all but 1,000 queries: precision by labels at 1 and 10, the share of \
         the ten nearest\nby the cosine of f32 among the {CANDIDATES} first by code that are found, bytes of a \
         vector, bits that differ when\ncodes are made of the vectors that are kept"
    );
    println!(
        "{:>17} {:>22} {:>7} {:>7} {:>10} {:>6} {:>22}",
        "set", "ranked by", "P@1", "P@10", "ten alike", "bytes", "bits that differ"
    );
    let npy: (&[&str], &[&str]) = (&["features.npy"], &["labels.npy"]);
    let idx: (&[&str], &[&str]) = (
        &["train-images-idx3-ubyte.gz", "t10k-images-idx3-ubyte.gz"],
        &["train-labels-idx1-ubyte.gz", "t10k-labels-idx1-ubyte.gz"],
    );
    for (set, (features, labels)) in
        [("cifar10-cnn", npy), ("tinyimagenet-cnn", npy), ("mnist", idx)]
    {
        match data(set, features, labels) {
            None => println!("{set:>17} is not there; HASHBROOK_DATA names the directory it is in"),
            Some((values, dim, labels)) => quality_on(set, &values, dim, &labels),
        }
    }
}

fn quality_on(set: &str, values: &[f32], dim: usize, labels: &[u32]) {
    let step = labels.len() / 1000;
    let is_query = |row: usize| row.is_multiple_of(step) && row / step < 1000;
    let rows = |queries: bool| (0..labels.len()).filter(move |&row| is_query(row) == queries);
    let gather = |queries: bool| -> (Vec<f32>, Vec<u32>) {
        let vectors = rows(queries).flat_map(|row| &values[row * dim..(row + 1) * dim]);
        (vectors.copied().collect(), rows(queries).map(|row| labels[row]).collect())
    };
    let ((database, database_labels), (asked, asked_labels)) = (gather(false), gather(true));
    let features = Features::new(&database, dim).expect("finite");
    let queries = Features::new(&asked, dim).expect("finite");
    let batch = Batch::new(features, Labels::single(&database_labels)).expect("a label each");
    let mut model = Method::named("brook").and_then(|m| m.start(dim, 64, 1)).expect("a method");
    for start in (0..batch.len()).step_by(5000) {
        model.learn(batch.slice(start..batch.len().min(start + 5000))).expect("learnable");
    }
    let function = model.hash_function();
    let precision = |found: &[Vec<u64>], first: usize| {
        let right = found.iter().zip(&asked_labels).map(|(ids, label)| {
            let of_label = |id: &&u64| database_labels[**id as usize] == *label;
            ids.iter().take(first).filter(of_label).count()
        });
        right.sum::<usize>() as f64 / (found.len() * first) as f64
    };
    let print = |by: &str, found: &[Vec<u64>], rest: String| {
        let (one, ten) = (precision(found, 1), precision(found, 10));
        println!("{set:>17} {by:>22} {one:>7.4} {ten:>7.4} {rest}");
    };
    // The cosine of the vectors, over all items and among the candidates.
    let unit = |features: Features<'_>| -> Vec<f32> {
        let row = |row: &[f32]| {
            let length = row.iter().map(|value| value * value).sum::<f32>().sqrt().max(1e-12);
            row.iter().map(|value| value / length).collect::<Vec<f32>>()
        };
        features.values().chunks_exact(dim).flat_map(row).collect()
    };
    let (items, queried) = (unit(features), unit(queries));
    let cosine = |query: usize, id: u64| -> f32 {
        let row = &items[id as usize * dim..][..dim];
        queried[query * dim..][..dim].iter().zip(row).map(|(a, b)| a * b).sum()
    };
    let ten_of = |query: usize, ids: &mut dyn Iterator<Item = u64>| -> Vec<u64> {
        let mut scored: Vec<(f32, u64)> = ids.map(|id| (-cosine(query, id), id)).collect();
        scored.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        scored.into_iter().take(10).map(|(_, id)| id).collect()
    };
    let all = database_labels.len() as u64;
    let by_cosine: Vec<Vec<u64>> = (0..queries.len()).map(|q| ten_of(q, &mut (0..all))).collect();
    print("cosine, of everything", &by_cosine, String::new());
    let ids: Vec<u64> = (0..all).collect();
    let mut exact = Vec::new();
    for format in [VectorFormat::F16, VectorFormat::I8] {
        let mut index = Index::with_vectors(function.clone(), format);
        index.add(&ids, features, None).expect("new ids");
        if exact.is_empty() {
            let found = index.search(queries, CANDIDATES).expect("in memory");
            let codes: Vec<Vec<u64>> =
                found.iter().map(|row| row.iter().take(10).map(|hit| hit.id).collect()).collect();
            print("codes", &codes, String::new());
            exact = found
                .iter()
                .enumerate()
                .map(|(query, row)| ten_of(query, &mut row.iter().map(|hit| hit.id)))
                .collect();
            print("codes, then f32", &exact, format!("{:>10.4} {:>6}", 1.0, 4 * dim));
        }
        let found = index.rerank(CANDIDATES).search(queries, 10).expect("in memory");
        let found: Vec<Vec<u64>> =
            found.iter().map(|row| row.iter().map(|hit| hit.id).collect()).collect();
        let alike = found
            .iter()
            .zip(&exact)
            .map(|(found, exact)| found.iter().filter(|id| exact.contains(id)).count());
        let alike = alike.sum::<usize>() as f64 / (10 * found.len()) as f64;
        let bytes = index.statistics().vector_bytes / ids.len();
        index.renew_kept(function.clone()).expect("prepared alike");
        let codes = function.encode(features).expect("of its dimension");
        let differ: u64 = ids
            .iter()
            .map(|&id| {
                let item = index.get(id).expect("in memory").expect("there");
                u64::from(hamming(&item.code, codes.code(id as usize)))
            })
            .sum();
        let share = format!("{differ} of {} M", 64 * ids.len() / 1_000_000);
        let by = format!("codes, then {}", format!("{format:?}").to_lowercase());
        print(&by, &found, format!("{alike:>10.4} {bytes:>6} {share:>22}"));
    }
}
