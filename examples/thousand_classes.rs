//! Writes a generated data set similar to users' data: 768 dimensions, 1,000 classes with a long
//! tail, 10 % of the labels wrong and 5 % missing.
//!
//! ```text
//! cargo run --release --example thousand_classes -- DIRECTORY [ROWS]
//! ```
//!
//! The example writes `features.npy` and `labels.csv` to DIRECTORY (100,000 rows by default; a row
//! without a label has an empty line). It also writes `queries.npy` and `query-labels.csv` (2,000
//! rows, whose labels are all correct). The same call writes the same bytes on every machine.

#[path = "worlds/mod.rs"]
mod worlds;

use std::fs;
use std::path::Path;

use hashbrook::dataset::NpyWriter;
use worlds::{Rows, World};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let mut args = std::env::args().skip(1);
    let directory = args.next().ok_or("usage: thousand_classes DIRECTORY [ROWS]")?;
    let rows = args.next().map_or(Ok(100_000), |rows| rows.parse())?;
    let directory = Path::new(&directory);
    fs::create_dir_all(directory)?;
    let (stream, queries) = World::thousand_classes().draw(rows, 2_000);
    write(directory, ["features.npy", "labels.csv"], &stream)?;
    write(directory, ["queries.npy", "query-labels.csv"], &queries)
}

fn write(directory: &Path, [features, labels]: [&str; 2], rows: &Rows) -> Outcome<()> {
    let mut writer = NpyWriter::<f32>::create(directory.join(features), Some(rows.dim))?;
    writer.write(&rows.values)?;
    writer.finish()?;
    let line =
        |labels: &Vec<u32>| labels.first().map_or("\n".to_owned(), |label| format!("{label}\n"));
    Ok(fs::write(directory.join(labels), rows.labels.iter().map(line).collect::<String>())?)
}
