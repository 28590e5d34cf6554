//! [`IndexBuilder`]: index files of any size, in bounded memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file::{self, Locking, Run};
use super::search::SearchSegment;
use super::segment::{Beside, Columns, Kind, NewItems, place_bytes};
use super::state::State;
use super::structure::SearchStructure;
use crate::codes::check_bits;
use crate::kernel::Layout;
use crate::{
    Codes, Features, HashFunction, LabelNames, Labels, Result, VectorFormat, VectorMetric,
};

/// Default memory limit of a builder in bytes.
const MEMORY: usize = 64 << 20;

/// Number of runs after which all runs are merged into one. Each run is an open file; the merge
/// holds one block of each run in memory.
const RUNS: usize = 32;

/// Builder of an index file whose items need not fit in memory.
///
/// Items may be added in any order and in any number of batches. When items exceed the [memory
/// limit](IndexBuilder::memory), they are sorted and written to temporary files beside the index
/// file. [`finish`](IndexBuilder::finish) writes the index file atomically.
///
/// ```
/// use hashbrook::{Codes, Index, IndexBuilder};
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("codes.index");
/// let mut builder = IndexBuilder::of_codes(&path, 8)?.memory(1 << 20);
/// builder.add_codes(&[7, 3], &Codes::from_bytes(8, &[0b0001, 0b0111])?, None)?;
/// builder.add_codes(&[5], &Codes::from_bytes(8, &[0b1111])?, None)?;
/// builder.finish()?;
/// assert_eq!(Index::open(&path)?.ids()?, [3, 5, 7]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct IndexBuilder {
    path: PathBuf,
    /// Segments of runs, followed by segments in memory.
    state: State,
    runs: Vec<Run>,
    memory: usize,
}

impl IndexBuilder {
    /// Returns a builder of a file for vectors, which `function` encodes. The labels have the names
    /// of the function's labels until [`set_label_names`](IndexBuilder::set_label_names) is called.
    ///
    /// # Errors
    /// When no file can be written at `path`.
    pub fn new(path: impl AsRef<Path>, function: HashFunction) -> Result<Self> {
        let layout = Layout::new(function.bits());
        IndexBuilder::of(path.as_ref(), State::empty(layout, Some(function), None))
    }

    /// Returns a builder of a file that stores the vectors of its items beside their codes; see
    /// [`Index::with_vectors`](crate::Index::with_vectors).
    ///
    /// # Errors
    /// When no file can be written at `path`.
    pub fn with_vectors(
        path: impl AsRef<Path>,
        function: HashFunction,
        format: VectorFormat,
    ) -> Result<Self> {
        let (layout, rows) = (Layout::new(function.bits()), function.vector_rows(format));
        IndexBuilder::of(
            path.as_ref(),
            State::empty(layout, Some(function), Some(Beside::Vectors(rows))),
        )
    }

    /// Returns a builder of a file that stores, beside each code, the place of the vector: a number
    /// with a meaning to the owner of the index.
    ///
    /// # Errors
    /// When no file can be written at `path`.
    pub(crate) fn with_places(path: &Path, function: HashFunction) -> Result<Self> {
        let layout = Layout::new(function.bits());
        IndexBuilder::of(path, State::empty(layout, Some(function), Some(Beside::Places)))
    }

    /// Returns a builder of a file for codes of `bits` bits, from 1 to
    /// [`MAX_BITS`](crate::MAX_BITS).
    ///
    /// # Errors
    /// When `bits` is not in that range, or no file can be written at `path`.
    pub fn of_codes(path: impl AsRef<Path>, bits: usize) -> Result<Self> {
        check_bits(bits)?;
        IndexBuilder::of(path.as_ref(), State::empty(Layout::new(bits), None, None))
    }

    fn of(path: &Path, state: State) -> Result<Self> {
        crate::file::check_writable(path)?;
        Ok(IndexBuilder { path: path.to_path_buf(), state, runs: Vec::new(), memory: MEMORY })
    }

    /// Chooses the score that hits are re-ranked by, if the file stores vectors; the default is
    /// cosine.
    #[must_use]
    pub fn ranked_by(mut self, metric: VectorMetric) -> Self {
        self.state.metric = metric;
        self
    }

    /// Sets the memory limit for items in bytes; the default is 64 MiB. The builder uses at least
    /// the memory of one batch of items.
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    /// Chooses the search structure of the file; the default is the full structure.
    #[must_use]
    pub fn search_structure(mut self, wanted: SearchStructure) -> Self {
        self.state.structures = wanted;
        self
    }

    /// Returns the number of items added.
    pub fn len(&self) -> usize {
        self.state.len()
    }

    /// Returns whether no items were added.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the hash function of the file, if it has one.
    pub fn function(&self) -> Option<&HashFunction> {
        self.state.function.as_ref()
    }

    /// Sets the names of the labels.
    pub fn set_label_names(&mut self, names: LabelNames) {
        self.state.names = Arc::new(names);
    }

    /// Records whether ids stand for strings, which [`IdNames`](crate::IdNames) stores beside the
    /// file. Readers of the file call [`has_text_ids`](crate::Snapshot::has_text_ids).
    pub fn set_text_ids(&mut self, texts: bool) {
        self.state.text_ids = texts;
    }

    /// Adds items. An id that was given in another batch is detected when the two batches are
    /// merged, by a later call or by [`finish`](IndexBuilder::finish).
    ///
    /// # Errors
    /// When an id is given twice, the numbers of ids, labels and vectors differ, the vectors have
    /// another dimension, or a temporary file cannot be written. The items of this call are then
    /// not added.
    pub fn add(
        &mut self,
        ids: &[u64],
        features: Features<'_>,
        labels: Option<Labels<'_>>,
    ) -> Result<()> {
        let encoded = self.state.encode(features)?;
        self.put(encoded.items(ids, labels))
    }

    /// Like [`add`](IndexBuilder::add), for items that are already encoded.
    ///
    /// # Errors
    /// As for [`add`](IndexBuilder::add), and when the file stores vectors.
    pub fn add_codes(
        &mut self,
        ids: &[u64],
        codes: &Codes,
        labels: Option<Labels<'_>>,
    ) -> Result<()> {
        self.put(NewItems { ids, codes, labels, vectors: None })
    }

    /// Like [`add`](IndexBuilder::add), for items that are already encoded, with the places of
    /// their vectors.
    ///
    /// # Errors
    /// As for [`add`](IndexBuilder::add).
    pub(crate) fn add_places(
        &mut self,
        ids: &[u64],
        codes: &Codes,
        labels: Labels<'_>,
        places: &[u64],
    ) -> Result<()> {
        self.put(NewItems::with_places(ids, codes, labels, &place_bytes(places)))
    }

    fn put(&mut self, items: NewItems<'_>) -> Result<()> {
        let order = self.state.check(items)?;
        // Segments are written before the new items are added, so that the items are not added if
        // writing fails. The factor of two allows for merging, which copies the segments.
        let in_memory = self.state.segments[self.runs.len()..].iter();
        let bytes = |columns: &Columns| columns.memory() + columns.memory_of(Kind::Vectors);
        let held: usize = in_memory.map(|held| bytes(held.segment.columns())).sum();
        if held > 0 && 2 * (held + items.bytes()) > self.memory {
            self.put_aside(if self.runs.len() < RUNS { self.runs.len() } else { 0 })?;
        }
        self.state.put(items, &order)
    }

    /// Writes the segments from number `first` on to one run. `first` is the first segment in
    /// memory, or 0 for all segments.
    fn put_aside(&mut self, first: usize) -> Result<()> {
        let mut state = self.state.clone();
        state.segments.drain(..first);
        // The final file contains the function and the structure; runs do not need them.
        (state.function, state.structures) = (None, SearchStructure::None);
        let (run, segment) = Run::write(&state, &self.path)?;
        self.state.segments.truncate(first);
        self.state.segments.push(SearchSegment::new(segment));
        self.runs.truncate(first);
        self.runs.push(run);
        Ok(())
    }

    /// Writes the file atomically, replacing an existing file.
    ///
    /// # Errors
    /// When an id was given twice, the file cannot be written, another process is writing it, or
    /// the file system cannot rule out another writer
    /// ([`Error::CannotLock`](crate::Error::CannotLock)).
    pub fn finish(self) -> Result<()> {
        file::write(&self.state, &self.path, Locking::Required)
    }

    /// Like [`finish`](IndexBuilder::finish), but also works where the file system cannot lock
    /// files. The caller must then ensure that no other process writes the file.
    ///
    /// # Errors
    /// When an id was given twice, the file cannot be written, or another process is found to write
    /// the file.
    pub fn finish_unlocked(self) -> Result<()> {
        file::write(&self.state, &self.path, Locking::WherePossible)
    }
}
