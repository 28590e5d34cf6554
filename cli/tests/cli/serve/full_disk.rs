//! A full disk: nothing is lost, reads continue, and writes resume once space is available.

use std::process::Command;

use serde_json::{Value, json};

use super::server::{Random, Server};
use crate::support::Directory;

/// Runs a command with a 16 MB disk, a third of which is used, in a mount namespace that lives as
/// long as the service.
const ON_A_SMALL_DISK: &str = "mount -t tmpfs -o size=16m tmpfs disk &&
    head -c 6000000 /dev/zero > disk/other && exec \"$0\" \"$@\"";

fn in_own_namespace() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount"]);
    command
}

/// Returns items with consecutive ids, each about 20 KB in the journal.
fn items(from: usize, count: usize, random: &mut Random) -> Value {
    let mut item = |id: usize| {
        let vector: Vec<f32> = (0..16).map(|_| random.next_float()).collect();
        let payload = "x".repeat(20_000);
        json!({"id": id, "vector": vector, "labels": [(id % 5).to_string()], "payload": payload})
    };
    json!({"items": (from..from + count).map(&mut item).collect::<Vec<_>>()})
}

#[test]
fn a_full_disk_is_told_and_reads_go_on() {
    let directory = Directory::new();
    let disk = directory.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let can = in_own_namespace().args(["mount", "-t", "tmpfs", "tmpfs"]).arg(&disk).output();
    if !can.is_ok_and(|output| output.status.success()) {
        eprintln!("left out: a full disk, as no disk can be mounted here");
        return;
    }
    let serve = Server::command(&directory, "--bits 32 --set lift=none --warmup 20");
    let mut command = in_own_namespace();
    command.args(["sh", "-c", ON_A_SMALL_DISK]).arg(serve.get_program());
    // The collection's directory is on the small disk.
    command.args(
        serve.get_args().map(|word| if word == "data" { "disk/data".as_ref() } else { word }),
    );
    command.current_dir(directory.path()).stdout(std::process::Stdio::piped());
    command.stderr(std::process::Stdio::piped());
    let server = Server::start_by(command);

    let mut random = Random(9);
    let mut stored = 0;
    let refused = loop {
        let answer = server.post("/items", items(stored, 20, &mut random));
        if answer.status != 200 {
            break answer;
        }
        stored += 20;
        assert!(stored < 2000, "the disk is never full");
    };
    refused.fails(507, &["journal", "space", "outcome is unknown", "same ids"]);
    server.post("/items", items(stored, 20, &mut random)).fails(507, &[]);
    assert!(stored >= 100, "{stored}");

    let check = |stored: usize| {
        assert_eq!(server.get("/stats").ok()["items"], stored);
        for id in [0, stored - 1] {
            let found = server.post("/search", json!({"id": id, "k": stored})).ok();
            assert_eq!(found["results"].as_array().unwrap().len(), stored);
            assert_eq!(server.get(&format!("/items/{id}")).ok()["id"], id);
        }
        assert_eq!(server.get(&format!("/items/{stored}")).status, 404, "none is there in part");
    };
    check(stored);
    server.get("/readyz").fails(503, &["changes are refused", "space"]);

    std::fs::remove_file(server.sees(&disk).join("other")).unwrap();
    // The service notices automatically that space is available again.
    let started = std::time::Instant::now();
    while server.get("/readyz").status != 200 {
        assert!(started.elapsed().as_secs() < 60, "{}", server.get("/readyz").text());
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    server.post("/items", items(stored, 20, &mut random)).ok();
    check(stored + 20);
    server.wait_learned();
    let said = server.stop();
    // The log contains the refused changes and no other failure.
    let unexpected = said.lines().filter(|line| line.contains("error"));
    let unexpected =
        unexpected.filter(|line| !line.contains("507") && !line.contains("No space left"));
    assert_eq!(unexpected.count(), 0, "{said}");
}
