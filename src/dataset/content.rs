//! Contents of files, independent of their format.

use std::path::Path;

use super::array::Array;
#[cfg(feature = "arrow")]
use super::arrow::Table as ColumnTable;
use super::input::Input;
use super::source::Source;
use super::texts::Texts;

/// Content of a file, or of the selected part of a file.
pub(super) enum Content {
    /// Numbers.
    Array(Array),
    /// Strings, one for each row.
    Texts(Box<dyn Texts>),
    /// Columns with names and types.
    #[cfg(feature = "arrow")]
    Columns(Box<ColumnTable>),
    /// Lines of text, with the selected columns.
    Text(Input, Option<String>),
}

impl Content {
    /// Returns the name of the file in messages.
    pub(super) fn path(&self) -> &Path {
        match self {
            Content::Array(array) => array.path(),
            Content::Texts(texts) => texts.path(),
            #[cfg(feature = "arrow")]
            Content::Columns(table) => table.path(),
            Content::Text(input, _) => input.path(),
        }
    }
}
