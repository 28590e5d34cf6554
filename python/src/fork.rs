//! Processes that are copies of others.

use std::sync::atomic::{AtomicU32, Ordering};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// The process that first used threads; 0 if none has.
static FIRST: AtomicU32 = AtomicU32::new(0);

/// To be called before anything that runs on several threads.
///
/// # Errors
/// In a copy (`fork`) of a process that used them: a copy has none of its threads, and would wait for them for
/// ever.
pub fn check() -> PyResult<()> {
    let this = std::process::id();
    match FIRST.compare_exchange(0, this, Ordering::Relaxed, Ordering::Relaxed) {
        Err(first) if first != this => Err(PyRuntimeError::new_err(
            "this process is a copy (fork) of one that has used hashbrook, without the threads that it computes \
             with; start processes anew instead: multiprocessing.get_context(\"spawn\")",
        )),
        _ => Ok(()),
    }
}
