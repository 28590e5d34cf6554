//! The search structure of a segment: its distinct codes in buckets, each of which rules itself out.
//!
//! Items of equal codes are kept together, so a query looks at distinct codes. These are split by bits,
//! again and again, down to *buckets* of about a hundred codes that agree in many bits. A query that
//! differs from a bucket in more of those bits than the limit finds nothing in it, and whether it does
//! is one comparison that takes eight buckets at a time. Buckets whose codes agree in more bits still
//! stand together in *branches*, which are compared first; a branch also knows a code in its
//! centre and how far from it the farthest is, which tells more where codes are scattered around
//! centres.
//!
//! All of it is words in one piece, the same in memory and in a file, where every branch has its own
//! checksum, compared when a query first looks into it.

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
