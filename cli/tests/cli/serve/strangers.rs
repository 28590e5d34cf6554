//! Malicious and misbehaving clients: the service stays available.

use std::io::{Read, Write};
use std::net::Shutdown;

use serde_json::json;

use super::server::{Answer, Random, Server};
use crate::support::Directory;

/// Checks that the service still answers a search.
fn check_alive(server: &Server) {
    let found = server.post("/search", json!({"id": 1, "k": 1})).ok();
    assert_eq!(found["results"][0]["distance"], 0);
}

#[test]
fn random_bytes_are_refused_on_every_route() {
    let directory = Directory::new();
    let server = Server::small(&directory).with_items(30);
    let kinds =
        ["application/json", "application/x-npy", "application/vnd.apache.arrow.stream", "x/y"];
    let beginnings: [&[u8]; 5] =
        [b"", b"\x93NUMPY\x01\x00", b"\xff\xff\xff\xff", b"{\"items\": [", b"{\"vector\": ["];
    let mut random = Random(11);
    let api = server.get("/openapi.json").ok();
    for (path, calls) in api["paths"].as_object().unwrap() {
        for method in calls.as_object().unwrap().keys() {
            for _ in 0..20 {
                let kind = kinds[random.next() as usize % kinds.len()];
                let mut body = beginnings[random.next() as usize % beginnings.len()].to_vec();
                body.extend(random.bytes(300));
                let query =
                    if random.next().is_multiple_of(3) { "?first_id=5&%ff=%zz" } else { "" };
                let id = format!("{}", random.next());
                let path = path.replace("{id}", &id).replace("{part}", &id);
                let headers = [("content-type", kind)];
                let answer =
                    server.send(&method.to_uppercase(), &format!("{path}{query}"), &headers, &body);
                assert!(answer.status < 500, "{method} {path}: {}", answer.text());
                if answer.status >= 400 {
                    answer.fails(answer.status, &[]);
                }
            }
        }
    }
    assert_eq!(server.get("/stats").ok()["items"], 30);
    check_alive(&server);
}

#[test]
fn what_is_no_http_ends_its_connection_alone() {
    let directory = Directory::new();
    let server = Server::small(&directory).with_items(30);
    let mut random = Random(5);
    for _ in 0..100 {
        let mut stream = server.connect();
        let _ = stream.write_all(&random.bytes(2000));
        let _ = stream.shutdown(Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    }
    for line in
        ["GET / HTTP/9.9", "GET", "\0\0\0", "POST /items HTTP/1.1\r\ncontent-length: -5", "GET /%"]
    {
        let mut stream = server.connect();
        let _ = write!(stream, "{line}\r\n\r\n");
        let _ = stream.shutdown(Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    }
    check_alive(&server);
}

#[test]
fn slow_clients_hold_up_nobody() {
    let directory = Directory::new();
    let server = Server::small(&directory).with_items(30);
    let request = json!({"id": 1, "k": 1}).to_string();
    let head = format!(
        "POST /search HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        request.len()
    );
    let mut slow: Vec<_> = (0..300).map(|_| server.connect()).collect();
    for (at, stream) in slow.iter_mut().enumerate() {
        let part = &head[..at % head.len()];
        stream.write_all(part.as_bytes()).unwrap();
    }
    check_alive(&server);
    for (at, stream) in slow.iter_mut().enumerate() {
        let rest = format!("{}{request}", &head[at % head.len()..]);
        for byte in rest.as_bytes().chunks(50) {
            stream.write_all(byte).unwrap();
        }
    }
    check_alive(&server);
    for mut stream in slow {
        assert_eq!(Answer::read(&mut stream).status, 200);
    }
}

#[test]
fn who_has_said_all_may_still_listen() {
    let directory = Directory::new();
    let server = Server::small(&directory).with_items(30);
    let mut stream = server.connect();
    write!(stream, "GET /items/1 HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(Answer::read(&mut stream).status, 200);
    // The service does not wait for the rest of a truncated body.
    let mut stream = server.connect();
    write!(stream, "POST /search HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{{")
        .unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 400"), "{answer:?}");
    // Clients that leave without reading do no harm.
    for _ in 0..50 {
        let mut stream = server.connect();
        write!(stream, "GET /items?full=true HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
        drop(stream);
    }
    check_alive(&server);
}

/// Returns the number of connections for a test: 10,000, or fewer if this process may not open that
/// many files.
fn connections() -> usize {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
    // Some files are left for the tests that run at the same time.
    let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX).saturating_sub(1000);
    most.min(10_000) as usize
}

#[test]
fn many_connections_that_say_nothing_are_held() {
    let directory = Directory::new();
    // Opening all connections takes long on a busy machine, and idle connections are closed after
    // the timeout.
    let server = Server::start(&directory, "--bits 32 --set lift=none --warmup 20 --timeout 600")
        .with_items(30);
    let count = connections();
    if count < 10_000 {
        eprintln!("10,000 connections are more than this process may have: {count} are held");
    }
    let mut held: Vec<_> = (0..count).map(|_| server.connect()).collect();
    check_alive(&server);
    // Connections that send a request are answered, the first as well as the last.
    for at in [0, count / 2, count - 1] {
        let stream = &mut held[at];
        write!(stream, "GET /items/1 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            .unwrap();
        assert_eq!(Answer::read(stream).status, 200);
    }
    drop(held);
    check_alive(&server);
}
