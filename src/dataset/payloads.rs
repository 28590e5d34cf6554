//! What tables have for items besides vectors, ids and labels.

use super::content::Content;
use super::open::open;
use super::purpose::Purpose;
use crate::{Error, Result};

/// The columns of a Parquet or Arrow file, each with its type in words; `None` for other files.
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

/// Reads payloads from `FILE:COLUMN`, a column of texts or bytes of a Parquet or Arrow file; what is null has
/// none.
///
/// # Errors
/// When the file cannot be read, or the column holds something else.
pub fn read_payloads(spec: &str) -> Result<Vec<Vec<u8>>> {
    payloads_of(open(spec, Purpose::Ids)?)
}

/// The payloads in what a file holds.
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
