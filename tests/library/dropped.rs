//! No error is dropped silently: `let _ =` occurs only in `Drop`.

use std::path::{Path, PathBuf};

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// Returns the lines of product code that drop a value outside of `Drop`.
fn drops(text: &str) -> Vec<usize> {
    let product = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let mut in_drop = false;
    let mut found = Vec::new();
    for (number, line) in product.lines().enumerate() {
        if line.starts_with("impl ") {
            in_drop = line.contains("Drop for ");
        }
        let is_code = !line.trim_start().starts_with("//");
        if is_code && line.contains("let _ = ") && !in_drop {
            found.push(number + 1);
        }
    }
    found
}

#[test]
fn dropped_values_are_found() {
    let text =
        "fn a() {\n    let _ = b();\n}\n// let _ = c();\nimpl Drop for A {\n    let _ = d();\n}\n";
    assert_eq!(drops(text), [2]);
}

#[test]
fn no_error_is_dropped() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for directory in ["src", "cli/src", "python/src"].map(|directory| root.join(directory)) {
        // A published package does not contain the other members of the workspace.
        if directory.is_dir() {
            sources(&directory, &mut files);
        }
    }
    assert!(files.len() > 100, "{}", files.len());
    let mut found = Vec::new();
    for path in files {
        let lines = drops(&std::fs::read_to_string(&path).unwrap());
        found.extend(lines.into_iter().map(|line| format!("{}:{line}", path.display())));
    }
    assert!(
        found.is_empty(),
        "handle the error, report it, or say why it does not matter: {found:#?}"
    );
}
