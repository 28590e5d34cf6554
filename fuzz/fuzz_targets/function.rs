//! Any bytes are read as a hash function or refused; a function that was read encodes. Fuzzing
//! disables the comparison of checksums, because almost every input would fail it.

#![no_main]

use hashbrook::{Features, HashFunction};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(function) = HashFunction::from_bytes(bytes, "fuzz") {
        let row = vec![0.5; function.dim()];
        let row = Features::new(&row, function.dim()).expect("one row of finite numbers");
        function.encode(row).expect("a row of its dimension");
        assert_eq!(
            function.to_bytes(),
            HashFunction::from_bytes(&function.to_bytes(), "again")
                .expect("its own bytes")
                .to_bytes()
        );
    }
});
