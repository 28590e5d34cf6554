//! Commands that succeed.

use serde_json::Value;

use crate::support::{Directory, digits};

const LEARN: &str = "learn --method bsodh --data db.npy --labels db-labels.npy --batch 200";
const EVAL: &str = "eval --model m --data db.npy --labels db-labels.npy \
                    --queries queries.npy --query-labels query-labels.npy";

#[test]
fn the_demo_learns_and_draws() {
    let directory = Directory::new();
    let demo = directory.run("demo").ok();
    assert!(demo.out.contains("1597") && demo.out.contains('█') && demo.out.contains("query"));
    assert!(demo.err.is_empty(), "no bar where there is no terminal");
    let rows = directory.run("demo --json").ok().json();
    let map = |row: &Value| row["mAP"].as_f64().unwrap();
    assert!(map(&rows[7]) > map(&rows[0]).max(0.95), "it learns: {rows:?}");
}

#[test]
fn from_vectors_to_codes() {
    let directory = Directory::new().with_digits();
    let done = directory.run(&format!("{LEARN} --bits 48 --out m")).ok();
    assert!(done.out.contains("bsodh learned 1,597 rows of 10 labels, into 48 bits"), "{done:?}");
    assert!(done.err.is_empty(), "nothing to remark: {done:?}");

    let eval = directory.run(&format!("{EVAL} --top 10,1000 --radius 0,2 --json")).ok();
    let [found] = &eval.json()[..] else { panic!("{eval:?}") };
    for name in [
        "mAP",
        "mAP@10",
        "mAP@1000",
        "precision@1",
        "precision@5",
        "precision@10",
        "precision@100",
        "precision_radius_0",
        "precision_radius_2",
        "ndcg@100",
    ] {
        let value = found[name].as_f64().unwrap_or_else(|| panic!("{name}: {found}"));
        assert!((0.4..=1.0).contains(&value), "{name}: {value}");
    }
    assert_eq!((&found["queries"], &found["database"]), (&200.into(), &1597.into()));
    assert!(found["seconds"].is_number());
    let near = &directory.run(&format!("{EVAL} --neighbours=10,1597 --json")).ok().json()[0];
    assert!(near["neighbours@10"].as_f64().unwrap() < 0.5, "labels are kept, not neighbours");
    assert_eq!(near["neighbours@1597"], 1.0, "among all there are all");
    assert_eq!(near["precision@1_reranked_1597"], near["precision@1_by_vectors"]);
    let near = directory.run(&format!("{EVAL} --neighbours")).ok();
    assert!(near.out.contains("neighbours@1000"), "{near:?}");
    let table = directory.run(EVAL).ok();
    assert!(table.out.contains("precision_radius_2  0."), "{table:?}");

    directory.run("encode --model m --data queries.npy --data db.npy --out codes.npy").ok();
    let codes = std::fs::read(directory.file("codes.npy")).unwrap();
    assert_eq!(codes.len(), 128 + 1797 * 6);
    assert!(codes.starts_with(b"\x93NUMPY") && codes[..128].ends_with(b"\n"));

    let info = directory.run("info m").ok();
    assert!(info.out.contains("48 bits") && info.out.contains("released"), "{info:?}");
    let info = &directory.run("info m --json").ok().json()[0];
    assert_eq!(info["labels"].as_array().unwrap().len(), 10);
    assert_eq!((&info["seen"], &info["warm"]), (&1597.into(), &true.into()));
    assert_eq!(info["parameters"]["ridge"], 0.6);
}

#[test]
fn learn_tells_of_every_batch_in_json() {
    let directory = Directory::new().with_digits();
    let lines = directory.run(&format!("{LEARN} --rows 1100 --out m --json")).ok().json();
    let (last, batches) = lines.split_last().unwrap();
    assert_eq!(batches.len(), 6);
    assert_eq!(last["done"], true);
    assert_eq!((&last["seen"], &last["batches"]), (&1100.into(), &6.into()));
    for (at, batch) in batches.iter().enumerate() {
        assert_eq!(batch["batch"], at + 1);
        assert_eq!(batch["rows"], if at < 5 { 200 } else { 100 });
        assert_eq!(batch["seen"], (at * 200 + 200).min(1100));
        assert!(batch["seconds"].is_number() && batch["changed_bits"].is_number());
        assert_eq!(batch["warm"], at >= 4, "held back until 1,000 rows have come");
        assert_eq!(batch["iterations"].as_u64().unwrap() > 0, at >= 4);
    }
}

#[test]
fn resumed_it_ends_as_if_never_interrupted() {
    let directory = Directory::new().with_digits();
    let whole = "--seed 5 --bits 24 --rows 1400 --out whole --weights-out whole.npy";
    directory.run(&format!("{LEARN} {whole}")).ok();
    let read = |name: &str| std::fs::read(directory.file(name)).unwrap();
    // The first run ends during or after the warm-up. The resumed run recognises the rows already
    // learned, and continues after them.
    for first in [600, 1000] {
        let options = "--seed 5 --bits 24 --warmup 1000 --out part --weights-out part.npy";
        directory.run(&format!("{LEARN} {options} --rows {first}")).ok();
        let rest = 1400 - first;
        // Settings fixed in the model may be repeated with the same values; the batch size is
        // remembered.
        let on =
            format!("{LEARN} {options} --resume part --rows {rest}").replace("--batch 200", "");
        let said = directory.run(&on).ok().err;
        assert!(said.contains("going on from there"), "{said}");
        assert_eq!(read("part.npy"), read("whole.npy"));
        let info = &directory.run("info part --json").ok().json()[0];
        assert_eq!((&info["seen"], &info["batches"]), (&1400.into(), &7.into()));
    }
    // Other data is learned from its first row.
    let other = "learn --data queries.npy --labels query-labels.npy --resume part --out part";
    let said = directory.run(other).ok().err;
    assert!(!said.contains("going on"), "{said}");
    assert_eq!(directory.run("info part --json").ok().json()[0]["seen"], 1600);
    directory.run(other).fails_with(&["has learned all 200 rows", "--skip 0"]);
    directory.run(&format!("{other} --skip 0")).ok();
    directory.run(&format!("{other} --skip 150")).ok();
    assert_eq!(directory.run("info part --json").ok().json()[0]["seen"], 1850);
}

#[test]
fn parameters_come_from_a_file_and_from_the_command_line() {
    let directory = Directory::new().with_digits();
    directory.write("p.toml", "method = \"bsodh\"\nridge = 0.25\norder = \"alternating\"\n");
    directory.run(&format!("{LEARN} --config p.toml --set ridge=0.5 --out m")).ok();
    let info = &directory.run("info m --json").ok().json()[0]["parameters"];
    assert_eq!((&info["ridge"], &info["order"]), (&0.5.into(), &"alternating".into()));
}

#[test]
fn the_centre_can_be_chosen() {
    let directory = Directory::new().with_digits();
    let weights = |options: &str| {
        directory.run(&format!("{LEARN} {options} --out m --weights-out w.npy")).ok();
        let centred = directory.run("info m --json").ok().json()[0]["centered"] == true;
        (std::fs::read(directory.file("w.npy")).unwrap(), centred)
    };
    let (first, all, none) =
        (weights("--center first"), weights("--center all"), weights("--center none"));
    assert_eq!([first.1, all.1, none.1], [true, true, false]);
    assert!(first.0 != all.0 && all.0 != none.0);
    assert_eq!(weights("").0, first.0, "the first rows unless said");
    assert_eq!(weights("--warmup 1597").0, all.0);
    let zeros = vec!["0"; 64].join(",");
    directory.write("zero.csv", zeros);
    assert_eq!(weights("--center zero.csv").0, none.0);
    assert_ne!(weights("--unit false").0, first.0);
}

#[test]
fn data_that_ends_within_the_warm_up_ends_the_warm_up() {
    let directory = Directory::new().with_digits();
    let weights = |options: &str| {
        directory.run(&format!("{LEARN} {options} --out m --weights-out w.npy")).ok();
        std::fs::read(directory.file("w.npy")).unwrap()
    };
    let short = "--skip 1097";
    assert_eq!(weights(short), weights(&format!("{short} --warmup 500")), "all rows there are");
    let info = &directory.run("info m --json").ok().json()[0];
    assert_eq!((&info["warm"], &info["centered"]), (&true.into(), &true.into()));
    // With `--rows`, more rows may follow, so the warm-up does not end, but the function is the
    // same as if it had ended.
    assert_eq!(weights("--rows 500"), weights("--rows 500 --warmup 500"));
    for options in ["--rows 500", "--rows 500 --warmup 1000"] {
        let waiting = directory.run(&format!("{LEARN} {options} --out m")).ok();
        assert!(waiting.err.contains("still warms up, with 500 of 1,000 rows"), "{waiting:?}");
        assert!(directory.run("info m").ok().out.contains("warming up"));
    }
}

#[test]
fn labels_may_be_names_and_sets_of_names() {
    let directory = Directory::new();
    let (mut rows, mut names, mut sets) = (String::new(), String::new(), String::new());
    for i in 0..60 {
        let class = i % 3;
        let at = |c: usize| if class == c { 5 + i % 4 } else { i % 2 };
        rows += &format!("{},{},{}\n", at(0), at(1), at(2));
        names += ["cat\n", "dog\n", "\"red, cow\"\n"][class];
        sets += ["cat, pet\n", "dog,pet\n", "cow\n"][class];
    }
    directory.write("x.csv", rows);
    directory.write("names.txt", names);
    directory.write("sets.txt", sets);
    for (labels, count) in [("names.txt", 3), ("sets.txt", 4)] {
        directory
            .run(&format!(
                "learn --data x.csv --labels {labels} --batch 10 --warmup 10 --bits 16 --out m"
            ))
            .ok();
        let info = &directory.run("info m --json").ok().json()[0];
        assert_eq!(info["labels"].as_array().unwrap().len(), count, "{info}");
        let eval = format!(
            "eval --model m --data x.csv --labels {labels} --queries x.csv --query-labels {labels} --json"
        );
        let map = directory.run(&eval).ok().json()[0]["mAP"].as_f64().unwrap();
        assert!(map > 0.9, "{labels}: {map}");
    }
    directory.run("split --data x.csv --labels sets.txt --queries-per-class 2 --out s").ok();
    let sets = std::fs::read_to_string(directory.file("s/query-labels.txt")).unwrap();
    assert!(sets.lines().any(|line| line == "cat,pet"), "{sets}");
    directory.run("learn --data s/db.npy --labels s/db-labels.txt --out m").ok();
    let eval = "eval --model m --data s/db.npy --labels s/db-labels.txt \
                --queries x.csv --query-labels sets.txt --json";
    let map = directory.run(eval).ok().json()[0]["mAP"].as_f64().unwrap();
    assert!(map > 0.85, "the names are kept: {map}");
    directory.run("split --data x.csv --labels names.txt --queries-per-class 2 --out n").ok();
    directory
        .run(
            "eval --model m --data n/db.npy --labels n/db-labels.npy \
                --queries n/queries.npy --query-labels n/query-labels.npy",
        )
        .ok();
}

#[test]
fn a_split_is_a_partition_and_depends_on_the_seed_alone() {
    let directory = Directory::new();
    let digits = digits();
    let split = |seed: u64, out: &str| {
        let labels = format!("--labels {digits}:-1 --queries-per-class 5 --seed {seed}");
        directory
            .run(&format!("split --data {digits}:0--2 {labels} --out {out} --json"))
            .ok()
            .json()
    };
    let said = &split(1, "a")[0];
    assert_eq!((&said["database"], &said["queries"]), (&1747.into(), &50.into()));
    split(1, "b");
    split(2, "c");
    let read = |name: &str| std::fs::read(directory.file(name)).unwrap();
    for name in ["db.npy", "db-labels.npy", "queries.npy", "query-labels.npy"] {
        assert_eq!(read(&format!("a/{name}")), read(&format!("b/{name}")));
    }
    assert_ne!(read("a/queries.npy"), read("c/queries.npy"));
    let rows = |name: &str| -> Vec<Vec<u8>> {
        read(name)[128..].chunks(64 * 4).map(<[u8]>::to_vec).collect()
    };
    let together = |of: &str| {
        let mut all = [rows(&format!("{of}/db.npy")), rows(&format!("{of}/queries.npy"))].concat();
        all.sort();
        all
    };
    assert_eq!(together("a").len(), 1797);
    assert_eq!(together("a"), together("c"));
}

#[test]
fn threads_do_not_change_the_result() {
    let directory = Directory::new().with_digits();
    directory.run(&format!("{LEARN} --threads 1 --out one")).ok();
    directory.run(&format!("{LEARN} --threads 2 --out two")).ok();
    assert_eq!(
        std::fs::read(directory.file("one")).unwrap(),
        std::fs::read(directory.file("two")).unwrap()
    );
}

/// Checks that help texts wrapped at 100 columns have no line with a single word.
#[test]
fn help_fits_a_line() {
    let directory = Directory::new();
    for command in ["", "learn", "search", "eval", "serve", "reproduce", "index build", "compare"] {
        let help = directory.run(&format!("{command} --help")).ok().out;
        let lines: Vec<&str> = help.lines().collect();
        for pair in lines.windows(2) {
            let alone = !pair[1].is_empty() && pair[1].len() < 8 && !pair[1].starts_with(' ');
            assert!(!(pair[0].len() > 85 && alone), "{command}: {pair:?}");
        }
    }
}

#[test]
fn methods_and_their_parameters_are_listed() {
    let directory = Directory::new();
    let all = directory.run("methods").ok().out;
    for part in ["brook learns labelled rows", "itq learns rows without labels", "  ridge=0.6"] {
        assert!(all.contains(part), "{part}: {all}");
    }
    let one = &directory.run("methods bsodh --json").ok().json()[0][0];
    assert_eq!((&one["method"], &one["parameters"]["ridge"]), (&"bsodh".into(), &0.6.into()));
    assert_eq!(one["parameters"].get("method"), None);
    directory.run("methods bsod").fails_with(&["bsod", "bsodh"]);
}

#[test]
fn manual_pages_are_written() {
    let directory = Directory::new();
    directory.run("man pages/man1").ok();
    for (name, part) in
        [("hashbrook", "dedup"), ("hashbrook-learn", "warmup"), ("hashbrook-client-put", "items")]
    {
        let page =
            std::fs::read_to_string(directory.file(&format!("pages/man1/{name}.1"))).unwrap();
        assert!(page.starts_with(".ie") && page.contains(part), "{name}: {page}");
    }
    directory.write("file", "");
    directory.run("man file").fails_with(&["manual pages", "file"]);
}

#[test]
fn help_has_examples_and_shells_have_completions() {
    let directory = Directory::new();
    assert!(directory.run("--help").ok().out.contains("Exit status: 0 done; 1 failed"));
    for command in [
        "split",
        "learn",
        "encode",
        "eval",
        "export",
        "info",
        "size",
        "completions",
        "methods",
        "man",
    ] {
        let help = directory.run(&format!("{command} --help")).ok().out;
        assert!(help.contains("Example"), "{command}: {help}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(directory.run(&format!("completions {shell}")).ok().out.contains("hashbrook"));
    }
}

#[test]
fn what_looks_wrong_with_the_result_is_remarked_on() {
    let directory = Directory::new().with_digits();
    let one = directory.run(&LEARN.replace("200", "9999 --out m")).ok();
    assert!(one.err.contains("nothing was learned yet") && one.err.contains("--batch"), "{one:?}");
    let alike = "--set similar_weight=0.1 --set dissimilar_weight=5 --bits 8";
    let collapsed = directory.run(&format!("{LEARN} {alike} --out m")).ok();
    assert!(collapsed.err.contains("different code"), "{collapsed:?}");
    let few =
        directory.run("learn --data db.npy --labels db-labels.npy --out m --json").ok().json();
    assert_eq!(few.len(), 11, "a tenth of the rows at a time");
}

/// Runs a script in a shell, in which the command's output can be redirected.
#[cfg(unix)]
fn shell(directory: &Directory, script: &str) -> std::process::Output {
    let script = script.replace("hashbrook", env!("CARGO_BIN_EXE_hashbrook"));
    let script = format!("set -o pipefail; {script}");
    let mut bash = std::process::Command::new("bash");
    bash.current_dir(directory.path()).args(["-c", &script]).output().unwrap()
}

#[cfg(unix)]
#[test]
fn a_reader_that_has_seen_enough_does_no_harm() {
    let directory = Directory::new().with_digits();
    for script in [
        "hashbrook demo | head -n 1",
        "hashbrook --help | head -n 1",
        "hashbrook learn --data db.npy --labels db-labels.npy --batch 5 --out m --json | head -n 1",
    ] {
        let output = shell(&directory, script);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(!errors.contains("panicked"), "{script}: {errors}");
        assert_eq!(output.status.code(), Some(0), "{script}: {errors}");
    }
    assert_eq!(directory.run("info m --json").ok().json()[0]["seen"], 1597, "all was learned");
}

#[cfg(unix)]
#[test]
fn data_may_come_through_a_pipe() {
    let directory = Directory::new().with_digits();
    directory.run(&format!("{LEARN} --bits 16 --out m")).ok();
    let piped = "cat db.npy | hashbrook learn --method bsodh --data /dev/stdin --labels db-labels.npy \
                 --batch 200 --bits 16 --out piped";
    assert!(shell(&directory, piped).status.success());
    let weights = |model: &str| {
        let encode = format!("encode --model {model} --data queries.npy --out {model}.npy");
        directory.run(&encode).ok();
        std::fs::read(directory.file(&format!("{model}.npy"))).unwrap()
    };
    assert_eq!(weights("piped"), weights("m"));
    let eval = "cat db.npy | hashbrook eval --model m --data /dev/stdin --labels db-labels.npy \
                --queries queries.npy --query-labels query-labels.npy";
    assert!(shell(&directory, eval).status.success());
    let twice = shell(
        &directory,
        "cat db.npy | hashbrook learn --data /dev/stdin --labels db-labels.npy --center all --out n",
    );
    assert!(String::from_utf8(twice.stderr).unwrap().contains("reads the data twice"));
}

#[test]
fn methods_are_compared_and_results_kept() {
    let directory = Directory::new();
    let digits = digits();
    let compare = format!(
        "compare --data {digits}:0-63 --labels {digits}:64 --queries-per-class 10 --seeds 2 --bits 8,16"
    );
    let all = directory.run(&format!("{compare} --methods all --out kept --json")).ok().json();
    let methods = hashbrook::Method::all().len();
    assert_eq!(all.len(), 2 * methods, "every method, two lengths");
    let of = |method: &str, bits: u64| {
        let found = all.iter().find(|row| row["method"] == method && row["bits"] == bits);
        found.unwrap_or_else(|| panic!("{method} {bits}: {all:?}"))
    };
    let map = |method: &str| of(method, 16)["mAP"]["mean"].as_f64().unwrap();
    assert!(map("mihash") > map("lsh") + 0.2 && map("bsodh") > map("lsh") + 0.2);
    let row = of("bsodh", 8);
    for measure in [
        "mAP",
        "mAP@1000",
        "precision@100",
        "precision_radius_2",
        "ndcg@100",
        "learn_seconds",
        "encode_rows_per_second",
        "state_bytes",
    ] {
        assert_eq!(row[measure]["each"].as_array().unwrap().len(), 2, "{measure}: {row}");
    }
    let kept = || std::fs::read_dir(directory.file("kept")).unwrap().count();
    assert_eq!(kept(), 4 * methods);

    // Results in the directory are reused with all digits, including the times.
    let csv = directory.run(&format!("{compare} --methods bsodh,lsh --out kept --csv")).ok().out;
    let first = csv.lines().nth(1).unwrap();
    assert!(first.starts_with("bsodh,8,1,"), "{csv}");
    assert!(first.contains(&row["learn_seconds"]["each"][0].to_string()), "{first} {row}");
    // Other settings produce other results.
    directory.run(&format!("{compare} --methods lsh --rows 100 --out kept")).ok();
    assert_eq!(kept(), 4 * methods + 4);

    let table =
        directory.run(&format!("{compare} --methods osh:loss=hinge,osh:state=lost")).ok().out;
    assert!(table.contains("osh:loss=hinge") && table.contains('±'), "{table}");
}

#[test]
fn presets_are_those_of_the_papers() {
    let directory = Directory::new().with_digits();
    directory.run(&format!("{LEARN} --preset cifar10 --set fit_weight=0.7 --out m")).ok();
    let info = &directory.run("info m --json").ok().json()[0]["parameters"];
    assert_eq!((&info["ridge"], &info["fit_weight"]), (&0.3.into(), &0.7.into()));
    directory.run(&LEARN.replace("bsodh", "lsh --preset mnist --out m")).ok();
}

#[test]
fn every_method_learns_encodes_and_is_told_of() {
    let directory = Directory::new().with_digits();
    for method in hashbrook::Method::all() {
        let method = method.name();
        let labels = match method {
            "sketchhash" | "frosh" | "lsh" => "",
            _ => "--labels db-labels.npy",
        };
        directory
            .run(&format!("learn --data db.npy {labels} --method {method} --bits 24 --out m"))
            .ok();
        let map = directory.run(&format!("{EVAL} --json")).ok().json()[0]["mAP"].as_f64().unwrap();
        assert!(map > 0.2, "{method}: {map}");
        let info = directory.run("info m").ok().out;
        assert!(info.contains(method) && info.contains("24 bits"), "{info}");
    }
}

#[test]
fn parts_learned_apart_are_merged_and_rows_are_unlearned() {
    let directory = Directory::new().with_digits();
    let codes = |model: &str| {
        directory.run(&format!("encode --model {model} --data queries.npy --out c.npy")).ok();
        std::fs::read(directory.file("c.npy")).unwrap()
    };
    let learn = "learn --data db.npy --labels db-labels.npy";
    directory.run(&format!("{learn} --warmup 400 --out whole")).ok();
    directory.run(&format!("{learn} --warmup 400 --rows 500 --out a")).ok();
    directory.run(&format!("{learn} --like a --skip 500 --rows 600 --batch 7 --out b")).ok();
    // The names of labels may appear in another order.
    directory.run(&format!("{learn} --like a --skip 1100 --out c")).ok();
    let merged = &directory.run("merge a b c --out m --json").ok().json()[0];
    assert_eq!((&merged["seen"], &merged["models"]), (&1597.into(), &3.into()));
    assert_eq!(codes("m"), codes("whole"));
    directory.run("merge c b a --out m").ok();
    assert_eq!(codes("m"), codes("whole"), "in whatever order");
    assert!(directory.run("merge b c --out c").ok().out.contains("1,097 rows"));
    // Rows without labels were never learned, so there is nothing to unlearn.
    directory.write("zero.csv", vec!["0"; 64].join(","));
    directory.write("none.txt", "\n");
    let before = codes("m");
    directory.run("unlearn --model m --data zero.csv --labels none.txt --out m").ok();
    assert_eq!(codes("m"), before);

    // New labels may also appear in any order.
    let rows = |name: &str, labels: &[&str]| {
        let lines = labels.iter().enumerate().map(|(at, label)| {
            let row: Vec<String> = (0..64).map(|i| ((i * (at + 3)) % 17).to_string()).collect();
            format!("{},{label}\n", row.join(","))
        });
        let lines: Vec<String> = lines.collect();
        directory.write(&format!("{name}.csv"), lines.concat());
        let reversed: Vec<String> = lines.into_iter().rev().collect();
        directory.write(&format!("{name}-reversed.csv"), reversed.concat());
    };
    rows("new", &["cat", "dog", "cow", "cat", "elk", "dog"]);
    for name in ["new", "new-reversed"] {
        let data = format!("--data {name}.csv:0-63 --labels {name}.csv:64");
        directory.run(&format!("learn --resume whole {data} --out {name}")).ok();
    }
    assert_eq!(codes("new"), codes("new-reversed"));

    directory.run(&format!("{learn} --resume whole --skip 0 --rows 200 --out whole2")).ok();
    directory.run("split --data db.npy --labels db-labels.npy --queries-per-class 1 --out s").ok();
    let unlearn = "unlearn --data s/db.npy --labels s/db-labels.npy --data s/queries.npy \
                   --labels s/query-labels.npy --out n --json";
    let left = &directory.run(&format!("{unlearn} --model whole2")).ok().json()[0];
    assert_eq!((&left["rows"], &left["seen"]), (&1597.into(), &200.into()));
    directory.run(&format!("{learn} --like a --rows 200 --out first")).ok();
    assert_eq!(codes("n"), codes("first"), "as if only the first 200 had been learned");
    let info = directory.run("info n").ok().out;
    assert!(info.contains("200 rows") && info.contains("rbf"), "{info}");
}
