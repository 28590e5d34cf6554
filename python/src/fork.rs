//! Detection of forked processes.

use std::sync::atomic::{AtomicU32, Ordering};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Id of the process that first used threads; 0 if no process has.
static FIRST: AtomicU32 = AtomicU32::new(0);

/// Checks that threads can be used. Must be called before any work that runs on several threads.
///
/// # Errors
/// If this process was forked from a process that used threads. The forked process has none of
/// these threads and would wait for them forever.
pub fn check() -> PyResult<()> {
    let this = std::process::id();
    match FIRST.compare_exchange(0, this, Ordering::Relaxed, Ordering::Relaxed) {
        Err(first) if first != this => Err(PyRuntimeError::new_err(
            "this process is a copy (fork) of one that has used hashbrook, without the threads that it computes \
             with; start new processes instead: multiprocessing.get_context(\"spawn\")",
        )),
        _ => Ok(()),
    }
}
