//! Output of an estimate.

use anyhow::Result;
use serde_json::json;

use super::amount::{bytes, counted, digits, time};
use super::measure::Times;
use super::model::{Asked, Estimate, Function, Rates};
use crate::console::{self, count, plural};

/// Prints the complete estimate as JSON.
///
/// # Errors
/// Fails if nothing can be printed.
pub fn json(asked: &Asked, built_in: &Rates, measured: Option<&(Rates, Times)>) -> Result<()> {
    let rates = measured.map_or(built_in, |(rates, _)| rates);
    console::line(json!({
        "asked": asked,
        "estimate": asked.estimate(rates),
        "built_in_rates": built_in,
        "measured_rates": measured.map(|(rates, _)| rates),
        "measured": measured.map(|(_, times)| times),
    }))
}

/// Prints the estimate as text.
///
/// # Errors
/// Fails if nothing can be printed.
pub fn text(asked: &Asked, built_in: &Rates, measured: Option<&(Rates, Times)>) -> Result<()> {
    console::line(format_args!(
        "{} of {}, {} by {}, in {}; {} for the {} nearest; near-duplicates within {}\n",
        plural(asked.items, "item"),
        plural(asked.dim as u64, "number"),
        plural(asked.bits as u64, "bit"),
        made_by(asked),
        counted(asked.parts, "index", "indexes"),
        counted(asked.queries, "query", "queries"),
        count(asked.k),
        plural(u64::from(asked.radius), "bit"),
    ))?;
    let rates = measured.map_or(built_in, |(rates, _)| rates);
    let estimate = asked.estimate(rates);
    steps(asked, &estimate)?;
    memory(&estimate)?;
    console::line(match measured {
        None => "\nRates of one core, built in (--measure measures those of this machine):",
        Some(_) => "\nRates of one core, measured here and used, and those built in:",
    })?;
    let rows: Vec<(&str, String)> = per_core(asked, rates)
        .into_iter()
        .zip(per_core(asked, built_in))
        .map(|((name, used), (_, built_in))| match measured {
            None => (name, used),
            Some(_) => (name, format!("{used:>14} {built_in:>14}")),
        })
        .collect();
    console::pairs(&rows)
}

fn made_by(asked: &Asked) -> String {
    let method = &asked.method;
    match asked.function {
        Function::None => format!("{method}, linear"),
        Function::Compact { anchors, depth } => {
            format!("{method} with {} in {depth} directions", plural(anchors as u64, "anchor"))
        }
        Function::Full { anchors } => {
            format!("{method} with {} in single precision", plural(anchors as u64, "anchor"))
        }
    }
}

fn steps(asked: &Asked, estimate: &Estimate) -> Result<()> {
    let cores = match asked.cores {
        1 => None,
        cores => Some(plural(cores, "core")),
    };
    let line = |cells: [&str; 7]| {
        let [name, hours, one, all, read, written, moved] = cells;
        let all = if cores.is_some() { format!(" {all:>12}") } else { String::new() };
        console::line(format_args!(
            "{name:14} {hours:>12} {one:>12}{all} {read:>10} {written:>10} {moved:>10}"
        ))
    };
    line(["", "core-hours", "1 core", cores.as_deref().unwrap_or(""), "read", "written", "moved"])?;
    for step in &estimate.steps {
        line([
            step.name,
            &digits(step.core_seconds / 3600.0),
            &time(step.core_seconds),
            &time(step.seconds),
            &bytes(step.read),
            &bytes(step.written),
            &bytes(step.moved),
        ])?;
    }
    Ok(())
}

fn memory(estimate: &Estimate) -> Result<()> {
    let memory = &estimate.memory;
    console::line("\nMemory, or disk where indexes are mapped:")?;
    let mut rows = vec![
        ("codes", memory.codes),
        ("ids", memory.ids),
        ("search structure", memory.structure),
        ("vectors", memory.vectors),
        ("together", memory.index()),
        ("dedup, besides codes and ids", memory.dedup),
    ];
    rows.retain(|&(_, size)| size > 0.0);
    console::pairs(
        &rows
            .into_iter()
            .map(|(name, size)| (name, format!("{:>10}", bytes(size))))
            .collect::<Vec<_>>(),
    )
}

/// Returns the operations per second of one core, for an index with the items of one part.
fn per_core(asked: &Asked, rates: &Rates) -> Vec<(&'static str, String)> {
    let in_part = asked.items as f64 / asked.parts as f64;
    let each = |seconds: f64| format!("{}/s", digits(1.0 / seconds));
    vec![
        ("vectors encoded", each(rates.encode)),
        ("items put into an index", each(rates.build.at(in_part))),
        ("queries by the search structure", each(rates.query.at(in_part))),
        ("codes compared with a query", each(rates.compare)),
        ("items put into groups", each(rates.group.at(in_part))),
    ]
}
