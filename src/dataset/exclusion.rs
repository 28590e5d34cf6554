//! Columns that are no features because something else is read from them.

use std::path::Path;

#[cfg(feature = "arrow")]
use super::arrow;
use super::content::Content;
use super::open::open;
use super::purpose::Purpose;
use super::spec::Spec;
use super::text::{Selection, Table};
use crate::{Error, Result};

/// Returns the names of files of features, without the columns that `others` name of the same tables: labels, ids.
///
/// `t.csv` with the labels `t.csv:target` becomes `t.csv:!target`. Columns that are picked as features stay, and so
/// does whatever is no CSV, Parquet or Arrow file.
///
/// # Errors
/// When a file cannot be read, or is in both lists without columns that would distinguish features from others.
pub fn without_columns<S: AsRef<str>, T: AsRef<str>>(
    data: &[S],
    others: &[T],
) -> Result<Vec<String>> {
    let others: Vec<Spec> =
        others.iter().map(|spec| Spec::parse(spec.as_ref())).collect::<Result<_>>()?;
    data.iter().map(|spec| without(spec.as_ref(), &others)).collect()
}

fn without(data: &str, others: &[Spec]) -> Result<String> {
    let spec = Spec::parse(data)?;
    let picks = spec.name.as_deref().is_some_and(|name| Selection::parse(name).picks());
    let same: Vec<&Spec> =
        others.iter().filter(|other| is_same_file(&other.path, &spec.path)).collect();
    // A pipe can be read once: its columns cannot be looked up first.
    if picks || same.is_empty() || !spec.path.is_file() {
        return Ok(data.to_owned());
    }
    let file = spec.path.to_string_lossy().into_owned();
    let titles = match open(&file, Purpose::Features)? {
        #[cfg(feature = "arrow")]
        Content::Columns(table) => Titles::Typed(table),
        Content::Text(input, _) => Titles::FirstLine(Table::open(input, None, Purpose::Labels)?),
        Content::Array(_) | Content::Texts(_) => return Ok(data.to_owned()),
    };
    let mut parts: Vec<String> = spec.name.into_iter().collect();
    for other in same {
        match &other.name {
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
enum Titles {
    #[cfg(feature = "arrow")]
    Typed(Box<arrow::Table>),
    FirstLine(Table),
}

impl Titles {
    /// Returns what excludes columns that were named after a colon.
    fn excluded(&self, name: &str) -> Vec<String> {
        #[cfg(feature = "arrow")]
        if let Titles::Typed(table) = self {
            // A name may have a comma in it, which would separate names here.
            let place = table.columns().iter().position(|(title, _)| title == name);
            if let Some(place) = place.filter(|_| name.contains([',', '!'])) {
                return vec![format!("!{place}")];
            }
        }
        let parts = name.split(',').map(str::trim);
        match Selection::parse(name).picks() {
            true => {
                parts.filter(|part| !part.starts_with('!')).map(|part| format!("!{part}")).collect()
            }
            // All but the features are something else.
            false => parts.map(|part| part.trim_start_matches('!').to_owned()).collect(),
        }
    }

    /// Fails if all columns would be features and something else as well.
    fn check_whole(&self, path: &Path) -> Result<()> {
        let last = match self {
            #[cfg(feature = "arrow")]
            Titles::Typed(table) if table.has_vectors() => return Ok(()),
            #[cfg(feature = "arrow")]
            Titles::Typed(table) => table.columns().pop().map(|(name, _)| name).unwrap_or_default(),
            Titles::FirstLine(table) => (table.first_line().len() - 1).to_string(),
        };
        let problem = format!(
            "is given for features and for something else; name the columns that are no features, as \
             in {}:{last}: all others are features then",
            path.display()
        );
        Err(Error::malformed(path, problem))
    }
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    one == other || real(one).is_some_and(|one| Some(one) == real(other))
}
