//! [`Index`]: exact search by Hamming distance.
//!
//! An index writes, a [`Snapshot`] reads. The way of a query goes down through the folders, and no
//! import goes back up: `view`, `snapshot`, `search` (what is asked, segment by segment), `duplicates`
//! and `structure` with `tables` and `buckets` (what can be passed over), `scan` (tiles of codes against
//! queries), `segment` (columns). `file` keeps what `state` holds.

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
/// [`save`](Snapshot::save) writes to a file. [`open`](Index::open) maps such a file, without reading
/// it whole, to search in it; any number of processes can. [`edit`](Index::edit) opens it to change
/// it, which one process can at a time: a change is in the file when the call returns, and whoever
/// opens the file sees it wholly or not at all, however the writer ended. Readers keep seeing what
/// was there when they opened it, until they [`refresh`](Index::refresh). [`load`](Index::load) copies
/// a file into memory.
///
/// # Reading beside a writer
///
/// All that is read is a [`Snapshot`]'s: the index itself is used as the snapshot of now.
/// [`snapshot`](Index::snapshot) makes one to keep, for other threads, which never wait for the writer
/// and see what they see for as long as they hold it.
pub struct Index {
    now: Snapshot,
    file: OpenFor,
}

/// Its size, and not its items.
impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.now.describe(f.debug_struct("Index"))
    }
}

/// What is read of an index is read of the snapshot of now.
impl Deref for Index {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        &self.now
    }
}

impl Index {
    /// An index in memory for vectors, which are encoded by this function. Its labels are called what
    /// the function's are, until [told otherwise](Index::set_label_names).
    pub fn new(function: HashFunction) -> Self {
        let layout = Layout::new(function.bits());
        Index::of(State::empty(layout, Some(function), None), OpenFor::Nothing)
    }

    /// An index in memory that keeps the vectors of its items beside their codes, as the function
    /// [prepares](HashFunction::prepared) them: to [rank](Snapshot::rerank) by them what the codes find,
    /// and to [encode](Index::renew_kept) them anew under a newer function.
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

    /// Chooses the score that hits are re-ranked by, if the index keeps vectors: cosine unless told otherwise. It holds for
    /// the index in memory, and for the files that it is [saved](Snapshot::save) to.
    #[must_use]
    pub fn ranked_by(mut self, metric: VectorMetric) -> Self {
        Arc::make_mut(&mut self.now.state).metric = metric;
        self
    }

    /// An index in memory for codes of a length, from 1 to [`MAX_BITS`](crate::MAX_BITS).
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

    /// Opens a file to search in it. What is read of it is checked when it is first looked at.
    ///
    /// The file is mapped: its bytes are read where they are when a search first needs them, shared
    /// with all processes that have it open, and stay in memory for as long as there is room. This
    /// needs files that are replaced and never changed in place, as this library does it. Of other
    /// programs, `mv` does no harm; but `cp other.index this.index` writes over the bytes that are
    /// mapped. A search that finds its file cut short or written over fails with
    /// [`Error::NotAsOpened`](crate::Error::NotAsOpened). If that happens in the midst of a search, or the disk fails, the
    /// operating system ends the process by a bus error (`SIGBUS`). Bytes that are changed in the
    /// midst of the file, after they were first looked at, are seen by [`verify`](Snapshot::verify)
    /// alone. Where any of this cannot be ruled out, [`load`](Index::load) the file.
    ///
    /// # Errors
    /// When the file cannot be read, is not an index, is cut short or damaged, or was written by a
    /// newer version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Index::opened(path.as_ref(), Access::Map)
    }

    /// Reads a whole file into memory, where nobody can change it. The index knows nothing of the
    /// file any more: changes are in memory alone until it is [saved](Snapshot::save).
    ///
    /// # Errors
    /// As for [`open`](Index::open).
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Index::opened(path.as_ref(), Access::Load)
    }

    /// Opens a file to change it, for this process alone. It is mapped, as by
    /// [`open`](Index::open).
    ///
    /// # Errors
    /// As for [`open`](Index::open), when another process writes it, and where the file system cannot
    /// keep other processes from writing it ([`Error::CannotLock`](crate::Error::CannotLock)).
    pub fn edit(path: impl AsRef<Path>) -> Result<Self> {
        Index::opened(path.as_ref(), Access::Edit(Locking::Required))
    }

    /// Like [`edit`](Index::edit), also where the file system cannot lock files. There, two writers
    /// at once lose each other's changes: that no other process writes is for you to see to.
    ///
    /// # Errors
    /// As for [`open`](Index::open), and when another process is seen to write it.
    pub fn edit_unlocked(path: impl AsRef<Path>) -> Result<Self> {
        Index::opened(path.as_ref(), Access::Edit(Locking::WherePossible))
    }

    /// What it holds now, to be read for as long as one likes, in any thread, whatever is changed
    /// meanwhile. It costs a few counters, whatever the size of the index; removing items while a
    /// snapshot is held copies one bit for each item once.
    pub fn snapshot(&self) -> Snapshot {
        self.now.clone()
    }

    /// Follows the writer of a file that was [opened](Index::open) for reading: from now on the index has
    /// what is in the file now. Returns whether anything was new. Snapshots that were taken before stay
    /// as they are.
    ///
    /// Only new changes are read. If the file was compacted or renewed, another stands in its place, and
    /// that is opened. An index in memory, or one that is open for changes, has nothing to follow.
    ///
    /// # Errors
    /// As for [`open`](Index::open); the index is then as it was.
    pub fn refresh(&mut self) -> Result<bool> {
        let Some(mut state) = self.file.refreshed(&self.now.state)? else { return Ok(false) };
        (state.kernel, state.structures) = (self.now.state.kernel, self.now.state.structures);
        *self = Index::of(state, std::mem::replace(&mut self.file, OpenFor::Nothing));
        Ok(true)
    }

    /// Takes other instructions for searches; see [`Kernel`].
    pub fn set_kernel(&mut self, kernel: Kernel) {
        Arc::make_mut(&mut self.now.state).kernel = kernel;
    }

    /// Chooses the search structure that searches use, and build where there is none: a full one unless told otherwise.
    /// Searches find the same with each. If a smaller one than before is chosen, structures are dropped from memory, and
    /// built again as they are needed; files are written with the one that is chosen.
    ///
    /// A file has the search structure of its items from the start, so a fresh process uses it at once, and
    /// [`compact`](Index::compact) rebuilds it. Items in memory get one:
    ///
    /// * after about two thousand queries, when these have taken longer than building it;
    /// * when [`build_search_structures`](Snapshot::build_search_structures) is called;
    /// * [in the background](Index::build_in_background).
    pub fn set_search_structure(&mut self, wanted: SearchStructure) {
        let state = Arc::make_mut(&mut self.now.state);
        if wanted < state.structures {
            state.segments.iter_mut().for_each(|segment| *segment = segment.without_structure());
        }
        state.structures = wanted;
    }

    /// Whether the search structures of items in memory are built on a thread of their own, as soon as
    /// there are enough of them, so that neither searches nor the writer wait for them. Not unless told
    /// so: it is for a writer that stays.
    pub fn build_in_background(&mut self, background: bool) {
        let log: Report = Arc::new(|built| {
            // Searches work without it, and report what is damaged.
            if let Err(error) = built {
                tracing::warn!(target: "hashbrook::index", "no search structure: {error}");
            }
        });
        self.report_structures(background.then_some(log));
    }

    /// Builds search structures [in the background](Index::build_in_background), and reports each outcome.
    pub(crate) fn report_structures(&mut self, report: Option<Report>) {
        let state = Arc::make_mut(&mut self.now.state);
        state.background = report;
        state.build_missing_structures();
    }
}
