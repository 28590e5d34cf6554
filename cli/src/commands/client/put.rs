use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::ArgAction;
use hashbrook::dataset::read_payloads;
use hashbrook::store::ItemId;
use hashbrook::{Features, LabelNames};
use serde_json::{Value, json};

use super::http::{self, Service};
use super::ids::{self, IdArgs};
use super::stream;
use crate::columns::{self, Columns};
use crate::console::{self, plural};
use crate::{input, output, piped};

/// Puts items in, in the place of those with the same ids
///
/// Vectors are sent in requests of --batch rows; each is on the service's disk when the next is sent.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hashbrook client http://127.0.0.1:7878 put --data x.npy --labels y.npy --first-id 1000
  hashbrook client http://127.0.0.1:7878 put --data a.parquet --id id --label kind \\
                   --payloads a.parquet:info
  hashbrook client http://127.0.0.1:7878 put --items items.json")]
pub struct Args {
    /// Vectors, one per row; several files are read one after the other
    #[arg(long, value_name = "FILE", num_args = 1.., action = ArgAction::Append, required_unless_present = "items")]
    data: Vec<String>,

    /// Their labels: one per row, a 0/1 matrix of rows x labels, or text with the labels of a row
    /// separated by commas
    #[arg(long, value_name = "FILE", action = ArgAction::Append, requires = "data", conflicts_with = "label")]
    labels: Vec<String>,

    /// Their ids: an array of whole numbers, a text with one on each line, or a column of a table
    #[arg(long, value_name = "FILE", action = ArgAction::Append, requires = "data", conflicts_with = "id_column")]
    ids: Vec<String>,

    #[command(flatten)]
    columns: Columns,

    /// The id of the first row, from which the others count on, where no --ids are given
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with_all = ["ids", "id_column"])]
    first_id: u64,

    /// What is kept with each item: JSON, in a column of a Parquet or Arrow file
    #[arg(long, value_name = "FILE:COLUMN", requires = "data")]
    payloads: Option<String>,

    /// Items in JSON, {"items": [{"id": 7, "vector": [...], "labels": [...], "payload": ...}]}, in
    /// place of --data; - is the standard input
    #[arg(long, value_name = "FILE.json", conflicts_with = "data")]
    items: Option<String>,

    /// How many rows are sent at a time
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,

    /// Wait until what was put in is learned and searchable: all codes follow it, unless that would gain little;
    /// or, with --wait=learned, until it is learned
    #[arg(
        long, value_enum, value_name = "FOR", num_args = 0..=1, require_equals = true,
        default_missing_value = "searchable"
    )]
    wait: Option<WaitFor>,

    #[command(flatten)]
    kind: IdArgs,
}

/// What to wait for after items are on the disk of the service.
#[derive(Clone, Copy, clap::ValueEnum)]
enum WaitFor {
    Learned,
    Searchable,
}

impl WaitFor {
    fn name(self) -> &'static str {
        match self {
            WaitFor::Learned => "learned",
            WaitFor::Searchable => "searchable",
        }
    }
}

/// Maximum bytes of vectors per request; services accept 64 MB.
const LARGEST: usize = 16 << 20;

pub fn run(args: &mut Args, service: &Service, json: bool) -> Result<()> {
    let Args { data, labels, ids, columns, payloads, .. } = &mut *args;
    ids.extend(columns.ids_of(data)?);
    columns.name_in(data, labels)?;
    let mut payload_files: Vec<String> = payloads.take().into_iter().collect();
    let _kept = piped::keep(&mut [data, labels, ids, &mut payload_files], false)?;
    *payloads = payload_files.pop();
    let args = &*args;
    let files = [&args.data, &args.labels, &args.ids].into_iter().flatten();
    output::check_read_once(files.chain(&args.payloads))?;
    match &args.items {
        Some(file) => put_json(args, service, file, json),
        None => put_files(args, service, json),
    }
}

fn put_json(args: &Args, service: &Service, file: &str, json: bool) -> Result<()> {
    let body = match file {
        "-" => {
            let mut body = Vec::new();
            std::io::Read::read_to_end(&mut std::io::stdin(), &mut body)?;
            body
        }
        file => std::fs::read(file).with_context(|| format!("{file} cannot be read"))?,
    };
    let done = service.json("POST", "/items", http::JSON, &body)?;
    let waited = wait(args, service, &done)?;
    http::print(json, &done, || told(&done) + &told_wait(args, waited))
}

fn told(done: &Value) -> String {
    let number = |name: &str| done[name].as_u64().unwrap_or(0);
    format!(
        "{} put in, of which {} took the place of others",
        plural(number("items"), "item"),
        console::count(number("replaced"))
    )
}

fn put_files(args: &Args, service: &Service, json: bool) -> Result<()> {
    let roles =
        [("label", &args.labels[..]), ("id", &args.ids), ("payload", args.payloads.as_slice())];
    let mut reader = columns::open(&args.data, &roles)?;
    let total = input::count_rows(&args.data, &mut reader)?;
    let shape = (total, reader.dim());
    let mut names = LabelNames::new();
    let labels = match args.labels.as_slice() {
        [] => None,
        files => Some(input::labels_for(files, &mut names, &args.data, shape)?),
    };
    let texts = labels.as_ref().map(|labels| input::label_texts(labels, &names));
    let ids = match args.ids.as_slice() {
        [] => None,
        files => Some(args.kind.read(files)?),
    };
    let payloads = args.payloads.as_deref().map(read_payloads).transpose()?;
    if let (Some(ids), Some(total)) = (&ids, total) {
        ids::check_count(&args.ids, ids.len(), total)?;
    }
    let rest = Rows {
        args,
        ids,
        labels: texts.unwrap_or_default(),
        payloads: payloads.unwrap_or_default(),
    };
    let most = (LARGEST / (4 * reader.dim().max(1))).clamp(1, args.batch as usize);
    let (mut sent, mut replaced, mut last) = (0, 0, Value::Null);
    let mut sending = Duration::ZERO;
    let bar = console::progress("putting", total);
    while let Some(rows) = reader.next(most)? {
        crate::interrupt::check()?;
        let body = rest.encoded(rows, sent)?;
        let clock = Instant::now();
        last = service.json("POST", "/items", stream::KIND, &body)?;
        sending += clock.elapsed();
        replaced += last["replaced"].as_u64().unwrap_or(0);
        sent += rows.len();
        bar.inc(rows.len() as u64);
    }
    bar.finish_and_clear();
    input::remark(reader.remarks());
    if let Some(labels) = &labels {
        input::check_labels_of_all(&args.labels, labels, &args.data, (sent, reader.dim()))?;
    }
    let waited = wait(args, service, &last)?;
    let unlearned = last["unlearned"].as_bool().unwrap_or(false);
    let mut done = json!({"items": sent, "replaced": replaced, "unlearned": unlearned, "position": last["position"], "seconds": sending.as_secs_f64()});
    if let Some(waited) = waited {
        done["wait_seconds"] = json!(waited.as_secs_f64());
    }
    http::print(json, &done, || {
        let rate = sent as f64 / sending.as_secs_f64().max(1e-9);
        format!(
            "{}, sent in {}, {} a second{}",
            told(&done),
            console::seconds(sending),
            console::count(rate as u64),
            told_wait(args, waited)
        )
    })
}

/// Describes how long the service took until the items were learned or searchable.
fn told_wait(args: &Args, waited: Option<Duration>) -> String {
    match (args.wait, waited) {
        (Some(wait), Some(waited)) => {
            format!("; {} {} later", wait.name(), console::seconds(waited))
        }
        _ => String::new(),
    }
}

/// Waits for the inserted items if `--wait` is given, and returns how long it waited.
fn wait(args: &Args, service: &Service, done: &Value) -> Result<Option<Duration>> {
    let (Some(wait), Some(position)) = (args.wait, done["position"].as_u64()) else {
        return Ok(None);
    };
    let clock = Instant::now();
    // Each request waits at most one second, so that an interruption is noticed.
    let path = format!("/wait?position={position}&for={}&seconds=1", wait.name());
    while service.get(&path)?["done"] != true {
        crate::interrupt::check()?;
    }
    Ok(Some(clock.elapsed()))
}

/// Ids, labels and payloads of the rows; labels and payloads may be empty.
struct Rows<'a> {
    args: &'a Args,
    ids: Option<Vec<ItemId>>,
    labels: Vec<Vec<String>>,
    payloads: Vec<Vec<u8>>,
}

impl Rows<'_> {
    /// Encodes the rows from `start` on as a request body.
    fn encoded(&self, rows: Features<'_>, start: usize) -> Result<Vec<u8>> {
        let end = start + rows.len();
        let args = self.args;
        if !self.labels.is_empty() && end > self.labels.len() {
            input::check_label_count(
                &args.labels,
                self.labels.len(),
                &args.data,
                (end, rows.dim()),
            )?;
        }
        if !self.payloads.is_empty() && end > self.payloads.len() {
            bail!(
                "there are {} payloads for more rows; there must be one per row",
                self.payloads.len()
            );
        }
        let ids = match &self.ids {
            Some(ids) if end > ids.len() => {
                bail!("{} for more rows", plural(ids.len() as u64, "id"))
            }
            Some(ids) => ids[start..end].to_vec(),
            None => {
                let first = args.first_id.checked_add(end as u64).context("ids are too large")?;
                (first - rows.len() as u64..first).map(ItemId::Number).collect()
            }
        };
        let part = |whole: usize| if whole == 0 { 0..0 } else { start..end };
        let labels = &self.labels[part(self.labels.len())];
        let payloads = &self.payloads[part(self.payloads.len())];
        stream::encoded(&ids, rows, labels, payloads)
    }
}
