//! Errors of the library as exceptions of Python.

use hashbrook::{Error, ErrorKind};
use pyo3::exceptions::{
    PyBlockingIOError, PyFileNotFoundError, PyKeyError, PyMemoryError, PyOSError, PyRuntimeError,
    PyValueError,
};
use pyo3::prelude::*;

pyo3::create_exception!(
    hashbrook,
    FormatError,
    PyValueError,
    "A file is not what it should be: of another kind, damaged, cut short, or of a newer version."
);

/// The exception for an error, with the library's text.
///
/// * What was given cannot be used: `ValueError`.
/// * A file is not what it should be: `FormatError`, which is a `ValueError`.
/// * The operating system refuses: `OSError`, by its number, so that a file that is not there is a
///   `FileNotFoundError`. Where another process writes: `BlockingIOError`. Where a file was opened for
///   reading: `io.UnsupportedOperation`, as Python's own files have it.
/// * An item is not there: `KeyError`.
/// * Memory cannot be had: `MemoryError`.
pub fn exception(error: Error) -> PyErr {
    match &error {
        Error::Malformed { .. }
        | Error::TextColumns { .. }
        | Error::Damaged { .. }
        | Error::NewerVersion { .. }
        | Error::NewerChange { .. } => FormatError::new_err(error.to_string()),
        Error::Io { path, cause } => match cause.raw_os_error() {
            // With a number, Python picks the kind of OSError itself.
            Some(number) => {
                let text = cause.to_string();
                let suffix = format!(" (os error {number})");
                let text = text.strip_suffix(&suffix).unwrap_or(&text).to_owned();
                PyOSError::new_err((number, text, path.display().to_string()))
            }
            None if cause.kind() == std::io::ErrorKind::NotFound => {
                // ENOENT, on every system that Python runs on.
                PyFileNotFoundError::new_err((2, cause.to_string(), path.display().to_string()))
            }
            None => by_kind(&error),
        },
        Error::NoItem(_) => PyKeyError::new_err(error.to_string()),
        Error::ReadOnly(_) => unsupported(error.to_string()),
        Error::CannotLock { .. } | Error::InDoubt(_) | Error::NotAsOpened { .. } => {
            PyOSError::new_err(error.to_string())
        }
        _ => by_kind(&error),
    }
}

/// For what has no place of its own, and for whatever the library may add one day.
fn by_kind(error: &Error) -> PyErr {
    let text = error.to_string();
    match error.kind() {
        ErrorKind::BadInput => PyValueError::new_err(text),
        ErrorKind::NotFound => PyFileNotFoundError::new_err(text),
        ErrorKind::Busy => PyBlockingIOError::new_err(text),
        ErrorKind::Damaged | ErrorKind::NewerVersion => FormatError::new_err(text),
        ErrorKind::NoSpace if matches!(error, Error::OutOfMemory { .. }) => {
            PyMemoryError::new_err(text)
        }
        ErrorKind::NoSpace => PyOSError::new_err(text),
        _ => PyRuntimeError::new_err(text),
    }
}

/// What Python's own files raise when they are not writable: an `OSError` and a `ValueError`.
fn unsupported(text: String) -> PyErr {
    Python::attach(|py| {
        let made =
            py.import("io").and_then(|io| io.getattr("UnsupportedOperation")?.call1((text,)));
        made.map_or_else(|error| error, PyErr::from_value)
    })
}

/// An earlier call panicked while it changed what is now asked for.
pub fn broken<T>(_: T) -> PyErr {
    PyRuntimeError::new_err("an earlier call failed in the midst of a change; load what was saved")
}
