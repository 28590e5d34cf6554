//! The lab: experiments behind the documentation, for researchers and maintainers.
//!
//! ```text
//! cargo run --release --package hashbrook-lab -- worlds
//! ```

#[path = "../../examples/worlds/mod.rs"]
mod generated;
mod growth;
mod labels;
mod worlds;

use anyhow::{Context, Result};
use clap::Parser;
use hashbrook::Method;

/// Experiments behind hashbrook's documentation
#[derive(Parser)]
#[command(name = "hashbrook-lab", version)]
enum Command {
    Worlds(worlds::Args),
    Labels(labels::Args),
    Growth(growth::Args),
}

fn main() -> Result<()> {
    match Command::parse() {
        Command::Worlds(args) => worlds::run(&args),
        Command::Labels(args) => labels::run(&args),
        Command::Growth(args) => growth::run(&args),
    }
}

/// Returns the method that is written as its name and parameters: `brook:targets=classes`.
fn method(written: &str) -> Result<Method> {
    let mut words = written.split(':');
    let mut method = Method::named(words.next().unwrap_or_default())?;
    for word in words {
        let (name, value) = word.split_once('=').context("parameters are NAME=VALUE")?;
        method.set(name, value)?;
    }
    Ok(method)
}
