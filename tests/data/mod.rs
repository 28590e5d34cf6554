//! External data sets, if they are available.
//!
//! The data is searched in the directory named by `HASHBROOK_DATA` or, if the variable is not set,
//! in `../shared/data` and in `./data`. A test without its data passes, and reports that it was
//! skipped.
#![allow(dead_code, missing_docs)]

use std::io::Write;
use std::panic::Location;
use std::path::PathBuf;

use hashbrook::LabelNames;
use hashbrook::dataset::{Reader, read_labels_all};

fn directories() -> Vec<PathBuf> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    match std::env::var_os("HASHBROOK_DATA") {
        Some(directory) => vec![PathBuf::from(directory)],
        None => vec![here.join("../shared/data"), here.join("data")],
    }
}

/// Returns the files of a data set, if all of them exist.
pub fn files<const N: usize>(set: &str, files: [&str; N]) -> Option<[String; N]> {
    let in_folder = |directory: PathBuf| {
        let paths = files.map(|file| directory.join(set).join(file));
        let found = paths.iter().all(|path| path.exists());
        found.then(|| paths.map(|path| path.to_string_lossy().into_owned()))
    };
    directories().into_iter().find_map(in_folder)
}

/// Returns the files of a data set. If files are missing, reports that the calling test is skipped.
#[track_caller]
pub fn files_or_skip<const N: usize>(set: &str, names: [&str; N]) -> Option<[String; N]> {
    let found = files(set, names);
    if found.is_none() {
        left_out(set);
    }
    found
}

/// Returns all 70,000 digits of MNIST as pixels, and their labels.
pub fn mnist() -> Option<(Vec<f32>, Vec<u32>)> {
    let images = ["train-images-idx3-ubyte.gz", "t10k-images-idx3-ubyte.gz"];
    let labels = ["train-labels-idx1-ubyte.gz", "t10k-labels-idx1-ubyte.gz"];
    let (images, labels) = (files("mnist", images)?, files("mnist", labels)?);
    let mut reader = Reader::open_all(&images).expect("MNIST can be read");
    let mut features = Vec::new();
    while let Some(rows) = reader.next(10_000).expect("MNIST can be read") {
        features.extend_from_slice(rows.values());
    }
    let labels = read_labels_all(&labels, &mut LabelNames::new()).expect("MNIST can be read");
    Some((features, labels.view().as_single().expect("one label each").to_vec()))
}

/// Returns MNIST. If files are missing, reports that the calling test is skipped.
#[track_caller]
pub fn mnist_or_skip() -> Option<(Vec<f32>, Vec<u32>)> {
    let found = mnist();
    if found.is_none() {
        left_out("mnist");
    }
    found
}

/// Reports a skipped test. The report bypasses the harness's capture of passing tests, so that
/// cargo shows it.
#[track_caller]
fn left_out(set: &str) {
    let (thread, caller) = (std::thread::current(), Location::caller());
    // A test's thread has the test's name, unless all tests run on one thread.
    let test = match thread.name() {
        None | Some("main") => format!("{}:{}", caller.file(), caller.line()),
        Some(name) => name.to_owned(),
    };
    let directories: Vec<String> = directories().iter().map(|f| f.display().to_string()).collect();
    let directories = directories.join(" or ");
    // If standard error cannot be written, the report is lost.
    let _ = writeln!(std::io::stderr(), "left out: {test}, as {set} is not in {directories}");
}
