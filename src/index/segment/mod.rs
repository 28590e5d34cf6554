//! Segments of an index: columns that never change, and a bitmap of the live items.

mod bitmap;
mod builder;
mod columns;
mod item;
mod kind;
mod live;
mod merge;

pub(super) use self::bitmap::{Bitmap, is_set, set_bits};
pub(super) use self::builder::Builder;
pub(super) use self::columns::{Checksums, Columns, checksum_matches};
pub(super) use self::item::{Item, NewItems, place_bytes};
pub(super) use self::kind::{BLOCK, Beside, Kind, Shape};
pub(super) use self::live::Segment;
pub(super) use self::merge::{each_in_order, merged};
