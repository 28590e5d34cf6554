use std::time::Instant;

use anyhow::{Result, bail};
use clap::ArgAction;
use hashbrook::eval::{Evaluation, Items, Measures, evaluate, neighbours};
use hashbrook::{Codes, Features, LabelNames};
use serde_json::{Map, Value, json};

use crate::args::ModelAndData;
use crate::{console, input, interrupt};

/// Measures how well queries find what shares a label with them
///
/// Ranks the whole database for every query by Hamming distance, and by position among equals.
/// mAP is over the whole ranking; mAP@R over its first R, divided by the relevant items among
/// those; precision within a radius counts an empty ball as 0.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  hashbrook eval --model digits.model --data db.npy --labels db-labels.npy \\
                 --queries queries.npy --query-labels query-labels.npy --radius 0,1,2 --json")]
pub struct Args {
    #[command(flatten)]
    input: ModelAndData,

    /// The labels of the vectors
    #[arg(long, value_name = "FILE", required = true, action = ArgAction::Append)]
    labels: Vec<String>,

    /// Vectors to search with
    #[arg(long, value_name = "FILE", required = true, action = ArgAction::Append)]
    queries: Vec<String>,

    /// The labels of the queries
    #[arg(long, value_name = "FILE", required = true, action = ArgAction::Append)]
    query_labels: Vec<String>,

    /// The R of mAP@R
    #[arg(long, value_name = "R,...", value_delimiter = ',', default_value = "1000")]
    top: Vec<usize>,

    /// The R of precision@R
    #[arg(long, value_name = "R,...", value_delimiter = ',', default_value = "1,5,10,100")]
    precision_at: Vec<usize>,

    /// The radii of precision within a radius, inclusive
    #[arg(long, value_name = "D,...", value_delimiter = ',', default_value = "2")]
    radius: Vec<usize>,

    /// The R of nDCG@R, where the gain of an item is the number of labels it shares with the query
    #[arg(long, value_name = "R,...", value_delimiter = ',', default_value = "100")]
    ndcg_at: Vec<usize>,

    /// Also measure whether codes keep what is near by the vectors themselves, by their cosine as the
    /// model prepares them: the share of the ten nearest that is among the first N by codes, and
    /// precision@1 of these N ranked again by the vectors. Holds all vectors in memory
    /// [without numbers: 10,100,1000]
    #[arg(long, value_name = "N,...", value_delimiter = ',', num_args = 0..=1, require_equals = true, default_missing_value = "10,100,1000")]
    neighbours: Option<Vec<usize>>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<()> {
    interrupt::nothing_to_save();
    let start = Instant::now();
    let function = input::load_function(&args.input.model)?;
    let mut names = LabelNames::new();
    let mut encoded = |what: &str, data: &[String], label_files: &[String]| -> Result<_> {
        // Labels first: they are quick to read, and a wrong number of them is soon known.
        let mut reader = input::open_for(&function, data)?;
        let shape = (reader.rows(), reader.dim());
        let labels = input::labels_for(label_files, &mut names, data, shape)?;
        let (mut codes, mut vectors) = (Codes::new(function.bits())?, Vec::new());
        input::for_each_rows(what, &mut reader, |rows| {
            codes.append(&function.encode(rows)?)?;
            if args.neighbours.is_some() {
                vectors.extend(function.prepared(rows)?);
            }
            Ok(())
        })?;
        let shape = (codes.len(), reader.dim());
        input::check_label_count(label_files, labels.len(), data, shape)?;
        Ok((codes, labels, vectors))
    };
    let (queries, query_labels, query_vectors) =
        encoded("queries ", &args.queries, &args.query_labels)?;
    let (database, labels, vectors) = encoded("database", &args.input.data, &args.labels)?;
    let encoding = start.elapsed();
    let clock = Instant::now();
    let mut measures = Measures::new(&args.top, &args.precision_at, &args.radius);
    measures.ndcg_at = args.ndcg_at.clone();
    let found = evaluate(&queries, query_labels.view(), &database, labels.view(), &measures)?;
    if found.answerable == 0 {
        bail!(
            "no query shares a label with anything in the database; do {} and {} name labels alike?",
            args.query_labels.join(", "),
            args.labels.join(", ")
        );
    }
    let mut results = results(&found);
    if let Some(among) = &args.neighbours {
        let queries = Features::new(&query_vectors, function.dim())
            .and_then(|vectors| Items::new(&queries, vectors, query_labels.view()))?;
        let database = Features::new(&vectors, function.dim())
            .and_then(|vectors| Items::new(&database, vectors, labels.view()))?;
        let found = neighbours(queries, database, among)?;
        results.extend(named("neighbours@", &found.kept));
        results.extend(named("precision@1_reranked_", &found.reranked));
        results.push(("precision@1_by_vectors".to_owned(), found.by_vectors));
    }
    if args.json {
        let mut object: Map<String, Value> =
            results.into_iter().map(|(name, value)| (name, json!(value))).collect();
        for (name, value) in [
            ("bits", json!(function.bits())),
            ("queries", json!(found.queries)),
            ("answerable_queries", json!(found.answerable)),
            ("database", json!(found.database)),
            ("encode_seconds", json!(encoding.as_secs_f64())),
            ("eval_seconds", json!(clock.elapsed().as_secs_f64())),
            ("seconds", json!(start.elapsed().as_secs_f64())),
        ] {
            object.insert(name.to_owned(), value);
        }
        return console::line(Value::Object(object));
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

/// A metric at several places, each by its name.
fn named(name: &str, list: &[(usize, f64)]) -> Vec<(String, f64)> {
    list.iter().map(|(at, value)| (format!("{name}{at}"), *value)).collect()
}

/// The metrics by their names.
fn results(found: &Evaluation) -> Vec<(String, f64)> {
    let mut results = vec![("mAP".to_owned(), found.map)];
    results.extend(named("mAP@", &found.map_at));
    results.extend(named("precision@", &found.precision_at));
    results.extend(named("precision_radius_", &found.precision_radius));
    results.extend(named("ndcg@", &found.ndcg_at));
    results
}
