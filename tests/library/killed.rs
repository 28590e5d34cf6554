//! Killed processes: a test of this binary runs in a child process and makes changes until the
//! process is killed.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Returns element `number` of a pseudo-random sequence.
pub fn mixed(number: u64) -> u64 {
    let mixed = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

/// Reports that change `number` is acknowledged.
pub fn say_done(number: u64) {
    println!("\ndone {number}");
    std::io::stdout().flush().unwrap();
}

/// Runs a test with an environment variable, and kills it when `late` has passed after `changes`
/// changes. Returns the numbers of the changes that the test acknowledged.
pub fn done_by(
    test: &str,
    (name, value): (&str, String),
    changes: u64,
    late: Duration,
) -> Vec<u64> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(name, value)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut done = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let Ok(line) = line else { break };
        let Some(number) = line.strip_prefix("done ") else { continue };
        done.push(number.parse().unwrap());
        if done.len() as u64 == changes {
            std::thread::sleep(late);
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    done
}
