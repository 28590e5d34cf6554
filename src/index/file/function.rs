//! The function section of an index file: the bytes of a function file, or the format of the first
//! version.

use std::path::Path;

use crate::tensors::Tensors;
use crate::{Error, HashFunction};

/// Name of the description in the first version, which has no format, version or checksum.
const FIRST_VERSION: &str = "function";

pub(super) fn read_function(bytes: &[u8]) -> std::result::Result<HashFunction, String> {
    if let Ok((arrays, Some(text))) = Tensors::from_bytes(bytes, FIRST_VERSION) {
        return serde_json::from_str(&text)
            .map_err(|problem| problem.to_string())
            .and_then(|description| HashFunction::from_arrays(description, arrays))
            .map_err(|problem| format!("its function: {problem}"));
    }
    HashFunction::from_bytes(bytes, Path::new("its function")).map_err(|error| match error {
        Error::Malformed { problem, .. } | Error::Damaged { problem, .. } => {
            format!("its function {problem}")
        }
        other => other.to_string(),
    })
}
