//! Ctrl-C: commands stop at the next good moment and leave nothing half done.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::console;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether there is nothing to finish: then an interruption ends the program at once.
static NOTHING_TO_SAVE: AtomicBool = AtomicBool::new(false);

/// Folders for temporary files, which go when the program is ended at once.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The error of a command that was interrupted.
#[derive(Debug)]
pub struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

/// Takes note of interruptions; a second one ends the program at once.
pub fn listen() -> anyhow::Result<()> {
    ctrlc::set_handler(|| {
        let again = INTERRUPTED.swap(true, Ordering::SeqCst);
        if again || NOTHING_TO_SAVE.load(Ordering::SeqCst) {
            end();
        }
    })?;
    Ok(())
}

/// Ends the program at once. Files that were begun go, and none is begun after that.
fn end() -> ! {
    let _halted = hashbrook::file::remove_unfinished();
    for folder in &*FOLDERS.lock().unwrap_or_else(PoisonError::into_inner) {
        if let Err(error) = std::fs::remove_dir_all(folder)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            let folder = folder.display();
            console::note(format_args!("{folder}: cannot be removed: {error}; remove it by hand"));
        }
    }
    std::process::exit(130)
}

/// Has a folder of temporary files removed if an interruption ends the program at once, which runs no
/// destructors.
pub fn remove_at_end(folder: &Path) {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner).push(folder.to_path_buf());
}

/// Says that from here on an interruption may end the program at once.
pub fn nothing_to_save() {
    NOTHING_TO_SAVE.store(true, Ordering::SeqCst);
    // One may have come before that was known.
    if happened() {
        end();
    }
}

/// Whether there was an interruption.
pub fn happened() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// Fails if there was one.
pub fn check() -> Result<(), Interrupted> {
    if happened() { Err(Interrupted) } else { Ok(()) }
}
