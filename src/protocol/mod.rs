//! Experiments: a stream learned batch by batch, and measured on the way.
//!
//! [`Experiment`] is the papers' protocol, which rewards one thing: the same label, among classes that were
//! all learned. The others measure what else codes are searched for. Each takes a [`Ranked`]: queries and
//! a database, encoded once, ranked by their codes, by a [`Dial`](crate::eval::Dial), or by the
//! vectors themselves.
//!
//! * [`UnseenClasses`]: a quarter of the classes never come in the stream.
//! * [`kept_out`]: rows of the database that were in the stream, and rows that were not.
//! * [`Ranked::neighbours`]: what is near by the vectors themselves.
//! * [`Incremental`]: the stream brings its classes two at a time.
//! * [`SeveralLabels`]: rows with several labels, made of rows with one.
//!
//! Classes that are held back, come in turn or are put together need one label per row; the others take
//! several as well.

mod experiment;
mod incremental;
mod kept_out;
mod ranked;
mod rows;
mod several_labels;
mod unseen;

pub use self::experiment::{Checkpoint, Experiment};
pub use self::incremental::{Incremental, IncrementalFound};
pub use self::kept_out::{KeptOutFound, kept_out};
pub use self::ranked::{Ranked, Vectors};
pub use self::rows::learn_rows;
pub use self::several_labels::SeveralLabels;
pub use self::unseen::{UnseenClasses, UnseenFound};
