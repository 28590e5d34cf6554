//! The command as people run it, each test in a folder of its own.
#![allow(missing_docs)]

mod files;
mod good;
mod index;
mod support;
mod wrong;
