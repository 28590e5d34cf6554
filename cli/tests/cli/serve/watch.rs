//! Monitoring: before the first item, and after.

use std::time::Duration;

use serde_json::{Value, json};

use super::server::Server;
use crate::support::Directory;

#[test]
fn before_the_first_item_there_is_nothing() {
    let directory = Directory::new();
    let server = Server::small(&directory);
    assert!(server.said.contains("no collection yet"), "{}", server.said);
    let stats = server.get("/stats").ok();
    assert_eq!((&stats["items"], &stats["description"]), (&json!(0), &Value::Null));
    let empty = json!({"version": 0, "results": []});
    assert_eq!(server.post("/search", json!({"vector": [1, 2]})).ok(), empty);
    assert_eq!(server.post("/within", json!({"vector": [1, 2], "radius": 3})).ok(), empty);
    let several = json!({"queries": [{"vector": [1]}, {"vector": [2]}]});
    assert_eq!(server.post("/search", several).ok()["results"], json!([[], []]));
    assert_eq!(server.get("/items").ok(), json!({"ids": [], "next": null}));
    assert_eq!(server.get("/classes").ok()["classes"], json!([]));
    assert_eq!(server.post("/remove", json!({"ids": [1]})).ok()["removed"], 0);
    server.get("/items/1").fails(404, &["no item"]);
    server.delete("/items/1").fails(404, &["no item"]);
    server.post("/labels", json!({"items": [{"id": 1, "labels": "x"}]})).fails(404, &["no item"]);
    server.get("/model").fails(409, &["nothing was put in yet"]);
    server.post("/renew", json!({})).fails(409, &["nothing was put in yet"]);
    assert_eq!(server.get("/healthz").ok()["status"], "ok");
    assert_eq!(server.get("/readyz").ok()["status"], "ready");
    assert!(
        directory.names().is_empty(),
        "no directory is made of nothing: {:?}",
        directory.names()
    );
}

#[test]
fn precision_is_measured_on_held_out_items() {
    let directory = Directory::new().with_digits();
    let options = "--bits 32 --warmup 500 --renewal never --held-out 20";
    let server = Server::start(&directory, options);
    let put = "put --data db.npy --labels db-labels.npy --wait=learned";
    directory.run(&format!("client {} {put}", server.url())).ok();
    server.post("/renew", json!({})).ok();
    let stats = server.get("/stats").ok();
    assert_eq!(stats["description"]["held_out"], 20);
    let quality = &stats["quality"];
    assert_eq!(
        (&quality["measured_on"], &quality["unmeasured"]),
        (&json!("held_out"), &Value::Null)
    );
    let held_out = quality["held_out_items"].as_u64().unwrap();
    assert!((50..120).contains(&held_out), "{quality}");
    assert_eq!(quality["queries"].as_u64(), Some(held_out));
    assert_eq!(stats["learning"]["rows"].as_u64(), Some(1597 - held_out));
    for name in ["precision_at_10", "precision_at_10_per_class"] {
        let precision = quality[name].as_f64().unwrap();
        assert!(precision > 0.7 && precision <= 1.0, "{quality}");
        let line = format!("\nhashbrook_{name}{{measured_on=\"held_out\"}} {precision}\n");
        let text = server.get("/metrics").text();
        assert!(text.contains(&line), "{text}");
    }
    let shown = server.get("/metrics").text();
    assert!(shown.contains(&format!("\nhashbrook_held_out_items {held_out}\n")), "{shown}");
    std::thread::sleep(Duration::from_millis(1500));
    let samples = server.get("/history").ok()["samples"].clone();
    assert_eq!(samples.as_array().unwrap().last().unwrap()["measured_on"], "held_out");
    server.stop();
    // The held-out share of a collection cannot change.
    let other = Server::command(&directory, "--held-out 50").output().unwrap();
    let said = String::from_utf8(other.stderr).unwrap();
    assert!(
        !other.status.success() && said.contains("--held-out is 50, but the collection has 20"),
        "{said}"
    );
}

#[test]
fn numbers_tell_what_goes_on() {
    let directory = Directory::new();
    let server = Server::small(&directory).with_items(120);
    let stats = server.get("/stats").ok();
    assert_eq!((&stats["items"], &stats["labels"]), (&json!(120), &json!(2)));
    assert_eq!(
        (&stats["learning"]["rows"], &stats["learning"]["warm"]),
        (&json!(80), &json!(true))
    );
    let made = &stats["description"];
    assert_eq!(
        (&made["dim"], &made["bits"], &made["ids"]),
        (&json!(4), &json!(32), &json!("numbers"))
    );
    let learning = &stats["learning"];
    assert_eq!((&learning["enabled"], &learning["behind_rows"]), (&json!(true), &json!(0)));
    let renewal = &stats["renewal"];
    assert_eq!((&renewal["policy"], &renewal["catch_up_seconds"]), (&json!("never"), &json!(60.0)));
    server.post("/renew", json!({})).ok();
    let stats = server.get("/stats").ok();
    let quality = &stats["quality"];
    assert_eq!((&quality["queries"], &quality["unmeasured"]), (&json!(80), &Value::Null));
    assert_eq!(
        (&quality["measured_on"], &quality["held_out_items"]),
        (&json!("learned"), &json!(0))
    );
    assert!(quality["precision_at_10"].as_f64().unwrap() > 0.5, "{quality}");
    let age = stats["time"].as_f64().unwrap() - quality["measured_at"].as_f64().unwrap();
    assert!((0.0..30.0).contains(&age), "{stats}");
    let classes = server.get("/classes").ok();
    let labels: Vec<&str> = classes["classes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|class| class["label"].as_str().unwrap())
        .collect();
    assert_eq!(labels, ["plus", "minus"]);
    assert_eq!((&classes["bits"], &classes["sample"]), (&json!(32), &json!(120)));
    assert_eq!(classes["total"], 2);
    std::thread::sleep(Duration::from_millis(2500));
    let samples = server.get("/history").ok()["samples"].clone();
    let last = samples.as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["items"], &last["learned_rows"]), (&json!(120), &json!(80)));
    let path = format!("/history?after={}", last["time"]);
    assert!(
        server.get(&path).ok()["samples"].as_array().unwrap().len()
            < samples.as_array().unwrap().len()
    );
    server.get("/history?after=x").fails(422, &[]);

    let metrics = server.get("/metrics");
    assert_eq!(metrics.status, 200);
    assert!(metrics.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
    let text = metrics.text();
    assert!(text.contains("hashbrook_items 120\n"), "{text}");
    assert!(
        text.contains(
            "hashbrook_requests_total{method=\"POST\",route=\"/items\",status=\"200\"} 1\n"
        )
    );
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with("hashbrook_") && value.parse::<f64>().is_ok(), "{line}");
    }
}

#[test]
fn classes_are_listed_in_pages_and_found_by_a_part_of_their_label() {
    let directory = Directory::new();
    let server = Server::small(&directory);
    let item = |id: u32| json!({"id": id, "vector": [id % 7, id % 11, 1, 2], "labels": [format!("Kind {}", id % 300)]});
    server.post("/items", json!({"items": (0..900).map(item).collect::<Vec<_>>()})).ok();
    let labels = |path: &str| {
        let page = server.get(path).ok();
        let classes = page["classes"].as_array().unwrap().clone();
        let labels = classes.iter().map(|class| class["label"].as_str().unwrap().to_owned());
        (labels.collect::<Vec<String>>(), page["total"].as_u64().unwrap())
    };
    let (first, total) = labels("/classes");
    assert_eq!((first.len(), total), (100, 300));
    assert_eq!((first[0].as_str(), first[99].as_str()), ("Kind 0", "Kind 99"));
    let (all, _) = labels("/classes?limit=1000");
    let pages: Vec<String> = (0..4)
        .flat_map(|page| labels(&format!("/classes?limit=90&offset={}", 90 * page)).0)
        .collect();
    assert_eq!((all.len(), &pages), (300, &all));
    assert_eq!(labels("/classes?offset=300").0.len(), 0);
    let (found, total) = labels("/classes?contains=kIND%2029&limit=2&offset=1");
    assert_eq!((found, total), (vec!["Kind 290".to_owned(), "Kind 291".to_owned()], 11));
    let class = server.get("/classes?contains=Kind%207&limit=1").ok()["classes"][0].clone();
    assert_eq!((&class["label"], &class["items"]), (&json!("Kind 7"), &json!(3)));
    assert_eq!(class["code"].as_str().unwrap().len(), 8);
    server.get("/classes?limit=1001").fails(422, &["1001", "1000"]);
    server.get("/classes?offset=-1").fails(422, &[]);
    server.get("/classes?containing=x").fails(422, &["containing"]);
}

#[test]
fn the_model_is_a_file() {
    let directory = Directory::new();
    let server = Server::small(&directory).with_items(60);
    let version = server.post("/renew", json!({})).ok()["version"].to_string();
    let function = server.get("/model");
    assert_eq!(
        (function.status, function.header("hashbrook-version")),
        (200, Some(version.as_str()))
    );
    directory.write("m.function", &function.body);
    directory.write("m.model", &server.get("/model?full=true").body);
    assert!(directory.run("info m.function").ok().out.contains("32 bits"));
    assert_eq!(directory.run("info m.model --json").ok().json()[0]["seen"], 40);
    server.get("/model?full=maybe").fails(422, &[]);
}

#[test]
fn snapshots_go_below_their_folder_and_nowhere_else() {
    let directory = Directory::new();
    let server = Server::small(&directory).with_items(30);
    server.post("/snapshot", json!({"name": "a"})).fails(409, &["--snapshots"]);
    server.stop();
    let server = Server::start(&directory, "--snapshots copies/of");
    for name in ["", ".", "..", "../x", "/tmp/x", "a/b", ".hidden", "a b", "é", &"x".repeat(101)] {
        server.post("/snapshot", json!({"name": name})).fails(422, &["1 to 100"]);
    }
    server.post("/snapshot", json!({"name": "monday-1.0_x"})).ok();
    server.post("/snapshot", json!({"name": "monday-1.0_x"})).fails(409, &["already"]);
    server.post("/snapshot", json!({})).fails(422, &["name"]);
    server.stop();
    std::fs::rename(directory.file("copies/of/monday-1.0_x"), directory.file("data2")).unwrap();
    std::fs::rename(directory.file("data"), directory.file("old")).unwrap();
    std::fs::rename(directory.file("data2"), directory.file("data")).unwrap();
    let server = Server::start(&directory, "");
    assert_eq!(server.get("/stats").ok()["items"], 30);
}

#[test]
fn a_compact_snapshot_takes_less_room() {
    let directory = Directory::new();
    let server =
        Server::start(&directory, "--bits 32 --set lift=none --warmup 20 --snapshots copies")
            .with_items(60);
    (0..3).for_each(|_| {
        drop(
            server
                .post(
                    "/items",
                    json!({"items": (0..60).map(|id| {
        json!({"id": id, "vector": [id, 1, 2, 3], "labels": ["plus"]})
    }).collect::<Vec<_>>()}),
                )
                .ok(),
        )
    });
    server.wait_learned();
    assert!(server.get("/stats").ok()["dead_bytes"].as_u64().unwrap() > 0);
    directory.run(&format!("client {} snapshot whole", server.url())).ok();
    directory.run(&format!("client {} snapshot compact --compact", server.url())).ok();
    let journal = |name: &str| {
        let path = directory.file(&format!("copies/{name}/journal/00000000.journal"));
        std::fs::metadata(path).unwrap().len()
    };
    assert!(journal("compact") * 2 < journal("whole"));
    server.stop();
    std::fs::remove_dir_all(directory.file("data")).unwrap();
    std::fs::rename(directory.file("copies/compact"), directory.file("data")).unwrap();
    let server = Server::start(&directory, "");
    let stats = server.get("/stats").ok();
    assert_eq!((&stats["items"], &stats["dead_bytes"]), (&json!(60), &json!(0)));
}

#[test]
fn the_page_and_the_description_are_served() {
    let directory = Directory::new();
    let server = Server::small(&directory);
    for (path, kind) in [
        ("/", "text/html"),
        ("/page/page.css", "text/css"),
        ("/page/page.js", "text/javascript"),
        ("/page/icon.svg", "image/svg+xml"),
    ] {
        let answer = server.get(path);
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.header("content-type").unwrap().starts_with(kind), "{path}");
        assert!(answer.header("content-security-policy").unwrap().contains("default-src 'self'"));
    }
    let api = server.get("/openapi.json").ok();
    assert!(api["paths"]["/search"]["post"].is_object());
    server.get("/nothing").fails(404, &["/openapi.json"]);
    server.get("/page/nothing.js").fails(404, &["no part \"nothing.js\""]);
    server.get("/items/1/2").fails(404, &[]);
    let wrong = server.send("PUT", "/items", &[], b"");
    wrong.fails(405, &[]);
    assert!(wrong.header("allow").unwrap().contains("POST"), "{wrong:?}");
    server.get("/search").fails(405, &[]);
    assert_eq!(server.send("HEAD", "/stats", &[], b"").status, 200);
}

#[test]
fn waiting_ends_when_codes_follow_what_was_learned() {
    let directory = Directory::new().with_digits();
    let server = Server::start(&directory, "--warmup 500");
    assert_eq!(server.get("/wait").ok()["done"], true, "there is nothing to wait for");
    let put = |rest: &str| {
        let call =
            format!("client {} put --data db.npy --labels db-labels.npy {rest}", server.url());
        directory.run(&call).ok()
    };
    put("--wait=learned");
    assert_eq!(server.get("/stats").ok()["learning"]["behind_bytes"], 0);
    put("--wait");
    let stats = server.get("/stats").ok();
    assert!(stats["renewal"]["done"].as_u64().unwrap() >= 1, "{stats}");
    assert!(stats["version"].as_u64().unwrap() >= 2, "{stats}");
    assert_eq!(server.get("/wait?for=stored&position=7").ok()["done"], true);
    server.get("/wait?for=ever").fails(422, &["ever"]);
    server.get("/wait?seconds=-1").ok();
    let item = json!({"items": [{"id": 1, "vector": vec![1; 64], "labels": ["new"]}]});
    let position = server.post("/items?wait=searchable", item).ok()["position"].clone();
    assert_eq!(server.get(&format!("/wait?position={position}&seconds=0")).ok()["done"], true);
}
