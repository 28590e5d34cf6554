//! Tests of the library through its public face.
#![allow(missing_docs)]

#[path = "../twin/mod.rs"]
mod twin;

mod bsodh;
mod codes;
mod evaluation;
mod golden;
mod hashing;
mod methods;
mod model;
mod streams;
