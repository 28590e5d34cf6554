//! Naive twins: slow, plain implementations of what the library computes by faster code. Tests
//! compare twins with the library; benchmarks race them.
#![allow(dead_code, missing_docs)]

/// This twin is part of the library, because `reproduce` measures its cost.
pub use hashbrook::learners::bsodh::dense as dense_bsodh;
pub mod ranking;
