//! The commands, one file each.

pub mod compare;
pub mod dedup;
pub mod demo;
pub mod encode;
pub mod eval;
pub mod export;
pub mod index;
pub mod info;
pub mod learn;
pub mod merge;
pub mod reproduce;
pub mod search;
pub mod size;
pub mod split;
pub mod unlearn;

use clap::CommandFactory;

use crate::args::{Args, Completions};

pub fn completions(args: &Completions) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "hashbrook", &mut script);
    std::io::Write::write_all(&mut std::io::stdout(), &script)?;
    Ok(())
}

/// A method and all its parameters, as one flat table.
pub fn parameters_of(method: &hashbrook::Method) -> serde_json::Map<String, serde_json::Value> {
    match serde_json::to_value(method) {
        Ok(serde_json::Value::Object(table)) => table,
        // A struct of numbers and names always serialises to a table.
        _ => serde_json::Map::new(),
    }
}
