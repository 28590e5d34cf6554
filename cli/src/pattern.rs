//! Patterns such as `corpus/*.parquet`, which are expanded to the files that match.

use std::ffi::OsString;
use std::path::Path;

/// Options whose values are files and may be given several times.
const OPTIONS: [&str; 6] =
    ["--codes", "--data", "--ids", "--labels", "--queries", "--query-labels"];

/// Returns the arguments with each pattern replaced by the files that match it, in order of their
/// names. A pattern without matches stays as it is, so that opening it fails with its name.
pub fn expanded(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut all = Vec::new();
    let mut option: Option<String> = None;
    for argument in arguments {
        let text = argument.to_str().unwrap_or_default();
        let known = |name: &str| OPTIONS.contains(&name);
        let (name, value) = match (&option, text.split_once('=')) {
            (Some(name), _) if !text.starts_with('-') => (name.clone(), text),
            (_, Some((name, value))) if known(name) => (name.to_owned(), value),
            _ => {
                option = known(text).then(|| text.to_owned());
                all.push(argument);
                continue;
            }
        };
        let found = matching(value);
        match found.split_first() {
            None => all.push(argument),
            Some((first, others)) => {
                // The option name is already in the list, unless it was joined to the value by `=`.
                if option.is_none() {
                    all.push(name.clone().into());
                }
                all.push(first.into());
                for other in others {
                    all.extend([OsString::from(&name), other.into()]);
                }
            }
        }
        option = None;
    }
    all
}

/// Returns the files that match a pattern, each with the pattern's column suffix. Returns no files
/// if the value is not a pattern or is the name of an existing file.
fn matching(value: &str) -> Vec<String> {
    let is_pattern = |text: &str| text.contains(['*', '?', '[']);
    if !is_pattern(value) || Path::new(value).exists() {
        return Vec::new();
    }
    let files = |pattern: &str, part: &str| -> Vec<String> {
        let found = glob::glob(pattern).into_iter().flatten().flatten();
        found.filter_map(|path| Some(format!("{}{part}", path.to_str()?))).collect()
    };
    let found = files(value, "");
    match value.rsplit_once(':') {
        Some((pattern, name)) if found.is_empty() && is_pattern(pattern) => {
            files(pattern, &format!(":{name}"))
        }
        _ => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(arguments: &[String]) -> Vec<String> {
        let arguments = arguments.iter().map(OsString::from);
        expanded(arguments).into_iter().map(|text| text.into_string().unwrap()).collect()
    }

    #[test]
    fn patterns_become_files_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        for name in ["b.parquet", "a.parquet", "c.npy", "[x].npy"] {
            std::fs::write(path(name), "").unwrap();
        }
        let text = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        let (a, b) = (path("a.parquet"), path("b.parquet"));
        let pattern = path("*.parquet");
        let found = expand(&text(&["encode", "--data", &pattern, "--out", "*.npy"]));
        assert_eq!(found, text(&["encode", "--data", &a, "--data", &b, "--out", "*.npy"]));
        let found = expand(&text(&[&format!("--data={pattern}:x,y")]));
        let (a, b) = (format!("{a}:x,y"), format!("{b}:x,y"));
        assert_eq!(found, text(&["--data", &a, "--data", &b]));
        // Names of existing files are not expanded. Patterns without matches stay, so that they are
        // reported.
        for value in [path("[x].npy"), path("*.csv"), "plain".to_owned()] {
            assert_eq!(expand(&text(&["--labels", &value])), text(&["--labels", &value]));
        }
        assert_eq!(expand(&text(&["info", &pattern])), text(&["info", &pattern]));
    }
}
