//! Ctrl-C: commands stop at the next good moment and leave nothing half done.

use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether there is nothing to finish: then an interruption ends the program at once.
static NOTHING_TO_SAVE: AtomicBool = AtomicBool::new(false);

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
    std::process::exit(130)
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
