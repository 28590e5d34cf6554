//! `hashbrook._hashbrook`: the compiled module that the Python package `hashbrook` calls.
//!
//! The module contains conversions, errors and classes, and no logic: the library computes everything. The
//! pure-Python part (`python/hashbrook/`) ensures that arrays are C-contiguous numpy arrays of the right
//! type. Long calls let other Python threads run, and check for signals from time to time.
//!
//! `python/hashbrook/` is what users see: classes with the words and defaults of the library, and
//! conversions from Python's types (`_convert.py`, `_labels.py`) to what this crate takes:
//! C-contiguous arrays of one type. This crate wraps the library and has no logic. A class is
//! frozen for Python and holds its own lock: `Model` an `RwLock`, `Index` a mutex for the writer
//! and the latest `Snapshot` for searches, so that these never wait for it. No lock is waited for,
//! and nothing long is done, while Python's own lock is held.
//!
//! Long calls go in chunks (`watch.rs`): `encode` and `search` over rows, which do not depend on
//! each other, and `learn` by `Model::learn_while`, which cuts the batches of brook alone, whose
//! sums do not depend on cuts. Every 50 ms they take Python's lock, check signals and update the
//! progress bar. Labels are passed as strings, as in the command, so models and indexes can be
//! exchanged.

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
