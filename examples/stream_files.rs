//! Learning from files that may be larger than memory, stopping halfway, and resuming.
//!
//! ```text
//! cargo run --release --example stream_files
//! ```

use hashbrook::dataset::{LabelNames, Reader, read_labels};
use hashbrook::{Batch, Method, Model};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A CSV file with 64 columns of pixels and one column of labels. npy, npz, IDX, vecs and MATLAB
    // files are opened in the same way.
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/dataset/digits.csv.gz");
    let labels = read_labels(&format!("{file}:64"), &mut LabelNames::new())?;
    let mut reader = Reader::open(&format!("{file}:0-63"))?;

    let directory = tempfile::tempdir()?;
    let saved = directory.path().join("digits.model");
    let mut model = Method::named("brook")?.start(reader.dim(), 48, 1)?;
    let mut row = 0;
    while let Some(features) = reader.next(300)? {
        let labels = labels.view().slice(row..row + features.len());
        row += features.len();
        model.learn(Batch::new(features, labels)?)?;

        // A model can be saved at any time, and resumed without any effect on what it learns.
        model.save(&saved)?;
        model = Model::load(&saved)?;
    }
    println!("{} rows learned into {} bits", model.seen(), model.bits());
    println!("the model takes {} bytes", std::fs::metadata(&saved)?.len());
    Ok(())
}
