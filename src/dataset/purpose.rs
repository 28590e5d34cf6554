//! Purposes for which files are read.

/// Use of the content of a file. It decides between several arrays in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Features,
    Labels,
    Ids,
    Codes,
}
