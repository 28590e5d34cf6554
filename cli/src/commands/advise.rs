use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::ArgAction;
use hashbrook::advice::{self, Advice, AdviceOptions};
use hashbrook::{Batch, Features, LabelNames};

use super::{scale_named, set_parameters};
use crate::args::LabelledData;
use crate::console::{self, count, plural};
use crate::{input, interrupt};

/// Measures which length of codes suits labelled vectors
///
/// Learns from a sample with brook, holds some rows out as queries, and prints for each length: precision@10 and mAP by
/// labels, the share of the ten nearest by cosine among the first ten, what re-ranking changes, bytes of an item in an
/// index, and the time to learn all rows.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hashbrook advise --data x.npy --labels y.npy
  hashbrook advise --data pets.parquet --label kind --bits 64,128,1024

The recommendation is the shortest length whose precision@10 is within 0.02 of the best, or within
two standard errors of the difference over the queries. A warning says so if these are larger. Of data
with more rows than the sample, the growth of precision@10 from half of the sample to all of it is
extrapolated to all rows.")]
pub struct Args {
    #[command(flatten)]
    input: LabelledData,

    /// Lengths of codes to measure
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "32,64,128,256,512")]
    bits: Vec<usize>,

    /// Number of rows to draw from the data
    #[arg(long, value_name = "N", default_value_t = advice::SAMPLE)]
    sample: usize,

    /// Numbers of candidates to measure re-ranking with
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "30,100,1000")]
    rerank: Vec<usize>,

    /// Sets a parameter of brook; may be repeated
    #[arg(long, value_name = "NAME=VALUE", action = ArgAction::Append)]
    set: Vec<String>,

    /// What the sample and the codes depend on
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Divide each column by its deviation in the first rows, as `learn --scale` does
    #[arg(long, value_name = "none|standard", value_parser = ["none", "standard"], default_value = "none")]
    scale: String,

    /// Seconds after which no further length is measured
    #[arg(long, value_name = "SECONDS", default_value_t = 45)]
    time_limit: u64,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &mut Args) -> Result<()> {
    interrupt::nothing_to_save();
    let _kept = args.input.prepare()?;
    let args = &*args;
    if args.input.labels.is_empty() {
        bail!("codes are judged by labels: give them with --labels or --label");
    }
    let clock = Instant::now();
    let mut options = AdviceOptions::default();
    set_parameters(&mut options.method, &args.set)?;
    options.setup.scale = scale_named(&args.scale);
    options.seed = args.seed;
    options.lengths = args.bits.clone();
    options.candidates = args.rerank.clone();
    options.time_limit = Duration::from_secs(args.time_limit);
    let sample = Sample::read(args)?;
    options.rows = Some(sample.total as u64);
    let bar = console::steps("measuring", 100);
    let features = Features::new(&sample.values, sample.dim)?;
    let batch = Batch::new(features, sample.labels.view())?;
    let mut advance = |share: f64| bar.set_position((100.0 * share) as u64);
    let advice = advice::advise(batch, &options, &mut advance)?;
    bar.finish_and_clear();
    if args.json {
        let mut object = serde_json::to_value(&advice)?;
        object["rows"] = sample.total.into();
        object["sample"] = sample.labels.len().into();
        object["seconds"] = clock.elapsed().as_secs_f64().into();
        object["warning"] = warning(&advice).into();
        return console::line(object);
    }
    print(&advice, &sample, clock.elapsed())
}

/// Rows drawn from the data.
struct Sample {
    values: Vec<f32>,
    labels: hashbrook::LabelList,
    dim: usize,
    /// Number of rows of the data.
    total: usize,
}

impl Sample {
    fn read(args: &Args) -> Result<Sample> {
        let (data, label_files) = (&args.input.data, &args.input.labels);
        let mut reader = args.input.open()?;
        let Some(total) = input::count_rows(data, &mut reader)? else {
            bail!(
                "a sample is drawn from data whose number of rows is known, and {} can be read only once; \
                 write it to a file first",
                data.join(", ")
            );
        };
        let dim = reader.dim();
        let labels =
            input::labels_for(label_files, &mut LabelNames::new(), data, (Some(total), dim))?;
        let rows = advice::sample_rows(total, args.sample, args.seed);
        let mut values = Vec::with_capacity(rows.len() * dim);
        let (mut first, mut left) = (0, &rows[..]);
        input::for_each_rows("sampling", &mut reader, |features| {
            let end = first + features.len();
            let (here, later) = left.split_at(left.partition_point(|&row| row < end));
            here.iter().for_each(|&row| values.extend_from_slice(features.row(row - first)));
            (first, left) = (end, later);
            Ok(())
        })?;
        Ok(Sample { values, labels: labels.select(&rows), dim, total })
    }
}

/// Returns a warning if the differences between code lengths may be noise.
fn warning(advice: &Advice) -> Option<String> {
    advice.is_noisy().then(|| {
        format!(
            "differences of P@10 up to {:.3} are within noise with {}; the recommendation ignores them, and more \
             labelled rows tell lengths apart",
            advice.noise,
            match advice.queries {
                1 => "1 query".to_owned(),
                queries => format!("{} queries", count(queries as u64)),
            }
        )
    })
}

fn print(advice: &Advice, sample: &Sample, took: Duration) -> Result<()> {
    console::line(format_args!(
        "brook on {} of {}, {}, {}; {} held out as queries",
        plural(sample.labels.len() as u64, "row"),
        count(sample.total as u64),
        plural(sample.dim as u64, "dimension"),
        plural(advice.labels as u64, "label"),
        count(advice.queries as u64),
    ))?;
    let reranked: Vec<usize> = match advice.lengths.first() {
        Some(length) => length.reranked.iter().map(|reranked| reranked.candidates).collect(),
        None => Vec::new(),
    };
    let mut head = format!(
        "\n{:>5} {:>6} {:>6} {:>6} {:>6} {:>6} {:>10} {:>9}",
        "bits", "P@10", "sample", "mAP", "near", "bytes", "+structure", "learning"
    );
    for candidates in &reranked {
        head += &format!(" {:>16}", format!("re-ranked {candidates}"));
    }
    console::line(head)?;
    for length in &advice.lengths {
        let mut line = format!(
            "{:>5} {:>6.3} {:>6.3} {:>6.3} {:>6.3} {:>6.0} {:>10.0} {:>9}",
            length.bits,
            length.precision_at_10,
            length.sample_precision_at_10,
            length.map,
            length.neighbours,
            length.item_bytes,
            length.structure_bytes,
            console::seconds(Duration::from_secs_f64(length.learning_seconds)),
        );
        for reranked in &length.reranked {
            let both = format!("{:.3} {:.3}", reranked.precision_at_10, reranked.neighbours);
            line += &format!(" {both:>16}");
        }
        console::line(line)?;
    }
    console::line(format_args!(
        "\nP@10: share of the ten nearest with the query's label, expected of all rows.\n\
         sample: the same, measured on the sample; {:.3} by the cosine of the vectors.\n\
         mAP: mean average precision on the sample; it falls as a database grows.\n\
         near: share of the ten nearest by cosine among the ten nearest by code.\n\
         re-ranked N: P@10 and near, if the first N by code are re-ranked by cosine.\n\
         bytes: code, id and labels of an item in an index; its search structure on top.",
        advice.by_vectors
    ))?;
    if !advice.omitted.is_empty() {
        let omitted: Vec<String> = advice.omitted.iter().map(usize::to_string).collect();
        console::note(format_args!(
            "{} bits were not measured within the time limit; --time-limit, --sample or --bits changes that",
            omitted.join(", ")
        ));
    }
    if let Some(warning) = warning(advice) {
        console::note(warning);
    }
    console::line(format_args!(
        "\nrecommended: --bits {} (measured in {})",
        advice.recommended,
        console::seconds(took)
    ))
}
