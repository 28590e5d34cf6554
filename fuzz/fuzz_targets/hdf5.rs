//! Any bytes are read as an HDF5 or MATLAB file, or refused. Panics of the decoding crate do not
//! count, because the library turns them into errors; every other failure counts.

#![no_main]

use std::io::Write;

use hashbrook::dataset::{LabelNames, Reader, read_id_texts, read_labels};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let mut content = Vec::new();
    if kind % 2 == 1 {
        content.extend_from_slice(b"MATLAB 7.3 MAT-file");
        content.resize(512, b' ');
    }
    content.extend_from_slice(b"\x89HDF\r\n\x1a\n");
    content.extend_from_slice(bytes);
    file.write_all(&content).unwrap();
    let path = file.path().to_str().unwrap();
    for spec in [path.to_owned(), format!("{path}:x")] {
        if let Ok(mut reader) = Reader::open(&spec) {
            let dim = reader.dim();
            while let Ok(Some(rows)) = reader.next(7) {
                assert!(rows.dim() == dim && (1..=7).contains(&rows.len()));
            }
        }
        let _ = (read_labels(&spec, &mut LabelNames::new()), read_id_texts(&[&spec]));
    }
});
