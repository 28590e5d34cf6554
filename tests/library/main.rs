//! Tests of the library through its public API.
#![allow(missing_docs)]

#[path = "../twin/mod.rs"]
mod twin;

#[path = "../data/mod.rs"]
mod data;

#[path = "../../examples/worlds/mod.rs"]
mod worlds;

mod api;
mod brook;
mod brook_detail;
mod brook_labels;
mod brook_streams;
mod brook_targets;
mod bsodh;
mod codes;
mod defaults;
mod dropped;
mod evaluation;
mod evaluation_parts;
mod function;
mod golden;
mod hashing;
mod index;
mod index_build;
mod index_dial;
mod index_files;
mod killed;
mod layers;
mod memory;
mod methods;
mod model;
mod old_files;
mod protocols;
mod scores;
mod snapshots;
mod store;
mod store_converges;
mod store_held_out;
mod store_killed;
mod store_quality;
mod store_versions;
mod streams;
mod structures;
mod vectors;
