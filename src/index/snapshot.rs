//! [`Snapshot`]: what an index holds at one moment, to be read.

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

/// What an [`Index`](crate::Index) holds at one moment: searched, looked up and saved like the index
/// itself, which gives it all these methods.
///
/// [`Index::snapshot`](crate::Index::snapshot) makes one for the cost of a few counters. It stays as
/// it is for as long as it is held, whatever is added, removed, compacted or renewed meanwhile, and it
/// never waits for the writer. Clones are the same moment.
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
    /// The file that parts of it are mapped from.
    pub(super) file: Option<Arc<Opened>>,
}

/// Its size, and not its items.
impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe(f.debug_struct("Snapshot"))
    }
}

impl Snapshot {
    /// Its size, as a text for developers.
    pub(super) fn describe(&self, mut text: fmt::DebugStruct<'_, '_>) -> fmt::Result {
        text.field("items", &self.len())
            .field("bits", &self.bits())
            .field("dim", &self.function().map(HashFunction::dim))
            .field("labels", &self.label_names().len())
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
    /// Items that were removed or replaced, and take up room until
    /// [`Index::compact`](crate::Index::compact).
    pub removed: usize,
    /// Parts that a search goes through.
    pub segments: usize,
    /// Bytes of ids, codes, labels and vectors, in memory or mapped.
    pub item_bytes: usize,
    /// Bytes of ids among them.
    pub id_bytes: usize,
    /// Bytes of codes among them.
    pub code_bytes: usize,
    /// Bytes of labels among them.
    pub label_bytes: usize,
    /// Bytes of vectors among them, if they are stored.
    pub vector_bytes: usize,
    /// Bytes of search structures, in memory or mapped.
    pub structure_bytes: usize,
    /// Bytes on top of that: bitmaps of removed items, selections of filters, spare room.
    pub extra_bytes: usize,
    /// Bytes of changes in the file that are not yet compacted.
    pub log_bytes: u64,
}

/// What it is, and what is in it.
impl Snapshot {
    /// The length of its codes.
    pub fn bits(&self) -> usize {
        self.state.layout.bits()
    }

    /// The function that makes its codes, if it has one.
    pub fn function(&self) -> Option<&HashFunction> {
        self.state.function.as_ref()
    }

    /// How it keeps the vectors of its items, if it does.
    pub fn vector_format(&self) -> Option<VectorFormat> {
        self.state.vectors.and_then(Beside::vectors).map(|rows| rows.format)
    }

    /// Returns the score that hits are re-ranked by, if the index keeps vectors.
    pub fn vector_metric(&self) -> Option<VectorMetric> {
        self.vector_format().map(|_| self.state.metric)
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.state.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the labels are called.
    pub fn label_names(&self) -> &LabelNames {
        &self.state.names
    }

    /// Search structure that was chosen ([`Index::set_search_structure`](crate::Index::set_search_structure)). An index of
    /// few codes has none all the same ([`SearchStructure::least_codes`]).
    pub fn search_structure(&self) -> SearchStructure {
        self.state.structures
    }

    /// What it holds, in numbers.
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

    /// Whether an item is there.
    ///
    /// # Errors
    /// When the file it is in is damaged.
    pub fn contains(&self, id: u64) -> Result<bool> {
        self.reading(|state| Ok(state.find(id)?.is_some()))
    }

    /// Those of the ids that are there, in the order they are given. For many ids this is much faster
    /// than [`contains`](Snapshot::contains), which looks at the file each time.
    ///
    /// # Errors
    /// When the file they are in is damaged.
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

    /// An item, if it is there.
    ///
    /// # Errors
    /// When the file it is in is damaged.
    pub fn get(&self, id: u64) -> Result<Option<Item>> {
        self.reading(|state| {
            let Some(place) = state.find(id)? else { return Ok(None) };
            let mut code = vec![0; state.layout.code_words()];
            state.segments[place.0].segment.columns().code(place.1, &mut code)?;
            let labels = labels_of_set(state, state.label_set(place)?).to_vec();
            Ok(Some(Item { code, labels }))
        })
    }

    /// The vector of an item, as it is kept: [prepared](HashFunction::prepared), and rounded. `None` if the
    /// item is not there, or the index keeps no vectors.
    ///
    /// # Errors
    /// When the file it is in is damaged.
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

    /// The labels of items, each ascending; none of those that are not there.
    ///
    /// # Errors
    /// When the file they are in is damaged.
    pub fn labels_of(&self, ids: &[u64]) -> Result<Vec<&[u32]>> {
        self.reading(|state| {
            let labels = |&id: &u64| match state.find(id)? {
                None => Ok(&[][..]),
                Some(place) => Ok(labels_of_set(state, state.label_set(place)?)),
            };
            ids.iter().map(labels).collect()
        })
    }

    /// One more than the largest label that any item ever had; 0 if none had any.
    pub fn label_bound(&self) -> u32 {
        let sets = &self.state.sets;
        let labels = (0..sets.len()).flat_map(|set| sets.labels(set));
        labels.max().map_or(0, |label| label.saturating_add(1))
    }

    /// All ids, ascending.
    ///
    /// # Errors
    /// When the file they are in is damaged.
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

    /// The smallest ids from one on, ascending, and at most so many.
    ///
    /// # Errors
    /// When the file they are in is damaged.
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

    /// The largest id, if there is any.
    ///
    /// # Errors
    /// When the file it is in is damaged.
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

    /// Reads all items of an opened file and checks them, and not only what is looked at; what else a file
    /// holds was checked when it was opened.
    ///
    /// # Errors
    /// When something is damaged.
    pub fn verify(&self) -> Result<()> {
        self.reading(|state| {
            for searched in &state.segments {
                let columns = searched.segment.columns();
                // What is in memory alone was put together here.
                if let Some(path) = columns.path() {
                    columns.compare_all()?;
                    columns.check_meaning(path, state.sets.len())?;
                    searched.verify_structure()?;
                }
            }
            Ok(())
        })
    }

    /// Writes it to a file, whole or not at all, replacing what stood there.
    ///
    /// # Errors
    /// When the file cannot be written, another process is writing it, or that cannot be ruled out
    /// ([`Error::CannotLock`]).
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.write(path.as_ref(), Locking::Required)
    }

    /// Like [`save`](Snapshot::save), also where the file system cannot lock files: that no other
    /// process writes the file is for you to see to.
    ///
    /// # Errors
    /// When the file cannot be written, or another process is seen to write it.
    pub fn save_unlocked(&self, path: impl AsRef<Path>) -> Result<()> {
        self.write(path.as_ref(), Locking::WherePossible)
    }

    fn write(&self, path: &Path, locking: Locking) -> Result<()> {
        self.reading_once(|state| file::write(state, path, locking))
    }

    /// Like [`reading`](Snapshot::reading), of all items in order: what was read of a file does not stay
    /// in memory.
    fn reading_once<T>(&self, read: impl FnOnce(&State) -> Result<T>) -> Result<T> {
        let once = self.to_read_once()?;
        self.reading(|_| read(&once))
    }

    /// What it holds, to be read once and in order, by [`reading`](Snapshot::reading).
    pub(super) fn to_read_once(&self) -> Result<State> {
        match &self.file {
            None => Ok(State::clone(&self.state)),
            Some(file) => file.to_read_once(&self.state),
        }
    }

    /// Reads what may be mapped from a file, which is looked at before and after.
    pub(super) fn reading<'a, T>(&'a self, read: impl FnOnce(&'a State) -> Result<T>) -> Result<T> {
        match &self.file {
            None => read(&self.state),
            Some(file) => file.reading(|| read(&self.state)),
        }
    }
}

pub(super) fn labels_of_set(state: &State, set: u32) -> &[u32] {
    // A set that is not there is one of a file that was tampered with; see `verify`.
    let set = set as usize;
    if set < state.sets.len() { state.sets.labels(set) } else { &[] }
}

/// Codes, and what makes searches faster.
impl Snapshot {
    /// The codes of vectors under its function.
    ///
    /// # Errors
    /// When it has none, or the vectors have another dimension.
    pub fn encode(&self, features: Features<'_>) -> Result<Codes> {
        self.function().ok_or(Error::NoFunction)?.encode(features)
    }

    /// The `k` nearest items to each vector; all of them if there are fewer.
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

    /// All items up to a distance from each vector, which is included.
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

    /// A view in which searches find only items that pass the filter.
    pub fn filtered<'a>(&'a self, filter: &'a Filter) -> View<'a> {
        self.view().filtered(filter)
    }

    /// A view in which the first `candidates` by code are re-ranked by their vectors, which the index must
    /// [keep](crate::Index::with_vectors).
    pub fn rerank(&self, candidates: usize) -> Reranked<'_> {
        self.view().rerank(candidates)
    }

    /// A view in which searches weigh label bits and detail bits; see [`View::dial`].
    pub fn dial(&self, dial: Dial) -> View<'_> {
        self.view().dial(dial)
    }

    /// All of it.
    fn view(&self) -> View<'_> {
        View::new(&self.state, self.file.as_deref())
    }

    /// Whether ids stand for texts, which are kept beside the file (see [`IdNames`](crate::IdNames)).
    pub fn has_text_ids(&self) -> bool {
        self.state.text_ids
    }

    /// Builds the search structures now that items in memory lack (see
    /// [`Index::set_search_structure`](crate::Index::set_search_structure)), so that no query has to
    /// wait for them. What is put together of items that had one gets one, too.
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

    /// Groups of near-duplicates, each of ascending ids: items are in one group if a chain of items
    /// leads from one to the other, each within the radius of the next. Items that are near no other
    /// are left out.
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

/// For each segment the number of its first item, and the slots of its items if some were removed.
type FirstSlots = Vec<(usize, Option<Vec<u32>>)>;

/// The codes of all items that are there, segment after segment.
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
