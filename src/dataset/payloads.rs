//! Payloads of items, and the columns of tables.

use super::content::Content;
use super::open::open;
use super::purpose::Purpose;
use crate::{Error, Result};

/// Returns the columns of a Parquet or Arrow file, each with a description of its type. Returns
/// `None` for other files.
///
/// # Errors
/// When the file cannot be read.
pub fn table_columns(spec: &str) -> Result<Option<Vec<(String, String)>>> {
    match open(spec, Purpose::Ids)? {
        #[cfg(feature = "arrow")]
        Content::Columns(table) => Ok(Some(table.columns())),
        _ => Ok(None),
    }
}

/// Reads payloads from `FILE:COLUMN`, a column of strings or bytes of a Parquet or Arrow file. The
/// payload of a null is empty.
///
/// # Errors
/// When the file cannot be read, or the column is of another type.
pub fn read_payloads(spec: &str) -> Result<Vec<Vec<u8>>> {
    payloads_of(open(spec, Purpose::Ids)?)
}

/// Returns the payloads in the content of a file.
pub(super) fn payloads_of(content: Content) -> Result<Vec<Vec<u8>>> {
    match content {
        #[cfg(feature = "arrow")]
        Content::Columns(table) => {
            let mut payloads = Vec::new();
            table.for_each_payload(|bytes| {
                payloads.push(bytes.to_vec());
                Ok(())
            })?;
            Ok(payloads)
        }
        other => {
            let problem = "is no table of Parquet or Arrow; payloads are a column of one";
            Err(Error::malformed(other.path(), problem))
        }
    }
}
