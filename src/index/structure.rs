//! [`Structure`]: the search structure of a segment.
//!
//! # How does search check less than everything?
//!
//! *Equal codes.* Supervised codes repeat: ten of them may hold most of the items. The search
//! structure of a segment (`tables/` for codes of up to 128 bits, and `buckets/`) stores each
//! distinct code once, with the slots of its items in ascending order. So a query checks distinct
//! codes, and items of equal code cost no more than being written down.
//!
//! *Codes that differ in every key.* The bits of a code are cut into a few keys (four for 64
//! bits), and a table for each key has all distinct codes sorted by it. Two codes that differ in
//! fewer bits than there are keys agree in one of them. Each time that one of the keys is widened,
//! to all codes that differ in one bit more, all codes at one more distance are known. So a query
//! looks up its own keys, then those that differ in one bit, and collects the hits at each
//! distance, until there are enough (`tables/query.rs`). This is multi-index hashing. It is fast
//! on learned codes because of the choice of bits (`key.rs`): many bits are correlated, and a key
//! of such bits would be that of a tenth of all codes. The key that distinguishes the fewest codes
//! repeatedly takes the bit that splits these best. Tables store the codes themselves side by
//! side, since following numbers to codes elsewhere would take longer than all the rest; this
//! takes 48 bytes for each distinct code of 64 bits. If keys would have to be widened too far, and
//! where bits have weights, buckets are searched.
//!
//! *Codes that differ in known bits.* Distinct codes are split by bits, repeatedly, down to
//! buckets of about a hundred. A bucket has the bits that all its codes have in common: a query
//! that differs in more of these than the limit finds nothing in it. It also has a central code,
//! and the bits in which none of its codes differs from the centre more than three times, which
//! rules out more where codes are noisy. Both bounds are one comparison of eight buckets at a time
//! (`kernel/weighted/`). The bit to split by is not the one that splits most evenly, but the one
//! that leaves the other bits varying least in both halves (`split.rs`), so that correlated bits
//! make buckets with many common bits. Where codes lie in clusters (`scan/centres.rs`), these come
//! first.
//!
//! *Distant buckets.* Buckets form branches of some thousand codes, each one block of memory, with
//! bounds of their own and the distances of the nearest and the farthest code from a centre. A
//! query compares all branches, then the buckets of the remaining branches, and scans buckets in
//! order of their bounds, round by round (`query.rs`): its hits lower the limit, and mostly the
//! first round is the last. Where a large part of a branch remains, it is scanned in one go. If
//! the noted buckets would cost more than a scan, the query falls back to a scan with the limit
//! found; if that happens to most queries, such searches are no longer tried
//! (`search/structure.rs`).
//!
//! Weights of bits change nothing in this: bounds are sums of weights, too. Filters and removed
//! items are checked when a code is found. The hits of one distance come from several codes; a bit
//! for each slot, and a bit for each word of these, puts them in order of ids at a few operations
//! each (`answer/sorter.rs`).
//!
//! Blocks and tables are the same in memory and in a file, where each block, and each piece of the
//! tables, has a checksum that is compared when a query first reads it. They are made from a part
//! of the codes at a time (`build.rs`), so a file of any size gets its structure in bounded
//! memory.

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
    /// Buckets, and for codes of up to 128 bits tables of the distinct codes by their parts: about
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

/// Scratch memory that queries reuse one after the other.
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
