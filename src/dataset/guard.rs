//! Calls of the crates that read Parquet, Arrow and HDF5 on untrusted bytes.
//!
//! Parquet, Arrow and HDF5 are decoded by crates (`parquet`, `arrow-ipc`, `hdf5-pure`, without C
//! code except that of zstd), behind the features `arrow` and `hdf5`. Their input may be damaged in
//! any way, so calls go through this module, which turns a panic into an error and does not print
//! it. With the first such file, a panic hook is installed that ignores panics inside of a guarded
//! call and passes all others to the previous hook. Sizes that would make the crates request absurd
//! amounts of memory are checked first; for Arrow, `arrow/ipc.rs` reads the messages itself.

use std::cell::Cell;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::path::Path;
use std::sync::Once;
use std::thread;

use crate::{Error, Result};

/// Runs a part of a reader. The crates are made for well-formed files, and may panic on others. A
/// panic becomes an error of the file, like any other damage.
pub(in crate::dataset) fn guarded<T, E: Display>(
    path: &Path,
    run: impl FnOnce() -> std::result::Result<T, E>,
) -> Result<T> {
    match without_panic(run) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => {
            // Some errors of the crates have several lines, which are joined.
            let error = error.to_string();
            let error = error.split_whitespace().collect::<Vec<_>>().join(" ");
            Err(Error::malformed(path, format!("cannot be read: {error}")))
        }
        Err(_) => Err(Error::malformed(path, "is damaged: what it says of itself does not fit")),
    }
}

thread_local! {
    /// Whether this thread is inside [`without_panic`].
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs a function that may panic, and returns the panic as an error. The panic is not printed.
pub(in crate::dataset) fn without_panic<T>(run: impl FnOnce() -> T) -> thread::Result<T> {
    silence_guarded();
    let outer = GUARDED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(run));
    GUARDED.set(outer);
    done
}

/// Installs a panic hook that ignores panics inside [`without_panic`] and forwards all others to
/// the previous hook. The hook is installed with the first file that needs it. If a program
/// installs another hook later, that hook sees all panics.
fn silence_guarded() {
    static SILENCED: Once = Once::new();
    // A panicking thread cannot change the hook.
    if SILENCED.is_completed() || thread::panicking() {
        return;
    }
    SILENCED.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            // If the flag is already destroyed, the thread is ending and is not inside
            // `without_panic`.
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

    /// The test runs in a separate process, since the hook is global.
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
        // A panic within a nested call is caught, too.
        assert!(without_panic(|| guarded(Path::new("x"), panics).is_err()).unwrap());
        assert!(without_panic(|| panic!("inside")).is_err());
        assert_eq!(HEARD.load(Ordering::SeqCst), 0);
        assert!(catch_unwind(|| panic!("outside")).is_err());
        assert!(thread::spawn(|| panic!("outside")).join().is_err());
        // A panic in another thread is still reported.
        without_panic(|| thread::spawn(|| panic!("beside")).join().is_err()).unwrap();
        assert_eq!(HEARD.load(Ordering::SeqCst), 3);
    }
}
