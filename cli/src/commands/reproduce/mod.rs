//! # How does `reproduce` work?
//!
//! `paper.toml` is the grid: the paper, data sets, methods, experiments, and printed numbers.
//! `plan.rs` cuts it into cells (data set, method, bits, seed, batch), each with a key; `run.rs`
//! runs one, and `store.rs` appends its result to `results.jsonl`, with a checksum of the data. A
//! result is reused for the same cell, data, program version and method parameters. New defaults of
//! a method are new parameters; a new rule behind `auto` is not, so it needs a new program version.
//! Other results stay in the file, and a warning says that they are not used. `claims.rs` judges
//! the paper's claims, and `report/` derives sections (`content.rs`) from results alone, beginning
//! with the summary. Cells of `beyond` name a protocol of `compare`, which draws their rows
//! (`compare/protocol.rs`) and runs them (`compare/run.rs`); `chart/` draws, `page.rs` writes HTML
//! and Markdown. A new figure is an experiment in the grid and a function in `report/`. A quick
//! run, on the digits that the program contains, judges nothing.

mod chart;
mod claims;
mod content;
mod page;
mod plan;
mod report;
mod results;
mod run;
mod store;
mod tsne;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use hashbrook::file;

use self::page::About;
use self::plan::{Cell, Choice, Citation, Plan};
use self::results::Results;
use self::run::Loaded;
use self::store::{Store, Unused};
use crate::console::{self, plural};
use crate::interrupt;

/// Regenerates the tables and figures of the BSODH paper, with all methods, on one page
///
/// Runs a grid of experiments, keeps every result, and writes a page (report.html), the same as
/// Markdown (RESULTS.md, with figures/) and the raw results (results.jsonl). Stopped and started
/// again it goes on where it was; what is there is not computed again, unless it is of other data or
/// of a method with other parameters: such results are kept but not used. Data sets whose files are
/// not there are left out, and named.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hashbrook reproduce --quick --out report/            # under two minutes, needs no data
  hashbrook reproduce --data data/ --out report/       # everything
  hashbrook reproduce --only tables,collapse --seeds 1 --data data/ --out report/

The directory of --data holds a directory per data set: mnist (the four gzipped IDX files),
cifar10-cnn and tinyimagenet-cnn (features.npy and labels.npy).")]
pub struct Args {
    /// Experiments to run: tables, curves, sensitivity, balance, scaling, convergence, collapse,
    /// tsne, cost, orders, batches, beyond [default: all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    only: Vec<String>,

    /// A small version of everything, on the digits that the program carries
    #[arg(long)]
    quick: bool,

    /// Runs nothing, looks at no data, and writes the report from the results that are there: where
    /// some of a data set are of other data, from those of the data that came last
    #[arg(long)]
    report_only: bool,

    /// No more seeds than this
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    seeds: Option<u64>,

    /// The directory of the data sets [default: $HASHBROOK_DATA, or data]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,

    /// Where the results are kept and the report is written
    #[arg(long, value_name = "DIR", default_value = "report")]
    out: PathBuf,
}

pub fn run(args: &Args) -> Result<()> {
    let plan = Plan::load(&Choice { only: &args.only, quick: args.quick, seeds: args.seeds })?;
    std::fs::create_dir_all(args.out.join("figures"))
        .with_context(|| format!("{} cannot be made", args.out.display()))?;
    let results = args.out.join("results.jsonl");
    let mut store = Store::open(&results)?;
    if args.report_only {
        if store.is_empty() {
            bail!("{} holds no results yet", args.out.display());
        }
        remark(&plan, &plan.cells()?, &store, &results);
        return write(args, &plan, &store);
    }
    let cells = available(args, &plan)?;
    let loaded = compare_data(args, &plan, &cells, &mut store)?;
    remark(&plan, &cells, &store, &results);
    let missing: Vec<&Cell> = cells.iter().filter(|cell| store.get(cell).is_none()).collect();
    console::note(format_args!(
        "{}, of which {} are there already",
        plural(cells.len() as u64, "run"),
        cells.len() - missing.len()
    ));
    let outcome = measure(args, &plan, &missing, loaded, &mut store);
    // An interrupted run also writes a page of the results so far.
    write(args, &plan, &store)?;
    outcome
}

/// Returns the directory of the data, if it exists.
fn directory(args: &Args) -> Option<PathBuf> {
    let named = args.data.clone().or_else(|| std::env::var_os("HASHBROOK_DATA").map(PathBuf::from));
    Some(named.unwrap_or_else(|| PathBuf::from("data"))).filter(|directory| directory.is_dir())
}

/// Returns the cells whose data is available.
fn available(args: &Args, plan: &Plan) -> Result<Vec<Cell>> {
    let directory = directory(args);
    let mut cells = plan.cells()?;
    let mut absent = Vec::new();
    for dataset in &plan.datasets {
        if Loaded::is_there(dataset, directory.as_deref()) {
            continue;
        }
        let before = cells.len();
        cells.retain(|cell| cell.dataset != dataset.name);
        if cells.len() < before {
            absent.push(&dataset.title);
        }
    }
    if cells.is_empty() {
        bail!("no data is at hand: name its directory with --data, or try --quick");
    }
    for title in absent {
        console::note(format_args!("{title} is left out: its files are not at hand"));
    }
    Ok(cells)
}

/// Reads the data of each data set with stored results, so that only results of the same data are
/// used. Returns the data set that was read last.
fn compare_data(
    args: &Args,
    plan: &Plan,
    cells: &[Cell],
    store: &mut Store,
) -> Result<Option<Loaded>> {
    let directory = directory(args);
    let asked = |name: &str| cells.iter().any(|cell| cell.dataset == name);
    let sets = plan.datasets.iter().filter(|set| asked(&set.name) && store.knows(&set.name));
    let sets: Vec<_> = sets.collect();
    let bar = console::steps("comparing the data", sets.len());
    let mut loaded = None;
    for dataset in sets {
        interrupt::check()?;
        bar.set_message(dataset.title.clone());
        // Drops the old data set first: memory suffices for only one.
        drop(loaded.take());
        let data = loaded.insert(Loaded::read(dataset, directory.as_deref())?);
        store.use_data(&dataset.name, &data.fingerprint);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(loaded)
}

/// Prints which results are not used.
fn remark(plan: &Plan, cells: &[Cell], store: &Store, path: &Path) {
    let path = path.display();
    for Unused { dataset, results, used } in store.unused() {
        let title = plan.dataset(&dataset).map_or(dataset.as_str(), |dataset| &dataset.title);
        console::note(format_args!(
            "{title}: {} in {path} {} of other data than that with checksum {used}: not used, and \
             kept for when that data is given again",
            plural(results as u64, "result"),
            if results == 1 { "is" } else { "are" },
        ));
    }
    if store.of_other_versions() > 0 {
        console::note(format_args!(
            "{} in {path} of other versions of the program: not used, and kept",
            plural(store.of_other_versions() as u64, "result")
        ));
    }
    let other = store.of_other_parameters(cells);
    if other > 0 {
        console::note(format_args!(
            "{} in {path} of methods with other parameters than they have now: not used, and kept",
            plural(other as u64, "result")
        ));
    }
}

fn measure(
    args: &Args,
    plan: &Plan,
    missing: &[&Cell],
    mut loaded: Option<Loaded>,
    store: &mut Store,
) -> Result<()> {
    let directory = directory(args);
    let bar = console::steps("reproducing", missing.len());
    for cell in missing {
        interrupt::check()?;
        bar.set_message(cell.key());
        let dataset = plan.dataset(&cell.dataset).context("a data set of the grid")?;
        if loaded.as_ref().is_none_or(|loaded| loaded.name != dataset.name) {
            // Drops the old data set first: memory suffices for only one.
            drop(loaded.take());
            loaded = Some(Loaded::read(dataset, directory.as_deref())?);
        }
        let data = loaded.as_mut().context("a data set in memory")?;
        let record = data.run(dataset, cell).with_context(|| cell.key())?;
        store.put(record)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}

fn write(args: &Args, plan: &Plan, store: &Store) -> Result<()> {
    let clock = Instant::now();
    let results = Results { plan, store };
    let sections = report::sections(&results);
    let about = about(plan, store);
    let out = |name: &str| args.out.join(name);
    file::write(out("report.html"), page::html(&about, &sections).as_bytes())?;
    file::write(out("RESULTS.md"), page::markdown(&about, &sections).as_bytes())?;
    for (name, svg) in page::drawings(&sections) {
        file::write(out("figures").join(name), svg.as_bytes())?;
    }
    let took = console::seconds(clock.elapsed());
    console::line(format_args!("{} written in {took}", out("report.html").display()))
}

/// Returns the report's description of itself: its source, machine and data.
fn about(plan: &Plan, store: &Store) -> About {
    let Citation { title, authors, venue } = &plan.citation;
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let data: Vec<String> =
        store.data().map(|(dataset, checksum)| format!("{dataset} {checksum}")).collect();
    About {
        title: match plan.quick {
            true => format!("\u{201c}{title}\u{201d}: a quick look, on toy digits"),
            false => format!("\u{201c}{title}\u{201d}, reproduced"),
        },
        subtitle: format!(
            "The paper: {authors}, {venue}. Measured here with hashbrook, beside other methods of online hashing."
        ),
        lines: vec![
            format!("hashbrook {}, {}", env!("CARGO_PKG_VERSION"), console::machine()),
            format!("{cores} cores, {}", console::today()),
            format!("Checksums of the data: {}.", data.join(", ")),
            "Derived from results.jsonl alone.".to_owned(),
        ],
    }
}
