//! BSODH on MNIST by the protocol of its paper: 100 queries per class, the other 69,000 digits to
//! be found, the first 20,000 of them streamed in batches of 2,000; pixels centred on the mean of
//! all and scaled to unit length.
//!
//! ```text
//! cargo run --release --example paper_protocol -- FOLDER [SEEDS]
//! ```
//!
//! FOLDER holds the four files of MNIST, `train-images-idx3-ubyte.gz` and so on.

use hashbrook::dataset::{LabelNames, Reader, Split, read_labels_all};
use hashbrook::eval::Measures;
use hashbrook::protocol::Experiment;
use hashbrook::{Batch, Center, Features, LabelList, Mean, Method, Setup};

const DIM: usize = 784;
const PAPER: [(usize, f64); 3] = [(32, 0.747), (64, 0.766), (128, 0.760)];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("usage: paper_protocol FOLDER [SEEDS]")?;
    let seeds: u64 = arguments.next().as_deref().unwrap_or("5").parse()?;
    let (features, labels, mean) = read_mnist(&folder)?;

    println!("bits   paper    mean   each seed");
    for (bits, paper) in PAPER {
        let mut found = Vec::new();
        for seed in 1..=seeds {
            let split = Split::per_class(labels.view(), None, 100, seed)?;
            let (database, database_labels) = select(&features, &labels, &split.database);
            let (queries, query_labels) = select(&features, &labels, &split.queries);
            let database = batch(&database, &database_labels)?;
            let experiment = Experiment {
                stream: database.slice(0..20_000),
                database,
                queries: batch(&queries, &query_labels)?,
                batch: 2_000,
                every: None,
                measures: Measures::default(),
            };
            let setup = Setup { center: Center::Given(mean.clone()), ..Setup::default() };
            let mut model = Method::named("bsodh")?.start_with(DIM, bits, seed, setup)?;
            let checkpoints = experiment.run(&mut model, |_| {})?;
            found.extend(checkpoints.last().map(|last| last.evaluation.map));
        }
        let mean = found.iter().sum::<f64>() / found.len() as f64;
        let each: Vec<String> = found.iter().map(|map| format!("{map:.3}")).collect();
        println!("{bits:>4}   {paper:.3}   {mean:.3}   {}", each.join(" "));
    }
    Ok(())
}

fn read_mnist(folder: &str) -> hashbrook::Result<(Vec<f32>, LabelList, Vec<f32>)> {
    let files = |name: &str| ["train", "t10k"].map(|part| format!("{folder}/{part}-{name}.gz"));
    let mut reader = Reader::open_all(&files("images-idx3-ubyte"))?;
    let (mut features, mut mean) = (Vec::new(), Mean::new(DIM));
    while let Some(rows) = reader.next(10_000)? {
        mean.add(rows)?;
        features.extend_from_slice(rows.values());
    }
    let labels = read_labels_all(&files("labels-idx1-ubyte"), &mut LabelNames::new())?;
    Ok((features, labels, mean.value()))
}

fn select(features: &[f32], labels: &LabelList, rows: &[usize]) -> (Vec<f32>, LabelList) {
    let values = rows.iter().flat_map(|row| &features[row * DIM..(row + 1) * DIM]).copied();
    (values.collect(), labels.select(rows))
}

fn batch<'a>(values: &'a [f32], labels: &'a LabelList) -> hashbrook::Result<Batch<'a>> {
    Batch::new(Features::new(values, DIM)?, labels.view())
}
