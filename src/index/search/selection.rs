//! [`Selection`]: the items of a segment that pass a filter.

use std::sync::Arc;

use crate::Result;
use crate::index::scan::{Slots, Source};
use crate::index::segment::{Bitmap, Columns, is_set, set_bits};
use crate::kernel::{Layout, Lines};

/// Items of a segment that pass a filter, including removed items.
#[derive(Clone)]
pub(super) enum Selection {
    All,
    Gathered(Arc<Gathered>),
    /// Many items: a bit for each slot. A scan skips slots whose bit is not set.
    Masked(Arc<Bitmap>),
}

/// Few items, whose codes are copied together and scanned alone.
pub(super) struct Gathered {
    slots: Vec<u32>,
    words: Lines,
}

/// A selection of at most one in `GATHERED` items is gathered.
const GATHERED: usize = 16;

impl Selection {
    /// Returns the selection of the items at these slots, which ascend.
    pub(super) fn of_slots(columns: &Columns, slots: Vec<u32>) -> Result<Selection> {
        if slots.len() * GATHERED > columns.len() {
            let mut by_slot = vec![0; columns.len().div_ceil(64)];
            slots.iter().for_each(|slot| by_slot[*slot as usize / 64] |= 1 << (slot % 64));
            return Ok(Selection::masked(by_slot));
        }
        let layout = columns.layout();
        let mut words = Lines::zeros(layout.words(slots.len()));
        let mut code = vec![0; layout.code_words()];
        for (number, &slot) in slots.iter().enumerate() {
            columns.code(slot as usize, &mut code)?;
            layout.put(&mut words, number, &code);
        }
        Ok(Selection::Gathered(Arc::new(Gathered { slots, words })))
    }

    /// Returns the selection of the items whose bits are set.
    pub(super) fn of_bitmap(columns: &Columns, by_slot: Bitmap) -> Result<Selection> {
        let count: usize = by_slot.iter().map(|word| word.count_ones() as usize).sum();
        if count * GATHERED > columns.len() {
            return Ok(Selection::masked(by_slot));
        }
        let mut slots = Vec::with_capacity(count);
        slots.extend(set_bits(&by_slot).map(|slot| slot as u32));
        Selection::of_slots(columns, slots)
    }

    fn masked(by_slot: Bitmap) -> Selection {
        Selection::Masked(Arc::new(by_slot))
    }

    /// Returns the items that are in both selections.
    pub(super) fn and(self, columns: &Columns, other: Selection) -> Result<Selection> {
        match (self, other) {
            (Selection::All, selection) | (selection, Selection::All) => Ok(selection),
            (Selection::Masked(one), Selection::Masked(other)) => {
                let both = one.iter().zip(other.iter()).map(|(one, other)| one & other);
                Selection::of_bitmap(columns, both.collect())
            }
            (Selection::Gathered(gathered), other) | (other, Selection::Gathered(gathered)) => {
                let of_both = |slot: &u32| other.contains(*slot as usize);
                Selection::of_slots(
                    columns,
                    gathered.slots.iter().copied().filter(of_both).collect(),
                )
            }
        }
    }

    pub(super) fn contains(&self, slot: usize) -> bool {
        match self {
            Selection::All => true,
            Selection::Gathered(gathered) => gathered.slots.binary_search(&(slot as u32)).is_ok(),
            Selection::Masked(by_slot) => is_set(by_slot, slot),
        }
    }

    /// Returns an upper bound on the bytes of the selection.
    pub(super) fn memory(&self) -> usize {
        match self {
            Selection::All => 0,
            Selection::Gathered(gathered) => {
                4 * gathered.slots.capacity() + 8 * gathered.words.capacity()
            }
            Selection::Masked(by_slot) => 8 * by_slot.capacity(),
        }
    }
}

impl Gathered {
    /// Returns the codes as the source of a scan, restricted to slots with a bit in `live`.
    pub(super) fn source<'a>(&'a self, layout: Layout, live: Option<&'a [u64]>) -> Source<'a> {
        Source {
            layout,
            words: &self.words,
            count: self.slots.len(),
            slots: Slots::Listed { slots: &self.slots, live },
            masks: Vec::new(),
        }
    }
}
