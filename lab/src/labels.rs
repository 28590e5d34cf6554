//! Cost of labels: time and memory to learn rows of many labels.

use std::time::Instant;

use anyhow::Result;
use hashbrook::{Batch, Features, LabelList};

use crate::generated::World;

/// Prints what it costs to learn rows of many labels, as a line of a Markdown table
///
/// Each run measures one number of labels, so that the peak of the memory is that of these labels.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hashbrook-lab labels 1000
  hashbrook-lab labels 100000 --rows-of-each 5")]
pub struct Args {
    /// Number of labels
    labels: usize,

    /// Number of rows of each label
    #[arg(long, default_value_t = 5)]
    rows_of_each: usize,

    /// Number of dimensions
    #[arg(long, default_value_t = 128)]
    dim: usize,

    /// Method, with parameters if need be (brook:targets=classes)
    #[arg(long, default_value = "brook")]
    method: String,
}

pub fn run(args: &Args) -> Result<()> {
    let Args { labels, rows_of_each, dim, .. } = *args;
    let world = World { noise: 0.2, nuisance: 0.7, leak: 0.02, ..World::new(dim, labels) };
    let classes = (0..labels as u32).flat_map(|label| std::iter::repeat_n(label, rows_of_each));
    let (stream, _) = world.draw_classes(classes.collect(), &[]);
    let rows = Features::new(&stream.values, dim)?;
    let mut list = LabelList::new();
    stream.labels.iter().for_each(|labels| list.push_set(labels));
    let before = peak_memory()?;
    let started = Instant::now();
    let mut model = crate::method(&args.method)?.start(dim, 64, 1)?;
    for first in (0..rows.len()).step_by(2000) {
        let range = first..(first + 2000).min(rows.len());
        model.learn(Batch::new(rows.slice(range.clone()), list.view().slice(range))?)?;
    }
    model.end_warmup()?;
    let learned = started.elapsed();
    model.try_hash_function()?;
    let solved = started.elapsed() - learned;
    let made_of =
        model.measured_targets().map_or("classes".to_owned(), |of| of.made_of.to_string());
    let megabytes = (peak_memory()? - before) / 1_000_000;
    println!("| labels | rows | learning, s | function, s | memory, MB | model, MB | made of |");
    println!("|---|---|---|---|---|---|---|");
    println!(
        "| {labels} | {} | {:.2} | {:.2} | {megabytes} | {} | {made_of} |",
        rows.len(),
        learned.as_secs_f64(),
        solved.as_secs_f64(),
        model.to_bytes().len() / 1_000_000,
    );
    Ok(())
}

/// Returns the largest number of bytes that the process has had in memory.
fn peak_memory() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    Ok(kilobytes.map_or(Ok(0), str::parse::<u64>)? * 1024)
}
