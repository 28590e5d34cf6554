//! A part of an index: items in ascending order of their ids, in memory or in a mapped file.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::chosen::Chosen;
use super::search::Want;
use super::structure::Structure;
use super::tiles::is_set;
use crate::kernel::{Column, Layout, Lines};
use crate::{Error, Kernel, Result};

/// Items whose checksum is taken together.
pub(super) const CHECKED: usize = 1 << 16;

/// A bit for each item.
pub(super) type Bitmap = Vec<u64>;

/// What part of the items' memory may be taken by what is kept of filters by label...
const KEPT_PART: usize = 4;

/// ...and how many bytes in any case.
const KEPT_AT_LEAST: usize = 1 << 20;

/// What an item has.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    Ids,
    Codes,
    Labels,
}

/// Items by ascending id. Where an item stands is its slot; slots are in the order of ids, so
/// whatever comes out in order of slots is in order of ids.
pub(super) struct Segment {
    layout: Layout,
    ids: Column<u64>,
    codes: Column<u64>,
    /// The number of each item's label set. Without it no item has any label.
    labels: Option<Column<u32>>,
    /// Which items are still there, if not all are.
    live: Option<Bitmap>,
    dead: usize,
    /// The first id, if all others follow it without a gap.
    counted_from: OnceLock<Option<u64>>,
    checksums: Option<Checksums>,
    structure: OnceLock<Structure>,
    /// Whether someone is building it, or has.
    building: AtomicBool,
    /// Whether it is known that the codes do not lie in balls.
    scattered: AtomicBool,
    /// How many codes were scanned for lack of it.
    scanned: AtomicU64,
    by_set: Mutex<HashMap<Vec<u32>, Chosen>>,
}

/// The checksums of a mapped segment, each looked at when its items first are.
pub(super) struct Checksums {
    pub(super) path: PathBuf,
    /// Of ids, codes and labels.
    pub(super) sums: [Vec<u32>; 3],
    seen: [Vec<AtomicBool>; 3],
}

impl Checksums {
    pub(super) fn new(path: PathBuf, sums: [Vec<u32>; 3]) -> Self {
        let unseen = |sums: &Vec<u32>| sums.iter().map(|_| AtomicBool::new(false)).collect();
        let seen = [unseen(&sums[0]), unseen(&sums[1]), unseen(&sums[2])];
        Checksums { path, sums, seen }
    }
}

/// Items being put together, in ascending order of ids.
pub(super) struct Builder {
    layout: Layout,
    ids: Vec<u64>,
    codes: Lines,
    labels: Vec<u32>,
    labelled: bool,
}

impl Builder {
    pub(super) fn new(layout: Layout, room: usize) -> Self {
        Builder {
            layout,
            ids: Vec::with_capacity(room),
            codes: Lines::with_capacity(layout.words(room)),
            labels: Vec::new(),
            labelled: false,
        }
    }

    pub(super) fn push(&mut self, id: u64, code: &[u64], label_set: u32) {
        let at = self.ids.len();
        self.ids.push(id);
        self.codes.resize(self.layout.words(at + 1));
        self.layout.put(&mut self.codes, at, code);
        if label_set != 0 && !self.labelled {
            self.labelled = true;
            self.labels.resize(at, 0);
        }
        if self.labelled {
            self.labels.push(label_set);
        }
    }

    pub(super) fn finish(self) -> Segment {
        let labels = self.labelled.then_some(Column::Owned(self.labels));
        Segment::new(self.layout, Column::Owned(self.ids), Column::Lines(self.codes), labels, None)
    }
}

impl Segment {
    pub(super) fn new(
        layout: Layout,
        ids: Column<u64>,
        codes: Column<u64>,
        labels: Option<Column<u32>>,
        checksums: Option<Checksums>,
    ) -> Self {
        Segment {
            layout,
            ids,
            codes,
            labels,
            live: None,
            dead: 0,
            counted_from: OnceLock::new(),
            checksums,
            structure: OnceLock::new(),
            building: AtomicBool::new(false),
            scattered: AtomicBool::new(false),
            scanned: AtomicU64::new(0),
            by_set: Mutex::default(),
        }
    }

    /// Items that were ever in it.
    pub(super) fn slots(&self) -> usize {
        self.ids.len()
    }

    /// Items that are there.
    pub(super) fn len(&self) -> usize {
        self.ids.len() - self.dead
    }

    pub(super) fn is_mapped(&self) -> bool {
        self.ids.is_mapped()
    }

    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    pub(super) fn live(&self) -> Option<&Bitmap> {
        self.live.as_ref()
    }

    pub(super) fn is_labelled(&self) -> bool {
        self.labels.is_some()
    }

    /// The bytes of a part, as they stand in a file.
    pub(super) fn bytes(&self, part: Part) -> &[u8] {
        match part {
            Part::Ids => self.ids.bytes(),
            Part::Codes => self.codes.bytes(),
            Part::Labels => self.labels.as_ref().map_or(&[], Column::bytes),
        }
    }

    /// The bytes of a part that belong to the items of a checksum.
    pub(super) fn checked_bytes(&self, part: Part, number: usize) -> &[u8] {
        let bytes = self.bytes(part);
        let size = match part {
            Part::Ids => CHECKED * 8,
            Part::Codes => self.layout.words(CHECKED) * 8,
            Part::Labels => CHECKED * 4,
        };
        let start = (number * size).min(bytes.len());
        &bytes[start..bytes.len().min(start + size)]
    }

    /// Fails if what a part says of an item cannot be trusted.
    pub(super) fn check(&self, part: Part, slot: usize) -> Result<()> {
        let Some(checksums) = &self.checksums else { return Ok(()) };
        let number = slot / CHECKED;
        let seen = &checksums.seen[part as usize][number];
        if seen.load(Ordering::Relaxed) {
            return Ok(());
        }
        let (stored, found) = (
            checksums.sums[part as usize][number],
            crc32fast::hash(self.checked_bytes(part, number)),
        );
        if stored != found {
            let what = format!("{part:?}").to_lowercase();
            let first = number * CHECKED;
            return Err(Error::malformed(
                &checksums.path,
                format!(
                    "is damaged: the {what} of items {first} to {} have checksum {found:08x}, it \
                     should be {stored:08x}",
                    (first + CHECKED).min(self.slots()) - 1
                ),
            ));
        }
        seen.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Checks everything.
    pub(super) fn check_all(&self) -> Result<()> {
        for slot in (0..self.slots()).step_by(CHECKED) {
            self.check(Part::Ids, slot)?;
            self.check(Part::Codes, slot)?;
            if self.is_labelled() {
                self.check(Part::Labels, slot)?;
            }
        }
        Ok(())
    }

    pub(super) fn id(&self, slot: usize) -> Result<u64> {
        // Ids that count up need not be looked up, far away in memory.
        if let Some(Some(first)) = self.counted_from.get() {
            return Ok(first.wrapping_add(slot as u64));
        }
        self.check(Part::Ids, slot)?;
        if self.counted_from.get().is_none() {
            self.check(Part::Ids, 0)?;
            self.check(Part::Ids, self.slots() - 1)?;
            let (first, last) = (self.ids[0], self.ids[self.slots() - 1]);
            let counted = last.wrapping_sub(first) == self.slots() as u64 - 1;
            self.counted_from.get_or_init(|| counted.then_some(first));
        }
        Ok(self.ids[slot])
    }

    /// Whether no code has bits beyond the last.
    pub(super) fn codes_fit(&self) -> Result<bool> {
        let bits = self.layout.bits();
        let mut code = vec![0; self.layout.code_words()];
        let beyond = if bits.is_multiple_of(64) { 0 } else { u64::MAX << (bits % 64) };
        for slot in 0..self.slots() {
            self.code(slot, &mut code)?;
            if code.last().is_some_and(|last| last & beyond != 0) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn ids_ascend(&self) -> bool {
        self.ids.is_sorted_by(|left, right| left < right)
    }

    /// The number of an item's label set.
    pub(super) fn label_set(&self, slot: usize) -> Result<u32> {
        let Some(labels) = &self.labels else { return Ok(0) };
        self.check(Part::Labels, slot)?;
        Ok(labels[slot])
    }

    pub(super) fn code(&self, slot: usize, out: &mut [u64]) -> Result<()> {
        self.check(Part::Codes, slot)?;
        self.layout.get(&self.codes, slot, out);
        Ok(())
    }

    /// All codes one after the other, as words.
    pub(super) fn all_codes(&self) -> Result<Vec<u64>> {
        let width = self.layout.code_words();
        let mut codes = vec![0; self.slots() * width];
        for (slot, code) in codes.chunks_exact_mut(width).enumerate() {
            self.code(slot, code)?;
        }
        Ok(codes)
    }

    /// The words of codes from a slot on, which must be a multiple of the layout's lanes.
    pub(super) fn codes_from(&self, slot: usize) -> &[u64] {
        &self.codes[self.layout.words(slot)..]
    }

    pub(super) fn is_live(&self, slot: usize) -> bool {
        self.live.as_ref().is_none_or(|live| is_set(live, slot))
    }

    /// The first slot whose id is not below this one.
    pub(super) fn lower_bound(&self, id: u64) -> Result<usize> {
        let (mut low, mut high) = (0, self.slots());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.id(middle)? < id { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    /// Where an item stands, if it is there.
    pub(super) fn find(&self, id: u64) -> Result<Option<usize>> {
        let slot = self.lower_bound(id)?;
        let there = slot < self.slots() && self.id(slot)? == id && self.is_live(slot);
        Ok(there.then_some(slot))
    }

    /// Takes an item out.
    pub(super) fn remove(&mut self, slot: usize) {
        let slots = self.slots();
        let live = self.live.get_or_insert_with(|| ones(slots));
        live[slot / 64] &= !(1 << (slot % 64));
        self.dead += 1;
    }

    /// The items whose label set is one of these.
    pub(super) fn of_sets(&self, sets: &[u32]) -> Result<Chosen> {
        let lock = || self.by_set.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(sets) {
            return Ok(known.clone());
        }
        let mut bitmap = vec![0u64; self.slots().div_ceil(64)];
        if let Some(labels) = &self.labels {
            for slot in (0..self.slots()).step_by(CHECKED) {
                self.check(Part::Labels, slot)?;
            }
            let of = |set: &u32| u64::from(sets.binary_search(set).is_ok());
            for (word, labels) in bitmap.iter_mut().zip(labels.chunks(64)) {
                *word = match sets {
                    [one] => bits_of(labels, |set| u64::from(set == one)),
                    _ => bits_of(labels, of),
                };
            }
        } else if sets.contains(&0) {
            bitmap = ones(self.slots());
        }
        let chosen = Chosen::of_bitmap(self, bitmap)?;
        let mut known = lock();
        let room = (self.memory_of_items() / KEPT_PART).max(KEPT_AT_LEAST);
        let taken: usize = known.values().map(Chosen::memory).sum();
        if taken + chosen.memory() > room {
            known.clear();
        }
        known.insert(sets.to_vec(), chosen.clone());
        Ok(chosen)
    }

    /// What makes searches faster than a scan, once it pays: `work` codes are about to be scanned
    /// without it.
    pub(super) fn structure(
        &self,
        want: Want,
        kernel: Kernel,
        work: u64,
    ) -> Result<Option<&Structure>> {
        if let Some(structure) = self.structure.get() {
            return Ok(Some(structure));
        }
        // Without balls there is nothing for the nearest.
        let of_balls_alone = matches!(want, Want::Nearest(_));
        if of_balls_alone && self.scattered.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let scanned = self.scanned.fetch_add(work, Ordering::Relaxed) + work;
        if self.codes.len() < Structure::LEAST_WORDS
            || scanned / Structure::COST < self.slots() as u64
        {
            return Ok(None);
        }
        // One builds, and nobody waits for it: the threads that it wants to use may be busy here.
        if self.building.swap(true, Ordering::Relaxed) {
            return Ok(None);
        }
        let built = self
            .all_codes()
            .map(|codes| Structure::build(kernel, self.layout, codes, of_balls_alone));
        if let Ok(Some(built)) = built {
            return Ok(Some(self.structure.get_or_init(|| built)));
        }
        self.scattered.store(built.is_ok(), Ordering::Relaxed);
        self.building.store(false, Ordering::Relaxed);
        built.map(|_| None)
    }

    fn memory_of_items(&self) -> usize {
        self.ids.bytes().len()
            + self.codes.bytes().len()
            + self.labels.as_ref().map_or(0, |labels| labels.bytes().len())
    }

    /// Bytes it takes: of ids, codes and labels, and of what came on top.
    pub(super) fn memory(&self) -> (usize, usize) {
        let spare = |column: &Column<u64>| match column {
            Column::Owned(numbers) => 8 * (numbers.capacity() - numbers.len()),
            Column::Lines(words) => 8 * (words.capacity() - words.len()),
            Column::Mapped { .. } => 0,
        };
        let live = self.live.as_ref().map_or(0, |live| 8 * live.len());
        let known = self.by_set.lock().unwrap_or_else(PoisonError::into_inner);
        let chosen: usize = known.values().map(Chosen::memory).sum();
        let structure = self.structure.get().map_or(0, Structure::memory);
        let extra = spare(&self.ids) + spare(&self.codes) + live + chosen + structure;
        (self.memory_of_items(), extra)
    }

    /// One segment of what is left of two, in order of ids; an id is in one of them at most.
    pub(super) fn merged(left: &Segment, right: &Segment) -> Result<Segment> {
        let mut builder = Builder::new(left.layout, left.len() + right.len());
        let mut code = vec![0; left.layout.code_words()];
        let (mut a, mut b) = (left.live_slots().peekable(), right.live_slots().peekable());
        loop {
            let from_left = match (a.peek(), b.peek()) {
                (None, None) => break,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (Some(&i), Some(&j)) => left.id(i)? < right.id(j)?,
            };
            let (segment, slots) = if from_left {
                (left, &mut a as &mut dyn Iterator<Item = usize>)
            } else {
                (right, &mut b as _)
            };
            if let Some(slot) = slots.next() {
                segment.code(slot, &mut code)?;
                builder.push(segment.id(slot)?, &code, segment.label_set(slot)?);
            }
        }
        Ok(builder.finish())
    }

    /// The slots of items that are there.
    pub(super) fn live_slots(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.slots()).filter(|&slot| self.is_live(slot))
    }
}

fn bits_of(labels: &[u32], bit: impl Fn(&u32) -> u64) -> u64 {
    labels.iter().enumerate().fold(0, |word, (at, set)| word | bit(set) << at)
}

/// A bitmap of `count` ones.
fn ones(count: usize) -> Bitmap {
    let mut bitmap = vec![u64::MAX; count.div_ceil(64)];
    if let Some(last) = bitmap.last_mut().filter(|_| !count.is_multiple_of(64)) {
        *last = (1 << (count % 64)) - 1;
    }
    bitmap
}
