//! Text: tables of numbers and lines of labels.

mod columns;
mod lines;
mod rows;
mod table;

#[cfg(feature = "arrow")]
pub(super) use columns::{Columns, parse as parse_columns};
pub(super) use lines::Lines;
pub(super) use rows::NumberTable;
pub(super) use table::Table;
