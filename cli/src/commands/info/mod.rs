mod index;
mod model;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use hashbrook::{FileKind, HashFunction, HashParts, Lift};
use serde_json::json;

pub use self::index::index;
use crate::console::{self, count, plural};

/// Tells what a model, a function or an index is and what is in it
///
/// What a file is shows in its first bytes; a file that is none of these is not read any further.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hashbrook info digits.model
  hashbrook info digits.function
  hashbrook info digits.index")]
pub struct Args {
    /// The file, as `learn`, `export` or `index build` wrote it
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<()> {
    match FileKind::of(&args.file)? {
        FileKind::Index => index(&args.file, args.json),
        FileKind::Function => function(&args.file, args.json),
        // If the file is not a model either, loading it fails with an error that says so.
        _ => model::model(&args.file, args.json),
    }
}

fn function(path: &Path, json: bool) -> Result<()> {
    let function = HashFunction::load(path)?;
    let (parts, bytes) = (function.parts(), size(path)?);
    let labels: Vec<&str> = function.label_names().iter().collect();
    if json {
        return console::line(json!({
            "kind": FileKind::Function,
            "dim": parts.dim,
            "bits": parts.bits,
            "label_bits": parts.label_bits,
            "centered": parts.center.is_some(),
            "scaled": parts.scale.is_some(),
            "unit": parts.unit,
            "lift": lift(&parts.lift),
            "labels": labels,
            "bytes": bytes,
        }));
    }
    let mut rows = vec![("kind", "a hash function, which encodes and does not learn".to_owned())];
    rows.extend(stages(parts));
    rows.push(("labels", summary(&labels)));
    rows.push(("file", plural(bytes, "byte")));
    console::pairs(&rows)
}

/// Describes the stages that a function applies to vectors.
fn stages(parts: &HashParts) -> Vec<(&'static str, String)> {
    vec![
        ("codes", codes(parts)),
        ("vectors", plural(parts.dim as u64, "dimension")),
        ("centred", yes_no(parts.center.is_some())),
        ("scaled", yes_no(parts.scale.is_some())),
        ("unit length", yes_no(parts.unit)),
        ("lift", lift(&parts.lift).to_owned()),
    ]
}

/// Describes the number of bits, and how many are label bits and detail bits.
fn codes(parts: &HashParts) -> String {
    let bits = plural(parts.bits as u64, "bit");
    match parts.bits - parts.label_bits {
        0 => bits,
        detail => format!("{bits}: {} that tell labels, then {detail} of detail", parts.label_bits),
    }
}

fn lift(lift: &Lift) -> &'static str {
    match lift {
        Lift::Identity => "none",
        Lift::Rbf { .. } => "rbf",
        Lift::Compact(_) => "rbf, compact",
        _ => "unknown",
    }
}

fn yes_no(yes: bool) -> String {
    if yes { "yes" } else { "no" }.to_owned()
}

/// Lists the first few labels, and counts the rest.
fn summary(labels: &[&str]) -> String {
    const FEW: usize = 12;
    let few = labels.iter().take(FEW).copied().collect::<Vec<_>>().join(", ");
    match labels.len() {
        0 => "none".to_owned(),
        n if n <= FEW => format!("{n}: {few}"),
        n => format!("{}: {few}, ...", count(n as u64)),
    }
}

fn size(path: &Path) -> Result<u64> {
    let found = std::fs::metadata(path).with_context(|| format!("the size of {}", path.display()));
    Ok(found?.len())
}
