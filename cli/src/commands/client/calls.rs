//! Short calls that each need only a few lines.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ArgAction;
use hashbrook::LabelNames;
use hashbrook::dataset::read_labels_for;
use hashbrook::store::ItemId;
use serde_json::{Value, json};

use super::http::{JSON, Service, escaped, print};
use super::ids::{self, IdArgs};
use crate::console::{self, plural};
use crate::input::label_texts;
use crate::output::Output;

/// Number of ids or labels sent per request.
const AT_ONCE: usize = 10_000;

/// Prints an item: its vector, labels, payload, and code, as JSON
#[derive(clap::Args)]
pub struct Get {
    /// Its id
    id: String,
}

impl Get {
    pub fn run(&self, service: &Service) -> Result<()> {
        console::line(service.get(&format!("/items/{}", escaped(&self.id)))?)
    }
}

/// Prints ids, from the smallest on
#[derive(clap::Args)]
pub struct List {
    /// Begin after this id
    #[arg(long, value_name = "ID")]
    after: Option<String>,

    /// How many
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u32,
}

impl List {
    pub fn run(&self, service: &Service, json: bool) -> Result<()> {
        let after = self.after.as_deref().map(|id| format!("&after={}", escaped(id)));
        let path = format!("/items?limit={}{}", self.limit, after.unwrap_or_default());
        let page = service.get(&path)?;
        if json {
            return console::line(page);
        }
        page["ids"].as_array().into_iter().flatten().try_for_each(|id| console::line(plain(id)))
    }
}

/// Formats a value; strings without quotes.
pub fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Removes items; what was learned of them is taken back, if the method can
#[derive(clap::Args)]
pub struct Remove {
    /// Their ids
    #[arg(value_name = "ID", required_unless_present = "ids")]
    id: Vec<String>,

    /// Files of ids: whole numbers, a text with one on each line, or a column of a table
    #[arg(long, value_name = "FILE", action = ArgAction::Append)]
    ids: Vec<String>,

    #[command(flatten)]
    kind: IdArgs,
}

impl Remove {
    pub fn run(&self, service: &Service, json: bool) -> Result<()> {
        let mut ids: Vec<ItemId> = self.id.iter().map(|id| self.kind.id(id)).collect();
        ids.extend(self.kind.read(&self.ids)?);
        let (mut removed, mut last) = (0, Value::Null);
        for some in ids.chunks(AT_ONCE) {
            let some: Vec<Value> = some.iter().map(ids::value).collect();
            last = service.post("/remove", &json!({"ids": some}))?;
            removed += last["removed"].as_u64().unwrap_or(0);
        }
        let unlearned = last["unlearned"].as_bool().unwrap_or(false);
        let done =
            json!({"removed": removed, "unlearned": unlearned, "position": last["position"]});
        print(json, &done, || {
            let taken_back = if unlearned { ", and unlearned" } else { "" };
            format!(
                "{} of {} removed{taken_back}",
                console::count(removed),
                plural(ids.len() as u64, "item")
            )
        })
    }
}

/// Gives items other labels: one item by its id, or those of files
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hashbrook client http://127.0.0.1:7878 label 7 cat
  hashbrook client http://127.0.0.1:7878 label --ids ids.txt --labels labels.txt")]
pub struct Label {
    /// The id of the item
    #[arg(value_name = "ID", required_unless_present = "ids", conflicts_with = "ids")]
    id: Option<String>,

    /// Its labels; none takes away those it has
    #[arg(value_name = "LABEL")]
    label: Vec<String>,

    /// Files of ids
    #[arg(long, value_name = "FILE", action = ArgAction::Append, requires = "labels")]
    ids: Vec<String>,

    /// Files of their labels
    #[arg(long, value_name = "FILE", action = ArgAction::Append, requires = "ids")]
    labels: Vec<String>,

    #[command(flatten)]
    kind: IdArgs,
}

impl Label {
    pub fn run(&self, service: &Service, json: bool) -> Result<()> {
        let (ids, labels) = match &self.id {
            Some(id) => (vec![self.kind.id(id)], vec![self.label.clone()]),
            None => {
                let ids = self.kind.read(&self.ids)?;
                let mut names = LabelNames::new();
                let labels = read_labels_for(&self.labels, &mut names, Some(ids.len()))?.labels;
                if labels.len() != ids.len() {
                    bail!(
                        "{} for {}",
                        plural(labels.len() as u64, "label"),
                        plural(ids.len() as u64, "id")
                    );
                }
                (ids, label_texts(&labels, &names))
            }
        };
        let mut last = Value::Null;
        for (ids, labels) in ids.chunks(AT_ONCE).zip(labels.chunks(AT_ONCE)) {
            let item = |(id, labels): (&ItemId, &Vec<String>)| json!({"id": ids::value(id), "labels": labels});
            let items: Vec<Value> = ids.iter().zip(labels).map(item).collect();
            last = service.post("/labels", &json!({"items": items}))?;
        }
        last["items"] = json!(ids.len());
        print(json, &last, || format!("{} labelled", plural(ids.len() as u64, "item")))
    }
}

/// Prints what the collection holds and does, in numbers
#[derive(clap::Args)]
pub struct Stats {}

impl Stats {
    pub fn run(&self, service: &Service, json: bool) -> Result<()> {
        let stats = service.get("/stats")?;
        if json {
            return console::line(stats);
        }
        let mut rows = Vec::new();
        flat("", &stats, &mut rows);
        console::pairs(&rows)
    }
}

/// Appends the names and values of a table and its nested tables; unknown values are omitted.
fn flat(prefix: &str, value: &Value, rows: &mut Vec<(String, String)>) {
    match value {
        Value::Null => {}
        Value::Object(table) => {
            for (name, value) in table {
                let name =
                    if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                flat(&name, value, rows);
            }
        }
        other => rows.push((prefix.to_owned(), plain(other))),
    }
}

/// Re-encodes all items by what is learned now, and waits until the new codes are in use
#[derive(clap::Args)]
pub struct Renew {}

impl Renew {
    pub fn run(&self, service: &Service, json: bool) -> Result<()> {
        let done = service.post("/renew", &json!({}))?;
        print(json, &done, || format!("all codes are of version {}", done["version"]))
    }
}

/// Copies the whole collection to a new directory, below that of `serve --snapshots`
#[derive(clap::Args)]
pub struct Snapshot {
    /// The name of the directory
    name: String,

    /// Leave out what was replaced or removed, which takes room in the collection itself
    #[arg(long)]
    compact: bool,
}

impl Snapshot {
    pub fn run(&self, service: &Service, json: bool) -> Result<()> {
        let done =
            service.post("/snapshot", &json!({"name": self.name, "compact": self.compact}))?;
        print(json, &done, || format!("the snapshot {} is there", self.name))
    }
}

/// Fetches the function that made the codes, or the whole model
#[derive(clap::Args)]
pub struct Model {
    /// Where to write it; - is the standard output
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// The whole model, with which `learn --resume` can go on
    #[arg(long)]
    full: bool,
}

impl Model {
    pub fn run(&self, service: &Service, json: bool) -> Result<()> {
        crate::output::check_json(&self.out, json)?;
        let target = Output::new(&self.out)?;
        let path = if self.full { "/model?full=true" } else { "/model" };
        let bytes = service.bytes("GET", path, JSON, &[])?;
        hashbrook::file::write(target.path(), &bytes)?;
        target.finish()?;
        let done = json!({"out": target.name(), "bytes": bytes.len()});
        match json {
            true => console::line(done),
            false => target.say(format_args!(
                "{} bytes: {}",
                console::count(bytes.len() as u64),
                target.name()
            )),
        }
    }
}
