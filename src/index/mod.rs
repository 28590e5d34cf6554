//! [`Index`]: exact search by Hamming distance.
//!
//! An index writes, a [`Snapshot`] reads. A query passes through the modules in this order, and no
//! module imports an earlier one: `view`, `snapshot`, `search` (requests, segment by segment),
//! `duplicates` and `structure` with `tables` and `buckets` (pruning), `scan` (tiles of codes
//! against queries), `segment` (columns). `file` stores `state`.

mod answer;
mod buckets;
mod build;
mod changes;
mod duplicates;
mod file;
mod label_lookup;
mod placed;
mod places;
mod renew;
mod scan;
mod search;
mod segment;
#[cfg(test)]
mod simulation;
mod snapshot;
mod state;
mod structure;
mod tables;
mod view;

use std::fmt;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

pub use self::build::IndexBuilder;
use self::file::{Access, Locking, OpenFor};
pub(crate) use self::placed::Placed;
pub(crate) use self::search::Report;
pub use self::search::{Filter, Hit, Hits, RankedHit};
use self::segment::Beside;
pub use self::snapshot::{Item, Snapshot, Statistics};
use self::state::State;
pub use self::structure::SearchStructure;
pub use self::view::{Reranked, View};
use crate::codes::check_bits;
use crate::kernel::Layout;
use crate::{HashFunction, Kernel, Result, VectorFormat, VectorMetric};

/// Items that are searched by the Hamming distance of their codes. Results are exact, complete, and
/// in a fixed order.
///
/// An item has an id chosen by the caller, a code, and optional labels. Results are in order of
/// distance; results at equal distances are in order of id. Results depend on the present items
/// alone: neither the history of changes and compactions nor the number of threads matters.
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
/// [`save`](Snapshot::save) writes to a file. [`open`](Index::open) maps an index file for searches
/// without reading all of it; any number of processes can do so. [`edit`](Index::edit) opens a file
/// for changes, in one process at a time. A change is in the file when the call returns. Processes
/// that open the file later see the change wholly or not at all, even if the writer crashed.
/// Readers keep the version that they opened until they [`refresh`](Index::refresh).
/// [`load`](Index::load) copies a file into memory.
///
/// # Reading during changes
///
/// All methods that read belong to [`Snapshot`]; the index itself acts as its current snapshot.
/// [`snapshot`](Index::snapshot) returns a snapshot for other threads. A thread with a snapshot
/// never waits for the writer, and sees the same version for as long as it holds the snapshot.
pub struct Index {
    now: Snapshot,
    file: OpenFor,
}

/// Formats the size of the index without its items.
impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.now.describe(f.debug_struct("Index"))
    }
}

/// Gives an index the methods of its current snapshot.
impl Deref for Index {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        &self.now
    }
}

impl Index {
    /// Returns an empty index in memory for vectors, which `function` encodes. Its labels have the
    /// names of the function's labels until [`set_label_names`](Index::set_label_names) is called.
    pub fn new(function: HashFunction) -> Self {
        let layout = Layout::new(function.bits());
        Index::of(State::empty(layout, Some(function), None), OpenFor::Nothing)
    }

    /// Returns an empty index in memory that stores, beside each code, the vector as the function
    /// [prepares](HashFunction::prepared) it. Searches can [re-rank](Snapshot::rerank) hits by
    /// these vectors, and [`renew_kept`](Index::renew_kept) can re-encode them under a newer
    /// function.
    ///
    /// ```
    /// use hashbrook::{Features, HashFunction, HashParts, Index, VectorFormat};
    ///
    /// let parts = HashParts::linear(2, 3, vec![1.0, -1.0, 0.5, 0.0, 2.0, 0.5]);
    /// let mut index = Index::with_vectors(HashFunction::new(parts)?, VectorFormat::F16);
    /// index.add(&[1, 2], Features::new(&[1.0, 0.5, 1.0, 0.8], 2)?, None)?;
    /// let found = index.rerank(1000).search(Features::new(&[10.0, 8.0], 2)?, 1)?;
    /// assert_eq!(found.row(0)[0].id, 2);
    /// assert!(found.row(0)[0].score > 0.999);
    /// # Ok::<(), hashbrook::Error>(())
    /// ```
    pub fn with_vectors(function: HashFunction, format: VectorFormat) -> Self {
        let (layout, rows) = (Layout::new(function.bits()), function.vector_rows(format));
        let beside = Some(Beside::Vectors(rows));
        Index::of(State::empty(layout, Some(function), beside), OpenFor::Nothing)
    }

    /// Chooses the score for re-ranking hits in an index that stores vectors; the default is
    /// cosine. [Saving](Snapshot::save) the index also saves the choice.
    #[must_use]
    pub fn ranked_by(mut self, metric: VectorMetric) -> Self {
        Arc::make_mut(&mut self.now.state).metric = metric;
        self
    }

    /// Returns an empty index in memory for codes of `bits` bits, from 1 to
    /// [`MAX_BITS`](crate::MAX_BITS).
    ///
    /// # Errors
    /// When `bits` is not in that range.
    pub fn of_codes(bits: usize) -> Result<Self> {
        check_bits(bits)?;
        Ok(Index::of(State::empty(Layout::new(bits), None, None), OpenFor::Nothing))
    }

    fn of(state: State, file: OpenFor) -> Self {
        Index { now: Snapshot { state: Arc::new(state), file: file.file().cloned() }, file }
    }

    fn opened(path: &Path, access: Access) -> Result<Self> {
        let (state, file) = file::open(path, access)?;
        Ok(Index::of(state, file))
    }

    /// Opens a file to search in it. Each block of the file is checked when it is first read.
    ///
    /// The file is mapped: its bytes are read when a search first needs them, are shared with all
    /// processes that have the file open, and stay in memory while there is room. Mapping requires
    /// that programs replace files and never change them in place; this library does so. Among
    /// other programs, `mv` is harmless, but `cp other.index this.index` overwrites the mapped
    /// bytes. A search that finds its file truncated or overwritten fails with
    /// [`Error::NotAsOpened`](crate::Error::NotAsOpened). If the file is truncated during a search,
    /// or the disk fails, the operating system ends the process by a bus error (`SIGBUS`). Only
    /// [`verify`](Snapshot::verify) detects changes in the middle of the file to bytes that were
    /// read before. If such changes or disk failures cannot be ruled out, [`load`](Index::load) the
    /// file.
    ///
    /// # Errors
    /// When the file cannot be read, is not an index, is truncated or damaged, or was written by a
    /// newer version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Index::opened(path.as_ref(), Access::Map)
    }

    /// Reads a whole file into memory, where no other program can change it. The index has no
    /// further connection with the file: changes stay in memory until the index is
    /// [saved](Snapshot::save).
    ///
    /// # Errors
    /// As for [`open`](Index::open).
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Index::opened(path.as_ref(), Access::Load)
    }

    /// Opens a file for changes by this process alone. The file is mapped, as by
    /// [`open`](Index::open).
    ///
    /// # Errors
    /// As for [`open`](Index::open); also when another process has the file open for changes, and
    /// where the file system cannot lock files ([`Error::CannotLock`](crate::Error::CannotLock)).
    pub fn edit(path: impl AsRef<Path>) -> Result<Self> {
        Index::opened(path.as_ref(), Access::Edit(Locking::Required))
    }

    /// Like [`edit`](Index::edit), but also works where the file system cannot lock files. The
    /// caller must then ensure that no other process writes the file: two simultaneous writers lose
    /// each other's changes.
    ///
    /// # Errors
    /// As for [`open`](Index::open), and when another process is found to write the file.
    pub fn edit_unlocked(path: impl AsRef<Path>) -> Result<Self> {
        Index::opened(path.as_ref(), Access::Edit(Locking::WherePossible))
    }

    /// Returns the current version of the index. Any thread with the snapshot can read this
    /// version, even while the index changes. The cost is a few counters, regardless of the index
    /// size. The first removal of items while a snapshot is held copies one bit per item.
    pub fn snapshot(&self) -> Snapshot {
        self.now.clone()
    }

    /// Updates an index [opened](Index::open) for reading to the current version of its file.
    /// Returns whether anything was new. Earlier snapshots do not change.
    ///
    /// Only new changes are read. If compaction or re-encoding has replaced the file, the new file
    /// is opened. For an index in memory or open for changes, this function does nothing.
    ///
    /// # Errors
    /// As for [`open`](Index::open); the index is then unchanged.
    pub fn refresh(&mut self) -> Result<bool> {
        let Some(mut state) = self.file.refreshed(&self.now.state)? else { return Ok(false) };
        (state.kernel, state.structures) = (self.now.state.kernel, self.now.state.structures);
        *self = Index::of(state, std::mem::replace(&mut self.file, OpenFor::Nothing));
        Ok(true)
    }

    /// Chooses the processor instructions for searches; see [`Kernel`].
    pub fn set_kernel(&mut self, kernel: Kernel) {
        Arc::make_mut(&mut self.now.state).kernel = kernel;
    }

    /// Chooses the search structure that searches use, and that they build where it is missing; the
    /// default is the full structure. The choice does not change results. Choosing a smaller
    /// structure than before drops the structures in memory, which are rebuilt when needed. Files
    /// are written with the chosen structure.
    ///
    /// A file contains the search structure of its items, so a new process uses it at once;
    /// [`compact`](Index::compact) rebuilds it. Items in memory get a search structure:
    ///
    /// * after about two thousand queries, when the queries have taken longer than building the
    ///   structure;
    /// * when [`build_search_structures`](Snapshot::build_search_structures) is called;
    /// * [in the background](Index::build_in_background).
    pub fn set_search_structure(&mut self, wanted: SearchStructure) {
        let state = Arc::make_mut(&mut self.now.state);
        if wanted < state.structures {
            state.segments.iter_mut().for_each(|segment| *segment = segment.without_structure());
        }
        state.structures = wanted;
    }

    /// Chooses whether the search structures of items in memory are built on a background thread,
    /// once there are enough items, so that neither searches nor the writer wait. Off by default:
    /// the option is for long-running writers.
    pub fn build_in_background(&mut self, background: bool) {
        let log: Report = Arc::new(|built| {
            // Searches work without a structure, and report damage themselves.
            if let Err(error) = built {
                tracing::warn!(target: "hashbrook::index", "no search structure: {error}");
            }
        });
        self.report_structures(background.then_some(log));
    }

    /// Builds search structures [in the background](Index::build_in_background), and reports each
    /// outcome.
    pub(crate) fn report_structures(&mut self, report: Option<Report>) {
        let state = Arc::make_mut(&mut self.now.state);
        state.background = report;
        state.build_missing_structures();
    }
}
