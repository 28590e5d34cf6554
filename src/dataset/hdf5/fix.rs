//! Remedies for HDF5 files that are not supported.

use crate::Error;

/// Adds a remedy to the error for a file in a newer format than is supported.
pub(super) fn named_fix(error: Error) -> Error {
    const NEWER: [&str; 2] = ["version 2 B-tree", "layout version"];
    match error {
        Error::Malformed { path, problem } if NEWER.iter().any(|text| problem.contains(text)) => {
            let fix = "write the file for older readers, as h5py does with libver=(\"earliest\", \"v114\")";
            Error::Malformed { path, problem: format!("{problem}; {fix}") }
        }
        other => other,
    }
}
