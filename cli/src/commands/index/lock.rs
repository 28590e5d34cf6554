//! `--no-lock`, for all that changes an index.

use std::path::Path;

use hashbrook::{Index, Result};

#[derive(clap::Args)]
pub struct Lock {
    /// Go on where the file system cannot lock files, as some network file systems: nothing else may
    /// write the index meanwhile, or changes are lost
    #[arg(long)]
    no_lock: bool,
}

impl Lock {
    /// Opens an index to change it.
    pub fn edit(&self, path: &Path) -> Result<Index> {
        if self.no_lock { Index::edit_unlocked(path) } else { Index::edit(path) }
    }

    /// Writes an index to a file.
    pub fn save(&self, index: &Index, path: &Path) -> Result<()> {
        if self.no_lock { index.save_unlocked(path) } else { index.save(path) }
    }
}
