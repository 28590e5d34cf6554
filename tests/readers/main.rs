//! Reading and writing files of features and labels, as a user of the library does.

#[path = "../data/mod.rs"]
mod data;
mod fixtures;
mod formats;
mod labels;
mod left_out;
mod mutation;
mod real_data;
mod streaming;
mod support;
mod tables;
mod writer;
mod wrong;
