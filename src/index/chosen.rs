//! The items of a segment that a filter lets through.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::balls::Balls;
use super::segment::{Bitmap, Segment};
use super::tiles::{Slots, Source, is_set, set_bits};
use crate::Result;
use crate::kernel::Lines;

/// The items of a segment that a filter lets through, removed ones among them.
#[derive(Clone)]
pub(super) enum Chosen {
    All,
    Few(Arc<Few>),
    Many(Arc<Many>),
}

/// So few that their codes are put together, to be scanned alone.
pub(super) struct Few {
    slots: Vec<u32>,
    words: Lines,
}

/// So many that what is left out is passed over.
pub(super) struct Many {
    by_slot: Bitmap,
    /// In the order of balls, once there were enough queries.
    in_order: OnceLock<Bitmap>,
    queries: AtomicUsize,
}

/// One in so many items, or fewer, are few.
const FEW: usize = 16;

/// Queries after which it has paid to put a bitmap into the order of balls.
const WORTH_AN_ORDER: usize = 32;

impl Chosen {
    /// The items at these slots, which ascend.
    pub(super) fn of_slots(segment: &Segment, slots: Vec<u32>) -> Result<Chosen> {
        if slots.len() * FEW > segment.slots() {
            let mut by_slot = vec![0; segment.slots().div_ceil(64)];
            slots.iter().for_each(|slot| by_slot[*slot as usize / 64] |= 1 << (slot % 64));
            return Ok(Chosen::many(by_slot));
        }
        let layout = segment.layout();
        let mut words = Lines::zeros(layout.words(slots.len()));
        let mut code = vec![0; layout.code_words()];
        for (number, &slot) in slots.iter().enumerate() {
            segment.code(slot as usize, &mut code)?;
            layout.put(&mut words, number, &code);
        }
        Ok(Chosen::Few(Arc::new(Few { slots, words })))
    }

    /// The items that have a bit.
    pub(super) fn of_bitmap(segment: &Segment, by_slot: Bitmap) -> Result<Chosen> {
        let count: usize = by_slot.iter().map(|word| word.count_ones() as usize).sum();
        if count * FEW > segment.slots() {
            return Ok(Chosen::many(by_slot));
        }
        let mut slots = Vec::with_capacity(count);
        slots.extend(set_bits(&by_slot).map(|slot| slot as u32));
        Chosen::of_slots(segment, slots)
    }

    fn many(by_slot: Bitmap) -> Chosen {
        let (in_order, queries) = (OnceLock::new(), AtomicUsize::new(0));
        Chosen::Many(Arc::new(Many { by_slot, in_order, queries }))
    }

    /// The items that both let through.
    pub(super) fn and(self, segment: &Segment, other: Chosen) -> Result<Chosen> {
        match (self, other) {
            (Chosen::All, chosen) | (chosen, Chosen::All) => Ok(chosen),
            (Chosen::Many(one), Chosen::Many(other)) => {
                let both = one.by_slot.iter().zip(&other.by_slot).map(|(one, other)| one & other);
                Chosen::of_bitmap(segment, both.collect())
            }
            (Chosen::Few(few), other) | (other, Chosen::Few(few)) => {
                let of_both = |slot: &u32| other.contains(*slot as usize);
                Chosen::of_slots(segment, few.slots.iter().copied().filter(of_both).collect())
            }
        }
    }

    pub(super) fn contains(&self, slot: usize) -> bool {
        match self {
            Chosen::All => true,
            Chosen::Few(few) => few.slots.binary_search(&(slot as u32)).is_ok(),
            Chosen::Many(many) => is_set(&many.by_slot, slot),
        }
    }

    /// Bytes it takes, at most.
    pub(super) fn memory(&self) -> usize {
        match self {
            Chosen::All => 0,
            Chosen::Few(few) => 4 * few.slots.capacity() + 8 * few.words.capacity(),
            // In the order of balls it is longer, by some bits for each ball.
            Chosen::Many(many) => 3 * 8 * many.by_slot.capacity(),
        }
    }
}

/// What filters by label let through, kept for the next that ask for the same.
#[derive(Default)]
pub(super) struct Kept(Mutex<KeptSets>);

#[derive(Default)]
struct KeptSets {
    by_sets: HashMap<Vec<u32>, Chosen>,
    bytes: usize,
}

/// What part of the items' memory may be taken by what is kept...
const KEPT_PART: usize = 4;

/// ...and how many bytes in any case.
const KEPT_AT_LEAST: usize = 1 << 20;

/// Bytes that it takes to keep anything.
const ENTRY: usize = 128;

impl Kept {
    fn lock(&self) -> MutexGuard<'_, KeptSets> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was kept of these label sets, or else what is found and then kept.
    pub(super) fn get(
        &self,
        sets: &[u32],
        memory_of_items: usize,
        find: impl FnOnce() -> Result<Chosen>,
    ) -> Result<Chosen> {
        if let Some(known) = self.lock().by_sets.get(sets) {
            return Ok(known.clone());
        }
        let chosen = find()?;
        let bytes = ENTRY + size_of_val(sets) + chosen.memory();
        let mut kept = self.lock();
        if kept.bytes + bytes > (memory_of_items / KEPT_PART).max(KEPT_AT_LEAST) {
            *kept = KeptSets::default();
        }
        if kept.by_sets.insert(sets.to_vec(), chosen.clone()).is_none() {
            kept.bytes += bytes;
        }
        Ok(chosen)
    }

    pub(super) fn memory(&self) -> usize {
        self.lock().bytes
    }
}

impl Few {
    pub(super) fn source<'a>(&'a self, segment: &'a Segment) -> Source<'a> {
        Source {
            segment,
            words: &self.words,
            count: self.slots.len(),
            slots: Slots::These(&self.slots),
            chosen: Vec::new(),
        }
    }
}

impl Many {
    pub(super) fn by_slot(&self) -> &Bitmap {
        &self.by_slot
    }

    /// The bits in the order of balls, if so many more queries make that pay.
    pub(super) fn in_order(&self, balls: &Balls, queries: usize) -> Option<&Bitmap> {
        let before = self.queries.fetch_add(queries, Ordering::Relaxed);
        if self.in_order.get().is_none() && before + queries < WORTH_AN_ORDER {
            return None;
        }
        Some(self.in_order.get_or_init(|| balls.in_order(&self.by_slot)))
    }
}
