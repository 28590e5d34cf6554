//! [`Item`]: an item of columns, and [`NewItems`]: items to be added.

use super::kind::Beside;
use crate::kernel::Layout;
use crate::{Codes, Error, Labels, Result};

/// One item of columns.
#[derive(Clone, Copy)]
pub(in crate::index) struct Item<'a> {
    pub(in crate::index) id: u64,
    pub(in crate::index) code: &'a [u64],
    pub(in crate::index) label_set: u32,
    /// Bytes of the vector; empty if the index stores none.
    pub(in crate::index) vector: &'a [u8],
}

/// Items to be added.
#[derive(Clone, Copy)]
pub(in crate::index) struct NewItems<'a> {
    pub(in crate::index) ids: &'a [u64],
    pub(in crate::index) codes: &'a Codes,
    pub(in crate::index) labels: Option<Labels<'a>>,
    /// Bytes of the vectors or places, row after row, if the index stores them.
    pub(in crate::index) vectors: Option<(Beside, &'a [u8])>,
}

/// Returns places as the bytes of their column.
pub(in crate::index) fn place_bytes(places: &[u64]) -> Vec<u8> {
    places.iter().flat_map(|place| place.to_le_bytes()).collect()
}

impl<'a> NewItems<'a> {
    /// Returns items whose vectors are stored elsewhere, at `places`.
    pub(in crate::index) fn with_places(
        ids: &'a [u64],
        codes: &'a Codes,
        labels: Labels<'a>,
        places: &'a [u8],
    ) -> Self {
        NewItems { ids, codes, labels: Some(labels), vectors: Some((Beside::Places, places)) }
    }
}

impl NewItems<'_> {
    /// Returns the order of the items by id. Fails if an id is given twice.
    pub(in crate::index) fn order(&self) -> Result<Vec<usize>> {
        let (ids, items) = (self.ids, self.codes.len());
        if ids.len() != items {
            return Err(Error::IdCount { ids: ids.len(), items });
        }
        let mut order: Vec<usize> = (0..ids.len()).collect();
        if !ids.is_sorted_by(|left, right| left < right) {
            order.sort_unstable_by_key(|&at| ids[at]);
            let twice = order.windows(2).find(|pair| ids[pair[0]] == ids[pair[1]]);
            if let Some(pair) = twice {
                return Err(Error::IdTwice(ids[pair[0]]));
            }
        }
        Ok(order)
    }

    /// Fails if the numbers of codes, vectors and labels differ, or if the items do not fit the
    /// index: codes of this layout, and vectors in this format if any.
    pub(in crate::index) fn check(&self, layout: Layout, vectors: Option<Beside>) -> Result<()> {
        self.codes.expect_bits(layout.bits())?;
        let rows = self.codes.len();
        let whole = |(given, bytes): (Beside, &[u8])| {
            Some(given) == vectors && bytes.len() == rows * given.bytes()
        };
        if !self.vectors.map_or(vectors.is_none(), whole) {
            return Err(Error::VectorsMissing);
        }
        match self.labels {
            Some(labels) if labels.len() != rows => {
                Err(Error::LabelCount { rows, labels: labels.len() })
            }
            _ => Ok(()),
        }
    }

    /// Returns the bytes of the items without labels.
    pub(in crate::index) fn bytes(&self) -> usize {
        let vectors = self.vectors.map_or(0, |(_, bytes)| bytes.len());
        size_of_val(self.ids) + size_of_val(self.codes.words()) + vectors
    }

    /// Returns the item at position `at`, whose labels are set number `label_set`.
    pub(in crate::index) fn item(&self, at: usize, label_set: u32) -> Item<'_> {
        let vector = self.vectors.map_or(&[][..], |(rows, bytes)| {
            let size = rows.bytes();
            &bytes[at * size..(at + 1) * size]
        });
        Item { id: self.ids[at], code: self.codes.code(at), label_set, vector }
    }
}
