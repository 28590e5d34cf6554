//! The columns of a segment: what each item has, in memory or in a mapped file.
//!
//! This file is the one description of them. What builds, merges, writes, maps and checks
//! columns goes over [`Kind::ALL`]; a new kind of column is a variant, its size and name, a field
//! of [`Columns`] and [`Builder`], and a field of [`Item`] and [`NewItems`].

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::kernel::{Column, Layout, Lines, Mapped};
use crate::{Codes, Error, Labels, Result};

/// Items whose checksum is taken together.
pub(in crate::index) const BLOCK: usize = 1 << 16;

/// The kinds of columns, in the order in which files have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::index) enum Kind {
    Ids,
    Codes,
    /// The number of each item's label set. A segment without it has no labels.
    Labels,
}

impl Kind {
    pub(in crate::index) const ALL: [Kind; 3] = [Kind::Ids, Kind::Codes, Kind::Labels];

    /// What it is called in messages.
    fn name(self) -> &'static str {
        match self {
            Kind::Ids => "ids",
            Kind::Codes => "codes",
            Kind::Labels => "labels",
        }
    }

    /// The bytes of so many items.
    pub(in crate::index) fn size(self, layout: Layout, items: usize) -> usize {
        match self {
            Kind::Ids => 8 * items,
            Kind::Codes => 8 * layout.words(items),
            Kind::Labels => 4 * items,
        }
    }

    /// The kinds of columns that a segment has.
    pub(in crate::index) fn of(labelled: bool) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(move |&kind| kind != Kind::Labels || labelled)
    }
}

/// One item, as the columns have it.
#[derive(Clone, Copy)]
pub(in crate::index) struct Item<'a> {
    pub(in crate::index) id: u64,
    pub(in crate::index) code: &'a [u64],
    pub(in crate::index) label_set: u32,
}

/// Items to be put in.
#[derive(Clone, Copy)]
pub(in crate::index) struct NewItems<'a> {
    pub(in crate::index) ids: &'a [u64],
    pub(in crate::index) codes: &'a Codes,
    pub(in crate::index) labels: Option<Labels<'a>>,
}

impl NewItems<'_> {
    /// Their order by id, each of which must be given once.
    pub(in crate::index) fn order(&self) -> Result<Vec<usize>> {
        let (ids, items) = (self.ids, self.codes.len());
        if ids.len() != items {
            return Err(Error::IdCount { ids: ids.len(), items });
        }
        let mut order: Vec<usize> = (0..ids.len()).collect();
        if !ids.is_sorted_by(|left, right| left < right) {
            order.sort_unstable_by_key(|&at| ids[at]);
            let twice = order.windows(2).find(|pair| ids[pair[0]] == ids[pair[1]]);
            if let Some(pair) = twice {
                return Err(Error::IdTwice(ids[pair[0]]));
            }
        }
        Ok(order)
    }

    /// Fails if they do not fit each other, or codes of this layout.
    pub(in crate::index) fn check(&self, layout: Layout) -> Result<()> {
        self.codes.expect_bits(layout.bits())?;
        let rows = self.codes.len();
        match self.labels {
            Some(labels) if labels.len() != rows => {
                Err(Error::LabelCount { rows, labels: labels.len() })
            }
            _ => Ok(()),
        }
    }

    /// One of them, whose labels are set number `label_set`.
    pub(in crate::index) fn item(&self, at: usize, label_set: u32) -> Item<'_> {
        Item { id: self.ids[at], code: self.codes.code(at), label_set }
    }
}

/// Items by ascending id, which never change. Where an item stands is its slot; slots are in the
/// order of ids, so whatever comes in order of slots is in order of ids.
pub(in crate::index) struct Columns {
    layout: Layout,
    ids: Column<u64>,
    codes: Column<u64>,
    labels: Option<Column<u32>>,
    /// The first id, if all others follow it without a gap.
    counted_from: OnceLock<Option<u64>>,
    checksums: Option<Checksums>,
    /// Whether it is read once, in order of slots, and what was read can leave the memory.
    read_once: bool,
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

/// Items being put together, in ascending order of ids.
pub(in crate::index) struct Builder {
    layout: Layout,
    ids: Vec<u64>,
    codes: Lines,
    labels: Vec<u32>,
    labelled: bool,
}

impl Builder {
    pub(in crate::index) fn new(layout: Layout, room: usize) -> Self {
        Builder {
            layout,
            ids: Vec::with_capacity(room),
            codes: Lines::with_capacity(layout.words(room)),
            labels: Vec::new(),
            labelled: false,
        }
    }

    pub(in crate::index) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(in crate::index) fn push(&mut self, item: Item<'_>) {
        let at = self.ids.len();
        self.ids.push(item.id);
        self.codes.resize(self.layout.words(at + 1));
        self.layout.put(&mut self.codes, at, item.code);
        if item.label_set != 0 && !self.labelled {
            self.labelled = true;
            self.labels.resize(at, 0);
        }
        if self.labelled {
            self.labels.push(item.label_set);
        }
    }

    /// The bytes of a column, as they stand in a file.
    pub(in crate::index) fn bytes(&mut self, kind: Kind) -> &[u8] {
        match kind {
            Kind::Ids => crate::kernel::bytes_of(&self.ids),
            Kind::Codes => crate::kernel::bytes_of::<u64>(&self.codes),
            Kind::Labels => {
                self.labels.resize(self.ids.len(), 0);
                crate::kernel::bytes_of(&self.labels)
            }
        }
    }

    /// Begins anew, with the memory it has.
    pub(in crate::index) fn clear(&mut self) {
        self.ids.clear();
        self.codes.clear();
        self.labels.clear();
        self.labelled = false;
    }

    pub(in crate::index) fn finish(self) -> Columns {
        let labels = self.labelled.then_some(Column::Owned(self.labels));
        let (ids, codes) = (Column::Owned(self.ids), Column::Lines(self.codes));
        Columns::new(self.layout, ids, codes, labels, None)
    }
}

impl Columns {
    fn new(
        layout: Layout,
        ids: Column<u64>,
        codes: Column<u64>,
        labels: Option<Column<u32>>,
        checksums: Option<Checksums>,
    ) -> Self {
        let counted_from = OnceLock::new();
        Columns { layout, ids, codes, labels, counted_from, checksums, read_once: false }
    }

    /// The columns of a file, with where each begins in the mapped bytes and how long it is; `None` if
    /// one is not as long as `count` items need, or not within what is mapped.
    pub(in crate::index) fn mapped(
        layout: Layout,
        count: usize,
        bytes: &Mapped,
        section: impl Fn(Kind) -> Option<(usize, usize)>,
        labelled: bool,
        checksums: Checksums,
    ) -> Option<Self> {
        let place = |kind: Kind| {
            section(kind).filter(|&(_, len)| len == kind.size(layout, count)).map(|place| place.0)
        };
        let ids = Column::mapped(bytes, place(Kind::Ids)?, count)?;
        let codes = Column::mapped(bytes, place(Kind::Codes)?, layout.words(count))?;
        let labels = match labelled {
            true => Some(Column::mapped(bytes, place(Kind::Labels)?, count)?),
            false => None,
        };
        Some(Columns::new(layout, ids, codes, labels, Some(checksums)))
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
        let checksums = Checksums::new(checksums.path.clone(), checksums.sums.clone());
        Ok(ids.zip(codes).map(|(ids, codes)| Columns {
            read_once: true,
            ..Columns::new(self.layout, ids, codes, labels, Some(checksums))
        }))
    }

    /// Takes note that all items before a slot, where a block begins, have been read.
    pub(in crate::index) fn have_read(&self, slot: usize) {
        if self.read_once {
            self.ids.release(slot);
            self.codes.release(self.layout.words(slot));
            self.labels.iter().for_each(|labels| labels.release(slot));
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

    pub(in crate::index) fn is_labelled(&self) -> bool {
        self.labels.is_some()
    }

    /// The bytes of a column, as they stand in a file.
    fn bytes(&self, kind: Kind) -> &[u8] {
        match kind {
            Kind::Ids => self.ids.bytes(),
            Kind::Codes => self.codes.bytes(),
            Kind::Labels => self.labels.as_ref().map_or(&[], Column::bytes),
        }
    }

    /// The bytes that all columns take.
    pub(in crate::index) fn memory(&self) -> usize {
        Kind::ALL.into_iter().map(|kind| self.bytes(kind).len()).sum()
    }

    /// Bytes that were allocated and are not used.
    pub(in crate::index) fn spare(&self) -> usize {
        self.ids.spare() + self.codes.spare() + self.labels.as_ref().map_or(0, Column::spare)
    }

    /// Fails if what a column says of an item cannot be trusted.
    pub(in crate::index) fn check(&self, kind: Kind, slot: usize) -> Result<()> {
        let Some(checksums) = &self.checksums else { return Ok(()) };
        let compared = &checksums.compared[kind as usize][slot / BLOCK];
        if !compared.load(Ordering::Relaxed) {
            self.compare(checksums, kind, slot / BLOCK)?;
            compared.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Fails if any item of a column cannot be trusted.
    pub(in crate::index) fn check_column(&self, kind: Kind) -> Result<()> {
        (0..self.len()).step_by(BLOCK).try_for_each(|slot| self.check(kind, slot))
    }

    /// Compares the checksum of a block with what is there now.
    fn compare(&self, checksums: &Checksums, kind: Kind, block: usize) -> Result<()> {
        let (bytes, size) = (self.bytes(kind), kind.size(self.layout, BLOCK));
        let start = (block * size).min(bytes.len());
        let found = crc32fast::hash(&bytes[start..bytes.len().min(start + size)]);
        let stored = checksums.sums[kind as usize][block];
        if checksum_matches(stored, found) {
            return Ok(());
        }
        let (first, last) = (block * BLOCK, ((block + 1) * BLOCK).min(self.len()) - 1);
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
        for block in 0..self.len().div_ceil(BLOCK) {
            for kind in Kind::of(self.is_labelled()) {
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
            self.check(Kind::Ids, 0)?;
            self.check(Kind::Ids, self.len() - 1)?;
            let (first, last) = (self.ids[0], self.ids[self.len() - 1]);
            let counted = last.wrapping_sub(first) == self.len() as u64 - 1;
            self.counted_from.get_or_init(|| counted.then_some(first));
        }
        Ok(self.ids[slot])
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
        }
        Ok(())
    }

    /// The first slot whose id is not below this one.
    pub(in crate::index) fn lower_bound(&self, id: u64) -> Result<usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.id(middle)? < id { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }
}
