//! The kinds of columns, and the columns that a segment has.
//!
//! A new kind of column needs a variant with its size and name here, a field in `Columns` and
//! `Builder`, and a field in `Item` and `NewItems`.

use crate::kernel::{Layout, VectorRows};

/// Number of items in a block, which is written as a unit. Each column of a block has one checksum,
/// except vectors, which have several.
pub(in crate::index) const BLOCK: usize = 1 << 16;

/// Number of items whose vectors share a checksum. The number is small because vectors are large
/// and re-ranking reads scattered vectors.
const VECTORS_BLOCK: usize = 1 << 8;
const _: () = assert!(BLOCK.is_multiple_of(VECTORS_BLOCK));

/// Kind of column, in the order of columns in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::index) enum Kind {
    Ids,
    Codes,
    /// The number of each item's label set. A segment without this column has no labels.
    Labels,
    /// The prepared vectors, or the places of vectors that are stored elsewhere.
    Vectors,
}

/// Data stored beside the code of each item, in rows of equal size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::index) enum Beside {
    /// The prepared vector of the item.
    Vectors(VectorRows),
    /// The place of the vector: a number with a meaning to the owner of the index.
    Places,
}

impl Beside {
    pub(in crate::index) fn bytes(self) -> usize {
        match self {
            Beside::Vectors(rows) => rows.bytes(),
            Beside::Places => size_of::<u64>(),
        }
    }

    /// Returns the format of the vectors, or `None` for places.
    pub(in crate::index) fn vectors(self) -> Option<VectorRows> {
        match self {
            Beside::Vectors(rows) => Some(rows),
            Beside::Places => None,
        }
    }
}

/// Shape of the items of an index: the data that they have besides ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::index) struct Shape {
    pub(in crate::index) layout: Layout,
    pub(in crate::index) labelled: bool,
    pub(in crate::index) vectors: Option<Beside>,
}

impl Kind {
    pub(in crate::index) const ALL: [Kind; 4] =
        [Kind::Ids, Kind::Codes, Kind::Labels, Kind::Vectors];

    /// Returns the name for messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Ids => "ids",
            Kind::Codes => "codes",
            Kind::Labels => "labels",
            Kind::Vectors => "vectors",
        }
    }

    /// Returns the bytes of a column of `items` items; 0 if the shape has no such column.
    pub(in crate::index) fn size(self, shape: Shape, items: usize) -> usize {
        match self {
            Kind::Ids => 8 * items,
            Kind::Codes => 8 * shape.layout.words(items),
            Kind::Labels if shape.labelled => 4 * items,
            Kind::Vectors => shape.vectors.map_or(0, |rows| rows.bytes() * items),
            Kind::Labels => 0,
        }
    }

    /// Returns the number of items that share a checksum.
    pub(in crate::index) fn block(self) -> usize {
        if self == Kind::Vectors { VECTORS_BLOCK } else { BLOCK }
    }

    /// Returns the kinds of columns that a segment of this shape has.
    pub(in crate::index) fn of(shape: Shape) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(move |&kind| match kind {
            Kind::Labels => shape.labelled,
            Kind::Vectors => shape.vectors.is_some(),
            _ => true,
        })
    }
}
