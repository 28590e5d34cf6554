//! Which columns of a table are read as features, in words.

use std::fmt;
use std::path::PathBuf;

/// Columns of a CSV, Parquet or Arrow file that are read as features.
///
/// As a text it names them in few words: `64 features px0 … px63`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FeatureColumns {
    /// The file.
    pub path: PathBuf,
    /// Names of the columns; their places where they have no names.
    pub names: Vec<String>,
    /// Whether the reader chose the columns, and the user named none that should be read.
    pub is_chosen: bool,
    /// A column that the reader does not take for a feature, though nobody excluded it: the index of pandas.
    pub omitted: Option<String>,
    /// The one of the reader's [remarks](super::Reader::remarks) that says that the first line was taken for a
    /// header, if it was.
    pub header_remark: Option<String>,
}

impl fmt::Display for FeatureColumns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.names.len() {
            1 => write!(f, "features {}", abridged(&self.names)),
            count => write!(f, "{count} features {}", abridged(&self.names)),
        }
    }
}

/// Names columns in few words: all of them, or the first and the last.
pub(super) fn abridged(titles: &[String]) -> String {
    match titles {
        [first, _, _, _, .., last] => format!("{} … {}", visible(first), visible(last)),
        few => few.iter().map(|title| visible(title)).collect::<Vec<_>>().join(", "),
    }
}

/// Returns a title as messages show it.
pub(super) fn visible(title: &str) -> String {
    if title.is_empty() { "\"\"".to_owned() } else { title.to_owned() }
}
