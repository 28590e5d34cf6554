//! Requests to the service through the command-line client.

use serde_json::json;

use super::server::Server;
use crate::support::Directory;

#[test]
fn the_client_makes_every_call() {
    let directory = Directory::new().with_digits();
    let server = Server::start(
        &directory,
        "--bits 48 --warmup 500 --snapshots copies --max-batch 700 --held-out 0",
    );
    let client = |call: &str| directory.run(&format!("client {} {call}", server.url()));
    let put =
        client("put --data db.npy --labels db-labels.npy --batch 600 --first-id 10 --wait").ok();
    assert!(put.out.contains("1,597 items put in, of which 0"), "{put:?}");
    assert!(put.out.contains(", sent in ") && put.out.contains("; searchable "), "{put:?}");
    let put = "put --data db.npy --labels db-labels.npy --batch 600 --first-id 10";
    let waited = &client(&format!("{put} --wait=learned --json")).ok().json()[0];
    assert!(waited["seconds"].is_f64() && waited["wait_seconds"].is_f64(), "{waited}");
    assert!(client(&format!("{put} --wait=learned")).ok().out.contains("; learned "));
    let sent = &client(&format!("{put} --json")).ok().json()[0];
    assert!(sent["seconds"].is_f64() && sent["wait_seconds"].is_null(), "{sent}");
    server.wait_learned();
    let stats = &client("stats --json").ok().json()[0];
    assert_eq!((&stats["items"], &stats["learning"]["rows"]), (&json!(1597), &json!(1597)));
    assert!(client("stats").ok().out.contains("learning.rows"));
    let version = client("renew --json").ok().json()[0]["version"].as_u64().unwrap();
    let renewed = client("renew").ok();
    assert!(renewed.out.contains("all codes are of version"), "{renewed:?}");
    assert!(version >= 1);

    let found = client("search --data queries.npy -k 10 --json").ok().json();
    assert_eq!(found.len(), 200);
    assert_eq!(found[7]["results"].as_array().unwrap().len(), 10);
    let item = &client("get 12").ok().json()[0];
    let code = item["code"].as_str().unwrap();
    for query in ["--id 12".to_owned(), format!("--code {code}")] {
        let near =
            client(&format!("search {query} -k 1 --label {}", item["labels"][0].as_str().unwrap()))
                .ok();
        assert!(near.out.starts_with("query 0, version"), "{near:?}");
    }
    let near = &client("within --id 12 --radius 2 --json").ok().json()[0];
    assert!(near["results"].as_array().unwrap().iter().any(|found| found["id"] == 12));
    client("search --id 12 --rerank 100 --label-weight 2 --not-label 3 --payloads").ok();

    client("label 12 odd even").ok();
    let labels = client("get 12").ok().json()[0]["labels"].clone();
    assert!(labels.as_array().unwrap().contains(&json!("odd")), "{labels}");
    directory.write("ids.txt", "13\n14\n");
    directory.write("names.txt", "x\ny\n");
    assert!(client("label --ids ids.txt --labels names.txt").ok().out.contains("2 items labelled"));
    assert_eq!(client("get 14").ok().json()[0]["labels"], json!(["y"]));
    let removed = client("remove 12 13 99999").ok();
    assert!(removed.out.contains("2 of 3 items removed, and unlearned"), "{removed:?}");
    assert_eq!(client("list --limit 3").ok().out, "10\n11\n14\n");
    assert_eq!(client("list --limit 2 --after 14 --json").ok().json()[0]["ids"], json!([15, 16]));

    client("snapshot first").ok();
    assert!(directory.file("copies/first").is_dir());
    client("model --out d.function").ok();
    server.wait_learned();
    client("model --full --out d.model").ok();
    assert!(directory.run("info d.function").ok().out.contains("48 bits"));
    assert_eq!(directory.run("info d.model --json").ok().json()[0]["seen"], 1595);
    assert_eq!(server.get("/stats").ok()["items"], 1595);
}

#[test]
fn a_search_of_an_empty_collection_says_that_it_is_empty() {
    let directory = Directory::new().with_digits();
    let server = Server::start(&directory, "--bits 48 --warmup 500");
    let client = |call: &str| directory.run(&format!("client {} {call}", server.url()));
    client("put --data db.npy --first-id 0").ok();
    directory.write("all.txt", (0..1597).map(|id| format!("{id}\n")).collect::<String>());
    let searches = ["search --data queries.npy", "within --data queries.npy --radius 3"];
    // Queries without hits in a non-empty collection still print their headings.
    let none = client("search --data queries.npy --label nothing").ok();
    assert_eq!(none.out.lines().count(), 200, "{none:?}");
    client("remove --ids all.txt").ok();
    let stats = client("stats --json").ok().json()[0]["items"].clone();
    assert_eq!(stats, 0);
    for search in searches {
        let said = client(search).ok().out;
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.contains("holds no items yet") && said.contains("put --data"), "{said}");
        let found = client(&format!("{search} --json")).ok().json();
        assert_eq!((found.len(), &found[0]["results"]), (200, &json!([])), "{search}");
    }
}

#[test]
fn what_fails_is_told_in_one_message() {
    let directory = Directory::new().with_digits();
    directory.run("client nowhere stats").fails_with(&["nowhere", "http://"]);
    directory.run("client http://127.0.0.1:1 stats").fails_with(&["127.0.0.1:1"]);
    directory.write("tokens", "read abc\nwrite def\n");
    let server = Server::start(&directory, "--tokens tokens --max-body 8KB");
    let client = |call: &str| directory.run(&format!("client {} {call}", server.url()));
    client("stats").fails_with(&["token", "401"]);
    client("stats --token abc").ok();
    client("put --data db.npy --token abc").fails_with(&["may read", "403"]);
    client("put --data db.npy --token def").fails_with(&["--max-body", "413"]);
    client("put --data db.npy --batch 10 --token def").ok();
    client("put --data db.npy --labels query-labels.npy --token def")
        .fails_with(&["200 labels", "1,597 rows"]);
    client("get 99999 --token abc").fails_with(&["99999", "404"]);
    client("search --vector 1,2 --token abc").fails_with(&["2", "64", "422"]);
    let shell = directory
        .shell(&format!("HASHBROOK_TOKEN=abc hashbrook client {} stats --json", server.url()));
    assert_eq!(shell.ok().json()[0]["items"], 1597);
    let failed = client("search");
    assert_eq!(failed.status, Some(2), "{failed:?}");
}

#[test]
fn items_may_have_ids_that_are_texts_and_payloads() {
    let directory = Directory::new();
    let server = Server::small(&directory);
    let client = |call: &str| directory.run(&format!("client {} {call}", server.url()));
    directory.write("x.csv", "1,2\n3,4\n5,6\n");
    directory.write("ids.txt", "a\nb/c\n7\n");
    client("put --data x.csv --ids ids.txt").ok();
    assert_eq!(client("get b/c").ok().json()[0]["vector"], json!([3.0, 4.0]));
    client("search --id 7").fails_with(&["texts", "422"]);
    client("search --id 7 --text-ids -k 1").ok();
    // A table contains ids, labels and vectors in its columns.
    directory.write("t.csv", "name,a,kind,b\nx,5,cat,6\ny,7,dog,8\n");
    client("put --data t.csv --id name --label kind").ok();
    let item = client("get y").ok().json().remove(0);
    assert_eq!((&item["vector"], &item["labels"]), (&json!([7.0, 8.0]), &json!(["dog"])));
    directory.write("short.txt", "a\n");
    client("put --data x.csv --ids short.txt").fails_with(&["1 id", "3 rows"]);
    let items = json!({"items": [{"id": "p", "vector": [1, 2], "payload": [1, {"x": null}]}]});
    directory.write("items.json", items.to_string());
    client("put --items items.json").ok();
    assert_eq!(client("get p").ok().json()[0]["payload"], json!([1, {"x": null}]));
    let found = &client("search --id p -k 1 --payloads --json").ok().json()[0];
    assert_eq!(found["results"][0]["distance"], 0);
}
