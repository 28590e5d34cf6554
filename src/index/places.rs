//! Indexes whose owner stores the vectors: each code has the place of its vector beside it.

use std::path::Path;

use super::Index;
use super::file::{Access, OpenFor};
use super::segment::{Beside, NewItems, place_bytes};
use super::state::State;
use crate::kernel::Layout;
use crate::{Codes, HashFunction, Labels, Result};

impl Index {
    /// Returns an empty index in memory that stores the places of vectors.
    pub(crate) fn with_places(function: HashFunction) -> Index {
        let layout = Layout::new(function.bits());
        let state = State::empty(layout, Some(function), Some(Beside::Places));
        Index::of(state, OpenFor::Nothing)
    }

    /// Returns an index of the items of a mapped file. Changes stay in memory; the file does not
    /// change.
    pub(crate) fn over(path: &Path) -> Result<Index> {
        Index::opened(path, Access::Base)
    }

    /// Adds items and replaces existing items with the same ids.
    pub(crate) fn put_places(
        &mut self,
        ids: &[u64],
        codes: &Codes,
        labels: Labels<'_>,
        places: &[u64],
    ) -> Result<()> {
        self.upsert_items(NewItems::with_places(ids, codes, labels, &place_bytes(places)))
    }
}
