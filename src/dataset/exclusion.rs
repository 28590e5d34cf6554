//! Columns that are not features because other data is read from them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

#[cfg(feature = "arrow")]
use super::arrow;
use super::content::Content;
use super::open::open;
use super::purpose::Purpose;
use super::spec::Spec;
use super::text::{Selection, Table};
use crate::{Error, Result};

/// Returns the names of the files of features, without the columns of the same tables that `others`
/// select, such as labels and ids.
///
/// `t.csv` with the labels `t.csv:target` becomes `t.csv:!target`. Columns that are selected as
/// features stay, and so do files other than CSV, Parquet and Arrow files.
///
/// # Errors
/// When a file cannot be read, or is in both lists without columns that distinguish features from
/// other data.
pub fn without_columns<S: AsRef<str>, T: AsRef<str>>(
    data: &[S],
    others: &[T],
) -> Result<Vec<String>> {
    let mut by_file: HashMap<PathBuf, Vec<Option<String>>> = HashMap::new();
    for other in others {
        let Spec { path, name } = Spec::parse(other.as_ref())?;
        by_file.entry(real_path(&path)).or_default().push(name);
    }
    let none = Vec::new();
    let without = |spec: &S| {
        let parsed = Spec::parse(spec.as_ref())?;
        let others = by_file.get(&real_path(&parsed.path)).unwrap_or(&none);
        without(spec.as_ref(), parsed, others)
    };
    data.iter().map(without).collect()
}

/// Returns `data` without the columns that `others` select from the same file; `None` stands for
/// the whole file.
fn without(data: &str, spec: Spec, others: &[Option<String>]) -> Result<String> {
    let picks = spec.name.as_deref().is_some_and(|name| Selection::parse(name).picks());
    // A pipe can be read only once, so its columns cannot be checked first.
    if picks || others.is_empty() || !spec.path.is_file() {
        return Ok(data.to_owned());
    }
    let file = spec.path.to_string_lossy().into_owned();
    let titles = match open(&file, Purpose::Features)? {
        #[cfg(feature = "arrow")]
        Content::Columns(table) => Titles::typed(&table),
        Content::Text(input, _) => {
            let columns = Table::open(input, None, Purpose::Labels)?.first_line().len();
            let last = columns.saturating_sub(1).to_string();
            Titles { names: Vec::new(), last, has_vectors: false }
        }
        Content::Array(_) | Content::Texts(_) => return Ok(data.to_owned()),
    };
    let mut parts: Vec<String> = spec.name.into_iter().collect();
    for name in others {
        match name {
            Some(name) => {
                for part in titles.excluded(name) {
                    if !parts.contains(&part) {
                        parts.push(part);
                    }
                }
            }
            None => titles.check_whole(&spec.path)?,
        }
    }
    Ok(match parts.is_empty() {
        true => file,
        false => format!("{file}:{}", parts.join(",")),
    })
}

/// Columns of a table.
struct Titles {
    /// Names of the columns of a Parquet or Arrow file, which may contain commas. Empty for a CSV
    /// file.
    names: Vec<String>,
    /// Name of the last column.
    last: String,
    /// Whether the features are a single column of lists. Other columns may then have any type.
    has_vectors: bool,
}

impl Titles {
    #[cfg(feature = "arrow")]
    fn typed(table: &arrow::Table) -> Titles {
        let names: Vec<String> = table.columns().into_iter().map(|(name, _)| name).collect();
        let last = names.last().cloned().unwrap_or_default();
        Titles { names, last, has_vectors: table.has_vectors() }
    }

    /// Returns the exclusions of the columns that were selected after a colon.
    fn excluded(&self, name: &str) -> Vec<String> {
        // A name with a comma would be split here, so the column is excluded by its position.
        let place = self.names.iter().position(|title| title == name);
        if let Some(place) = place.filter(|_| name.contains([',', '!'])) {
            return vec![format!("!{place}")];
        }
        let parts = name.split(',').map(str::trim);
        match Selection::parse(name).picks() {
            true => {
                parts.filter(|part| !part.starts_with('!')).map(|part| format!("!{part}")).collect()
            }
            // If there are only exclusions, the excluded columns are the features.
            false => parts.map(|part| part.trim_start_matches('!').to_owned()).collect(),
        }
    }

    /// Fails if all columns would be both features and other data.
    fn check_whole(&self, path: &Path) -> Result<()> {
        if self.has_vectors {
            return Ok(());
        }
        let problem = format!(
            "is given for features and for something else; name the columns that are no features, as \
             in {}:{}: all others are features then",
            path.display(),
            self.last
        );
        Err(Error::malformed(path, problem))
    }
}

/// Returns the canonical path of a file.
fn real_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}
