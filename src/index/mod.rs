//! [`Index`]: exact search by Hamming distance.

mod balls;
mod best;
mod buckets;
mod by_structure;
mod changes;
mod chosen;
mod file;
mod filter;
mod hits;
mod leaders;
mod queries;
mod search;
mod segment;

mod structure;
mod tiles;

use std::fmt;
use std::path::Path;

pub(crate) use self::file::MAGIC;
use self::file::{Access, Durable, Locking};
pub use self::filter::Filter;
pub use self::hits::{Hit, Hits};
pub use self::queries::Filtered;
use self::segment::Segment;
use crate::codes::check_bits;
use crate::kernel::Layout;
use crate::similarity::LabelSets;
use crate::{Codes, Error, Features, HashFunction, Kernel, LabelNames, Result};

/// Items found by how near their codes are to a query's: exact, complete, and in a fixed order.
///
/// An item is an id of your own, a code, and labels if you like. Results are in order of distance,
/// and of ids where distances are equal; two searches never differ in what they find, whatever was
/// added, replaced, removed or compacted in between, and on however many threads.
///
/// ```
/// use hashbrook::{Codes, Filter, Index, Labels};
///
/// let mut index = Index::of_codes(8)?;
/// let codes = Codes::from_bytes(8, &[0b0000, 0b0001, 0b0111])?;
/// index.add_codes(&[10, 20, 30], &codes, Some(Labels::single(&[1, 2, 2])))?;
///
/// let query = Codes::from_bytes(8, &[0b0011])?;
/// let found = index.search_codes(&query, 2)?;
/// let ids: Vec<(u64, u32)> = found.row(0).iter().map(|hit| (hit.id, hit.distance)).collect();
/// assert_eq!(ids, [(20, 1), (30, 1)]);
///
/// let twos = Filter::all().labels(&[2]);
/// assert_eq!(index.filtered(&twos).within_codes(&query, 1)?.row(0).len(), 2);
/// index.remove(&[20])?;
/// assert_eq!(index.search_codes(&query, 1)?.row(0)[0].id, 30);
/// # Ok::<(), hashbrook::Error>(())
/// ```
///
/// # In memory, or in a file
///
/// [`new`](Index::new) and [`of_codes`](Index::of_codes) make an index in memory, which
/// [`save`](Index::save) writes to a file. [`open`](Index::open) maps such a file, without reading
/// it whole, to search in it; any number of processes can. [`edit`](Index::edit) opens it to change
/// it, which one process can at a time: a change is in the file when the call returns, and whoever
/// opens the file sees it wholly or not at all, however the writer ended. Readers keep seeing what
/// was there when they opened it. [`load`](Index::load) copies a file into memory.
pub struct Index {
    layout: Layout,
    function: Option<HashFunction>,
    /// Number 0 is the set without labels.
    sets: LabelSets,
    names: LabelNames,
    /// The first may be mapped from a file. An item that is there is in one of them.
    segments: Vec<Segment>,
    kernel: Kernel,
    structures: bool,
    durable: Durable,
}

/// Its size, and not its items.
impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index")
            .field("items", &self.len())
            .field("bits", &self.bits())
            .field("dim", &self.function.as_ref().map(HashFunction::dim))
            .field("labels", &self.names.len())
            .finish_non_exhaustive()
    }
}

/// An item as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Item {
    /// The code, 64 bits to a word.
    pub code: Vec<u64>,
    /// Its labels, ascending.
    pub labels: Vec<u32>,
}

/// What an index holds, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Statistics {
    /// Items that are there.
    pub items: usize,
    /// Items that were removed or replaced, and take up room until [`Index::compact`].
    pub removed: usize,
    /// Parts that a search goes through.
    pub segments: usize,
    /// Bytes of ids, codes and labels, in memory or mapped.
    pub item_bytes: usize,
    /// Bytes on top of that: what marks removed items, what filters let through, structures that
    /// make searches faster, spare room.
    pub extra_bytes: usize,
    /// Bytes of changes in the file that are not yet compacted.
    pub log_bytes: u64,
}

impl Index {
    /// An index in memory for vectors, which are encoded by this function. Its labels are called what
    /// the function's are, until [told otherwise](Index::set_label_names).
    pub fn new(function: HashFunction) -> Self {
        let (layout, names) = (Layout::new(function.bits()), function.label_names().clone());
        Index { names, ..Index::empty(layout, Some(function)) }
    }

    /// An index in memory for codes of a length, from 1 to [`MAX_BITS`](crate::MAX_BITS).
    ///
    /// # Errors
    /// When `bits` is not in that range.
    pub fn of_codes(bits: usize) -> Result<Self> {
        check_bits(bits)?;
        Ok(Index::empty(Layout::new(bits), None))
    }

    fn empty(layout: Layout, function: Option<HashFunction>) -> Self {
        let mut sets = LabelSets::default();
        sets.number(&[]);
        Index {
            layout,
            function,
            sets,
            names: LabelNames::default(),
            segments: Vec::new(),
            kernel: Kernel::available()[0],
            structures: true,
            durable: Durable::No,
        }
    }

    /// Opens a file to search in it. What is read of it is checked when it is first looked at.
    ///
    /// The file is mapped: its bytes are read where they are when a search first needs them, shared
    /// with all processes that have it open, and stay in memory for as long as there is room. This
    /// needs files that are replaced and never changed in place, as this library does it. Of other
    /// programs, `mv` does no harm; but `cp other.index this.index` writes over the bytes that are
    /// mapped. A search that finds its file cut short or written over fails with
    /// [`Error::NotAsOpened`]. If that happens in the midst of a search, or the disk fails, the
    /// operating system ends the process by a bus error (`SIGBUS`). Bytes that are changed in the
    /// midst of the file, after they were first looked at, are seen by [`verify`](Index::verify)
    /// alone. Where any of this cannot be ruled out, [`load`](Index::load) the file.
    ///
    /// # Errors
    /// When the file cannot be read, is not an index, is cut short or damaged, or was written by a
    /// newer version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        file::open(path.as_ref(), Access::Map)
    }

    /// Reads a whole file into memory, where nobody can change it. The index knows nothing of the
    /// file any more: changes are in memory alone until it is [saved](Index::save).
    ///
    /// # Errors
    /// As for [`open`](Index::open).
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        file::open(path.as_ref(), Access::Load)
    }

    /// Opens a file to change it, for this process alone. It is mapped, as by
    /// [`open`](Index::open).
    ///
    /// # Errors
    /// As for [`open`](Index::open), when another process writes it, and where the file system cannot
    /// keep other processes from writing it ([`Error::CannotLock`]).
    pub fn edit(path: impl AsRef<Path>) -> Result<Self> {
        file::open(path.as_ref(), Access::Edit(Locking::Required))
    }

    /// Like [`edit`](Index::edit), also where the file system cannot lock files. There, two writers
    /// at once lose each other's changes: that no other process writes is for you to see to.
    ///
    /// # Errors
    /// As for [`open`](Index::open), and when another process is seen to write it.
    pub fn edit_unlocked(path: impl AsRef<Path>) -> Result<Self> {
        file::open(path.as_ref(), Access::Edit(Locking::WherePossible))
    }

    /// Writes the index to a file, whole or not at all, replacing what stood there.
    ///
    /// # Errors
    /// When the file cannot be written, another process is writing it, or that cannot be ruled out
    /// ([`Error::CannotLock`]).
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let merged = self.merged()?;
        file::write(self, &merged, path.as_ref(), Locking::Required)
    }

    /// Like [`save`](Index::save), also where the file system cannot lock files: that no other
    /// process writes the file is for you to see to.
    ///
    /// # Errors
    /// When the file cannot be written, or another process is seen to write it.
    pub fn save_unlocked(&self, path: impl AsRef<Path>) -> Result<()> {
        let merged = self.merged()?;
        file::write(self, &merged, path.as_ref(), Locking::WherePossible)
    }

    /// The length of its codes.
    pub fn bits(&self) -> usize {
        self.layout.bits()
    }

    /// The function that makes its codes, if it has one.
    pub fn function(&self) -> Option<&HashFunction> {
        self.function.as_ref()
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.segments.iter().map(Segment::len).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the labels are called.
    pub fn label_names(&self) -> &LabelNames {
        &self.names
    }

    /// Says what the labels are called.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn set_label_names(&mut self, names: LabelNames) -> Result<()> {
        if names != self.names {
            self.durable.name(&names)?;
            self.names = names;
        }
        Ok(())
    }

    /// Takes other instructions for searches; see [`Kernel`].
    pub fn set_kernel(&mut self, kernel: Kernel) {
        self.kernel = kernel;
    }

    /// Whether searches may build a structure in memory that makes further ones faster: the codes
    /// once more, in an order that lets a query pass most of them over, and 4 bytes an item (8 while
    /// it is built). They do unless told otherwise, once so many have come (about a thousand
    /// queries) that they have taken longer than building it. What they find is the same. If it is
    /// no longer allowed, what there is of it is dropped.
    ///
    /// Codes of supervised hashing lie in balls, one for each class: a query looks into its own and
    /// few others, whatever it asks for. For scattered codes it helps within a small radius.
    pub fn allow_structures(&mut self, allow: bool) {
        self.structures = allow;
        for segment in self.segments.iter_mut().filter(|_| !allow) {
            segment.structure = Default::default();
        }
    }

    /// Builds now what makes searches faster (see [`allow_structures`](Index::allow_structures)),
    /// where the codes lie in balls, so that no query has to wait for it. It is lost when items are
    /// put together anew, as in [`compact`](Index::compact), [`renew`](Index::renew) and where many
    /// are added.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn prepare(&self) -> Result<()> {
        self.durable.reading(|| {
            for segment in self.segments.iter().filter(|_| self.structures) {
                segment.structure.build(segment, self.kernel, true)?;
            }
            Ok(())
        })
    }

    /// What it holds, in numbers.
    pub fn statistics(&self) -> Statistics {
        let memory: Vec<(usize, usize)> = self.segments.iter().map(Segment::memory).collect();
        Statistics {
            items: self.len(),
            removed: self.segments.iter().map(|segment| segment.slots() - segment.len()).sum(),
            segments: self.segments.len(),
            item_bytes: memory.iter().map(|(items, _)| items).sum(),
            extra_bytes: memory.iter().map(|(_, extra)| extra).sum(),
            log_bytes: self.durable.log_bytes(),
        }
    }

    /// Whether an item is there.
    ///
    /// # Errors
    /// When the file it is in is damaged.
    pub fn contains(&self, id: u64) -> Result<bool> {
        self.durable.reading(|| Ok(self.find(id)?.is_some()))
    }

    /// Those of the ids that are there, in the order they are given. For many ids this is much faster
    /// than [`contains`](Index::contains), which looks at the file each time.
    ///
    /// # Errors
    /// When the file they are in is damaged.
    pub fn present(&self, ids: &[u64]) -> Result<Vec<u64>> {
        self.durable.reading(|| {
            let mut present = Vec::new();
            for &id in ids {
                if self.find(id)?.is_some() {
                    present.push(id);
                }
            }
            Ok(present)
        })
    }

    /// An item, if it is there.
    ///
    /// # Errors
    /// When the file it is in is damaged.
    pub fn get(&self, id: u64) -> Result<Option<Item>> {
        self.durable.reading(|| {
            let Some((segment, slot)) = self.find(id)? else { return Ok(None) };
            let mut code = vec![0; self.layout.code_words()];
            let segment = &self.segments[segment];
            segment.code(slot, &mut code)?;
            let labels = self.labels_of_set(segment.label_set(slot)?).to_vec();
            Ok(Some(Item { code, labels }))
        })
    }

    /// The labels of items, each ascending; none of those that are not there.
    ///
    /// # Errors
    /// When the file they are in is damaged.
    pub fn labels_of(&self, ids: &[u64]) -> Result<Vec<&[u32]>> {
        let labels = |&id: &u64| {
            let Some((segment, slot)) = self.find(id)? else { return Ok(&[][..]) };
            Ok(self.labels_of_set(self.segments[segment].label_set(slot)?))
        };
        self.durable.reading(|| ids.iter().map(labels).collect())
    }

    fn labels_of_set(&self, set: u32) -> &[u32] {
        // A set that is not there is one of a file that was tampered with; see `verify`.
        let set = set as usize;
        if set < self.sets.len() { self.sets.labels(set) } else { &[] }
    }

    /// Checks everything that an opened file holds, and not only what is looked at.
    ///
    /// # Errors
    /// When something is damaged.
    pub fn verify(&self) -> Result<()> {
        self.durable
            .reading(|| self.segments.iter().try_for_each(|segment| self.verify_segment(segment)))
    }

    fn verify_segment(&self, segment: &Segment) -> Result<()> {
        // What is in memory alone was put together here.
        let Some(path) = segment.path() else { return Ok(()) };
        segment.check_all()?;
        if !segment.ids_ascend() {
            return Err(Error::malformed(path, "its ids are out of order"));
        }
        if !segment.codes_fit()? {
            return Err(Error::malformed(path, "its codes have bits beyond their last"));
        }
        for slot in 0..segment.slots() {
            if segment.label_set(slot)? as usize >= self.sets.len() {
                return Err(Error::malformed(path, "it has labels that it does not name"));
            }
        }
        Ok(())
    }

    /// One more than the largest label that any item ever had; 0 if none had any.
    pub fn label_bound(&self) -> u32 {
        let sets = (0..self.sets.len()).flat_map(|set| self.sets.labels(set));
        sets.max().map_or(0, |label| label.saturating_add(1))
    }

    /// All ids, ascending.
    ///
    /// # Errors
    /// When the file they are in is damaged.
    pub fn ids(&self) -> Result<Vec<u64>> {
        let mut ids = Vec::with_capacity(self.len());
        self.durable.reading(|| {
            for segment in &self.segments {
                for slot in segment.live_slots() {
                    ids.push(segment.id(slot)?);
                }
            }
            Ok(())
        })?;
        ids.sort_unstable();
        Ok(ids)
    }

    /// The largest id, if there is any.
    ///
    /// # Errors
    /// When the file it is in is damaged.
    pub fn last_id(&self) -> Result<Option<u64>> {
        let mut last = None;
        self.durable.reading(|| {
            for segment in &self.segments {
                if let Some(slot) = (0..segment.slots()).rev().find(|&slot| segment.is_live(slot)) {
                    last = last.max(Some(segment.id(slot)?));
                }
            }
            Ok(last)
        })
    }

    /// The segment and slot of an item.
    fn find(&self, id: u64) -> Result<Option<(usize, usize)>> {
        for (number, segment) in self.segments.iter().enumerate() {
            if let Some(slot) = segment.find(id)? {
                return Ok(Some((number, slot)));
            }
        }
        Ok(None)
    }

    /// The codes of vectors under the index's function.
    ///
    /// # Errors
    /// When it has none, or the vectors have another dimension.
    pub fn encode(&self, features: Features<'_>) -> Result<Codes> {
        self.function.as_ref().ok_or(Error::NoFunction)?.encode(features)
    }
}
