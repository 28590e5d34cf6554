//! Refused commands: one clear message, a matching status, and no half-written file.

use hashbrook::{Batch, Features, Labels, Method};

use crate::support::Directory;

const LEARN: &str = "learn --data db.npy --labels db-labels.npy";

#[test]
fn files_that_are_not_what_they_should_be() {
    let directory = Directory::new();
    directory.write("y.txt", "a\nb\n");
    directory.write("empty.npy", "");
    directory.write("letter.txt", "dear all,\nhow are you?\n");
    directory.write("binary", [0xff, 0x00, 0x13, 0x37].repeat(9));
    let npy = |shape: &str, values: &[f32]| {
        let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
        bytes.extend(format!("{header:<117}\n").bytes());
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        bytes
    };
    directory.write("cut.npy", &npy("(2, 3)", &[1.0; 6])[..140]);
    directory.write("nan.npy", npy("(2, 3)", &[1.0, 1.0, 1.0, 1.0, f32::NAN, 1.0]));
    directory.write("inf.npy", npy("(2, 3)", &[1.0, 1.0, f32::INFINITY, 1.0, 1.0, 1.0]));
    directory.write("good.npy", npy("(2, 3)", &[1.0, 2.0, 3.0, 3.0, 2.0, 1.0]));
    directory.write("three.txt", "a\nb\nc\n");
    let before = directory.names();
    for (data, labels, parts) in [
        ("empty.npy", "y.txt", vec!["empty.npy", "is empty"]),
        ("cut.npy", "y.txt", vec!["cut.npy", "bytes"]),
        ("binary", "y.txt", vec!["binary"]),
        ("letter.txt", "y.txt", vec!["letter.txt"]),
        ("nan.npy", "y.txt", vec!["nan.npy", "row 1, column 1 is NaN"]),
        ("inf.npy", "y.txt", vec!["inf.npy", "row 0, column 2 is inf"]),
        ("good.npy", "three.txt", vec!["three.txt has 3 labels", "good.npy has 2 rows"]),
        ("none.npy", "y.txt", vec!["none.npy", "No such file"]),
        ("good.npy", "none.txt", vec!["none.txt", "No such file"]),
        (".", "y.txt", vec!["directory"]),
    ] {
        directory.run(&format!("learn --data {data} --labels {labels} --out m")).fails_with(&parts);
    }
    directory
        .run("learn --data good.npy --out m")
        .fails_with(&["brook learns from labels", "--labels"]);
    assert_eq!(directory.names(), before, "nothing was written");
}

#[test]
fn settings_that_make_no_sense() {
    let directory = Directory::new().with_digits();
    let before = directory.names();
    for (options, parts) in [
        ("--bits 0", vec!["1 to 1024, not 0"]),
        ("--bits 2000", vec!["1 to 1024, not 2000"]),
        ("--set ridge=0", vec!["ridge must be above 0, not 0"]),
        ("--set ridge=-3", vec!["ridge must be above 0, not -3"]),
        ("--set ridge=much", vec!["\"much\" is no value for ridge: expected a number or auto"]),
        (
            "--set anchors=1.5",
            vec!["1.5 is no value for anchors: expected an integer of 0 or more or auto"],
        ),
        (
            "--set anchors=-4",
            vec!["-4 is no value for anchors: expected an integer of 0 or more or auto"],
        ),
        ("--set half_life=x", vec!["\"x\" is no value for half_life: expected a number"]),
        ("--set lift=7", vec!["7 is no value for lift: expected none or rbf"]),
        ("--set rigde=1", vec!["no parameter \"rigde\"", "precision, ridge, fit_weight"]),
        ("--set ridge", vec!["NAME=VALUE"]),
        (
            "--method bsodh --set order=random",
            vec!["\"random\" is no value for order: expected printed, alternating or released"],
        ),
        ("--method bsohd", vec!["no method \"bsohd\"", "bsodh"]),
        ("--batch 0", vec!["--batch"]),
        ("--rows 0", vec!["--rows"]),
        ("--warmup 0", vec!["warmup must be 1 or more"]),
        ("--center mean", vec!["none, first, all or a file"]),
        ("--center db.npy", vec!["64 dimensions"]),
        ("--init queries.npy", vec!["200 x 64", "64 x 64"]),
        ("--config none.toml", vec!["none.toml"]),
        ("--skip 1597", vec!["leaves nothing", "1,597 rows"]),
        ("--skip 9999", vec!["leaves nothing", "1,597 rows"]),
    ] {
        directory.run(&format!("{LEARN} {options} --out m")).fails_with(&parts);
    }
    for (options, parts) in [
        ("--method sketchhash --set sketch=20", vec!["sketch must be even", "64 bits", "not 20"]),
        ("--method frosh --set sketch=65", vec!["sketch must be even", "not 65"]),
        ("--method frosh --set buffer=1000", vec!["buffer", "power of two"]),
        ("--method sketchhash --bits 128", vec!["at most the 64 dimensions"]),
        ("--method sketchhash --set state=lost", vec!["batch must be more than the 64 bits"]),
        ("--method mihash --set reservoir=0", vec!["reservoir must be 1 or more, not 0"]),
        ("--method mihash --set gradient=wrong", vec!["gradient", "exact"]),
        ("--method okh --set anchors=501", vec!["anchors", "half of the warm-up of 1000 rows"]),
        ("--method okh --warmup 1", vec!["warmup must be 2 or more", "not 1"]),
        ("--method hmoh --warmup 1", vec!["warmup must be 2 or more", "not 1"]),
        ("--method hmoh --warmup 100", vec!["anchors must be from 1 to 50", "not 300"]),
        ("--method hcoh --set order=48", vec!["order must be 0, or a power of two", "not 48"]),
        ("--method okh --init db.npy --bits 64", vec!["db.npy is 1597 x 64"]),
        ("--method adapthash --set threshold=2", vec!["threshold must be from 0 to 1, not 2"]),
        ("--method osh --set rate=0", vec!["rate must be above 0"]),
        ("--set anchors=0", vec!["anchors must be from 1 to 16384, not 0"]),
        ("--set lift=fourier", vec!["lift", "rbf"]),
        ("--set gamma=-1", vec!["gamma must be above 0, not -1"]),
        ("--set gamma=wide", vec!["no value for gamma", "a number or auto"]),
        ("--set half_life=-1", vec!["half_life must be 0 or above"]),
        ("--set repulsion=0", vec!["repulsion must be above 0"]),
        ("--set repulsion=2000", vec!["repulsion must be at most 100, not 2000"]),
        ("--set fit_weight=1e300", vec!["fit_weight must be at most"]),
        ("--init db.npy --bits 64 --rows 64", vec!["1597 x 64"]),
        ("--preset imagenet", vec!["no preset \"imagenet\"", "cifar10", "mnist"]),
    ] {
        directory.run(&format!("{LEARN} {options} --out m")).fails_with(&parts);
    }
    let compare = "compare --data db.npy --labels db-labels.npy --queries-per-class 5";
    for (options, parts) in [
        ("--methods bsodh,nope", vec!["no method \"nope\""]),
        ("--methods bsodh:ridge", vec!["NAME:PARAMETER=VALUE"]),
        ("--methods bsodh:rigde=1", vec!["no parameter \"rigde\""]),
        ("--methods lsh,lsh", vec!["lsh is named twice"]),
        ("--methods sketchhash --bits 128", vec!["sketchhash with 128 bits", "64 dimensions"]),
    ] {
        directory.run(&format!("{compare} {options}")).fails_with(&parts);
    }
    for method in ["brook", "okh", "adapthash", "osh", "mihash"] {
        let unlabelled = directory.run(&format!("learn --data db.npy --method {method} --out m"));
        unlabelled.fails_with(&[method, "learns from labels"]);
    }
    directory.write("bad.toml", "ridge = [1");
    let syntax = directory.run(&format!("{LEARN} --config bad.toml --out m"));
    assert_eq!(syntax.status, Some(1));
    assert!(syntax.err.contains("bad.toml") && syntax.err.contains("line 1"), "{syntax:?}");
    directory.write("bad.toml", "rigde = 1");
    directory
        .run(&format!("{LEARN} --config bad.toml --out m"))
        .fails_with(&["no parameter \"rigde\""]);
    directory.write("bad.toml", "method = \"lsh\"");
    directory
        .run(&format!("{LEARN} --method bsodh --config bad.toml --out m"))
        .fails_with(&["lsh"]);
    std::fs::remove_file(directory.file("bad.toml")).unwrap();
    assert_eq!(directory.names(), before, "nothing was written");
    for wrong in
        ["learn", "learn --frobnicate", "nothing", "learn --threads 0 --data x --out m", ""]
    {
        assert_eq!(directory.run(wrong).status, Some(2), "{wrong}");
    }
}

#[test]
fn models_and_vectors_that_do_not_fit() {
    let directory = Directory::new().with_digits();
    directory.run(&format!("{LEARN} --bits 16 --out m")).ok();
    directory.write("narrow.csv", "1,2,3\n4,5,6\n");
    directory.write("y.txt", "a\nb\n");
    let fit = ["3 dimensions", "the model takes 64"];
    directory.run("encode --model m --data narrow.csv --out codes.npy").fails_with(&fit);
    directory.run("learn --resume m --data narrow.csv --labels y.txt --out n").fails_with(&fit);
    let eval = "eval --model m --queries queries.npy --query-labels query-labels.npy";
    directory.run(&format!("{eval} --data narrow.csv --labels y.txt")).fails_with(&fit);
    directory
        .run(&format!("{eval} --data db.npy --labels query-labels.npy"))
        .fails_with(&["query-labels.npy has 200 labels", "db.npy has 1,597 rows"]);
    directory
        .run(&format!("{eval} --data db.npy --labels db-labels.npy --top 0"))
        .fails_with(&["a metric must be of rank 1 or more, not mAP@0"]);
    for (option, said) in [
        ("--bits 32", "--bits is 32, but the model given has 16"),
        ("--seed 9", "--seed is 9"),
        ("--unit false", "--unit is false"),
        ("--method lsh", "--method is lsh, but the model given has brook"),
        ("--set ridge=7", "the parameters are not those of the model"),
    ] {
        directory.run(&format!("{LEARN} --resume m {option} --out n")).fails_with(&[said]);
    }

    let model = std::fs::read(directory.file("m")).unwrap();
    directory.write("cut", &model[..model.len() - 9]);
    directory.run("info cut").fails_with(&["cut", "is cut short"]);
    let mut damaged = model.clone();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    directory.write("damaged", &damaged);
    directory.run("encode --model damaged --data db.npy --out codes.npy").fails_with(&["checksum"]);
    directory.run("info db.npy").fails_with(&["db.npy", "not a model file"]);
    directory.run("info none").fails_with(&["none", "No such file"]);
    let version = br#"\"version\":3"#;
    let at = model.windows(version.len()).position(|bytes| bytes == version).unwrap();
    let mut newer = model.clone();
    newer[at + version.len() - 1] = b'7';
    directory.write("newer", &newer);
    directory.run("info newer").fails_with(&[
        "format version 7",
        "up to version 3",
        "newer hashbrook",
    ]);
    assert!(!directory.names().contains(&"codes.npy".to_owned()));
    assert!(!directory.names().contains(&"n".to_owned()));
}

#[test]
fn outputs_that_cannot_be_written_are_found_before_the_work_is_done() {
    let directory = Directory::new().with_digits();
    directory.run(&format!("{LEARN} --bits 16 --out m")).ok();
    let before = directory.names();
    for out in ["no/directory/m", "m/under-a-file", "."] {
        directory.run(&format!("{LEARN} --out {out}")).fails_with(&[out]);
        directory.run(&format!("{LEARN} --out n --weights-out {out}")).fails_with(&[out]);
        directory.run(&format!("encode --model m --data db.npy --out {out}")).fails_with(&[out]);
    }
    directory
        .run("split --data db.npy --labels db-labels.npy --queries-per-class 9 --out m")
        .fails_with(&["m cannot be made"]);
    directory
        .run("split --data db.npy --labels db-labels.npy --queries-per-class 999 --out s")
        .fails_with(&["too few for 999 queries"]);
    directory.run("split --data db.npy --out s").fails_with(&["--labels"]);
    assert_eq!(directory.names(), before, "nothing was written");
}

#[test]
fn outputs_do_not_replace_what_is_read() {
    let directory = Directory::new().with_digits();
    directory.run(&format!("{LEARN} --bits 16 --out m")).ok();
    std::fs::create_dir(directory.file("sub")).unwrap();
    for command in [
        "encode --model m --data db.npy --out db.npy",
        "encode --model m --data db.npy --out sub/../db.npy",
        "encode --model m --data db.npy --out m",
        "learn --data db.npy --labels db-labels.npy --out db.npy",
        "learn --data db.npy --labels db-labels.npy --out n --weights-out n",
        "learn --data db.npy --labels db-labels.npy --out db-labels.npy",
        "split --data db.npy --labels db-labels.npy --queries-per-class 3 --out .",
    ] {
        let before = std::fs::read(directory.file("db.npy")).unwrap();
        directory.run(command).fails_with(&["is read or written by this very command"]);
        assert_eq!(std::fs::read(directory.file("db.npy")).unwrap(), before);
    }
    directory.run("learn --data queries.npy --labels query-labels.npy --resume m --out m").ok();
}

#[test]
fn labels_that_do_not_belong_to_the_data() {
    let directory = Directory::new().with_digits();
    directory.run(&format!("{LEARN} --bits 16 --out m")).ok();
    let names: String = (0..200).map(|i| format!("name{}\n", i % 20)).collect();
    directory.write("names.txt", names);
    directory
        .run(
            "eval --model m --data db.npy --labels db-labels.npy \
                --queries queries.npy --query-labels names.txt",
        )
        .fails_with(&["no query shares a label", "names.txt", "db-labels.npy"]);
    directory.write("blank.txt", "\n".repeat(200));
    directory
        .run("learn --data queries.npy --labels blank.txt --out n")
        .fails_with(&["blank.txt has no label for any row"]);
    // The number of labels equals the number of columns, so the table may be transposed.
    directory.write("64.txt", "a\nb\n".repeat(32));
    directory
        .run("learn --data db.npy --labels 64.txt --out n")
        .fails_with(&["the wrong way round"]);
    // A model from a program that used numbers as labels.
    let rows = [0.5; 3 * 64];
    let batch = Batch::new(Features::new(&rows, 64).unwrap(), Labels::single(&[2, 0, 1])).unwrap();
    let mut model = Method::named("bsodh").unwrap().start(64, 16, 1).unwrap();
    model.learn(batch).unwrap();
    model.save(directory.file("numbers")).unwrap();
    directory
        .run("learn --data db.npy --labels db-labels.npy --resume numbers --out n")
        .fails_with(&["labels without names"]);
}

/// A command that fails half way leaves existing files unchanged.
#[test]
fn what_fails_half_way_leaves_no_trace() {
    let directory = Directory::new();
    let rows: String = (0..9000).map(|i| format!("{},{}\n", i % 7, i % 5)).collect();
    directory.write("x.csv", &rows);
    directory.write("y.txt", (0..9001).map(|i| format!("{}\n", i % 3)).collect::<String>());
    directory.write("bad.csv", format!("{rows}1,nan\n"));
    directory
        .run("learn --data x.csv --labels y.txt --out m")
        .fails_with(&["9,001 labels", "9,000 rows"]);
    directory
        .run("learn --data bad.csv --labels y.txt --bits 8 --out m")
        .fails_with(&["row 9000, column 1 is NaN"]);
    directory.run("learn --data x.csv --rows 100 --labels y.txt --out m").fails_with(&[
        "9,001 labels",
        "9,000 rows",
        "header",
    ]);
    directory.write("y.txt", (0..9000).map(|i| format!("{}\n", i % 3)).collect::<String>());
    directory.run("learn --data x.csv --labels y.txt --bits 8 --out m").ok();
    directory.write("y.txt", (0..9001).map(|i| format!("{}\n", i % 3)).collect::<String>());
    directory.write("codes.npy", "old");
    directory.run("encode --model m --data bad.csv --out codes.npy").fails_with(&["row 9000"]);
    assert_eq!(std::fs::read(directory.file("codes.npy")).unwrap(), b"old");
    directory
        .run("split --data bad.csv --labels y.txt --queries-per-class 5 --out s")
        .fails_with(&["row 9000"]);
    assert_eq!(directory.names(), ["bad.csv", "codes.npy", "m", "x.csv", "y.txt"]);
}

/// Simulates a full disk: no file may grow beyond a few blocks.
#[cfg(unix)]
#[test]
fn a_full_disk_loses_nothing() {
    let directory = Directory::new().with_digits();
    directory.run(&format!("{LEARN} --bits 64 --out m")).ok();
    directory.write("codes.npy", "old");
    std::fs::create_dir(directory.file("s")).unwrap();
    let model = std::fs::read(directory.file("m")).unwrap();
    let before = directory.names();
    for (command, file) in [
        ("encode --model m --data db.npy --out codes.npy", "codes.npy"),
        ("learn --data db.npy --labels db-labels.npy --out m", "m"),
        ("split --data db.npy --labels db-labels.npy --queries-per-class 5 --out s", "db.npy"),
    ] {
        let binary = env!("CARGO_BIN_EXE_hashbrook");
        let script = format!("trap '' XFSZ; ulimit -f 8; exec {binary} {command}");
        let output = std::process::Command::new("bash")
            .current_dir(directory.path())
            .args(["-c", &script])
            .output()
            .unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{command}: {message}");
        assert!(message.contains(file) && message.contains("too large"), "{command}: {message}");
        assert_eq!(directory.names(), before, "{command}");
    }
    assert_eq!(std::fs::read(directory.file("codes.npy")).unwrap(), b"old");
    assert_eq!(std::fs::read(directory.file("m")).unwrap(), model);
}

#[cfg(unix)]
#[test]
fn interrupted_it_saves_what_it_has_learned() {
    use std::process::{Command, Stdio};
    let directory = Directory::new().with_digits();
    // The digits, repeated often enough that the stream can be interrupted.
    let data = "--data db.npy --labels db-labels.npy ".repeat(150);
    let arguments = format!(
        "learn {data} --batch 50 --bits 256 --method bsodh --set order=alternating --out m --json"
    );
    let mut child = Command::new(env!("CARGO_BIN_EXE_hashbrook"))
        .current_dir(directory.path())
        .args(arguments.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut out, &mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let last: serde_json::Value = serde_json::from_str(rest.lines().last().unwrap()).unwrap();
    assert_eq!(last["done"], false);
    let info = &directory.run("info m --json").ok().json()[0];
    assert_eq!(info["seen"], last["seen"]);
    assert!(info["seen"].as_u64().unwrap() < 150 * 1597, "it was interrupted");
}

#[test]
fn models_that_cannot_be_merged_or_unlearned_from() {
    let directory = Directory::new().with_digits();
    directory.run(&format!("{LEARN} --rows 800 --warmup 800 --bits 16 --out a")).ok();
    directory.run(&format!("{LEARN} --skip 800 --bits 16 --out other")).ok();
    directory.run(&format!("{LEARN} --method bsodh --bits 16 --out bsodh")).ok();
    directory.run(&format!("{LEARN} --method bsodh --bits 16 --seed 2 --out bsodh2")).ok();
    directory.run(&format!("{LEARN} --method bsodh --bits 16 --batch 300 --out bsodh3")).ok();
    directory.run(&format!("{LEARN} --rows 300 --warmup 500 --bits 16 --out cold")).ok();
    directory.write("wide.csv", "1,2,3\n");
    directory.write("one.txt", "7\n");
    directory.write("nine.txt", "nine\n");
    directory.write("zero.csv", vec!["0"; 64].join(","));
    let names = directory.names();
    for (command, parts) in [
        ("merge a other --out m", vec!["cannot be merged", "centres differ", "siblings"]),
        ("merge a bsodh --out m", vec!["methods differ: brook and bsodh"]),
        ("merge bsodh bsodh3 --out m", vec!["bsodh models cannot be merged", "only brook"]),
        ("merge a ./a --out m", vec!["./a has learned the very same as a", "count twice"]),
        ("merge bsodh bsodh2 --out m", vec!["seeds differ: 1 and 2"]),
        ("merge cold a --out m", vec!["has not warmed up"]),
        ("merge a cold --out m", vec!["has not warmed up"]),
        ("merge a none --out m", vec!["none"]),
        ("merge a other --out no/m", vec!["no/m"]),
        (
            "learn --like bsodh --data db.npy --labels db-labels.npy --out m",
            vec!["--like bsodh", "cannot have siblings", "only brook"],
        ),
        ("learn --like cold --data db.npy --labels db-labels.npy --out m", vec!["not warmed up"]),
        ("learn --like a --bits 8 --data db.npy --labels db-labels.npy --out m", vec!["--bits"]),
        ("unlearn --model a --data db.npy --out m", vec!["--labels"]),
        ("unlearn --model a --data wide.csv --labels one.txt --out m", vec!["3 dimensions", "64"]),
        ("unlearn --model a --data db.npy --labels one.txt --out m", vec!["1 label", "1,597 rows"]),
        (
            "unlearn --model a --data zero.csv --labels nine.txt --out m",
            vec!["\"nine\"", "nothing was"],
        ),
        (
            "unlearn --model a --data db.npy --labels db-labels.npy --out m",
            vec!["cannot be unlearned", "fewer rows with the label \"", "nothing was changed"],
        ),
        (
            "unlearn --model bsodh --data db.npy --labels db-labels.npy --out m",
            vec!["bsodh models cannot unlearn"],
        ),
        (
            "unlearn --model cold --data db.npy --labels db-labels.npy --out m",
            vec!["has not warmed up"],
        ),
    ] {
        directory.run(command).fails_with(&parts);
    }
    assert_eq!(directory.names(), names, "nothing was written");
}

#[test]
#[cfg(unix)]
fn a_file_that_may_not_grow_so_large_is_an_error() {
    let directory = Directory::new().with_digits();
    let before = directory.names();
    directory
        .shell(&format!("ulimit -f 1; hashbrook {LEARN} --bits 16 --out m"))
        .fails_with(&["File too large"]);
    assert_eq!(directory.names(), before, "nothing was written");
}
