//! The data sets on which the library is measured, if they are available.

use hashbrook::dataset::{Digits, LabelNames, Reader, digits, read_labels, read_labels_all};

use crate::data;

/// Returns the number of rows with each label; the labels' names are integers.
fn counts(specs: &[String], classes: usize) -> Vec<usize> {
    let mut names = LabelNames::new();
    let list = read_labels_all(specs, &mut names).unwrap();
    let mut counts = vec![0; classes];
    for row in 0..list.len() {
        let name = names.name(list.view().row(row)[0]).unwrap();
        counts[name.parse::<usize>().unwrap()] += 1;
    }
    counts
}

/// Returns the number of rows and the sum of all values.
fn totals(mut reader: Reader) -> (usize, f64) {
    let (mut rows, mut sum) = (0, 0.0);
    while let Some(batch) = reader.next(1000).unwrap() {
        rows += batch.len();
        sum += batch.values().iter().map(|&value| f64::from(value)).sum::<f64>();
    }
    (rows, sum)
}

#[test]
fn mnist() {
    let images = ["train-images-idx3-ubyte.gz", "t10k-images-idx3-ubyte.gz"];
    let labels = ["train-labels-idx1-ubyte.gz", "t10k-labels-idx1-ubyte.gz"];
    let Some(images) = data::files_or_skip("mnist", images) else { return };
    let Some(labels) = data::files_or_skip("mnist", labels) else { return };
    let reader = Reader::open_all(&images).unwrap();
    assert_eq!((reader.dim(), reader.rows(), reader.is_u8()), (784, Some(70_000), true));
    let (rows, _) = totals(reader);
    assert_eq!(rows, 70_000);
    // The mean pixel of the training images is known to be 33.318.
    let (rows, sum) = totals(Reader::open(&images[0]).unwrap());
    assert_eq!(rows, 60_000);
    assert!((sum / (60_000.0 * 784.0) - 33.3184).abs() < 1e-3);
    let train = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949];
    assert_eq!(counts(&labels[..1], 10), train);
    let test = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009];
    assert_eq!(counts(&labels[1..], 10), test);
    let mut names = LabelNames::new();
    let first = read_labels(&labels[0], &mut names).unwrap().select(&[0, 1, 2, 3, 4]);
    let first: Vec<_> = (0..5).map(|row| names.name(first.view().row(row)[0]).unwrap()).collect();
    assert_eq!(first, ["5", "0", "4", "1", "9"]);
}

#[test]
fn cifar10_cnn() {
    let Some(files) = data::files_or_skip("cifar10-cnn", ["features.npy", "labels.npy"]) else {
        return;
    };
    let reader = Reader::open(&files[0]).unwrap();
    assert_eq!((reader.dim(), reader.rows(), reader.is_u8()), (1280, Some(60_000), true));
    let bytes = std::fs::read(&files[0]).unwrap();
    let expected: f64 = bytes[128..].iter().map(|&byte| f64::from(byte)).sum();
    assert_eq!(totals(reader), (60_000, expected));
    assert_eq!(counts(&files[1..], 10), [6000; 10]);
}

#[test]
fn tinyimagenet_cnn() {
    let files = ["features.npy", "labels.npy"];
    let Some(files) = data::files_or_skip("tinyimagenet-cnn", files) else { return };
    let reader = Reader::open(&files[0]).unwrap();
    assert_eq!((reader.dim(), reader.rows(), reader.is_u8()), (128, Some(111_100), false));
    assert_eq!(totals(reader).0, 111_100);
    assert_eq!(counts(&files[1..], 202), [550; 202]);
}

#[test]
fn digits_are_those_embedded() {
    let Some([file]) = data::files_or_skip("digits", ["digits.csv.gz"]) else { return };
    let mut reader = Reader::open(&format!("{file}:0-63")).unwrap();
    let embedded = digits();
    let rows = reader.next(usize::MAX).unwrap().unwrap();
    assert_eq!(rows.dim(), Digits::DIM);
    assert_eq!(rows.values(), embedded.features);
    let mut names = LabelNames::new();
    let labels = read_labels(&format!("{file}:-1"), &mut names).unwrap();
    assert_eq!(labels.len(), 1797);
    assert!(
        embedded.labels.iter().enumerate().all(|(row, digit)| {
            names.name(labels.view().row(row)[0]) == Some(&digit.to_string())
        })
    );
}
