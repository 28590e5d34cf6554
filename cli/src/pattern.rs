//! Patterns such as `corpus/*.parquet` in place of the files that they stand for.

use std::ffi::OsString;
use std::path::Path;

/// The options whose values are files that may be given several times.
const OPTIONS: [&str; 6] =
    ["--codes", "--data", "--ids", "--labels", "--queries", "--query-labels"];

/// The arguments with each pattern replaced by the files that match it, in order of their names; what
/// matches none stays as it is, and will not be found.
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
                // The name of the option stands there already, unless it came with the value.
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

/// The files that a pattern stands for, each with what is to be taken from it; none for what is no
/// pattern, or is the name of a file.
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
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
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
        // What exists is meant as it is, and what does not stays to be told of.
        for value in [path("[x].npy"), path("*.csv"), "plain".to_owned()] {
            assert_eq!(expand(&text(&["--labels", &value])), text(&["--labels", &value]));
        }
        assert_eq!(expand(&text(&["info", &pattern])), text(&["info", &pattern]));
    }
}
