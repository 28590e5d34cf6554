//! [`Structure`]: the search structure of a segment.

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
