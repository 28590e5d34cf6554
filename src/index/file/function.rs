//! The function of an index: the file that it would be by itself, or what the first version wrote.

use std::path::Path;

use crate::tensors::Tensors;
use crate::{Error, HashFunction};

/// Where the first version put the description, without format, version or checksum.
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
