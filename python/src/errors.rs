//! Conversion of the library's errors to Python exceptions.

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

/// Converts an error to an exception with the library's message.
///
/// * Invalid argument: `ValueError`.
/// * Invalid file: `FormatError`, a subclass of `ValueError`.
/// * Error of the operating system: `OSError` with its number, for example `FileNotFoundError`.
/// * Another process writes: `BlockingIOError`.
/// * Change of a file that was opened for reading: `io.UnsupportedOperation`, as for Python's own
///   files.
/// * Missing item: `KeyError`.
/// * Failed allocation: `MemoryError`.
pub fn exception(error: Error) -> PyErr {
    match &error {
        Error::Malformed { .. }
        | Error::TextColumns { .. }
        | Error::Damaged { .. }
        | Error::NewerVersion { .. }
        | Error::NewerChange { .. } => FormatError::new_err(error.to_string()),
        Error::Io { path, cause } => match cause.raw_os_error() {
            // Python picks the subclass of OSError by the number.
            Some(number) => {
                let text = cause.to_string();
                let suffix = format!(" (os error {number})");
                let text = text.strip_suffix(&suffix).unwrap_or(&text).to_owned();
                PyOSError::new_err((number, text, path.display().to_string()))
            }
            None if cause.kind() == std::io::ErrorKind::NotFound => {
                // 2 is ENOENT on every system that Python runs on.
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

/// Converts an error that has no specific conversion by its kind; includes errors that the library
/// may add later.
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

/// Creates `io.UnsupportedOperation`, which is an `OSError` and a `ValueError`. Python's own files
/// raise it when they are not writable.
fn unsupported(text: String) -> PyErr {
    Python::attach(|py| {
        let made =
            py.import("io").and_then(|io| io.getattr("UnsupportedOperation")?.call1((text,)));
        made.map_or_else(|error| error, PyErr::from_value)
    })
}

/// Creates the exception for a poisoned lock: an earlier call panicked while it changed the data.
pub fn broken<T>(_: T) -> PyErr {
    PyRuntimeError::new_err("an earlier call failed in the midst of a change; load what was saved")
}
