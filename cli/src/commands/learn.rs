use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use clap::ArgAction;
use hashbrook::dataset::{NpyWriter, Reader};
use hashbrook::{Batch, Center, LabelList, Learner, Mean, Method, Model, Setup, Step, file};
use serde_json::{Value, json};

use crate::args::LabelledData;
use crate::interrupt::Interrupted;
use crate::{console, input, interrupt};

/// Learns a hash function from a stream of labelled vectors
///
/// The files are read from beginning to end, a batch at a time; they may be larger than memory.
/// The model holds all it needs to go on: interrupt the command with Ctrl-C and it saves what it
/// has learned so far.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hashbrook learn --bits 64 --data x.npy --labels y.npy --out digits.model
  hashbrook learn --method bsodh --set ridge=0.3 --set order=alternating --batch 500 \\
                  --data mnist.npz:images --labels mnist.npz:labels --out digits.model
  hashbrook learn --resume digits.model --data more.npy --labels more-labels.npy --out digits.model

A method and its parameters in a file, for --config:
  method = \"bsodh\"
  order = \"released\"      # or \"alternating\", \"printed\"
  ridge = 0.6             # the paper's lambda
  fit_weight = 0.5        # sigma
  similar_weight = 1.2    # eta_s
  dissimilar_weight = 0.2 # eta_d

--resume goes on exactly where the model stopped. Given the data it stopped in (told by its first
rows), it goes on with the row after the last it learned; given other data, it learns all of it.
--skip overrules that.")]
pub struct Args {
    #[command(flatten)]
    input: LabelledData,

    /// Where to write the model
    #[arg(long, value_name = "MODEL")]
    out: PathBuf,

    /// The method: bsodh [default: bsodh]
    #[arg(long, value_name = "NAME")]
    method: Option<String>,

    /// The length of the codes, 1 to 1024 [default: 64]
    #[arg(long, value_name = "N")]
    bits: Option<usize>,

    /// How many rows to learn at a time
    #[arg(long, value_name = "N", default_value_t = 2000)]
    batch: usize,

    /// How many rows to learn; all unless said
    #[arg(long, value_name = "N")]
    rows: Option<usize>,

    /// How many rows to leave out at the beginning of the data
    #[arg(long, value_name = "N")]
    skip: Option<usize>,

    /// Sets a parameter of the method; may be repeated
    #[arg(long, value_name = "NAME=VALUE", action = ArgAction::Append)]
    set: Vec<String>,

    /// Reads the method and its parameters from a TOML file; --method and --set come on top
    #[arg(long, value_name = "FILE.toml")]
    config: Option<PathBuf>,

    /// The random start [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// What to subtract from every vector: none, the mean of the first --warmup rows, the mean of
    /// all rows (which takes a pass of its own), or the vector in a file [default: first]
    #[arg(long, value_name = "none|first|all|FILE")]
    center: Option<String>,

    /// How many of the first rows to hold back until the centre is known [default: 1000]
    #[arg(long, value_name = "N")]
    warmup: Option<usize>,

    /// Whether to scale vectors to unit length [default: true]
    #[arg(long, value_name = "true|false")]
    unit: Option<bool>,

    /// The projection to start from, dimensions x bits; random unless given
    #[arg(long, value_name = "FILE")]
    init: Option<String>,

    /// Goes on with a model that was saved
    #[arg(
        long,
        value_name = "MODEL",
        conflicts_with_all =
            ["method", "bits", "set", "config", "seed", "center", "warmup", "unit", "init"]
    )]
    resume: Option<PathBuf>,

    /// Also writes the learned projection, dimensions x bits, float32
    #[arg(long, value_name = "FILE.npy")]
    weights_out: Option<PathBuf>,

    /// Print one JSON object per batch, and one at the end
    #[arg(long)]
    json: bool,
}

/// The notes that this command keeps in a model: which data it was learning, and how far it got.
const NOTE_CHECKSUM: &str = "data.checksum";
const NOTE_CHECKED_ROWS: &str = "data.checked_rows";
const NOTE_ROWS: &str = "data.rows";
/// Whether the length of the warm-up was the user's own choice.
const NOTE_WARMUP: &str = "warmup.chosen";

pub fn run(args: &Args) -> Result<()> {
    // Better now than when all is learned.
    for out in [Some(&args.out), args.weights_out.as_ref()].into_iter().flatten() {
        file::check_writable(out)?;
    }
    if args.batch == 0 || args.rows == Some(0) {
        bail!("--batch and --rows must be 1 or more, not 0");
    }
    let mut reader = Reader::open_all(&args.input.data)?;
    let mut model = match &args.resume {
        Some(path) => Model::load(path)?,
        None => start(args, reader.dim())?,
    };
    if model.dim() != reader.dim() {
        bail!(
            "{} has vectors of {} dimensions, the model takes {}",
            args.input.data.join(", "),
            reader.dim(),
            model.dim()
        );
    }
    let labels = read_labels(args, &mut model, reader.rows())?;
    let skipped = skip_rows(args, &mut model, &mut reader)?;
    let outcome = learn(args, &mut model, &mut reader, labels.as_ref(), skipped)?;
    save(args, &model)?;
    summarize(args, &model, &outcome)?;
    if outcome.interrupted { Err(Interrupted.into()) } else { Ok(()) }
}

/// A new model as the command line describes it.
fn start(args: &Args, dim: usize) -> Result<Model> {
    let method = method(args)?;
    let bits = args.bits.unwrap_or(64);
    let seed = args.seed.unwrap_or(1);
    let init = match &args.init {
        None => None,
        Some(file) => {
            let (weights, columns) = input::read_matrix(file)?;
            let rows = weights.len() / columns;
            if (rows, columns) != (dim, bits) {
                bail!(
                    "{file} is {rows} x {columns}; --init must be dimensions x bits, {dim} x {bits}"
                );
            }
            Some(weights)
        }
    };
    let mut setup = Setup { init, ..Setup::default() };
    setup.unit = args.unit.unwrap_or(setup.unit);
    setup.warmup = args.warmup.unwrap_or(setup.warmup);
    // What is wrong with the method should show before a pass over all the data.
    let tried = Setup { center: Center::None, ..setup.clone() };
    method.start_with(dim, bits, seed, tried)?;
    setup.center = match args.center.as_deref() {
        None | Some("first") => Center::First,
        Some("none") => Center::None,
        Some("all") => {
            let mut mean = Mean::new(dim);
            let mut reader = Reader::open_all(&args.input.data)?;
            input::for_each_rows("mean    ", &mut reader, |rows| Ok(mean.add(rows)?))?;
            Center::Given(mean.value())
        }
        Some(file) => {
            let (center, _) = input::read_matrix(file).with_context(|| {
                format!("--center takes none, first, all or a file, not {file:?}")
            })?;
            if center.len() != dim {
                bail!("{file} has {} numbers; the data has {dim} dimensions", center.len());
            }
            Center::Given(center)
        }
    };
    let mut model = method.start_with(dim, bits, seed, setup)?;
    if args.warmup.is_some() {
        model.notes_mut().insert(NOTE_WARMUP.to_owned(), "yes".to_owned());
    }
    Ok(model)
}

/// The method from --config, --method and --set.
fn method(args: &Args) -> Result<Method> {
    let mut table = BTreeMap::new();
    if let Some(path) = &args.config {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("{} cannot be read", path.display()))?;
        table = toml::from_str::<BTreeMap<String, Value>>(&text)
            .with_context(|| format!("{} is not a table of parameters", path.display()))?;
    }
    let configured = match table.remove("method") {
        None => None,
        Some(Value::String(name)) => Some(name),
        Some(other) => bail!("method must be a name in quotes, not {other}"),
    };
    let name = match (&args.method, configured) {
        (Some(asked), Some(configured)) if *asked != configured => {
            bail!("--method is {asked}, but the method of --config is {configured}")
        }
        (Some(name), _) => name.clone(),
        (None, Some(name)) => name,
        (None, None) => "bsodh".to_owned(),
    };
    let mut method = Method::named(&name)?;
    for (parameter, value) in table {
        method.set_value(&parameter, value)?;
    }
    for set in &args.set {
        let (parameter, value) = set
            .split_once('=')
            .ok_or_else(|| anyhow!("--set takes NAME=VALUE, as in ridge=0.6, not {set:?}"))?;
        method.set(parameter.trim(), value.trim())?;
    }
    Ok(method)
}

fn read_labels(args: &Args, model: &mut Model, rows: Option<usize>) -> Result<Option<LabelList>> {
    if args.input.labels.is_empty() {
        if model.method().is_supervised() {
            bail!("{} learns from labels: give them with --labels", model.method().name());
        }
        return Ok(None);
    }
    let (files, data) = (&args.input.labels, &args.input.data);
    input::labels_for(files, model.names_mut(), rows, data).map(Some)
}

/// Leaves out the rows that are not to be learned (again); how many they were.
fn skip_rows(args: &Args, model: &mut Model, reader: &mut Reader) -> Result<usize> {
    let note =
        |model: &Model, name: &str| -> Option<usize> { model.notes().get(name)?.parse().ok() };
    let checked = note(model, NOTE_CHECKED_ROWS).unwrap_or(64).clamp(1, 64);
    let (checksum, checked) = checksum(&args.input.data, checked)?;
    let known = model.notes().get(NOTE_CHECKSUM).is_some_and(|known| *known == checksum);
    let learned = if known { note(model, NOTE_ROWS).unwrap_or(0) } else { 0 };
    let skip = args.skip.unwrap_or(learned);
    if !known || skip < learned {
        model.notes_mut().insert(NOTE_CHECKSUM.to_owned(), checksum);
        model.notes_mut().insert(NOTE_CHECKED_ROWS.to_owned(), checked.to_string());
    }
    let mut left = skip;
    while left > 0 {
        interrupt::check()?;
        let Some(rows) = reader.next(left.min(input::ROWS_AT_ONCE))? else { break };
        left -= rows.len();
    }
    if left > 0 || reader.rows() == Some(skip) {
        let rows = console::count((skip - left) as u64);
        match args.skip {
            Some(skip) => bail!("--skip {skip} leaves nothing: there are {rows} rows"),
            None => bail!(
                "the model has learned all {rows} rows of {}; --skip 0 learns them again",
                args.input.data.join(", ")
            ),
        }
    }
    if args.skip.is_none() && skip > 0 {
        console::note(format_args!(
            "the model has learned the first {} rows of {}: going on from there",
            console::count(skip as u64),
            args.input.data.join(", ")
        ));
    }
    Ok(skip)
}

/// A checksum of the first rows of some files, at most `rows`; and of how many it is.
fn checksum(data: &[String], rows: usize) -> Result<(String, usize)> {
    let mut reader = Reader::open_all(data)?;
    let Some(first) = reader.next(rows)? else { return Ok((String::new(), 0)) };
    let mut sum = crc32fast::Hasher::new();
    first.values().iter().for_each(|value| sum.update(&value.to_le_bytes()));
    Ok((format!("{:08x}", sum.finalize()), first.len()))
}

/// What a run of this command came to.
struct Outcome {
    rows: usize,
    learning: Duration,
    interrupted: bool,
}

fn learn(
    args: &Args,
    model: &mut Model,
    reader: &mut Reader,
    labels: Option<&LabelList>,
    skipped: usize,
) -> Result<Outcome> {
    let most = args.rows.unwrap_or(usize::MAX);
    let available = reader.rows().map(|rows| (rows - skipped).min(most));
    let bar = console::progress("learning", available);
    let mut outcome = Outcome { rows: 0, learning: Duration::ZERO, interrupted: false };
    let mut complete = false;
    while outcome.rows < most && !outcome.interrupted {
        let Some(features) = reader.next(args.batch.min(most - outcome.rows))? else {
            complete = true;
            break;
        };
        let start = skipped + outcome.rows;
        let batch = match labels {
            None => Batch::unlabelled(features),
            Some(labels) => {
                let end = start + features.len();
                if end > labels.len() {
                    let (files, data) = (&args.input.labels, &args.input.data);
                    input::check_label_count(files, labels.len(), data, end)?;
                }
                Batch::new(features, labels.view().slice(start..end))?
            }
        };
        let clock = Instant::now();
        let step = model.learn(batch)?;
        let time = clock.elapsed();
        outcome.learning += time;
        outcome.rows += batch.len();
        report_batch(args, model, batch.len(), step, time)?;
        bar.inc(batch.len() as u64);
        outcome.interrupted = interrupt::happened();
    }
    bar.finish_and_clear();
    if let (true, Some(labels)) = (complete, labels) {
        let rows = skipped + outcome.rows;
        input::check_label_count(&args.input.labels, labels.len(), &args.input.data, rows)?;
    }
    model.notes_mut().insert(NOTE_ROWS.to_owned(), (skipped + outcome.rows).to_string());
    if !model.is_warm() && !outcome.interrupted {
        end_warmup(model, &mut outcome)?;
    }
    Ok(outcome)
}

/// The stream was shorter than the warm-up.
fn end_warmup(model: &mut Model, outcome: &mut Outcome) -> Result<()> {
    let seen = console::count(model.seen());
    if model.notes().contains_key(NOTE_WARMUP) {
        let warmup = console::count(model.warmup() as u64);
        console::note(format_args!(
            "the model still warms up, with {seen} of {warmup} rows, and its function is the random \
             start; go on with --resume, or choose a smaller --warmup"
        ));
        return Ok(());
    }
    let clock = Instant::now();
    model.settle()?;
    outcome.learning += clock.elapsed();
    console::note(format_args!("centred on the mean of all {seen} rows, as there are no more"));
    Ok(())
}

fn report_batch(args: &Args, model: &Model, rows: usize, step: Step, time: Duration) -> Result<()> {
    if !args.json {
        return Ok(());
    }
    console::line(json!({
        "batch": model.batches(),
        "rows": rows,
        "seen": model.seen(),
        "seconds": time.as_secs_f64(),
        "iterations": step.iterations,
        "changed_bits": step.changed_bits,
        "warm": model.is_warm(),
    }))
}

fn save(args: &Args, model: &Model) -> Result<()> {
    if let Some(path) = &args.weights_out {
        let function = model.hash_function();
        let mut out = NpyWriter::<f32>::create(path, Some(function.bits()))?;
        out.write(&function.parts().weights)?;
        out.finish()?;
    }
    Ok(model.save(&args.out)?)
}

fn summarize(args: &Args, model: &Model, outcome: &Outcome) -> Result<()> {
    let out = args.out.display();
    if args.json {
        return console::line(json!({
            "done": !outcome.interrupted,
            "rows": outcome.rows,
            "seen": model.seen(),
            "batches": model.batches(),
            "seconds": outcome.learning.as_secs_f64(),
            "warm": model.is_warm(),
            "out": out.to_string(),
        }));
    }
    let rows = console::count(outcome.rows as u64);
    let time = console::seconds(outcome.learning);
    let (method, bits) = (model.method().name(), model.bits());
    console::line(format_args!("{method} learned {rows} rows into {bits} bits in {time}: {out}"))?;
    if outcome.interrupted {
        console::note(format_args!("to go on, run it again with --resume {out}"));
    }
    Ok(())
}
