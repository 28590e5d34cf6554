use std::path::PathBuf;

use anyhow::{Context, Result};
use hashbrook::{Learner, Lift, Model};
use serde_json::{Value, json};

use crate::console;

/// Tells what a model is and what it has learned
#[derive(clap::Args)]
#[command(after_help = "Example:\n  hashbrook info digits.model")]
pub struct Args {
    /// The model, as `learn` wrote it
    model: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<()> {
    let model = Model::load(&args.model)?;
    let bytes = std::fs::metadata(&args.model).context("the size of the model")?.len();
    let function = model.try_hash_function()?;
    let parts = function.parts();
    let labels: Vec<&str> = model.names().iter().collect();
    if args.json {
        return console::line(json!({
            "method": model.method().name(),
            "parameters": parameters(&model).into_iter().collect::<serde_json::Map<_, _>>(),
            "dim": model.dim(),
            "bits": model.bits(),
            "seed": model.seed(),
            "seen": model.seen(),
            "batches": model.batches(),
            "warmup": model.warmup(),
            "warm": model.is_warm(),
            "centered": parts.center.is_some(),
            "unit": parts.unit,
            "lift": lift(&parts.lift),
            "labels": labels,
            "bytes": bytes,
        }));
    }
    let mut rows = vec![
        ("method".to_owned(), model.method().name().to_owned()),
        ("codes".to_owned(), format!("{} bits", model.bits())),
        ("vectors".to_owned(), format!("{} dimensions", model.dim())),
        (
            "learned".to_owned(),
            format!(
                "{} rows in {} batches",
                console::count(model.seen()),
                console::count(model.batches())
            ),
        ),
        ("state".to_owned(), state(&model)),
        ("centred".to_owned(), yes_no(parts.center.is_some())),
        ("unit length".to_owned(), yes_no(parts.unit)),
        ("lift".to_owned(), lift(&parts.lift).to_owned()),
        ("seed".to_owned(), model.seed().to_string()),
        ("labels".to_owned(), summary(&labels)),
        ("file".to_owned(), format!("{} bytes", console::count(bytes))),
    ];
    rows.extend(parameters(&model).into_iter().map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (format!("  {name}"), value)
    }));
    console::pairs(&rows)
}

fn parameters(model: &Model) -> Vec<(String, Value)> {
    model.method().table().into_iter().filter(|(name, _)| name != "method").collect()
}

fn state(model: &Model) -> String {
    match model.is_warm() {
        true => "warm".to_owned(),
        false => format!(
            "warming up: holds back rows until it has {}; its function is what these alone teach",
            console::count(model.warmup() as u64)
        ),
    }
}

fn lift(lift: &Lift) -> &'static str {
    match lift {
        Lift::Identity => "none",
        Lift::Rbf { .. } => "rbf",
    }
}

fn yes_no(yes: bool) -> String {
    if yes { "yes" } else { "no" }.to_owned()
}

/// The first few of many labels.
fn summary(labels: &[&str]) -> String {
    const FEW: usize = 12;
    let few = labels.iter().take(FEW).copied().collect::<Vec<_>>().join(", ");
    match labels.len() {
        0 => "none".to_owned(),
        n if n <= FEW => format!("{n}: {few}"),
        n => format!("{}: {few}, ...", console::count(n as u64)),
    }
}
