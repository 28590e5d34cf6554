use std::time::Instant;

use anyhow::{Result, bail};
use clap::ArgAction;
use hashbrook::eval::{Items, Metric, evaluate, evaluate_scores, neighbours, neighbours_by};
use hashbrook::{Batch, Codes, Features, LabelNames};
use serde_json::json;

use crate::args::ModelAndData;
use crate::dial::DialArgs;
use crate::piped::{self, Kept};
use crate::{console, input, interrupt, output};

/// Measures how well queries find what shares a label with them
///
/// Ranks the whole database for every query by Hamming distance, and by position among equals.
/// mAP is over the whole ranking; mAP@R over its first R, divided by the relevant items among
/// those; precision within a radius counts an empty ball as 0.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hashbrook eval --model digits.model --data db.npy --labels db-labels.npy \\
                 --queries queries.npy --query-labels query-labels.npy --radius 0,1,2 --json
  hashbrook eval --model digits.model --data db.parquet --queries queries.parquet --label target

With --label-weight 4 items of one kind come first, by likeness within it; with --detail-weight
4 it is the other way round. Both need a model whose codes have detail bits (brook with
detail).")]
pub struct Args {
    #[command(flatten)]
    input: ModelAndData,

    /// The labels of the vectors
    #[arg(long, value_name = "FILE", required_unless_present = "label", conflicts_with = "label", action = ArgAction::Append)]
    labels: Vec<String>,

    /// Vectors to search with
    #[arg(long, value_name = "FILE", required = true, action = ArgAction::Append)]
    queries: Vec<String>,

    /// The labels of the queries
    #[arg(long, value_name = "FILE", required_unless_present = "label", conflicts_with = "label", action = ArgAction::Append)]
    query_labels: Vec<String>,

    /// The R of mAP@R
    #[arg(long, value_name = "R,...", value_delimiter = ',', default_value = "1000")]
    top: Vec<usize>,

    /// The R of precision@R
    #[arg(long, value_name = "R,...", value_delimiter = ',', default_value = "1,5,10,100")]
    precision_at: Vec<usize>,

    /// The radii of precision within a radius, inclusive [default: 2, and none with --float-query]
    #[arg(long, value_name = "D,...", value_delimiter = ',')]
    radius: Option<Vec<usize>>,

    /// The R of nDCG@R, where the gain of an item is the number of labels it shares with the query
    #[arg(long, value_name = "R,...", value_delimiter = ',', default_value = "100")]
    ndcg_at: Vec<usize>,

    /// Also measure whether codes keep what is near by the cosine of the vectors: the share of the ten
    /// nearest that is among the first N by codes, and precision@1 and precision@10 of these N,
    /// re-ranked by the vectors. Holds all vectors in memory
    /// [without numbers: 10,100,1000]
    #[arg(long, value_name = "N,...", value_delimiter = ',', num_args = 0..=1, require_equals = true, default_missing_value = "10,100,1000")]
    neighbours: Option<Vec<usize>>,

    #[command(flatten)]
    dial: DialArgs,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Adds the column options to the file names. Stores pipes that are read more than once in
    /// files.
    fn prepare(&mut self) -> Result<Option<Kept>> {
        let Args { input, labels, queries, query_labels, .. } = self;
        let ModelAndData { data, columns, .. } = input;
        columns.name_in(data, labels)?;
        columns.name_in(queries, query_labels)?;
        let again = columns.id_column.is_some();
        let kept = piped::keep(&mut [data, labels, queries, query_labels], again)?;
        output::check_read_once([&*data, labels, queries, query_labels].into_iter().flatten())?;
        Ok(kept)
    }

    fn metrics(&self) -> Vec<Metric> {
        // With float queries a few bits are many distance steps, so radius 2 is not measured by
        // default.
        let usual: &[usize] = if self.dial.is_float_query() { &[] } else { &[2] };
        let radii = self.radius.as_deref().unwrap_or(usual);
        let mut metrics = vec![Metric::Map];
        metrics.extend(self.top.iter().map(|&r| Metric::MapAt(r)));
        metrics.extend(self.precision_at.iter().map(|&r| Metric::PrecisionAt(r)));
        metrics.extend(radii.iter().map(|&radius| Metric::PrecisionWithin(radius)));
        metrics.extend(self.ndcg_at.iter().map(|&r| Metric::NdcgAt(r)));
        metrics
    }
}

/// Label of the progress bar while queries are encoded.
const QUERIES: &str = "queries ";

pub fn run(args: &mut Args) -> Result<()> {
    interrupt::nothing_to_save();
    let start = Instant::now();
    let _kept = args.prepare()?;
    let args = &*args;
    let dial = args.dial.dial()?;
    let function = input::load_function(&args.input.model)?;
    args.dial.check(&function)?;
    let mut names = LabelNames::new();
    let mut encoded = |what: &str, data: &[String], label_files: &[String]| -> Result<_> {
        // Labels are read first: reading them is fast, so a wrong count is reported early.
        let ids = args.input.columns.ids_of(data)?;
        let roles = [("label", label_files), ("id", &ids)];
        let mut reader = input::open_for(&function, data, &roles)?;
        let shape = (reader.rows(), reader.dim());
        let labels = input::labels_for(label_files, &mut names, data, shape)?;
        let (mut codes, mut vectors) = (Codes::new(function.bits())?, Vec::new());
        let mut as_they_are = Vec::new();
        input::for_each_rows(what, &mut reader, |rows| {
            codes.append(&function.encode(rows)?)?;
            if args.neighbours.is_some() {
                vectors.extend_from_slice(rows.values());
            }
            if dial.is_some() && what == QUERIES {
                as_they_are.extend_from_slice(rows.values());
            }
            Ok(())
        })?;
        let shape = (codes.len(), reader.dim());
        input::check_label_count(label_files, labels.len(), data, shape)?;
        Ok((codes, labels, vectors, as_they_are))
    };
    let (queries, query_labels, query_vectors, as_they_are) =
        encoded(QUERIES, &args.queries, &args.query_labels)?;
    let (database, labels, vectors, _) = encoded("database", &args.input.data, &args.labels)?;
    let weighed = match dial {
        Some(dial) => Some(dial.weigh(&function, Features::new(&as_they_are, function.dim())?)?),
        None => None,
    };
    let dialled = weighed.as_ref().map(|weighed| weighed.rank(&database)).transpose()?;
    let encoding = start.elapsed();
    let clock = Instant::now();
    let metrics = args.metrics();
    let found = match &dialled {
        Some(dialled) => evaluate_scores(dialled, query_labels.view(), labels.view(), &metrics)?,
        None => evaluate(&queries, query_labels.view(), &database, labels.view(), &metrics)?,
    };
    if found.answerable == 0 {
        bail!(
            "no query shares a label with anything in the database; do {} and {} name labels alike?",
            args.query_labels.join(", "),
            args.labels.join(", ")
        );
    }
    let by_labels = found.values.iter().map(|(metric, value)| (metric.to_string(), *value));
    let mut results: Vec<(String, f64)> = by_labels.collect();
    if let Some(among) = &args.neighbours {
        let query_vectors = Features::new(&query_vectors, function.dim())?;
        let vectors = Features::new(&vectors, function.dim())?;
        let kept = match &dialled {
            Some(dialled) => neighbours_by(
                dialled,
                Batch::new(query_vectors, query_labels.view())?,
                Batch::new(vectors, labels.view())?,
                among,
            )?,
            None => neighbours(
                Items::new(&queries, query_vectors, query_labels.view())?,
                Items::new(&database, vectors, labels.view())?,
                among,
            )?,
        };
        results.extend(named("neighbours@", &kept.kept));
        results.extend(named("precision@1_reranked_", &kept.reranked));
        results.extend(named("precision@10_reranked_", &kept.reranked_at_10));
        results.push(("precision@1_by_vectors".to_owned(), kept.by_vectors));
        results.push(("precision@10_by_vectors".to_owned(), kept.by_vectors_at_10));
    }
    if args.json {
        let mut object = json!({});
        for (name, value) in results {
            object[name] = json!(value);
        }
        object["bits"] = json!(function.bits());
        object["queries"] = json!(found.queries);
        object["answerable_queries"] = json!(found.answerable);
        object["database"] = json!(found.database);
        object["encode_seconds"] = json!(encoding.as_secs_f64());
        object["eval_seconds"] = json!(clock.elapsed().as_secs_f64());
        object["seconds"] = json!(start.elapsed().as_secs_f64());
        return console::line(object);
    }
    console::line(format_args!(
        "{} against {} of {}, encoded in {}, measured in {}",
        match found.queries {
            1 => "1 query".to_owned(),
            several => format!("{} queries", console::count(several as u64)),
        },
        console::plural(found.database as u64, "code"),
        console::plural(function.bits() as u64, "bit"),
        console::seconds(encoding),
        console::seconds(clock.elapsed()),
    ))?;
    if found.answerable < found.queries {
        console::note(format_args!(
            "{} of {} queries share no label with anything in the database; mAP leaves them out",
            found.queries - found.answerable,
            found.queries
        ));
    }
    let rows: Vec<_> = results.into_iter().map(|(name, v)| (name, format!("{v:.4}"))).collect();
    console::pairs(&rows)
}

/// Returns the values of a metric at several cut-offs, each with its name.
fn named(name: &str, list: &[(usize, f64)]) -> Vec<(String, f64)> {
    list.iter().map(|(at, value)| (format!("{name}{at}"), *value)).collect()
}
