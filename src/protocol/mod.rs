//! Experiments: a stream is learned batch by batch, and the function is evaluated on the way.
//!
//! [`Experiment`] is the papers' protocol, which rewards only one property: equal labels, among
//! classes that were all learned. The other protocols measure other uses of codes. Each takes a
//! [`Ranked`]: queries and a database, encoded once and ranked by their codes, by a
//! [`Dial`](crate::eval::Dial), or by the vectors themselves.
//!
//! * [`UnseenClasses`]: a quarter of the classes is held out of the stream.
//! * [`kept_out`]: rows of the database that were in the stream, compared with rows that were not.
//! * [`Ranked::neighbours`]: nearest neighbours by the vectors themselves.
//! * [`Incremental`]: the stream presents its classes two at a time.
//! * [`SeveralLabels`]: rows with several labels, made of rows with one.
//!
//! [`UnseenClasses`], [`Incremental`] and [`SeveralLabels`] need exactly one label per row. The
//! other protocols also accept several labels.

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
