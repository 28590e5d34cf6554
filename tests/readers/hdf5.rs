//! HDF5 files written by h5py (`tests/fixtures/make_hdf5.py`), including MATLAB's.

use hashbrook::dataset::{LabelNames, Reader, read_id_texts, read_ids, read_labels};

use crate::support::{
    Files, drain, features, features_error, fixture, gz, labels_error, single_labels,
};

fn numbers() -> Vec<f32> {
    (0..21).map(|value| value as f32).collect()
}

fn halves() -> Vec<f32> {
    (0..21).map(|value| value as f32 / 2.0 - 3.0).collect()
}

const COLUMN: [&str; 7] = ["5", "-1", "7", "5", "0", "-1", "7"];

#[test]
fn every_type_layout_and_filter() {
    for file in ["earliest.h5", "modern.h5"].map(fixture) {
        for name in [
            "train",
            "distances",
            "<f2",
            ">f4",
            "<f8",
            ">f8",
            "group/inner/x",
            "/group/inner/x",
            "chunked",
            "deflated",
            "filtered",
            "growing",
            "single",
            "lzf",
            "compact",
        ] {
            let found = features(&format!("{file}:{name}"));
            assert_eq!(found.unwrap(), (3, halves()), "{file}:{name}");
        }
        for name in ["neighbors", "u1", "i1", "<u2", ">i2", "<i4", ">u4", "<i8", ">u8"] {
            let found = features(&format!("{file}:{name}"));
            assert_eq!(found.unwrap(), (3, numbers()), "{file}:{name}");
        }
        let odd: Vec<f32> = numbers().iter().map(|value| value % 2.0).collect();
        assert_eq!(features(&format!("{file}:bool")).unwrap(), (3, odd));
        assert_eq!(features(&format!("{file}:test")).unwrap(), (3, halves()[..6].to_vec()));
        assert_eq!(features(&format!("{file}:cube")).unwrap().0, 12);
        assert_eq!(single_labels(&format!("{file}:labels")), COLUMN);
        assert!(Reader::open(&format!("{file}:u1")).unwrap().is_u8());
        assert_eq!(Reader::open(&format!("{file}:train")).unwrap().rows(), Some(7));
        for max_rows in [1, 2, 5] {
            let reader = Reader::open(&format!("{file}:filtered")).unwrap();
            assert_eq!(drain(reader, max_rows).unwrap(), (3, halves()));
        }
    }
}

#[test]
fn matlab_has_rows_where_others_have_columns() {
    let file = fixture("v73.mat");
    assert_eq!(features(&format!("{file}:x")).unwrap(), (3, halves()));
    assert_eq!(single_labels(&format!("{file}:labels")), COLUMN);
    assert_eq!(single_labels(&file), COLUMN, "the only row or column");
    let odd: Vec<f32> = numbers().iter().map(|value| value % 2.0).collect();
    assert_eq!(features(&format!("{file}:truths")).unwrap(), (3, odd));
    assert!(Reader::open(&format!("{file}:truths")).unwrap().is_u8());
    assert!(features_error(&format!("{file}:word")).contains("v73.mat:word: holds"));
    let files = Files::new();
    let packed = files.write("packed.mat.gz", gz(&std::fs::read(&file).unwrap()));
    assert_eq!(features(&format!("{packed}:x")).unwrap(), (3, halves()));
}

#[test]
fn what_is_not_read_is_named() {
    for file in ["earliest.h5", "modern.h5"].map(fixture) {
        let error = |name: &str| features_error(&format!("{file}:{name}"));
        assert!(
            error("nothing").contains("has no dataset \"nothing\"; it has "),
            "{}",
            error("nothing")
        );
        assert!(error("nothing").contains("bool (7 x 3 bool)"));
        let whole = features_error(&file);
        assert!(whole.contains("pick a dataset as FILE:NAME"), "{whole}");
        for name in ["text", "texts", "fields"] {
            assert!(error(name).contains("integers, floats and truth values are read"));
        }
        // In newer files, a dataset with several extensible dimensions has a different chunk index.
        match file.ends_with("modern.h5") {
            true => assert!(error("both").contains("version 2 B-tree chunk index")),
            false => assert_eq!(features(&format!("{file}:both")).unwrap(), (3, halves())),
        }
        assert!(error("number").contains("rows were expected"), "{}", error("number"));
        assert!(error("empty").contains("has no rows"), "{}", error("empty"));
        assert!(error("group").contains("has no dataset \"group\""), "{}", error("group"));
        assert!(labels_error(&format!("{file}:<f8")).contains("must be 0 or 1"));
        let error = read_ids(&format!("{file}:labels")).unwrap_err().to_string();
        assert!(error.contains("row 1 is -1; ids must be whole"), "{error}");
    }
}

#[test]
fn texts_are_labels_and_ids() {
    let names = ["cat", "dog", "", "Käse", "cat", "a long name, with a comma", "dog"];
    for file in ["texts.h5", "modern_texts.h5"].map(fixture) {
        for name in ["names", "chunked", "fixed", "bytes", "column"] {
            let spec = format!("{file}:{name}");
            let mut known = LabelNames::new();
            let labels = read_labels(&spec, &mut known).unwrap();
            let found = (0..labels.len()).map(|row| match labels.view().row(row) {
                [] => "",
                [label] => known.name(*label).unwrap(),
                _ => panic!("{spec}: one label a row"),
            });
            assert!(found.eq(names), "{spec}");
            let error = read_id_texts(&[&spec]).unwrap_err().to_string();
            assert!(error.contains("row 2 is empty; every row needs an id"), "{error}");
            let error = read_ids(&spec).unwrap_err().to_string();
            assert!(error.contains("holds texts; ids are whole numbers"), "{error}");
            assert!(features_error(&spec).contains("integers, floats and truth values are read"));
        }
        let error = labels_error(&format!("{file}:latin"));
        assert!(error.contains("the text of row 3 is not Unicode"), "{error}");
        let error = labels_error(&format!("{file}:table"));
        assert!(error.contains("holds 1 x 2 texts; a column of them is read"), "{error}");
        let error = labels_error(&file);
        assert!(error.contains("column of texts, so pick a dataset as FILE:NAME"), "{error}");
        assert!(error.contains("names (7 texts)"), "{error}");
    }
    let mut known = LabelNames::new();
    read_labels(&fixture("one_text.h5"), &mut known).unwrap();
    assert_eq!(known.iter().count(), 4, "the only column that can be labels");
    let error = labels_error(&format!("{}:text", fixture("earliest.h5")));
    assert!(error.contains("holds one text"), "{error}");
}

#[test]
fn what_is_too_new_has_a_way_out() {
    let file = fixture("latest.h5");
    assert_eq!(features(&format!("{file}:chunked")).unwrap(), (3, halves()));
    let latest = features_error(&format!("{file}:deflated"));
    let both = features_error(&format!("{}:both", fixture("modern.h5")));
    for error in [latest, both] {
        assert!(error.contains("libver=(\"earliest\", \"v114\")"), "{error}");
    }
}

#[test]
fn files_that_are_cut_off_are_refused() {
    let files = Files::new();
    for name in ["texts.h5", "modern_texts.h5"] {
        let whole = std::fs::read(fixture(name)).unwrap();
        for part in 1..8 {
            let cut = files.write(name, &whole[..whole.len() * part / 8]);
            assert!(!labels_error(&format!("{cut}:names")).is_empty());
        }
    }
    for name in ["earliest.h5", "modern.h5", "v73.mat"] {
        let whole = std::fs::read(fixture(name)).unwrap();
        for part in 1..8 {
            let cut = files.write(name, &whole[..whole.len() * part / 8]);
            let name = if name == "v73.mat" { "x" } else { "growing" };
            assert!(!features_error(&format!("{cut}:{name}")).is_empty());
        }
    }
}
