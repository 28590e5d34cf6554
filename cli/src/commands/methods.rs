use anyhow::Result;
use hashbrook::Method;
use serde_json::{Value, json};

use super::parameters_of;
use crate::console;

/// Lists the methods, and what can be set in each
///
/// A parameter is set with `--set NAME=VALUE` of `learn`, `compare` and `serve`. The guide has a page on each method.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hashbrook methods
  hashbrook methods bsodh
  hashbrook methods --json | jq '.[].method'")]
pub struct Args {
    /// One method alone
    #[arg(value_name = "METHOD")]
    method: Option<String>,

    /// Print a JSON array with an object for each
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<()> {
    let methods = match &args.method {
        Some(name) => vec![Method::named(name)?],
        None => Method::all(),
    };
    if args.json {
        return console::line(json!(methods.iter().map(described).collect::<Vec<_>>()));
    }
    for method in &methods {
        let learns = if method.is_supervised() { "labelled rows" } else { "rows without labels" };
        let warmup = console::count(method.warmup() as u64);
        console::line(format!("{} learns {learns}, after a warm-up of {warmup}", method.name()))?;
        for (name, value) in parameters(method) {
            console::line(format!("  {name}={}", plain(&value)))?;
        }
    }
    Ok(())
}

fn described(method: &Method) -> Value {
    json!({
        "method": method.name(),
        "labels": method.is_supervised(),
        "warmup": method.warmup(),
        "parameters": parameters(method).collect::<serde_json::Map<_, _>>(),
    })
}

/// Returns the parameters and their values, without the name of the method.
fn parameters(method: &Method) -> impl Iterator<Item = (String, Value)> {
    parameters_of(method).into_iter().filter(|(name, _)| name != "method")
}

/// Formats a value as `--set` takes it.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
