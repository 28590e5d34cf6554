//! Permissions of tokens.

use serde_json::{Value, json};

use super::server::Server;
use crate::support::Directory;

/// Returns methods and paths from the API description, and whether each is open to all clients.
fn routes(server: &Server) -> Vec<(String, String, bool)> {
    let api = server.get("/openapi.json").ok();
    let mut routes = Vec::new();
    for (path, calls) in api["paths"].as_object().unwrap() {
        for (method, call) in calls.as_object().unwrap() {
            let open = call["security"].as_array().is_some_and(Vec::is_empty);
            routes.push((
                method.to_uppercase(),
                path.replace("{id}", "1").replace("{part}", "page.css"),
                open,
            ));
        }
    }
    assert!(routes.len() >= 20);
    routes
}

#[test]
fn without_a_valid_token_nothing_is_read_or_written() {
    let directory = Directory::new();
    directory.write("tokens", "# who\nread reader-token\nwrite writer-token # the owner\n");
    let server = Server::start(&directory, "--tokens tokens --bits 16");
    let writer = [("authorization", "Bearer writer-token")];
    let items = json!({"items": [{"id": 1, "vector": [1, 2]}]}).to_string();
    server.send("POST", "/items?wait=learned", &writer, items.as_bytes()).ok();
    let stats = || {
        let mut stats = server.send("GET", "/stats", &writer, b"").ok();
        // A background task may measure the quality at any time.
        let changing = ["requests", "uptime_seconds", "time", "quality"];
        changing.iter().for_each(|name| stats[*name] = Value::Null);
        stats["tasks"].as_array_mut().unwrap().retain(|task| task["task"] != "measurement");
        stats
    };
    let before = stats();
    for (method, path, open) in routes(&server) {
        for headers in [
            &[][..],
            &[("authorization", "Bearer wrong")],
            &[("authorization", "Bearer reader-toke")],
            &[("authorization", "Bearer reader-tokens")],
            &[("authorization", "Basic writer-token")],
            &[("authorization", "Bearer ")],
            &[("authorization", "writer-token")],
            &[("x-token", "writer-token")],
        ] {
            let answer = server.send(&method, &path, headers, items.as_bytes());
            if open {
                assert_eq!(answer.status, 200, "{method} {path}");
                continue;
            }
            answer.fails(401, &["token"]);
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        }
    }
    assert_eq!(stats(), before);
}

#[test]
fn a_token_that_may_read_may_not_write() {
    let directory = Directory::new();
    directory.write("tokens", "read reader-token\nwrite writer-token\n");
    let server = Server::start(&directory, "--tokens tokens --bits 16");
    let headers = [("authorization", "bearer reader-token")];
    let writes = [
        "POST /items",
        "DELETE /items/1",
        "POST /remove",
        "POST /labels",
        "POST /renew",
        "POST /snapshot",
    ];
    let mut refused = Vec::new();
    for (method, path, _) in routes(&server) {
        let answer = server.send(&method, &path, &headers, b"{}");
        assert_ne!(answer.status, 401, "{method} {path}");
        if answer.status == 403 {
            answer.fails(403, &["may read"]);
            refused.push(format!("{method} {path}"));
        }
    }
    refused.sort();
    let mut writes = writes.map(str::to_owned);
    writes.sort();
    assert_eq!(refused, writes);
}

#[test]
fn without_tokens_only_this_machine_is_served() {
    let directory = Directory::new();
    for address in ["0.0.0.0:0", "[::]:0"] {
        let failed = directory.run(&format!("serve --dir data --listen {address}"));
        failed.fails_with(&["--tokens", "127.0.0.1"]);
    }
    let server = Server::start(&directory, "");
    let asked = |headers: &[(&str, &str)]| server.send("GET", "/stats", headers, b"").status;
    assert_eq!(asked(&[("host", "localhost:7878")]), 200);
    assert_eq!(asked(&[("host", "example.org")]), 403);
    assert_eq!(asked(&[("host", "localhost"), ("origin", "http://localhost")]), 200);
    assert_eq!(asked(&[("host", "localhost"), ("origin", "http://example.org")]), 403);
    let said = server.stop();
    assert!(said.contains("no --tokens"), "{said}");
}

#[test]
fn files_of_tokens_that_cannot_be_used_are_refused() {
    let directory = Directory::new();
    directory.run("serve --dir data --tokens none").fails_with(&["none"]);
    for (text, parts) in [
        ("", &["no token"][..]),
        ("read\n", &["line 1"]),
        ("# x\nadmin secret\n", &["line 2"]),
        ("read two words\n", &["line 1"]),
    ] {
        directory.write("tokens", text);
        let failed = directory
            .run("serve --dir data --listen 127.0.0.1:0 --tokens tokens")
            .fails_with(parts);
        assert!(!failed.err.contains("secret"));
    }
}

#[test]
#[cfg(unix)]
fn a_file_of_tokens_that_others_can_read_is_warned_about() {
    use std::os::unix::fs::PermissionsExt;
    let directory = Directory::new();
    let path = directory.write("tokens", "write secret\n");
    for (mode, readable) in [(0o644, true), (0o640, true), (0o604, true), (0o600, false)] {
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        let said = Server::start(&directory, "--tokens tokens").stop();
        assert_eq!(said.contains("chmod 600 tokens"), readable, "{mode:o}: {said}");
        assert_eq!(said.contains(&format!("mode {mode:o}")), readable, "{mode:o}: {said}");
        assert!(!said.contains("secret"), "{said}");
    }
}
