//! Items that are added to an index together.

use super::shared::Shared;
use crate::index::Placed;
use crate::{Codes, Features, HashFunction, LabelList, Result};

#[derive(Default)]
pub(super) struct Part {
    pub(super) ids: Vec<u64>,
    words: Vec<u64>,
    pub(super) labels: LabelList,
    pub(super) places: Vec<u64>,
}

impl Part {
    pub(super) fn push(&mut self, item: Placed<'_>) {
        self.ids.push(item.id);
        self.words.extend_from_slice(item.code);
        self.labels.push_set(item.labels);
        self.places.push(item.place);
    }

    /// Returns the codes of the items. With `anew`, the function encodes the stored vectors;
    /// otherwise returns the stored codes, which the same function made.
    pub(super) fn codes(
        &mut self,
        shared: &Shared,
        function: &HashFunction,
        anew: bool,
    ) -> Result<Codes> {
        if !anew {
            return Codes::from_words(function.bits(), std::mem::take(&mut self.words));
        }
        let dim = shared.description.dim;
        let mut values = Vec::with_capacity(self.ids.len() * dim);
        for &place in &self.places {
            values.extend(shared.files.row(place)?.vector);
        }
        function.encode(Features::new(&values, dim)?)
    }
}
