//! Features, labels and ids that are columns of one table: ids and labels are not read as features.

use std::fs::File;
use std::sync::Arc;

use arrow_array::builder::{FixedSizeListBuilder, Float32Builder};
use arrow_array::{ArrayRef, Float32Array, Int64Array, RecordBatch, StringArray};
use arrow_ipc::writer::FileWriter;
use parquet::arrow::ArrowWriter;

use crate::support::Directory;

const ROWS: u8 = 40;

/// Returns typical columns: an id, two features, and a label between them.
fn columns() -> Vec<(&'static str, ArrayRef)> {
    let numbers = |scale: f32| -> ArrayRef {
        let number = |row: u8| scale * f32::from(row % 7) + f32::from(row % 2);
        Arc::new(Float32Array::from_iter_values((0..ROWS).map(number)))
    };
    let ids = (0..ROWS).map(|row| format!("item {row}"));
    let labels = (0..ROWS).map(|row| i64::from(row % 2));
    vec![
        ("name", Arc::new(StringArray::from_iter_values(ids))),
        ("px0", numbers(1.0)),
        ("target", Arc::new(Int64Array::from_iter_values(labels))),
        ("px1", numbers(-2.0)),
    ]
}

/// Returns the features of the same rows as one column of lists.
fn vectors() -> ArrayRef {
    let mut lists = FixedSizeListBuilder::new(Float32Builder::new(), 2);
    for row in 0..ROWS {
        let (first, second) = (f32::from(row % 7), f32::from(row % 2));
        lists.values().append_slice(&[first + second, second - 2.0 * first]);
        lists.append(true);
    }
    Arc::new(lists.finish())
}

fn write_parquet(directory: &Directory, name: &str, columns: Vec<(&str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = File::create(directory.file(name)).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// Creates a directory with one table in three formats: `t.csv`, as pandas writes it with its
/// index, `t.parquet` and `t.arrow`.
fn directory() -> Directory {
    let directory = Directory::new();
    let (px, labels) = (|row: u8| f32::from(row % 7), |row: u8| row % 2);
    let row = |row: u8| {
        let label = f32::from(labels(row));
        let (px0, px1) = (px(row) + label, label - 2.0 * px(row));
        format!("{row},item {row},{px0},{label},{px1}\n")
    };
    let rows: String = (0..ROWS).map(row).collect();
    directory.write("t.csv", format!(",name,px0,target,px1\n{rows}"));
    write_parquet(&directory, "t.parquet", columns());
    let batch = RecordBatch::try_from_iter(columns()).unwrap();
    let file = File::create(directory.file("t.arrow")).unwrap();
    let mut writer = FileWriter::try_new(file, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    directory.run("learn --bits 8 --data t.csv:px0,px1 --labels t.csv:target --out m").ok();
    directory
}

const TABLES: [&str; 3] = ["t.csv", "t.parquet", "t.arrow"];

impl Directory {
    fn same(&self, one: &str, other: &str) -> bool {
        std::fs::read(self.file(one)).unwrap() == std::fs::read(self.file(other)).unwrap()
    }
}

#[test]
fn labels_and_ids_of_the_table_are_no_features() {
    let directory = directory();
    for table in TABLES {
        for columns in [
            format!("--data {table}:!name --labels {table}:target"),
            format!("--data ./{table}:!name --labels {table}:target"),
            format!("--data {table} --labels {table}:target --id-column name"),
            format!("--data {table} --label target --id name"),
            format!("--data {table} --label target --features px0,px1"),
            format!("--data {table} --label target --features !target,!name"),
        ] {
            directory.run(&format!("learn --bits 8 --out other {columns}")).ok();
            assert!(directory.same("m", "other"), "{columns}");
        }
        let learn = format!("learn --bits 8 --out other --data {table} --labels {table}:target");
        let fix = format!("'{table}:!name' reads all others");
        let outcome = directory.run(&learn).fails_with(&[
            "columns that are no numbers: name",
            &fix,
            "--id name",
        ]);
        assert!(!outcome.err.contains("--label name"), "labels are given: {outcome:?}");
        // The command suggested by the message works.
        directory.run(&format!("{learn} --id name")).ok();
        let learn = format!("learn --method itq --bits 2 --out other --data {table}");
        directory.run(&learn).fails_with(&[
            &fix,
            "--id name reads ids",
            "--label name reads labels",
        ]);
        directory.run(&format!("{learn} --id name --features !target")).ok();
    }
}

#[test]
fn one_line_says_what_was_taken_as_what() {
    let directory = directory();
    let learn =
        |columns: &str| directory.run(&format!("learn --bits 8 --out other {columns}")).ok();
    for table in TABLES {
        let said = learn(&format!("--data {table} --label target --id name")).err;
        let line = format!("hashbrook: {table}: 2 features px0, px1, label target, id name");
        assert_eq!(said.matches(&line).count(), 1, "{said}");
        let omitted = said.contains("not read: column 0, which has no name");
        assert!(omitted == (table == "t.csv") && !said.contains("header"), "{said}");
        let said = learn(&format!("--data {table}:px0,px1 --labels {table}:target")).err;
        assert!(!said.contains("features"), "all of it was named: {said}");
    }
    let wide: String = (0..40).map(|row| format!("{row},1,2,{},4,5\n", row % 3)).collect();
    directory.write("wide.csv", format!("a,b,c,d,e,kind\n{wide}"));
    let said = learn("--data wide.csv --labels wide.csv:5").err;
    let line = "wide.csv: 5 features a … e, label 5; the first line was taken for a header";
    assert!(said.contains(line) && said.matches("header").count() == 1, "{said}");
}

#[cfg(unix)]
#[test]
fn a_table_may_come_through_a_pipe() {
    let directory = directory();
    for table in TABLES {
        for columns in ["--data=-:!name --labels=-:target", "--data - --label target --id name"] {
            let learn = format!("cat {table} | hashbrook learn --bits 8 --out piped {columns}");
            let said = directory.shell(&learn.replace("=-:!name", "='-:!name'")).ok().err;
            assert!(directory.same("m", "piped"), "{table} {columns}");
            assert!(said.contains("standard input: 2 features px0, px1, label target"), "{said}");
        }
        let eval = "hashbrook eval --model m --data - --queries t.csv --label target --id name";
        directory.shell(&format!("cat {table} | {eval}")).ok();
        let split = "hashbrook split --data - --label target --id name --queries 3 --force --out s";
        directory.shell(&format!("cat {table} | {split}")).ok();
        assert_eq!(
            directory.run("encode --model m --data s/db.npy --out c.npy --json").json()[0]["rows"],
            34
        );
        let encode = "hashbrook encode --model m --data - --label target --out c.npy";
        directory.shell(&format!("cat {table} | {encode}")).fails_with(&["name"]);
    }
    directory
        .shell("cat t.csv | hashbrook learn --bits 8 --data - --labels - --out piped")
        .fails_with(&["- is given twice"]);
}

#[test]
fn every_command_excludes_them() {
    let directory = directory();
    directory.run("encode --model m --data t.csv:px0,px1 --out expected.npy").ok();
    directory
        .run("index build --model m --data t.csv:px0,px1 --label target --id name --out expected")
        .ok();
    let search = |index: &str, queries: &str| {
        let found =
            directory.run(&format!("search --index {index} -k 3 --json --queries {queries}"));
        let found = found.ok().json();
        found.iter().take(ROWS.into()).map(|found| found["ids"].clone()).collect::<Vec<_>>()
    };
    let expected = search("expected", "t.csv:px0,px1");
    for table in TABLES {
        let named = format!("--data {table} --label target --id name");
        directory.run(&format!("split {named} --queries 3 --force --out s")).ok();
        directory.run(&format!("eval --model m {named} --queries {table} --json")).ok();
        directory
            .run(&format!("compare {named} --methods lsh --bits 8 --queries-per-class 3"))
            .ok();
        directory.run(&format!("unlearn --model m {named} --out gone")).ok();
        directory
            .run(&format!(
                "encode --model m --data {table} --features px0..px1,!target --out c.npy"
            ))
            .ok();
        assert!(directory.same("c.npy", "expected.npy"), "{table}");
        directory.run(&format!("index build --model m {named} --out i --force")).ok();
        assert_eq!(search("i", &format!("{table} --features !name,!target")), expected, "{table}");
        assert_eq!(search("i", &format!("{table} --label target --id name")), expected, "{table}");
        directory.run(&format!("index add i {named} --upsert")).ok();
        directory
            .run(&format!("index renew i --model m --data {table} --id name --label target"))
            .ok();
        assert_eq!(search("i", "t.csv:px0,px1"), expected, "{table}");
        if table != "t.csv" {
            let kept = format!("encode --model m --data {table} --id name --keep target");
            let said = directory.run(&format!("{kept} --out c.parquet")).ok().err;
            assert!(said.contains("2 features px0, px1, id name, kept target"), "{said}");
        }
    }
}

/// A single column of lists contains the features, whatever other columns the table has.
#[test]
fn a_column_of_vectors_is_the_features() {
    let directory = directory();
    let mut all = columns();
    all.push(("vector", vectors()));
    write_parquet(&directory, "v.parquet", all);
    let said = directory.run("learn --bits 8 --data v.parquet --label target --out other").ok().err;
    assert!(said.contains("v.parquet: features vector, label target"), "{said}");
    assert!(directory.same("m", "other"));
    // An index column written by pandas is not a feature, either.
    let mut all = columns();
    all.remove(0);
    let index = Int64Array::from_iter_values((0..ROWS).map(i64::from).rev());
    all.push(("__index_level_0__", Arc::new(index)));
    write_parquet(&directory, "p.parquet", all);
    let said = directory.run("learn --bits 8 --data p.parquet --label target --out other").ok().err;
    assert!(said.contains("label target; not read: __index_level_0__"), "{said}");
    assert!(directory.same("m", "other"));
}

#[test]
fn columns_are_named_once() {
    let directory = directory();
    let learn = "learn --bits 8 --out other --data t.csv";
    let outcome = directory.run(&format!("{learn} --labels t.csv:target --label target"));
    assert!(
        outcome.status == Some(2) && outcome.err.contains("cannot be used with"),
        "{outcome:?}"
    );
    directory
        .run(&format!("{learn}:px0,px1 --features px0 --label target"))
        .fails_with(&["--features and t.csv:px0,px1 both name columns"]);
    let outcome =
        directory.run("index build --model m --data t.csv --ids t.csv:name --id name --out i");
    assert_eq!(outcome.status, Some(2), "{outcome:?}");
}
