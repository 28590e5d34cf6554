//! Search structure of a segment: its distinct codes in buckets that queries can rule out as a
//! whole.
//!
//! Items with equal codes are stored together, so a query compares only distinct codes. The codes
//! are split by bits repeatedly, down to *buckets* of about a hundred codes that agree in many
//! bits. A query that differs from a bucket in more of these bits than the limit has no hits in the
//! bucket. One comparison tests eight buckets. Buckets whose codes have bits in common are grouped
//! into *branches*, which are compared first. A branch also has a code in its centre and the
//! distance of its farthest code from the centre. This bound is tighter if codes are scattered
//! around centres.
//!
//! The structure is one sequence of words, the same in memory and in a file. In a file every branch
//! has its own checksum, which is checked when a query first reads the branch.

mod block;
mod branches;
mod build;
mod directory;
mod query;
mod split;
#[cfg(test)]
mod tests;

pub(super) use self::branches::Buckets;
pub(super) use self::build::{LEAST_WORDS, are_worth_it, build, build_to};
pub(super) use self::query::Scratch;
