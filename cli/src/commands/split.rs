use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use hashbrook::LabelNames;
use hashbrook::dataset::{NpyWriter, Reader, Split, write_labels};
use serde_json::json;

use crate::args::LabelledData;
use crate::{console, input};

/// Divides labelled vectors into queries and a database to search
///
/// Draws the queries of each class at random and puts all other rows, in random order, into the
/// database. Writes db.npy, db-labels.npy, queries.npy and query-labels.npy. Labels keep their names:
/// several numbers per row become a 0/1 matrix, several texts db-labels.txt and query-labels.txt.
#[derive(clap::Args)]
#[command(after_help = "\
Example, the split of the papers on MNIST:
  hashbrook split --data train-images-idx3-ubyte.gz --data t10k-images-idx3-ubyte.gz \\
                  --labels train-labels-idx1-ubyte.gz --labels t10k-labels-idx1-ubyte.gz \\
                  --queries-per-class 100 --seed 1 --out mnist/")]
pub struct Args {
    #[command(flatten)]
    input: LabelledData,

    /// How many queries to draw of each class
    #[arg(long, value_name = "N", default_value_t = 100)]
    queries_per_class: usize,

    /// What the draw depends on
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// The folder to write to; it is made if it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<()> {
    let (data, label_files) = (&args.input.data, &args.input.labels);
    if label_files.is_empty() {
        bail!("the queries are drawn class by class: give the labels with --labels");
    }
    let mut reader = Reader::open_all(data)?;
    let mut names = LabelNames::new();
    let shape = (input::count_rows(data, &reader)?, reader.dim());
    let labels = input::labels_for(label_files, &mut names, data, shape)?;
    let split = Split::per_class(labels.view(), Some(&names), args.queries_per_class, args.seed)?;
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("{} cannot be made", args.out.display()))?;
    let places = ["db.npy", "queries.npy", "db-labels.npy", "query-labels.npy"];
    let places = places.map(|name| args.out.join(name));
    input::check_outputs(places.iter().map(PathBuf::as_path), data.iter().chain(label_files))?;

    // Where each row goes: rows arrive in order and are written to their places.
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

/// Rows written in any order, in bytes where the values are such.
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
