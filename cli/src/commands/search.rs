use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::{ArgAction, ArgGroup};
use hashbrook::dataset::{NpzArray, read_ids, write_npz};
use hashbrook::{Codes, Filter, Hits, Index, Kernel};
use serde_json::json;

use super::index::items::{encode, read_codes_all};
use crate::console::{self, count, plural, seconds};
use crate::{input, interrupt};

/// Finds the items of an index that are nearest to queries
///
/// Results are exact and complete: the k items of smallest Hamming distance, or all within a radius,
/// in order of distance and then of id. -k finds fewer only where there are fewer.
#[derive(clap::Args)]
#[command(
    group = ArgGroup::new("what").required(true).args(["k", "radius"]),
    group = ArgGroup::new("asked").required(true).args(["queries", "codes"]),
    after_help = "\
Examples:
  hashbrook search --index digits.index --queries q.npy -k 10
  hashbrook search --index digits.index --queries q.npy --radius 2 --where label=3 --json
  hashbrook search --index digits.index --codes q-codes.npy -k 100 --out results.npz

results.npz holds ids and distances, queries x k; within a radius, lists of both, and offsets: query
i found those from offsets[i] to offsets[i + 1]."
)]
pub struct Args {
    /// The index, as `index build` wrote it
    #[arg(long, value_name = "INDEX")]
    index: PathBuf,

    /// Vectors to search with
    #[arg(long, value_name = "FILE", action = ArgAction::Append)]
    queries: Vec<String>,

    /// Packed codes to search with, in place of vectors
    #[arg(long, value_name = "FILE.npy", action = ArgAction::Append)]
    codes: Vec<String>,

    /// How many items to find for each query
    #[arg(short, value_name = "N")]
    k: Option<usize>,

    /// Find all items up to this distance, which is included
    #[arg(long, value_name = "D")]
    radius: Option<u32>,

    /// Find only items with one of these labels (label=A,B), or with ids from a file (id=FILE); all
    /// that are given must hold
    #[arg(long = "where", value_name = "CONDITION", action = ArgAction::Append)]
    conditions: Vec<String>,

    /// Write the results to an npz file
    #[arg(long, value_name = "FILE.npz")]
    out: Option<PathBuf>,

    /// Print a JSON object for each query, unless there is --out, and one for all at the end
    #[arg(long)]
    json: bool,

    /// Read the whole index into memory first. Otherwise its file is mapped, and nothing may cut it
    /// short or write over it meanwhile
    #[arg(long)]
    in_memory: bool,

    /// The instructions to search with: avx512, avx2, neon or portable; the fastest that
    /// the machine has unless said
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,

    /// Compare each query with every code. Otherwise, once there were about a thousand queries, the
    /// codes may be put in an order that lets most of them be passed over: as exact, and faster
    #[arg(long)]
    scan: bool,

    /// Search so many times, and tell the median of the times
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,

    /// Search for one query at a time, as they would come in
    #[arg(long)]
    one_by_one: bool,
}

pub fn run(args: &Args) -> Result<()> {
    interrupt::nothing_to_save();
    if let Some(out) = &args.out {
        let id_files: Vec<String> = args
            .conditions
            .iter()
            .filter_map(|condition| condition.strip_prefix("id=").map(str::to_owned))
            .collect();
        let inputs = args.queries.iter().chain(&args.codes).chain(&id_files);
        input::check_outputs([out.as_path(), &args.index], inputs)?;
        hashbrook::file::check_writable(out)?;
    }
    let mut index =
        if args.in_memory { Index::load(&args.index)? } else { Index::open(&args.index)? };
    if let Some(name) = &args.kernel {
        index.set_kernel(kernel(name)?);
    }
    index.allow_structures(!args.scan);
    let codes = if args.codes.is_empty() {
        encode(&index, &args.queries)?
    } else {
        read_codes_all(&args.codes, Some(index.bits()))?
    };
    let filter = filter(&index, &args.conditions)?;
    let (hits, times) = search(args, &index, &codes, &filter)?;
    let time = times[times.len() / 2];
    if let Some(out) = &args.out {
        write(args, &hits, out)?;
    }
    let compared = index.len() as f64 * codes.len() as f64 / time.as_secs_f64().max(1e-9);
    if args.json {
        if args.out.is_none() {
            for (query, row) in hits.iter().enumerate() {
                let ids: Vec<u64> = row.iter().map(|hit| hit.id).collect();
                let distances: Vec<u32> = row.iter().map(|hit| hit.distance).collect();
                console::line(json!({ "query": query, "ids": ids, "distances": distances }))?;
            }
        }
        return console::line(json!({
            "queries": codes.len(),
            "items": index.len(),
            "found": hits.all().len(),
            "seconds": time.as_secs_f64(),
            "codes_per_second": compared,
        }));
    }
    if args.out.is_none() {
        print(&index, &hits)?;
    }
    console::line(format_args!(
        "{} of {} over {} in {}",
        plural(hits.all().len() as u64, "hit"),
        match codes.len() {
            1 => "1 query".to_owned(),
            several => format!("{} queries", count(several as u64)),
        },
        plural(index.len() as u64, "item"),
        seconds(time)
    ))
}

/// What is found, and how long it takes, sorted.
fn search(
    args: &Args,
    index: &Index,
    codes: &Codes,
    filter: &Filter,
) -> Result<(Hits, Vec<Duration>)> {
    let filtered = index.filtered(filter);
    let find = |codes: &Codes| match (args.k, args.radius) {
        (Some(k), _) => filtered.search_codes(codes, k),
        (_, radius) => filtered.within_codes(codes, radius.unwrap_or(0)),
    };
    let (mut hits, mut times) = (Hits::default(), Vec::new());
    let single: Vec<Codes> = match args.one_by_one {
        true => (0..codes.len()).map(|query| codes.select(&[query])).collect(),
        false => Vec::new(),
    };
    for _ in 0..args.repeat {
        let clock = Instant::now();
        if args.one_by_one {
            hits = Hits::default();
            for query in &single {
                hits.append(find(query)?);
            }
        } else {
            hits = find(codes)?;
        }
        times.push(clock.elapsed());
    }
    times.sort_unstable();
    Ok((hits, times))
}

fn kernel(name: &str) -> Result<Kernel> {
    let found: Option<Kernel> = serde_json::from_value(json!(name)).ok();
    let available = Kernel::available();
    match found.filter(|kernel| available.contains(kernel)) {
        Some(kernel) => Ok(kernel),
        None => {
            let names: Vec<String> =
                available.iter().map(|kernel| format!("{kernel:?}").to_lowercase()).collect();
            bail!("there is no kernel {name:?} here; there are: {}", names.join(", "))
        }
    }
}

fn filter(index: &Index, conditions: &[String]) -> Result<Filter> {
    let mut filter = Filter::all();
    for condition in conditions {
        filter = match condition.split_once('=') {
            Some(("label", names)) => {
                let mut labels = Vec::new();
                for name in names.split(',') {
                    let Some(label) = index.label_names().find(name.trim()) else {
                        let known: Vec<&str> = index.label_names().iter().take(20).collect();
                        bail!(
                            "no item has the label {name:?}; {}",
                            match known.len() {
                                0 => "the index was built without --labels".to_owned(),
                                _ => format!("there are: {}", known.join(", ")),
                            }
                        );
                    };
                    labels.push(label);
                }
                filter.labels(&labels)
            }
            Some(("id", file)) => filter.ids(&read_ids(file)?),
            _ => bail!("{condition:?} is no condition; label=NAME,... and id=FILE are"),
        };
    }
    Ok(filter)
}

fn write(args: &Args, hits: &Hits, out: &std::path::Path) -> Result<()> {
    let ids: Vec<u64> = hits.all().iter().map(|hit| hit.id).collect();
    let distances: Vec<u32> = hits.all().iter().map(|hit| hit.distance).collect();
    let columns = args.k.map(|_| ids.len().checked_div(hits.len()).unwrap_or(0));
    let mut arrays = vec![
        ("ids", columns, NpzArray::U64(&ids)),
        ("distances", columns, NpzArray::U32(&distances)),
    ];
    let mut offsets = vec![0];
    if args.k.is_none() {
        for row in hits.iter() {
            offsets.push(offsets[offsets.len() - 1] + row.len() as u64);
        }
        arrays.push(("offsets", None, NpzArray::U64(&offsets)));
    }
    Ok(write_npz(out, &arrays)?)
}

/// Queries and hits that are shown to people.
const SHOWN: usize = 10;

fn print(index: &Index, hits: &Hits) -> Result<()> {
    for (query, row) in hits.iter().enumerate().take(SHOWN) {
        let mut shown = Vec::new();
        for hit in row.iter().take(SHOWN) {
            let item = index.get(hit.id)?;
            let name = |label: &u32| index.label_names().name(*label).unwrap_or("?").to_owned();
            let labels: Vec<String> = item.iter().flat_map(|item| &item.labels).map(name).collect();
            let labels =
                if labels.is_empty() { String::new() } else { format!(" [{}]", labels.join(",")) };
            shown.push(format!("{}{labels} at {}", hit.id, hit.distance));
        }
        let more = row.len().saturating_sub(SHOWN);
        if more > 0 {
            shown.push(format!("{} more", count(more as u64)));
        }
        let found = if shown.is_empty() { "nothing".to_owned() } else { shown.join(", ") };
        console::line(format_args!("query {query}: {found}"))?;
    }
    let more = hits.len().saturating_sub(SHOWN);
    if more > 0 {
        console::line(format_args!("and {more} more; --json or --out FILE.npz gives all"))?;
    }
    Ok(())
}
