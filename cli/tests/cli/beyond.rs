//! Measurements beyond the papers' protocol: `eval` with a dial, `compare --protocol`, `reproduce
//! --only beyond`.

use serde_json::{Value, json};

use crate::support::{Directory, digits};

const EVAL: &str = "eval --model m --data db.npy --labels db-labels.npy --queries queries.npy \
                    --query-labels query-labels.npy";

#[test]
fn bits_are_weighed_when_they_are_searched() {
    let directory = Directory::new().with_digits();
    directory
        .run("learn --data db.npy --labels db-labels.npy --bits 32 --set detail=0.5 --out m")
        .ok();
    let eval = |options: &str| {
        let mut outcome =
            directory.run(&format!("{EVAL} --neighbours=10 --json {options}")).ok().json();
        outcome.pop().unwrap()
    };
    let measure =
        |found: &Value, name: &str| found[name].as_f64().unwrap_or_else(|| panic!("{found}"));
    let plain = eval("");
    let same = eval("--label-weight 3 --detail-weight 3");
    assert_eq!(same["neighbours@10"], plain["neighbours@10"]);
    assert!((measure(&same, "mAP") - measure(&plain, "mAP")).abs() < 1e-12);
    let (labels, details) = (eval("--detail-weight 0"), eval("--label-weight 0"));
    assert!(measure(&labels, "mAP") > measure(&details, "mAP"));
    assert!(measure(&labels, "neighbours@10") < measure(&plain, "neighbours@10"));
    let float = eval("--float-query");
    assert!(measure(&float, "neighbours@10") > measure(&plain, "neighbours@10"));
    assert!(float.get("precision_radius_2").is_none() && plain["precision_radius_2"].is_number());
    let within = eval("--float-query --radius 128,100000");
    let far = measure(&within, "precision_radius_100000");
    assert!(measure(&within, "precision_radius_128") > far && far > 0.0, "{within}");
    directory
        .run(&format!("{EVAL} --label-weight 0 --detail-weight 0"))
        .fails_with(&["label_weight must be above 0 if detail_weight is 0"]);
    // Codes without detail bits leave nothing to weigh.
    directory.run("learn --method lsh --data db.npy --bits 16 --out m").ok();
    let told = directory.run(&format!("{EVAL} --label-weight 4")).ok().err;
    assert!(told.contains("these codes have no detail bits"), "{told}");
}

#[test]
fn an_index_is_searched_with_a_dial() {
    let directory = Directory::new().with_digits();
    let model = "learn --data db.npy --labels db-labels.npy --bits 32 --set detail=0.5 --out m";
    directory.run(model).ok();
    directory.run("index build --model m --data db.npy --vectors f16 --out i").ok();
    directory.run("encode --model m --data db.npy --out db-codes.npy").ok();
    directory.run("encode --model m --data queries.npy --out codes.npy").ok();
    directory.run("index build --codes db-codes.npy --out bare").ok();
    let search = |options: &str| directory.run(&format!("search {options} --json")).ok().json();
    let distances = |found: &[Value]| -> Vec<u64> {
        let rows = found.iter().filter_map(|row| row["distances"].as_array());
        rows.flatten().map(|distance| distance.as_u64().unwrap()).collect()
    };
    let of_vectors = "--index i --queries queries.npy -k 5";
    let plain = search(of_vectors);
    assert!(plain[plain.len() - 1].get("dial").is_none());
    let threes = search(&format!("{of_vectors} --label-weight 3 --detail-weight 3"));
    assert_eq!(plain[0]["ids"], threes[0]["ids"]);
    let tripled: Vec<u64> = distances(&plain).iter().map(|distance| 3 * distance).collect();
    assert_eq!(distances(&threes), tripled);

    // Vectors and codes give the same hits, whether the index stores its function or the function
    // is given.
    let mut labels = search(&format!("{of_vectors} --label-weight 4"));
    let told = labels.pop().unwrap()["dial"].clone();
    let dial = json!({ "label_weight": 4, "detail_weight": 1, "float_query": false, "unit": 1 });
    assert_eq!(told, dial);
    assert_ne!(distances(&labels), distances(&plain));
    for same in ["--index i --codes codes.npy", "--index bare --model m --queries queries.npy"] {
        let mut found = search(&format!("{same} -k 5 --label-weight 4"));
        found.pop();
        assert_eq!(found, labels, "{same}");
    }
    let mut float = search(&format!("{of_vectors} --label-weight 4 --float-query"));
    assert_eq!(float.pop().unwrap()["dial"]["unit"], 64);
    let farthest = *distances(&float).iter().max().unwrap();
    let within = format!(
        "--index i --queries queries.npy --float-query --label-weight 4 --radius {farthest}"
    );
    let within = search(&within);
    assert!(float.iter().zip(&within).all(|(k, all)| {
        let (k, all) = (k["ids"].as_array().unwrap(), all["ids"].as_array().unwrap());
        all.starts_with(k)
    }));
    assert_eq!(distances(&within).into_iter().max(), Some(farthest));
    let ranked = search(&format!("{of_vectors} --rerank 50 --float-query"));
    assert!(ranked[0]["scores"].is_array() && ranked[ranked.len() - 1]["dial"].is_object());
    let shown = directory.run(&format!("search {of_vectors} --float-query")).ok().out;
    assert!(shown.contains("; distances in 1/64 of a bit"), "{shown}");

    let of_codes = |index: &str, options: &str| {
        directory.run(&format!("search --index {index} --codes codes.npy -k 1 {options}"))
    };
    of_codes("i", "--float-query").fails_with(&["it takes vectors, not codes"]);
    of_codes("bare", "--label-weight 2").fails_with(&["nothing tells label bits from detail bits"]);
    of_codes("bare", "--label-weight 2 --detail-weight 2").ok();
    of_codes("i", "--label-weight 10001").fails_with(&["at most 10000, not 10001"]);
    directory.run("learn --method lsh --data db.npy --bits 16 --out lsh").ok();
    directory.run("index build --model lsh --data db.npy --out lsh.index").ok();
    let of_vectors = "--index lsh.index --queries queries.npy -k 5";
    let told = directory.run(&format!("search {of_vectors} --label-weight 4")).ok().err;
    assert!(told.contains("these codes have no detail bits: all bits weigh the same"), "{told}");
    directory
        .run(&format!("search {of_vectors} --label-weight 0"))
        .fails_with(&["nothing to rank by"]);
}

#[test]
fn methods_are_compared_by_every_protocol() {
    let directory = Directory::new();
    let digits = digits();
    let compare = format!(
        "compare --data {digits}:0-63 --labels {digits}:64 --queries-per-class 10 --rows 900 --seeds 2 \
         --bits 16,32 --methods bsodh --out kept"
    );
    for (protocol, columns) in [
        ("unseen", ["unseen_alone_mAP", "unseen_mAP@1000", "seen_mAP"]),
        ("kept-out", ["streamed_mAP", "others_mAP@1000", "others_precision@100"]),
        ("neighbours", ["neighbours@10", "precision@1", "precision@1_by_vectors"]),
        ("incremental", ["mixed_mAP", "first_mAP_then", "first_mAP_at_end"]),
        ("pairs", ["mAP", "mAP@1000", "ndcg@100"]),
        ("superclass", ["mAP", "mAP@1000", "ndcg@100"]),
    ] {
        let run =
            |form: &str| directory.run(&format!("{compare} --protocol {protocol} {form}")).ok();
        let found = run("--json").json();
        let names: Vec<&str> = found.iter().map(|row| row["method"].as_str().unwrap()).collect();
        assert_eq!(names, ["bsodh", "lsh", "itq", "cosine", "bsodh", "lsh", "itq"], "{protocol}");
        for (row, name) in found.iter().flat_map(|row| columns.map(|name| (row, name))) {
            let each = row[name]["each"].as_array().unwrap();
            assert!(each.len() == 2 && each.iter().all(Value::is_number), "{name}: {row}");
        }
        assert!(found[3]["bits"].is_null() && found[0]["bits"] == 16);
        if protocol == "neighbours" {
            assert_eq!(found[3]["neighbours@10"]["mean"], 1.0);
        }
        // Results are stored and reused, and are equal in every output format.
        let csv = run("--csv").out;
        let first = &found[0][columns[0]]["each"][0];
        assert!(csv.lines().nth(1).unwrap().contains(&first.to_string()), "{csv}");
        assert!(csv.lines().any(|line| line.starts_with("cosine,,2,")), "{csv}");
        let table = run("").out;
        assert!(table.contains("cosine") && table.contains('±'), "{table}");
    }
    assert_eq!(std::fs::read_dir(directory.file("kept")).unwrap().count(), 6 * (2 * 3 * 2 + 2));
    directory
        .run(&format!("{compare} --methods cosine"))
        .fails_with(&["there is no method \"cosine\""]);
}

#[test]
fn classes_that_rows_do_not_have_are_an_error() {
    let directory = Directory::new();
    let (mut rows, mut labels) = (String::new(), String::new());
    for row in 0..60 {
        rows += &format!("{},{},{}\n", row % 7, row % 5, row % 3);
        labels += if row % 2 == 0 { "cat,dog\n" } else { "dog,cow\n" };
    }
    directory.write("x.csv", rows);
    directory.write("y.txt", labels);
    for protocol in ["unseen", "incremental", "pairs", "superclass"] {
        directory
            .run(&format!(
                "compare --data x.csv --labels y.txt --methods lsh --bits 2 --queries-per-class 2 \
                 --seeds 1 --rows 40 --protocol {protocol}"
            ))
            .fails_with(&["need one label per row; row 0 has 2"]);
    }
    let kept_out = "compare --data x.csv --labels y.txt --methods lsh --bits 2 --queries-per-class 2 \
                    --seeds 1 --protocol kept-out";
    directory.run(&format!("{kept_out} --rows 40")).ok();
    directory.run(kept_out).fails_with(&["all 54 rows of the database are streamed", "--rows"]);
}

#[test]
fn several_labels_are_drawn_from_the_whole_data() {
    let directory = Directory::new();
    let digits = digits();
    let compare = format!(
        "compare --data {digits}:0-63 --labels {digits}:64 --seeds 1 --bits 16 --methods bsodh --json"
    );
    // 1,797 rows give 898 pairs. Ten pairs for each of ten classes are queries; all others can be
    // learned.
    let by = |options: &str| directory.run(&format!("{compare} {options}")).ok().json();
    let found = by("--protocol pairs --queries-per-class 10 --top 50 --ndcg-at 20");
    let row = |name: &str| found.iter().find(|row| row["method"] == name).unwrap();
    for column in ["mAP", "mAP@50", "ndcg@20", "precision_radius_2", "learn_seconds"] {
        assert!(row("bsodh")[column]["mean"].is_number(), "{column}: {found:?}");
        let vectors = !["precision_radius_2", "learn_seconds"].contains(&column);
        assert_eq!(row("cosine")[column]["mean"].is_number(), vectors, "{column}: {found:?}");
    }
    // The papers' split uses other rows.
    let paper = by("--protocol paper --queries-per-class 10 --top 50 --ndcg-at 20");
    assert_ne!(paper[0]["mAP"], row("bsodh")["mAP"]);
    for (protocol, made) in [("pairs", 898), ("superclass", 1797)] {
        let few = format!("{compare} --protocol {protocol} --queries-per-class 180");
        directory.run(&few).fails_with(&[
            &format!("1800 queries for {protocol}, 180 for each of 10 classes"),
            &format!("queries must be above 0 and below {made}, which is what 1797 rows give"),
        ]);
    }
}

#[test]
fn the_report_has_what_the_paper_does_not_measure() {
    let directory = Directory::new();
    directory.run("reproduce --quick --only beyond --seeds 1 --out r").ok();
    let results = std::fs::read_to_string(directory.file("r/results.jsonl")).unwrap();
    assert_eq!(results.lines().count(), 6 * 7, "protocols and methods");
    let record = |key: &str| -> Value {
        let line = results.lines().find(|line| line.contains(&format!("\"{key}\""))).expect(key);
        serde_json::from_str(line).unwrap()
    };
    let seen = record("digits | brook | 64 bits | seed 1 | batch 150 | unseen");
    assert!(seen["measured"]["seen_alone_mAP"].as_f64().unwrap() > 0.9, "{seen}");
    let cosine = record("digits | cosine | 64 bits | seed 1 | batch 150 | neighbours");
    assert_eq!(cosine["measured"]["neighbours@10"], 1.0, "{cosine}");
    for protocol in ["pairs", "superclass"] {
        let measured = |spec: &str| {
            let key = format!("digits | {spec} | 64 bits | seed 1 | batch 150 | {protocol}");
            record(&key)["measured"].clone()
        };
        let (brook, cosine) = (measured("brook"), measured("cosine"));
        let map = |found: &Value| found["mAP"].as_f64().unwrap();
        assert!(map(&brook) > map(&cosine) && map(&cosine) > map(&measured("lsh")), "{protocol}");
        assert!(brook["precision_radius_2"].is_number() && brook["learn_seconds"].is_number());
        // Cosine similarity has no radius and learns nothing.
        assert_eq!(cosine.as_object().unwrap().len(), 3, "{cosine}");
    }
    let markdown = std::fs::read_to_string(directory.file("r/RESULTS.md")).unwrap();
    for part in [
        "Beyond the paper",
        "classes that the stream never had",
        "| cosine |",
        "Digits, 8 x 8 pixels: two labels, of rows averaged two at a time, 64 bits",
        "Digits, 8 x 8 pixels: two labels, of classes and superclasses, 64 bits",
        "| method | mAP | mAP@1000 | ndcg@100 | P r<=2 | learn, s |",
    ] {
        assert!(markdown.contains(part), "{part}: {markdown}");
    }
}
