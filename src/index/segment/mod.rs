//! A part of an index: columns that never change, and a bitmap of the items that are there.

mod bitmap;
mod columns;
mod merge;

use std::sync::Arc;

pub(super) use self::bitmap::{Bitmap, is_set, ones, set_bits};
pub(super) use self::columns::{BLOCK, Builder, Checksums, Columns, Item, Kind, checksum_matches};
pub(super) use self::merge::each_in_order;
use crate::Result;

/// Items that never change, and which of them are still there. A clone is another view of the same
/// items: removing one from it copies the bitmap where others look at it, and nothing else.
#[derive(Clone)]
pub(super) struct Segment {
    columns: Arc<Columns>,
    /// Which items are there, if not all are.
    live: Option<Arc<Bitmap>>,
    removed: usize,
}

impl Segment {
    pub(super) fn new(columns: Columns) -> Self {
        Segment { columns: Arc::new(columns), live: None, removed: 0 }
    }

    /// One segment of what is there of some, which have no id in common.
    pub(super) fn merged(segments: &[&Segment]) -> Result<Segment> {
        let Some(first) = segments.first() else { unreachable!("of at least one segment") };
        let room = segments.iter().map(|segment| segment.len()).sum();
        let mut builder = Builder::new(first.columns.layout(), room);
        each_in_order(segments, |item| {
            builder.push(item);
            Ok(())
        })?;
        Ok(Segment::new(builder.finish()))
    }

    pub(super) fn columns(&self) -> &Columns {
        &self.columns
    }

    /// Items that are there.
    pub(super) fn len(&self) -> usize {
        self.columns.len() - self.removed
    }

    /// Items that were removed.
    pub(super) fn removed(&self) -> usize {
        self.removed
    }

    /// Which items are there, if not all are.
    pub(super) fn live(&self) -> Option<&[u64]> {
        self.live.as_ref().map(|live| &live[..])
    }

    pub(super) fn is_live(&self, slot: usize) -> bool {
        self.live().is_none_or(|live| is_set(live, slot))
    }

    /// The slots of items that are there.
    pub(super) fn live_slots(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (0..self.columns.len()).filter(|&slot| self.is_live(slot))
    }

    /// Where an item stands, if it is there.
    pub(super) fn find(&self, id: u64) -> Result<Option<usize>> {
        let columns = &self.columns;
        let slot = columns.lower_bound(id)?;
        let there = slot < columns.len() && columns.id(slot)? == id && self.is_live(slot);
        Ok(there.then_some(slot))
    }

    /// Takes an item out that is there.
    pub(super) fn remove(&mut self, slot: usize) {
        let live = self.live.get_or_insert_with(|| Arc::new(ones(self.columns.len())));
        Arc::make_mut(live)[slot / 64] &= !(1 << (slot % 64));
        self.removed += 1;
    }

    /// Bytes beyond those of the columns.
    pub(super) fn extra_memory(&self) -> usize {
        self.columns.spare() + self.live.as_ref().map_or(0, |live| 8 * live.len())
    }
}
