//! `index`, `search` and `dedup`.

use crate::support::Directory;

#[test]
fn from_vectors_to_neighbours() {
    let directory = Directory::new().with_index();
    let info = directory.run("index info i.index --json").json()[0].clone();
    let items = info["items"].as_u64().unwrap();
    assert!(items > 1000 && info["bits"] == 48 && info["dim"] == 64, "{info}");
    assert_eq!(info["labels"].as_array().unwrap().len(), 10);

    // Vectors and codes give the same hits, and every item is its own nearest neighbour.
    directory.run("encode --model m.model --data db.npy --out codes.npy").ok();
    let by_vector = directory.run("search --index i.index --queries db.npy -k 5 --json").ok();
    let by_code = directory.run("search --index i.index --codes codes.npy -k 5 --json").ok();
    let (by_vector, by_code) = (by_vector.json(), by_code.json());
    let last = by_vector.last().unwrap();
    assert_eq!(last["queries"], items);
    assert!(last["seconds"].as_f64().unwrap() > 0.0 && last["codes_per_second"].is_number());
    assert_eq!(by_vector[..items as usize], by_code[..items as usize]);
    assert_eq!(by_vector[7]["distances"][0], 0);

    // A filter by label returns only items with that label, and an npz file contains the same hits.
    let command = "search --index i.index --codes codes.npy --radius 3 --where label=7 --json";
    let filtered = directory.run(command).ok().json();
    let labels = directory.run("index info i.index --json").json()[0].clone();
    assert!(labels["labels"].as_array().unwrap().iter().any(|label| label == "7"));
    let all = directory.run("search --index i.index --codes codes.npy --radius 3 --json").ok();
    assert!(
        all.json().last().unwrap()["found"].as_u64() > filtered.last().unwrap()["found"].as_u64()
    );
    directory.run("search --index i.index --codes codes.npy -k 3 --out r.npz").ok();
    directory.run("search --index i.index --codes codes.npy --radius 2 --out r2.npz").ok();
    let shown = directory.run("search --index i.index --queries db.npy -k 2").ok();
    assert!(shown.out.contains("query 0: ") && shown.out.contains(" at 0"), "{}", shown.out);

    // Tries every kernel.
    for kernel in ["portable", "avx2", "avx512", "neon"] {
        let found = directory.run(&format!(
            "search --index i.index --codes codes.npy -k 5 --json --kernel {kernel} --one-by-one --scan"
        ));
        if found.status == Some(0) {
            assert_eq!(found.json()[..items as usize], by_code[..items as usize], "{kernel}");
        } else {
            assert!(found.err.contains("there are: "), "{}", found.err);
        }
    }
}

#[test]
fn indexes_change() {
    let directory = Directory::new().with_index();
    let count = || directory.run("index info i.index --json").json()[0]["items"].as_u64().unwrap();
    let before = count();
    let removed = directory.run("index remove i.index --id 0,1,999999 --json").json()[0].clone();
    assert_eq!((removed["removed"].as_u64(), count()), (Some(2), before - 2));
    directory.write("ids.txt", "5\n6\n");
    let removed = directory.run("index remove i.index --ids ids.txt --json").json()[0].clone();
    assert_eq!(removed["removed"], 2);
    // Without given ids, new items get consecutive ids after the largest.
    let added =
        directory.run("index add i.index --data db.npy --labels db-labels.npy --json").json()[0]
            .clone();
    assert_eq!((added["added"].as_u64(), count()), (Some(before), 2 * before - 4));
    let text: String = (0..before).map(|id| format!("{id}\n")).collect();
    directory.write("all.txt", text);
    directory
        .run("index add i.index --data db.npy --ids all.txt")
        .fails_with(&["is there already", "upsert"]);
    directory.run("index add i.index --data db.npy --ids all.txt --upsert").ok();
    assert_eq!(count(), 2 * before);
    directory.run("index verify i.index").ok();
    let compacted = directory.run("index compact i.index --json").json()[0].clone();
    assert_eq!(compacted["items"], 2 * before);
    assert!(
        directory.names().iter().all(|name| !name.contains(".part")),
        "{:?}",
        directory.names()
    );
}

#[test]
fn items_get_other_labels() {
    let directory = Directory::new().with_index();
    directory.run("encode --model m.model --data db.npy --out codes.npy").ok();
    let found = |label: &str| {
        let search = "search --index i.index --codes codes.npy -k 2000 --json --where";
        let hits = directory.run(&format!("{search} label={label}")).ok().json()[0].clone();
        let mut ids: Vec<u64> =
            hits["ids"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect();
        ids.sort_unstable();
        ids
    };
    let sevens = found("7").len();
    let done = directory.run("index label i.index --id 3,5 --label new,other, --json").ok().json();
    assert_eq!(done[0]["labelled"], 2, "{done:?}");
    assert_eq!((found("new"), found("other")), (vec![3, 5], vec![3, 5]));
    let names = directory.run("index info i.index --json").json()[0]["labels"].clone();
    assert_eq!(names.as_array().unwrap().len(), 12, "{names}");
    directory.write("changed.csv", "item,kind\n5,7\n8,third\n");
    directory.run("index label i.index --ids changed.csv:item --labels changed.csv:kind").ok();
    assert_eq!((found("new"), found("third")), (vec![3], vec![8]));
    assert!(found("7").contains(&5) && found("7").len().abs_diff(sevens) < 4);
    directory.run("index label i.index --id 3 --label=").ok();
    assert_eq!(found("new"), [0; 0]);
    directory.run("index verify i.index").ok();

    directory.write("one.txt", "seven\n");
    let before = directory.run("index info i.index --json").json()[0]["labels"].clone();
    for (command, status, problem) in [
        ("--id 3,999999 --label never", 1, "there is no item 999999; nothing was changed"),
        ("--id 3,3 --label never", 1, "id 3 is given more than once"),
        ("--id three --label never", 1, "an integer of 0 or more was expected"),
        ("--ids changed.csv:item --labels one.txt", 1, "one.txt"),
        ("--id 3", 2, "--label <NAME,...>"),
        ("--ids changed.csv:item --label never", 2, "--label"),
        ("--label never", 2, "--id"),
    ] {
        let wrong = directory.run(&format!("index label i.index {command}"));
        assert_eq!(wrong.status, Some(status), "{command}: {}", wrong.err);
        assert!(wrong.err.contains(problem), "{command}: {}", wrong.err);
    }
    assert_eq!(directory.run("index info i.index --json").json()[0]["labels"], before);
}

#[test]
fn items_are_encoded_anew() {
    let directory = Directory::new().with_index();
    directory.run("learn --bits 32 --data db.npy --labels db-labels.npy --out newer.model").ok();
    directory.run("index build --model newer.model --data db.npy --labels db-labels.npy --out expected.index").ok();
    let found = |index: &str| {
        let mut lines = directory
            .run(&format!("search --index {index} --queries db.npy -k 4 --json"))
            .ok()
            .json();
        lines.pop();
        lines
    };
    let before = found("i.index");
    let renew = "index renew i.index --model newer.model --data db.npy";
    directory.write("few.txt", "1\n2\n");
    directory.run(&format!("{renew} --ids few.txt")).fails_with(&["2 ids", "one per item"]);
    let items = before.len();
    let others: String = (1..=items).map(|id| format!("{id}\n")).collect();
    directory.write("others.txt", others);
    directory.run(&format!("{renew} --ids others.txt")).fails_with(&["no item"]);
    directory.run(&format!("{renew} --data db.npy")).fails_with(&["one row for each item"]);
    assert_eq!(found("i.index"), before);
    let renewed = directory.run(&format!("{renew} --json")).ok().json()[0].clone();
    assert_eq!(renewed["renewed"], items);
    assert_eq!(found("i.index"), found("expected.index"));
    directory.run("index verify i.index").ok();
    let labels = directory.run("index info i.index --json").json()[0]["labels"].clone();
    assert_eq!(labels.as_array().unwrap().len(), 10);
}

#[test]
fn hits_are_re_ranked_by_vectors_that_the_index_stores() {
    let directory = Directory::new().with_index();
    let build = "index build --model m.model --data db.npy --labels db-labels.npy";
    // A model learned from other rows has another centre.
    directory
        .run("learn --bits 32 --warmup 300 --data db.npy --labels db-labels.npy --out o.model")
        .ok();
    for (format, bytes) in [("f16", 136), ("i8", 76)] {
        let index = format!("{format}.index");
        directory.run(&format!("{build} --vectors {format} --out {index}")).ok();
        let info = directory.run(&format!("index info {index} --json")).json()[0].clone();
        let items = info["items"].as_u64().unwrap();
        assert_eq!(
            (&info["vectors"], &info["vector_bytes"]),
            (&format.into(), &(bytes * items).into())
        );
        let shown = directory.run(&format!("info {index}")).ok();
        assert!(shown.out.contains(&format!("stored as {format}")), "{}", shown.out);
        assert!(shown.out.contains(&format!("vector {bytes}.0")), "{}", shown.out);

        // The queries are items. By vectors, each item is its own nearest neighbour; codes alone do
        // not distinguish it from other items.
        let search = format!("search --index {index} --queries db.npy");
        let found = directory.run(&format!("{search} -k 3 --rerank 400 --json")).ok().json();
        let right = (0..items as usize).filter(|&at| found[at]["ids"][0] == at).count();
        assert!(right as u64 > items * 99 / 100, "{right} of {items}");
        let (cosines, labels) = (&found[7]["scores"], &found[7]["labels"]);
        assert!(cosines[0].as_f64().unwrap() > 0.999, "{cosines}");
        assert!(cosines[0].as_f64() >= cosines[1].as_f64(), "{cosines}");
        assert!(labels.as_array().unwrap().len() == 3 && found[7]["distances"][0] == 0);
        let near = directory.run(&format!("{search} --radius 3 --rerank 5 --where label=7 --json"));
        assert!(near.ok().json()[..9].iter().all(|row| row["ids"].as_array().unwrap().len() <= 5));
        directory.run(&format!("{search} -k 3 --rerank 400 --out r.csv")).ok();
        let table = std::fs::read_to_string(directory.file("r.csv")).unwrap();
        assert!(table.starts_with("query,rank,id,distance,score,labels\n0,0,0,0,"), "{table:.80}");
        directory.run(&format!("{search} -k 3 --rerank 400 --out r.npz")).ok();
        let shown = directory.run(&format!("{search} -k 2 --rerank 400")).ok();
        assert!(shown.out.contains("] at 1") || shown.out.contains("] at 0.99"), "{}", shown.out);

        // Adds the same rows as new items, then re-encodes all items from the stored vectors.
        directory.run("encode --model m.model --data db.npy --out codes.npy").ok();
        directory.run(&format!("index add {index} --codes codes.npy")).fails_with(&["codes alone"]);
        directory.run(&format!("index add {index} --data db.npy --labels db-labels.npy")).ok();
        directory.run(&format!("index renew {index} --model m.model")).ok();
        directory.run(&format!("index verify {index}")).ok();
        let again = directory.run(&format!("{search} -k 2 --rerank 400 --json")).ok().json();
        assert_eq!(again[7]["ids"][1], 7 + items, "the same vector, under the next id");
        directory
            .run(&format!("index renew {index} --model o.model"))
            .fails_with(&["the centre differs", "Give the vectors"]);
    }
    directory
        .run("search --index i.index --queries db.npy -k 3 --rerank 9")
        .fails_with(&["--vectors"]);
    directory.run("index renew i.index --model m.model").fails_with(&["--data"]);
    let wrong = directory.run(&format!("{build} --vectors f64 --out x.index"));
    assert!(wrong.status == Some(2) && wrong.err.contains("f16 and i8"), "{wrong:?}");
}

/// Re-ranks by cosines, products and distances of the original digits, not of the digits centred by
/// the model.
#[test]
fn re_ranking_is_by_the_metric_that_the_index_was_built_with() {
    let directory = Directory::new().with_index();
    let build = "index build --model m.model --data db.npy --vectors f16";
    let mut scores = Vec::new();
    for metric in ["cosine", "inner_product", "l2"] {
        directory.run(&format!("{build} --metric {metric} --out {metric}.index")).ok();
        let info = directory.run(&format!("index info {metric}.index --json")).json()[0].clone();
        assert_eq!(info["metric"], metric);
        let search =
            format!("search --index {metric}.index --queries db.npy -k 2 --rerank 2000 --json");
        let found = directory.run(&search).ok().json()[0].clone();
        scores.push(
            found["scores"]
                .as_array()
                .unwrap()
                .iter()
                .map(|s| s.as_f64().unwrap())
                .collect::<Vec<_>>(),
        );
    }
    let [cosines, products, distances] = &scores[..] else { unreachable!("of three metrics") };
    // The first digit is its own best hit: no other digit has a larger product with it.
    assert!((cosines[0] - 1.0).abs() < 1e-3 && distances[0] < 2.0, "{scores:?}");
    assert!(products[0] > 2000.0 && products[0] >= products[1], "{scores:?}");
    assert!(distances[0] < distances[1] && cosines[0] > cosines[1], "{scores:?}");
    directory
        .run(&format!("{build} --metric angle --out x.index"))
        .refused_with(&["cosine, inner_product or l2", "angle"]);
    directory
        .run("index build --model m.model --data db.npy --metric l2 --out x.index")
        .refused_with(&["--vectors"]);
}

#[test]
fn an_index_of_few_codes_says_why_it_has_no_search_structure() {
    let directory = Directory::new().with_index();
    for (options, chosen) in [("", "full"), ("--structure small", "small")] {
        let build = "index build --model m.model --data db.npy --out few.index --force";
        directory.run(&format!("{build} {options}")).ok();
        let said = directory.run("info few.index").ok().out;
        let expected = format!("none (built from 16,384 codes on; {chosen} was chosen)");
        assert!(said.contains(&expected), "{said}");
        let info = directory.run("info few.index --json").ok().json()[0].clone();
        assert_eq!(info["structure"], chosen, "{info}");
        assert_eq!(
            (&info["structure_bytes"], &info["structure_least_codes"]),
            (&0.into(), &16384.into())
        );
    }
}

#[test]
fn the_search_structure_is_chosen_and_kept() {
    let directory = Directory::new().with_index();
    directory.run("encode --model m.model --data db.npy --out few.npy").ok();
    let twelve = ["--codes few.npy"; 12].join(" ");
    let structure = |index: &str| {
        let info = directory.run(&format!("index info {index} --json")).ok().json()[0].clone();
        info["structure_bytes"].as_u64().unwrap()
    };
    let mut bytes = Vec::new();
    for kind in ["none", "small", "full"] {
        directory
            .run(&format!("index build {twelve} --bits 48 --structure {kind} --out {kind}.index"))
            .ok();
        let before = structure(&format!("{kind}.index"));
        directory.run(&format!("index compact {kind}.index")).ok();
        assert_eq!(structure(&format!("{kind}.index")), before, "{kind} stays");
        directory.run(&format!("index verify {kind}.index")).ok();
        bytes.push(before);
    }
    assert!(bytes[0] == 0 && 0 < bytes[1] && bytes[1] < bytes[2], "{bytes:?}");
    let said = |index: &str| directory.run(&format!("info {index}")).ok().out;
    assert!(said("none.index").contains("none, as chosen"), "{}", said("none.index"));
    assert!(said("full.index").contains("full, "), "{}", said("full.index"));
    directory.run("index compact full.index --structure small").ok();
    assert_eq!(structure("full.index"), bytes[1]);
    let found = |index: &str| {
        directory.run(&format!("search --index {index} --codes few.npy -k 5 --json")).ok().json()
            [..20]
            .to_vec()
    };
    assert_eq!(found("none.index"), found("small.index"));
    directory
        .run("index compact full.index --structure some")
        .refused_with(&["none, small or full", "some"]);
}

#[test]
fn near_duplicates_are_listed() {
    let directory = Directory::new().with_index();
    directory.run("index add i.index --data db.npy").ok();
    let groups = directory.run("dedup --index i.index --radius 0").ok();
    // Every digit occurs twice.
    assert!(groups.out.lines().all(|line| line.split(' ').count() >= 2), "{}", groups.out);
    directory.run("encode --model m.model --data db.npy --out codes.npy").ok();
    let json = directory.run("dedup --codes codes.npy --radius 2 --bits 48 --json").ok();
    let last = json.json().last().unwrap().clone();
    assert_eq!(last["groups"].as_u64().unwrap() as usize, json.out.lines().count() - 1);
    directory.run("dedup --codes codes.npy --radius 2 --out groups.txt").ok();
    assert!(directory.names().contains(&"groups.txt".to_owned()));
}

#[test]
fn what_does_not_fit_is_said() {
    let directory = Directory::new().with_index();
    directory.run("encode --model m.model --data db.npy --out codes.npy").ok();
    directory.write("broken.index", b"no index at all");
    directory.write("ids.txt", "1\n-2\n");
    directory.write("few.txt", "1\n");
    let bytes = std::fs::read(directory.file("i.index")).unwrap();
    directory.write("short.index", &bytes[..bytes.len() / 2]);
    let mut flipped = bytes.clone();
    let middle = bytes.len() / 2;
    flipped[middle] ^= 4;
    directory.write("flipped.index", &flipped);
    for (arguments, status, expected) in [
        ("search --index none.index --codes codes.npy -k 1", 1, "none.index"),
        ("search --index broken.index --codes codes.npy -k 1", 1, "is not an index file"),
        (
            "encode --model i.index --data db.npy --out o.index",
            1,
            "i.index: is an index; expected a model",
        ),
        ("index info m.model", 1, "m.model: is a model; expected an index: build an index with it"),
        ("search --index short.index --codes codes.npy -k 1", 1, "is cut short"),
        ("index verify flipped.index", 1, "is damaged"),
        ("search --index i.index --codes codes.npy", 2, "-k"),
        ("search --index i.index -k 1", 2, "--queries"),
        ("search --index i.index --codes codes.npy -k 0", 1, "k must be 1 or more"),
        ("search --index i.index --codes db-labels.npy -k 1", 1, "db-labels.npy"),
        ("search --index i.index --queries db-labels.npy -k 1", 1, "64"),
        (
            "search --index i.index --codes codes.npy -k 1 --where label=77",
            1,
            "no item has the label",
        ),
        ("search --index i.index --codes codes.npy -k 1 --where colour=red", 1, "is no condition"),
        ("search --index i.index --codes codes.npy -k 1 --kernel fast", 1, "there is no kernel"),
        ("search --index i.index --codes codes.npy -k 1 --out codes.npy", 1, "choose another name"),
        ("index build --data db.npy --out o.index", 1, "--model"),
        ("index build --codes codes.npy --bits 40 --out o.index", 1, "6 bytes a row"),
        ("index build --codes codes.npy --ids few.txt --out o.index", 1, "one per item"),
        ("index build --codes codes.npy --ids ids.txt --out o.index", 1, "whole numbers"),
        ("index build --codes codes.npy --labels few.txt --out o.index", 1, "1 label"),
        ("index add i.index --codes db.npy", 1, "uint8"),
        ("index remove i.index", 2, "--id <ID,...>|--ids <FILE>"),
        ("search --index i.index --queries i.index -k 1", 1, "i.index is given twice"),
        ("index build --model m.model --data m.model --out o.index", 1, "m.model is given twice"),
        ("encode --model m.model --data m.model --out o.index", 1, "m.model is given twice"),
        ("dedup --radius 3", 2, "--index"),
    ] {
        let outcome = directory.run(arguments);
        assert_eq!(outcome.status, Some(status), "{outcome:#?}");
        assert!(outcome.err.contains(expected), "{outcome:#?}");
        assert!(!directory.file("o.index").exists(), "{arguments} left something");
    }
    assert_eq!(std::fs::read(directory.file("i.index")).unwrap(), bytes);
}

#[test]
fn ids_in_a_column_of_a_table() {
    let directory = Directory::new();
    directory.write("x.csv", "item,a,b,kind\n7,1,9,cat\n5,8,2,dog\n11,2,8,cat\n3,9,1,dog\n");
    directory.run("learn --bits 8 --data x.csv:a,b --labels x.csv:kind --out m").ok();
    let build = "index build --model m --data x.csv:a,b --out i.index --ids";
    directory.run(&format!("{build} x.csv:item,a")).fails_with(&["2 columns were picked"]);
    directory
        .run(&format!("{build} x.csv:kind"))
        .fails_with(&["row 0 is \"cat\"", "whole numbers"]);
    directory.run(&format!("{build} x.csv:0")).ok();
    let found = directory.run("search --index i.index --queries x.csv:a,b -k 9 --json").ok().json();
    let mut ids: Vec<u64> =
        found[0]["ids"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [3, 5, 7, 11]);
    directory.write("gone.csv", "item,why\n5,sold\n12,never there\n");
    let removed = directory.run("index remove i.index --ids gone.csv:item --json").ok().json();
    assert_eq!(removed[0]["removed"], 1);
}
