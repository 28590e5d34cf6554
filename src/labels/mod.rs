//! Owned labels: lists of labels, and label names. [`Labels`](crate::Labels) are views of such
//! lists.

mod list;
mod names;

pub use self::list::LabelList;
pub use self::names::LabelNames;
