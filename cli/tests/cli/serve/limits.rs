//! Limits on requests.

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::server::{Answer, Random, Server};
use crate::support::Directory;

fn items(count: usize) -> Value {
    let item = |id: usize| json!({"id": id, "vector": [id, 1]});
    json!({"items": (0..count).map(item).collect::<Vec<_>>()})
}

#[test]
fn what_is_too_much_is_refused_and_what_is_not_is_done() {
    let directory = Directory::new();
    let server = Server::start(&directory, "--max-body 4KB --max-k 20 --max-batch 30 --bits 16");
    server.post("/items", items(30)).ok();
    server.post("/items", items(31)).fails(422, &["31", "30", "--max-batch"]);
    server.post("/items", items(1000)).fails(413, &["4096", "--max-body"]);
    assert_eq!(
        server.post("/search", json!({"id": 1, "k": 20})).ok()["results"].as_array().unwrap().len(),
        20
    );
    server.post("/search", json!({"id": 1, "k": 21})).fails(422, &["21", "20", "--max-k"]);
    server.post("/search", json!({"id": 1, "k": u64::MAX})).fails(422, &["--max-k"]);
    server.post("/search", json!({"id": 1, "rerank": 21})).fails(422, &["rerank", "21", "20"]);
    let queries = |count: usize| json!({"queries": vec![json!({"id": 1}); count], "k": 2});
    assert_eq!(server.post("/search", queries(30)).ok()["results"].as_array().unwrap().len(), 30);
    server.post("/search", queries(31)).fails(422, &["31", "30"]);
    server
        .post("/within", json!({"id": 1, "radius": 16}))
        .fails(422, &["30", "20", "smaller radius"]);
    server.get("/items?limit=31").fails(422, &["31"]);
    server.post("/remove", json!({"ids": vec![1; 31]})).fails(422, &["31"]);
    server
        .post("/labels", json!({"items": vec![json!({"id": 1, "labels": []}); 31]}))
        .fails(422, &["31"]);
}

#[test]
fn a_body_that_says_it_is_too_large_is_not_waited_for() {
    let directory = Directory::new();
    let server = Server::start(&directory, "--max-body 4KB");
    let mut stream = server.connect();
    write!(stream, "POST /items HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 99999999\r\n\r\n")
        .unwrap();
    Answer::read(&mut stream).fails(413, &[]);
    // A body of unannounced length is cut off at the limit.
    let mut stream = server.connect();
    write!(stream, "POST /items HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n")
        .unwrap();
    write!(stream, "1400\r\n{}\r\n0\r\n\r\n", " ".repeat(0x1400)).unwrap();
    Answer::read(&mut stream).fails(413, &[]);
}

#[test]
fn a_body_that_does_not_come_is_not_waited_for_long() {
    let directory = Directory::new();
    let server = Server::start(&directory, "--timeout 0.5");
    let start = Instant::now();
    let mut stream = server.connect();
    write!(stream, "POST /search HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 10\r\n\r\n{{")
        .unwrap();
    Answer::read(&mut stream).fails(408, &["0.5 seconds"]);
    assert!(start.elapsed() > Duration::from_millis(400));
    // Incomplete headers time out as well.
    let mut stream = server.connect();
    write!(stream, "GET /stats HTTP/1.1\r\nhost: loc").unwrap();
    let mut rest = Vec::new();
    let _ = std::io::Read::read_to_end(&mut stream, &mut rest);
    assert!(start.elapsed() < Duration::from_secs(50));
}

#[test]
fn too_many_large_bodies_at_once_are_told_to_come_again() {
    let directory = Directory::new();
    let server = Server::start(&directory, "");
    let begin = |server: &Server| {
        let mut stream = server.connect();
        write!(stream, "POST /items HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 1000000\r\n\r\n")
            .unwrap();
        stream
    };
    // Which of the requests are refused is unspecified.
    let mut begun: Vec<_> = (0..33).map(|_| begin(&server)).collect();
    let end = Instant::now() + Duration::from_secs(20);
    let refused = loop {
        let answered = begun.iter().position(|stream| {
            stream.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
            stream.peek(&mut [0]).is_ok()
        });
        if let Some(at) = answered {
            break Answer::read(&mut begun[at]);
        }
        assert!(Instant::now() < end, "none is refused");
    };
    refused.fails(429, &["large bodies"]);
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(server.post("/search", json!({"vector": [1]})).status, 200, "small ones go on");
}

/// Returns items that take a while to learn.
fn slow() -> Value {
    let mut random = Random(3);
    let mut item = |id: usize| {
        let vector: Vec<f32> = (0..128).map(|_| random.next_float()).collect();
        json!({"id": id, "vector": vector, "labels": [(id % 7).to_string()]})
    };
    json!({"items": (0..3000).map(&mut item).collect::<Vec<_>>()})
}

#[test]
fn too_many_requests_at_once_are_told_to_come_again() {
    let directory = Directory::new();
    let server = Server::start(&directory, "--max-concurrent 1");
    let items = slow();
    server.post("/items", items.clone()).ok();
    let refused = (0..20).find_map(|_| {
        std::thread::scope(|scope| {
            let slow = scope.spawn(|| server.post("/items", items.clone()));
            let mut refused = None;
            while refused.is_none() && !slow.is_finished() {
                refused = Some(server.get("/items?limit=1")).filter(|answer| answer.status != 200);
            }
            slow.join().unwrap();
            refused
        })
    });
    let refused = refused.expect("one request keeps others out");
    refused.fails(429, &["1 requests", "--max-concurrent"]);
    assert_eq!(refused.header("retry-after"), Some("1"));
    server.get("/items?limit=1").ok();
}

#[test]
fn what_takes_too_long_is_told_to_go_on() {
    let directory = Directory::new();
    let server = Server::start(&directory, "--timeout 0.1 --held-out 0");
    let answer = server.post("/items?wait=learned", slow());
    answer.fails(503, &["0.1 seconds", "goes on"]);
    assert_eq!(answer.header("retry-after"), Some("5"));
    let end = Instant::now() + Duration::from_secs(60);
    while server.get("/stats").ok()["learning"]["rows"] != 3000 {
        assert!(Instant::now() < end, "it did not go on: {}", server.get("/stats").text());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn limits_that_make_no_sense_are_refused() {
    let directory = Directory::new();
    for option in
        ["--max-body 0", "--max-body 5XB", "--max-concurrent 0", "--timeout 0", "--timeout x"]
    {
        let failed = directory.run(&format!("serve --dir data {option}"));
        assert_eq!(failed.status, Some(2), "{failed:?}");
    }
}
