//! Evaluation: how good a ranking by Hamming distance is.
//!
//! # Conventions
//!
//! They are those of the papers' own evaluation programs, and they matter: with supervised codes
//! most of a ranking is ties.
//!
//! * The database is ranked by distance, and **by position among equals**: a stable sort.
//! * An item is relevant to a query when they share at least one label.
//! * **mAP**: the mean over queries of the average precision of the whole ranking,
//!   `(1/P) sum (relevant so far) / rank` over the `P` relevant items. Queries that have none are
//!   left out.
//! * **mAP@R**: the same over the first `R` of the ranking, divided by the number of relevant
//!   items *among those*; queries that have none there are left out.
//! * **precision@R**: the part of the first `R` that is relevant (of all, if the database is
//!   smaller); mean over all queries.
//! * **precision within a radius**: the part of the items at that distance or less that is
//!   relevant; **0 where there are none**; mean over all queries.
//!
//! * **nDCG@R**: `sum g / log2(1 + rank)` over the first `R` of the ranking, where the gain `g` of an item
//!   is the number of labels that it shares with the query, divided by what the best order of the
//!   whole database would give. Queries that have nothing relevant are left out.
//!
//! [`neighbours`] measures something else: whether codes keep what is near by the vectors themselves.
//!
//! # Rankings by something else than Hamming distance
//!
//! [`evaluate_scores`] takes these metrics of any ranking by scores, the smallest first and **by position
//! among equals**: of a [`Dial`], which weighs label bits and detail bits, or weighs each bit by how
//! sure the query is of it, and of the [`Cosine`] of the vectors themselves. *Within a radius* then means:
//! of a score of at most so much. [`neighbours_by`] does the same for neighbours.
//!
//! # Databases in parts
//!
//! [`parts`] comes to the same numbers as [`evaluate`], bit by bit, from parts of a database that are looked at
//! one after the other, or on different machines.
//!
//! # How it is fast
//!
//! Distances are small whole numbers, so nothing is sorted: counting how many items lie at each
//! distance tells where each distance begins in the ranking, and the count that an item finds tells
//! its place there. All metrics come out of that one walk, and [`Metric`] is the list of them.

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
