//! Search results, compared with expected results computed by a loop.

use serde_json::{Value, json};

use super::server::{Random, Server};
use crate::support::Directory;

/// Returns all items with the codes of one version.
fn all_items(server: &Server) -> Vec<Value> {
    server.get("/items?limit=1000&full=true").ok()["items"].as_array().unwrap().clone()
}

fn bits(code: &Value) -> u64 {
    u64::from_str_radix(code.as_str().unwrap(), 16).unwrap()
}

/// Returns distances and ids of the items that pass a filter, nearest first.
fn naive(items: &[Value], code: &Value, may: impl Fn(&Value) -> bool) -> Vec<(u32, u64)> {
    let distance = |item: &Value| (bits(&item["code"]) ^ bits(code)).count_ones();
    let mut all: Vec<(u32, u64)> = items
        .iter()
        .filter(|item| may(item))
        .map(|item| (distance(item), item["id"].as_u64().unwrap()))
        .collect();
    all.sort_unstable();
    all
}

fn pairs(results: &Value) -> Vec<(u32, u64)> {
    let pair =
        |found: &Value| (found["distance"].as_u64().unwrap() as u32, found["id"].as_u64().unwrap());
    results.as_array().unwrap().iter().map(pair).collect()
}

#[test]
fn it_finds_what_a_look_at_all_codes_finds() {
    let directory = Directory::new();
    let server = Server::small(&directory).with_items(300);
    let version = server.post("/renew", json!({})).ok()["version"].clone();
    let items = all_items(&server);
    assert!(items.iter().all(|item| item["version"] == version));
    let mut random = Random(3);
    for _ in 0..20 {
        let item = &items[random.next() as usize % items.len()];
        let k = 1 + random.next() as usize % 30;
        for query in ["code", "id", "vector"] {
            let answer = server.post("/search", json!({query: item[query], "k": k})).ok();
            assert_eq!(answer["version"], version);
            let expected = naive(&items, &item["code"], |_| true);
            assert_eq!(pairs(&answer["results"]), expected[..k], "{query}");
        }
        let radius = random.next() as u32 % 8;
        let answer = server.post("/within", json!({"id": item["id"], "radius": radius})).ok();
        let near = naive(&items, &item["code"], |_| true);
        let near: Vec<_> = near.into_iter().filter(|(distance, _)| *distance <= radius).collect();
        assert_eq!(pairs(&answer["results"]), near);
        let has =
            |item: &Value, label: &str| item["labels"].as_array().unwrap().contains(&json!(label));
        for (filter, may) in [
            (
                json!({"label": "plus"}),
                &(|item: &Value| has(item, "plus")) as &dyn Fn(&Value) -> bool,
            ),
            (json!({"label": ["plus", "minus"]}), &|item| has(item, "plus") || has(item, "minus")),
            (json!({"not_label": "plus"}), &|item| !has(item, "plus")),
            (json!({"label": "no such"}), &|_| false),
        ] {
            let asked = json!({"code": item["code"], "k": 9, "where": filter});
            let answer = server.post("/search", asked).ok();
            let expected = naive(&items, &item["code"], may);
            assert_eq!(pairs(&answer["results"]), expected[..expected.len().min(9)], "{filter}");
        }
    }
}

#[test]
fn a_list_of_queries_is_answered_by_a_list() {
    let directory = Directory::new();
    let server = Server::small(&directory).with_items(100);
    let one = |id: usize| server.post("/search", json!({"id": id, "k": 3})).ok()["results"].clone();
    let queries: Vec<Value> = (0..10).map(|id| json!({"id": id})).collect();
    let answer = server.post("/search", json!({"queries": queries, "k": 3})).ok();
    assert_eq!(answer["results"], Value::Array((0..10).map(one).collect()));
    assert_eq!(server.post("/search", json!({"queries": []})).ok()["results"], json!([]));
    let one = server.post("/search", json!({"queries": [{"id": 1}], "k": 3})).ok();
    assert_eq!(one["results"].as_array().unwrap().len(), 1);
    assert!(one["results"][0].is_array());
    let mixed = json!({"queries": [{"id": 1}, {"vector": [1, 2, 3, 4]}]});
    server.post("/search", mixed).fails(422, &["all vectors"]);
}

#[test]
fn results_may_be_reranked_weighed_and_have_payloads() {
    let directory = Directory::new();
    let server = Server::small(&directory).with_items(200);
    let asked = json!({"id": 5, "k": 5, "rerank": 200, "payloads": true});
    let results = server.post("/search", asked).ok()["results"].clone();
    assert_eq!((&results[0]["id"], &results[0]["payload"]), (&json!(5), &json!({"at": 5})));
    let scores: Vec<f64> =
        results.as_array().unwrap().iter().map(|found| found["score"].as_f64().unwrap()).collect();
    assert!(scores[0] > 0.999 && scores.is_sorted_by(|one, other| one >= other), "{scores:?}");
    let weighed =
        json!({"id": 5, "k": 5, "label_weight": 4, "detail_weight": 1, "float_query": true});
    assert_eq!(server.post("/search", weighed).ok()["results"].as_array().unwrap().len(), 5);
}

#[test]
fn searches_that_cannot_be_made_are_told_why() {
    let directory = Directory::new();
    let server = Server::small(&directory).with_items(50);
    let cases: [(&str, Value, u16, &[&str]); 22] = [
        ("/search", json!({}), 422, &["vector", "code", "id"]),
        ("/search", json!([]), 422, &[]),
        ("/search", json!({"vector": [1, 2, 3]}), 422, &["3", "4"]),
        ("/search", json!({"vector": []}), 422, &["0", "4"]),
        ("/search", json!({"vector": [1, 2, 3, 1e39]}), 422, &[]),
        ("/search", json!({"vector": [1, 2, 3, 4], "id": 1}), 422, &["one of"]),
        ("/search", json!({"code": "xyz"}), 422, &["8 hexadecimal"]),
        ("/search", json!({"code": "00"}), 422, &["8 hexadecimal"]),
        ("/search", json!({"id": 999}), 404, &["999"]),
        ("/search", json!({"id": "one"}), 422, &["one"]),
        ("/search", json!({"id": 1, "k": 0}), 422, &["k must be 1 or more"]),
        ("/search", json!({"id": 1, "k": -1}), 422, &[]),
        ("/search", json!({"id": 1, "k": 1.5}), 422, &[]),
        ("/search", json!({"id": 1, "radius": 3}), 422, &["/within"]),
        ("/search", json!({"id": 1, "kk": 3}), 422, &["kk"]),
        ("/search", json!({"id": 1, "where": {"lable": "x"}}), 422, &["lable"]),
        (
            "/search",
            json!({"id": 1, "label_weight": 0, "detail_weight": 0}),
            422,
            &["label_weight"],
        ),
        ("/search", json!({"id": 1, "label_weight": 4000000000u32}), 422, &["label_weight"]),
        ("/search", json!({"code": "00000000", "rerank": 10}), 422, &["rerank"]),
        ("/search", json!({"code": "00000000", "float_query": true}), 422, &[]),
        ("/within", json!({"id": 1}), 422, &["radius"]),
        ("/within", json!({"id": 1, "radius": 1, "k": 1}), 422, &["/search"]),
    ];
    for (path, body, status, parts) in cases {
        server.post(path, body).fails(status, parts);
    }
    let bad = json!({"queries": [{"id": 1}, {"id": 1, "code": "00"}]});
    server.post("/search", bad).fails(422, &["query 1"]);
}
