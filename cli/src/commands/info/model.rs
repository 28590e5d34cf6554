use std::path::Path;

use anyhow::Result;
use hashbrook::learners::brook::MeasuredTargets;
use hashbrook::{FileKind, Model};
use serde_json::{Value, json};

use super::{lift, size, stages, summary};
use crate::console::{self, count, plural};

/// Minimum share of the file, in per cent, of an array that is listed.
const SMALL: u64 = 1;

pub fn model(path: &Path, json: bool) -> Result<()> {
    let model = Model::load(path)?;
    let bytes = size(path)?;
    let function = model.try_hash_function()?;
    let parts = function.parts();
    let labels: Vec<&str> = model.label_names().iter().collect();
    let arrays = model.array_sizes();
    let exported = function.to_bytes().len();
    if json {
        let arrays = arrays.iter().map(|(name, bytes)| json!({ "name": name, "bytes": bytes }));
        return console::line(json!({
            "kind": FileKind::Model,
            "method": model.method().name(),
            "parameters": parameters(&model).into_iter().collect::<serde_json::Map<_, _>>(),
            "dim": model.dim(),
            "bits": model.bits(),
            "label_bits": parts.label_bits,
            "measured_targets": model.measured_targets(),
            "not_distinguished": not_distinguished(&model),
            "seed": model.seed(),
            "seen": model.seen(),
            "batches": model.batches(),
            "warmup": model.warmup(),
            "warm": model.is_warm(),
            "centered": parts.center.is_some(),
            "scale": model.scale(),
            "unit": parts.unit,
            "lift": lift(&parts.lift),
            "labels": labels,
            "bytes": bytes,
            "arrays": arrays.collect::<Vec<_>>(),
            "exported_bytes": exported,
        }));
    }
    let learned = format!("{} rows in {} batches", count(model.seen()), count(model.batches()));
    let mut rows = vec![
        ("kind", "a model, which learns on with `learn --resume`".to_owned()),
        ("method", model.method().name().to_owned()),
        ("learned", learned),
        ("state", state(&model)),
    ];
    rows.extend(stages(parts));
    if let Some(measured) = model.measured_targets() {
        rows.push(("bits from", made_of(&measured)));
        let lost = not_distinguished(&model);
        if !lost.is_empty() {
            let lost: Vec<&str> = lost.iter().map(String::as_str).collect();
            let what = "labels whose rows are found no better than by chance";
            rows.push(("", format!("{what}: {}", summary(&lost))));
        }
    }
    rows.push(("seed", model.seed().to_string()));
    rows.push(("labels", summary(&labels)));
    rows.push(("file", plural(bytes, "byte")));
    for (name, size) in arrays {
        let share = 100 * size as u64 / bytes.max(1);
        if share >= SMALL {
            let what = meaning(&name).map_or(String::new(), |what| format!(": {what}"));
            let size = plural(size as u64, "byte");
            rows.push(("", format!("{share:>3} % are {name}{what}, {size}")));
        }
    }
    let exported = plural(exported as u64, "byte");
    rows.push(("exported", format!("{exported}: what `hashbrook export` writes, to encode with")));
    let mut rows: Vec<(String, String)> =
        rows.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    rows.extend(parameters(&model).into_iter().map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (format!("  {name}"), value)
    }));
    console::pairs(&rows)
}

/// Describes which target the bits are made of, and the scores of all candidates.
fn made_of(measured: &MeasuredTargets) -> String {
    let scores = measured.candidates.iter();
    let scores: Vec<String> =
        scores.map(|candidate| format!("{} {:.3}", candidate.made_of, candidate.score)).collect();
    let mut text = measured.made_of.to_string();
    if !scores.is_empty() {
        text += &format!(" (nDCG@10 on a sample: {})", scores.join(", "));
    }
    if measured.gave_up_lifted {
        text += "; the sums of lifted vectors were given up, as there are many labels";
    }
    text
}

/// Returns the names of sampled labels that the bits do not distinguish. A label without a name is
/// shown as its number.
fn not_distinguished(model: &Model) -> Vec<String> {
    let name = |label: u32| {
        model.label_names().name(label).map_or_else(|| label.to_string(), str::to_owned)
    };
    let lost = model.measured_targets().map(|measured| measured.not_distinguished);
    lost.unwrap_or_default().into_iter().map(name).collect()
}

fn parameters(model: &Model) -> Vec<(String, Value)> {
    crate::commands::parameters_of(model.method())
        .into_iter()
        .filter(|(name, _)| name != "method")
        .collect()
}

fn state(model: &Model) -> String {
    match model.is_warm() {
        true => "warm".to_owned(),
        false => format!(
            "warming up: holds back rows until it has {}; its function is what these alone teach",
            count(model.warmup() as u64)
        ),
    }
}

/// Returns the meaning of an array that can be large.
fn meaning(array: &str) -> Option<&'static str> {
    Some(match array {
        "brook.gram" => "sums of products, of every two inputs",
        "brook.sums" => "sums of the rows of each label",
        "brook.plain.gram" => "sums of products of the vectors as they are",
        "brook.plain.sums" => "sums of the vectors of each label as they are",
        "brook.plain.first" => "rows by which directions are rotated",
        "brook.sample" => "a sample of the rows, by which bits are chosen",
        "brook.pending" => "rows that wait to be added up",
        "brook.anchors" | "okh.anchors" => "rows that vectors are compared with",
        "held.features" => "rows held back until the warm-up ends",
        "mihash.reservoir.features" => "a sample of the rows",
        _ if array.ends_with(".weights") => "the projection",
        _ => return None,
    })
}
