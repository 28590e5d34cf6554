//! `reproduce`: the experiments of the paper, their results and the report page.

use serde_json::Value;

use crate::support::{Directory, digits};

#[test]
fn the_paper_is_reproduced_in_small_and_nothing_twice() {
    let directory = Directory::new();
    // Uses no external data, so that the result is the same wherever the tests run.
    let reproduce = "reproduce --quick --data none --out r";
    directory.run(&format!("{reproduce} --only collapse,batches")).ok();
    let results = || std::fs::read_to_string(directory.file("r/results.jsonl")).unwrap();
    let part = results();
    // The last line of the file is truncated, as after an interruption; its result is recomputed.
    let cut = part.len() - 40;
    directory.write("r/results.jsonl", &part[..cut]);
    let said = directory.run(reproduce).ok().err;
    let before = part.lines().count() - 1;
    assert!(said.contains(&format!("of which {before} are there already")), "{said}");
    assert!(said.contains("MNIST is left out"), "{said}");
    let all = results();
    let keys = |text: &str| -> Vec<String> {
        let key = |line: &str| serde_json::from_str::<Value>(line).unwrap()["key"].to_string();
        text.lines().map(key).collect()
    };
    let different: std::collections::HashSet<String> = keys(&all).into_iter().collect();
    assert_eq!(different.len(), keys(&all).len(), "no run twice");
    assert!(keys(&part).iter().all(|key| different.contains(key)));

    // A second call has nothing to do, and the page stays the same.
    let page = std::fs::read(directory.file("r/report.html")).unwrap();
    let said = directory.run(reproduce).ok().err;
    assert!(said.contains(&format!("of which {} are there already", different.len())), "{said}");
    directory.run(&format!("{reproduce} --report-only")).ok();
    assert_eq!(results(), all);
    assert_eq!(std::fs::read(directory.file("r/report.html")).unwrap(), page);
    let page = String::from_utf8(page).unwrap();
    for section in [
        "found",
        "tables",
        "curves",
        "sensitivity",
        "balance",
        "scaling",
        "convergence",
        "collapse",
        "tsne",
        "cost",
        "orders",
        "batches",
        "claims",
    ] {
        let start = page.find(&format!("<section id=\"{section}\">")).expect(section);
        let end = start + page[start..].find("</section>").unwrap();
        let text = &page[start..end];
        assert!(text.contains("<table") || text.contains("<circle"), "{section} is empty");
        assert!(!text.contains("no results"), "{section}");
    }
    // The findings come first. The first of them states that a quick run says nothing about the
    // paper.
    let first = page.find("<section").expect("sections");
    assert!(page[first..].starts_with("<section id=\"found\"><h2>What was found</h2>"));
    assert!(page[first..].split_once("<p").unwrap().1.starts_with(" class=\"notice\""));
    let plain = page.split("class=\"notice\"").nth(1).unwrap().split("</p>").next().unwrap();
    assert!(plain.contains("Toy digits judge nothing"), "{plain}");
    assert!(!page.contains("verdict holds") && !page.contains("verdict does-not-hold"));
    assert!(page.contains("<title>\u{201c}Towards Optimal Discrete Online Hashing"));
    assert!(
        !page.contains("http://")
            || page.matches("http://").count() == page.matches("www.w3.org").count()
    );
    let markdown = std::fs::read_to_string(directory.file("r/RESULTS.md")).unwrap();
    assert!(markdown.starts_with("# \u{201c}Towards Optimal"), "{}", &markdown[..200]);
    assert!(markdown.contains("> **This was a quick run. Toy digits judge nothing"));
    for figure in markdown.split("](figures/").skip(1) {
        let name = figure.split(')').next().unwrap();
        assert!(directory.file(&format!("r/figures/{name}")).exists(), "{name}");
    }

    // The numbers equal those that `compare` prints for the same runs.
    let digits = digits();
    let compare = format!(
        "compare --data {digits}:0-63 --labels {digits}:64 --queries-per-class 20 --rows 1500 \
         --batch 150 --preset mnist --seeds 2 --bits 64 --methods brook,bsodh,osh --json"
    );
    for row in directory.run(&compare).ok().json() {
        for seed in 1..=2 {
            let method = row["method"].as_str().unwrap();
            let key = format!("digits | {method} | 64 bits | seed {seed} | batch 150");
            let line = all.lines().find(|line| line.contains(&format!("\"{key}\""))).expect(&key);
            let record: Value = serde_json::from_str(line).unwrap();
            let point = &record["checkpoints"][0];
            assert_eq!(point["mAP"], row["mAP"]["each"][seed - 1], "{key}");
            let radius = &row["precision_radius_2"]["each"][seed - 1];
            assert_eq!(&point["precision_radius_2"], radius, "{key}");
        }
    }
    directory
        .run("reproduce --only nothing --out r")
        .fails_with(&["no experiment \"nothing\"", "tables"]);
    directory.run("reproduce --report-only --out none").fails_with(&["none holds no results yet"]);
    directory
        .run("reproduce --data none --out empty")
        .fails_with(&["no data is at hand", "--quick"]);
}

/// Command that runs one experiment on local files in place of a data set of the paper.
const ORDERS: &str = "reproduce --only orders --seeds 1 --out r";

/// Creates a data directory: digits in an order that depends on the seed.
fn data(directory: &Directory, name: &str, seed: u64) {
    let digits = digits();
    let split = format!(
        "split --data {digits}:0-63 --labels {digits}:64 --queries-per-class 1 --seed {seed} --out s{seed}"
    );
    directory.run(&split).ok();
    let set = directory.file(name).join("cifar10-cnn");
    std::fs::create_dir_all(&set).unwrap();
    std::fs::rename(directory.file(&format!("s{seed}/db.npy")), set.join("features.npy")).unwrap();
    std::fs::rename(directory.file(&format!("s{seed}/db-labels.npy")), set.join("labels.npy"))
        .unwrap();
}

#[test]
fn results_of_other_data_are_not_used_and_not_lost() {
    let directory = Directory::new();
    data(&directory, "one", 1);
    data(&directory, "two", 2);
    let results = || std::fs::read_to_string(directory.file("r/results.jsonl")).unwrap();
    let numbers = || {
        let text = std::fs::read_to_string(directory.file("r/RESULTS.md")).unwrap();
        text.lines().filter(|line| line.contains("(released)")).collect::<String>()
    };
    let said = directory.run(&format!("{ORDERS} --data one")).ok().err;
    assert!(said.contains("9 runs, of which 0 are there already"), "{said}");
    assert!(!said.contains("other data"), "{said}");
    let (first, of_one) = (results(), numbers());

    let said = directory.run(&format!("{ORDERS} --data two")).ok().err;
    assert!(said.contains("9 runs, of which 0 are there already"), "{said}");
    assert!(said.contains("9 results in r/results.jsonl are of other data"), "{said}");
    assert!(said.contains("not used, and kept"), "{said}");
    let both = results();
    assert!(both.starts_with(&first), "nothing is lost");
    assert_eq!(both.lines().count(), 18);
    let of_two = numbers();
    assert_ne!(of_one, of_two);

    // The first data set is used again, and its results are found.
    let said = directory.run(&format!("{ORDERS} --data one")).ok().err;
    assert!(said.contains("9 runs, of which 9 are there already"), "{said}");
    assert_eq!((results(), numbers()), (both.clone(), of_one));
    // Without data, the report uses the most recent data set, and a warning says so.
    let said = directory.run(&format!("{ORDERS} --report-only")).ok().err;
    assert!(said.contains("9 results in r/results.jsonl are of other data"), "{said}");
    assert_eq!((results(), numbers()), (both, of_two));
}

#[test]
fn results_of_methods_with_other_parameters_are_computed_anew() {
    let directory = Directory::new();
    data(&directory, "one", 1);
    let path = directory.file("r/results.jsonl");
    directory.run(&format!("{ORDERS} --data one")).ok();
    let text = std::fs::read_to_string(&path).unwrap();
    // One record has another default value, and one was written before parameters were stored.
    let mut records: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records[0]["parameters"]["method"], "bsodh");
    records[0]["parameters"]["ridge"] = 0.123.into();
    records[1].as_object_mut().unwrap().remove("parameters");
    let old: String = records.iter().map(|record| format!("{record}\n")).collect();
    std::fs::write(&path, &old).unwrap();
    let said = directory.run(&format!("{ORDERS} --data one")).ok().err;
    assert!(said.contains("9 runs, of which 7 are there already"), "{said}");
    let other = "2 results in r/results.jsonl of methods with other parameters than they have now";
    assert!(said.contains(other), "{said}");
    let new = std::fs::read_to_string(&path).unwrap();
    assert!(new.starts_with(&old), "nothing is lost");
    assert_eq!(new.lines().count(), 11);
    let said = directory.run(&format!("{ORDERS} --data one")).ok().err;
    assert!(said.contains("9 runs, of which 9 are there already"), "{said}");
}

#[test]
fn what_cannot_be_done_says_why() {
    let directory = Directory::new();
    data(&directory, "one", 1);
    std::fs::rename(directory.file("one/cifar10-cnn"), directory.file("one/tinyimagenet-cnn"))
        .unwrap();
    let only = "reproduce --only tables --seeds 1 --data one --out r";
    directory.run(only).ok();
    let page = std::fs::read_to_string(directory.file("r/report.html")).unwrap();
    let why = "sketch must be even, from the 128 bits";
    assert!(page.contains(&format!("<abbr title=\"{why}")), "where it stands in the table");
    let text = std::fs::read_to_string(directory.file("r/RESULTS.md")).unwrap();
    let reason = text.lines().find(|line| line.starts_with("Cannot: ")).expect("a sentence");
    assert!(reason.contains(&format!("sketchhash with 128 bits: {why}")), "{reason}");
}
