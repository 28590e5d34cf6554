//! Files written by numpy and scipy; see `tests/fixtures/make.py`.

use hashbrook::dataset::Reader;

use crate::support::{features, features_error, fixture, labels, labels_error, single_labels};

/// Returns `NUMBERS` of `make.py`; `halves` and `COLUMN` correspond to `HALVES` and `COLUMN` there.
fn numbers() -> Vec<f32> {
    (0..21).map(|value| value as f32).collect()
}

fn halves() -> Vec<f32> {
    (0..21).map(|value| value as f32 / 2.0 - 3.0).collect()
}

const COLUMN: [&str; 7] = ["5", "-1", "7", "5", "0", "-1", "7"];

#[track_caller]
fn check(spec: &str, dim: usize, expected: &[f32]) {
    let found = features(&fixture(spec)).unwrap();
    assert_eq!(found, (dim, expected.to_vec()), "{spec}");
}

#[test]
fn npy_of_all_kinds() {
    let below: Vec<f32> = numbers().iter().map(|value| value - 10.0).collect();
    let odd: Vec<f32> = numbers().iter().map(|value| value % 2.0).collect();
    check("u1.npy", 3, &numbers());
    check("i1_fortran.npy", 3, &below);
    check("i8_big_endian.npy", 3, &below);
    check("bool.npy", 3, &odd);
    for halves_in in [
        "f2.npy",
        "f2.npy.gz",
        "f4_fortran.npy",
        "f4_fortran.npy.gz",
        "f8_big_endian_fortran.npy",
        "f4_version2.npy",
        "f4_version3.npy",
    ] {
        check(halves_in, 3, &halves());
    }
    let images: Vec<f32> = (0..24).map(|value| value as f32).collect();
    check("u2_images.npy", 12, &images);
    let first_column: Vec<f32> = halves().into_iter().step_by(3).collect();
    check("f8_list.npy", 1, &first_column);
}

#[test]
fn only_bytes_are_u8() {
    for (name, expected) in [("u1.npy", true), ("bool.npy", true), ("f2.npy", false)] {
        assert_eq!(Reader::open(&fixture(name)).unwrap().is_u8(), expected, "{name}");
    }
    let (bytes, halves) = (fixture("u1.npy"), fixture("f2.npy"));
    assert!(Reader::open_all(&[&bytes, &bytes]).unwrap().is_u8());
    assert!(!Reader::open_all(&[&bytes, &halves]).unwrap().is_u8());
}

#[test]
fn npz_stored_and_deflated() {
    for archive in ["stored.npz", "deflated.npz"] {
        check(&format!("{archive}:x"), 3, &halves());
        check(&format!("{archive}:x.npy"), 3, &halves());
        check(&format!("{archive}:fortran"), 3, &halves());
        assert_eq!(single_labels(&fixture(&format!("{archive}:y"))), COLUMN);
        let listed = "x (7 x 3), fortran (7 x 3), y (7)";
        let error = features_error(&fixture(archive));
        assert!(error.contains(listed) && error.contains("FILE:NAME"), "{error}");
        let error = labels_error(&fixture(&format!("{archive}:z")));
        assert!(error.contains(listed) && error.contains("\"z\""), "{error}");
    }
    check("single.npz", 3, &halves());
}

#[test]
fn matlab_compressed_and_not() {
    for file in ["v6.mat", "v7.mat"] {
        check(&format!("{file}:x"), 3, &halves());
        // The file contains one table and two vectors, one of them of characters.
        check(file, 3, &halves());
        assert_eq!(single_labels(&fixture(file)), COLUMN);
        assert_eq!(single_labels(&fixture(&format!("{file}:labels"))), COLUMN);
        let labels_as_features = COLUMN.map(|label| label.parse().unwrap());
        check(&format!("{file}:labels"), 7, &labels_as_features);
        for (name, class) in [
            ("words", "char"),
            ("cells", "cell"),
            ("record", "struct"),
            ("sparse", "sparse"),
            ("imaginary", "complex"),
        ] {
            let error = features_error(&fixture(&format!("{file}:{name}")));
            assert!(error.contains(&format!("{name} ({class} ")), "{error}");
        }
        let error = features_error(&fixture(&format!("{file}:cube")));
        assert!(error.contains("2 x 3 x 4"), "{error}");
        let error = features_error(&fixture(&format!("{file}:nothing")));
        assert!(error.contains("x (7 x 3), labels (1 x 7), words (char 2 x 4)"), "{error}");
    }
}

#[test]
fn matlab_bytes_and_truth_values() {
    check("tables.mat:a", 3, &numbers());
    check("tables.mat:few", 3, &[1.0, 2.0, 3.0]);
    assert_eq!(single_labels(&fixture("tables.mat:few")), ["1", "2", "3"]);
    assert!(Reader::open(&fixture("tables.mat:a")).unwrap().is_u8());
    let error = features_error(&fixture("tables.mat"));
    assert!(error.contains("a (7 x 3), sets (7 x 3), few (1 x 3)"), "{error}");
    let (sets, rows) = labels(&fixture("tables.mat:sets")).unwrap();
    assert!(sets);
    assert_eq!(rows[0], ["1"]);
    assert_eq!(rows[1], ["0"]);
    assert_eq!(rows[2], ["0", "2"]);
    assert!(features_error(&fixture("v4.mat")).contains("-v7"));
}

#[test]
fn texts_as_labels() {
    for name in ["names.npy", "names_big_endian.npy", "names_bytes.npy"] {
        let (sets, rows) = labels(&fixture(name)).unwrap();
        assert!(sets, "the third row has no label");
        let expected: [&[&str]; 7] =
            [&["cat"], &["dog"], &[], &["žába"], &["cat"], &["a,b"], &["🐸"]];
        assert_eq!(rows, expected, "{name}");
    }
    assert_eq!(single_labels(&fixture("column.npy")), COLUMN);
    assert!(features_error(&fixture("names.npy")).contains("texts"));
}

#[test]
fn what_is_no_array_of_numbers() {
    assert!(features_error(&fixture("objects.npy")).contains("\"|O\""));
    assert!(labels_error(&fixture("fields.npy")).contains("fields"));
    let error = features_error(&fixture("u1.npy:x"));
    assert!(error.contains("holds one array"), "{error}");
}
