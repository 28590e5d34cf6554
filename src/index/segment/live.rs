//! [`Segment`]: columns, and which of their items are live.

use std::io;
use std::sync::{Arc, Weak};

use super::bitmap::{Bitmap, is_set, ones};
use super::columns::Columns;
use crate::Result;
use crate::disk::File;

/// Immutable items, and which of them are live, that is, not removed. Clones share the items.
/// Removing an item from a clone copies only the bitmap, and only if other clones share the bitmap.
#[derive(Clone)]
pub(in crate::index) struct Segment {
    columns: Arc<Columns>,
    /// Bitmap of live items; `None` if all items are live.
    live: Option<Arc<Bitmap>>,
    removed: usize,
}

impl Segment {
    pub(in crate::index) fn new(columns: Columns) -> Self {
        Segment { columns: Arc::new(columns), live: None, removed: 0 }
    }

    pub(in crate::index) fn columns(&self) -> &Columns {
        &self.columns
    }

    /// Returns a weak reference to the columns, which does not keep them in memory.
    pub(in crate::index) fn columns_while_used(&self) -> Weak<Columns> {
        Arc::downgrade(&self.columns)
    }

    /// Returns the same items, for reading once in order if they are mapped from a file.
    pub(in crate::index) fn to_read_once(&self, file: &File) -> io::Result<Segment> {
        Ok(match self.columns.to_read_once(file)? {
            Some(columns) => Segment { columns: Arc::new(columns), ..self.clone() },
            None => self.clone(),
        })
    }

    /// Returns the number of live items.
    pub(in crate::index) fn len(&self) -> usize {
        self.columns.len() - self.removed
    }

    /// Returns the number of removed items.
    pub(in crate::index) fn removed(&self) -> usize {
        self.removed
    }

    /// Returns the bitmap of live items; `None` if all items are live.
    pub(in crate::index) fn live(&self) -> Option<&[u64]> {
        self.live.as_ref().map(|live| &live[..])
    }

    pub(in crate::index) fn is_live(&self, slot: usize) -> bool {
        self.live().is_none_or(|live| is_set(live, slot))
    }

    /// Returns the slots of live items.
    pub(in crate::index) fn live_slots(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (0..self.columns.len()).filter(|&slot| self.is_live(slot))
    }

    /// Returns the slot of an item, or `None` if it is not live.
    pub(in crate::index) fn find(&self, id: u64) -> Result<Option<usize>> {
        let columns = &self.columns;
        let slot = columns.lower_bound(id)?;
        let there = slot < columns.len() && columns.id(slot)? == id && self.is_live(slot);
        Ok(there.then_some(slot))
    }

    /// Removes a live item.
    pub(in crate::index) fn remove(&mut self, slot: usize) {
        let live = self.live.get_or_insert_with(|| Arc::new(ones(self.columns.len())));
        Arc::make_mut(live)[slot / 64] &= !(1 << (slot % 64));
        self.removed += 1;
    }

    /// Returns the bytes in addition to the used bytes of the columns.
    pub(in crate::index) fn extra_memory(&self) -> usize {
        self.columns.spare() + self.live.as_ref().map_or(0, |live| 8 * live.len())
    }
}
