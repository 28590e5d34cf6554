//! A test without its data visibly reports that it is skipped.

use std::process::Command;

#[test]
fn whoever_runs_tests_without_their_data_sees_which_are_left_out() {
    let nothing = tempfile::tempdir().unwrap();
    // The child process captures the output of passing tests, as cargo does.
    let run = |threads: &str| {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["real_data::", "--test-threads", threads])
            .env("HASHBROOK_DATA", nothing.path())
            .output()
            .unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let seen = run("2");
    for (test, set) in [
        ("mnist", "mnist"),
        ("cifar10_cnn", "cifar10-cnn"),
        ("tinyimagenet_cnn", "tinyimagenet-cnn"),
        ("digits_are_those_embedded", "digits"),
    ] {
        let line = format!("left out: real_data::{test}, as {set} is not in ");
        assert!(seen.contains(&line), "{line}\n{seen}");
    }
    let seen = run("1");
    assert_eq!(seen.matches("left out: ").count(), 4, "on one thread, too: {seen}");
}
