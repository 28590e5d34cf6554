//! A part of an index: columns that never change, and a bitmap of the items that are there.

mod bitmap;
mod columns;
mod live;
mod merge;

pub(super) use self::bitmap::{Bitmap, is_set, set_bits};
pub(super) use self::columns::{
    BLOCK, Builder, Checksums, Columns, Item, Kind, NewItems, Shape, checksum_matches,
};
pub(super) use self::live::Segment;
pub(super) use self::merge::{each_in_order, merged};
