//! Common interface of formats with strings, one for each row.

use std::path::Path;

use crate::Result;

/// Strings of one file.
pub(super) trait Texts: Send {
    /// Returns the name of the file in messages.
    fn path(&self) -> &Path;

    /// Returns the number of strings that the file states.
    fn rows(&self) -> usize;

    /// Calls `each` with every string in turn, until a call fails.
    fn for_each(&mut self, each: &mut dyn FnMut(&str) -> Result<()>) -> Result<()>;
}
