//! The columns of a segment: the data of its items, in memory or in a mapped file.
//!
//! Code that builds, merges, writes, maps or checks columns iterates over [`Kind::ALL`]
//! (`kind.rs`).

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::kind::{Beside, Kind, Shape};
use crate::disk::File;
use crate::kernel::{Column, Layout, Mapped};
use crate::{Error, Result};

/// Number of ids above which a lookup checks the whole column of ids first, instead of the block of
/// each id.
const MANY_IDS: usize = 1 << 12;

/// Immutable columns of items in ascending order of ids. The position of an item is its slot, so a
/// sequence in order of slots is also in order of ids.
pub(in crate::index) struct Columns {
    layout: Layout,
    ids: Column<u64>,
    codes: Column<u64>,
    labels: Option<Column<u32>>,
    vectors: Option<Vectors>,
    /// The first id if ids are consecutive, otherwise `None`.
    counted_from: OnceLock<Option<u64>>,
    checksums: Option<Checksums>,
    /// True if the columns are read once in order of slots, so that pages can be released after
    /// they were read.
    read_once: bool,
}

/// Vectors of all items, or their places.
pub(in crate::index) struct Vectors {
    pub(in crate::index) rows: Beside,
    pub(super) bytes: Column<u8>,
}

impl Vectors {
    fn mapped(rows: Beside, bytes: &Mapped, start: usize, count: usize) -> Option<Self> {
        let bytes = Column::mapped(bytes, start, count.checked_mul(rows.bytes())?)?;
        Some(Vectors { rows, bytes })
    }

    /// Returns the bytes of all rows, unchecked.
    pub(in crate::index) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn row(&self, slot: usize) -> &[u8] {
        let size = self.rows.bytes();
        &self.bytes[slot * size..(slot + 1) * size]
    }
}

/// Checksums of a file's columns. The checksum of a block is compared when an item of the block is
/// first read.
pub(in crate::index) struct Checksums {
    path: PathBuf,
    /// Stored checksums by kind and block.
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

/// Returns whether a checksum is equal to the stored one. Always true when fuzzing, so that random
/// bytes get past the checksums.
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

    /// Returns the columns of a file. `section` returns the start and the length of a column in the
    /// mapped bytes. Returns `None` if the length of a column does not match `count` items, or if a
    /// column exceeds the mapped bytes.
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

    /// Returns the same columns of the same file, for reading once in order of slots: pages are
    /// released after they were read. Returns `None` if the columns are not mapped.
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

    /// Releases the memory of all items before `slot`, the start of a block, if the columns are
    /// read once.
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

    /// Returns the number of items, including removed ones.
    pub(in crate::index) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(in crate::index) fn layout(&self) -> Layout {
        self.layout
    }

    pub(in crate::index) fn is_mapped(&self) -> bool {
        self.ids.mapped_bytes().is_some()
    }

    /// Returns the path of the file of the columns; `None` if they were built in memory.
    pub(in crate::index) fn path(&self) -> Option<&Path> {
        self.checksums.as_ref().map(|checksums| checksums.path.as_path())
    }

    /// Returns the number of each item's label set, after checking the whole column; `None` if no
    /// item has labels.
    pub(in crate::index) fn label_sets(&self) -> Result<Option<&[u32]>> {
        if self.labels.is_some() {
            self.check_column(Kind::Labels)?;
        }
        Ok(self.labels.as_deref())
    }

    /// Returns the shape of the items.
    pub(in crate::index) fn shape(&self) -> Shape {
        let vectors = self.vectors.as_ref().map(|vectors| vectors.rows);
        Shape { layout: self.layout, labelled: self.labels.is_some(), vectors }
    }

    /// Returns the vectors of all items, unchecked; `None` if the columns have none.
    pub(in crate::index) fn vectors(&self) -> Option<&Vectors> {
        self.vectors.as_ref()
    }

    /// Returns the bytes of an item's vector; empty if the columns have no vectors.
    pub(in crate::index) fn vector(&self, slot: usize) -> Result<&[u8]> {
        let Some(vectors) = &self.vectors else { return Ok(&[]) };
        self.check(Kind::Vectors, slot)?;
        Ok(vectors.row(slot))
    }

    /// Returns the bytes of a column as stored in a file.
    fn bytes(&self, kind: Kind) -> &[u8] {
        match kind {
            Kind::Ids => self.ids.bytes(),
            Kind::Codes => self.codes.bytes(),
            Kind::Labels => self.labels.as_ref().map_or(&[], Column::bytes),
            Kind::Vectors => self.vectors.as_ref().map_or(&[], |vectors| vectors.bytes.bytes()),
        }
    }

    /// Returns the bytes of all columns except vectors, which searches by code do not read.
    pub(in crate::index) fn memory(&self) -> usize {
        let all = Kind::ALL.into_iter().filter(|&kind| kind != Kind::Vectors);
        all.map(|kind| self.bytes(kind).len()).sum()
    }

    /// Returns the bytes of a column.
    pub(in crate::index) fn memory_of(&self, kind: Kind) -> usize {
        self.bytes(kind).len()
    }

    /// Returns the number of bytes that are allocated but unused.
    pub(in crate::index) fn spare(&self) -> usize {
        let optional = self.labels.as_ref().map_or(0, Column::spare)
            + self.vectors.as_ref().map_or(0, |vectors| vectors.bytes.spare());
        self.ids.spare() + self.codes.spare() + optional
    }

    /// Fails if the block of a column that contains a slot has the wrong checksum.
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

    /// Fails if any block of a column has the wrong checksum.
    pub(in crate::index) fn check_column(&self, kind: Kind) -> Result<()> {
        (0..self.len()).step_by(kind.block()).try_for_each(|slot| self.check(kind, slot))
    }

    /// Compares the stored checksum of a block with that of its current bytes.
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

    /// Compares all checksums, including those that matched before.
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
        // Consecutive ids are computed, which avoids a cache miss.
        if let Some(Some(first)) = self.counted_from.get() {
            return Ok(first.wrapping_add(slot as u64));
        }
        self.check(Kind::Ids, slot)?;
        if self.counted_from.get().is_none() {
            self.counted_from()?;
        }
        Ok(self.ids[slot])
    }

    /// Returns the first id if ids are consecutive, otherwise `None`.
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

    /// Calls `call` with each slot and its id.
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

    /// Returns the number of an item's label set; 0 for no labels.
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

    /// Returns the words of all codes in the order of the layout, unchecked.
    pub(in crate::index) fn code_words(&self) -> &[u64] {
        &self.codes
    }

    /// Fails if the columns have contents that hashbrook never writes, even if their checksums
    /// match.
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

    /// Returns the first slot whose id is not below `id`.
    pub(in crate::index) fn lower_bound(&self, id: u64) -> Result<usize> {
        let (mut low, mut high) = (0, self.len());
        // Usually ids are consecutive, and new ids are above all others.
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
