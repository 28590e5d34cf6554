//! Effects on files: permissions, links, temporary files, locks, and changes by other programs.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::Folder;

/// Creates a directory with digits, a model of them, an index and packed codes.
fn with_index() -> Folder {
    let folder = Folder::new().with_digits();
    folder.run("learn --bits 32 --data db.npy --labels db-labels.npy --out m.model").ok();
    folder.run("encode --model m.model --data db.npy --out codes.npy").ok();
    folder.run("index build --codes codes.npy --out i.index").ok();
    folder
}

fn temporary(folder: &Folder) -> Vec<String> {
    folder.names().into_iter().filter(|name| name.ends_with(".part")).collect()
}

fn start(folder: &Folder, arguments: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_hashbrook"))
        .current_dir(folder.path())
        .args(arguments.split_whitespace())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn send(signal: &str, child: &Child) {
    let kill = format!("kill -{signal} {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

/// Waits for a command that must end soon, and returns its status and its standard error.
fn end(mut child: Child) -> (Option<i32>, String) {
    for _ in 0..3000 {
        if child.try_wait().unwrap().is_some() {
            let output = child.wait_with_output().unwrap();
            return (output.status.code(), String::from_utf8(output.stderr).unwrap());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    panic!("it goes on and on");
}

#[test]
fn models_keep_their_rights_and_links_stay_links() {
    let folder = Folder::new().with_digits();
    let learn = "learn --bits 16 --data db.npy --labels db-labels.npy --rows 700";
    let mode = |name: &str| fs::metadata(folder.file(name)).unwrap().permissions().mode() & 0o777;
    folder.run(&format!("{learn} --out m.model")).ok();
    fs::set_permissions(folder.file("m.model"), fs::Permissions::from_mode(0o600)).unwrap();
    folder.run("learn --resume m.model --data db.npy --labels db-labels.npy --out m.model").ok();
    assert_eq!(mode("m.model"), 0o600);

    fs::create_dir(folder.file("models")).unwrap();
    symlink("models/real.model", folder.file("link.model")).unwrap();
    // The link's target does not exist in the first round, and exists in the second.
    for _ in 0..2 {
        folder.run(&format!("{learn} --out link.model")).ok();
        assert!(fs::symlink_metadata(folder.file("link.model")).unwrap().is_symlink());
        folder.run("info models/real.model").ok();
        fs::set_permissions(folder.file("link.model"), fs::Permissions::from_mode(0o640)).unwrap();
    }
    assert_eq!(mode("models/real.model"), 0o640);
}

#[test]
fn only_what_was_left_of_the_same_file_is_removed() {
    let folder = with_index();
    fs::rename(folder.file("i.index"), folder.file("hashbrook")).unwrap();
    let others = [".hashbrook-a1b2c3.part", ".codes.npy.a1b2c3d4.hashbrook.part"];
    let left = ".hashbrook.a1b2c3d4.hashbrook.part";
    others.iter().chain([&left]).for_each(|name| drop(folder.write(name, "half")));
    folder.run("index remove hashbrook --id 1").ok();
    folder.run("index compact hashbrook").ok();
    let mut expected = others.to_vec();
    expected.sort();
    assert_eq!(temporary(&folder), expected);
    // The next writer of `codes.npy` removes the temporary file that was left for `codes.npy`.
    folder.run("encode --model m.model --data db.npy --out codes.npy").ok();
    assert_eq!(temporary(&folder), [others[0]]);
}

#[test]
fn ctrl_c_leaves_no_temporary_files() {
    let folder = with_index();
    // The result is a large file that takes a while to write.
    let search = "search --index i.index --codes codes.npy -k 2000 --out r.npz";
    let mut interrupted = 0;
    for _ in 0..200 {
        let mut child = start(&folder, search);
        let mut writes = false;
        while !writes && child.try_wait().unwrap().is_none() {
            writes = !temporary(&folder).is_empty();
            std::thread::sleep(Duration::from_micros(200));
        }
        if writes {
            send("INT", &child);
        }
        let (status, text) = end(child);
        assert!(matches!(status, Some(0 | 130)), "{status:?} {text}");
        assert_eq!(temporary(&folder), [""; 0], "after status {status:?}");
        interrupted += usize::from(writes && status == Some(130));
        if interrupted == 10 {
            return;
        }
    }
    panic!("of 200 runs only {interrupted} were interrupted while they wrote");
}

#[test]
fn ctrl_c_leaves_nothing_of_what_goes_to_a_pipe() {
    let folder = Folder::new();
    folder.write("y.txt", "a\nb\n");
    fs::create_dir(folder.file("tmp")).unwrap();
    let left = || fs::read_dir(folder.file("tmp")).unwrap().count();
    // The command waits for its input forever.
    let mut child = Command::new(env!("CARGO_BIN_EXE_hashbrook"))
        .current_dir(folder.path())
        .env("TMPDIR", folder.file("tmp"))
        .args("learn --data - --labels y.txt --out -".split(' '))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let input = child.stdin.take();
    while left() == 0 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    send("INT", &child);
    std::thread::sleep(Duration::from_millis(200));
    send("INT", &child);
    assert_eq!(end(child).0, Some(130));
    drop(input);
    assert_eq!(left(), 0);
}

#[test]
fn a_bus_error_is_said_in_one_line() {
    let folder = with_index();
    let search = "search --index i.index --codes codes.npy -k 5 --repeat 4000000000";
    let child = start(&folder, search);
    std::thread::sleep(Duration::from_millis(300));
    send("BUS", &child);
    let (status, text) = end(child);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.starts_with("hashbrook: bus error: "), "{text}");
    assert!(text.contains("--in-memory") && text.lines().count() == 1, "{text}");
}

#[test]
fn an_index_that_others_change_while_it_is_searched_ends_the_search() {
    let folder = with_index();
    let whole = fs::read(folder.file("i.index")).unwrap();
    folder.write("few.txt", (0..1000).map(|id| format!("{id}\n")).collect::<String>());
    folder.run("index remove i.index --ids few.txt").ok();
    folder.run("index compact i.index").ok();
    let other = fs::read(folder.file("i.index")).unwrap();
    for round in 0..6 {
        folder.write("i.index", &whole);
        let child = start(
            &folder,
            "search --index i.index --codes codes.npy -k 5 --one-by-one --repeat 4000000000",
        );
        std::thread::sleep(Duration::from_millis(200));
        match round % 3 {
            0 => folder.write("i.index", &other),
            1 => folder.write("i.index", &whole[..5000]),
            _ => folder.write("i.index", ""),
        };
        // The message is a single line, whether the file changes between two searches or during
        // one.
        let (status, text) = end(child);
        assert_eq!(status, Some(1), "{text}");
        assert!(text.starts_with("hashbrook: ") && text.lines().count() == 1, "{text}");
    }
}

#[test]
fn an_index_is_read_into_memory_if_asked_for() {
    let folder = with_index();
    folder.run("index remove i.index --id 3,4").ok();
    let search = "search --index i.index --codes codes.npy -k 5 --json";
    let hits = |outcome: crate::support::Outcome| {
        let mut lines = outcome.ok().json();
        lines.pop();
        lines
    };
    let (mapped, loaded) =
        (hits(folder.run(search)), hits(folder.run(&format!("{search} --in-memory"))));
    assert!(mapped.len() > 1000);
    assert_eq!(mapped, loaded);
}

#[test]
fn whatever_writes_an_index_can_be_told_to_go_on_without_locks() {
    let folder = with_index();
    for arguments in [
        "index build --model m.model --data db.npy --out n.index",
        "index renew n.index --model m.model --data db.npy",
        "index add n.index --data db.npy",
        "index remove n.index --id 5",
        "index compact n.index",
    ] {
        folder.run(&format!("{arguments} --no-lock")).ok();
    }
    let help = folder.run("index compact --help").ok();
    assert!(help.out.contains("cannot lock files"), "{}", help.out);
}
