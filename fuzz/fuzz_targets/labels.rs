//! Any bytes are read as labels or refused.

#![no_main]

use std::io::Write;

use hashbrook::dataset::{LabelNames, read_labels};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    let path = file.path().to_str().unwrap();
    for spec in [path.to_owned(), format!("{path}:y"), format!("{path}:0")] {
        let mut names = LabelNames::new();
        if let Ok(list) = read_labels(&spec, &mut names) {
            let labels = list.view();
            let mut all = (0..labels.len()).flat_map(|row| labels.row(row));
            assert!(all.all(|&label| names.name(label).is_some()));
        }
    }
});
