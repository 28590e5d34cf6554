mod notes;
mod remarks;
mod report;
mod start;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::ArgAction;
use hashbrook::dataset::{NpyWriter, Reader};
use hashbrook::{Batch, Features, LabelList, Model, file};

use self::remarks::Columns;
use crate::args::LabelledData;
use crate::console::{self, count};
use crate::interrupt::Interrupted;
use crate::output::Output;
use crate::{columns, input, interrupt, output};

/// Learns a hash function from a stream of vectors
///
/// The files are read from beginning to end, a batch at a time; they may be larger than memory.
/// The model holds all it needs to go on: interrupt the command with Ctrl-C and it saves what it
/// has learned so far.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hashbrook learn --bits 64 --data x.npy --labels y.npy --out digits.model
  hashbrook learn --bits 64 --data digits.parquet --label target --out digits.model
  hashbrook learn --method bsodh --set ridge=0.3 --set order=alternating --batch 500 \\
                  --data mnist.npz:images --labels mnist.npz:labels --out digits.model
  hashbrook learn --resume digits.model --data more.npy --labels more-labels.npy --out digits.model
  hashbrook learn --set lift=none --data x.npy --labels y.npy --out small.model
  hashbrook learn --scale standard --data wine.csv:0-12 --labels wine.csv:13 --out wine.model
  hashbrook learn --like digits.model --data part2.npy --labels labels2.npy --out part2.model

A method and its parameters in a file, for --config:
  method = \"bsodh\"
  order = \"released\"      # or \"alternating\", \"printed\"
  ridge = 0.6             # the paper's lambda
  fit_weight = 0.5        # sigma
  similar_weight = 1.2    # eta_s
  dissimilar_weight = 0.2 # eta_d; with many labels, near similar_weight / (labels - 1)
  max_iterations = 100

--resume goes on exactly where the model stopped. Given the data it stopped in (told by its
first rows), it goes on with the row after the last it learned; given other data, it learns all
of it. --skip overrules that. What is settled in the model (method, bits, seed, centre and so
on) need not be given again, and cannot be changed. A run that --rows ends and --resume goes on
with comes to the same model as one that was never ended, if --rows is a multiple of --batch;
with brook its function is the same in any case. If it ends within the warm-up, the model holds
its rows back until more come.")]
pub struct Args {
    #[command(flatten)]
    input: LabelledData,

    /// Where to write the model; - is the standard output
    #[arg(long, value_name = "MODEL")]
    out: PathBuf,

    /// The method: brook, bsodh, okh, sketchhash, frosh, adapthash, osh, mihash, hcoh, hmoh, itq or lsh
    /// [default: brook]
    #[arg(long, value_name = "NAME")]
    method: Option<String>,

    /// The length of the codes, 1 to 1024 [default: 64]
    #[arg(long, value_name = "N")]
    bits: Option<usize>,

    /// How many rows to learn at a time [default: 2000, or a tenth of the data's rows if that is less]
    #[arg(long, value_name = "N")]
    batch: Option<usize>,

    /// How many rows to learn; all unless said
    #[arg(long, value_name = "N")]
    rows: Option<usize>,

    /// How many rows to leave out at the beginning of the data
    #[arg(long, value_name = "N")]
    skip: Option<usize>,

    /// Takes the parameters that the papers use on a data set: mnist, cifar10 or places205
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,

    /// Sets a parameter of the method; may be repeated
    #[arg(long, value_name = "NAME=VALUE", action = ArgAction::Append)]
    set: Vec<String>,

    /// Reads the method and its parameters from a TOML file; --set comes on top
    #[arg(long, value_name = "FILE.toml")]
    config: Option<PathBuf>,

    /// The random start [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// What to subtract from every vector: none, the mean of the first --warmup rows, the mean of
    /// all rows (which takes a pass of its own), or the vector in a file [default: first]
    #[arg(long, value_name = "none|first|all|FILE")]
    center: Option<String>,

    /// How many of the first rows to hold back until what comes from them is known: the centre,
    /// anchors and the like [default: as many as the method asks
    /// for, see `hashbrook methods`; all rows if the data has fewer]
    #[arg(long, value_name = "N")]
    warmup: Option<usize>,

    /// Whether to divide each column by its deviation in the first --warmup rows, after centring:
    /// for columns of different scale, which would count as they are large. A column that is constant
    /// there is left out [default: none]
    #[arg(long, value_name = "none|standard", value_parser = ["none", "standard"])]
    scale: Option<String>,

    /// Whether to scale vectors to unit length, after that [default: true]
    #[arg(long, value_name = "true|false")]
    unit: Option<bool>,

    /// The projection to start from, dimensions x bits; random unless given
    #[arg(long, value_name = "FILE")]
    init: Option<String>,

    /// Goes on with a model that was saved
    #[arg(long, value_name = "MODEL")]
    resume: Option<PathBuf>,

    /// Starts a model that has learned nothing, with the method, the centre and the anchors of
    /// another: for learning in parts, and `merge` afterwards (brook)
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["resume", "config", "preset", "init", "center", "warmup"])]
    like: Option<PathBuf>,

    /// Also writes the learned projection, (lifted) dimensions x bits, float32
    #[arg(long, value_name = "FILE.npy")]
    weights_out: Option<PathBuf>,

    /// Print one JSON object per batch, and one at the end
    #[arg(long)]
    json: bool,
}

pub fn run(args: &mut Args) -> Result<()> {
    check(args)?;
    let out = Output::new(&args.out)?;
    let _kept = args.input.prepare()?;
    let args = &*args;
    output::check_read_once(inputs(args))?;
    let mut reader = args.input.open()?;
    // Rows are counted first if a file does not state their number, so that a wrong number of
    // labels is reported before learning.
    let total = input::count_rows(&args.input.data, &mut reader)?;
    let mut model = match (&args.resume, &args.like) {
        (Some(path), _) => start::resumed(args, Model::load(path)?)?,
        (None, Some(path)) => {
            let like = Model::load(path)?;
            let like = like.sibling().with_context(|| format!("--like {}", path.display()))?;
            start::resumed(args, like)?
        }
        (None, None) => start::new(args, reader.dim(), total)?,
    };
    columns::check_dim(&args.input.data, &reader, model.dim())?;
    let labels = read_labels(args, &mut model, (total, reader.dim()))?;
    let skipped = notes::skip_rows(args, &mut model, &mut reader, total)?;
    let left = total.map(|total| total - skipped);
    let batch = notes::batch_size(args, &mut model, left);
    let new = model.seen() == 0 && !model.is_warm();
    let mut run = Run {
        args,
        labels: labels.as_ref(),
        skipped,
        total,
        batch,
        rows: 0,
        learning: Duration::ZERO,
        interrupted: false,
        unheard: false,
        last: Vec::new(),
        columns: new.then(|| Columns::new(model.dim())),
    };
    let start = model.try_hash_function()?.parts().weights.clone();
    run.learn(&mut model, &mut reader)?;
    // Some methods only accumulate sums while learning, and solve when the function is requested.
    let clock = Instant::now();
    if let Err(error) = model.try_hash_function() {
        // Solving needs more memory than is available. The model is saved so that no learned row is
        // lost.
        model.save(out.path())?;
        out.finish()?;
        let name = out.name();
        return Err(error).with_context(|| format!("{name} was saved without its function"));
    }
    run.learning += clock.elapsed();
    save(args, &model, &out)?;
    run.summarize(&model, &out)?;
    remarks::remark(&run, &model, &start)?;
    if run.interrupted { Err(Interrupted.into()) } else { Ok(()) }
}

/// Returns all input files except the file of settings.
fn inputs(args: &Args) -> impl Iterator<Item = &String> {
    let given = [&args.init, &args.center].into_iter().flatten();
    args.input.data.iter().chain(&args.input.labels).chain(given)
}

/// Checks the options for errors that can be detected before any file is read.
fn check(args: &Args) -> Result<()> {
    if args.batch == Some(0) || args.rows == Some(0) {
        bail!("--batch and --rows must be 1 or more, not 0");
    }
    let outputs = [Some(&args.out), args.weights_out.as_ref()];
    let outputs = || outputs.into_iter().flatten().map(PathBuf::as_path);
    let config = args.config.as_ref().map(|path| path.display().to_string());
    output::check_places(outputs(), inputs(args).chain(&config))?;
    // A resumed model may be replaced by the output model, but not by another output.
    let resumed = args.resume.as_deref().into_iter().chain(args.weights_out.as_deref());
    output::check_outputs(resumed, [])?;
    output::check_outputs(args.like.as_deref().into_iter().chain(outputs()), [])?;
    output::check_json(&args.out, args.json)?;
    if let Some(weights) = &args.weights_out {
        output::check_name(weights, "projections", &["npy"])?;
        // Reports an unwritable path before learning.
        file::check_writable(weights)?;
    }
    Ok(())
}

fn read_labels(
    args: &Args,
    model: &mut Model,
    shape: (Option<usize>, usize),
) -> Result<Option<LabelList>> {
    let (files, data) = (&args.input.labels, &args.input.data);
    if files.is_empty() {
        if model.method().is_supervised() {
            bail!(
                "{} learns from labels: give them with --labels or --label",
                model.method().name()
            );
        }
        return Ok(None);
    }
    let labels = input::labels_for(files, model.label_names_mut(), data, shape)?;
    if model.label_names().is_empty() {
        bail!("{} has no label for any row", files.join(", "));
    }
    Ok(Some(labels))
}

/// A run over the data, and its progress.
struct Run<'a> {
    args: &'a Args,
    labels: Option<&'a LabelList>,
    skipped: usize,
    /// Number of rows of the data, if known.
    total: Option<usize>,
    batch: usize,
    rows: usize,
    learning: Duration,
    interrupted: bool,
    /// True once the reader of the JSON reports closed the pipe.
    unheard: bool,
    /// Values of some of the last learned rows.
    last: Vec<f32>,
    /// Spread of the columns in the warm-up rows, if the warm-up begins with this run.
    columns: Option<Columns>,
}

/// Number of learned rows that are checked at the end: the last ones.
const LAST_ROWS: usize = 1000;

impl Run<'_> {
    fn learn(&mut self, model: &mut Model, reader: &mut Reader) -> Result<()> {
        let most = self.args.rows.unwrap_or(usize::MAX);
        let left = self.total.map(|total| (total - self.skipped).min(most));
        let bar = console::progress("learning", left);
        let mut ended = false;
        while self.rows < most && !self.interrupted {
            let Some(features) = reader.next(self.batch.min(most - self.rows))? else {
                ended = true;
                break;
            };
            let batch = self.labelled(features)?;
            let clock = Instant::now();
            let step = model.learn(batch)?;
            let time = clock.elapsed();
            self.learning += time;
            if let Some(columns) = &mut self.columns {
                let first = model.warmup().saturating_sub(self.rows).min(features.len());
                columns.add(features.slice(0..first))?;
            }
            self.rows += batch.len();
            let values = features.values();
            let kept = values.len().min(LAST_ROWS * features.dim());
            self.last = values[values.len() - kept..].to_vec();
            self.report(model, batch.len(), step, time)?;
            bar.inc(batch.len() as u64);
            self.interrupted = interrupt::happened();
        }
        bar.finish_and_clear();
        input::remark(reader.remarks());
        if let (true, Some(labels)) = (ended, self.labels) {
            let (files, data) = (&self.args.input.labels, &self.args.input.data);
            let shape = (self.skipped + self.rows, reader.dim());
            input::check_labels_of_all(files, labels, data, shape)?;
        }
        notes::remember_rows(model, self.skipped + self.rows);
        if !model.is_warm() && !self.interrupted {
            let ended = ended || self.total == Some(self.skipped + self.rows);
            self.end_warmup(model, ended)?;
        }
        Ok(())
    }

    /// Returns rows with their labels.
    fn labelled<'b>(&self, features: Features<'b>) -> Result<Batch<'b>>
    where
        Self: 'b,
    {
        let Some(labels) = self.labels else { return Ok(Batch::unlabelled(features)) };
        let start = self.skipped + self.rows;
        let end = start + features.len();
        if end > labels.len() {
            let (files, data) = (&self.args.input.labels, &self.args.input.data);
            input::check_label_count(files, labels.len(), data, (end, features.dim()))?;
        }
        Ok(Batch::new(features, labels.view().slice(start..end))?)
    }

    /// Handles a run that is shorter than the warm-up. Ends the warm-up if the data has `ended` and
    /// the user did not choose the length of the warm-up; otherwise prints a note.
    fn end_warmup(&mut self, model: &mut Model, ended: bool) -> Result<()> {
        let seen = count(model.seen());
        if !ended || notes::warmup_was_chosen(model) {
            let warmup = count(model.warmup() as u64);
            console::note(format_args!(
                "the model still warms up, with {seen} of {warmup} rows; its function is what these \
                 alone teach. Go on with --resume, or choose a smaller --warmup"
            ));
            return Ok(());
        }
        let clock = Instant::now();
        model.end_warmup()?;
        self.learning += clock.elapsed();
        console::note(format_args!("warmed up with all {seen} rows, as there are no more"));
        Ok(())
    }
}

fn save(args: &Args, model: &Model, out: &Output) -> Result<()> {
    if let Some(path) = &args.weights_out {
        let function = model.try_hash_function()?;
        let mut weights = NpyWriter::<f32>::create(path, Some(function.bits()))?;
        weights.write(&function.parts().weights)?;
        weights.finish()?;
    }
    model.save(out.path())?;
    out.finish()
}
