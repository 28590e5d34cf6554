//! Mistakes with files and rows: messages state what was expected, what was found, and what to do.

use crate::support::Directory;

#[test]
fn files_of_another_kind_are_called_by_their_names() {
    let directory = Directory::new();
    directory.write("x.csv", "1,2\n3,4\n5,6\n7,8\n");
    directory.write("y.txt", "a\nb\na\nb\n");
    directory.run("learn --bits 8 --data x.csv --labels y.txt --out m.model").ok();
    directory.run("export --model m.model --out m.function").ok();
    directory.run("index build --model m.model --data x.csv --out i.index").ok();
    let eval = "--data x.csv --labels y.txt --queries x.csv --query-labels y.txt";
    let built_with = "give the one that the index was built with";
    for (command, parts) in [
        (format!("eval --model i.index {eval}"), ["is an index; expected a model", built_with]),
        (
            "learn --resume i.index --data x.csv --labels y.txt --out n.model".to_owned(),
            ["is an index; expected a model", "give the model that its codes were made with"],
        ),
        (
            "unlearn --model m.function --data x.csv --labels y.txt --out n.model".to_owned(),
            ["is a hash function; expected a model", "give the model that it was exported from"],
        ),
        (
            "search --index m.model --queries x.csv -k 1".to_owned(),
            ["m.model: is a model; expected an index", "build an index with it"],
        ),
        (
            "encode --model m.model --data m.function --out c.npy".to_owned(),
            ["m.function: is a hash function; expected vectors, labels or ids", "give the file"],
        ),
        (
            "learn --data x.csv --labels i.index --out n.model".to_owned(),
            ["i.index: is an index; expected vectors, labels or ids", "give the file"],
        ),
    ] {
        directory.run(&command).fails_with(&parts);
    }
}

#[test]
fn ids_that_are_strings_are_called_by_these() {
    let directory = Directory::new();
    directory.write("x.csv", "name,a,b\nsun,1,2\nmoon,3,4\nsun,5,6\n");
    directory.run("learn --method lsh --bits 8 --data x.csv:a,b --out m").ok();
    let build = "index build --model m --data x.csv:a,b --id name --out i";
    directory.run(build).fails_with(&["id \"sun\" is given more than once, in rows 0 and 2"]);
    assert_eq!(directory.names(), ["m", "x.csv"]);
    directory.write("x.csv", "name,a,b\nsun,1,2\nmoon,3,4\n");
    directory.run(build).ok();
    directory
        .run("index add i --data x.csv:a,b --id name")
        .fails_with(&["the id \"sun\" is there already"]);
    directory.write("x.csv", "name,a,b\nmars,1,2\nmars,3,4\n");
    for add in [
        "index add i --data x.csv:a,b --id name",
        "index add i --data x.csv:a,b --id name --upsert",
    ] {
        directory.run(add).fails_with(&["id \"mars\" is given more than once, in rows 0 and 1"]);
    }
    directory
        .run("index renew i --model m --data x.csv:a,b --id name")
        .fails_with(&["id \"mars\" is given more than once"]);
}

#[test]
fn rows_without_a_label_are_counted() {
    let directory = Directory::new();
    let rows = |label: fn(usize) -> &'static str| -> String {
        (0..40).map(|row| format!("{},{},{}\n", row % 7, row % 5, label(row))).collect()
    };
    directory.write("all.csv", rows(|row| ["cat", "dog"][row % 2]));
    directory.write("some.csv", rows(|row| ["cat", "dog", "", "", ""][row % 5]));
    let learn = |options: &str| directory.run(&format!("learn --bits 8 --out m {options}")).ok();
    let said = learn("--data some.csv --label 2").out;
    assert!(said.contains("learned 40 rows of 2 labels, 24 rows without a label, into"), "{said}");
    let unlabelled = |options: &str| {
        learn(&format!("--json {options}")).json().pop().unwrap()["unlabelled_rows"].clone()
    };
    assert_eq!(unlabelled("--data some.csv --label 2"), 24);
    assert_eq!(unlabelled("--data some.csv --label 2 --skip 3 --rows 10"), 6);
    assert_eq!(unlabelled("--data all.csv --label 2"), 0);
    assert_eq!(unlabelled("--data all.csv --features 0-1 --method lsh"), 40);
    assert!(!learn("--data all.csv --label 2").out.contains("without"));
}
