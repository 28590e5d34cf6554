use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use hashbrook::dataset::{NpyWriter, Queries, Reader, Split, write_labels};
use hashbrook::{Error, LabelNames};
use serde_json::json;

use crate::args::LabelledData;
use crate::{console, input, output};

/// Divides labelled vectors into queries and a database to search
///
/// Draws the queries of each class at random and puts all other rows, in random order, into the
/// database. Writes db.npy, db-labels.npy, queries.npy and query-labels.npy, and which rows of the data
/// they are, counted from 0, to db-rows.npy and query-rows.npy. Labels keep their names: several numbers
/// per row become a 0/1 matrix, several texts db-labels.txt and query-labels.txt.
#[derive(clap::Args)]
#[command(after_help = "\
Example, the split of the papers on MNIST:
  hashbrook split --data train-images-idx3-ubyte.gz --data t10k-images-idx3-ubyte.gz \\
                  --labels train-labels-idx1-ubyte.gz --labels t10k-labels-idx1-ubyte.gz \\
                  --queries 100 --seed 1 --out mnist/

A tenth of each class, but of classes with fewer than 20 rows none:
  hashbrook split --data birds.csv --label species \\
                  --queries 0.1 --min-per-class 20 --out birds/")]
pub struct Args {
    #[command(flatten)]
    input: LabelledData,

    /// How many queries to draw of each class: a number such as 100, or a share such as 0.1
    #[arg(long, alias = "queries-per-class", value_name = "N|SHARE", default_value = "100", value_parser = queries)]
    queries: Queries,

    /// Draw no queries of classes with fewer rows: they stay in the database
    #[arg(long, value_name = "N", default_value_t = 0)]
    min_per_class: usize,

    /// What the draw depends on
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// The directory to write to; it is made if it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Replace files of another split that stand there
    #[arg(long)]
    force: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &mut Args) -> Result<()> {
    let places = WRITTEN.map(|name| args.out.join(name));
    let outputs = || places.iter().map(PathBuf::as_path);
    output::check_places(outputs(), args.input.data.iter().chain(&args.input.labels))?;
    output::check_free(outputs(), args.force)?;
    let _kept = args.input.prepare()?;
    let args = &*args;
    let (data, label_files) = (&args.input.data, &args.input.labels);
    if label_files.is_empty() {
        bail!("the queries are drawn class by class: give the labels with --labels or --label");
    }
    let mut reader = args.input.open()?;
    let mut names = LabelNames::new();
    let shape = (input::count_rows(data, &mut reader)?, reader.dim());
    let labels = input::labels_for(label_files, &mut names, data, shape)?;
    let (least, seed) = (args.min_per_class, args.seed);
    let split = Split::draw(labels.view(), Some(&names), args.queries, least, seed);
    let split = split.map_err(|error| match error {
        Error::ClassTooSmall { .. } => {
            anyhow!("{error}, or leave the rarest in the database whole with --min-per-class")
        }
        other => other.into(),
    })?;
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("{} cannot be made", args.out.display()))?;

    // Target of each row: rows arrive in order and are written to their positions.
    let mut targets = vec![(false, 0); labels.len()];
    for (is_query, rows) in [(false, &split.database), (true, &split.queries)] {
        rows.iter().enumerate().for_each(|(at, &row)| targets[row] = (is_query, at));
    }
    let mut database = Rows::create(&places[0], &reader)?;
    let mut queries = Rows::create(&places[1], &reader)?;
    let mut row = 0;
    input::for_each_rows("splitting", &mut reader, |features| {
        if row + features.len() > labels.len() {
            let shape = (row + features.len(), features.dim());
            input::check_label_count(label_files, labels.len(), data, shape)?;
        }
        for at in 0..features.len() {
            let (is_query, to) = targets[row + at];
            let out = if is_query { &mut queries } else { &mut database };
            out.put(to, features.row(at))?;
        }
        row += features.len();
        Ok(())
    })?;
    input::check_label_count(label_files, labels.len(), data, (row, reader.dim()))?;
    write_labels(&args.out, "db-labels", &labels.select(&split.database), &names)?;
    write_labels(&args.out, "query-labels", &labels.select(&split.queries), &names)?;
    database.finish()?;
    queries.finish()?;
    write_rows(&places[2], &split.database)?;
    write_rows(&places[3], &split.queries)?;

    let (database, queries) = (split.database.len() as u64, split.queries.len() as u64);
    let out = args.out.display();
    if args.json {
        return console::line(json!({
            "database": database,
            "queries": queries,
            "labels": names.len(),
            "out": out.to_string(),
        }));
    }
    console::line(format_args!(
        "{} queries and a database of {}, of {}: {out}",
        console::count(queries),
        console::plural(database, "row"),
        console::plural(names.len() as u64, "label"),
    ))
}

/// All files that may be written.
const WRITTEN: [&str; 8] = [
    "db.npy",
    "queries.npy",
    "db-rows.npy",
    "query-rows.npy",
    "db-labels.npy",
    "db-labels.txt",
    "query-labels.npy",
    "query-labels.txt",
];

/// Parses a number of queries per class, or a share.
fn queries(text: &str) -> Result<Queries, String> {
    let count = text.parse::<usize>().ok().filter(|&count| count > 0);
    let share = || text.parse().ok().filter(|&share: &f64| share > 0.0 && share < 1.0);
    let queries = count.map(Queries::PerClass).or_else(|| share().map(Queries::Share));
    queries.ok_or_else(|| {
        "a number of 1 or more, or a share above 0 and below 1, was expected".to_owned()
    })
}

/// Writes the row numbers of the data that were selected.
fn write_rows(path: &Path, rows: &[usize]) -> Result<()> {
    let mut out = NpyWriter::<i64>::create(path, None)?;
    let rows: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
    out.write(&rows)?;
    Ok(out.finish()?)
}

/// Rows written in any order, as bytes if all values are bytes.
enum Rows {
    Bytes(NpyWriter<u8>),
    Floats(NpyWriter<f32>),
}

impl Rows {
    fn create(path: &Path, like: &Reader) -> Result<Rows> {
        let columns = Some(like.dim());
        Ok(match like.is_u8() {
            true => Rows::Bytes(NpyWriter::create(path, columns)?),
            false => Rows::Floats(NpyWriter::create(path, columns)?),
        })
    }

    fn put(&mut self, row: usize, values: &[f32]) -> Result<()> {
        match self {
            Rows::Bytes(out) => {
                let bytes: Vec<u8> = values.iter().map(|&value| value as u8).collect();
                out.put_row(row, &bytes)?;
            }
            Rows::Floats(out) => out.put_row(row, values)?,
        }
        Ok(())
    }

    fn finish(self) -> Result<()> {
        match self {
            Rows::Bytes(out) => out.finish()?,
            Rows::Floats(out) => out.finish()?,
        }
        Ok(())
    }
}
