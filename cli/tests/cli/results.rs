//! Outputs of `search`, `dedup`, `encode` and `split`, and their destinations.

use hashbrook::dataset::{LabelNames, Reader, read_ids, read_labels};

use crate::support::Directory;

const SEARCH: &str = "search --index i.index --queries queries.npy";

fn text(directory: &Directory, name: &str) -> String {
    std::fs::read_to_string(directory.file(name)).unwrap()
}

#[test]
fn results_are_written_as_their_name_says() {
    let directory = Directory::new().with_index();
    let said = directory.run(&format!("{SEARCH} -k 3 --json")).ok().json();
    let (_, objects) = said.split_last().unwrap();
    for name in ["r.npz", "r.csv", "r.json", "r.jsonl"] {
        directory.run(&format!("{SEARCH} -k 3 --out {name}")).ok();
    }
    let lines: Vec<serde_json::Value> = text(&directory, "r.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines, objects);
    let array: serde_json::Value = serde_json::from_str(&text(&directory, "r.json")).unwrap();
    assert_eq!(array.as_array().unwrap(), objects);
    assert!(objects.iter().all(|object| object["labels"].as_array().unwrap().len() == 3));

    let table = text(&directory, "r.csv");
    let mut table = table.lines();
    assert_eq!(table.next(), Some("query,rank,id,distance,labels"));
    for (query, object) in objects.iter().enumerate() {
        for rank in 0..3 {
            let (id, distance) = (&object["ids"][rank], &object["distances"][rank]);
            let label = object["labels"][rank][0].as_str().unwrap();
            assert_eq!(table.next().unwrap(), format!("{query},{rank},{id},{distance},{label}"));
        }
    }

    let path = directory.file("r.npz");
    let array = |name: &str| {
        let mut reader = Reader::open(&format!("{}:{name}", path.display())).unwrap();
        reader.next(9999).unwrap().unwrap().values().to_vec()
    };
    let (ids, labels) = (array("ids"), array("labels"));
    let mut names = LabelNames::new();
    let label_names = format!("{}:label_names", path.display());
    let label_names = read_labels(&label_names, &mut names).unwrap();
    for (query, object) in objects.iter().enumerate() {
        for rank in 0..3 {
            assert_eq!(ids[query * 3 + rank] as u64, object["ids"][rank].as_u64().unwrap());
            let name = label_names.view().row(labels[query * 3 + rank] as usize)[0];
            assert_eq!(names.name(name).unwrap(), object["labels"][rank][0]);
        }
    }
    for (command, name) in [
        (format!("{SEARCH} -k 3"), "r.parquet"),
        (format!("{SEARCH} -k 3"), "r.npy"),
        ("encode --model m.model --data db.npy".to_owned(), "codes.csv"),
        ("encode --model m.model --data db.npy".to_owned(), "codes.json"),
        ("dedup --index i.index --radius 1".to_owned(), "groups.npz"),
    ] {
        directory
            .run(&format!("{command} --out {name}"))
            .fails_with(&["are not written as .", name]);
        assert!(!directory.file(name).exists());
    }
}

#[test]
fn what_finds_nothing_has_a_row_for_each_query() {
    let directory = Directory::new().with_index();
    let none = "--where id=999999";
    directory.run(&format!("{SEARCH} -k 3 {none} --out r.npz")).ok();
    let bytes = std::fs::read(directory.file("r.npz")).unwrap();
    let found = String::from_utf8_lossy(&bytes);
    assert_eq!(found.matches("'shape': (200, 0)").count(), 3, "ids, distances and labels");
    directory.run(&format!("{SEARCH} --radius 3 {none} --out r.npz")).ok();
    let offsets = read_ids(&format!("{}:offsets", directory.file("r.npz").display())).unwrap();
    assert_eq!(offsets, vec![0; 201]);
    directory.run(&format!("{SEARCH} -k 3 {none} --out r.json")).ok();
    let array: serde_json::Value = serde_json::from_str(&text(&directory, "r.json")).unwrap();
    assert_eq!(array.as_array().unwrap().len(), 200);
}

#[test]
fn conditions_by_label_and_id() {
    let directory = Directory::new().with_index();
    let found = |condition: &str| {
        let mut lines =
            directory.run(&format!("{SEARCH} -k 20 --where {condition} --json")).ok().json();
        lines.pop();
        lines
    };
    let labels = |lines: &[serde_json::Value]| {
        let mut all: Vec<String> = lines
            .iter()
            .flat_map(|line| line["labels"].as_array().unwrap())
            .map(|labels| labels[0].as_str().unwrap().to_owned())
            .collect();
        all.sort();
        all.dedup();
        all
    };
    assert_eq!(labels(&found("label=3,5")), ["3", "5"]);
    let others = labels(&found("label!=3,5"));
    assert!(
        others.len() > 5 && !others.contains(&"3".to_owned()) && !others.contains(&"5".to_owned())
    );
    assert!(found("id=7,9,11").iter().all(|line| {
        line["ids"].as_array().unwrap().iter().all(|id| [7, 9, 11].contains(&id.as_u64().unwrap()))
    }));
    directory.write("some.txt", "7\n9\n11\n");
    assert_eq!(found("id=some.txt"), found("id=7,9,11"));
    let wrong = |condition: &str, parts: &[&str]| {
        directory.run(&format!("{SEARCH} -k 1 --where {condition}")).fails_with(parts);
    };
    wrong("label=eleven", &["no item has the label \"eleven\"", "there are: "]);
    wrong("id=", &["names nothing after the ="]);
    wrong("id=none.txt", &["none.txt"]);
    wrong("colour=red", &["is no condition", "label!=NAME", "id=FILE"]);
}

#[test]
fn labels_with_commas_can_be_asked_for() {
    let directory = Directory::new();
    directory.write("x.csv", "1,2\n3,4\n5,1\n7,8\n");
    directory.write("y.txt", "\"red, big\"\nsmall\n\"say \"\"hi\"\"\"\nsmall\n");
    directory.run("learn --method lsh --bits 8 --data x.csv --out m").ok();
    directory.run("index build --model m --data x.csv --labels y.txt --out i.index").ok();
    let found = |condition: &str| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_hashbrook"))
            .current_dir(directory.path())
            .args("search --index i.index --queries x.csv -k 4 --json --where".split(' '))
            .arg(condition)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let line: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        let mut ids: Vec<u64> =
            line["ids"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect();
        ids.sort();
        ids
    };
    assert_eq!(found("label=red, big"), [0]);
    assert_eq!(found("label=\"red, big\",small"), [0, 1, 3]);
    assert_eq!(found("label=say \"hi\""), [2]);
    assert_eq!(found("label!=\"red, big\""), [1, 2, 3]);
    directory.run("search --index i.index --queries x.csv -k 4 --out r.csv").ok();
    assert!(text(&directory, "r.csv").contains(",\"red, big\"\n"), "{}", text(&directory, "r.csv"));
}

#[cfg(unix)]
#[test]
fn pipes_in_place_of_files() {
    let directory = Directory::new().with_index();
    directory.run("encode --model m.model --data queries.npy --out codes.npy").ok();
    let said = directory
        .shell("cat queries.npy | hashbrook encode --model m.model --data - --out - > piped.npy")
        .ok();
    assert!(said.out.is_empty() && said.err.contains("the standard output"), "{said:?}");
    let read = |name: &str| std::fs::read(directory.file(name)).unwrap();
    assert_eq!(read("piped.npy"), read("codes.npy"));
    directory.run(&format!("{SEARCH} -k 3 --out r.npz")).ok();
    directory
        .shell(
            "hashbrook search --index i.index --queries - -k 3 --out - < queries.npy > piped.npz",
        )
        .ok();
    assert_eq!(read("piped.npz").len(), read("r.npz").len());
    directory.shell("gzip -c queries.npy | hashbrook search --index i.index --queries - -k 3").ok();
    let learn = "learn --method lsh --bits 16 --data queries.npy --out";
    directory.run(&format!("{learn} file.model")).ok();
    directory.shell(&format!("hashbrook {learn} - > piped.model")).ok();
    assert_eq!(read("piped.model"), read("file.model"));
    directory.shell("hashbrook export --model file.model --out - > piped.function").ok();
    directory.run("export --model file.model --out file.function").ok();
    assert_eq!(read("piped.function"), read("file.function"));
    directory.shell("hashbrook index build --codes codes.npy --bits 48 --out - > piped.index").ok();
    directory.run("index verify piped.index").ok();
    let twice = "hashbrook split --data - --labels - --queries 1 --out s < db.npy";
    directory.shell(twice).fails_with(&["- is given twice"]);
    let both = "hashbrook encode --model m.model --data queries.npy --out - --json";
    directory.shell(both).fails_with(&["--json and --out - both write to the standard output"]);
}

#[test]
fn queries_of_an_index_of_codes_are_encoded_by_a_model_or_function() {
    let directory = Directory::new().with_index();
    directory.run("encode --model m.model --data db.npy --out codes.npy").ok();
    directory.run("index build --codes codes.npy --bits 48 --out codes.index").ok();
    directory.run("export --model m.model --out f").ok();
    let search = "search --index codes.index --queries queries.npy -k 3 --json";
    directory.run(search).fails_with(&["without the function that made them", "--model"]);
    let found = |command: &str| {
        let lines = directory.run(command).ok().json();
        lines[..200].iter().map(|line| line["ids"].clone()).collect::<Vec<_>>()
    };
    let expected = found(&format!("{SEARCH} -k 3 --json"));
    assert_eq!(found(&format!("{search} --model f")), expected);
    assert_eq!(found(&format!("{search} --model m.model")), expected);
    directory.run("learn --method lsh --bits 48 --data db.npy --out other.model").ok();
    directory
        .run(&format!("{SEARCH} -k 3 --model other.model"))
        .fails_with(&["by another function", "index renew"]);
    directory.run("learn --method lsh --bits 16 --data db.npy --out short.model").ok();
    directory.run(&format!("{search} --model short.model")).fails_with(&["16 bits", "codes of 48"]);
}

#[test]
fn nothing_that_stands_there_is_replaced_unasked() {
    let directory = Directory::new().with_index();
    let before = std::fs::read(directory.file("i.index")).unwrap();
    let build = "index build --model m.model --data queries.npy --out i.index";
    directory.run(build).fails_with(&["i.index is there already", "--force"]);
    assert_eq!(std::fs::read(directory.file("i.index")).unwrap(), before);
    directory.run(&format!("{build} --force")).ok();
    assert_eq!(directory.run("index info i.index --json").json()[0]["items"], 200);
    let split = "split --data queries.npy --labels query-labels.npy --queries 5 --out .";
    directory.run(split).fails_with(&["queries.npy", "choose another name"]);
    directory.run(&split.replace("--out .", "--out s")).ok();
    directory.run(&split.replace("--out .", "--out s")).fails_with(&["s/db.npy", "--force"]);
    directory.run(&split.replace("--out .", "--out s --force")).ok();
}

#[test]
fn outputs_do_not_destroy_inputs() {
    let directory = Directory::new().with_digits();
    let learn = "learn --bits 8 --data db.npy --labels db-labels.npy";
    directory.write("c.toml", "method = \"lsh\"\n");
    directory.run(&format!("{learn} --config c.toml --out c.toml")).fails_with(&["c.toml is read"]);
    assert_eq!(text(&directory, "c.toml"), "method = \"lsh\"\n");
    directory
        .run(&format!("{learn} --out m --weights-out ./m"))
        .fails_with(&["choose another name for the output"]);
    directory.run(&format!("{learn} --out new/../m --weights-out m")).fails_with(&["new"]);
    assert!(!directory.file("m").exists());
    // A model given to `--resume` or `--like` is not overwritten, either.
    directory.run(&format!("{learn} --out m")).ok();
    let model = std::fs::read(directory.file("m")).unwrap();
    for arguments in ["--resume m --out n --weights-out m", "--like m --out m"] {
        directory.run(&format!("{learn} {arguments}")).fails_with(&["choose another name"]);
    }
    directory.run(&format!("{learn} --like m --out n --weights-out m")).fails_with(&["m is read"]);
    assert_eq!(std::fs::read(directory.file("m")).unwrap(), model);
    directory.run(&format!("{learn} --resume m --skip 0 --out m --weights-out n.npy")).ok();
}

#[test]
fn results_of_no_queries_are_sound_files() {
    let directory = Directory::new().with_index();
    // An npy array of no rows.
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (0, 6), }";
    let header = format!("{header:117}\n");
    directory
        .write("none.npy", [b"\x93NUMPY\x01\x00\x76\x00".as_slice(), header.as_bytes()].concat());
    for (name, expected) in
        [("r.csv", "query,rank,id,distance,labels\n"), ("r.json", "[\n\n]\n"), ("r.jsonl", "")]
    {
        directory.run(&format!("search --index i.index --codes none.npy -k 3 --out {name}")).ok();
        assert_eq!(text(&directory, name), expected);
    }
}

#[test]
fn a_split_by_share_leaves_rare_classes_whole() {
    let directory = Directory::new();
    let row =
        |row: usize| format!("{row},{},{}\n", row % 7, if row == 5 { "rare" } else { "often" });
    directory.write("x.csv", (0..60).map(row).collect::<String>());
    let split = "split --data x.csv:0,1 --labels x.csv:2";
    directory
        .run(&format!("{split} --queries 0.1 --out s"))
        .fails_with(&["\"rare\" has 1 item", "--min-per-class"]);
    directory.run(&format!("{split} --queries 0.1 --min-per-class 2 --out s")).ok();
    let rows = |name: &str| read_ids(directory.file(name).to_str().unwrap()).unwrap();
    let (database, queries) = (rows("s/db-rows.npy"), rows("s/query-rows.npy"));
    assert_eq!((database.len(), queries.len()), (54, 6));
    assert!(database.contains(&5));
    for (part, rows) in [("s/db.npy", &database), ("s/queries.npy", &queries)] {
        let mut reader = Reader::open(directory.file(part).to_str().unwrap()).unwrap();
        let values = reader.next(99).unwrap().unwrap();
        let first: Vec<u64> = (0..values.len()).map(|at| values.row(at)[0] as u64).collect();
        assert_eq!(&first, rows, "the first column counts rows");
    }
    for queries in ["0", "-1", "1.5", "many", "nan"] {
        let wrong = directory.run(&format!("{split} --queries {queries} --out w"));
        assert_eq!(wrong.status, Some(2), "{wrong:?}");
        assert!(wrong.err.contains("or a share above 0 and below 1"), "{wrong:?}");
    }
}

#[test]
fn codes_that_tell_no_items_apart_are_remarked_on() {
    let directory = Directory::new().with_digits();
    // All bits are label bits.
    let learn = "learn --bits 48 --set detail=0 --data db.npy --labels db-labels.npy";
    directory.run(&format!("{learn} --out m.model")).ok();
    directory.run("index build --model m.model --data db.npy --out i.index").ok();
    let said = directory.run(&format!("{SEARCH} -k 10 --json")).ok().err;
    assert!(said.contains("in order of ids"), "{said}");
    let said = directory.run("dedup --index i.index --radius 0").ok().err;
    assert!(said.contains("classes rather than near-duplicates"), "{said}");
    directory.run("learn --method lsh --bits 128 --data db.npy --out lsh.model").ok();
    directory.run("index build --model lsh.model --data db.npy --out lsh.index").ok();
    let said =
        directory.run("search --index lsh.index --queries queries.npy -k 10 --json").ok().err;
    assert_eq!(said, "");
    let said = directory.run("dedup --index lsh.index --radius 2").ok().err;
    assert!(!said.contains("classes"), "{said}");
}

#[test]
fn commands_on_indexes_say_what_they_do_and_numbers_what_they_should_be() {
    let directory = Directory::new();
    for (command, says) in
        [("info", "what an index holds"), ("verify", "checksums"), ("compact", "Rewrites an index")]
    {
        let help = directory.run(&format!("index {command} --help")).ok().out;
        assert!(help.contains(says) && help.contains("Example"), "{help}");
    }
    for (arguments, says) in [
        ("search --index i --queries q -k -3", "a whole number of 0 or more was expected"),
        ("search --index i --queries q -k ten", "a whole number of 0 or more was expected"),
        ("search --index i --queries q -k 1 --repeat 0", "0 is not from 1 to 4294967295"),
        ("learn --data x --out m --batch -1", "a whole number of 0 or more was expected"),
        ("demo --threads 0", "0 is not from 1 to 1024"),
        ("search --index i --queries q --radius -1", "-1 is not from 0 to 4294967295"),
        ("dedup --index i --radius 99999999999", "99999999999 is not from 0 to 4294967295"),
    ] {
        let outcome = directory.run(arguments);
        assert_eq!(outcome.status, Some(2), "{outcome:?}");
        assert!(outcome.err.contains(says), "{outcome:?}");
    }
}

/// Results so large that memory could not hold several copies of the hits.
#[cfg(target_os = "linux")]
#[test]
fn large_results_are_not_held_in_memory() {
    let directory = Directory::new();
    let rows: String = (0..4000).map(|row| format!("{},{}\n", row % 89, row % 97)).collect();
    directory.write("x.csv", rows);
    directory.run("learn --method lsh --bits 16 --data x.csv --out m").ok();
    directory.run("index build --model m --data x.csv --out i.index").ok();
    // There are 16 million hits, which take 16 bytes each in memory.
    for (arguments, name) in [("-k 4000", "k.npz"), ("--radius 16", "r.npz")] {
        let command = format!(
            "ulimit -v 700000; hashbrook search --threads 1 --index i.index --queries x.csv {arguments} --out {name}"
        );
        directory.shell(&command).ok();
        let size = std::fs::metadata(directory.file(name)).unwrap().len();
        assert!(size > 16_000_000 * 12, "{size}");
    }
}
