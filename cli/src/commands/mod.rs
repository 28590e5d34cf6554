//! The commands, one file each.

pub mod advise;
pub mod client;
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
pub mod methods;
pub mod reproduce;
pub mod search;
pub mod serve;
pub mod size;
pub mod split;
pub mod store;
pub mod unlearn;

use anyhow::Context;
use clap::CommandFactory;

use crate::args::{Args, Completions, Man};

pub fn completions(args: &Completions) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "hashbrook", &mut script);
    std::io::Write::write_all(&mut std::io::stdout(), &script)?;
    Ok(())
}

pub fn man(args: &Man) -> anyhow::Result<()> {
    let told = || format!("cannot write manual pages to {}", args.directory.display());
    std::fs::create_dir_all(&args.directory).with_context(told)?;
    clap_mangen::generate_to(Args::command(), &args.directory).with_context(told)
}

/// Sets the parameters of a method from the values of --set, each NAME=VALUE.
pub fn set_parameters(method: &mut hashbrook::Method, sets: &[String]) -> anyhow::Result<()> {
    for set in sets {
        let (parameter, value) = set.split_once('=').ok_or_else(|| {
            anyhow::anyhow!("--set takes NAME=VALUE, as in ridge=0.6, not {set:?}")
        })?;
        method.set(parameter.trim(), value.trim())?;
    }
    Ok(())
}

/// Returns the scaling of a value of --scale; the parser allows only `none` and `standard`.
pub fn scale_named(name: &str) -> hashbrook::Scale {
    match name {
        "standard" => hashbrook::Scale::Standard,
        _ => hashbrook::Scale::None,
    }
}

/// Returns a method and all its parameters as one flat table.
pub fn parameters_of(method: &hashbrook::Method) -> serde_json::Map<String, serde_json::Value> {
    match serde_json::to_value(method) {
        Ok(serde_json::Value::Object(table)) => table,
        // A struct of numbers and names always serialises to a table.
        _ => serde_json::Map::new(),
    }
}
