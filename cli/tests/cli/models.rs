//! Models and functions in files, and the streams that models learn from.

use crate::support::Directory;

const LEARN: &str = "learn --data db.npy --labels db-labels.npy";

#[test]
fn the_function_alone_does_what_the_model_does() {
    let directory = Directory::new().with_digits();
    directory.run(&format!("{LEARN} --bits 24 --scale standard --out m")).ok();
    let said = &directory.run("export --model m --out f --json").ok().json()[0];
    assert_eq!((&said["bits"], &said["labels"]), (&24.into(), &10.into()));
    let size = |name: &str| std::fs::metadata(directory.file(name)).unwrap().len();
    assert!(6 * size("f") < size("m"), "{} of {}", size("f"), size("m"));
    assert!(directory.run("export --model f --out g").ok().out.contains("bytes"), "once more");
    let read = |name: &str| std::fs::read(directory.file(name)).unwrap();
    assert_eq!(read("f"), read("g"));
    for file in ["m", "f"] {
        directory.run(&format!("encode --model {file} --data queries.npy --out {file}.npy")).ok();
        let build = "index build --data db.npy --labels db-labels.npy";
        directory.run(&format!("{build} --model {file} --out {file}.index")).ok();
        directory.run(&format!("index renew {file}.index --model {file} --data db.npy")).ok();
    }
    assert_eq!(read("m.npy"), read("f.npy"));
    assert_eq!(read("m.index"), read("f.index"));
    let map = |file: &str| {
        let eval = "eval --data db.npy --labels db-labels.npy --queries queries.npy \
                    --query-labels query-labels.npy --json";
        directory.run(&format!("{eval} --model {file}")).ok().json()[0]["mAP"].clone()
    };
    assert_eq!(map("m"), map("f"));
    // The error for a file that cannot learn names the kind of the file.
    directory.run(&format!("{LEARN} --resume f --out n")).fails_with(&[
        "f: is a hash function; expected a model",
        "cannot learn",
        "the model",
    ]);
    directory
        .run("export --model m --out m")
        .fails_with(&["is read or written by this very command"]);
    directory
        .run("export --model m.index --out n")
        .fails_with(&["m.index: is an index; expected a model"]);
    directory
        .run("encode --model db.npy --data queries.npy --out n")
        .fails_with(&["is not a model file"]);
}

#[test]
fn an_index_built_from_a_function_knows_the_labels_of_its_model() {
    let directory = Directory::new().with_digits();
    directory.run(&format!("{LEARN} --method bsodh --bits 24 --out m")).ok();
    directory.run("export --model m --out f").ok();
    for file in ["m", "f"] {
        directory.run(&format!("index build --model {file} --data db.npy --out {file}.index")).ok();
        let labels = |file: &str| {
            directory.run(&format!("info {file} --json")).ok().json()[0]["labels"].clone()
        };
        assert_eq!(labels(&format!("{file}.index")), labels("m"));
    }
}

#[test]
fn info_tells_of_models_functions_and_indexes() {
    let directory = Directory::new().with_digits();
    directory.run(&format!("{LEARN} --bits 24 --out m")).ok();
    directory.run("export --model m --out f").ok();
    directory.run("index build --model m --data db.npy --labels db-labels.npy --out i").ok();
    let json = |file: &str| directory.run(&format!("info {file} --json")).ok().json()[0].clone();
    let (model, function, index) = (json("m"), json("f"), json("i"));
    assert_eq!([&model["kind"], &function["kind"], &index["kind"]], ["model", "function", "index"]);
    for found in [&model, &function, &index] {
        assert_eq!((&found["bits"], &found["dim"]), (&24.into(), &64.into()), "{found}");
        assert_eq!(found["labels"].as_array().unwrap().len(), 10, "{found}");
    }
    assert_eq!(index, directory.run("index info i --json").ok().json()[0], "one and the same");
    assert_eq!(model["exported_bytes"], function["bytes"]);
    // `info` shows which array makes the model large.
    let largest = &model["arrays"][0];
    assert_eq!(largest["name"], "brook.gram");
    assert!(largest["bytes"].as_u64().unwrap() * 2 > model["bytes"].as_u64().unwrap());
    let said = directory.run("info m").ok().out;
    for part in ["a model", "% are brook.gram: sums of products", "hashbrook export", "scaled"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(directory.run("info f").ok().out.contains("a hash function, which encodes"));
    let said = directory.run("info i").ok().out;
    assert!(said.contains("an index") && said.contains("1,597"), "{said}");
}

/// The first bytes of a file determine its kind.
#[cfg(unix)]
#[test]
fn info_does_not_read_what_is_something_else() {
    let directory = Directory::new();
    let huge = std::fs::File::create(directory.file("huge")).unwrap();
    if huge.set_len(1 << 38).is_ok() {
        directory.run("info huge").fails_with(&["huge", "is not a model file"]);
        directory.run("encode --model huge --data x --out y").fails_with(&["huge"]);
    }
    directory
        .run("info /dev/zero")
        .fails_with(&["/dev/zero", "nor that of a function or an index"]);
    directory.run("info /dev/null").fails_with(&["/dev/null", "is not a model file"]);
    directory.run("info .").fails_with(&["directory"]);
}

/// Writes rows like those of the Wine data: columns that depend on the class have small values, and
/// the other columns have large values.
fn uneven(directory: &Directory) -> &'static str {
    let rows = (0..400).map(|row: usize| {
        let noise = |salt: usize| ((row * 7919 + salt * 104_729) % 1009) as f64 / 1009.0;
        let class = row * row % 7 % 3;
        let (a, b) = (class as f64 + noise(1) * 0.7, (class == 1) as u8 as f64 + noise(2) * 0.7);
        format!("{a},{},{b},{}\n", noise(3) * 1500.0, ["x", "y", "z"][class])
    });
    directory.write("uneven.csv", rows.collect::<String>());
    "--data uneven.csv:0-2 --labels uneven.csv:3"
}

#[test]
fn more_bits_than_directions_are_warned_of() {
    let directory = Directory::new();
    let data = uneven(&directory);
    let learn = |bits: usize| {
        directory.run(&format!("learn {data} --method itq --bits {bits} --out m")).ok().err
    };
    assert!(
        learn(32).contains("hashbrook: itq found 3 directions with variance for 32 bits"),
        "{}",
        learn(32)
    );
    assert!(!learn(3).contains("directions with variance"), "{}", learn(3));
}

#[test]
fn columns_of_different_scale_are_remarked_on_and_scaled_if_asked() {
    let directory = Directory::new();
    let data = uneven(&directory);
    let plain = directory.run(&format!("learn {data} --bits 32 --out plain")).ok();
    for part in ["column 1 spreads", "times as far as column", "--scale standard"] {
        assert!(plain.err.contains(part), "{plain:?}");
    }
    let scaled =
        directory.run(&format!("learn {data} --bits 32 --scale standard --out scaled")).ok();
    assert!(!scaled.err.contains("spreads"), "{scaled:?}");
    let map = |model: &str| {
        let eval = format!(
            "eval --model {model} {data} --queries uneven.csv:0-2 --query-labels uneven.csv:3 --json"
        );
        directory.run(&eval).ok().json()[0]["mAP"].as_f64().unwrap()
    };
    assert!(map("plain") < 0.7 && map("scaled") > 0.95, "{} {}", map("plain"), map("scaled"));

    let info = |model: &str| directory.run(&format!("info {model} --json")).ok().json()[0].clone();
    assert_eq!([&info("plain")["scale"], &info("scaled")["scale"]], ["none", "standard"]);
    let shown = directory.run("info scaled").ok().out;
    assert!(shown.lines().any(|line| line.split_whitespace().eq(["scaled", "yes"])), "{shown}");
    // The scale is fixed in a model, and models created with `--like` inherit it.
    directory
        .run(&format!("learn {data} --skip 0 --resume plain --scale standard --out n"))
        .fails_with(&["--scale is standard, but the model given has none, for good"]);
    let on = directory.run(&format!("learn {data} --skip 0 --resume plain --out n")).ok();
    assert!(!on.err.contains("spreads"), "it cannot be changed: {on:?}");
    directory.run(&format!("learn {data} --like scaled --rows 50 --out like")).ok();
    assert_eq!(info("like")["scale"], "standard");
    directory.run("merge plain like --out n").fails_with(&["scales differ: none and standard"]);
    directory.run("merge scaled like --out n").ok();
    assert_eq!(directory.run(&format!("learn {data} --scale robust --out n")).status, Some(2));

    // Pixel columns vary evenly enough to cause no warning, although some are rarely nonzero.
    let directory = directory.with_digits();
    assert_eq!(directory.run(&format!("{LEARN} --method bsodh --batch 200 --out m")).ok().err, "");
}

#[test]
fn a_copy_of_a_model_is_not_merged_whatever_it_is_called() {
    let directory = Directory::new().with_digits();
    directory.run(&format!("{LEARN} --warmup 200 --rows 600 --bits 16 --out a")).ok();
    directory.run(&format!("{LEARN} --like a --skip 600 --bits 16 --out b")).ok();
    std::fs::copy(directory.file("a"), directory.file("copy")).unwrap();
    std::fs::copy(directory.file("b"), directory.file("copy-of-b")).unwrap();
    let names = directory.names();
    for (models, one, two) in [
        ("a copy", "copy", "a"),
        ("a a", "a", "a"),
        ("a ./a", "./a", "a"),
        // All pairs of models are compared, not only adjacent ones.
        ("a b copy-of-b", "copy-of-b", "b"),
        ("a b copy", "copy", "a"),
    ] {
        directory.run(&format!("merge {models} --out m")).fails_with(&[
            &format!("{one} has learned the very same as {two}"),
            "its rows would count twice",
        ]);
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("a", directory.file("link")).unwrap();
        directory.run("merge a link --out m").fails_with(&["link has learned the very same as a"]);
        std::fs::remove_file(directory.file("link")).unwrap();
    }
    assert_eq!(directory.names(), names, "nothing was written");
    directory.run("merge a b --out m").ok();
    // The help text mentions overlaps that cannot be detected.
    let help = directory.run("merge --help").ok().out;
    assert!(help.contains("overlap cannot be told"), "{help}");
}

#[test]
fn rows_in_two_runs_come_to_the_model_of_one_run() {
    let directory = Directory::new().with_digits();
    let read = |name: &str| std::fs::read(directory.file(name)).unwrap();
    // The first run ends during the warm-up of brook, but after the warm-up of the other methods. A
    // batch is a tenth of the rows.
    for method in ["brook", "bsodh", "mihash", "okh"] {
        let learn = format!("{LEARN} --method {method} --bits 16");
        directory.run(&format!("{learn} --out whole")).ok();
        directory.run(&format!("{learn} --rows 1440 --out part")).ok();
        let said = directory.run(&format!("{LEARN} --resume part --out part")).ok().err;
        assert!(said.contains("the first 1,440 rows"), "{said}");
        assert_eq!(read("part"), read("whole"), "{method}");
        directory.run(&format!("{learn} --rows 320 --out part")).ok();
        directory.run(&format!("{LEARN} --resume part --rows 320 --out part")).ok();
        directory.run(&format!("{LEARN} --resume part --out part")).ok();
        assert_eq!(read("part"), read("whole"), "{method}");
    }
    // brook's result does not depend on where the rows are split.
    directory.run(&format!("{LEARN} --rows 1500 --out part")).ok();
    assert!(directory.run("info part").ok().out.contains("warming up"));
    directory.run(&format!("{LEARN} --resume part --out part")).ok();
    directory.run(&format!("{LEARN} --out whole")).ok();
    for name in ["part", "whole"] {
        directory.run(&format!("export --model {name} --out {name}.function")).ok();
    }
    assert_eq!(read("part.function"), read("whole.function"));
    let info = &directory.run("info part --json").ok().json()[0];
    assert_eq!((&info["warm"], &info["warmup"]), (&true.into(), &1597.into()));
}

#[test]
fn a_stream_that_is_sorted_where_it_hurts_is_remarked_on() {
    let directory = Directory::new();
    let row = |i: usize, label: usize| format!("{label},{},{}\n", i % 7, (i * i) % 5);
    let csv = |name: &str, label: &dyn Fn(usize) -> usize| {
        directory.write(name, (0..900).map(|i| row(i, label(i))).collect::<String>());
    };
    csv("sorted.csv", &|i| i / 300);
    csv("mixed.csv", &|i| i % 3);
    // Rows are mixed except at the end, which causes no warning.
    csv("end.csv", &|i| if i < 600 { i % 3 } else { 2 });
    let learn = |file: &str, options: &str| {
        let data = format!("--data {file}:1,2 --labels {file}:0");
        directory.run(&format!("learn {data} {options} --out m")).ok().err
    };
    let said = learn("sorted.csv", "--warmup 250");
    assert!(said.contains("the first 250 rows, which the model warms up with, have 1 of 3 labels"));
    assert!(said.contains("sorted by label? Mixed rows take less time and memory"), "{said}");
    for quiet in [
        learn("mixed.csv", "--warmup 250"),
        learn("end.csv", "--warmup 250"),
        // The warm-up takes all rows, and its result does not depend on their order.
        learn("sorted.csv", ""),
    ] {
        assert!(!quiet.contains("sorted"), "{quiet}");
    }
    // The result of methods that learn batch by batch depends on the order of rows.
    let said = learn("sorted.csv", "--method bsodh");
    assert!(said.contains("the first 90 rows, which are learned together"), "{said}");
    assert!(said.contains("sorted by label? It should be mixed"), "{said}");
    assert!(!learn("mixed.csv", "--method bsodh").contains("sorted"));
    // After the warm-up the model does not depend on the order of rows.
    learn("mixed.csv", "--warmup 250");
    let on = "learn --resume m --skip 0 --data sorted.csv:1,2 --labels sorted.csv:0 --out m";
    assert!(!directory.run(on).ok().err.contains("sorted"));
}
