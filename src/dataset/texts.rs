//! What formats that have texts give: one for each row.

use std::path::Path;

use crate::Result;

/// The texts of one file.
pub(super) trait Texts: Send {
    /// The file, as messages call it.
    fn path(&self) -> &Path;

    /// How many texts the file says it has.
    fn rows(&self) -> usize;

    /// Calls `each` with every text in turn, until one fails.
    fn for_each(&mut self, each: &mut dyn FnMut(&str) -> Result<()>) -> Result<()>;
}
