//! What files hold, whatever their format.

use std::path::Path;

use super::array::Array;
#[cfg(feature = "arrow")]
use super::arrow::Table as ColumnTable;
use super::input::Input;
use super::npy::Strings;
use super::source::Source;

/// What a file, or the part of it that was asked for, holds.
pub(super) enum Content {
    /// Numbers.
    Array(Array),
    /// Texts of an npy array.
    Strings(Strings),
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
            Content::Strings(strings) => strings.path(),
            #[cfg(feature = "arrow")]
            Content::Columns(table) => table.path(),
            Content::Text(input, _) => input.path(),
        }
    }
}
