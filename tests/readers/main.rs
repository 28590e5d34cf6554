//! Reading and writing files of features and labels, through the public API.

#[cfg(feature = "arrow")]
mod columns;
#[path = "../data/mod.rs"]
mod data;
mod fixtures;
mod formats;
#[cfg(feature = "hdf5")]
mod hdf5;
mod labels;
mod left_out;
mod mutation;
#[cfg(feature = "arrow")]
mod one_table;
mod real_data;
mod streaming;
mod support;
mod tables;
mod writer;
mod wrong;
