//! Short descriptions of the columns that are read as features.

use std::fmt;
use std::path::PathBuf;

/// Columns of a CSV, Parquet or Arrow file that are read as features.
///
/// `Display` names them in a few words: `64 features px0 … px63`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FeatureColumns {
    /// Path of the file.
    pub path: PathBuf,
    /// Names of the columns, or their positions if they have no names.
    pub names: Vec<String>,
    /// Whether the reader chose the columns, since the user selected none.
    pub is_chosen: bool,
    /// Column that is omitted though the user did not exclude it: the index of pandas.
    pub omitted: Option<String>,
    /// [Warning](super::Reader::remarks) of the reader that the first line was taken for a header,
    /// if it was.
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

/// Returns the names of columns in a few words: all of them, or the first and the last.
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
