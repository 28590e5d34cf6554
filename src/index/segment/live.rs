//! [`Segment`]: columns, and which of their items are there.

use std::io;
use std::sync::{Arc, Weak};

use super::bitmap::{Bitmap, is_set, ones};
use super::columns::Columns;
use crate::Result;
use crate::disk::File;

/// Items that never change, and which of them are still there. A clone is another view of the same
/// items: removing one from it copies the bitmap where others look at it, and nothing else.
#[derive(Clone)]
pub(in crate::index) struct Segment {
    columns: Arc<Columns>,
    /// Which items are there, if not all are.
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

    /// The columns, for whoever has no need of them once nobody else has.
    pub(in crate::index) fn columns_while_used(&self) -> Weak<Columns> {
        Arc::downgrade(&self.columns)
    }

    /// The same items, to be read once in order if they are mapped from this file.
    pub(in crate::index) fn to_read_once(&self, file: &File) -> io::Result<Segment> {
        Ok(match self.columns.to_read_once(file)? {
            Some(columns) => Segment { columns: Arc::new(columns), ..self.clone() },
            None => self.clone(),
        })
    }

    /// Items that are there.
    pub(in crate::index) fn len(&self) -> usize {
        self.columns.len() - self.removed
    }

    /// Items that were removed.
    pub(in crate::index) fn removed(&self) -> usize {
        self.removed
    }

    /// Which items are there, if not all are.
    pub(in crate::index) fn live(&self) -> Option<&[u64]> {
        self.live.as_ref().map(|live| &live[..])
    }

    pub(in crate::index) fn is_live(&self, slot: usize) -> bool {
        self.live().is_none_or(|live| is_set(live, slot))
    }

    /// The slots of items that are there.
    pub(in crate::index) fn live_slots(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (0..self.columns.len()).filter(|&slot| self.is_live(slot))
    }

    /// Where an item stands, if it is there.
    pub(in crate::index) fn find(&self, id: u64) -> Result<Option<usize>> {
        let columns = &self.columns;
        let slot = columns.lower_bound(id)?;
        let there = slot < columns.len() && columns.id(slot)? == id && self.is_live(slot);
        Ok(there.then_some(slot))
    }

    /// Takes an item out that is there.
    pub(in crate::index) fn remove(&mut self, slot: usize) {
        let live = self.live.get_or_insert_with(|| Arc::new(ones(self.columns.len())));
        Arc::make_mut(live)[slot / 64] &= !(1 << (slot % 64));
        self.removed += 1;
    }

    /// Bytes beyond those of the columns.
    pub(in crate::index) fn extra_memory(&self) -> usize {
        self.columns.spare() + self.live.as_ref().map_or(0, |live| 8 * live.len())
    }
}
