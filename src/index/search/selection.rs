//! The items of a segment that a filter lets through.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::Result;
use crate::index::clusters::Clusters;
use crate::index::scan::{Slots, Source};
use crate::index::segment::{Bitmap, Columns, is_set, set_bits};
use crate::kernel::{Layout, Lines};

/// The items of a segment that a filter lets through, removed ones among them.
#[derive(Clone)]
pub(super) enum Selection {
    All,
    Gathered(Arc<Gathered>),
    Masked(Arc<Masked>),
}

/// So few that their codes are put together, to be scanned alone.
pub(super) struct Gathered {
    slots: Vec<u32>,
    words: Lines,
}

/// So many that what is left out is passed over.
pub(super) struct Masked {
    by_slot: Bitmap,
    /// In the order of clusters, once there were enough queries.
    in_order: OnceLock<Bitmap>,
    queries: AtomicUsize,
}

/// One in so many items, or fewer, are gathered.
const GATHERED: usize = 16;

/// Queries after which it has paid to put a bitmap into the order of clusters.
const WORTH_AN_ORDER: usize = 32;

impl Selection {
    /// The items at these slots, which ascend.
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

    /// The items that have a bit.
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
        let (in_order, queries) = (OnceLock::new(), AtomicUsize::new(0));
        Selection::Masked(Arc::new(Masked { by_slot, in_order, queries }))
    }

    /// The items that both let through.
    pub(super) fn and(self, columns: &Columns, other: Selection) -> Result<Selection> {
        match (self, other) {
            (Selection::All, selection) | (selection, Selection::All) => Ok(selection),
            (Selection::Masked(one), Selection::Masked(other)) => {
                let both = one.by_slot.iter().zip(&other.by_slot).map(|(one, other)| one & other);
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
            Selection::Masked(masked) => is_set(&masked.by_slot, slot),
        }
    }

    /// Bytes it takes, at most.
    pub(super) fn memory(&self) -> usize {
        match self {
            Selection::All => 0,
            Selection::Gathered(gathered) => {
                4 * gathered.slots.capacity() + 8 * gathered.words.capacity()
            }
            // In the order of clusters it is longer, by some bits for each cluster.
            Selection::Masked(masked) => 3 * 8 * masked.by_slot.capacity(),
        }
    }
}

impl Gathered {
    /// Their codes, of which those may be found whose slots have a bit in `live`.
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

impl Masked {
    pub(super) fn by_slot(&self) -> &Bitmap {
        &self.by_slot
    }

    /// The bits in the order of clusters, if so many more queries make that pay.
    pub(super) fn in_order(&self, clusters: &Clusters, queries: usize) -> Option<&Bitmap> {
        let before = self.queries.fetch_add(queries, Ordering::Relaxed);
        if self.in_order.get().is_none() && before + queries < WORTH_AN_ORDER {
            return None;
        }
        Some(self.in_order.get_or_init(|| clusters.in_order(&self.by_slot)))
    }
}
