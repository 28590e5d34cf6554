//! Effects on files: permissions, links, temporary files, locks, and changes by other programs.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::Directory;

/// Creates a directory with digits, a model of them, an index and packed codes.
fn with_index() -> Directory {
    let directory = Directory::new().with_digits();
    directory.run("learn --bits 32 --data db.npy --labels db-labels.npy --out m.model").ok();
    directory.run("encode --model m.model --data db.npy --out codes.npy").ok();
    directory.run("index build --codes codes.npy --out i.index").ok();
    directory
}

fn temporary(directory: &Directory) -> Vec<String> {
    directory.names().into_iter().filter(|name| name.ends_with(".part")).collect()
}

fn start(directory: &Directory, arguments: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_hashbrook"))
        .current_dir(directory.path())
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
    let directory = Directory::new().with_digits();
    let learn = "learn --bits 16 --data db.npy --labels db-labels.npy --rows 700";
    let mode =
        |name: &str| fs::metadata(directory.file(name)).unwrap().permissions().mode() & 0o777;
    directory.run(&format!("{learn} --out m.model")).ok();
    fs::set_permissions(directory.file("m.model"), fs::Permissions::from_mode(0o600)).unwrap();
    directory.run("learn --resume m.model --data db.npy --labels db-labels.npy --out m.model").ok();
    assert_eq!(mode("m.model"), 0o600);

    fs::create_dir(directory.file("models")).unwrap();
    symlink("models/real.model", directory.file("link.model")).unwrap();
    // In the first round the target of the link does not exist; in the second it does.
    for _ in 0..2 {
        directory.run(&format!("{learn} --out link.model")).ok();
        assert!(fs::symlink_metadata(directory.file("link.model")).unwrap().is_symlink());
        directory.run("info models/real.model").ok();
        fs::set_permissions(directory.file("link.model"), fs::Permissions::from_mode(0o640))
            .unwrap();
    }
    assert_eq!(mode("models/real.model"), 0o640);
}

#[test]
fn only_what_was_left_of_the_same_file_is_removed() {
    let directory = with_index();
    fs::rename(directory.file("i.index"), directory.file("hashbrook")).unwrap();
    let others = [".hashbrook-a1b2c3.part", ".codes.npy.a1b2c3d4.hashbrook.part"];
    let left = ".hashbrook.a1b2c3d4.hashbrook.part";
    others.iter().chain([&left]).for_each(|name| drop(directory.write(name, "half")));
    directory.run("index remove hashbrook --id 1").ok();
    directory.run("index compact hashbrook").ok();
    let mut expected = others.to_vec();
    expected.sort();
    assert_eq!(temporary(&directory), expected);
    // The next writer of `codes.npy` removes the temporary file of an earlier writer of it.
    directory.run("encode --model m.model --data db.npy --out codes.npy").ok();
    assert_eq!(temporary(&directory), [others[0]]);
}

#[test]
fn ctrl_c_leaves_no_temporary_files() {
    let directory = with_index();
    // The result is a large file that takes a while to write.
    let search = "search --index i.index --codes codes.npy -k 2000 --out r.npz";
    let mut interrupted = 0;
    for _ in 0..200 {
        let mut child = start(&directory, search);
        let mut writes = false;
        while !writes && child.try_wait().unwrap().is_none() {
            writes = !temporary(&directory).is_empty();
            std::thread::sleep(Duration::from_micros(200));
        }
        if writes {
            send("INT", &child);
        }
        let (status, text) = end(child);
        assert!(matches!(status, Some(0 | 130)), "{status:?} {text}");
        assert_eq!(temporary(&directory), [""; 0], "after status {status:?}");
        interrupted += usize::from(writes && status == Some(130));
        if interrupted == 10 {
            return;
        }
    }
    panic!("of 200 runs only {interrupted} were interrupted while they wrote");
}

#[test]
fn ctrl_c_leaves_nothing_of_what_goes_to_a_pipe() {
    let directory = Directory::new();
    directory.write("y.txt", "a\nb\n");
    fs::create_dir(directory.file("tmp")).unwrap();
    let left = || fs::read_dir(directory.file("tmp")).unwrap().count();
    // The command waits for its input forever.
    let mut child = Command::new(env!("CARGO_BIN_EXE_hashbrook"))
        .current_dir(directory.path())
        .env("TMPDIR", directory.file("tmp"))
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
    let directory = with_index();
    let search = "search --index i.index --codes codes.npy -k 5 --repeat 4000000000";
    let child = start(&directory, search);
    std::thread::sleep(Duration::from_millis(300));
    send("BUS", &child);
    let (status, text) = end(child);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.starts_with("hashbrook: bus error: "), "{text}");
    assert!(text.contains("--in-memory") && text.lines().count() == 1, "{text}");
}

#[test]
fn an_index_that_others_change_while_it_is_searched_ends_the_search() {
    let directory = with_index();
    let whole = fs::read(directory.file("i.index")).unwrap();
    directory.write("few.txt", (0..1000).map(|id| format!("{id}\n")).collect::<String>());
    directory.run("index remove i.index --ids few.txt").ok();
    directory.run("index compact i.index").ok();
    let other = fs::read(directory.file("i.index")).unwrap();
    for round in 0..6 {
        directory.write("i.index", &whole);
        let child = start(
            &directory,
            "search --index i.index --codes codes.npy -k 5 --one-by-one --repeat 4000000000",
        );
        std::thread::sleep(Duration::from_millis(200));
        match round % 3 {
            0 => directory.write("i.index", &other),
            1 => directory.write("i.index", &whole[..5000]),
            _ => directory.write("i.index", ""),
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
    let directory = with_index();
    directory.run("index remove i.index --id 3,4").ok();
    let search = "search --index i.index --codes codes.npy -k 5 --json";
    let hits = |outcome: crate::support::Outcome| {
        let mut lines = outcome.ok().json();
        lines.pop();
        lines
    };
    let (mapped, loaded) =
        (hits(directory.run(search)), hits(directory.run(&format!("{search} --in-memory"))));
    assert!(mapped.len() > 1000);
    assert_eq!(mapped, loaded);
}

#[test]
fn whatever_writes_an_index_can_be_told_to_go_on_without_locks() {
    let directory = with_index();
    for arguments in [
        "index build --model m.model --data db.npy --out n.index",
        "index renew n.index --model m.model --data db.npy",
        "index add n.index --data db.npy",
        "index remove n.index --id 5",
        "index compact n.index",
    ] {
        directory.run(&format!("{arguments} --no-lock")).ok();
    }
    let help = directory.run("index compact --help").ok();
    assert!(help.out.contains("cannot lock files"), "{}", help.out);
}
