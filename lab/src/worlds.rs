//! Quality of methods on generated worlds.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use anyhow::{Context, Result};
use hashbrook::eval::{Cosine, Evaluation, Metric, evaluate, evaluate_scores};
use hashbrook::learners::brook::MeasuredTargets;
use hashbrook::store::{Description, ItemId, Put, Settings};
use hashbrook::{Batch, Codes, Features, LabelList, Method, Store};

use crate::generated::suite::{Drawn, Goal, Named, SUITE};

/// Prints the quality of methods on generated worlds, as a Markdown table
///
/// Precision@10, recall@10 for identities and nDCG@10 for tags, of queries that were never learned, among the rows of the
/// stream. The mean over the seeds.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hashbrook-lab worlds
  hashbrook-lab worlds --worlds rare,tags --methods brook,itq,cosine --bits 128 --seeds 1")]
pub struct Args {
    /// Worlds, by name; all of them without this option
    #[arg(long, value_delimiter = ',')]
    worlds: Vec<String>,

    /// Methods, each with parameters if need be (brook:targets=classes); `cosine` for the vectors themselves, and `store` for a
    /// store with default settings, as `hashbrook serve` has it, once all rows are searchable
    #[arg(long, value_delimiter = ',', default_value = "brook,itq,lsh,cosine")]
    methods: Vec<String>,

    /// Lengths of the codes
    #[arg(long, value_delimiter = ',', default_value = "64,128")]
    bits: Vec<usize>,

    /// Number of seeds
    #[arg(long, default_value_t = 3)]
    seeds: u64,

    /// Share of the full number of rows and classes
    #[arg(long, default_value_t = 1.0)]
    scale: f64,

    /// Learn the rows with labels alone; all rows are searched
    #[arg(long)]
    labelled: bool,

    /// Print the time of each cell, and what the bits are made of, to standard error
    #[arg(long)]
    verbose: bool,
}

pub fn run(args: &Args) -> Result<()> {
    let is_wanted = |world: &&Named| {
        args.worlds.is_empty() || args.worlds.iter().any(|name| name == world.name)
    };
    if let Some(unknown) =
        args.worlds.iter().find(|name| SUITE.iter().all(|world| world.name != **name))
    {
        let names: Vec<&str> = SUITE.iter().map(|world| world.name).collect();
        anyhow::bail!("unknown world {unknown}; expected one of {}", names.join(", "));
    }
    println!("| world | bits | {} |", args.methods.join(" | "));
    println!("|---|---|{}", "---|".repeat(args.methods.len()));
    for world in SUITE.iter().filter(is_wanted) {
        let drawn: Vec<Drawn> =
            (1..=args.seeds).map(|seed| (world.draw)(args.scale, seed)).collect();
        for &bits in &args.bits {
            let mut cells = Vec::new();
            for method in &args.methods {
                let mut sum = 0.0;
                for (seed, drawn) in (1..).zip(&drawn) {
                    let started = Instant::now();
                    let (quality, targets) = measure(drawn, method, bits, seed, args.labelled)
                        .with_context(|| format!("{method} on the world {}", world.name))?;
                    sum += quality;
                    if args.verbose {
                        let seconds = started.elapsed().as_secs_f64();
                        eprint!(
                            "{} {bits} {method} {seed}: {quality:.3}, {seconds:.1} s",
                            world.name
                        );
                        eprintln!("{}", targets.map(written).unwrap_or_default());
                    }
                }
                cells.push(format!("{:.3}", sum / args.seeds as f64));
            }
            println!("| {} | {bits} | {} |", world.name, cells.join(" | "));
        }
    }
    Ok(())
}

/// Returns a description of the bits' targets, with the scores of the candidates.
fn written(targets: MeasuredTargets) -> String {
    let scores = targets.candidates.iter().map(|of| format!(" {} {:.3}", of.made_of, of.score));
    format!(", {}:{}", targets.made_of, scores.collect::<String>())
}

/// Returns the goal's measure for a method or for the vectors' cosine, and the targets of the bits.
fn measure(
    drawn: &Drawn,
    method: &str,
    bits: usize,
    seed: u64,
    labelled: bool,
) -> Result<(f64, Option<MeasuredTargets>)> {
    let Drawn { stream, truth, queries, .. } = drawn;
    let rows = Features::new(&stream.values, stream.dim)?;
    let judged = label_list(truth.iter());
    let metrics = [Metric::PrecisionAt(10), Metric::NdcgAt(10)];
    let wanted = |rows: &[usize]| label_list(rows.iter().map(|&row| &queries.labels[row]));
    if method == "cosine" {
        let quality = by_goal(drawn, |some| {
            let row = |&row: &usize| &queries.values[row * stream.dim..(row + 1) * stream.dim];
            let values: Vec<f32> = some.iter().flat_map(row).copied().collect();
            let cosine = Cosine::new(Features::new(&values, stream.dim)?, rows)?;
            Ok(evaluate_scores(&cosine, wanted(some).view(), judged.view(), &metrics)?)
        })?;
        return Ok((quality, None));
    }
    let (database, codes, targets) = match method {
        "store" => stored(drawn, bits)?,
        _ => learned(drawn, method, (bits, seed), labelled)?,
    };
    let quality = by_goal(drawn, |some| {
        let mut part = Codes::new(bits)?;
        some.iter().try_for_each(|&row| part.push(codes.code(row)))?;
        Ok(evaluate(&part, wanted(some).view(), &database, judged.view(), &metrics)?)
    })?;
    Ok((quality, targets))
}

/// Codes of the stream, codes of the queries, and the targets of the bits.
type Encoded = (Codes, Codes, Option<MeasuredTargets>);

/// Encodes with the function that a method learns from the stream.
fn learned(
    drawn: &Drawn,
    method: &str,
    (bits, seed): (usize, u64),
    labelled: bool,
) -> Result<Encoded> {
    let Drawn { stream, queries, .. } = drawn;
    let rows = Features::new(&stream.values, stream.dim)?;
    let vectors = Features::new(&queries.values, stream.dim)?;
    let labels = label_list(stream.labels.iter());
    let mut model = crate::method(method)?.start(stream.dim, bits, seed)?;
    let chosen: Vec<usize> =
        (0..rows.len()).filter(|&row| !labelled || !stream.labels[row].is_empty()).collect();
    for chosen in chosen.chunks(2000) {
        let values: Vec<f32> = chosen.iter().flat_map(|&row| rows.row(row)).copied().collect();
        let labels = labels.select(chosen);
        model.learn(Batch::new(Features::new(&values, stream.dim)?, labels.view())?)?;
    }
    model.end_warmup()?;
    let function = model.try_hash_function()?;
    Ok((function.encode(rows)?, function.encode(vectors)?, model.measured_targets()))
}

/// Returns the codes of a store with default settings that was given the stream, once it is searchable.
fn stored(drawn: &Drawn, bits: usize) -> Result<Encoded> {
    let Drawn { stream, queries, .. } = drawn;
    let directory = tempfile::tempdir()?;
    let description = Description::new(Method::named("brook")?, stream.dim, bits);
    let path = directory.path().join("store");
    let store = Store::create(&path, &description, Settings::default())?;
    let rows = Features::new(&stream.values, stream.dim)?;
    let mut position = 0;
    for first in (0..rows.len()).step_by(2000) {
        let range = first..(first + 2000).min(rows.len());
        let ids: Vec<ItemId> = range.clone().map(|row| ItemId::Number(row as u64)).collect();
        let names = |labels: &Vec<u32>| labels.iter().map(u32::to_string).collect();
        let labels: Vec<Vec<String>> = stream.labels[range.clone()].iter().map(names).collect();
        let put = Put::new(&ids, rows.slice(range))?.labels(&labels)?;
        position = store.put(put)?.position;
    }
    store.wait(position)?;
    let targets = store.stats().renewal.measured_targets;
    let reader = store.reader();
    let mut database = Codes::new(bits)?;
    for id in 0..rows.len() as u64 {
        let item = reader.index().get(id)?.with_context(|| format!("item {id} is not there"))?;
        database.push(&item.code)?;
    }
    let codes = reader.index().encode(Features::new(&queries.values, stream.dim)?)?;
    Ok((database, codes, targets))
}

/// Returns the goal's measure, computed from evaluations of subsets of the queries.
fn by_goal(drawn: &Drawn, of: impl Fn(&[usize]) -> Result<Evaluation>) -> Result<f64> {
    let queries = &drawn.queries.labels;
    let all: Vec<usize> = (0..queries.len()).collect();
    match drawn.goal {
        Goal::Precision => Ok(of(&all)?.get(Metric::PrecisionAt(10))),
        Goal::Ndcg => Ok(of(&all)?.get(Metric::NdcgAt(10))),
        Goal::Recall => {
            let mut sizes: HashMap<u32, usize> = HashMap::new();
            drawn.truth.iter().for_each(|labels| *sizes.entry(labels[0]).or_default() += 1);
            let mut by_size: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            for row in all {
                by_size.entry(sizes[&queries[row][0]]).or_default().push(row);
            }
            let mut sum = 0.0;
            for (size, rows) in by_size {
                let found = 10.0 * of(&rows)?.get(Metric::PrecisionAt(10));
                sum += rows.len() as f64 * found / size.min(10) as f64;
            }
            Ok(sum / queries.len() as f64)
        }
    }
}

fn label_list<'a>(labels: impl Iterator<Item = &'a Vec<u32>>) -> LabelList {
    let mut list = LabelList::new();
    labels.for_each(|labels| list.push_set(labels));
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quality(world: &str, method: &str, bits: usize) -> f64 {
        let world = SUITE.iter().find(|named| named.name == world).unwrap();
        measure(&(world.draw)(0.1, 1), method, bits, 1, false).unwrap().0
    }

    /// The worlds are small, so that the tests take seconds.
    #[test]
    fn brook_is_not_worse_than_codes_without_labels() {
        for world in SUITE {
            let [brook, itq, lsh] =
                ["brook", "itq", "lsh"].map(|method| quality(world.name, method, 64));
            println!("{}: brook {brook:.3}, itq {itq:.3}, lsh {lsh:.3}", world.name);
            assert!(brook >= itq.max(lsh) - 0.01, "{}: {brook} for {itq}, {lsh}", world.name);
        }
    }

    #[test]
    fn identities_and_rare_labels_are_found() {
        for (world, expected) in
            [("identities", 0.95), ("nuisance", 0.9), ("rare", 0.8), ("rare-hard", 0.4)]
        {
            let found = quality(world, "brook", 64);
            assert!(found >= expected, "{world}: {found} for {expected}");
        }
    }

    #[test]
    fn a_coarse_label_does_not_hide_the_fine_one() {
        let (both, fine) = (quality("hierarchy", "brook", 64), quality("fine-alone", "brook", 64));
        assert!(both >= fine - 0.01, "{both} for {fine}");
    }
}
