//! Any bytes are read as a model or refused; a model that was read can be used.

#![no_main]

use std::path::Path;

use hashbrook::{Model};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(model) = Model::from_bytes(bytes, Path::new("fuzz")) {
        model.hash_function();
    }
});
