//! `--no-lock`, for all commands that change an index.

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
    /// Opens an index to change it, without a lock if `--no-lock` is given.
    pub fn edit(&self, path: &Path) -> Result<Index> {
        if self.no_lock { Index::edit_unlocked(path) } else { Index::edit(path) }
    }

    /// Finishes building an index and moves it to its final path.
    pub fn finish(&self, builder: IndexBuilder) -> Result<()> {
        if self.no_lock { builder.finish_unlocked() } else { builder.finish() }
    }
}
