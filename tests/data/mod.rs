//! Data that is not the project's own, where it is at hand.
//!
//! It is looked for in the folder that `HASHBROOK_DATA` names, or else in `../shared/data` and in
//! `./data`. Whatever needs it says so and is left out where it is absent.
#![allow(dead_code, missing_docs)]

use std::path::PathBuf;

use hashbrook::LabelNames;
use hashbrook::dataset::{Reader, read_labels_all};

/// The files of a data set; says so if they are not there.
pub fn files_or_skip<const N: usize>(set: &str, files: [&str; N]) -> Option<[String; N]> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let folders = match std::env::var_os("HASHBROOK_DATA") {
        Some(folder) => vec![PathBuf::from(folder)],
        None => vec![here.join("../shared/data"), here.join("data")],
    };
    let in_folder = |folder: PathBuf| {
        let paths = files.map(|file| folder.join(set).join(file));
        let found = paths.iter().all(|path| path.exists());
        found.then(|| paths.map(|path| path.to_string_lossy().into_owned()))
    };
    let found = folders.into_iter().find_map(in_folder);
    if found.is_none() {
        println!("skipped {set}: no data");
    }
    found
}

/// All 70,000 digits of MNIST as pixels, and their labels.
pub fn mnist() -> Option<(Vec<f32>, Vec<u32>)> {
    let images = ["train-images-idx3-ubyte.gz", "t10k-images-idx3-ubyte.gz"];
    let labels = ["train-labels-idx1-ubyte.gz", "t10k-labels-idx1-ubyte.gz"];
    let mut reader = Reader::open_all(&files_or_skip("mnist", images)?).ok()?;
    let mut features = Vec::new();
    while let Some(rows) = reader.next(10_000).ok()? {
        features.extend_from_slice(rows.values());
    }
    let labels = read_labels_all(&files_or_skip("mnist", labels)?, &mut LabelNames::new()).ok()?;
    Some((features, labels.view().as_single()?.to_vec()))
}
