pub mod filter;
mod queries;
pub mod results;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::{ArgAction, ArgGroup};
use hashbrook::{Filter, HashFunction, Index, Kernel, SearchStructure};
use serde_json::json;

use self::queries::Queries;
use self::results::{FORMATS, Results};
use super::index::items::{NO_FUNCTION, read_codes_all};
use super::index::text_ids::TextIds;
use crate::columns::{Columns, Role};
use crate::console::{self, count, plural, seconds};
use crate::dial::DialArgs;
use crate::output::Output;
use crate::{input, interrupt, output, piped};

/// Finds the items of an index that are nearest to queries
///
/// Results are exact and complete: the k items of smallest Hamming distance, or all within a radius,
/// in order of distance and then of id. -k finds fewer only where there are fewer. With --rerank the
/// nearest by code are re-ranked by their vectors, which the index must keep.
#[derive(clap::Args)]
#[command(
    group = ArgGroup::new("what").required(true).args(["k", "radius"]),
    group = ArgGroup::new("asked").required(true).args(["queries", "codes"]),
    after_help = "\
Examples:
  hashbrook search --index digits.index --queries q.npy -k 10
  hashbrook search --index digits.index --queries q.parquet --features px0..px63 -k 10
  hashbrook search --index digits.index --queries q.npy --radius 2 --where label=3 --json
  hashbrook search --index digits.index --queries q.npy -k 5 --where label!=3 --out results.csv
  hashbrook search --index digits.index --codes q-codes.npy -k 100 --out results.npz
  hashbrook search --index digits.index --queries q.npy -k 10 --rerank 1000
  hashbrook search --index digits.index --queries q.npy -k 10 --label-weight 4
  hashbrook search --index digits.index --queries q.npy -k 10 --float-query

With --label-weight 4 items of one kind come first, by likeness within it; with --detail-weight
4 it is the other way round. Both need codes with detail bits, as brook makes them unless told
otherwise. With --float-query each bit counts as much as the query is sure of it, 64 for a label
bit of which it is.

results.npz holds ids and distances, queries x k, and with --rerank scores; within a radius,
lists of these, and offsets: query i found those from offsets[i] to offsets[i + 1]. If items
have labels, there are labels and label_names: in Python, label_names[labels] is as large as
ids. If ids are texts, there are id_names, and id_names[ids] are the texts. A label with a comma
is written in quotes, also after --where: --where 'label=\"red, big\",small'."
)]
pub struct Args {
    /// The index, as `index build` wrote it
    #[arg(long, value_name = "INDEX")]
    index: PathBuf,

    /// Vectors to search with
    #[arg(long, value_name = "FILE", action = ArgAction::Append)]
    queries: Vec<String>,

    #[command(flatten)]
    columns: Columns,

    /// The model or function that encodes the queries, where the index was made of codes alone
    #[arg(long, value_name = "MODEL", conflicts_with = "codes")]
    model: Option<PathBuf>,

    /// Packed codes to search with, in place of vectors
    #[arg(long, value_name = "FILE.npy", action = ArgAction::Append)]
    codes: Vec<String>,

    /// How many items to find for each query
    #[arg(short, value_name = "N")]
    k: Option<usize>,

    /// Find all items up to this distance, which is included
    #[arg(long, value_name = "D")]
    radius: Option<u32>,

    /// Re-rank the first N that the codes find by their vectors and the metric of the index, the nearest first,
    /// and then take -k; within --radius, give the first N in that order. The index must keep vectors
    /// (`index build --vectors f16`)
    #[arg(long, value_name = "N", conflicts_with_all = ["codes", "model"], value_parser = clap::value_parser!(u64).range(1..))]
    rerank: Option<u64>,

    #[command(flatten)]
    dial: DialArgs,

    /// Find only items with one of these labels (label=A,B), with none of these (label!=A,B), with
    /// these ids (id=1,2,3) or with ids from a file (id=FILE); all that are given must hold
    #[arg(long = "where", value_name = "CONDITION", action = ArgAction::Append)]
    conditions: Vec<String>,

    /// Write the results to a file: .npz, .csv, .json (one array) or .jsonl (an object a line) as its
    /// name says; - is an npz file to the standard output
    #[arg(long, value_name = "FILE")]
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

    /// Compare each query with every code. Otherwise the search structure of the file lets most of them be
    /// passed over: as exact, and faster
    #[arg(long)]
    scan: bool,

    /// Search so many times, and tell the median of the times
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,

    /// Search for one query at a time, as they would come in
    #[arg(long)]
    one_by_one: bool,
}

pub fn run(args: &mut Args) -> Result<()> {
    interrupt::nothing_to_save();
    let Args { queries, columns, .. } = &mut *args;
    columns.name_features(queries)?;
    let again = columns.label.is_some() || columns.id_column.is_some();
    let _kept = piped::keep(&mut [queries], again)?;
    let args = &*args;
    let id_files = filter::files(&args.conditions);
    let inputs = || args.queries.iter().chain(&args.codes).chain(&id_files);
    let models = || [Some(args.index.as_path()), args.model.as_deref()].into_iter().flatten();
    output::check_given_once(models(), inputs())?;
    output::check_outputs(args.out.as_deref().into_iter().chain(models()), inputs())?;
    let out = match &args.out {
        Some(out) => {
            output::check_name(out, "results", &FORMATS)?;
            output::check_json(out, args.json)?;
            Some(Output::new(out)?)
        }
        None => None,
    };
    let mut index =
        if args.in_memory { Index::load(&args.index)? } else { Index::open(&args.index)? };
    if let Some(name) = &args.kernel {
        index.set_kernel(kernel(name)?);
    }
    if args.scan {
        index.set_search_structure(SearchStructure::None);
    }
    let dial = args.dial.dial()?;
    let function = match &args.model {
        Some(model) => Some(function_of(&index, model)?),
        None => index.function().cloned(),
    };
    function.as_ref().map_or(Ok(()), |function| args.dial.check(function))?;
    let labels = args.columns.labels_of(&args.queries)?;
    let ids = args.columns.ids_of(&args.queries)?;
    let roles: [Role<'_>; 2] = [("label", &labels), ("id", &ids)];
    let queries = match &function {
        _ if !args.codes.is_empty() => {
            Queries::of_codes(&index, dial, read_codes_all(&args.codes, Some(index.bits()))?)?
        }
        _ if args.rerank.is_some() => Queries::read_vectors(&index, &args.queries, &roles)?,
        Some(function) => Queries::encode(function, dial, &args.queries, &roles)?,
        None => bail!(NO_FUNCTION),
    };
    let texts = TextIds::of(&index, &args.index)?;
    let filter = filter::parse(&index, &texts, &args.conditions)?;
    let ranked = args.rerank.is_some();
    let mut results =
        Results::new(&index, &texts, args.out.as_deref(), args.json, args.k.is_some(), ranked)?;
    let time = search(args, &index, &queries, &filter, &mut results)?;
    results.finish(out.as_ref().map(Output::path))?;
    out.as_ref().map_or(Ok(()), Output::finish)?;
    summarize(args, &index, queries.len(), &results, time, out.as_ref())?;
    if !ranked && results.are_mostly_ties() {
        let again = match index.vector_format() {
            Some(_) => "--rerank 1000 ranks them by their vectors",
            None => "An index that keeps vectors (index build --vectors f16) can --rerank them",
        };
        console::note(format_args!(
            "most queries found nothing but items with their very code, in order of ids: these codes \
             tell labels apart, and hardly the items of one label. {again}; or search codes that keep \
             neighbours (learn --method frosh, sketchhash or lsh)",
        ));
    }
    Ok(())
}

fn summarize(
    args: &Args,
    index: &Index,
    queries: usize,
    results: &Results<'_>,
    time: Duration,
    out: Option<&Output>,
) -> Result<()> {
    if args.json {
        let compared = index.len() as f64 * queries as f64 / time.as_secs_f64().max(1e-9);
        let mut object = json!({
            "queries": queries,
            "items": index.len(),
            "found": results.hits(),
            "seconds": time.as_secs_f64(),
            "codes_per_second": compared,
        });
        if let Some(dial) = args.dial.dial()? {
            object["dial"] = json!(dial);
            // Distances are in units of one bit of weight 1.
            object["dial"]["unit"] = json!(dial.unit());
        }
        return console::line(object);
    }
    let said = format!(
        "{} of {} over {} in {}{}",
        plural(results.hits() as u64, "hit"),
        match queries {
            1 => "1 query".to_owned(),
            several => format!("{} queries", count(several as u64)),
        },
        plural(index.len() as u64, "item"),
        seconds(time),
        if args.dial.is_float_query() { "; distances in 1/64 of a bit" } else { "" }
    );
    match out {
        Some(out) => out.say(format_args!("{said}: {}", out.name())),
        None => console::line(said),
    }
}

/// Loads the function of a model, for an index that may not have one.
fn function_of(index: &Index, model: &Path) -> Result<HashFunction> {
    let function = input::load_function(model)?;
    let model = model.display();
    if function.bits() != index.bits() {
        let (bits, own) = (plural(function.bits() as u64, "bit"), index.bits());
        bail!("{model} makes codes of {bits}, the index holds codes of {own}");
    }
    if index.function().is_some_and(|own| own.parts() != function.parts()) {
        bail!(
            "the items of the index were encoded by another function than that of {model}; leave out \
             --model to search with theirs, or re-encode them with `index renew`"
        );
    }
    Ok(function)
}

/// Maximum number of hits in memory at a time, unless a single query has more.
const HITS_AT_ONCE: usize = 1 << 22;

/// Searches all queries `--repeat` times, in parts. Returns the median time of a repetition.
fn search(
    args: &Args,
    index: &Index,
    queries: &Queries,
    filter: &Filter,
    results: &mut Results<'_>,
) -> Result<Duration> {
    let view = match args.dial.dial()? {
        Some(dial) => index.filtered(filter).dial(dial),
        None => index.filtered(filter),
    };
    let candidates = args.rerank.map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    // The number of items within a radius is known only after a search. The first part assumes that
    // every query finds all items.
    let first = match (args.one_by_one, args.k) {
        (true, _) => 1,
        (false, Some(k)) => HITS_AT_ONCE / k.min(index.len()).max(1),
        (false, None) => (HITS_AT_ONCE / index.len().max(1)).min(256),
    };
    let mut times = Vec::new();
    for round in 1..=args.repeat {
        let (mut at, mut time, mut together) = (0, Duration::ZERO, first.max(1));
        // An invalid filter or k is an error even without queries.
        while at < queries.len() || (at == 0 && queries.len() == 0) {
            let some = queries.part(at..queries.len().min(at + together))?;
            let clock = Instant::now();
            let hits = some.find(view, candidates, args.k, args.radius)?;
            time += clock.elapsed();
            if round == args.repeat {
                results.add(&hits)?;
            }
            if !args.one_by_one && args.k.is_none() {
                let each = hits.count().div_ceil(some.len().max(1)).max(1);
                together = (HITS_AT_ONCE / each).clamp(1, 4 * together);
            }
            at += some.len().max(1);
        }
        times.push(time);
    }
    times.sort_unstable();
    Ok(times[times.len() / 2])
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
