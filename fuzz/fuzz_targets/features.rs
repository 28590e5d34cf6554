//! Any bytes are read as features or refused.

#![no_main]

use std::io::Write;

use hashbrook::dataset::Reader;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    let path = file.path().to_str().unwrap();
    for spec in [path.to_owned(), format!("{path}:x"), format!("{path}:0")] {
        if let Ok(mut reader) = Reader::open(&spec) {
            let dim = reader.dim();
            while let Ok(Some(rows)) = reader.next(7) {
                assert!(rows.dim() == dim && (1..=7).contains(&rows.len()));
            }
        }
    }
});
