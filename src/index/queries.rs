//! What an index is asked.

use super::buckets::{self, Buckets};
use super::leaders::Leaders;
use super::search::{Search, Want};
use super::{Filter, Hits, Index};
use crate::{Codes, Error, Features, Result};

/// Searches.
impl Index {
    /// The `k` nearest items to each vector; all of them if there are fewer.
    ///
    /// # Errors
    /// When `k` is 0, the vectors have another dimension, or the file is damaged or was changed by
    /// another program ([`Error::NotAsOpened`]).
    pub fn search(&self, features: Features<'_>, k: usize) -> Result<Hits> {
        self.filtered(&Filter::all()).search(features, k)
    }

    /// Like [`search`](Index::search), for codes.
    ///
    /// # Errors
    /// As for [`search`](Index::search).
    pub fn search_codes(&self, codes: &Codes, k: usize) -> Result<Hits> {
        self.filtered(&Filter::all()).search_codes(codes, k)
    }

    /// All items up to a distance from each vector, which is included.
    ///
    /// # Errors
    /// When the vectors have another dimension, or the file is damaged.
    pub fn within(&self, features: Features<'_>, radius: u32) -> Result<Hits> {
        self.filtered(&Filter::all()).within(features, radius)
    }

    /// Like [`within`](Index::within), for codes.
    ///
    /// # Errors
    /// As for [`within`](Index::within).
    pub fn within_codes(&self, codes: &Codes, radius: u32) -> Result<Hits> {
        self.filtered(&Filter::all()).within_codes(codes, radius)
    }

    /// The index as if only the items were there that the filter lets through.
    pub fn filtered<'a>(&'a self, filter: &'a Filter) -> Filtered<'a> {
        Filtered { index: self, filter }
    }

    /// Groups of near-duplicates, each of ascending ids: items are in one group if a chain of items
    /// leads from one to the other, each within the radius of the next. Items that are near no other
    /// are left out.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn duplicates(&self, radius: u32) -> Result<Vec<Vec<u64>>> {
        let merged = self.merged()?;
        let radius = radius.min(self.bits() as u32);
        let codes = merged.all_codes()?;
        let groups = match buckets::pieces::join(&codes, self.bits(), radius) {
            Some(groups) => groups,
            None => {
                let width = self.layout.code_words();
                let leaders = Leaders::find(self.layout, codes.len() / width, |at, out| {
                    out.copy_from_slice(&codes[at * width..][..width])
                });
                let buckets = Buckets::build(self.kernel, self.layout, codes, leaders);
                buckets::groups::join(&buckets, self.kernel, radius)
            }
        };
        let ids = |group: Vec<u32>| {
            group.into_iter().map(|slot| merged.id(slot as usize)).collect::<Result<Vec<u64>>>()
        };
        groups.into_iter().map(ids).collect()
    }
}

/// An index of which a search sees a part; see [`Index::filtered`].
#[derive(Clone, Copy)]
pub struct Filtered<'a> {
    index: &'a Index,
    filter: &'a Filter,
}

impl Filtered<'_> {
    /// As [`Index::search`].
    ///
    /// # Errors
    /// As for [`Index::search`].
    pub fn search(&self, features: Features<'_>, k: usize) -> Result<Hits> {
        self.search_codes(&self.index.encode(features)?, k)
    }

    /// As [`Index::search_codes`].
    ///
    /// # Errors
    /// As for [`Index::search`].
    pub fn search_codes(&self, codes: &Codes, k: usize) -> Result<Hits> {
        if k == 0 {
            return Err(Error::parameter("k", "1 or more", 0));
        }
        self.run(codes, Want::Nearest(k))
    }

    /// As [`Index::within`].
    ///
    /// # Errors
    /// As for [`Index::within`].
    pub fn within(&self, features: Features<'_>, radius: u32) -> Result<Hits> {
        self.within_codes(&self.index.encode(features)?, radius)
    }

    /// As [`Index::within_codes`].
    ///
    /// # Errors
    /// As for [`Index::within`].
    pub fn within_codes(&self, codes: &Codes, radius: u32) -> Result<Hits> {
        self.run(codes, Want::Within(radius))
    }

    fn run(&self, codes: &Codes, want: Want) -> Result<Hits> {
        let Index { layout, segments, sets, kernel, structures, .. } = self.index;
        codes.expect_bits(layout.bits())?;
        let search = Search {
            segments,
            sets,
            filter: self.filter,
            kernel: *kernel,
            want,
            bits: layout.bits(),
            structures: *structures,
        };
        self.index.durable.reading(|| search.run(codes))
    }
}
