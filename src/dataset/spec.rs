//! Parsing of the names of data: `FILE`, `FILE:NAME` or `FILE:COLUMNS`.

use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// Returns the path of the file in `FILE`, `FILE:NAME` or `FILE:COLUMNS`.
///
/// # Errors
/// When nothing follows the colon.
pub fn file_of(spec: &str) -> Result<PathBuf> {
    Spec::parse(spec).map(|spec| spec.path)
}

/// A file, and the part of it to read if it holds several.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Spec {
    pub(super) path: PathBuf,
    pub(super) name: Option<String>,
}

impl Spec {
    /// Parses the name of data. If a file with the full name exists, a colon is part of its name;
    /// otherwise the last colon ends the path.
    pub(super) fn parse(spec: &str) -> Result<Spec> {
        Spec::parse_with(spec, |path| path.exists())
    }

    fn parse_with(spec: &str, exists: impl Fn(&Path) -> bool) -> Result<Spec> {
        let whole = Spec { path: PathBuf::from(spec), name: None };
        if exists(&whole.path) {
            return Ok(whole);
        }
        let Some((path, name)) = spec.rsplit_once(':') else { return Ok(whole) };
        if is_drive(path) && name.starts_with(['/', '\\']) {
            return Ok(whole);
        }
        if name.is_empty() {
            let problem = "there is no name after the colon; expected FILE, or FILE:NAME";
            return Err(Error::malformed(&whole.path, problem));
        }
        Ok(Spec { path: PathBuf::from(path), name: Some(name.to_owned()) })
    }
}

/// Returns whether a path is a drive letter such as the `C` of `C:\data.npy`.
fn is_drive(path: &str) -> bool {
    path.len() == 1 && path.starts_with(|letter: char| letter.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(spec: &str, existing: &str) -> (String, Option<String>) {
        let spec = Spec::parse_with(spec, |path| path == Path::new(existing)).unwrap();
        (spec.path.to_str().unwrap().to_owned(), spec.name)
    }

    #[test]
    fn the_last_colon_splits_unless_the_whole_exists() {
        assert_eq!(parse("a.npy", ""), ("a.npy".into(), None));
        assert_eq!(parse("a.npz:x", ""), ("a.npz".into(), Some("x".into())));
        assert_eq!(parse("b:a.csv:0-63,-1", ""), ("b:a.csv".into(), Some("0-63,-1".into())));
        assert_eq!(parse("a:x", "a:x"), ("a:x".into(), None));
    }

    #[test]
    fn a_drive_letter_is_no_file() {
        assert_eq!(parse(r"C:\a.npy", ""), (r"C:\a.npy".into(), None));
        assert_eq!(parse("C:/a.npy", ""), ("C:/a.npy".into(), None));
        assert_eq!(parse(r"C:\a.npz:x", ""), (r"C:\a.npz".into(), Some("x".into())));
        assert_eq!(parse("x:0", ""), ("x".into(), Some("0".into())));
    }

    #[test]
    fn a_colon_wants_a_name() {
        let error = Spec::parse_with("a.npz:", |_| false).unwrap_err();
        assert!(error.to_string().contains("no name after the colon"), "{error}");
    }
}
