//! What files hold, whatever their format.

use std::path::Path;

use super::array::Array;
use super::input::Input;
use super::npy::Strings;
use super::source::Source;

/// What the content is wanted for. It matters where a file holds several arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Features,
    Labels,
}

/// What a file, or the part of it that was asked for, holds.
pub(super) enum Content {
    /// Numbers.
    Array(Array),
    /// Texts of an npy array.
    Strings(Strings),
    /// Lines of text, with the columns asked for.
    Text(Input, Option<String>),
}

impl Content {
    /// The file, as messages call it.
    pub(super) fn path(&self) -> &Path {
        match self {
            Content::Array(array) => array.path(),
            Content::Strings(strings) => strings.path(),
            Content::Text(input, _) => input.path(),
        }
    }
}
