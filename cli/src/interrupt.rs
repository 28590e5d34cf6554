//! Handling of Ctrl-C: commands stop at the next safe point and leave no unfinished files.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::console;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// True if an interruption may end the program at once, because nothing must be saved.
static NOTHING_TO_SAVE: AtomicBool = AtomicBool::new(false);

/// Temporary directories, which are removed when the program is ended at once.
static DIRECTORIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Error of a command that was interrupted.
#[derive(Debug)]
pub struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

/// Installs the handler of interruptions; a second interruption ends the program at once.
pub fn listen() -> anyhow::Result<()> {
    ctrlc::set_handler(|| {
        let again = INTERRUPTED.swap(true, Ordering::SeqCst);
        if again || NOTHING_TO_SAVE.load(Ordering::SeqCst) {
            end();
        }
    })?;
    Ok(())
}

/// Ends the program at once. Removes unfinished files, and prevents new ones.
fn end() -> ! {
    let _halted = hashbrook::file::remove_unfinished();
    for directory in &*DIRECTORIES.lock().unwrap_or_else(PoisonError::into_inner) {
        if let Err(error) = std::fs::remove_dir_all(directory)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            let directory = directory.display();
            console::note(format_args!(
                "{directory}: cannot be removed: {error}; remove it by hand"
            ));
        }
    }
    std::process::exit(130)
}

/// Registers a temporary directory, which is removed if an interruption ends the program at once:
/// no destructors run then.
pub fn remove_at_end(directory: &Path) {
    DIRECTORIES.lock().unwrap_or_else(PoisonError::into_inner).push(directory.to_path_buf());
}

/// Lets an interruption end the program at once from now on.
pub fn nothing_to_save() {
    NOTHING_TO_SAVE.store(true, Ordering::SeqCst);
    // An interruption may have arrived before this call.
    if happened() {
        end();
    }
}

/// Returns whether an interruption has arrived.
pub fn happened() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// Fails if an interruption has arrived.
pub fn check() -> Result<(), Interrupted> {
    if happened() { Err(Interrupted) } else { Ok(()) }
}
