//! [`Index`]: exact search by Hamming distance.

mod best;
mod buckets;
mod file;
mod filter;
mod hits;
mod search;
mod segment;

use std::path::Path;

use self::buckets::Buckets;
use self::file::Durable;
pub use self::filter::Filter;
pub use self::hits::{Hit, Hits};
use self::search::{Search, Want};
use self::segment::{Builder, Segment};
use crate::codes::check_bits;
use crate::kernel::Layout;
use crate::similarity::LabelSets;
use crate::{Codes, Error, Features, HashFunction, Kernel, LabelNames, Labels, Result};

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
/// was there when they opened it.
pub struct Index {
    layout: Layout,
    function: Option<HashFunction>,
    /// Number 0 is the set without labels.
    sets: LabelSets,
    names: LabelNames,
    /// The first may be mapped from a file. An item that is there is in one of them.
    segments: Vec<Segment>,
    kernel: Kernel,
    buckets: bool,
    durable: Durable,
}

/// An item as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The code, 64 bits to a word.
    pub code: Vec<u64>,
    /// Its labels, ascending.
    pub labels: Vec<u32>,
}

/// What an index holds, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Statistics {
    /// Items that are there.
    pub items: usize,
    /// Items that were removed or replaced, and take up room until [`Index::compact`].
    pub removed: usize,
    /// Parts that a search goes through.
    pub segments: usize,
    /// Bytes of ids, codes and labels, in memory or mapped.
    pub item_bytes: usize,
    /// Bytes on top of that: what marks removed items, structures for filters and radii, spare
    /// room.
    pub extra_bytes: usize,
    /// Bytes of changes in the file that are not yet compacted.
    pub log_bytes: u64,
}

impl Index {
    /// An index in memory for vectors, which are encoded by this function.
    pub fn new(function: HashFunction) -> Self {
        let layout = Layout::new(function.bits());
        Index::empty(layout, Some(function))
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
            buckets: true,
            durable: Durable::No,
        }
    }

    /// Opens a file to search in it. What is read of it is checked when it is first looked at.
    ///
    /// # Errors
    /// When the file cannot be read, is not an index, is cut short or damaged, or was written by a
    /// newer version.
    pub fn open(path: &Path) -> Result<Self> {
        file::open(path, false)
    }

    /// Opens a file to change it, for this process alone.
    ///
    /// # Errors
    /// As for [`open`](Index::open), and when another process writes it.
    pub fn edit(path: &Path) -> Result<Self> {
        file::open(path, true)
    }

    /// Writes the index to a file, whole or not at all, replacing what stood there.
    ///
    /// # Errors
    /// When the file cannot be written, or another process is writing it.
    pub fn save(&self, path: &Path) -> Result<()> {
        let merged = self.merged()?;
        file::write(self, &merged, path)
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

    /// Whether searches within a radius may build a structure in memory that makes them faster, of
    /// about the size of the codes and half the ids. They do unless told otherwise, once enough of
    /// them have come that it pays.
    pub fn allow_buckets(&mut self, allow: bool) {
        self.buckets = allow;
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
        Ok(self.find(id)?.is_some())
    }

    /// An item, if it is there.
    ///
    /// # Errors
    /// When the file it is in is damaged.
    pub fn get(&self, id: u64) -> Result<Option<Item>> {
        let Some((segment, slot)) = self.find(id)? else { return Ok(None) };
        let mut code = vec![0; self.layout.code_words()];
        let segment = &self.segments[segment];
        segment.code(slot, &mut code)?;
        let set = segment.label_set(slot)? as usize;
        // A set that is not there is one of a file that was tampered with; see `verify`.
        let labels = if set < self.sets.len() { self.sets.labels(set) } else { &[] };
        Ok(Some(Item { code, labels: labels.to_vec() }))
    }

    /// Checks everything that an opened file holds, and not only what is looked at.
    ///
    /// # Errors
    /// When something is damaged.
    pub fn verify(&self) -> Result<()> {
        let path = match &self.durable {
            Durable::No => return Ok(()),
            Durable::ReadOnly { path, .. } => path,
            Durable::Log(log) => log.path(),
        };
        for segment in &self.segments {
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
        for segment in &self.segments {
            for slot in segment.live_slots() {
                ids.push(segment.id(slot)?);
            }
        }
        ids.sort_unstable();
        Ok(ids)
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

/// Changes.
impl Index {
    /// Adds items with new ids: all of them, or none.
    ///
    /// # Errors
    /// When an id is there already or given twice, there are not as many ids or labels as vectors,
    /// these have another dimension, or the file cannot be written.
    pub fn add(
        &mut self,
        ids: &[u64],
        features: Features<'_>,
        labels: Option<Labels<'_>>,
    ) -> Result<()> {
        self.add_codes(ids, &self.encode(features)?, labels)
    }

    /// Like [`add`](Index::add), of items that are encoded already.
    ///
    /// # Errors
    /// As for [`add`](Index::add).
    pub fn add_codes(
        &mut self,
        ids: &[u64],
        codes: &Codes,
        labels: Option<Labels<'_>>,
    ) -> Result<()> {
        let order = self.check(ids, codes, labels)?;
        for &id in ids {
            if self.contains(id)? {
                return Err(Error::IdTaken(id));
            }
        }
        self.durable.put(ids, codes, labels)?;
        self.put(ids, codes, labels, &order)
    }

    /// Adds items, in the place of those with the same ids: all of them, or none.
    ///
    /// # Errors
    /// As for [`add`](Index::add), but ids may be there.
    pub fn upsert(
        &mut self,
        ids: &[u64],
        features: Features<'_>,
        labels: Option<Labels<'_>>,
    ) -> Result<()> {
        self.upsert_codes(ids, &self.encode(features)?, labels)
    }

    /// Like [`upsert`](Index::upsert), of items that are encoded already.
    ///
    /// # Errors
    /// As for [`upsert`](Index::upsert).
    pub fn upsert_codes(
        &mut self,
        ids: &[u64],
        codes: &Codes,
        labels: Option<Labels<'_>>,
    ) -> Result<()> {
        let order = self.check(ids, codes, labels)?;
        // Whatever is damaged shows before anything is changed.
        ids.iter().try_for_each(|&id| self.find(id).map(drop))?;
        self.durable.put(ids, codes, labels)?;
        self.take_out(ids)?;
        self.put(ids, codes, labels, &order)
    }

    /// Removes items; how many were there.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn remove(&mut self, ids: &[u64]) -> Result<usize> {
        let mut there = Vec::new();
        for &id in ids {
            if self.contains(id)? {
                there.push(id);
            }
        }
        self.durable.remove(&there)?;
        self.take_out(&there)
    }

    /// Makes one part of all, without what was removed. The file is written anew and takes the
    /// place of the old one at once.
    ///
    /// # Errors
    /// When the file cannot be written; it is then as it was.
    pub fn compact(&mut self) -> Result<()> {
        let merged = self.merged()?;
        self.replace(merged)
    }

    /// Encodes all items anew, under a newer function: `ids` and `features` are those of all items
    /// that are there, in any order. Searches see the old codes or the new ones, never both.
    ///
    /// # Errors
    /// When the ids are not those of the index, or the file cannot be written; everything is then as
    /// it was.
    pub fn renew(
        &mut self,
        function: HashFunction,
        ids: &[u64],
        features: Features<'_>,
    ) -> Result<()> {
        let codes = function.encode(features)?;
        let layout = Layout::new(function.bits());
        let order = check_ids(ids, codes.len())?;
        if ids.len() != self.len() {
            let problem = format!("{} ids for {} items", ids.len(), self.len());
            return Err(Error::NotRenewed { problem });
        }
        let mut builder = Builder::new(layout, ids.len());
        for &at in &order {
            let Some((segment, slot)) = self.find(ids[at])? else {
                let problem = format!("there is no item {}", ids[at]);
                return Err(Error::NotRenewed { problem });
            };
            let label_set = self.segments[segment].label_set(slot)?;
            builder.push(ids[at], codes.code(at), label_set);
        }
        let (old_layout, old_function) = (self.layout, self.function.replace(function));
        self.layout = layout;
        let replaced = self.replace(builder.finish());
        if replaced.is_err() {
            (self.layout, self.function) = (old_layout, old_function);
        }
        replaced
    }

    /// Puts one segment in the place of all.
    fn replace(&mut self, segment: Segment) -> Result<()> {
        self.segments = match &self.durable {
            Durable::No => vec![segment],
            Durable::ReadOnly { path, .. } => return Err(Error::ReadOnly(path.clone())),
            Durable::Log(log) => {
                let (log, mapped) = log.rewrite(self, &segment)?;
                self.durable = Durable::Log(log);
                vec![mapped]
            }
        };
        Ok(())
    }

    /// All items in one segment.
    fn merged(&self) -> Result<Segment> {
        let mut merged = Builder::new(self.layout, 0).finish();
        // The small ones first, so that few items are moved often.
        for segment in self.segments.iter().rev() {
            merged = Segment::merged(&merged, segment)?;
        }
        Ok(merged)
    }

    /// Fails if items cannot be put in; else their order by id.
    fn check(&self, ids: &[u64], codes: &Codes, labels: Option<Labels<'_>>) -> Result<Vec<usize>> {
        codes.expect_bits(self.bits())?;
        if let Some(labels) = labels.filter(|labels| labels.len() != codes.len()) {
            return Err(Error::LabelCount { rows: codes.len(), labels: labels.len() });
        }
        let slots: usize = self.segments.iter().map(Segment::slots).sum();
        if slots + ids.len() > u32::MAX as usize {
            return Err(Error::TooManyItems(slots + ids.len()));
        }
        check_ids(ids, codes.len())
    }

    fn put(
        &mut self,
        ids: &[u64],
        codes: &Codes,
        labels: Option<Labels<'_>>,
        order: &[usize],
    ) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut builder = Builder::new(self.layout, ids.len());
        for &at in order {
            let label_set = labels.map_or(0, |labels| self.sets.number(labels.row(at)));
            builder.push(ids[at], codes.code(at), label_set as u32);
        }
        self.segments.push(builder.finish());
        // Segments halve in size from each to the next, so there are few of them, and an item is
        // not moved often. What is mapped stays where it is.
        while let [.., before, last] = &self.segments[..]
            && !before.is_mapped()
            && before.len() <= 2 * last.len()
        {
            let merged = Segment::merged(before, last)?;
            self.segments.truncate(self.segments.len() - 2);
            self.segments.push(merged);
        }
        Ok(())
    }

    fn take_out(&mut self, ids: &[u64]) -> Result<usize> {
        let mut removed = 0;
        for &id in ids {
            if let Some((segment, slot)) = self.find(id)? {
                self.segments[segment].remove(slot);
                removed += 1;
            }
        }
        self.segments.retain(|segment| segment.is_mapped() || segment.len() > 0);
        Ok(removed)
    }
}

/// The order of ids, each of which must be given once.
fn check_ids(ids: &[u64], items: usize) -> Result<Vec<usize>> {
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

/// Searches.
impl Index {
    /// The `k` nearest items to each vector; all of them if there are fewer.
    ///
    /// # Errors
    /// When `k` is 0, the vectors have another dimension, or the file is damaged.
    pub fn search(&self, features: Features<'_>, k: usize) -> Result<Hits> {
        self.filtered(&Filter::all()).search(features, k)
    }

    /// Like [`search`](Index::search), for codes.
    ///
    /// # Errors
    /// As for [`search`](Index::search).
    pub fn search_codes(&self, codes: &Codes, k: usize) -> Result<Hits> {
        self.filtered(&Filter::all()).search_codes(codes, k)
    }

    /// All items up to a distance from each vector, which is included.
    ///
    /// # Errors
    /// When the vectors have another dimension, or the file is damaged.
    pub fn within(&self, features: Features<'_>, radius: u32) -> Result<Hits> {
        self.filtered(&Filter::all()).within(features, radius)
    }

    /// Like [`within`](Index::within), for codes.
    ///
    /// # Errors
    /// As for [`within`](Index::within).
    pub fn within_codes(&self, codes: &Codes, radius: u32) -> Result<Hits> {
        self.filtered(&Filter::all()).within_codes(codes, radius)
    }

    /// The index as if only the items were there that the filter lets through.
    pub fn filtered<'a>(&'a self, filter: &'a Filter) -> Filtered<'a> {
        Filtered { index: self, filter }
    }

    /// Groups of near-duplicates, each of ascending ids: items are in one group if a chain of items
    /// leads from one to the other, each within the radius of the next. Items that are near no other
    /// are left out.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn duplicates(&self, radius: u32) -> Result<Vec<Vec<u64>>> {
        let merged = self.merged()?;
        let radius = radius.min(self.bits() as u32);
        let codes = merged.all_codes()?;
        let groups = match buckets::pieces::join(&codes, self.bits(), radius) {
            Some(groups) => groups,
            None => {
                let buckets = Buckets::build(self.kernel, self.layout, codes);
                buckets::groups::join(&buckets, self.kernel, radius)
            }
        };
        let ids = |group: Vec<u32>| {
            group.into_iter().map(|slot| merged.id(slot as usize)).collect::<Result<Vec<u64>>>()
        };
        groups.into_iter().map(ids).collect()
    }
}

/// An index of which a search sees a part; see [`Index::filtered`].
#[derive(Clone, Copy)]
pub struct Filtered<'a> {
    index: &'a Index,
    filter: &'a Filter,
}

impl Filtered<'_> {
    /// As [`Index::search`].
    ///
    /// # Errors
    /// As for [`Index::search`].
    pub fn search(&self, features: Features<'_>, k: usize) -> Result<Hits> {
        self.search_codes(&self.index.encode(features)?, k)
    }

    /// As [`Index::search_codes`].
    ///
    /// # Errors
    /// As for [`Index::search`].
    pub fn search_codes(&self, codes: &Codes, k: usize) -> Result<Hits> {
        if k == 0 {
            return Err(Error::parameter("k", "1 or more", 0));
        }
        self.run(codes, Want::Nearest(k))
    }

    /// As [`Index::within`].
    ///
    /// # Errors
    /// As for [`Index::within`].
    pub fn within(&self, features: Features<'_>, radius: u32) -> Result<Hits> {
        self.within_codes(&self.index.encode(features)?, radius)
    }

    /// As [`Index::within_codes`].
    ///
    /// # Errors
    /// As for [`Index::within`].
    pub fn within_codes(&self, codes: &Codes, radius: u32) -> Result<Hits> {
        self.run(codes, Want::Within(radius))
    }

    fn run(&self, codes: &Codes, want: Want) -> Result<Hits> {
        let Index { layout, segments, sets, kernel, buckets, .. } = self.index;
        codes.expect_bits(layout.bits())?;
        let search = Search {
            segments,
            sets,
            filter: self.filter,
            kernel: *kernel,
            want,
            bits: layout.bits(),
            buckets: *buckets,
        };
        search.run(codes)
    }
}
