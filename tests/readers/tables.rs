//! Interpretations of tables, and the warnings about them.

use hashbrook::dataset::Reader;

use crate::support::{Files, drain, features_error};

/// Returns a reader's warnings after it has read everything.
fn remarks(spec: &str) -> String {
    let mut reader = Reader::open(spec).unwrap();
    while reader.next(7).unwrap().is_some() {}
    reader.remarks().join("\n")
}

#[test]
fn what_was_taken_for_a_header_is_said() {
    let files = Files::new();
    let odd = files.write("odd.csv", "0,oops\n1,2\n3,4\n");
    assert!(remarks(&odd).contains("the first line was taken for a header: 0, oops"));
    assert_eq!(drain(Reader::open(&odd).unwrap(), 9).unwrap().1, [1.0, 2.0, 3.0, 4.0]);
    assert!(remarks(&files.write("x.csv", "a,b\n1,2\n")).contains("header: a, b"));
    assert_eq!(remarks(&files.write("x.csv", "1,2\n3,4\n")), "");
    assert_eq!(remarks(&(files.write("x.csv", "a,b\n1,2\n") + ":a,b")), "", "named, so known");
    // The warning is also available before the first row is read.
    assert_eq!(Reader::open(&odd).unwrap().remarks().len(), 1);
}

#[test]
fn columns_that_count_rows_are_remarked_on() {
    let files = Files::new();
    let table = |header: &str, first: usize| {
        let rows = (0..12).map(|row| format!("{},{},{}\n", row + first, row * 7 % 5, row % 3));
        format!("{header}\n{}", rows.collect::<String>())
    };
    for (header, first, said, fix) in [
        (",a,b", 0, "column 0 has no name and counts up from 0", "!0"),
        (",a,b", 5, "column 0 has no name", "!0"),
        ("id,a,b", 0, "column 0 counts up from 0", "!id"),
        ("id,a,b", 1, "column 0 counts up from 1", "!id"),
    ] {
        let spec = files.write("x.csv", table(header, first));
        let remarks = remarks(&format!("{spec}:0-2"));
        assert!(remarks.contains(said), "{header} {first}: {remarks}");
        assert!(remarks.contains(&format!("x.csv:{fix}' excludes it")), "{remarks}");
    }
    for (spec, why) in [
        (files.write("a.csv", table("id,a,b", 7)), "it does not begin at the beginning"),
        (files.write("b.csv", table(",a,b", 0)) + ":1--1", "it is left out"),
        (files.write("b.csv", table(",a,b", 0)), "it is no feature unless it is picked"),
        (files.write("c.csv", "0,5\n1,5\n2,4\n"), "too few rows to tell"),
    ] {
        assert!(!remarks(&spec).contains("index"), "{why}: {}", remarks(&spec));
    }
}

#[test]
fn rows_of_too_many_columns_are_refused_before_they_fill_the_memory() {
    let files = Files::new();
    for separator in [",", " "] {
        let wide = format!("1{separator}").repeat(5 << 20);
        let error = features_error(&files.write("wide.csv", wide + "1\n"));
        assert!(error.contains("has more than 1048576 columns"), "{error}");
        let wide = format!("1{separator}").repeat(3 << 19);
        let error = features_error(&files.write("wide.csv", wide + "1\n"));
        assert!(error.contains("1572865 columns; at most 1048576 are read"), "{error}");
    }
}
