//! Streams with new labels: cost of learning while the number of anchors grows, and of unlearning
//! afterwards.

use std::time::Instant;

use anyhow::Result;
use hashbrook::eval::{Metric, evaluate};
use hashbrook::{Batch, Codes, Features, LabelList, Labels, Model};

use crate::generated::World;

/// Prints what learning and unlearning cost on streams that are mixed and that bring class after class
///
/// With classes that come one after the other, `brook` adds anchors, and everything costs more from then on.
#[derive(clap::Args)]
pub struct Args {
    /// Number of rows
    #[arg(long, default_value_t = 40_000)]
    rows: usize,

    /// Number of rows that are unlearned
    #[arg(long, default_value_t = 16_000)]
    unlearned: usize,

    /// Rows of a batch
    #[arg(long, default_value_t = 2048)]
    batch: usize,

    /// Method, with parameters if need be
    #[arg(long, default_value = "brook")]
    method: String,
}

pub fn run(args: &Args) -> Result<()> {
    println!(
        "| stream | learning, s | slowest batch, s | function, s | rows unlearned | ms a row | precision@1 before | after |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (name, sorted) in [("mixed", false), ("class after class", true)] {
        let world = World { sorted, ..World::new(128, 20) };
        let (stream, _) = world.draw(args.rows, 1);
        let rows = Features::new(&stream.values, stream.dim)?;
        let mut list = LabelList::new();
        stream.labels.iter().for_each(|labels| list.push_set(labels));
        let batches = |count: usize| {
            let firsts = (0..count).step_by(args.batch);
            firsts.map(move |first| first..(first + args.batch).min(count))
        };
        let mut model = crate::method(&args.method)?.start(stream.dim, 64, 1)?;
        let started = Instant::now();
        let mut slowest = 0.0f64;
        for range in batches(rows.len()) {
            let before = Instant::now();
            model.learn(Batch::new(rows.slice(range.clone()), list.view().slice(range))?)?;
            slowest = slowest.max(before.elapsed().as_secs_f64());
        }
        let learned = started.elapsed().as_secs_f64();
        let started = Instant::now();
        model.try_hash_function()?;
        let solved = started.elapsed().as_secs_f64();
        let precision = |model: &Model, from: usize| -> Result<f64> {
            let function = model.try_hash_function()?;
            let codes = function.encode(rows.slice(from..rows.len()))?;
            let labels = list.view().slice(from..rows.len());
            let some: Vec<usize> = (0..codes.len()).step_by(codes.len() / 500).collect();
            let mut queries = Codes::new(codes.bits())?;
            some.iter().try_for_each(|&row| queries.push(codes.code(row)))?;
            let wanted: Vec<u32> = some.iter().map(|&row| labels.row(row)[0]).collect();
            let metrics = [Metric::PrecisionAt(10)];
            let found = evaluate(&queries, Labels::single(&wanted), &codes, labels, &metrics)?;
            Ok(found.get(Metric::PrecisionAt(10)))
        };
        let count = args.unlearned.min(rows.len());
        for (which, from) in [("the first", 0), ("the last", rows.len() - count)] {
            let kept = if from == 0 { count } else { 0 };
            let before = precision(&model, kept)?;
            let mut model = model.clone();
            let started = Instant::now();
            for range in batches(count) {
                let range = from + range.start..from + range.end;
                model.unlearn(Batch::new(rows.slice(range.clone()), list.view().slice(range))?)?;
            }
            let unlearned = 1000.0 * started.elapsed().as_secs_f64() / count as f64;
            let after = precision(&model, kept)?;
            println!(
                "| {name} | {learned:.2} | {slowest:.2} | {solved:.2} | {which} {count} | {unlearned:.3} | {before:.3} | {after:.3} |"
            );
        }
    }
    Ok(())
}
