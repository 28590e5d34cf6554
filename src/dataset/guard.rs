//! Calls of crates that read Parquet, Arrow and HDF5, on bytes that anyone may have written.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::{Error, Result};

/// Runs a part of a reader. These crates are made for files that their likes have written, and may
/// panic at others: that is an error of the file here, as any damage is.
pub(in crate::dataset) fn guarded<T, E: Display>(
    path: &Path,
    run: impl FnOnce() -> std::result::Result<T, E>,
) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(run)) {
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
