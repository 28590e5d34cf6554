//! Indexes whose owner keeps the vectors: beside each code stands where its vector is.

use std::path::Path;

use super::Index;
use super::file::{Access, OpenFor};
use super::segment::{Beside, NewItems, place_bytes};
use super::state::State;
use crate::kernel::Layout;
use crate::{Codes, HashFunction, Labels, Result};

impl Index {
    /// An index in memory.
    pub(crate) fn with_places(function: HashFunction) -> Index {
        let layout = Layout::new(function.bits());
        let state = State::empty(layout, Some(function), Some(Beside::Places));
        Index::of(state, OpenFor::Nothing)
    }

    /// The items of a file, which is mapped and stays as it is: changes are in memory alone.
    pub(crate) fn over(path: &Path) -> Result<Index> {
        Index::opened(path, Access::Base)
    }

    /// Puts items in, in the place of those with the same ids.
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
