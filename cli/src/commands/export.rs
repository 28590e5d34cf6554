use std::path::PathBuf;

use anyhow::Result;
use serde_json::json;

use crate::console::{self, plural};
use crate::output::Output;
use crate::{input, output};

/// Writes the hash function of a model to a small file of its own
///
/// The file holds all that encoding takes, and nothing that learning does: `encode`, `eval`, `search`,
/// `index build` and `index renew` take it wherever they take a model. It cannot learn on; keep the
/// model for that.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  hashbrook export --model digits.model --out digits.function")]
pub struct Args {
    /// The model, as `learn` wrote it
    #[arg(long, value_name = "MODEL")]
    model: PathBuf,

    /// Where to write the function; - is the standard output
    #[arg(long, value_name = "FUNCTION")]
    out: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<()> {
    output::check_outputs([args.model.as_path(), &args.out], [])?;
    output::check_json(&args.out, args.json)?;
    let target = Output::new(&args.out)?;
    let function = input::load_function(&args.model)?;
    function.save(target.path())?;
    target.finish()?;
    let (before, after) =
        (std::fs::metadata(&args.model)?.len(), std::fs::metadata(target.path())?.len());
    let out = target.name();
    if args.json {
        return console::line(json!({
            "dim": function.dim(),
            "bits": function.bits(),
            "labels": function.label_names().len(),
            "model_bytes": before,
            "bytes": after,
            "out": out,
        }));
    }
    target.say(format_args!(
        "the function of {}, {} of the model's {}: {out}",
        args.model.display(),
        plural(after, "byte"),
        console::count(before),
    ))
}
