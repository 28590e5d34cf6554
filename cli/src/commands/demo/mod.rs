mod service;

use anyhow::Result;
use hashbrook::dataset::{Digits, Split, digits};
use hashbrook::eval::Metric;
use hashbrook::protocol::{Checkpoint, Experiment};
use hashbrook::{Batch, Codes, Features, HashFunction, Labels, Method, Setup, hamming};
use serde_json::json;

use crate::{console, interrupt};

/// Shows the whole of it on 1,797 handwritten digits that the program carries
///
/// Streams the digits through the learner, shows how search gets better from batch to batch, then
/// searches for a few digits and draws what it finds. With --serve they stream into a service instead,
/// whose page shows how it learns, and finds what is drawn there.
#[derive(clap::Args)]
pub struct Args {
    /// The method
    #[arg(long, value_name = "NAME", default_value = "brook")]
    method: String,

    /// The length of the codes [default: 32; with --serve 64]
    #[arg(long, value_name = "N")]
    bits: Option<usize>,

    /// What the draw of the queries and the random start depend on
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Print one JSON object per batch and nothing else
    #[arg(long, conflicts_with = "serve")]
    json: bool,

    /// Stream the digits into a service, and show it in a browser
    #[arg(long)]
    serve: bool,

    #[command(flatten)]
    service: service::ServiceArgs,
}

const DIM: usize = Digits::DIM;
const SIDE: usize = 8;
const BATCH: usize = 200;
const QUERIES_PER_CLASS: usize = 20;
const METRICS: [Metric; 3] = [Metric::Map, Metric::PrecisionAt(10), Metric::PrecisionWithin(2)];

pub fn run(args: &Args, threads: Option<u16>) -> Result<()> {
    if args.serve {
        let bits = args.bits.unwrap_or(64);
        let learned = service::Learned { method: &args.method, bits, seed: args.seed };
        return service::run(&args.service, &learned, threads);
    }
    interrupt::nothing_to_save();
    let bits = args.bits.unwrap_or(32);
    let digits = digits();
    let split =
        Split::per_class(Labels::single(&digits.labels), None, QUERIES_PER_CLASS, args.seed)?;
    let (database, labels) = select(&digits, &split.database);
    let (queries, query_labels) = select(&digits, &split.queries);
    let stream = Batch::new(Features::new(&database, DIM)?, Labels::single(&labels))?;
    let experiment = Experiment {
        stream,
        database: stream,
        queries: Batch::new(Features::new(&queries, DIM)?, Labels::single(&query_labels))?,
        batch: BATCH,
        every: Some(1),
        metrics: &METRICS,
    };
    // One batch is enough warm-up for this data.
    let mut setup = Setup::default();
    setup.warmup = Some(BATCH);
    let mut model = Method::named(&args.method)?.start_with(DIM, bits, args.seed, setup)?;

    if args.json {
        let mut failed = Ok(());
        experiment.run(&mut model, |checkpoint| {
            let mut line = json!({
                "seen": checkpoint.seen,
                "seconds": checkpoint.learning.as_secs_f64(),
            });
            for (metric, value) in &checkpoint.evaluation.values {
                line[metric.to_string()] = json!(value);
            }
            failed = std::mem::replace(&mut failed, Ok(())).and(console::line(line));
        })?;
        return failed;
    }

    console::line(format_args!(
        "{} learns {} bits from {} digits of 8 x 8 pixels, {BATCH} at a time.\n\
         {} more are searched with: how good are the codes after each batch?\n\n\
         {:>6}  {:>6}  {:>6}  {:>6}",
        args.method,
        bits,
        stream.len(),
        query_labels.len(),
        "rows",
        "mAP",
        "P@10",
        "P r<=2",
    ))?;
    let bar = console::progress("learning", Some(stream.len()));
    let mut printed = Ok(());
    experiment.run(&mut model, |checkpoint| {
        bar.set_position(checkpoint.seen as u64);
        let row = bar.suspend(|| console::line(table_row(checkpoint)));
        printed = std::mem::replace(&mut printed, Ok(())).and(row);
    })?;
    bar.finish_and_clear();
    printed?;

    let function = model.hash_function();
    let codes = function.encode(stream.features())?;
    console::line(format_args!(
        "\nAll {} digits are now {} bytes of codes instead of {} of pixels. The query is on the \
         left,\nthe nearest digits by Hamming distance follow, with distance and label:\n",
        codes.len(),
        console::count(codes.to_bytes().len() as u64),
        console::count(codes.len() as u64 * DIM as u64 * 4),
    ))?;
    for at in [3, 47, 88, 174] {
        show_search(&function, &codes, (&database, &labels), &queries[at * DIM..][..DIM])?;
    }
    console::line(
        "P@10 is the share of right ones among the ten nearest, P r<=2 among all within two bits.\n\n\
         On your own data (Parquet, npy, npz, HDF5, CSV, mat; one label per row, or several):\n  \
         hashbrook split --data x.npy --labels y.npy --queries 100 --out split/\n  \
         hashbrook learn --data split/db.npy --labels split/db-labels.npy --bits 64 --out my.model\n  \
         hashbrook eval  --model my.model --data split/db.npy --labels split/db-labels.npy \\\n                  \
         --queries split/queries.npy --query-labels split/query-labels.npy\n  \
         hashbrook --help",
    )
}

fn select(digits: &Digits, rows: &[usize]) -> (Vec<f32>, Vec<u32>) {
    let pixels = rows.iter().flat_map(|row| &digits.features[row * DIM..(row + 1) * DIM]);
    (pixels.copied().collect(), rows.iter().map(|&row| digits.labels[row]).collect())
}

fn table_row(checkpoint: &Checkpoint) -> String {
    let [map, precision, radius] = METRICS.map(|metric| checkpoint.evaluation.get(metric));
    let eighths = (map * 40.0 * 8.0).round() as usize;
    let part = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    let bar = "█".repeat(eighths / 8) + part;
    format!("{:>6}  {map:>6.3}  {precision:>6.3}  {radius:>6.3}  {bar}", checkpoint.seen)
}

/// Draws a query and its nearest items.
fn show_search(
    function: &HashFunction,
    codes: &Codes,
    (pixels, labels): (&[f32], &[u32]),
    query: &[f32],
) -> Result<()> {
    let code = function.encode(Features::new(query, DIM)?)?;
    let mut ranking: Vec<(u32, usize)> =
        codes.iter().enumerate().map(|(row, other)| (hamming(code.code(0), other), row)).collect();
    ranking.sort_unstable();
    let nearest = &ranking[..7];
    let mut pictures = vec![picture(query)];
    let mut captions = vec![format!("{:SIDE$}", "query")];
    for &(distance, row) in nearest {
        pictures.push(picture(&pixels[row * DIM..][..DIM]));
        captions.push(format!("{:SIDE$}", format!("{distance}: {}", labels[row])));
    }
    for line in 0..SIDE / 2 {
        let lines: Vec<&str> = pictures.iter().map(|picture| picture[line].as_str()).collect();
        console::line(lines.join("  "))?;
    }
    console::line(format_args!("{}\n", captions.join("  ").trim_end()))
}

/// Draws a digit in half blocks: two rows of pixels per line of text.
fn picture(pixels: &[f32]) -> Vec<String> {
    let ink = |pixel: f32| pixel >= 7.0;
    pixels
        .chunks_exact(2 * SIDE)
        .map(|rows| {
            let (upper, lower) = rows.split_at(SIDE);
            upper
                .iter()
                .zip(lower)
                .map(|(&upper, &lower)| match (ink(upper), ink(lower)) {
                    (true, true) => '█',
                    (true, false) => '▀',
                    (false, true) => '▄',
                    (false, false) => ' ',
                })
                .collect()
        })
        .collect()
}
