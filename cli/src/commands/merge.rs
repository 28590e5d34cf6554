use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use hashbrook::Model;
use serde_json::json;

use crate::console::{self, count, plural};
use crate::output::{self, Output};

/// Puts models together that learned parts of a stream
///
/// The result is the model that learned all the parts, to the last bit, in whatever order they
/// came. The models must have the same centre and anchors: learn the first part, and all others
/// with `learn --like` that model. Only brook models can be merged.
///
/// A model that is given twice is refused, under whatever name: its rows would count twice. A model
/// keeps sums and not rows, so that parts overlap cannot be told: rows that two parts have both
/// learned, or a model that is merged with a part of itself, count twice.
#[derive(clap::Args)]
#[command(after_help = "\
Example, on three machines:
  hashbrook learn --data a.npy --labels a-labels.npy --out a.model
  hashbrook learn --data b.npy --labels b-labels.npy --like a.model --out b.model
  hashbrook learn --data c.npy --labels c-labels.npy --like a.model --out c.model
  hashbrook merge a.model b.model c.model --out all.model")]
pub struct Args {
    /// The models
    #[arg(value_name = "MODEL", required = true, num_args = 2..)]
    models: Vec<PathBuf>,

    /// Where to write the model, which may be one of those given; - is the standard output
    #[arg(long, value_name = "MODEL")]
    out: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<()> {
    output::check_json(&args.out, args.json)?;
    let target = Output::new(&args.out)?;
    let (first, others) = args.models.split_first().context("two models or more")?;
    let mut model = Model::load(first)?;
    // Every pair is compared: a merged model does not reveal which models it was merged from.
    let mut given = HashMap::from([(model.fingerprint(), first)]);
    for path in others {
        let other = Model::load(path)?;
        if other.has_learned()
            && let Some(before) = given.insert(other.fingerprint(), path)
        {
            bail!(
                "{} has learned the very same as {}: its rows would count twice",
                path.display(),
                before.display()
            );
        }
        model
            .merge(&other)
            .with_context(|| format!("{} and {}", first.display(), path.display()))?;
    }
    // Notes of `learn` about the data of the first model do not hold for the merged one.
    model.notes_mut().clear();
    // The function is solved here, so that not every later `encode` must solve it.
    let solved = model.try_hash_function();
    model.save(target.path())?;
    target.finish()?;
    solved?;
    let out = target.name();
    if args.json {
        return console::line(json!({
            "models": args.models.len(),
            "seen": model.seen(),
            "labels": model.label_names().len(),
            "out": out,
        }));
    }
    target.say(format_args!(
        "{} merged, of {} in all: {out}",
        plural(args.models.len() as u64, "model"),
        count(model.seen()) + " rows",
    ))
}
