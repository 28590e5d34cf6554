//! Any bytes are opened as an index or refused; what is opened can be searched.

#![no_main]

use hashbrook::{Codes, Filter, Index};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("fuzz.index");
    std::fs::write(&path, bytes).expect("room for a file");
    let Ok(index) = Index::open(&path) else { return };
    let _ = index.verify();
    let Ok(ids) = index.ids() else { return };
    let _ = ids.first().map(|&id| index.get(id));
    let query = Codes::from_bytes(index.bits(), &vec![0; index.bits().div_ceil(8)]).expect("a code");
    let _ = index.search_codes(&query, 5);
    let _ = index.filtered(&Filter::all().labels(&[1])).within_codes(&query, 3);
    let _ = index.duplicates(1);
});
