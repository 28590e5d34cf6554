//! The command as people run it, each test in a folder of its own.
#![allow(missing_docs)]

mod good;
mod index;
mod models;
mod support;
mod wrong;
