//! Parquet and Arrow files: tables whose columns have names and types.
//!
//! A row is combined from the selected columns, each of which contributes a number, or a list of
//! numbers of fixed length. Both formats are read a batch of rows at a time, and only the selected
//! columns are decoded.

mod batches;
mod carried;
mod cells;
mod choice;
mod codes;
mod in_memory;
mod ipc;
mod numbers;
mod packed;
mod parquet;
mod payloads;
mod table;

pub use codes::CodesWriter;
pub(super) use in_memory::InMemory;
pub(super) use numbers::Numbers;
pub(super) use packed::Packed;
pub(super) use table::Table;
