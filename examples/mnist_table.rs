//! Every method on MNIST by the papers' protocol, compared with the expected mAP. There are 100
//! queries per class. The other 69,000 digits form the database, and the first 20,000 of them are
//! streamed. Pixels are centred on the mean of all digits and scaled to unit length.
//!
//! ```text
//! cargo run --release --example mnist_table -- DIRECTORY [SEEDS] [ROWS ...]
//! ```
//!
//! DIRECTORY contains the four files of MNIST, `train-images-idx3-ubyte.gz` and so on. If ROWS are
//! given, only rows whose name contains one of them are computed. The expected values were measured
//! with independent implementations of the methods in another language, on 1 to 3 seeds.

use hashbrook::dataset::Data;
use hashbrook::eval::Metric;
use hashbrook::protocol::Experiment;
use hashbrook::{Center, Method, Setup};

/// Row of the table: its name, the method with the parameters that differ from the preset for
/// MNIST, the mAP expected at 32, 64 and 128 bits, and the allowed deviation.
struct Row {
    name: &'static str,
    method: &'static str,
    parameters: &'static [(&'static str, &'static str)],
    expected: [f64; 3],
    within: f64,
}

const BITS: [usize; 3] = [32, 64, 128];

#[rustfmt::skip]
const ROWS: [Row; 13] = [
    Row { name: "lsh", method: "lsh", parameters: &[], expected: [0.272, 0.333, 0.370], within: 0.03 },
    Row { name: "okh", method: "okh", parameters: &[], expected: [0.286, 0.357, 0.392], within: 0.06 },
    Row { name: "sketchhash, state kept", method: "sketchhash", parameters: &[], expected: [0.353, 0.376, 0.399], within: 0.03 },
    Row { name: "sketchhash, as released", method: "sketchhash", parameters: &[("state", "lost"), ("batch", "200")], expected: [0.350, 0.390, 0.410], within: 0.03 },
    Row { name: "frosh", method: "frosh", parameters: &[], expected: [0.361, 0.380, 0.404], within: 0.03 },
    Row { name: "adapthash", method: "adapthash", parameters: &[], expected: [0.299, 0.304, 0.270], within: 0.06 },
    Row { name: "osh, boost", method: "osh", parameters: &[], expected: [0.540, 0.535, 0.543], within: 0.03 },
    Row { name: "osh, hinge", method: "osh", parameters: &[("loss", "hinge")], expected: [0.698, 0.734, 0.752], within: 0.03 },
    Row { name: "osh, as released", method: "osh", parameters: &[("state", "lost")], expected: [0.152, 0.159, 0.170], within: 0.03 },
    Row { name: "mihash, released gradient", method: "mihash", parameters: &[("gradient", "released"), ("trigger", "fixed")], expected: [0.773, 0.767, 0.744], within: 0.03 },
    Row { name: "mihash, exact gradient", method: "mihash", parameters: &[("trigger", "fixed")], expected: [0.786, 0.789, 0.788], within: 0.03 },
    Row { name: "bsodh, released", method: "bsodh", parameters: &[], expected: [0.722, 0.725, 0.745], within: 0.02 },
    Row { name: "bsodh, alternating", method: "bsodh", parameters: &[("order", "alternating")], expected: [0.729, 0.739, 0.744], within: 0.03 },
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().ok_or("usage: mnist_table DIRECTORY [SEEDS] [ROWS ...]")?;
    let seeds: u64 = arguments.next().as_deref().unwrap_or("3").parse()?;
    let wanted: Vec<String> = arguments.collect();
    let files = |name: &str| ["train", "t10k"].map(|part| format!("{directory}/{part}-{name}.gz"));
    let data = Data::load(&files("images-idx3-ubyte"), &files("labels-idx1-ubyte"))?;
    let mean = data.mean();
    let splits = (1..=seeds).map(|seed| data.split(100, seed)).collect::<Result<Vec<_>, _>>()?;
    drop(data);

    println!(
        "{:28}{:^24}{:^24}{:>9}{:>16}",
        "mAP at 32, 64, 128 bits", "expected", "measured", "within", "learning, s"
    );
    let mut missed = 0;
    for row in &ROWS {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| row.name.contains(wanted.as_str())) {
            continue;
        }
        let (mut measured, mut seconds) = ([0.0; 3], [0.0; 3]);
        for (at, bits) in BITS.into_iter().enumerate() {
            for (seed, (database, queries)) in (1..).zip(&splits) {
                let mut method = Method::named(row.method)?;
                method.preset("mnist")?;
                for (name, value) in row.parameters {
                    method.set(name, value)?;
                }
                let mut setup = Setup::default();
                setup.center = Center::Given(mean.clone());
                let mut model = method.start_with(database.dim(), bits, seed, setup)?;
                let experiment = Experiment {
                    stream: database.batch().slice(0..20_000),
                    database: database.batch(),
                    queries: queries.batch(),
                    batch: 2_000,
                    every: None,
                    metrics: &[Metric::Map],
                };
                for end in experiment.run(&mut model, |_| {})? {
                    measured[at] += end.evaluation.get(Metric::Map) / seeds as f64;
                    seconds[at] += end.learning.as_secs_f64() / seeds as f64;
                }
            }
        }
        let farthest =
            measured.iter().zip(row.expected).map(|(m, e)| (m - e).abs()).fold(0.0, f64::max);
        let met = farthest <= row.within;
        missed += usize::from(!met);
        let three = |values: [f64; 3]| values.map(|value| format!("{value:.3}")).join("  ");
        println!(
            "{:28}{:^24}{:^24}{:>5.3}{:>4}{:>16}",
            row.name,
            three(row.expected),
            three(measured),
            farthest,
            if met { "" } else { "  !" },
            seconds.map(|s| format!("{s:.2}")).join(" ")
        );
    }
    println!("{missed} rows are farther from what is expected than they may be");
    Ok(())
}
