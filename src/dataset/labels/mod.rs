//! Labels: their names, lists of them, and the files they are read from and written to.

mod drafts;
mod read;
mod write;

#[cfg(feature = "arrow")]
pub(super) use read::labels_of;
pub use read::{LabelsRead, read_labels, read_labels_all, read_labels_for, split_labels};
pub use write::write_labels;
