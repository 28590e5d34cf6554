//! [`Snapshot`]: a read-only version of an index.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::duplicates;
use super::file::{self, Locking, Opened};
use super::search::{Filter, Hits};
use super::segment::{BLOCK, Beside, Kind};
use super::state::State;
use super::structure::SearchStructure;
use super::view::{Reranked, View};
use crate::{
    Codes, Dial, Error, Features, HashFunction, LabelNames, Result, VectorFormat, VectorMetric,
};

/// Read-only version of an [`Index`](crate::Index), with all methods that search, look up and save.
/// The index itself has these methods too: it dereferences to its current snapshot.
///
/// [`Index::snapshot`](crate::Index::snapshot) returns a snapshot for the cost of a few counters. A
/// snapshot never changes, even while items are added, removed, compacted or re-encoded, and its
/// readers never wait for the writer. A clone is the same version.
///
/// ```
/// use hashbrook::{Codes, Index};
///
/// let mut index = Index::of_codes(8)?;
/// index.add_codes(&[1, 2], &Codes::from_bytes(8, &[0b0000, 0b0111])?, None)?;
///
/// let before = index.snapshot();
/// let query = Codes::from_bytes(8, &[0b0011])?;
/// std::thread::scope(|scope| {
///     let found = scope.spawn(|| before.search_codes(&query, 1));
///     index.remove(&[1, 2])?;
///     assert_eq!(found.join().expect("no panic")?.row(0)[0].id, 2);
///     assert!(index.is_empty() && before.len() == 2);
///     # Ok::<(), hashbrook::Error>(())
/// })?;
/// # Ok::<(), hashbrook::Error>(())
/// ```
#[derive(Clone)]
pub struct Snapshot {
    pub(super) state: Arc<State>,
    /// File from which parts of the state are mapped.
    pub(super) file: Option<Arc<Opened>>,
}

/// Formats the size of the snapshot without its items.
impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe(f.debug_struct("Snapshot"))
    }
}

impl Snapshot {
    /// Writes the size of the snapshot into the debug output `text`.
    pub(super) fn describe(&self, mut text: fmt::DebugStruct<'_, '_>) -> fmt::Result {
        text.field("items", &self.len())
            .field("bits", &self.bits())
            .field("dim", &self.function().map(HashFunction::dim))
            .field("labels", &self.label_names().len())
            .finish_non_exhaustive()
    }
}

/// Stored code and labels of an item.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Item {
    /// The code, 64 bits to a word.
    pub code: Vec<u64>,
    /// Labels, ascending.
    pub labels: Vec<u32>,
}

/// Item counts and byte sizes of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Statistics {
    /// Number of items in the index.
    pub items: usize,
    /// Number of removed or replaced items, which take up space until
    /// [`Index::compact`](crate::Index::compact).
    pub removed: usize,
    /// Number of segments that a search reads.
    pub segments: usize,
    /// Bytes of ids, codes, labels and vectors, in memory or mapped.
    pub item_bytes: usize,
    /// Bytes of ids, included in `item_bytes`.
    pub id_bytes: usize,
    /// Bytes of codes, included in `item_bytes`.
    pub code_bytes: usize,
    /// Bytes of labels, included in `item_bytes`.
    pub label_bytes: usize,
    /// Bytes of stored vectors, included in `item_bytes`; 0 if the index stores none.
    pub vector_bytes: usize,
    /// Bytes of search structures, in memory or mapped.
    pub structure_bytes: usize,
    /// Further bytes: bitmaps of removed items, cached selections of filters, unused capacity.
    pub extra_bytes: usize,
    /// Bytes of the file's log of changes, which compaction empties.
    pub log_bytes: u64,
}

/// Properties and items.
impl Snapshot {
    /// Returns the length of the codes in bits.
    pub fn bits(&self) -> usize {
        self.state.layout.bits()
    }

    /// Returns the hash function of the index, if it has one.
    pub fn function(&self) -> Option<&HashFunction> {
        self.state.function.as_ref()
    }

    /// Returns the format in which the index stores vectors; `None` if it stores none.
    pub fn vector_format(&self) -> Option<VectorFormat> {
        self.state.vectors.and_then(Beside::vectors).map(|rows| rows.format)
    }

    /// Returns the score that hits are re-ranked by, if the index stores vectors.
    pub fn vector_metric(&self) -> Option<VectorMetric> {
        self.vector_format().map(|_| self.state.metric)
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.state.len()
    }

    /// Returns whether the index has no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the names of the labels.
    pub fn label_names(&self) -> &LabelNames {
        &self.state.names
    }

    /// Returns the search structure chosen by
    /// [`Index::set_search_structure`](crate::Index::set_search_structure). An index of few codes
    /// has no structure, whichever is chosen ([`SearchStructure::least_codes`]).
    pub fn search_structure(&self) -> SearchStructure {
        self.state.structures
    }

    /// Returns the item counts and byte sizes of the index.
    pub fn statistics(&self) -> Statistics {
        let segments = &self.state.segments;
        let sum = |of: fn(&super::search::SearchSegment) -> usize| segments.iter().map(of).sum();
        let bytes = |kind: Kind| {
            segments.iter().map(|searched| searched.segment.columns().memory_of(kind)).sum()
        };
        Statistics {
            items: self.len(),
            removed: sum(|searched| searched.segment.removed()),
            segments: segments.len(),
            item_bytes: Kind::ALL.into_iter().map(bytes).sum(),
            id_bytes: bytes(Kind::Ids),
            code_bytes: bytes(Kind::Codes),
            label_bytes: bytes(Kind::Labels),
            vector_bytes: bytes(Kind::Vectors),
            structure_bytes: sum(|searched| searched.structure_bytes()),
            extra_bytes: sum(|searched| searched.extra_memory()),
            log_bytes: self.state.log_bytes,
        }
    }

    /// Returns whether an item exists.
    ///
    /// # Errors
    /// When the index file is damaged.
    pub fn contains(&self, id: u64) -> Result<bool> {
        self.reading(|state| Ok(state.find(id)?.is_some()))
    }

    /// Returns those of `ids` that exist in the index, in the given order. For many ids this is
    /// much faster than [`contains`](Snapshot::contains), which checks the file on each call.
    ///
    /// # Errors
    /// When the index file is damaged.
    pub fn present(&self, ids: &[u64]) -> Result<Vec<u64>> {
        self.reading(|state| {
            let mut present = Vec::new();
            for &id in ids {
                if state.find(id)?.is_some() {
                    present.push(id);
                }
            }
            Ok(present)
        })
    }

    /// Returns an item, or `None` if it does not exist.
    ///
    /// # Errors
    /// When the index file is damaged.
    pub fn get(&self, id: u64) -> Result<Option<Item>> {
        self.reading(|state| {
            let Some(place) = state.find(id)? else { return Ok(None) };
            let mut code = vec![0; state.layout.code_words()];
            state.segments[place.0].segment.columns().code(place.1, &mut code)?;
            let labels = labels_of_set(state, state.label_set(place)?).to_vec();
            Ok(Some(Item { code, labels }))
        })
    }

    /// Returns the vector of an item as stored: [prepared](HashFunction::prepared) and rounded.
    /// Returns `None` if the item does not exist or the index stores no vectors.
    ///
    /// # Errors
    /// When the index file is damaged.
    pub fn vector(&self, id: u64) -> Result<Option<Vec<f32>>> {
        self.reading(|state| {
            let rows = state.vectors.and_then(Beside::vectors);
            let (Some(rows), Some(place)) = (rows, state.find(id)?) else {
                return Ok(None);
            };
            let mut vector = vec![0.0; rows.dim];
            rows.decode(state.segments[place.0].segment.columns().vector(place.1)?, &mut vector);
            Ok(Some(vector))
        })
    }

    /// Returns the labels of each item, ascending. The list of an item that does not exist is
    /// empty.
    ///
    /// # Errors
    /// When the index file is damaged.
    pub fn labels_of(&self, ids: &[u64]) -> Result<Vec<&[u32]>> {
        self.reading(|state| {
            let labels = |&id: &u64| match state.find(id)? {
                None => Ok(&[][..]),
                Some(place) => Ok(labels_of_set(state, state.label_set(place)?)),
            };
            ids.iter().map(labels).collect()
        })
    }

    /// Returns one more than the largest label that any item ever had; 0 if no item ever had a
    /// label.
    pub fn label_bound(&self) -> u32 {
        let sets = &self.state.sets;
        let labels = (0..sets.len()).flat_map(|set| sets.labels(set));
        labels.max().map_or(0, |label| label.saturating_add(1))
    }

    /// Returns all ids, ascending.
    ///
    /// # Errors
    /// When the index file is damaged.
    pub fn ids(&self) -> Result<Vec<u64>> {
        self.reading(|state| {
            let mut ids = Vec::with_capacity(state.len());
            for searched in &state.segments {
                for slot in searched.segment.live_slots() {
                    ids.push(searched.segment.columns().id(slot)?);
                }
            }
            ids.sort_unstable();
            Ok(ids)
        })
    }

    /// Returns at most `most` ids in ascending order, starting at `first` (inclusive).
    ///
    /// # Errors
    /// When the index file is damaged.
    pub fn ids_from(&self, first: u64, most: usize) -> Result<Vec<u64>> {
        self.reading(|state| {
            let mut ids = Vec::new();
            for searched in &state.segments {
                let columns = searched.segment.columns();
                let slots = columns.lower_bound(first)?..columns.len();
                for slot in slots.filter(|&slot| searched.segment.is_live(slot)).take(most) {
                    ids.push(columns.id(slot)?);
                }
            }
            ids.sort_unstable();
            ids.truncate(most);
            Ok(ids)
        })
    }

    /// Returns the largest id, or `None` if the index is empty.
    ///
    /// # Errors
    /// When the index file is damaged.
    pub fn last_id(&self) -> Result<Option<u64>> {
        self.reading(|state| {
            let mut last = None;
            for searched in &state.segments {
                if let Some(slot) = searched.segment.live_slots().next_back() {
                    last = last.max(Some(searched.segment.columns().id(slot)?));
                }
            }
            Ok(last)
        })
    }

    /// Reads and checks all items of an opened file. Other methods check only the items that they
    /// read. Opening a file checks its other sections.
    ///
    /// # Errors
    /// When an item or a search structure is damaged.
    pub fn verify(&self) -> Result<()> {
        self.reading(|state| {
            for searched in &state.segments {
                let columns = searched.segment.columns();
                // Segments without a file were built in memory by this process and need no check.
                if let Some(path) = columns.path() {
                    columns.compare_all()?;
                    columns.check_meaning(path, state.sets.len())?;
                    searched.verify_structure()?;
                }
            }
            Ok(())
        })
    }

    /// Writes the index to a file atomically, replacing an existing file.
    ///
    /// # Errors
    /// When the file cannot be written, another process is writing it, or the file system cannot
    /// rule out another writer ([`Error::CannotLock`]).
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.write(path.as_ref(), Locking::Required)
    }

    /// Like [`save`](Snapshot::save), but also works where the file system cannot lock files. The
    /// caller must then ensure that no other process writes the file.
    ///
    /// # Errors
    /// When the file cannot be written, or another process is found to write it.
    pub fn save_unlocked(&self, path: impl AsRef<Path>) -> Result<()> {
        self.write(path.as_ref(), Locking::WherePossible)
    }

    fn write(&self, path: &Path, locking: Locking) -> Result<()> {
        self.reading_once(|state| file::write(state, path, locking))
    }

    /// Like [`reading`](Snapshot::reading), for reading all items in order: pages of a file are
    /// released from memory after they were read.
    fn reading_once<T>(&self, read: impl FnOnce(&State) -> Result<T>) -> Result<T> {
        let once = self.to_read_once()?;
        self.reading(|_| read(&once))
    }

    /// Returns the state for a single pass in order by [`reading`](Snapshot::reading).
    pub(super) fn to_read_once(&self) -> Result<State> {
        match &self.file {
            None => Ok(State::clone(&self.state)),
            Some(file) => file.to_read_once(&self.state),
        }
    }

    /// Reads data that may be mapped from a file, and checks the file before and after.
    pub(super) fn reading<'a, T>(&'a self, read: impl FnOnce(&'a State) -> Result<T>) -> Result<T> {
        match &self.file {
            None => read(&self.state),
            Some(file) => file.reading(|| read(&self.state)),
        }
    }
}

pub(super) fn labels_of_set(state: &State, set: u32) -> &[u32] {
    // Only a file that was tampered with has a label set with an unknown number; see `verify`.
    let set = set as usize;
    if set < state.sets.len() { state.sets.labels(set) } else { &[] }
}

/// Codes, searches and search structures.
impl Snapshot {
    /// Returns the codes of vectors under the function of the index.
    ///
    /// # Errors
    /// When the index has no function, or the vectors have another dimension.
    pub fn encode(&self, features: Features<'_>) -> Result<Codes> {
        self.function().ok_or(Error::NoFunction)?.encode(features)
    }

    /// Returns the `k` nearest items to each vector, or all items if there are fewer.
    ///
    /// # Errors
    /// When `k` is 0, the vectors have another dimension, or the file is damaged or was changed by
    /// another program ([`Error::NotAsOpened`]).
    pub fn search(&self, features: Features<'_>, k: usize) -> Result<Hits> {
        self.view().search(features, k)
    }

    /// Like [`search`](Snapshot::search), for codes.
    ///
    /// # Errors
    /// As for [`search`](Snapshot::search).
    pub fn search_codes(&self, codes: &Codes, k: usize) -> Result<Hits> {
        self.view().search_codes(codes, k)
    }

    /// Returns all items within the distance `radius` of each vector, inclusive.
    ///
    /// # Errors
    /// When the vectors have another dimension, or the file is damaged.
    pub fn within(&self, features: Features<'_>, radius: u32) -> Result<Hits> {
        self.view().within(features, radius)
    }

    /// Like [`within`](Snapshot::within), for codes.
    ///
    /// # Errors
    /// As for [`within`](Snapshot::within).
    pub fn within_codes(&self, codes: &Codes, radius: u32) -> Result<Hits> {
        self.view().within_codes(codes, radius)
    }

    /// Returns a view in which searches find only items that pass the filter.
    pub fn filtered<'a>(&'a self, filter: &'a Filter) -> View<'a> {
        self.view().filtered(filter)
    }

    /// Returns a view whose searches re-rank the `candidates` nearest items by code. Re-ranking
    /// needs an index that [stores](crate::Index::with_vectors) vectors.
    pub fn rerank(&self, candidates: usize) -> Reranked<'_> {
        self.view().rerank(candidates)
    }

    /// Returns a view in which searches weigh label bits and detail bits; see [`View::dial`].
    pub fn dial(&self, dial: Dial) -> View<'_> {
        self.view().dial(dial)
    }

    /// Returns a view of all items.
    fn view(&self) -> View<'_> {
        View::new(&self.state, self.file.as_deref())
    }

    /// Returns whether ids stand for strings, which are stored beside the file (see
    /// [`IdNames`](crate::IdNames)).
    pub fn has_text_ids(&self) -> bool {
        self.state.text_ids
    }

    /// Builds the missing search structures of items in memory now (see
    /// [`Index::set_search_structure`](crate::Index::set_search_structure)), so that no query has
    /// to wait for them. A segment that is later merged from segments with a structure gets a
    /// structure, too.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn build_search_structures(&self) -> Result<()> {
        self.reading(|state| {
            let wanted = state.structures;
            let segments = state.segments.iter().filter(|_| wanted != SearchStructure::None);
            segments.into_iter().try_for_each(|segment| segment.build_structure(wanted))
        })
    }

    /// Returns the groups of near-duplicates, each with ascending ids. Two items within the radius
    /// of each other are in one group, and so are items connected by a chain of such pairs. Items
    /// without near-duplicates are omitted.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn duplicates(&self, radius: u32) -> Result<Vec<Vec<u64>>> {
        let State { layout, kernel, .. } = *self.state;
        let (codes, first_slots) = self.reading_once(all_codes)?;
        let groups = duplicates::groups(kernel, layout, codes, radius.min(self.bits() as u32));
        self.reading(|state| {
            let id = |number: u32| {
                let number = number as usize;
                let segment = first_slots.partition_point(|(first, _)| *first <= number) - 1;
                let (first, slots) = &first_slots[segment];
                let place = number - first;
                let slot = slots.as_ref().map_or(place, |slots| slots[place] as usize);
                state.segments[segment].segment.columns().id(slot)
            };
            let ids = |group: Vec<u32>| {
                let mut ids = group.into_iter().map(id).collect::<Result<Vec<u64>>>()?;
                ids.sort_unstable();
                Ok(ids)
            };
            let mut groups = groups.into_iter().map(ids).collect::<Result<Vec<Vec<u64>>>>()?;
            groups.sort_unstable();
            Ok(groups)
        })
    }
}

/// Number of each segment's first live item, and its live slots if items were removed.
type FirstSlots = Vec<(usize, Option<Vec<u32>>)>;

/// Returns the codes of all live items, segment after segment.
fn all_codes(state: &State) -> Result<(Vec<u64>, FirstSlots)> {
    let width = state.layout.code_words();
    let mut codes = vec![0; state.len() * width];
    let mut places = codes.chunks_exact_mut(width);
    let (mut first, mut first_slots) = (0, Vec::new());
    for searched in &state.segments {
        let segment = &searched.segment;
        for (slot, place) in segment.live_slots().zip(&mut places) {
            if slot.is_multiple_of(BLOCK) {
                segment.columns().have_read(slot);
            }
            segment.columns().code(slot, place)?;
        }
        let slots = segment.live().map(|_| segment.live_slots().map(|slot| slot as u32).collect());
        first_slots.push((first, slots));
        first += segment.len();
    }
    Ok((codes, first_slots))
}
