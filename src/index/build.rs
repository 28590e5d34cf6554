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

/// Memory that a builder uses unless told otherwise.
const MEMORY: usize = 64 << 20;

/// Runs that are put aside before they are merged into one: each is an open file, and a block of it
/// is in memory while it is merged.
const RUNS: usize = 32;

/// Makes an index file of items that need not fit in memory.
///
/// Items may come in any order and in any number of batches. Those that are more than the
/// [memory](IndexBuilder::memory) allows are sorted and put aside in temporary files beside the one that
/// is made, which appears whole at the [end](IndexBuilder::finish), or not at all.
///
/// ```
/// use hashbrook::{Codes, Index, IndexBuilder};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("codes.index");
/// let mut builder = IndexBuilder::of_codes(&path, 8)?.memory(1 << 20);
/// builder.add_codes(&[7, 3], &Codes::from_bytes(8, &[0b0001, 0b0111])?, None)?;
/// builder.add_codes(&[5], &Codes::from_bytes(8, &[0b1111])?, None)?;
/// builder.finish()?;
/// assert_eq!(Index::open(&path)?.ids()?, [3, 5, 7]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct IndexBuilder {
    path: PathBuf,
    /// Segments of runs come first, then those in memory.
    state: State,
    runs: Vec<Run>,
    memory: usize,
}

impl IndexBuilder {
    /// A file for vectors, which are encoded by this function. Its labels are called what the
    /// function's are, until [told otherwise](IndexBuilder::set_label_names).
    ///
    /// # Errors
    /// When no file can be written there.
    pub fn new(path: impl AsRef<Path>, function: HashFunction) -> Result<Self> {
        let layout = Layout::new(function.bits());
        IndexBuilder::of(path.as_ref(), State::empty(layout, Some(function), None))
    }

    /// A file that keeps the vectors of its items beside their codes; see
    /// [`Index::with_vectors`](crate::Index::with_vectors).
    ///
    /// # Errors
    /// When no file can be written there.
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

    /// A file that keeps beside each code where the vector is, as a number of its owner's.
    ///
    /// # Errors
    /// When no file can be written there.
    pub(crate) fn with_places(path: &Path, function: HashFunction) -> Result<Self> {
        let layout = Layout::new(function.bits());
        IndexBuilder::of(path, State::empty(layout, Some(function), Some(Beside::Places)))
    }

    /// A file for codes of a length, from 1 to [`MAX_BITS`](crate::MAX_BITS).
    ///
    /// # Errors
    /// When `bits` is not in that range, or no file can be written there.
    pub fn of_codes(path: impl AsRef<Path>, bits: usize) -> Result<Self> {
        check_bits(bits)?;
        IndexBuilder::of(path.as_ref(), State::empty(Layout::new(bits), None, None))
    }

    fn of(path: &Path, state: State) -> Result<Self> {
        crate::file::check_writable(path)?;
        Ok(IndexBuilder { path: path.to_path_buf(), state, runs: Vec::new(), memory: MEMORY })
    }

    /// Chooses the score that hits are re-ranked by, if the file keeps vectors: cosine unless told otherwise.
    #[must_use]
    pub fn ranked_by(mut self, metric: VectorMetric) -> Self {
        self.state.metric = metric;
        self
    }

    /// How many bytes of memory it may use for items, 64 MiB unless told otherwise. It uses no less
    /// than one batch of items takes.
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    /// Chooses the search structure that the file gets: a full one unless told otherwise.
    #[must_use]
    pub fn search_structure(mut self, wanted: SearchStructure) -> Self {
        self.state.structures = wanted;
        self
    }

    /// How many items were added.
    pub fn len(&self) -> usize {
        self.state.len()
    }

    /// Whether none were added.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The function that makes its codes, if it has one.
    pub fn function(&self) -> Option<&HashFunction> {
        self.state.function.as_ref()
    }

    /// Says what the labels are called.
    pub fn set_label_names(&mut self, names: LabelNames) {
        self.state.names = Arc::new(names);
    }

    /// Says that ids stand for texts, which [`IdNames`](crate::IdNames) keeps beside the file: whoever opens it can
    /// [ask](crate::Snapshot::has_text_ids).
    pub fn set_text_ids(&mut self, texts: bool) {
        self.state.text_ids = texts;
    }

    /// Adds items. An id that was given in another batch is found when they meet, here or in
    /// [`finish`](IndexBuilder::finish).
    ///
    /// # Errors
    /// When an id is given twice, there are not as many ids or labels as vectors, these have another
    /// dimension, or what is put aside cannot be written. These items are then not added.
    pub fn add(
        &mut self,
        ids: &[u64],
        features: Features<'_>,
        labels: Option<Labels<'_>>,
    ) -> Result<()> {
        let encoded = self.state.encode(features)?;
        self.put(encoded.items(ids, labels))
    }

    /// Like [`add`](IndexBuilder::add), of items that are encoded already.
    ///
    /// # Errors
    /// As for [`add`](IndexBuilder::add), and when the file is one that keeps vectors.
    pub fn add_codes(
        &mut self,
        ids: &[u64],
        codes: &Codes,
        labels: Option<Labels<'_>>,
    ) -> Result<()> {
        self.put(NewItems { ids, codes, labels, vectors: None })
    }

    /// Like [`add`](IndexBuilder::add), of items that are encoded already, with the places of their vectors.
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
        // Before they are added, so that they are not if that fails. Merging segments takes their
        // memory once more.
        let in_memory = self.state.segments[self.runs.len()..].iter();
        let bytes = |columns: &Columns| columns.memory() + columns.memory_of(Kind::Vectors);
        let held: usize = in_memory.map(|held| bytes(held.segment.columns())).sum();
        if held > 0 && 2 * (held + items.bytes()) > self.memory {
            self.put_aside(if self.runs.len() < RUNS { self.runs.len() } else { 0 })?;
        }
        self.state.put(items, &order)
    }

    /// Writes all segments from this one on to a file of its own: those in memory, or all.
    fn put_aside(&mut self, first: usize) -> Result<()> {
        let mut state = self.state.clone();
        state.segments.drain(..first);
        // It is in the file that is made, and need not be in each run.
        (state.function, state.structures) = (None, SearchStructure::None);
        let (run, segment) = Run::write(&state, &self.path)?;
        self.state.segments.truncate(first);
        self.state.segments.push(SearchSegment::new(segment));
        self.runs.truncate(first);
        self.runs.push(run);
        Ok(())
    }

    /// Writes the file, whole or not at all, replacing what stood there.
    ///
    /// # Errors
    /// When an id was given twice, the file cannot be written, another process is writing it, or that
    /// cannot be ruled out ([`Error::CannotLock`](crate::Error::CannotLock)).
    pub fn finish(self) -> Result<()> {
        file::write(&self.state, &self.path, Locking::Required)
    }

    /// Like [`finish`](IndexBuilder::finish), also where the file system cannot lock files: that no
    /// other process writes the file is for you to see to.
    ///
    /// # Errors
    /// When an id was given twice, the file cannot be written, or another process is seen to write it.
    pub fn finish_unlocked(self) -> Result<()> {
        file::write(&self.state, &self.path, Locking::WherePossible)
    }
}
