//! Data sets of the examples that measure: subdirectories of the directory given to an example.
#![allow(dead_code)]

/// Data set, and its use in the papers' protocol.
pub struct Set {
    pub name: &'static str,
    pub preset: &'static str,
    pub features: &'static [&'static str],
    pub labels: &'static [&'static str],
    pub queries_per_class: usize,
    pub rows: usize,
    pub batch: usize,
}

/// The data sets that brook was developed with, and the held-out data set.
pub const SETS: [Set; 3] = [
    Set {
        name: "mnist",
        preset: "mnist",
        features: &["train-images-idx3-ubyte.gz", "t10k-images-idx3-ubyte.gz"],
        labels: &["train-labels-idx1-ubyte.gz", "t10k-labels-idx1-ubyte.gz"],
        queries_per_class: 100,
        rows: 20_000,
        batch: 2_000,
    },
    Set {
        name: "cifar10-cnn",
        preset: "cifar10",
        features: &["features.npy"],
        labels: &["labels.npy"],
        queries_per_class: 100,
        rows: 20_000,
        batch: 2_000,
    },
    Set {
        name: "tinyimagenet-cnn",
        preset: "places205",
        features: &["features.npy"],
        labels: &["labels.npy"],
        queries_per_class: 20,
        rows: 100_000,
        batch: 10_000,
    },
];
