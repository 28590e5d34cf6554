//! The columns of a segment: what each item has, in memory or in a mapped file.
//!
//! What builds, merges, writes, maps and checks columns goes over [`Kind::ALL`] (`kind.rs`).

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::kind::{Beside, Kind, Shape};
use crate::disk::File;
use crate::kernel::{Column, Layout, Mapped};
use crate::{Error, Result};

/// So many ids are looked up together, and not each with a look at the checksum of its block.
const MANY_IDS: usize = 1 << 12;

/// Items by ascending id, which never change. Where an item stands is its slot; slots are in the
/// order of ids, so whatever comes in order of slots is in order of ids.
pub(in crate::index) struct Columns {
    layout: Layout,
    ids: Column<u64>,
    codes: Column<u64>,
    labels: Option<Column<u32>>,
    vectors: Option<Vectors>,
    /// The first id, if all others follow it without a gap.
    counted_from: OnceLock<Option<u64>>,
    checksums: Option<Checksums>,
    /// Whether it is read once, in order of slots, and what was read can leave the memory.
    read_once: bool,
}

/// The vectors of all items.
pub(in crate::index) struct Vectors {
    pub(in crate::index) rows: Beside,
    pub(super) bytes: Column<u8>,
}

impl Vectors {
    fn mapped(rows: Beside, bytes: &Mapped, start: usize, count: usize) -> Option<Self> {
        let bytes = Column::mapped(bytes, start, count.checked_mul(rows.bytes())?)?;
        Some(Vectors { rows, bytes })
    }

    /// Row after row; not checked.
    pub(in crate::index) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn row(&self, slot: usize) -> &[u8] {
        let size = self.rows.bytes();
        &self.bytes[slot * size..(slot + 1) * size]
    }
}

/// The checksums of a file's columns, each compared when an item of its block is first read.
pub(in crate::index) struct Checksums {
    path: PathBuf,
    /// By kind and block.
    sums: Vec<Vec<u32>>,
    compared: Vec<Vec<AtomicBool>>,
}

impl Checksums {
    pub(in crate::index) fn new(path: PathBuf, sums: Vec<Vec<u32>>) -> Self {
        let not_yet = |sums: &Vec<u32>| sums.iter().map(|_| AtomicBool::new(false)).collect();
        let compared = sums.iter().map(not_yet).collect();
        Checksums { path, sums, compared }
    }
}

/// Whether a checksum is the one that was stored. Always true when fuzzing, so that random bytes
/// get past the checksums.
pub(in crate::index) fn checksum_matches(stored: u32, found: u32) -> bool {
    stored == found || cfg!(fuzzing)
}

impl Columns {
    pub(super) fn new(
        layout: Layout,
        ids: Column<u64>,
        codes: Column<u64>,
        labels: Option<Column<u32>>,
        vectors: Option<Vectors>,
        checksums: Option<Checksums>,
    ) -> Self {
        let counted_from = OnceLock::new();
        Columns { layout, ids, codes, labels, vectors, counted_from, checksums, read_once: false }
    }

    /// The columns of a file, with where each begins in the mapped bytes and how long it is; `None` if
    /// one is not as long as `count` items need, or not within what is mapped.
    pub(in crate::index) fn mapped(
        shape: Shape,
        count: usize,
        bytes: &Mapped,
        section: impl Fn(Kind) -> Option<(usize, usize)>,
        checksums: Checksums,
    ) -> Option<Self> {
        let place = |kind: Kind| {
            section(kind).filter(|&(_, len)| len == kind.size(shape, count)).map(|place| place.0)
        };
        let ids = Column::mapped(bytes, place(Kind::Ids)?, count)?;
        let codes = Column::mapped(bytes, place(Kind::Codes)?, shape.layout.words(count))?;
        let labels = match shape.labelled {
            true => Some(Column::mapped(bytes, place(Kind::Labels)?, count)?),
            false => None,
        };
        let vectors = match shape.vectors {
            Some(rows) => Some(Vectors::mapped(rows, bytes, place(Kind::Vectors)?, count)?),
            None => None,
        };
        Some(Columns::new(shape.layout, ids, codes, labels, vectors, Some(checksums)))
    }

    /// The same columns of the same file, to be read once, in order of slots: they do not stay in
    /// memory. `None` if they are not mapped.
    pub(in crate::index) fn to_read_once(&self, file: &File) -> std::io::Result<Option<Self>> {
        let (Some(bytes), Some(checksums)) = (self.ids.mapped_bytes(), &self.checksums) else {
            return Ok(None);
        };
        let bytes = &bytes.again(file)?;
        let (ids, codes) = (self.ids.within(bytes), self.codes.within(bytes));
        let labels = self.labels.as_ref().and_then(|labels| labels.within(bytes));
        let within = |vectors: &Vectors| {
            Some(Vectors { rows: vectors.rows, bytes: vectors.bytes.within(bytes)? })
        };
        let vectors = self.vectors.as_ref().and_then(within);
        let checksums = Checksums::new(checksums.path.clone(), checksums.sums.clone());
        Ok(ids.zip(codes).map(|(ids, codes)| Columns {
            read_once: true,
            ..Columns::new(self.layout, ids, codes, labels, vectors, Some(checksums))
        }))
    }

    /// Takes note that all items before a slot, where a block begins, have been read.
    pub(in crate::index) fn have_read(&self, slot: usize) {
        if self.read_once {
            self.ids.release(slot);
            self.codes.release(self.layout.words(slot));
            self.labels.iter().for_each(|labels| labels.release(slot));
            if let Some(Vectors { rows, bytes }) = &self.vectors {
                bytes.release(rows.bytes() * slot);
            }
        }
    }

    /// How many items there are.
    pub(in crate::index) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(in crate::index) fn layout(&self) -> Layout {
        self.layout
    }

    pub(in crate::index) fn is_mapped(&self) -> bool {
        self.ids.mapped_bytes().is_some()
    }

    /// The file that they are from, unless they were put together in memory.
    pub(in crate::index) fn path(&self) -> Option<&Path> {
        self.checksums.as_ref().map(|checksums| checksums.path.as_path())
    }

    /// The number of each item's label set, all of them sound; `None` if no item has labels.
    pub(in crate::index) fn label_sets(&self) -> Result<Option<&[u32]>> {
        if self.labels.is_some() {
            self.check_column(Kind::Labels)?;
        }
        Ok(self.labels.as_deref())
    }

    /// What its items have.
    pub(in crate::index) fn shape(&self) -> Shape {
        let vectors = self.vectors.as_ref().map(|vectors| vectors.rows);
        Shape { layout: self.layout, labelled: self.labels.is_some(), vectors }
    }

    /// The vectors of all items, if they are kept; none of them checked.
    pub(in crate::index) fn vectors(&self) -> Option<&Vectors> {
        self.vectors.as_ref()
    }

    /// The bytes of an item's vector; none if vectors are not kept.
    pub(in crate::index) fn vector(&self, slot: usize) -> Result<&[u8]> {
        let Some(vectors) = &self.vectors else { return Ok(&[]) };
        self.check(Kind::Vectors, slot)?;
        Ok(vectors.row(slot))
    }

    /// The bytes of a column, as they stand in a file.
    fn bytes(&self, kind: Kind) -> &[u8] {
        match kind {
            Kind::Ids => self.ids.bytes(),
            Kind::Codes => self.codes.bytes(),
            Kind::Labels => self.labels.as_ref().map_or(&[], Column::bytes),
            Kind::Vectors => self.vectors.as_ref().map_or(&[], |vectors| vectors.bytes.bytes()),
        }
    }

    /// The bytes that all columns take but that of vectors, which searches by code do not read.
    pub(in crate::index) fn memory(&self) -> usize {
        let all = Kind::ALL.into_iter().filter(|&kind| kind != Kind::Vectors);
        all.map(|kind| self.bytes(kind).len()).sum()
    }

    /// Returns the bytes that a column takes.
    pub(in crate::index) fn memory_of(&self, kind: Kind) -> usize {
        self.bytes(kind).len()
    }

    /// Bytes that were allocated and are not used.
    pub(in crate::index) fn spare(&self) -> usize {
        let optional = self.labels.as_ref().map_or(0, Column::spare)
            + self.vectors.as_ref().map_or(0, |vectors| vectors.bytes.spare());
        self.ids.spare() + self.codes.spare() + optional
    }

    /// Fails if what a column says of an item cannot be trusted.
    pub(in crate::index) fn check(&self, kind: Kind, slot: usize) -> Result<()> {
        let Some(checksums) = &self.checksums else { return Ok(()) };
        let block = slot / kind.block();
        let compared = &checksums.compared[kind as usize][block];
        if !compared.load(Ordering::Relaxed) {
            self.compare(checksums, kind, block)?;
            compared.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Fails if any item of a column cannot be trusted.
    pub(in crate::index) fn check_column(&self, kind: Kind) -> Result<()> {
        (0..self.len()).step_by(kind.block()).try_for_each(|slot| self.check(kind, slot))
    }

    /// Compares the checksum of a block with what is there now.
    fn compare(&self, checksums: &Checksums, kind: Kind, block: usize) -> Result<()> {
        let (bytes, items) = (self.bytes(kind), kind.block());
        let size = kind.size(self.shape(), items);
        let start = (block * size).min(bytes.len());
        let found = crc32fast::hash(&bytes[start..bytes.len().min(start + size)]);
        let stored = checksums.sums[kind as usize][block];
        if checksum_matches(stored, found) {
            return Ok(());
        }
        let (first, last) = (block * items, ((block + 1) * items).min(self.len()) - 1);
        let what = kind.name();
        Err(Error::damaged(
            &checksums.path,
            format!(
                "is damaged: the {what} of items {first} to {last} have checksum {found:08x}, it \
                 should be {stored:08x}"
            ),
        ))
    }

    /// Compares all checksums, also those that matched before.
    pub(in crate::index) fn compare_all(&self) -> Result<()> {
        let Some(checksums) = &self.checksums else { return Ok(()) };
        for kind in Kind::of(self.shape()) {
            for block in 0..self.len().div_ceil(kind.block()) {
                self.compare(checksums, kind, block)?;
            }
        }
        Ok(())
    }

    pub(in crate::index) fn id(&self, slot: usize) -> Result<u64> {
        // Ids that count up need not be looked up, far away in memory.
        if let Some(Some(first)) = self.counted_from.get() {
            return Ok(first.wrapping_add(slot as u64));
        }
        self.check(Kind::Ids, slot)?;
        if self.counted_from.get().is_none() {
            self.counted_from()?;
        }
        Ok(self.ids[slot])
    }

    /// The first id, if all others follow it without a gap.
    fn counted_from(&self) -> Result<Option<u64>> {
        if let Some(known) = self.counted_from.get() {
            return Ok(*known);
        }
        self.check(Kind::Ids, 0)?;
        self.check(Kind::Ids, self.len() - 1)?;
        let (first, last) = (self.ids[0], self.ids[self.len() - 1]);
        let counted = last.wrapping_sub(first) == self.len() as u64 - 1;
        Ok(*self.counted_from.get_or_init(|| counted.then_some(first)))
    }

    /// Calls with each of the slots, beside its id.
    pub(in crate::index) fn each_id(
        &self,
        slots: impl ExactSizeIterator<Item = u32>,
        mut call: impl FnMut(u32, u64),
    ) -> Result<()> {
        if slots.len() == 0 {
            return Ok(());
        }
        if let Some(first) = self.counted_from()? {
            slots.for_each(|slot| call(slot, first.wrapping_add(u64::from(slot))));
        } else if slots.len() > MANY_IDS {
            self.check_column(Kind::Ids)?;
            slots.for_each(|slot| call(slot, self.ids[slot as usize]));
        } else {
            for slot in slots {
                call(slot, self.id(slot as usize)?);
            }
        }
        Ok(())
    }

    /// The number of an item's label set.
    pub(in crate::index) fn label_set(&self, slot: usize) -> Result<u32> {
        let Some(labels) = &self.labels else { return Ok(0) };
        self.check(Kind::Labels, slot)?;
        Ok(labels[slot])
    }

    pub(in crate::index) fn code(&self, slot: usize, out: &mut [u64]) -> Result<()> {
        self.check(Kind::Codes, slot)?;
        self.layout.get(&self.codes, slot, out);
        Ok(())
    }

    /// The words of all codes, as the layout has them; not checked.
    pub(in crate::index) fn code_words(&self) -> &[u64] {
        &self.codes
    }

    /// Fails if no file of ours could have these columns, whatever their checksums say.
    pub(in crate::index) fn check_meaning(&self, path: &Path, label_sets: usize) -> Result<()> {
        if !self.ids.is_sorted_by(|left, right| left < right) {
            return Err(Error::damaged(path, "its ids are out of order"));
        }
        let bits = self.layout.bits();
        let mut code = vec![0; self.layout.code_words()];
        let beyond = if bits.is_multiple_of(64) { 0 } else { u64::MAX << (bits % 64) };
        for slot in 0..self.len() {
            self.code(slot, &mut code)?;
            if code.last().is_some_and(|last| last & beyond != 0) {
                return Err(Error::damaged(path, "its codes have bits beyond their last"));
            }
            if self.label_set(slot)? as usize >= label_sets {
                return Err(Error::damaged(path, "it has labels that it does not name"));
            }
            if let Some(vectors) = &self.vectors
                && let Beside::Vectors(rows) = vectors.rows
                && !rows.is_finite(vectors.row(slot))
            {
                return Err(Error::damaged(path, "it has vectors that are not finite"));
            }
        }
        Ok(())
    }

    /// The first slot whose id is not below this one.
    pub(in crate::index) fn lower_bound(&self, id: u64) -> Result<usize> {
        let (mut low, mut high) = (0, self.len());
        // Most often ids are counted, and new ones are above all others.
        if high == 0 || self.id(high - 1)? < id {
            return Ok(high);
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.id(middle)? < id { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }
}
