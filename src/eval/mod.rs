//! Evaluation: how good a ranking by Hamming distance is.
//!
//! # Conventions
//!
//! The conventions are those of the papers' own evaluation programs. They matter, since most ranks
//! of a ranking by supervised codes are ties.
//!
//! * The database is ranked by distance, and **by position among equals**: a stable sort.
//! * An item is relevant to a query when they share at least one label.
//! * **mAP**: the mean over queries of the average precision of the whole ranking,
//!   `(1/P) sum (relevant so far) / rank` over the `P` relevant items. Queries without relevant
//!   items are omitted.
//! * **mAP@R**: the same over the first `R` items of the ranking, divided by the number of relevant
//!   items *among those*. Queries without relevant items among the first `R` are omitted.
//! * **precision@R**: the share of the first `R` items that is relevant (of all items, if the
//!   database is smaller); mean over all queries.
//! * **precision within a radius**: the share of the items at that distance or less that is
//!   relevant; **0 if there are no such items**; mean over all queries.
//! * **nDCG@R**: `sum g / log2(1 + rank)` over the first `R` of the ranking, divided by its value
//!   for the best order of the whole database. The gain `g` of an item is the number of labels that
//!   it shares with the query. Queries without relevant items are omitted.
//!
//! [`neighbours`] measures another property: whether codes preserve the nearest neighbours of the
//! vectors themselves.
//!
//! # Rankings by other scores than Hamming distance
//!
//! [`evaluate_scores`] computes these metrics for any ranking by scores: the smallest score first,
//! and **by position among equals**. Two scores are built in:
//!
//! * a [`Dial`], which weighs label bits and detail bits, or weighs each bit by the query's
//!   confidence in it;
//! * the [`Cosine`] of the vectors themselves.
//!
//! *Within a radius* then means: with a score of at most the radius. [`neighbours_by`] is the
//! counterpart of `neighbours` for scores.
//!
//! # Databases in parts
//!
//! [`parts`] computes the same numbers as [`evaluate`], bit by bit, from the parts of a database.
//! Parts can be evaluated one after the other, or on different machines.
//!
//! # Why is evaluation fast?
//!
//! Distances are small integers, so no sort is needed. The number of items at each distance gives
//! the rank at which each distance begins. The running count at an item's distance gives the item's
//! rank. One pass over the database computes all metrics; [`Metric`] lists them.

// Notes for maintainers.
//
// # Why are the results exact?
//
// Before mAP adds up precisions, they are rounded to integer multiples of 2^-52
// (`eval/precision_sum.rs`), since sums of integers do not depend on their order. `eval/parts/` can
// therefore evaluate parts of a database on different machines. It first counts all parts by
// distance, which gives the ranks at which the items of each part begin, and then ranks each part
// alone. The tests compare with the whole, bit for bit.
//
// Rankings by other scores (`eval/scored.rs`) are sorted stably by digits of the scores' own bits,
// so that position decides among equals without a comparison. A dial's weights (`hash/dial.rs`) are
// integers; those of a float query are rounded to 1/64 of a bit. Equal codes therefore have equal
// distances in whatever order bits are added up, and rankings and searches use the same weights.
// Not all of these weights are exact in `f32`, so a scorer may supply its own sort keys.

mod by_distance;
mod cosine;
mod dial;
mod evaluation;
mod metric;
mod neighbours;
pub mod parts;
mod precision_sum;
mod ranking;
mod scored;

pub use self::by_distance::evaluate;
pub(crate) use self::by_distance::evaluate_each;
pub use self::cosine::Cosine;
pub use self::dial::Dialled;
pub use self::evaluation::Evaluation;
pub use self::metric::Metric;
pub use self::neighbours::{Items, Neighbours, neighbours, neighbours_by};
pub use self::scored::{Scorer, evaluate_scores};
pub use crate::hash::dial::{Dial, Weighed};
