use std::path::Path;

use anyhow::Result;
use hashbrook::{FileKind, HashFunction, Index, SearchStructure, Statistics};
use serde_json::json;

use super::{size, summary};
use crate::console::{self, count, plural};

/// Prints information about an index.
pub fn index(path: &Path, json: bool) -> Result<()> {
    let index = Index::open(path)?;
    let (statistics, bytes) = (index.statistics(), size(path)?);
    let dim = index.function().map(HashFunction::dim);
    let labels: Vec<&str> = index.label_names().iter().collect();
    if json {
        return console::line(json!({
            "kind": FileKind::Index,
            "items": statistics.items,
            "removed": statistics.removed,
            "bits": index.bits(),
            "dim": dim,
            "vectors": index.vector_format(),
            "metric": index.vector_metric(),
            "id_bytes": statistics.id_bytes,
            "code_bytes": statistics.code_bytes,
            "label_bytes": statistics.label_bytes,
            "vector_bytes": statistics.vector_bytes,
            "structure": index.search_structure(),
            "structure_bytes": statistics.structure_bytes,
            "structure_least_codes": SearchStructure::least_codes(index.bits()),
            "labels": labels,
            "bytes": bytes,
            "segments": statistics.segments,
        }));
    }
    let vectors = match dim {
        None => "none: it takes codes alone".to_owned(),
        Some(dim) => {
            let kept = match index.vector_format() {
                None => "not kept".to_owned(),
                Some(format) => {
                    let format = format!("{format:?}").to_lowercase();
                    let metric = index.vector_metric().unwrap_or_default().name();
                    let bytes = plural(statistics.vector_bytes as u64, "byte");
                    format!("stored as {format}, {bytes}; re-ranking is by {metric}")
                }
            };
            format!("{}, {kept}", plural(dim as u64, "dimension"))
        }
    };
    console::pairs(&[
        ("kind", "an index, which finds items by their codes".to_owned()),
        ("items", count(statistics.items as u64)),
        ("removed, not yet compacted", count(statistics.removed as u64)),
        ("codes", plural(index.bits() as u64, "bit")),
        ("vectors", vectors),
        ("search structure", structure(&index, &statistics)),
        ("bytes an item", bytes_an_item(&statistics)),
        ("labels", summary(&labels)),
        ("file", plural(bytes, "byte")),
    ])
}

/// Describes the search structure: its kind and its bytes, or the reason why there is none.
fn structure(index: &Index, statistics: &Statistics) -> String {
    let chosen = index.search_structure();
    let least = SearchStructure::least_codes(index.bits());
    match (chosen, statistics.structure_bytes) {
        (SearchStructure::None, _) => "none, as chosen: searches compare every code".to_owned(),
        (_, 0) if statistics.items + statistics.removed < least => {
            format!(
                "none (built from {} codes on; {} was chosen)",
                count(least as u64),
                chosen.name()
            )
        }
        (_, 0) => {
            format!("none (built by `index compact` or by searches; {} was chosen)", chosen.name())
        }
        (_, bytes) => format!("{}, {}", chosen.name(), plural(bytes as u64, "byte")),
    }
}

/// Describes how many bytes per item each part takes.
fn bytes_an_item(statistics: &Statistics) -> String {
    let items = (statistics.items + statistics.removed).max(1) as f64;
    let parts = [
        ("id", statistics.id_bytes),
        ("code", statistics.code_bytes),
        ("labels", statistics.label_bytes),
        ("vector", statistics.vector_bytes),
        ("search structure", statistics.structure_bytes),
    ];
    let all: usize = parts.iter().map(|(_, bytes)| bytes).sum();
    let parts: Vec<String> = parts
        .iter()
        .filter(|(_, bytes)| *bytes > 0)
        .map(|(name, bytes)| format!("{name} {:.1}", *bytes as f64 / items))
        .collect();
    format!("{:.1}: {}", all as f64 / items, parts.join(", "))
}
