//! Logs on standard error.

use serde_json::{Value, json};

use super::server::{Server, damage_payload};
use crate::support::Directory;

fn start(directory: &Directory, options: &str, filter: &str) -> Server {
    let mut command = Server::command(directory, &format!("--bits 16 {options}"));
    command.env("RUST_LOG", filter);
    Server::start_by(command)
}

#[test]
fn requests_are_logged_if_asked_for() {
    let directory = Directory::new();
    directory.write("tokens", "write secret-token\n");
    let server = start(&directory, "--tokens tokens --log-format json", "hashbrook=debug");
    let token = ("authorization", "Bearer secret-token");
    let items =
        json!({"items": [{"id": "private-id", "vector": [1, 2], "payload": "private-payload"}]});
    let items = items.to_string();
    let named = [token, ("x-request-id", "mine-1")];
    let put = server.send("POST", "/items", &named, items.as_bytes());
    assert_eq!((put.status, put.header("x-request-id")), (200, Some("mine-1")));
    let item = server.send("GET", "/items/private-id?private-query", &[token], b"");
    let id = item.header("x-request-id").unwrap().to_owned();
    assert_eq!((item.status, id.len()), (200, 16));
    server.get("/items/private-id").fails(401, &[]);
    let unknown = server.get("/private-path");
    assert!(unknown.status == 404 && unknown.header("x-request-id").is_some(), "{unknown:?}");
    assert!(server.send("PUT", "/items", &[], b"").header("x-request-id").is_some());

    let said = server.stop();
    assert!(!said.contains("secret") && !said.contains("private"), "{said}");
    let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let requests: Vec<&Value> =
        lines.iter().filter(|line| line["target"] == "hashbrook::request").collect();
    let part = |at: usize, name: &str| &requests[at][name];
    assert_eq!(requests.len(), 5, "{said}");
    assert_eq!((part(0, "id"), part(0, "method")), (&json!("mine-1"), &json!("POST")));
    assert_eq!((part(0, "route"), part(0, "status")), (&json!("/items"), &json!(200)));
    assert_eq!(part(0, "bytes"), put.body.len());
    assert!(part(0, "seconds").as_f64().unwrap() > 0.0);
    assert_eq!((part(1, "id"), part(1, "route")), (&json!(id), &json!("/items/{id}")));
    assert_eq!((part(2, "status"), part(3, "status")), (&json!(401), &json!(404)));
    assert!(lines.iter().any(|line| line["message"].as_str().unwrap().contains("stopping")));
}

#[test]
fn without_a_filter_failures_are_logged_and_other_requests_are_not() {
    let directory = Directory::new();
    let server = Server::small(&directory).with_items(25);
    server.get("/items/99").fails(404, &[]);
    damage_payload(&directory, "{\"at\":7}");
    let failed = server.get("/items/7");
    failed.fails(500, &["damaged"]);
    let id = failed.header("x-request-id").unwrap().to_owned();
    let said = server.stop();
    let requests: Vec<&str> = said.lines().filter(|line| line.contains("::request")).collect();
    assert_eq!(requests.len(), 1, "{said}");
    for part in ["WARN", "request failed", &id, "GET", "/items/{id}", "500", "is damaged"] {
        assert!(requests[0].contains(part), "{part}: {said}");
    }
    assert!(said.contains("INFO") && said.contains("stopping"), "{said}");
}

#[test]
fn filters_that_cannot_be_read_are_refused() {
    let directory = Directory::new();
    let mut command = Server::command(&directory, "");
    let failed = command.env("RUST_LOG", "hashbrook=loud").output().unwrap();
    let said = String::from_utf8(failed.stderr).unwrap();
    assert_eq!(failed.status.code(), Some(1), "{said}");
    assert!(said.contains("RUST_LOG") && said.contains("hashbrook=loud"), "{said}");
    // The filter passes only warnings of the service.
    let said = start(&directory, "", "hashbrook::serve=warn").stop();
    assert!(said.contains("no --tokens") && !said.contains("stopping"), "{said}");
}
