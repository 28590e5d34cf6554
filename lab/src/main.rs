//! The lab: experiments behind the documentation, for researchers and maintainers.
//!
//! ```text
//! cargo run --release --package hashbrook-lab -- worlds
//! ```

mod worlds;

use clap::Parser;

/// Experiments behind hashbrook's documentation
#[derive(Parser)]
#[command(name = "hashbrook-lab", version)]
enum Command {
    Worlds(worlds::Args),
}

fn main() -> anyhow::Result<()> {
    match Command::parse() {
        Command::Worlds(args) => worlds::run(&args),
    }
}
