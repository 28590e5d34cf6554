use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use hashbrook::{Batch, Model};
use serde_json::json;

use crate::args::LabelledData;
use crate::console::{self, plural};
use crate::output::Output;
use crate::{columns, input, output};

/// Takes rows out of a model, as if it had never seen them
///
/// The rows are given as they were learned, with their labels. What is left is, to the last bit,
/// the model that learned all the others; only the centre and the anchors stay what they were, and
/// the anchors are the first rows themselves. A model keeps sums, not rows: that these were learned,
/// and only once, is for you to know; it is refused only where it cannot be. Only brook models can
/// unlearn.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  hashbrook unlearn --model digits.model --data gone.npy --labels gone-labels.npy \\
                    --out digits.model")]
pub struct Args {
    /// The model, as `learn` wrote it
    #[arg(long, value_name = "MODEL")]
    model: PathBuf,

    #[command(flatten)]
    input: LabelledData,

    /// Where to write the model, which may be the one given; - is the standard output
    #[arg(long, value_name = "MODEL")]
    out: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &mut Args) -> Result<()> {
    let inputs = args.input.data.iter().chain(&args.input.labels);
    output::check_places([args.out.as_path()], inputs)?;
    output::check_json(&args.out, args.json)?;
    let target = Output::new(&args.out)?;
    let _kept = args.input.prepare()?;
    let args = &*args;
    let (data, files) = (&args.input.data, &args.input.labels);
    let mut model = Model::load(&args.model)?;
    if files.is_empty() {
        bail!(
            "rows are unlearned with the labels they were learned with: give them with --labels or --label"
        );
    }
    let mut reader = args.input.open()?;
    columns::check_dim(data, &reader, model.dim())?;
    let total = input::count_rows(data, &mut reader)?;
    let mut names = model.label_names().clone();
    let labels = input::labels_for(files, &mut names, data, (total, reader.dim()))?;
    if names.len() > model.label_names().len() {
        let unknown = names.iter().nth(model.label_names().len()).unwrap_or_default();
        bail!("the model has learned no row with the label {unknown:?}; nothing was changed");
    }
    let (mut rows, mut unlearning) = (0, Duration::ZERO);
    input::for_each_rows("unlearning", &mut reader, |features| {
        let end = rows + features.len();
        if end > labels.len() {
            input::check_label_count(files, labels.len(), data, (end, features.dim()))?;
        }
        let clock = Instant::now();
        model.unlearn(Batch::new(features, labels.view().slice(rows..end))?)?;
        unlearning += clock.elapsed();
        rows = end;
        Ok(())
    })?;
    input::check_labels_of_all(files, &labels, data, (rows, model.dim()))?;
    // The notes say how far the data was learned, which is no longer true.
    model.notes_mut().clear();
    // The function is solved here, so that not every later `encode` must solve it.
    let solved = model.try_hash_function();
    model.save(target.path())?;
    target.finish()?;
    solved?;
    let (out, time) = (target.name(), unlearning);
    if args.json {
        return console::line(json!({
            "rows": rows,
            "seen": model.seen(),
            "seconds": time.as_secs_f64(),
            "out": out,
        }));
    }
    target.say(format_args!(
        "{} unlearned in {}, {} left: {out}",
        plural(rows as u64, "row"),
        console::seconds(time),
        console::count(model.seen()),
    ))
}
