//! Searches, with queries from files or the command line.

use anyhow::{Context, Result};
use clap::ArgAction;
use hashbrook::dataset::Reader;
use serde_json::{Map, Value, json};

use super::calls::plain;
use super::http::Service;
use super::ids::{self, IdArgs};
use crate::console;
use crate::dial::DialArgs;

/// Number of queries sent per request.
const AT_ONCE: usize = 500;

/// Finds the nearest items to queries
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hashbrook client http://127.0.0.1:7878 search --data queries.npy -k 10
  hashbrook client http://127.0.0.1:7878 search --id 7 --label cat --label dog --rerank 1000")]
pub struct Nearest {
    /// How many for each query
    #[arg(short, long, value_name = "N", default_value_t = 10)]
    k: usize,

    #[command(flatten)]
    asked: Asked,
}

/// Finds all items up to a distance from queries
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  hashbrook client http://127.0.0.1:7878 within --id 7 --radius 3"
)]
pub struct Within {
    /// The distance: bits that differ, or the sum of their weights
    #[arg(long, value_name = "N")]
    radius: u32,

    #[command(flatten)]
    asked: Asked,
}

#[derive(clap::Args)]
struct Asked {
    #[command(flatten)]
    queries: Queries,

    #[command(flatten)]
    dial: DialArgs,

    /// Re-rank this number of the first hits by their vectors
    #[arg(long, value_name = "N")]
    rerank: Option<usize>,

    /// Only items with this label, or one of several
    #[arg(long, value_name = "LABEL", action = ArgAction::Append)]
    label: Vec<String>,

    /// Only items without this label
    #[arg(long, value_name = "LABEL", action = ArgAction::Append)]
    not_label: Vec<String>,

    /// Also give what was put in with each item
    #[arg(long)]
    payloads: bool,

    #[command(flatten)]
    kind: IdArgs,
}

#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct Queries {
    /// Vectors, one per row
    #[arg(long, value_name = "FILE", num_args = 1.., action = ArgAction::Append)]
    data: Vec<String>,

    /// A vector
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', num_args = 1..)]
    vector: Vec<f32>,

    /// A code, in hexadecimal digits, as `get` prints it
    #[arg(long, value_name = "HEX")]
    code: Vec<String>,

    /// An item of the collection
    #[arg(long, value_name = "ID")]
    id: Vec<String>,
}

impl Nearest {
    pub fn run(&self, service: &Service, json: bool) -> Result<()> {
        self.asked.run(service, "/search", ("k", json!(self.k)), json)
    }
}

impl Within {
    pub fn run(&self, service: &Service, json: bool) -> Result<()> {
        self.asked.run(service, "/within", ("radius", json!(self.radius)), json)
    }
}

impl Asked {
    fn run(&self, service: &Service, path: &str, reach: (&str, Value), json: bool) -> Result<()> {
        let mut request = self.options()?;
        request.insert(reach.0.to_owned(), reach.1);
        let mut count = 0;
        // With --json the output has the same lines whether or not the collection holds items.
        let mut holds_items = json;
        let mut ask = |queries: Vec<Value>| {
            crate::interrupt::check()?;
            request.insert("queries".to_owned(), Value::Array(queries));
            let answer = service.post(path, &Value::Object(request.clone()))?;
            let results = answer["results"].as_array().context("an answer without results")?;
            for found in results {
                let has_hits = found.as_array().is_some_and(|hits| !hits.is_empty());
                holds_items = holds_items || has_hits || !is_empty(service)?;
                if !holds_items {
                    return Ok(false);
                }
                show(count, &answer["version"], found, json)?;
                count += 1;
            }
            Ok::<_, anyhow::Error>(true)
        };
        let queries = &self.queries;
        let has_items = if !queries.data.is_empty() {
            let mut reader = Reader::open_all(&queries.data)?;
            let mut has_items = true;
            while has_items && let Some(rows) = reader.next(AT_ONCE)? {
                let queries = (0..rows.len()).map(|row| json!({"vector": rows.row(row)}));
                has_items = ask(queries.collect())?;
            }
            has_items
        } else if !queries.vector.is_empty() {
            ask(vec![json!({"vector": queries.vector})])?
        } else {
            let codes = queries.code.iter().map(|code| json!({"code": code}));
            let items = queries.id.iter().map(|id| json!({"id": ids::value(&self.kind.id(id))}));
            ask(codes.chain(items).collect())?
        };
        if !has_items {
            console::line(
                "the collection holds no items yet; `hashbrook client URL put --data FILE` puts some in",
            )?;
        }
        Ok(())
    }

    /// Returns the search options as fields of a request.
    fn options(&self) -> Result<Map<String, Value>> {
        let mut request = Map::new();
        let mut add = |name: &str, value: Value| request.insert(name.to_owned(), value);
        if let Some(dial) = self.dial.dial()? {
            add("label_weight", json!(dial.label_weight()));
            add("detail_weight", json!(dial.detail_weight()));
            add("float_query", json!(dial.is_float_query()));
        }
        if let Some(rerank) = self.rerank {
            add("rerank", json!(rerank));
        }
        let mut filter = Map::new();
        for (name, labels) in [("label", &self.label), ("not_label", &self.not_label)] {
            if !labels.is_empty() {
                filter.insert(name.to_owned(), json!(labels));
            }
        }
        if !filter.is_empty() {
            add("where", Value::Object(filter));
        }
        if self.payloads {
            add("payloads", json!(true));
        }
        Ok(request)
    }
}

/// Returns whether the collection holds no items.
fn is_empty(service: &Service) -> Result<bool> {
    Ok(service.get("/stats")?["items"] == 0)
}

/// Prints the results of a query.
fn show(query: usize, version: &Value, found: &Value, json: bool) -> Result<()> {
    if json {
        return console::line(json!({"query": query, "version": version, "results": found}));
    }
    console::line(format_args!("query {query}, version {version}"))?;
    for item in found.as_array().into_iter().flatten() {
        let labels: Vec<String> =
            item["labels"].as_array().into_iter().flatten().map(plain).collect();
        let score = item["score"].as_f64().map(|score| format!("  {score:.4}"));
        console::line(format_args!(
            "  {:>12}  {:>5}{}  {}",
            plain(&item["id"]),
            item["distance"],
            score.unwrap_or_default(),
            labels.join(", ")
        ))?;
    }
    Ok(())
}
