//! `hashbrook._hashbrook`: what the Python package `hashbrook` calls.
//!
//! Conversions, errors and classes, and no logic: what is computed is computed by the library. Arrays
//! come in as C-contiguous numpy arrays of the right type, which the pure-Python part (`python/hashbrook/`)
//! sees to. Long calls let other Python threads run, and look at signals from time to time.

// What cannot fail says why, by `expect`.
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
