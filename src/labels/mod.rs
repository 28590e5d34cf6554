//! Labels that are kept: in a list of one's own, and by their names. [`Labels`](crate::Labels) are views
//! of such.

mod list;
mod names;

pub use self::list::LabelList;
pub use self::names::LabelNames;
