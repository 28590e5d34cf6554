//! Calls of crates that read Parquet, Arrow and HDF5, on bytes that anyone may have written.

use std::cell::Cell;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::path::Path;
use std::sync::Once;
use std::thread;

use crate::{Error, Result};

/// Runs a part of a reader. These crates are made for files that their likes have written, and may
/// panic at others: that is an error of the file here, as any damage is.
pub(in crate::dataset) fn guarded<T, E: Display>(
    path: &Path,
    run: impl FnOnce() -> std::result::Result<T, E>,
) -> Result<T> {
    match without_panic(run) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => {
            // Some of them tell a story of several lines.
            let error = error.to_string();
            let error = error.split_whitespace().collect::<Vec<_>>().join(" ");
            Err(Error::malformed(path, format!("cannot be read: {error}")))
        }
        Err(_) => Err(Error::malformed(path, "is damaged: what it says of itself does not fit")),
    }
}

thread_local! {
    /// Whether this thread is within [`without_panic`].
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs what may panic, and says whether it did; nothing is printed of it, since it becomes an error.
pub(in crate::dataset) fn without_panic<T>(run: impl FnOnce() -> T) -> thread::Result<T> {
    silence_guarded();
    let outer = GUARDED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(run));
    GUARDED.set(outer);
    done
}

/// Puts a hook before the one there is, to which it leaves all panics but those that are caught here. It is put there
/// with the first file that needs it; a program that sets a hook of its own later has that one, and sees them all.
fn silence_guarded() {
    static SILENCED: Once = Once::new();
    // A hook cannot be changed by a thread that panics.
    if SILENCED.is_completed() || thread::panicking() {
        return;
    }
    SILENCED.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            // Where the flag is gone, its thread ends, and is not within.
            if !GUARDED.try_with(Cell::get).unwrap_or(false) {
                before(panic);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Runs in a process of its own, as the hook belongs to the whole of it.
    #[test]
    fn caught_panics_are_silent_and_others_are_not() {
        const ALONE: &str = "HASHBROOK_TEST_ALONE";
        if std::env::var_os(ALONE).is_none() {
            let name = "dataset::guard::tests::caught_panics_are_silent_and_others_are_not";
            let mut again = std::process::Command::new(std::env::current_exe().unwrap());
            let ended = again.args([name, "--exact", "--nocapture"]).env(ALONE, "1").output();
            let ended = ended.unwrap();
            let said = String::from_utf8_lossy(&ended.stderr);
            assert!(ended.status.success() && !said.contains("inside"), "{said}");
            return;
        }
        static HEARD: AtomicUsize = AtomicUsize::new(0);
        set_hook(Box::new(|_| _ = HEARD.fetch_add(1, Ordering::SeqCst)));
        let panics = || -> std::result::Result<(), Error> { panic!("inside") };
        let error = guarded(Path::new("x"), panics).unwrap_err().to_string();
        assert!(error.contains("is damaged"), "{error}");
        // Also one within another.
        assert!(without_panic(|| guarded(Path::new("x"), panics).is_err()).unwrap());
        assert!(without_panic(|| panic!("inside")).is_err());
        assert_eq!(HEARD.load(Ordering::SeqCst), 0);
        assert!(catch_unwind(|| panic!("outside")).is_err());
        assert!(thread::spawn(|| panic!("outside")).join().is_err());
        // A thread beside a guarded one is heard.
        without_panic(|| thread::spawn(|| panic!("beside")).join().is_err()).unwrap();
        assert_eq!(HEARD.load(Ordering::SeqCst), 3);
    }
}
