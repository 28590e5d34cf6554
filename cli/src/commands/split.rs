use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use hashbrook::dataset::{NpyWriter, Reader, Split, write_label_list};
use hashbrook::{LabelNames, file};
use serde_json::json;

use crate::args::LabelledData;
use crate::{console, input};

/// Divides labelled vectors into queries and a database to search
///
/// Draws the queries of each class at random and puts all other rows, in random order, into the
/// database. Writes db.npy, db-labels.npy, queries.npy and query-labels.npy; with several labels
/// per row the label files are 0/1 matrices, and label-names.txt names their columns.
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
    let labels = input::labels_for(label_files, &mut names, reader.rows(), data)?;
    let split = Split::per_class(labels.view(), Some(&names), args.queries_per_class, args.seed)?;
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("{} cannot be made", args.out.display()))?;
    let place = |name: &str| args.out.join(name);

    // Where each row goes: rows arrive in order and are written to their places.
    let mut places = vec![(false, 0); labels.len()];
    for (is_query, rows) in [(false, &split.database), (true, &split.queries)] {
        rows.iter().enumerate().for_each(|(at, &row)| places[row] = (is_query, at));
    }
    let mut database = Rows::create(&place("db.npy"), &reader)?;
    let mut queries = Rows::create(&place("queries.npy"), &reader)?;
    let mut row = 0;
    input::for_each_rows("splitting", &mut reader, |features| {
        if row + features.len() > labels.len() {
            input::check_label_count(label_files, labels.len(), data, row + features.len())?;
        }
        for at in 0..features.len() {
            let (is_query, to) = places[row + at];
            let out = if is_query { &mut queries } else { &mut database };
            out.put(to, features.row(at))?;
        }
        row += features.len();
        Ok(())
    })?;
    input::check_label_count(label_files, labels.len(), data, row)?;
    if labels.has_sets() {
        let text: String = names.iter().map(|name| format!("{name}\n")).collect();
        file::write(&place("label-names.txt"), text.as_bytes())?;
    }
    write_label_list(&place("db-labels.npy"), &labels.select(&split.database), &names)?;
    write_label_list(&place("query-labels.npy"), &labels.select(&split.queries), &names)?;
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
        "{} queries and a database of {} rows, of {} labels: {out}",
        console::count(queries),
        console::count(database),
        console::count(names.len() as u64),
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
