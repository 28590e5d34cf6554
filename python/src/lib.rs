//! `hashbrook._hashbrook`: the compiled module that the Python package `hashbrook` calls.
//!
//! The module contains conversions, errors and classes, and no logic: the library computes
//! everything. Users see `python/hashbrook/`, which has classes with the library's terms and
//! defaults. Its modules `_convert.py` and `_labels.py` convert Python's types to the arguments of
//! this crate, for example C-contiguous numpy arrays of one type.
//!
//! Every class is frozen for Python and has its own lock. `Model` has an `RwLock`. `Index` has a
//! mutex for the writer, and the latest `Snapshot` for searches, so that searches never wait for
//! the writer. A thread that holds Python's own lock waits for no other lock and does no long work.
//!
//! Long calls run in chunks (`watch.rs`). `encode` and `search` split the rows, which do not depend
//! on each other. `learn` calls `Model::learn_while`, which splits only batches of brook, whose
//! sums do not depend on the split. Every 50 ms a long call takes Python's lock, checks for signals
//! and updates the progress bar. Labels are passed as strings, as in the command, so models and
//! indexes can be exchanged.

// Calls that cannot fail use `expect`, whose message says why.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod arrays;
mod errors;
mod evaluation;
mod files;
mod fork;
mod function;
mod ids;
mod index;
mod labels;
mod measure;
mod model;
mod search;
mod snapshot;
mod store;
mod watch;

use pyo3::prelude::*;

/// The compiled part of hashbrook.
#[pymodule]
mod _hashbrook {
    #[pymodule_export]
    use crate::errors::FormatError;
    #[pymodule_export]
    use crate::evaluation::{compare, digits, evaluate, rank_part, score_parts, tally_part};
    #[pymodule_export]
    use crate::files::load;
    #[pymodule_export]
    use crate::function::HashFunction;
    #[pymodule_export]
    use crate::index::Index;
    #[pymodule_export]
    use crate::measure::{time_encode, time_learn, time_search};
    #[pymodule_export]
    use crate::model::{Model, methods, presets};
    #[pymodule_export]
    use crate::snapshot::Snapshot;
    #[pymodule_export]
    use crate::store::Store;
    #[pymodule_export]
    use crate::watch::under_way;

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
