//! A directory and the command, for each test.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

/// Path of the built-in digits: 64 columns of pixels and one of labels.
pub fn digits() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../src/dataset/digits.csv.gz").to_owned()
}

/// A temporary directory of one test.
pub struct Directory(TempDir);

impl Directory {
    pub fn new() -> Directory {
        Directory(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.file(name), bytes).unwrap();
        self.file(name)
    }

    pub fn names(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.path()).unwrap();
        let mut names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Runs the command in this directory, with arguments separated by spaces.
    pub fn run(&self, arguments: &str) -> Outcome {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hashbrook"));
        self.outcome(command.args(arguments.split_whitespace()), arguments)
    }

    /// Runs a script in this directory, in which `hashbrook` is the command.
    #[cfg(unix)]
    pub fn shell(&self, script: &str) -> Outcome {
        let command = format!("hashbrook() {{ {} \"$@\"; }}", env!("CARGO_BIN_EXE_hashbrook"));
        let whole = format!("set -o pipefail; {command}; {script}");
        self.outcome(Command::new("bash").args(["-c", &whole]), script)
    }

    fn outcome(&self, command: &mut Command, arguments: &str) -> Outcome {
        let output = command.current_dir(self.path()).output().unwrap();
        Outcome {
            arguments: arguments.to_owned(),
            status: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Adds the digits, a model of the digits, and an index of the database.
    pub fn with_index(self) -> Directory {
        let directory = self.with_digits();
        directory.run("learn --bits 48 --data db.npy --labels db-labels.npy --out m.model").ok();
        directory
            .run("index build --model m.model --data db.npy --labels db-labels.npy --out i.index")
            .ok();
        directory
    }

    /// Adds the digits, split into database and queries.
    pub fn with_digits(self) -> Directory {
        let digits = digits();
        self.run(&format!(
            "split --data {digits}:0-63 --labels {digits}:64 --queries-per-class 20 --out ."
        ))
        .ok();
        self
    }
}

/// Result of running the command.
#[derive(Debug)]
#[allow(dead_code, reason = "printed when a test fails")]
pub struct Outcome {
    arguments: String,
    pub status: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Outcome {
    pub fn ok(self) -> Outcome {
        assert_eq!(self.status, Some(0), "{self:#?}");
        self
    }

    /// Checks that the command failed with one message that contains all `parts`, and printed no
    /// result.
    pub fn fails_with(self, parts: &[&str]) -> Outcome {
        assert_eq!(self.status, Some(1), "{self:#?}");
        assert!(self.out.is_empty(), "{self:#?}");
        assert_eq!(self.err.trim_end().lines().count(), 1, "one message: {self:#?}");
        for part in parts {
            assert!(self.err.contains(part), "{part:?} is not in it: {self:#?}");
        }
        self
    }

    /// Checks that the command line was refused with a message that contains all `parts`.
    pub fn refused_with(self, parts: &[&str]) -> Outcome {
        assert_eq!(self.status, Some(2), "{self:#?}");
        for part in parts {
            assert!(self.err.contains(part), "{part:?} is not in it: {self:#?}");
        }
        self
    }

    /// Parses the printed JSON objects, one per line.
    pub fn json(&self) -> Vec<Value> {
        let object = |line: &str| serde_json::from_str(line);
        self.out
            .lines()
            .map(|line| object(line).unwrap_or_else(|e| panic!("{e}: {self:#?}")))
            .collect()
    }
}
