//! Starting, stopping and restarting the service.

use std::io::Write;
use std::process::Command;
use std::time::Duration;

use hashbrook::store::{Description, Settings};
use hashbrook::{Method, Store};
use serde_json::json;

use super::server::{Answer, Server};
use crate::support::Directory;

#[test]
fn what_was_acknowledged_is_there_after_a_restart() {
    let directory = Directory::new();
    let server = Server::small(&directory).with_items(80);
    let version = server.post("/renew", json!({})).ok()["version"].clone();
    let before = server.get("/items?full=true").ok();
    let said = server.stop();
    assert!(said.contains("stopping"), "{said}");
    let server = Server::start(&directory, "--renewal never");
    assert!(server.said.contains("80 items of 4 dimensions, 32 bits by brook"), "{}", server.said);
    assert_eq!(server.get("/items?full=true").ok(), before);
    assert_eq!(server.get("/stats").ok()["version"], version);
}

#[test]
fn requests_that_were_begun_are_finished() {
    let directory = Directory::new();
    let server = Server::small(&directory).with_items(80);
    let request = json!({"id": 1, "k": 1}).to_string();
    let mut stream = server.connect();
    write!(
        stream,
        "POST /search HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n",
        request.len()
    )
    .unwrap();
    let idle = server.connect();
    std::thread::sleep(Duration::from_millis(300));
    server.ask_to_stop();
    std::thread::sleep(Duration::from_millis(300));
    stream.write_all(request.as_bytes()).unwrap();
    assert_eq!(Answer::read(&mut stream).status, 200);
    server.stop_asked();
    drop(idle);
}

#[test]
fn a_collection_whose_directory_was_moved_refuses_changes() {
    let directory = Directory::new();
    let server = Server::small(&directory).with_items(30);
    let item = json!({"items": [{"id": 30, "vector": [1, 2, 3, 4], "labels": ["a"]}]});
    let (here, moved) = (directory.file("data"), directory.file("moved"));
    std::fs::rename(&here, &moved).unwrap();
    server.post("/items", item.clone()).fails(503, &["moved, deleted or replaced"]);
    assert!(!here.exists());
    assert_eq!(server.get("/stats").ok()["items"], 30);
    assert_eq!(server.get("/readyz").status, 503);
    std::fs::rename(&moved, &here).unwrap();
    server.post("/items", item).ok();
    assert_eq!(server.get("/readyz").status, 200);
}

#[test]
fn a_collection_has_one_server_at_a_time() {
    let directory = Directory::new();
    let server = Server::small(&directory).with_items(30);
    let failed = directory.run("serve --dir data --listen 127.0.0.1:0");
    assert_eq!(failed.status, Some(1), "{failed:?}");
    assert!(failed.err.contains("data"), "{failed:?}");
    assert_eq!(server.get("/stats").ok()["items"], 30);
}

#[test]
fn options_must_fit_the_collection() {
    let directory = Directory::new();
    Server::small(&directory).with_items(30).stop();
    for (option, parts) in [
        ("--bits 64", &["--bits", "64", "32"][..]),
        ("--dim 5", &["--dim", "5", "4"]),
        ("--method bsodh", &["--method", "bsodh", "brook"]),
        ("--seed 2", &["--seed", "2", "1"]),
        ("--precision f16", &["--precision"]),
        ("--scale standard", &["--scale"]),
        ("--warmup 30", &["--warmup", "30", "20"]),
        ("--set ridge=7", &["parameters", "--set"]),
    ] {
        let failed = directory.run(&format!("serve --dir data --listen 127.0.0.1:0 {option}"));
        assert_eq!(failed.status, Some(1), "{failed:?}");
        parts.iter().for_each(|part| assert!(failed.err.contains(part), "{part}: {failed:?}"));
    }
    Server::start(
        &directory,
        "--bits 32 --dim 4 --method brook --seed 1 --warmup 20 --set lift=none",
    )
    .stop();
}

#[test]
fn options_that_no_collection_could_have_are_refused_at_once() {
    let directory = Directory::new();
    for option in [
        "--bits 0",
        "--bits 2000",
        "--method nosuch",
        "--set nosuch=1",
        "--set ridge",
        "--renewal sometimes",
        "--held-out 1",
        "--held-out x",
    ] {
        let failed = directory.run(&format!("serve --dir data --listen 127.0.0.1:0 {option}"));
        assert!(matches!(failed.status, Some(1 | 2)), "{failed:?}");
    }
    directory.write("data", "a file");
    let failed = directory.run("serve --dir data --listen 127.0.0.1:0");
    assert_eq!(failed.status, Some(1), "{failed:?}");
    std::fs::create_dir(directory.file("full")).unwrap();
    directory.write("full/x", "something");
    let failed = directory.run("serve --dir full --listen 127.0.0.1:0");
    assert!(failed.status == Some(1) && failed.err.contains("has something in it"), "{failed:?}");
    for address in ["nowhere", "127.0.0.1", "127.0.0.1:99999", ""] {
        let failed = directory.run(&format!("serve --dir new --listen={address}"));
        assert_eq!(failed.status, Some(1), "{failed:?}");
        assert!(failed.err.contains("--listen takes"), "{failed:?}");
    }
}

#[test]
fn a_dimension_may_be_given() {
    let directory = Directory::new();
    let server = Server::start(&directory, "--dim 3 --bits 16 --precision f16");
    let put = |vector: serde_json::Value| {
        server.post("/items", json!({"items": [{"id": 1, "vector": vector}]}))
    };
    put(json!([1, 2])).fails(422, &["2", "3"]);
    put(json!([1, 2, 0.1])).ok();
    let stored = server.get("/items/1").ok()["vector"][2].as_f64().unwrap();
    assert!(stored != f64::from(0.1f32) && (stored - 0.1).abs() < 1e-4, "{stored}");
}

#[test]
fn methods_that_bound_bits_by_dimensions_start_without_a_dimension() {
    for method in ["sketchhash", "frosh"] {
        let directory = Directory::new();
        let server = Server::start(&directory, &format!("--method {method} --bits 4"));
        let put = |vector: serde_json::Value| {
            server.post("/items", json!({"items": [{"id": 1, "vector": vector}]}))
        };
        put(json!([1, 2, 3])).fails(422, &["bits", "3 dimensions", "4"]);
        put(json!([1, 2, 3, 4])).ok();
    }
}

/// Creates a service's store without opening it: the state after a put whose `Store::open` fails.
fn create_store(directory: &Directory, dim: usize, bits: usize) {
    let description = Description::new(Method::named("brook").unwrap(), dim, bits);
    let store = Store::create(directory.file("data"), &description, Settings::default()).unwrap();
    store.close().unwrap();
}

#[test]
fn a_store_that_was_created_and_not_opened_is_opened_by_the_next_put() {
    let directory = Directory::new();
    let server = Server::start(&directory, "--bits 16");
    create_store(&directory, 3, 16);
    let put = |id: serde_json::Value, vector: serde_json::Value| {
        server.post("/items", json!({"items": [{"id": id, "vector": vector}]}))
    };
    put(json!("text"), json!([1, 2, 3])).fails(422, &["ids of this store"]);
    put(json!(1), json!([1, 2])).fails(422, &["expected vectors of 3 dimensions", "2"]);
    assert_eq!(put(json!(1), json!([1, 2, 3])).ok()["items"], 1);
    assert_eq!(server.get("/items/1").ok()["vector"], json!([1.0, 2.0, 3.0]));
}

#[test]
fn a_store_that_does_not_fit_the_options_is_not_opened_by_a_put() {
    let directory = Directory::new();
    let server = Server::start(&directory, "--bits 16");
    create_store(&directory, 2, 32);
    let put = || server.post("/items", json!({"items": [{"id": 1, "vector": [1, 2]}]}));
    put().fails(409, &["--bits", "16", "32"]);
    put().fails(409, &["--bits"]);
}

#[test]
fn https_is_spoken_with_a_certificate() {
    let directory = Directory::new();
    let made = Command::new("openssl")
        .args(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30".split(' '),
        )
        .args("-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1,DNS:localhost".split(' '))
        .args("-addext basicConstraints=critical,CA:FALSE -keyout key.pem -out cert.pem".split(' '))
        .current_dir(directory.path())
        .output();
    if !made.is_ok_and(|made| made.status.success()) {
        eprintln!("left out: https, as there is no openssl to make a certificate");
        return;
    }
    let server = Server::start(&directory, "--tls-cert cert.pem --tls-key key.pem --bits 16");
    let url = format!("https://{}", server.address);
    directory.write("items.json", json!({"items": [{"id": 1, "vector": [1, 2]}]}).to_string());
    directory.run(&format!("client {url} --ca cert.pem put --items items.json")).ok();
    assert_eq!(directory.run(&format!("client {url} --ca cert.pem get 1")).ok().json()[0]["id"], 1);
    directory.run(&format!("client {url} get 1")).fails_with(&["cannot be asked"]);
    directory.run(&format!("client http://{} get 1", server.address)).fails_with(&[]);
    server.stop();
    directory.write("empty.pem", "");
    for (cert, key, part) in [
        ("none.pem", "key.pem", "none.pem"),
        ("empty.pem", "key.pem", "empty.pem"),
        ("cert.pem", "empty.pem", "empty.pem"),
    ] {
        let failed = directory.run(&format!(
            "serve --dir data --listen 127.0.0.1:0 --tls-cert {cert} --tls-key {key}"
        ));
        assert!(failed.status == Some(1) && failed.err.contains(part), "{failed:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn items_that_come_one_at_a_time_do_not_pile_up_threads() {
    let directory = Directory::new();
    let server = Server::small(&directory).with_items(60);
    let before = server.threads();
    for id in 100..200 {
        server.post("/items", json!({"items": [{"id": id, "vector": [id, 1, 2, 3]}]})).ok();
    }
    let after = server.threads();
    assert!(after < before + 30, "{before} threads have become {after}");
}
