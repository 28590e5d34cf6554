//! Quality of codes on a stream that changes midway, with and without a half-life. The queries are
//! always like the current part of the stream.
//!
//! ```text
//! cargo run --release --example brook_drift -- DIRECTORY [SVG]
//! ```
//!
//! DIRECTORY contains the four files of MNIST. The first half of the stream has the digits 0 to 4,
//! labelled with the digit. The second half has the digits 5 to 9 (*other classes*), or 0 to 4 with
//! permuted labels (*other labels*: what was called 1 is now called 2, and so on). After every
//! thousand rows, mAP is measured on the current half. SVG is the path for a plot.

use std::fmt::Write;

use hashbrook::dataset::Data;
use hashbrook::eval::{Metric, evaluate};
use hashbrook::{Batch, Features, Labels, Method, Setup};

const STEP: usize = 1000;
const HALF: usize = 10_000;

/// Label of a digit in a half of the stream, if the digit occurs in this half.
type Rule = fn(digit: u32, second: bool) -> Option<u32>;

const STREAMS: [(&str, Rule); 2] = [
    ("other classes", |digit, second| ((digit >= 5) == second).then_some(digit)),
    ("other labels", |digit, second| {
        (digit < 5).then_some(if second { digit * 2 % 5 } else { digit })
    }),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().ok_or("usage: brook_drift DIRECTORY [SVG]")?;
    let files = |name: &str| ["train", "t10k"].map(|part| format!("{directory}/{part}-{name}.gz"));
    let data = Data::load(&files("images-idx3-ubyte"), &files("labels-idx1-ubyte"))?;
    let (database, queries) = data.split(100, 1)?;
    drop(data);
    let mut curves = Vec::new();
    println!("{:>20}{:>16}   mAP after 1,000, 2,000 ... 20,000 rows", "midway come", "half_life");
    for (name, rule) in STREAMS {
        for half_life in ["0", "2000"] {
            let halves = [false, true].map(|second| select(database.batch(), HALF, second, rule));
            let asked = [false, true].map(|second| select(queries.batch(), 1000, second, rule));
            let mut method = Method::named("brook")?;
            method.set("half_life", half_life)?;
            let mut setup = Setup::default();
            setup.warmup = Some(STEP);
            let mut model = method.start_with(784, 64, 1, setup)?;
            let mut curve = Vec::new();
            for (half, asked) in halves.iter().zip(&asked) {
                let half = half.batch()?;
                for start in (0..half.len()).step_by(STEP) {
                    model.learn(half.slice(start..half.len().min(start + STEP)))?;
                    let function = model.hash_function();
                    let asked = asked.batch()?;
                    let codes = |batch: Batch<'_>| function.encode(batch.features());
                    let (labels, query_labels) = (half.labels(), asked.labels());
                    let (labels, query_labels) = labels.zip(query_labels).ok_or("labelled")?;
                    let (queries, database) = (codes(asked)?, codes(half)?);
                    let map = [Metric::Map];
                    let found = evaluate(&queries, query_labels, &database, labels, &map)?;
                    curve.push(found.get(Metric::Map));
                }
            }
            let numbers: Vec<String> = curve.iter().map(|map| format!("{map:.3}")).collect();
            println!("{name:>20}{half_life:>16}   {}", numbers.join(" "));
            curves.push((format!("{name}, half_life = {half_life}"), curve));
        }
    }
    if let Some(path) = arguments.next() {
        std::fs::write(path, draw(&curves)?)?;
    }
    Ok(())
}

/// Owned rows with labels.
struct Rows {
    features: Vec<f32>,
    labels: Vec<u32>,
}

impl Rows {
    fn batch(&self) -> hashbrook::Result<Batch<'_>> {
        Batch::new(Features::new(&self.features, 784)?, Labels::single(&self.labels))
    }
}

/// Returns the first rows that occur in a half of the stream, with their labels in this half.
fn select(batch: Batch<'_>, most: usize, second: bool, rule: Rule) -> Rows {
    let mut rows = Rows { features: Vec::new(), labels: Vec::new() };
    let labels = batch.labels().and_then(|labels| labels.as_single()).unwrap_or_default();
    for (row, &digit) in labels.iter().enumerate() {
        if rows.labels.len() == most {
            break;
        }
        if let Some(label) = rule(digit, second) {
            rows.features.extend_from_slice(batch.features().row(row));
            rows.labels.push(label);
        }
    }
    rows
}

/// Returns a plot of the curves as SVG.
fn draw(curves: &[(String, Vec<f64>)]) -> Result<String, std::fmt::Error> {
    const COLOURS: [&str; 4] = ["#0072b2", "#56b4e9", "#d55e00", "#e69f00"];
    let (x, y) = (|rows: usize| 60.0 + rows as f64 * 0.03, |map: f64| 20.0 + (1.0 - map) * 400.0);
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 700 400\" font-family=\"sans-serif\" \
         font-size=\"13\" fill=\"#666\">\n<style>@media (prefers-color-scheme:dark){svg{fill:#ccc}}</style>\n",
    );
    for tenth in 2..=10 {
        let (map, at) = (tenth as f64 / 10.0, y(tenth as f64 / 10.0));
        writeln!(
            svg,
            "<path d=\"M60 {at:.0}H660\" stroke=\"#888\" stroke-opacity=\".35\"/><text x=\"30\" y=\"{:.0}\">{map:.1}</text>",
            at + 4.0
        )?;
    }
    for rows in (0..=2 * HALF).step_by(5000) {
        writeln!(svg, "<text x=\"{:.0}\" y=\"360\" text-anchor=\"middle\">{rows}</text>", x(rows))?;
    }
    writeln!(
        svg,
        "<text x=\"360\" y=\"385\" text-anchor=\"middle\">rows seen; the stream changes at {HALF}</text>"
    )?;
    for (at, ((name, curve), colour)) in curves.iter().zip(COLOURS).enumerate() {
        let points = curve.iter().enumerate();
        let points: Vec<String> =
            points.map(|(i, map)| format!("{:.1},{:.1}", x((i + 1) * STEP), y(*map))).collect();
        writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            points.join(" ")
        )?;
        writeln!(svg, "<text x=\"80\" y=\"{}\" fill=\"{colour}\">{name}</text>", 260 + at * 20)?;
    }
    svg += "</svg>\n";
    Ok(svg)
}
