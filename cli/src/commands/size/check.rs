//! Comparison of predictions with measurements at the same sizes.

use anyhow::Result;
use serde_json::json;

use super::amount::{digits, time};
use super::measure::{self, Times};
use super::model::{Asked, Rates};
use crate::console::{self, count};

/// Runs every step at these sizes, and prints its time next to the prediction.
///
/// # Errors
/// Fails if a step fails or nothing can be printed.
pub fn run(asked: &Asked, sizes: &[u64], built_in: &Rates, json: bool) -> Result<()> {
    let (measured, _) = measure::rates(asked, built_in)?;
    if !json {
        console::line(
            "one core; predicted by the built-in rates, by those measured here, and how long it took (processor time)",
        )?;
    }
    for &items in sizes {
        let times = measure::run(asked, items, Some(()))?;
        let rows = steps(&times);
        if json {
            let row = |&(name, took, predicted): &Row| {
                json!({
                    "step": name,
                    "built_in": predicted(built_in, &times),
                    "measured_rates": predicted(&measured, &times),
                    "seconds": took,
                })
            };
            let steps: Vec<_> = rows.iter().map(row).collect();
            let memory = Asked { items, distinct: times.distinct, ..asked.clone() }.memory();
            console::line(json!({
                "items": items,
                "steps": steps,
                "distinct": times.distinct,
                "bytes": { "items": times.item_bytes, "structure": times.structure_bytes },
                "predicted_bytes": { "items": memory.codes + memory.ids, "structure": memory.structure },
            }))?;
            continue;
        }
        console::line(format_args!(
            "\n{} items, {} % of the codes distinct",
            count(items),
            digits(100.0 * times.distinct)
        ))?;
        console::line(format_args!(
            "{:28} {:>10} {:>12} {:>10} {:>16}",
            "", "built in", "rates here", "took", "took/predicted"
        ))?;
        for (name, took, predicted) in rows {
            let (by_built_in, by_measured) =
                (predicted(built_in, &times), predicted(&measured, &times));
            console::line(format_args!(
                "{name:28} {:>10} {:>12} {:>10} {:>7.2} {:>8.2}",
                time(by_built_in),
                time(by_measured),
                time(took),
                took / by_built_in,
                took / by_measured,
            ))?;
        }
    }
    Ok(())
}

/// A step: its name, its measured seconds, and its prediction.
type Row = (&'static str, f64, fn(&Rates, &Times) -> f64);

fn steps(times: &Times) -> Vec<Row> {
    let mut rows: Vec<Row> = vec![
        ("encode", times.encode, |rates, times| rates.encode(times.rows as f64)),
        ("build", times.build, |rates, times| rates.build(times.items as f64)),
        ("search", times.search, |rates, times| {
            rates.search(times.items as f64, times.queries as f64)
        }),
        ("search by scan", times.scan, |rates, times| {
            rates.scan(times.items as f64, times.scanned as f64)
        }),
        ("dedup", times.dedup, |rates, times| rates.dedup(times.items as f64)),
    ];
    if let Some(renew) = times.renew {
        rows.push(("renew", renew, |rates, times| {
            rates.encode(times.items as f64) + rates.build(times.items as f64)
        }));
    }
    rows
}
