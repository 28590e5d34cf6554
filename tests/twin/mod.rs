//! The naive twins: everything fast in the library, written down once more as its definition
//! reads, slow and plain. Tests compare the two; benchmarks race them.
#![allow(dead_code, missing_docs)]

/// In the library, as `reproduce` measures what it costs.
pub use hashbrook::learners::bsodh::dense as dense_bsodh;
pub mod ranking;
