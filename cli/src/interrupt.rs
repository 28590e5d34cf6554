//! Ctrl-C: commands stop at the next good moment and leave nothing half done.

use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether there is nothing to finish or to clean up: then an interruption ends the program at once.
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
        let again = INTERRUPTED.swap(true, Ordering::Relaxed);
        if again || NOTHING_TO_SAVE.load(Ordering::Relaxed) {
            std::process::exit(130);
        }
    })?;
    Ok(())
}

/// Says that from here on an interruption may end the program at once.
pub fn nothing_to_save() {
    NOTHING_TO_SAVE.store(true, Ordering::Relaxed);
}

/// Whether there was an interruption.
pub fn happened() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Fails if there was one.
pub fn check() -> Result<(), Interrupted> {
    if happened() { Err(Interrupted) } else { Ok(()) }
}
