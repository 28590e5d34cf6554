//! `--no-lock`, for all that changes an index.

use std::path::Path;

use hashbrook::{Index, IndexBuilder, Result};

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

    /// Puts an index that was built in its place.
    pub fn finish(&self, builder: IndexBuilder) -> Result<()> {
        if self.no_lock { builder.finish_unlocked() } else { builder.finish() }
    }
}
