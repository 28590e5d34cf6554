//! Naive twins: slow, plain implementations that follow the definitions of the library's fast code.
//! Tests compare twins with the library; benchmarks race them.
#![allow(dead_code, missing_docs)]

/// Part of the library, because `reproduce` measures its cost.
pub use hashbrook::learners::bsodh::dense as dense_bsodh;
pub mod ranking;
