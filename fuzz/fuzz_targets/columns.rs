//! Any bytes are read as a Parquet or Arrow file, or refused. Panics of the decoding crates do not
//! count, because the library turns them into errors; every other failure counts.

#![no_main]

use std::io::Write;

use hashbrook::dataset::{LabelNames, Reader, read_codes, read_ids, read_labels};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    // The first byte selects the magic numbers around the other bytes.
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let (before, after): (&[u8], &[u8]) = match kind % 3 {
        0 => (b"PAR1", b"PAR1"),
        1 => (b"ARROW1\0\0", b"ARROW1"),
        _ => (b"\xff\xff\xff\xff", b""),
    };
    file.write_all(&[before, bytes, after].concat()).unwrap();
    let path = file.path().to_str().unwrap();
    for spec in [path.to_owned(), format!("{path}:x"), format!("{path}:0")] {
        if let Ok(mut reader) = Reader::open(&spec) {
            let dim = reader.dim();
            while let Ok(Some(rows)) = reader.next(7) {
                assert!(rows.dim() == dim && (1..=7).contains(&rows.len()));
            }
        }
        let _ = read_labels(&spec, &mut LabelNames::new());
        let _ = (read_ids(&spec), read_codes(&spec, None));
    }
});
