//! Typical tables: headers, indexes, labels in a column or in a separate file.

use crate::support::Directory;

/// Returns a table of two features and a label as pandas writes it, with or without an unnamed
/// index.
fn table(index: bool, header: bool) -> String {
    let mut text = String::new();
    if header {
        text += if index { ",a,b,kind\n" } else { "a,b,kind\n" };
    }
    for row in 0..40 {
        let (a, b) = if row % 2 == 0 { (5 + row % 3, row % 5) } else { (row % 4, 6 + row % 3) };
        let kind = ["cat", "dog"][row % 2];
        text +=
            &if index { format!("{row},{a},{b},{kind}\n") } else { format!("{a},{b},{kind}\n") };
    }
    text
}

#[test]
fn headers_and_indexes_are_told_of() {
    let directory = Directory::new();
    directory.write("pets.csv", table(true, true));
    directory.write("odd.csv", "0,oops\n1,2\n3,4\n5,6\n");
    let learn = |data: &str, labels: &str| {
        directory.run(&format!("learn --bits 8 --data {data} --labels {labels} --out m")).ok().err
    };
    let said = learn("pets.csv:0-2", "pets.csv:kind");
    assert!(
        said.contains("pets.csv: 3 features 0, a, b, label kind; the first line was"),
        "{said}"
    );
    assert!(said.contains("column 0 has no name and counts up from 0"), "{said}");
    assert_eq!(said.matches("taken for a header").count(), 1, "once: {said}");
    let said = learn("pets.csv:a,b", "pets.csv:kind");
    assert!(!said.contains("header") && !said.contains("counts"), "{said}");
    let said = learn("pets.csv:1,2", "pets.csv:0");
    assert!(said.contains("each of the 40 rows has a label of its own"), "{said}");
    directory.run("encode --model m --data odd.csv --out c.npy").ok();
    let said = directory.run("encode --model m --data odd.csv --out c.npy").ok().err;
    assert!(
        said.contains("odd.csv: 2 features 0, oops; the first line was taken for a header"),
        "{said}"
    );
}

#[test]
fn hints_name_columns() {
    let directory = Directory::new();
    directory.write("x.csv", table(false, false).replace(",cat", "").replace(",dog", ""));
    let labels: String = (0..40).map(|row| ["cat\n", "dog\n"][row % 2]).collect();
    directory.write("one.csv", format!("kind\n{labels}"));
    let indexed: String =
        (0..40).map(|row| format!("{row},{}\n", ["cat", "dog"][row % 2])).collect();
    directory.write("two.csv", format!(",kind\n{indexed}"));
    let learn = "learn --bits 8 --out m --data x.csv --labels";
    directory.run(&format!("{learn} one.csv")).fails_with(&["41 labels", "one.csv:kind reads"]);
    directory.run(&format!("{learn} one.csv:kind")).ok();
    directory.run(&format!("{learn} two.csv")).fails_with(&[
        "41 labels",
        "\"\", \"kind\"",
        "two.csv:kind",
    ]);
    directory.run(&format!("{learn} two.csv:kind")).ok();
    assert_eq!(
        directory.run("info m --json").ok().json()[0]["labels"].as_array().unwrap().len(),
        2
    );
}

#[test]
fn data_and_labels_that_are_one_table_or_swapped() {
    let directory = Directory::new();
    directory.write("pets.csv", table(false, true).replace("cat", "0").replace("dog", "1"));
    let learn = |data: &str, labels: &str| {
        directory.run(&format!("learn --bits 8 --data {data} --labels {labels} --out m"))
    };
    learn("pets.csv", "pets.csv")
        .fails_with(&["given for features and for something else", "as in pets.csv:2"]);
    learn("pets.csv:0-1", "pets.csv:kind").ok();
    directory.run("split --data pets.csv:a,b --labels pets.csv:kind --queries 2 --out s").ok();
    learn("s/db-labels.npy", "s/db.npy").fails_with(&["s/db-labels.npy and s/db.npy swapped?"]);
    directory.write("x.csv", "1.5,2\n2.5,3\n0.5,1\n");
    directory.write("y.csv", "0\n1\n0\n");
    learn("y.csv", "x.csv").fails_with(&["2 numbers on each line", "swapped?"]);
}

#[test]
fn rows_without_labels_at_the_end_are_kept() {
    let directory = Directory::new();
    directory.write("x.csv", "1,2\n3,4\n5,6\n7,8\n");
    directory.write("y.txt", "cat\ndog\n\n\n");
    let command = "index build --model m --data x.csv --labels y.txt --out i.index --force";
    directory.run("learn --method lsh --bits 8 --data x.csv --out m").ok();
    directory.run(command).ok();
    let found = directory.run("search --index i.index --queries x.csv -k 4 --json").ok().json();
    let labels = found[0]["labels"].as_array().unwrap();
    assert_eq!(labels.iter().filter(|labels| labels.as_array().unwrap().is_empty()).count(), 2);
    directory.write("x.csv", "1,2\n3,4\n");
    directory.run(command).ok();
    assert_eq!(directory.run("index info i.index --json").json()[0]["items"], 2);
    directory.write("x.csv", "1,2\n3,4\n5,6\n7,8\n9,9\n");
    directory.run(command).fails_with(&["y.txt has 4 labels", "5 rows"]);
}

#[cfg(unix)]
#[test]
fn blank_lines_behind_the_labels_of_a_pipe_are_nothing() {
    let directory = Directory::new();
    directory.write("x.csv", "1,2\n3,4\n5,6\n7,8\n");
    directory.write("y.txt", "cat\ndog\ncat\n\n\n");
    let learn = "cat x.csv | hashbrook learn --bits 8 --data - --labels y.txt --out m";
    directory.shell(learn).ok();
    assert_eq!(directory.run("info m --json").json()[0]["seen"], 4);
    directory.write("y.txt", "cat\ndog\ncat\n\ndog\n\n");
    directory.shell(learn).fails_with(&["y.txt has 5 labels", "4 rows"]);
}

#[test]
fn labels_that_differ_as_texts_stay_apart() {
    let directory = Directory::new();
    let rows: String = (0..40).map(|row| format!("{},{}\n", row % 7, row % 5)).collect();
    directory.write("x.csv", rows);
    let labels: String = (0..40).map(|row| ["1e2\n", "100\n", "7E1\n", "70\n"][row % 4]).collect();
    directory.write("y.txt", labels);
    directory.run("learn --bits 8 --data x.csv --labels y.txt --out m").ok();
    let labels = directory.run("info m --json").ok().json()[0]["labels"].clone();
    assert_eq!(labels, serde_json::json!(["1e2", "100", "7E1", "70"]));
}

#[cfg(target_os = "linux")]
#[test]
fn files_far_longer_than_the_data_take_no_memory() {
    let directory = Directory::new();
    directory.write("x.csv", "1,2\n3,4\n");
    // An array of 2^33 labels; the file is sparse, so that it takes no disk space.
    let shape = "{'descr': '|u1', 'fortran_order': False, 'shape': (8589934592,), }";
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(format!("{shape:<117}\n").bytes());
    let labels = directory.write("y.npy", bytes);
    let labels = std::fs::OpenOptions::new().write(true).open(labels).unwrap();
    labels.set_len(128 + 8_589_934_592).unwrap();
    let bounded = |arguments: &str| {
        let outcome =
            directory.shell(&format!("ulimit -v 1500000; hashbrook --threads 1 {arguments}"));
        assert_eq!(outcome.status, Some(1), "{outcome:?}");
        outcome.err
    };
    let said = bounded("learn --bits 8 --data x.csv --labels y.npy --out m");
    assert!(said.contains("more than 1048576 labels for 2 rows"), "{said}");
    directory.run("learn --method lsh --bits 8 --data x.csv --out m").ok();
    let said = bounded("index build --model m --data x.csv --ids y.npy --out i");
    assert!(said.contains("more than 2 ids"), "{said}");
}

#[test]
fn several_labels_in_one_text_are_remarked_on() {
    let directory = Directory::new();
    let rows: String = (0..40)
        .map(|row| {
            let (kind, size) = (["cat", "dog"][row % 2], ["big", "small"][row / 2 % 2]);
            format!("{row},{},\"{kind},{size}\",{kind},{size}\n", row % 7)
        })
        .collect();
    directory.write("pets.csv", format!("a,b,tags,kind,size\n{rows}"));
    let learn = |labels: &str| {
        directory
            .run(&format!("learn --bits 8 --data pets.csv:a,b --labels pets.csv:{labels} --out m"))
    };
    let said = learn("tags").ok().err;
    assert!(said.contains("\"dog,big\" is read as one label"), "{said}");
    assert!(said.contains("FILE:COLUMN,COLUMN"), "{said}");
    for labels in ["kind,size", "kind"] {
        let said = learn(labels).ok().err;
        assert!(!said.contains("as one label"), "{said}");
    }
}

#[test]
fn hints_fit_the_table() {
    let directory = Directory::new();
    directory.write("kinds.csv", format!("kind\n{}", "cat\ndog\n".repeat(20)));
    directory.write("pets.csv", table(false, true));
    let learn = |data: &str, labels: &str| {
        directory.run(&format!("learn --bits 8 --data {data} --labels {labels} --out m"))
    };
    learn("pets.csv", "pets.csv:none").fails_with(&["has no column \"none\""]);
    learn("pets.csv:a,b", "kinds.csv:0").fails_with(&["header? kinds.csv:kind reads"]);
    let fix = "'pets.csv:!kind' reads all others";
    learn("pets.csv", "pets.csv:a").fails_with(&["columns that are no numbers: kind;", fix]);
    // An error in a row also names the column.
    directory.write("odd.csv", table(false, true).replace(",cat", ",0"));
    let outcome = learn("odd.csv", "odd.csv:a");
    let expected = "row 1, column 2 (kind) is \"dog\"";
    assert!(outcome.status == Some(1) && outcome.err.contains(expected), "{outcome:?}");
    learn("pets.csv:!kind", "pets.csv:kind").ok();
    directory.run("encode --model m --data pets.csv:a..b --out c.npy").ok();
    directory
        .run("encode --model m --data pets.csv:b..a --out c.npy")
        .fails_with(&["b..a are in the wrong order", "write a..b"]);
    directory.write("q.csv", table(false, true).replace("cat", "0").replace("dog", "1"));
    directory.run("encode --model m --data q.csv --out c.npy").fails_with(&[
        "vectors of 3 dimensions, the model takes 2 (3 features a, b, kind)",
        "'q.csv:!NAME'",
        "--features",
    ]);
}
