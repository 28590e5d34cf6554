//! Items: put, read, labelled, removed.

use serde_json::{Value, json};

use super::server::{Server, damage_payload};
use crate::support::Directory;

#[test]
fn what_is_put_in_comes_back() {
    let directory = Directory::new();
    let server = Server::small(&directory);
    let payload = json!({"file": "7.png", "size": [28, 28], "x": 1.5e3});
    let done = server.post(
        "/items",
        json!({"items": [
            {"id": 7, "vector": [0.25, -1, 0, 3e-2], "labels": ["cat", 3], "payload": payload},
            {"id": 18446744073709551615u64, "vector": [1, 2, 3, 4]},
        ]}),
    );
    let done = done.ok();
    assert_eq!((&done["items"], &done["replaced"]), (&json!(2), &json!(0)));
    let item = server.get("/items/7").ok();
    assert_eq!(item["vector"], json!([0.25, -1.0, 0.0, 0.03]));
    assert_eq!((&item["id"], &item["payload"]), (&json!(7), &payload));
    let mut labels: Vec<&str> =
        item["labels"].as_array().unwrap().iter().map(|label| label.as_str().unwrap()).collect();
    labels.sort_unstable();
    assert_eq!(labels, ["3", "cat"]);
    assert_eq!(item["code"].as_str().unwrap().len(), 8);
    assert!(item["version"].is_u64());
    let other = server.get("/items/18446744073709551615").ok();
    assert_eq!((&other["labels"], other.get("payload")), (&json!([]), None));

    // A new item with the same id replaces the old one.
    let done = server
        .post("/items", json!({"items": [{"id": 7, "vector": [9, 9, 9, 9], "payload": null}]}));
    assert_eq!(done.ok()["replaced"], 1);
    let item = server.get("/items/7").ok();
    assert_eq!((&item["vector"], item.get("payload")), (&json!([9.0, 9.0, 9.0, 9.0]), None));

    assert_eq!(server.delete("/items/7").ok()["removed"], 1);
    server.get("/items/7").fails(404, &["no item 7"]);
    server.delete("/items/7").fails(404, &["no item 7"]);
    assert_eq!(server.get("/stats").ok()["items"], 1);
    server.get("/items/seven").fails(422, &["whole numbers", "seven"]);
    server.get("/items/-1").fails(422, &["whole numbers"]);
}

#[test]
fn ids_may_be_texts() {
    let directory = Directory::new();
    let server = Server::small(&directory);
    let item = |id: &str| json!({"id": id, "vector": [1, 2]});
    server.post("/items", json!({"items": [item("a/b c?é"), item("7"), item("..")]})).ok();
    assert_eq!(server.get("/items/a%2Fb%20c%3F%C3%A9").ok()["id"], "a/b c?é");
    assert_eq!(server.get("/items/7").ok()["id"], "7");
    server.post("/items", json!({"items": [{"id": 7, "vector": [1, 2]}]})).fails(422, &["texts"]);
    server.get("/items/%ff").fails(422, &[]);
    let ids = server.get("/items").ok();
    assert_eq!(ids["ids"].as_array().unwrap().len(), 3);
    assert_eq!(server.post("/remove", json!({"ids": ["7", "8"]})).ok()["removed"], 1);
}

#[test]
fn items_that_cannot_be_used_change_nothing() {
    let directory = Directory::new();
    let server = Server::small(&directory);
    let good = json!({"id": 1, "vector": [1, 2]});
    let with = |item: Value| json!({"items": [good, item]});
    let cases: [(Value, u16, &[&str]); 18] = [
        (json!({}), 422, &["items"]),
        (json!([]), 422, &[]),
        (json!({"items": []}), 422, &["no items"]),
        (json!({"items": [good], "more": 1}), 422, &["more"]),
        (with(json!({"id": 2, "vektor": [1, 2]})), 422, &["vektor"]),
        (with(json!({"id": 2})), 422, &["vector"]),
        (with(json!({"vector": [1, 2]})), 422, &["id"]),
        (with(json!({"id": 2, "vector": [1, 2, 3]})), 422, &["item 1", "id 2", "3 numbers", "2"]),
        (with(json!({"id": 2, "vector": ["x", 2]})), 422, &["x"]),
        (with(json!({"id": 2, "vector": [1e39, 2]})), 422, &[]),
        (with(json!({"id": 2.5, "vector": [1, 2]})), 422, &["an id, which is"]),
        (with(json!({"id": -2, "vector": [1, 2]})), 422, &["an id, which is"]),
        (with(json!({"id": null, "vector": [1, 2]})), 422, &["an id, which is"]),
        (with(json!({"id": "two", "vector": [1, 2]})), 422, &["one kind"]),
        (with(json!({"id": 1, "vector": [1, 2]})), 422, &["id 1", "more than once"]),
        (with(json!({"id": 2, "vector": [1, 2], "labels": [1.5]})), 422, &["label"]),
        (with(json!({"id": 2, "vector": [1, 2], "labels": [["a"]]})), 422, &["list"]),
        (json!({"items": [{"id": 2, "vector": []}]}), 422, &["at least one number"]),
    ];
    for (body, status, parts) in &cases {
        server.post("/items", body.clone()).fails(*status, parts);
    }
    for bytes in [&b""[..], b"{", b"{\"items\": [}", b"\xff\xfe", b"{\"items\": NaN}"] {
        server.send("POST", "/items", &[], bytes).fails(400, &["no JSON"]);
    }
    // No refused request created a collection; a collection would have fixed the dimension.
    assert_eq!(server.get("/stats").ok()["description"], Value::Null);
    server.post("/items", json!({"items": [good]})).ok();
    for (body, status, _) in &cases {
        assert_eq!(server.post("/items", body.clone()).status, *status, "{body}");
    }
    let wide = json!({"items": [{"id": 2, "vector": [1, 2, 3]}]});
    server.post("/items", wide).fails(422, &["3", "2"]);
    assert_eq!(server.get("/stats").ok()["items"], 1);
}

#[test]
fn labels_may_come_later_and_items_go() {
    let directory = Directory::new();
    let server = Server::small(&directory).with_items(60);
    let labelled = json!({"items": [{"id": 0, "labels": ["zero"]}, {"id": 3, "labels": "three"}]});
    assert_eq!(server.post("/labels", labelled).ok()["items"], 2);
    assert_eq!(server.get("/items/0").ok()["labels"], json!(["zero"]));
    server.post("/labels", json!({"items": [{"id": 3, "labels": []}]})).ok();
    assert_eq!(server.get("/items/3").ok()["labels"], json!([]));
    let gone = json!({"items": [{"id": 0, "labels": "x"}, {"id": 99, "labels": "x"}]});
    server.post("/labels", gone).fails(404, &["99"]);
    assert_eq!(server.get("/items/0").ok()["labels"], json!(["zero"]), "all or nothing");
    server.post("/labels", json!({"items": []})).fails(422, &["no items"]);
    server.post("/labels", json!({"items": [{"id": 0}]})).fails(422, &["labels"]);

    let done = server.post("/remove", json!({"ids": [0, 1, 2, 1000]})).ok();
    assert_eq!((&done["removed"], &done["unlearned"]), (&json!(3), &json!(true)));
    server.post("/remove", json!({"ids": 1})).fails(422, &[]);
    server.post("/remove", json!({})).fails(422, &["ids"]);
    assert_eq!(server.get("/stats").ok()["items"], 57);
}

#[test]
fn ids_are_listed_page_by_page() {
    let directory = Directory::new();
    let server = Server::small(&directory).with_items(25);
    let (mut all, mut path) = (Vec::new(), "/items?limit=10".to_owned());
    loop {
        let page = server.get(&path).ok();
        all.extend(page["ids"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()));
        let Some(next) = page["next"].as_u64() else { break };
        path = format!("/items?limit=10&after={next}");
    }
    assert_eq!(all, (0..25).collect::<Vec<u64>>());
    let page = server.get("/items?limit=2&after=3&full=true").ok();
    assert_eq!(page["items"][0], server.get("/items/4").ok());
    assert_eq!(page["next"], 5);
    server.get("/items?limit=x").fails(422, &[]);
    server.get("/items?limit=2000&full=true").fails(422, &["2000", "1000"]);
    server.get("/items?after=x").fails(422, &["whole numbers"]);
    server.get("/items?page=2").fails(422, &["page"]);
}

#[test]
fn a_damaged_item_is_reported_in_its_place() {
    let directory = Directory::new();
    let server = Server::small(&directory).with_items(25);
    let before = server.get("/items?full=true").ok();
    damage_payload(&directory, "{\"at\":7}");
    server.get("/items/7").fails(500, &["damaged"]);

    let page = server.get("/items?full=true").ok();
    let items = page["items"].as_array().unwrap();
    for (item, before) in items.iter().zip(before["items"].as_array().unwrap()) {
        match item["id"].as_u64() {
            Some(7) => {
                assert!(item["error"].as_str().unwrap().contains("damaged"), "{item}");
                assert_eq!(item.as_object().unwrap().len(), 2, "{item}");
            }
            _ => assert_eq!(item, before),
        }
    }
    assert_eq!((items.len(), &page["next"]), (25, &Value::Null));

    let found = server.post("/search", json!({"id": 3, "k": 25, "payloads": true})).ok();
    for found in found["results"].as_array().unwrap() {
        let damaged = found["id"] == 7;
        assert_eq!(found["payload"].is_null(), damaged, "{found}");
        assert_eq!(found.get("error").is_some(), damaged, "{found}");
    }
    assert_eq!(found["results"].as_array().unwrap().len(), 25);
    assert_eq!(server.get("/classes").ok()["sample"], 25);
}
