//! Text files: tables of numbers and lines of labels.

mod columns;
mod lines;
mod rows;
mod table;

pub(super) use columns::Selection;
#[cfg(feature = "arrow")]
pub(super) use columns::{enumerated, not_numbers};
pub(super) use lines::Lines;
pub(super) use rows::NumberTable;
pub(super) use table::Table;
