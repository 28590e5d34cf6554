//! [`Structure`]: the search structure of a segment.
//!
//! # How does search check less than everything?
//!
//! *Equal codes.* Supervised codes repeat: ten distinct codes may hold most of the items. The
//! search structure of a segment (`tables/` for codes of up to 128 bits, and `buckets/`) stores
//! each distinct code once, with the slots of its items in ascending order. So a query checks only
//! distinct codes; further items with a checked code cost no more than writing the hits.
//!
//! *Codes that differ in every key.* The bits of a code are divided into a few keys (four for 64
//! bits), and a table for each key has all distinct codes, sorted by that key. Two codes that
//! differ in fewer bits than there are keys agree in at least one key. A query looks up its own
//! keys first. Then it widens one key at a time: it looks up all values of the key that differ in
//! one bit more. Each step completes the hits at one more distance, until there are enough
//! (`tables/query.rs`). This is multi-index hashing. It is fast on learned codes because of the
//! choice of bits (`key.rs`): many bits are correlated, and a tenth of all codes would agree in a
//! key of such bits. So the key that distinguishes the fewest codes repeatedly takes the bit that
//! splits these codes best. Tables contain the codes themselves, because looking up codes elsewhere
//! would take longer than the rest of the search; this takes 48 bytes for each distinct code of 64
//! bits. Buckets are searched instead if keys would have to be widened too far, or if bits have
//! weights.
//!
//! *Codes that differ in known bits.* Distinct codes are split by bits, repeatedly, down to buckets
//! of about a hundred codes. A bucket stores the bits that all its codes have in common: a query
//! that differs in more of these bits than the limit has no hits in the bucket. A bucket also
//! stores a central code and a mask of bits; none of its codes differs from the central code in
//! more than three of these bits. This rules out more buckets if codes are noisy. One comparison
//! computes both bounds for eight buckets (`kernel/weighted/`). Codes are not split by the bit that
//! splits most evenly, but by the bit that leaves the other bits varying least in both halves
//! (`split.rs`). Correlated bits then make buckets with many common bits. Codes that lie in
//! clusters (`scan/centres.rs`) are first divided by cluster.
//!
//! *Distant buckets.* Buckets are grouped into branches of some thousand codes. A branch is one
//! block of memory, with its own bounds and the distances of its nearest and farthest code from a
//! centre. A query compares all branches, then the buckets of the remaining branches. It scans
//! buckets in order of their bounds, in rounds (`query.rs`): hits lower the limit, and usually no
//! bucket remains after the first round. If a large part of a branch remains, the whole branch is
//! scanned. If the remaining buckets would cost more than a full scan, the query falls back to a
//! full scan with the limit found so far. If most queries fall back, later queries rarely try the
//! structure (`search/structure.rs`).
//!
//! If bits have weights, bounds are sums of weights. Filters and removed items are checked when a
//! code is found. The hits at one distance belong to several codes. A bitmap of slots, with a
//! summary bit for each word, puts these hits in order of ids at a few operations each
//! (`answer/sorter.rs`).
//!
//! Blocks and tables are the same in memory and in a file. In a file, each block and each piece of
//! a table has a checksum that is compared when a query first reads the block or piece. The
//! structure is built from a part of the codes at a time (`build.rs`), so building needs bounded
//! memory for a file of any size.

use super::answer::Asked;
use super::buckets::{self, Buckets, LEAST_WORDS};
use super::segment::Columns;
use super::tables::{self, Tables};
use crate::Result;

/// Size of the search structure of an index. Results are the same with each size; a larger
/// structure makes searches faster.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SearchStructure {
    /// None: a search compares the query with every code.
    None,
    /// Distinct codes in buckets, about 20 bytes for each code of 64 bits.
    Small,
    /// Buckets and, for codes of up to 128 bits, tables of the distinct codes sorted by keys: about
    /// 65 bytes for each code of 64 bits, and 155 for 128 bits.
    #[default]
    Full,
}

impl SearchStructure {
    /// All sizes, the smallest first.
    pub const ALL: [SearchStructure; 3] =
        [SearchStructure::None, SearchStructure::Small, SearchStructure::Full];

    /// Returns the name: `none`, `small` or `full`.
    pub fn name(self) -> &'static str {
        match self {
            SearchStructure::None => "none",
            SearchStructure::Small => "small",
            SearchStructure::Full => "full",
        }
    }

    /// Returns the least number of codes of `bits` bits for which an index has a search structure:
    /// 16,384 codes of up to 64 bits, or the same number of bytes in longer codes. With fewer
    /// codes, comparing a query with every code is as fast.
    pub fn least_codes(bits: usize) -> usize {
        LEAST_WORDS.div_ceil(bits.div_ceil(64).max(1))
    }
}

impl std::str::FromStr for SearchStructure {
    type Err = crate::Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = SearchStructure::ALL.into_iter().find(|structure| structure.name() == name);
        let expected = "none, small or full";
        found.ok_or_else(|| crate::Error::parameter("structure", expected, format!("{name:?}")))
    }
}

/// Search structure of a segment, with which a search reads only a part of the codes.
pub(super) struct Structure {
    pub(super) buckets: Buckets,
    /// Tables; `None` for long codes and in a small structure.
    pub(super) tables: Option<Tables>,
}

/// Scratch memory, reused from query to query.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) buckets: buckets::Scratch,
    pub(super) tables: tables::Scratch,
}

impl Structure {
    /// Builds the structure of a segment's codes in memory.
    ///
    /// # Errors
    /// When the codes are damaged.
    pub(super) fn build(columns: &Columns, wanted: SearchStructure) -> Result<Self> {
        let buckets = buckets::build(columns)?;
        let tables = match wanted {
            SearchStructure::Full => tables::build(&buckets)?,
            _ => None,
        };
        Ok(Structure { buckets, tables })
    }

    /// Returns the tables, unless the query has weights, which tables do not support.
    pub(super) fn tables_for(&self, asked: &Asked<'_>) -> Option<&Tables> {
        self.tables.as_ref().filter(|_| asked.weights.is_none())
    }

    /// Reads the whole structure and compares it with the codes of the segment.
    pub(super) fn verify(&self, columns: &Columns) -> Result<()> {
        self.buckets.verify(columns)?;
        self.tables.as_ref().map_or(Ok(()), |tables| tables.verify(columns))
    }

    /// Returns the bytes of the structure, in memory or mapped.
    pub(super) fn bytes(&self) -> usize {
        let tables = self.tables.as_ref().map_or(0, |tables| tables.memory() + tables.bytes());
        self.buckets.memory() + self.buckets.block_bytes() + tables
    }
}
