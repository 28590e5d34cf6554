//! What files hold, whatever their format.

use std::path::Path;

use super::array::Array;
#[cfg(feature = "arrow")]
use super::arrow::Table as ColumnTable;
use super::input::Input;
use super::source::Source;
use super::texts::Texts;

/// What a file, or the part of it that was asked for, holds.
pub(super) enum Content {
    /// Numbers.
    Array(Array),
    /// Texts, one for each row.
    Texts(Box<dyn Texts>),
    /// Columns with names and types.
    #[cfg(feature = "arrow")]
    Columns(Box<ColumnTable>),
    /// Lines of text, with the columns asked for.
    Text(Input, Option<String>),
}

impl Content {
    /// The file, as messages call it.
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
