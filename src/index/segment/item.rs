//! Items as columns have them, and as they are given.

use super::kind::Beside;
use crate::kernel::Layout;
use crate::{Codes, Error, Labels, Result};

/// One item, as the columns have it.
#[derive(Clone, Copy)]
pub(in crate::index) struct Item<'a> {
    pub(in crate::index) id: u64,
    pub(in crate::index) code: &'a [u64],
    pub(in crate::index) label_set: u32,
    /// The bytes of its vector; none if the index keeps none.
    pub(in crate::index) vector: &'a [u8],
}

/// Items to be put in.
#[derive(Clone, Copy)]
pub(in crate::index) struct NewItems<'a> {
    pub(in crate::index) ids: &'a [u64],
    pub(in crate::index) codes: &'a Codes,
    pub(in crate::index) labels: Option<Labels<'a>>,
    /// The bytes of their vectors, row after row, where the index keeps them.
    pub(in crate::index) vectors: Option<(Beside, &'a [u8])>,
}

/// Numbers as the column of places has them.
pub(in crate::index) fn place_bytes(places: &[u64]) -> Vec<u8> {
    places.iter().flat_map(|place| place.to_le_bytes()).collect()
}

impl<'a> NewItems<'a> {
    /// Items whose vectors are elsewhere, at these places.
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
    /// Their order by id, each of which must be given once.
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

    /// Fails if they do not fit each other, or what an index holds: codes of this layout, and vectors
    /// in these rows if any.
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

    /// Their bytes, without labels.
    pub(in crate::index) fn bytes(&self) -> usize {
        let vectors = self.vectors.map_or(0, |(_, bytes)| bytes.len());
        size_of_val(self.ids) + size_of_val(self.codes.words()) + vectors
    }

    /// One of them, whose labels are set number `label_set`.
    pub(in crate::index) fn item(&self, at: usize, label_set: u32) -> Item<'_> {
        let vector = self.vectors.map_or(&[][..], |(rows, bytes)| {
            let size = rows.bytes();
            &bytes[at * size..(at + 1) * size]
        });
        Item { id: self.ids[at], code: self.codes.code(at), label_set, vector }
    }
}
