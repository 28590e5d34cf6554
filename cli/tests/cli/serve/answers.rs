//! Large answers: limited in bytes, sent in chunks, and abandoned if the client does not read.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::server::Server;
use crate::support::Directory;

/// Puts items with payloads of `payload` bytes, a few items at a time.
fn put(server: &Server, items: usize, payload: usize) {
    let payload = "x".repeat(payload);
    let item = |id: usize| json!({"id": id, "vector": [id, 1], "payload": payload});
    let ids: Vec<usize> = (0..items).collect();
    for ids in ids.chunks(8) {
        let items: Vec<Value> = ids.iter().map(|&id| item(id)).collect();
        server.post("/items", json!({"items": items})).ok();
    }
}

/// Reads all pages of a path, and returns the number of items on each page and all items.
fn pages(server: &Server, path: &str, of: &str) -> (Vec<usize>, Vec<Value>) {
    let (mut lengths, mut all, mut after) = (Vec::new(), Vec::new(), String::new());
    loop {
        let page = server.get(&format!("{path}{after}")).ok();
        let items = page[of].as_array().unwrap();
        lengths.push(items.len());
        all.extend(items.iter().cloned());
        match page["next"].as_u64() {
            Some(next) => after = format!("&after={next}"),
            None => return (lengths, all),
        }
    }
}

#[test]
fn a_page_ends_with_the_item_that_reaches_the_limit() {
    let directory = Directory::new();
    let server = Server::start(&directory, "--bits 16 --max-answer 10KB");
    put(&server, 10, 4000);
    let (lengths, items) = pages(&server, "/items?full=true", "items");
    assert_eq!(lengths, [3, 3, 3, 1]);
    for (id, item) in items.iter().enumerate() {
        assert_eq!(item, &server.get(&format!("/items/{id}")).ok());
    }
    assert_eq!(pages(&server, "/items?full=true&limit=2", "items").0, [2, 2, 2, 2, 2, 0]);
    // An item larger than the limit is a page of its own.
    put(&server, 2, 20_000);
    assert_eq!(pages(&server, "/items?full=true", "items").0, [1, 1, 3, 3, 2]);

    let search = |k: usize| server.post("/search", json!({"id": 5, "k": k, "payloads": true}));
    assert_eq!(search(1).ok()["results"].as_array().unwrap().len(), 1);
    search(10).fails(422, &["10 results", "10240 bytes", "--max-answer"]);

    let numbers: Vec<Value> = (0..3000).map(|id| json!({"id": id, "vector": [id, 1]})).collect();
    server.post("/items", json!({"items": numbers})).ok();
    let (lengths, ids) = pages(&server, "/items?limit=3000", "ids");
    assert_eq!(lengths, [1280, 1280, 440]);
    assert_eq!(ids, (0..3000).map(Value::from).collect::<Vec<_>>());
}

#[test]
fn a_large_page_is_sent_in_chunks() {
    let directory = Directory::new();
    let server = Server::start(&directory, "--bits 16");
    put(&server, 24, 100_000);
    let page = server.get("/items?full=true");
    assert_eq!(page.header("transfer-encoding"), Some("chunked"));
    let page = page.ok();
    let ids: Vec<u64> =
        page["items"].as_array().unwrap().iter().map(|item| item["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, (0..24).collect::<Vec<u64>>());
    assert_eq!(page["next"], Value::Null);
    let item = &page["items"][23];
    assert_eq!(item, &server.get("/items/23").ok());
    let small = server.get("/items?full=true&limit=1");
    assert!(small.header("content-length").is_some(), "{:?}", small.headers);
    // HTTP/1.0 clients do not know chunks, so the end of the connection marks the end of the page.
    let mut stream = server.connect();
    write!(stream, "GET /items?full=true HTTP/1.0\r\nhost: localhost\r\n\r\n").unwrap();
    assert_eq!(super::server::Answer::read(&mut stream).ok(), page);
}

/// Connects a client that sends a request and never reads the answer.
fn ask_and_not_read(server: &Server, path: &str) -> TcpStream {
    let mut stream = server.connect();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    stream
}

#[test]
#[cfg(target_os = "linux")]
fn clients_that_never_read_are_disconnected_and_take_little_memory() {
    let directory = Directory::new();
    let server = Server::start(&directory, "--bits 16 --timeout 2 --max-answer 1GB");
    put(&server, 64, 1 << 20);
    let (before, files) = (server.peak_memory(), server.open_files());
    let mut idle: Vec<TcpStream> =
        (0..8).map(|_| ask_and_not_read(&server, "/items?full=true&limit=64")).collect();
    let begun = Instant::now();
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(server.get("/items/1").status, 200, "others are served meanwhile");
    while server.open_files() > files {
        assert!(begun.elapsed() < Duration::from_secs(30), "they are not disconnected");
        std::thread::sleep(Duration::from_millis(20));
    }
    let peak = server.peak_memory();
    assert!(peak < before + 100, "{before} MB have become {peak} MB");
    let mut rest = Vec::new();
    let ended = idle[0].read_to_end(&mut rest);
    assert!(rest.len() < 40 << 20, "{ended:?}: {} bytes were sent", rest.len());
    // A client that reads slowly, with pauses shorter than the limit, receives the whole answer.
    let mut slow = server.connect();
    write!(
        slow,
        "GET /items?full=true&limit=64 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let (mut part, mut bytes) = (vec![0; 8 << 20], Vec::new());
    for _ in 0..8 {
        std::thread::sleep(Duration::from_millis(500));
        let count = slow.read(&mut part).unwrap();
        bytes.extend_from_slice(&part[..count]);
    }
    slow.read_to_end(&mut bytes).unwrap();
    assert!(bytes.len() > 64 << 20 && bytes.ends_with(b"\"next\":63}\r\n0\r\n\r\n"));
}

#[test]
fn unread_answers_leave_room_for_small_ones() {
    let directory = Directory::new();
    // Unread answers may use 16 times the limit of an answer, and at least 1 MB.
    let server = Server::start(&directory, "--bits 16 --timeout 2 --max-answer 1KB");
    put(&server, 1, 15 << 20);
    let _idle: Vec<TcpStream> = (0..2).map(|_| ask_and_not_read(&server, "/items/0")).collect();
    let end = Instant::now() + Duration::from_secs(20);
    let refused = loop {
        let answer = server.get("/items/0");
        if answer.status != 200 {
            break answer;
        }
        assert!(Instant::now() < end, "unread answers are not counted");
    };
    refused.fails(429, &["unread answers", "--max-answer"]);
    assert_eq!(refused.header("retry-after"), Some("1"));
    server.get("/stats").ok();
    // Clients that do not read are disconnected, which frees the memory of their answers.
    while server.get("/items/0").status != 200 {
        assert!(Instant::now() < end, "the memory is not given back");
        std::thread::sleep(Duration::from_millis(100));
    }
}
