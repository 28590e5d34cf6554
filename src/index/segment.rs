//! A part of an index: items in ascending order of their ids, in memory or in a mapped file.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::chosen::{Chosen, Kept};
use super::file::agree;
use super::structure::LazyStructure;
use super::tiles::is_set;
use crate::kernel::{Column, Layout, Lines};
use crate::{Error, Result};

/// Items whose checksum is taken together.
pub(super) const CHECKED: usize = 1 << 16;

/// A bit for each item.
pub(super) type Bitmap = Vec<u64>;

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
    pub(super) structure: LazyStructure,
    kept: Kept,
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
            structure: LazyStructure::default(),
            kept: Kept::default(),
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
        let seen = &checksums.seen[part as usize][slot / CHECKED];
        if !seen.load(Ordering::Relaxed) {
            self.compare(checksums, part, slot / CHECKED)?;
            seen.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Compares a checksum with what is there now.
    fn compare(&self, checksums: &Checksums, part: Part, number: usize) -> Result<()> {
        let (stored, found) = (
            checksums.sums[part as usize][number],
            crc32fast::hash(self.checked_bytes(part, number)),
        );
        if !agree(stored, found) {
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
        Ok(())
    }

    /// Checks everything, also what was found sound before.
    pub(super) fn check_all(&self) -> Result<()> {
        let Some(checksums) = &self.checksums else { return Ok(()) };
        for number in 0..self.slots().div_ceil(CHECKED) {
            self.compare(checksums, Part::Ids, number)?;
            self.compare(checksums, Part::Codes, number)?;
            if self.is_labelled() {
                self.compare(checksums, Part::Labels, number)?;
            }
        }
        Ok(())
    }

    /// The file that it is from, unless it was put together in memory.
    pub(super) fn path(&self) -> Option<&Path> {
        self.checksums.as_ref().map(|checksums| checksums.path.as_path())
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

    /// The items whose label set is one of these, which ascend.
    pub(super) fn of_sets(&self, sets: &[u32]) -> Result<Chosen> {
        self.kept.get(sets, self.memory_of_items(), || {
            let Some(labels) = &self.labels else {
                let all = sets.contains(&0);
                return Ok(if all { Chosen::All } else { Chosen::of_slots(self, Vec::new())? });
            };
            for slot in (0..self.slots()).step_by(CHECKED) {
                self.check(Part::Labels, slot)?;
            }
            let of = |set: &u32| u64::from(sets.binary_search(set).is_ok());
            let word = |labels: &[u32]| match sets {
                [one] => bits_of(labels, |set| u64::from(set == one)),
                _ => bits_of(labels, of),
            };
            Chosen::of_bitmap(self, labels.chunks(64).map(word).collect())
        })
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
        let built = self.kept.memory() + self.structure.memory();
        let extra = spare(&self.ids) + spare(&self.codes) + live + built;
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
