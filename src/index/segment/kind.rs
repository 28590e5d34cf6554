//! The kinds of columns, and what a segment has of them.
//!
//! A new kind of column is a variant, its size and name here, a field of `Columns` and `Builder`, and a
//! field of `Item` and `NewItems`.

use crate::kernel::{Layout, VectorRows};

/// Items that are written together. Their checksum is taken together, too, but for vectors.
pub(in crate::index) const BLOCK: usize = 1 << 16;

/// Items whose vectors have a checksum together: few, since they are large, and a search looks at some
/// here and there.
const VECTORS_BLOCK: usize = 1 << 8;
const _: () = assert!(BLOCK.is_multiple_of(VECTORS_BLOCK));

/// The kinds of columns, in the order in which files have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::index) enum Kind {
    Ids,
    Codes,
    /// The number of each item's label set. A segment without it has no labels.
    Labels,
    /// The vectors, prepared, where the index keeps them, or where else they are.
    Vectors,
}

/// What stands beside the code of each item, in rows of so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::index) enum Beside {
    /// Its vector, prepared.
    Vectors(VectorRows),
    /// Where its vector is kept: a number that means something to whoever put it in.
    Places,
}

impl Beside {
    pub(in crate::index) fn bytes(self) -> usize {
        match self {
            Beside::Vectors(rows) => rows.bytes(),
            Beside::Places => size_of::<u64>(),
        }
    }

    /// The rows of vectors, if that is what they are.
    pub(in crate::index) fn vectors(self) -> Option<VectorRows> {
        match self {
            Beside::Vectors(rows) => Some(rows),
            Beside::Places => None,
        }
    }
}

/// What the items of an index have beside ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::index) struct Shape {
    pub(in crate::index) layout: Layout,
    pub(in crate::index) labelled: bool,
    pub(in crate::index) vectors: Option<Beside>,
}

impl Kind {
    pub(in crate::index) const ALL: [Kind; 4] =
        [Kind::Ids, Kind::Codes, Kind::Labels, Kind::Vectors];

    /// What it is called in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Ids => "ids",
            Kind::Codes => "codes",
            Kind::Labels => "labels",
            Kind::Vectors => "vectors",
        }
    }

    /// The bytes of so many items; 0 where there is no such column.
    pub(in crate::index) fn size(self, shape: Shape, items: usize) -> usize {
        match self {
            Kind::Ids => 8 * items,
            Kind::Codes => 8 * shape.layout.words(items),
            Kind::Labels if shape.labelled => 4 * items,
            Kind::Vectors => shape.vectors.map_or(0, |rows| rows.bytes() * items),
            Kind::Labels => 0,
        }
    }

    /// How many items have a checksum together.
    pub(in crate::index) fn block(self) -> usize {
        if self == Kind::Vectors { VECTORS_BLOCK } else { BLOCK }
    }

    /// The kinds of columns that a segment has.
    pub(in crate::index) fn of(shape: Shape) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(move |&kind| match kind {
            Kind::Labels => shape.labelled,
            Kind::Vectors => shape.vectors.is_some(),
            _ => true,
        })
    }
}
