//! `hashbrook size`: estimates the cost of a number of items in advance.

mod amount;
mod check;
mod clock;
mod codes;
mod growth;
mod measure;
mod model;
mod rates;
mod report;
mod stream;

use anyhow::{Result, ensure};
use clap::ArgGroup;
use hashbrook::{MAX_BITS, VectorFormat};

use self::amount::amount;
use self::model::{Asked, Function, MOST_IN_INDEX};
use crate::interrupt;

/// Default number of items per index: with a search structure and codes of 64 bits, 5 GB.
const IN_INDEX: u64 = 1 << 26;

/// Maximum number of values of all synthetic anchors: 1 GB.
const MOST_NUMBERS: usize = 1 << 28;

/// Maximum number of items for measurements, all of which are in memory.
const MOST_CHECKED: u64 = 200_000_000;

/// Maximum number of hits of all queries that are in memory while parts are searched.
const MOST_HITS: u64 = 100_000_000;

/// Estimates what a number of items takes: time, memory, bytes read and moved
///
/// Encoding, building indexes, searching, finding near-duplicates and renewing all codes, in core-hours and in hours
/// on so many cores; what indexes take in memory or on disk; and what a cluster moves between its workers.
/// The rates behind that are those of one core of an AMD EPYC with AVX-512, unless --measure measures those of this
/// machine. Numbers are written as 1000000, 1_000_000, 1e6 or 1M.
#[derive(clap::Args)]
#[command(
    group = ArgGroup::new("what").required(true).args(["items", "check", "stream"]),
    after_help = "\
Examples:
  hashbrook size --items 1e9 --dim 128 --bits 64 --cores 16
  hashbrook size --items 10M --dim 768 --vectors f16 --measure
  hashbrook size --items 100B --lift none --queries 1e6 -k 10 --cores 1000 --json
  hashbrook size --check 1M,10M               # predicted beside measured, on one core
  hashbrook size --stream 1e9 --queries 200   # searches a billion made-up codes, part by part"
)]
pub struct Args {
    /// How many items there will be
    #[arg(long, value_name = "N", value_parser = amount)]
    items: Option<u64>,

    /// The dimension of their vectors
    #[arg(long, value_name = "N", default_value = "128", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    dim: u32,

    /// The length of the codes
    #[arg(long, value_name = "N", default_value = "64", value_parser = clap::value_parser!(u32).range(1..=MAX_BITS as i64))]
    bits: u32,

    /// The method that makes them
    #[arg(long, value_name = "NAME", default_value = "brook")]
    method: String,

    /// How many anchors it lifts vectors by; what is usual for the method unless said
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=16_384))]
    anchors: Option<u64>,

    /// Whether it lifts vectors: none is a linear function
    #[arg(long, value_name = "none|rbf", value_parser = ["none", "rbf"])]
    lift: Option<String>,

    /// How many queries there will be: 1,000,000 unless said, and 200 with --stream
    #[arg(long, value_name = "N", value_parser = amount)]
    queries: Option<u64>,

    /// How many of the nearest items each query asks for
    #[arg(short = 'k', value_name = "N", default_value = "10", value_parser = amount)]
    k: u64,

    /// How many bits near-duplicates may differ in
    #[arg(long, value_name = "D", default_value = "3", value_parser = clap::value_parser!(u32).range(0..=MAX_BITS as i64))]
    radius: u32,

    /// The cores that share the work
    #[arg(long, value_name = "N", default_value = "16", value_parser = amount)]
    cores: u64,

    /// How many indexes the items are dealt out to; so many that each has 67,108,864 items at most unless said, and
    /// with --stream 16,777,216
    #[arg(long, value_name = "N", value_parser = amount)]
    parts: Option<u64>,

    /// Whether indexes keep the vectors, and how
    #[arg(long, value_name = "none|f16|i8", default_value = "none", value_parser = ["none", "f16", "i8"])]
    vectors: String,

    /// What share of the items has a code that no other has; codes learned from labels repeat, and 1 is the most
    /// that they can take
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = share)]
    distinct: f64,

    /// Measure the rates on this machine, on one core in some seconds, and use those
    #[arg(long)]
    measure: bool,

    /// Run every step at these numbers of items, and print what was predicted beside what was measured
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = amount)]
    check: Vec<u64>,

    /// Make so many codes as supervised hashing makes them, search them for the nearest of --queries, a part at a
    /// time, and print the time and the memory that it took beside the prediction
    #[arg(long, value_name = "N", value_parser = amount)]
    stream: Option<u64>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Parses a share above 0 and up to 1.
fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err(format!("expected a number above 0 and up to 1, found {text:?}")),
    }
}

pub fn run(args: &Args) -> Result<()> {
    interrupt::nothing_to_save();
    let asked = asked(args)?;
    let built_in = rates::built_in(&asked);
    if args.measure || !args.check.is_empty() {
        let anchors = match asked.function {
            Function::None => 0,
            Function::Compact { anchors, .. } | Function::Full { anchors } => anchors,
        };
        ensure!(
            anchors * asked.dim <= MOST_NUMBERS,
            "to measure, anchors of at most {MOST_NUMBERS} numbers in all are expected, found {anchors} x {}",
            asked.dim
        );
    }
    if !args.check.is_empty() {
        for &items in &args.check {
            ensure!(
                items <= MOST_CHECKED,
                "--check holds all items in memory: at most {MOST_CHECKED} are expected, found {items}"
            );
        }
        return check::run(&asked, &args.check, &built_in, args.json);
    }
    let measured = args.measure.then(|| measure::rates(&asked, &built_in)).transpose()?;
    if args.stream.is_some() {
        let hits = asked.queries.saturating_mul(asked.k);
        ensure!(
            hits <= MOST_HITS,
            "--stream holds all hits in memory: at most {MOST_HITS} are expected, found {} queries x {}",
            asked.queries,
            asked.k
        );
        let mut known = vec![("built-in", built_in)];
        known.extend(measured.map(|(rates, _)| ("measured", rates)));
        return stream::run(&asked, &known, args.json);
    }
    match args.json {
        true => report::json(&asked, &built_in, measured.as_ref()),
        false => report::text(&asked, &built_in, measured.as_ref()),
    }
}

/// Returns the parameters of the estimate from the command line.
fn asked(args: &Args) -> Result<Asked> {
    let method = model::method(&args.method, args.anchors, args.lift.as_deref())?;
    let dim = args.dim as usize;
    let items = args.items.or(args.stream).unwrap_or(1);
    let in_index = if args.stream.is_some() { stream::PART } else { IN_INDEX };
    let parts = args.parts.unwrap_or(items.div_ceil(in_index));
    let least = items.div_ceil(MOST_IN_INDEX);
    ensure!(
        parts >= least,
        "an index with a search structure has at most {MOST_IN_INDEX} items: expected --parts {least} or more, found {parts}"
    );
    ensure!(parts <= items, "expected at most as many parts as items, {items}, found {parts}");
    Ok(Asked {
        items,
        dim,
        bits: args.bits as usize,
        function: Function::of(&method, dim),
        method: method.name().to_owned(),
        queries: args.queries.unwrap_or(if args.stream.is_some() { 200 } else { 1_000_000 }),
        k: args.k,
        radius: args.radius,
        cores: args.cores,
        parts,
        vectors: match args.vectors.as_str() {
            "f16" => Some(VectorFormat::F16),
            "i8" => Some(VectorFormat::I8),
            _ => None,
        },
        distinct: args.distinct,
    })
}
