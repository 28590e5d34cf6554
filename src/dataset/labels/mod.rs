//! Labels: their names, lists of labels, and reading and writing files of labels.

mod drafts;
mod read;
mod write;

#[cfg(feature = "arrow")]
pub(super) use read::labels_of;
pub use read::{LabelsRead, read_labels, read_labels_all, read_labels_for, split_labels};
pub use write::write_labels;
