//! [`Store`]: a durable collection that learns from its items, keeps the codes of all items
//! current, and stays searchable throughout.
//!
//! A store is a directory. Its journal is the source of truth: it contains every change in the
//! order of acknowledgement. The model and the index are derived from the journal, and are saved so
//! that the store opens fast. One thread applies changes, one learns, and one re-encodes items;
//! readers never wait for these threads.

// Notes for maintainers.
//
// # How does a store lose nothing?
//
// A store is a directory with a journal: every change, in the order of acknowledgement, in
// append-only files. A `put` is one record with a checksum. The record contains the names of new
// labels. Each row has its own checksum, so that it can be read alone. One thread writes. Changes
// that arrive while this thread waits for the disk are written together, synced with one call,
// applied to the index, shown to readers, and only then acknowledged.
//
// `journal/end` records the acknowledged end. The file is written after the journal is synced, so
// it never points past synced data; every record before the end must be sound. Opening distrusts
// whatever follows the end. Readable bytes may not be on the disk: a killed process may not have
// synced them, and after a failed sync Linux treats unwritten pages as clean. Before anything new
// is written, opening therefore rewrites and syncs complete records after the end, syncs
// directories, and cuts off the rest. When a write or sync fails, the end of the journal is in
// doubt: the next change first cuts the file back to its last acknowledged end and syncs the file.
// If that fails, the next change is refused as well.
//
// Everything else follows from the journal. The index stores, next to each code, the journal
// position of the item (`index/placed.rs`). So the index also locates items, and one snapshot of
// the index is a consistent state of the whole store. The index is saved when items are re-encoded,
// and when the journal has grown by a quarter; the model is saved every minute while it learns.
// `current.json` names both files and the journal position that each reflects, and is replaced as a
// whole. Opening reads the records after these positions. `repair.rs` rebuilds index and model from
// whatever is sound in a damaged journal (`journal/salvage.rs`).
//
// Before each commit the writer compares its open lock file with the file at that path, by device
// and inode, so that it never writes to a directory that was moved, deleted or replaced.
//
// Relabelling an item writes the item again with its new labels, so put and remove are the only
// kinds of changes. Each change records the old positions of the items that it replaces or removes:
// the learner reads there what to unlearn.
//
// # Which threads have priority?
//
// Searches have priority over everything else. Codes of inserted items are made on threads of lower
// priority; learning, re-encoding and search structures run on threads of the lowest priority
// (`background.rs`). One thread builds the structures of new segments one after the other. It waits
// a second after a segment was created, in case the segment is merged by then. While items keep
// arriving, the index is saved a quarter as often.
//
// # Why is the model of a store the same after a crash?
//
// The learner reads only the journal. With all methods except `bsodh`, the resulting model does not
// depend on how rows are split into batches, so rows are learned as they arrive. For `bsodh`, rows
// are buffered until a batch is full, and the position of the first buffered row is recorded. Rows
// are unlearned when the learner reaches the change that removes them. Before the end of the
// warm-up nothing can be unlearned: the model starts over with the remaining rows.
//
// # Why not an embedded database?
//
// redb was the candidate. `cargo bench --package hashbrook --bench store` inserts the same items
// (128 dimensions) into both; each batch is durable before the next begins. The store also computes
// codes and an index. Microseconds per item, store and redb: 435 and 298 in puts of 1 item; 11.4
// and 11.9 in puts of 100; 2.9 and 5.4 in puts of 10,000; 4.0 and 5.4 for a get among 200,000. An
// item takes 560 bytes in the journal and 1,347 in redb's file. Learning needs a journal in any
// case: it reads changes in the order of acknowledgement.

mod answer;
mod backup;
mod compacted;
mod current;
mod description;
#[cfg(test)]
mod faults;
mod gain;
mod held_out;
mod inline;
mod item;
mod journal;
mod learner;
mod learning;
mod on_demand;
mod open;
mod part;
mod quality;
mod reader;
mod rebuild;
mod renewal;
mod repair;
mod settings;
mod shared;
#[cfg(test)]
mod simulation;
mod tasks;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub use self::answer::{
    Acknowledged, Answer, Found, Learning, Loss, MeasuredOn, Quality, Queries, Removed, Renewing,
    Repaired, Search, Stats, TaskStatus, Wait,
};
pub use self::description::{Description, IdKind, VectorPrecision};
pub use self::item::{ItemId, Put, StoredItem};
use self::open::Opened;
pub use self::reader::Reader;
pub use self::settings::{Renewal, Settings};
use self::shared::{Shared, lock};
use self::tasks::Task;
use self::writer::{Job, Jobs, OwnedPut, ask, check_ids, check_lengths, check_payloads};
use crate::{Error, Model, Result};

/// Collection of items in a directory: vectors with ids, labels and payloads. Items are durable
/// once acknowledged. A store learns from its labelled items, re-encodes all items as the hash
/// function changes, and finds the nearest items. All methods take `&self`, so a store can be
/// shared between threads.
///
/// ```
/// use hashbrook::dataset::{Digits, digits};
/// use hashbrook::store::{Description, ItemId, Put, Queries, Search, Settings};
/// use hashbrook::{Features, Method, Store};
///
/// # let directory = tempfile::tempdir()?;
/// # let directory = directory.path().join("digits");
/// let mut description = Description::new(Method::named("brook")?, Digits::DIM, 32);
/// description.warmup = Some(200);
/// let store = Store::create(&directory, &description, Settings::default())?;
///
/// let Digits { features, labels } = digits();
/// let ids: Vec<ItemId> = (0..1000).map(ItemId::Number).collect();
/// let names: Vec<Vec<String>> = labels[..1000].iter().map(|label| vec![label.to_string()]).collect();
/// let vectors = Features::new(&features[..1000 * Digits::DIM], Digits::DIM)?;
/// let put = store.put(Put::new(&ids, vectors)?.labels(&names)?)?;
///
/// // It learns in the background, and re-encodes all items when that pays; here we wait for both.
/// store.wait_learned(put.position)?;
/// let version = store.renew()?;
///
/// let query = Features::new(&features[1200 * Digits::DIM..][..Digits::DIM], Digits::DIM)?;
/// let found = store.search(Queries::Vectors(query), 10, &Search::default())?;
/// assert_eq!(found.version, version);
/// assert_eq!(found.results[0][0].labels, [labels[1200].to_string()]);
/// store.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Store {
    shared: Arc<Shared>,
    jobs: Jobs,
    /// Threads that learn and re-encode.
    threads: Vec<JoinHandle<Result<()>>>,
    writer: Option<JoinHandle<()>>,
}

/// Prints the directory and the number of items, not the items.
impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let items = self.shared.moment().index.len();
        f.debug_struct("Store")
            .field("directory", &self.shared.directory)
            .field("items", &items)
            .finish_non_exhaustive()
    }
}

/// Creating and opening.
impl Store {
    /// Creates a store in a directory that does not exist yet or is empty.
    ///
    /// # Errors
    /// Fails if the directory is not empty or cannot be written, or if the description is out of
    /// range.
    pub fn create(
        dir: impl AsRef<Path>,
        description: &Description,
        settings: Settings,
    ) -> Result<Store> {
        settings.check()?;
        open::create(dir.as_ref(), description)?;
        Store::open(dir, settings)
    }

    /// Opens a store for exclusive use by this process.
    ///
    /// # Errors
    /// Fails if there is no store in the directory
    /// ([`ErrorKind::NotFound`](crate::ErrorKind::NotFound)), if another process has the store open
    /// ([`Error::InUse`]), or if the store is damaged.
    pub fn open(dir: impl AsRef<Path>, settings: Settings) -> Result<Store> {
        let Opened { shared, jobs, threads, writer } = open::open(dir.as_ref(), settings)?;
        Ok(Store { shared, jobs, threads, writer: Some(writer) })
    }

    /// Fails unless a store can be created in a directory. The directory must be missing, be empty,
    /// or contain only the remains of a store whose creation was interrupted.
    ///
    /// # Errors
    /// [`Error::NotEmpty`], or an error if the directory cannot be read.
    pub fn check_free(dir: impl AsRef<Path>) -> Result<()> {
        open::check_free(dir.as_ref())
    }

    /// Returns whether a directory contains a store.
    pub fn exists(dir: impl AsRef<Path>) -> bool {
        Description::is_in(dir.as_ref())
    }

    /// Returns the description that the store was created with.
    pub fn description(&self) -> &Description {
        &self.shared.description
    }

    /// Closes the store and saves its derived data, so that it opens fast. Dropping a store does
    /// the same but cannot report errors. A store that is not closed loses no acknowledged change.
    ///
    /// # Errors
    /// Fails if the derived data could not be written.
    pub fn close(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        self.shared.progress(|progress| progress.stop = true);
        let mut closed = Ok(());
        for thread in self.threads.drain(..) {
            // A thread that panicked has nothing left to write either.
            closed = closed.and(thread.join().unwrap_or(Ok(())));
        }
        let Some(writer) = self.writer.take() else { return closed };
        let written = ask(&self.jobs, &self.shared, Job::Close);
        writer.join().ok();
        let (lock, directory) = (&self.shared.lock, &self.shared.directory);
        let closed = closed.and(written).and_then(|()| open::note_closed(lock, directory));
        // Readers may outlive the store. The lock is released here, so that they do not keep other
        // processes from opening it.
        closed.and(lock.unlock().map_err(Error::io(directory)))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Changes. They are durable when a call returns.
impl Store {
    /// Inserts either all of the items or none, replacing items with the same ids. Searches find
    /// the items when the call returns; labelled items are learned later.
    ///
    /// # Errors
    /// Fails without any change if an id is given twice or is of the wrong kind, or if vectors have
    /// another dimension or are too long ([`Error::TooLong`]). If the disk is full or fails, the
    /// outcome is unknown until the store is opened again. It is safe to insert the same items
    /// again.
    pub fn put(&self, items: Put<'_>) -> Result<Acknowledged> {
        items.features.expect_dim(self.shared.description.dim)?;
        check_lengths(items.features)?;
        check_ids(items.ids, self.shared.description.ids)?;
        check_payloads(items.ids, items.payloads)?;
        ask(&self.jobs, &self.shared, |reply| Job::Put(OwnedPut::new(items), reply))
    }

    /// Replaces the labels of items. The new labels are learned in place of the old ones.
    ///
    /// # Errors
    /// Fails without any change if an item does not exist ([`Error::NoItem`]) or is given twice, or
    /// if the disk is full.
    pub fn label(&self, ids: &[ItemId], labels: &[Vec<String>]) -> Result<Acknowledged> {
        if ids.len() != labels.len() {
            return Err(Error::LabelCount { rows: ids.len(), labels: labels.len() });
        }
        check_ids(ids, self.shared.description.ids)?;
        let (ids, labels) = (ids.to_vec(), labels.to_vec());
        ask(&self.jobs, &self.shared, |reply| Job::Label(ids, labels, reply))
    }

    /// Removes items; ids of items that do not exist are ignored.
    ///
    /// # Errors
    /// Fails without any change if an id is of the wrong kind or the disk is full.
    pub fn remove(&self, ids: &[ItemId]) -> Result<Removed> {
        let ids = ids.to_vec();
        ask(&self.jobs, &self.shared, |reply| Job::Remove(ids, reply))
    }
}

/// Searches. A search never waits for a change.
impl Store {
    /// Returns a reader of the current version of the store.
    pub fn reader(&self) -> Reader {
        Reader::new(self.shared.clone())
    }

    /// Returns the `k` nearest items to each query, in the current version of the store.
    ///
    /// # Errors
    /// Same as [`Reader::search`].
    pub fn search(&self, queries: Queries<'_>, k: usize, search: &Search) -> Result<Answer> {
        self.reader().search(queries, k, search)
    }

    /// Returns all items up to a distance from each query, in the current version of the store.
    ///
    /// # Errors
    /// Same as [`Reader::within`].
    pub fn within(&self, queries: Queries<'_>, radius: u32, search: &Search) -> Result<Answer> {
        self.reader().within(queries, radius, search)
    }

    /// Returns an item, if it exists.
    ///
    /// # Errors
    /// Fails if the stored data is damaged.
    pub fn get(&self, id: &ItemId) -> Result<Option<StoredItem>> {
        self.reader().get(id)
    }

    /// Returns counts and sizes of the store, and the state of its background work.
    pub fn stats(&self) -> Stats {
        let moment = self.shared.moment();
        let journal_bytes = self.shared.files.bytes_up_to(moment.position);
        let items = moment.index.len();
        let dead_bytes = self.shared.dead_bytes(&moment);
        let progress = lock(&self.shared.progress);
        let mut learning = progress.learning.clone();
        let tasks = &self.shared.tasks;
        let stopped = tasks.problem(Task::Learning).or_else(|| tasks.problem(Task::Saving));
        learning.problem = stopped.or(learning.problem);
        learning.enabled = self.shared.settings.learn;
        if progress.learned < progress.end {
            // Positions in different files of the journal are far apart, so only byte counts can be
            // compared.
            let bytes = |position| self.shared.files.bytes_up_to(position);
            learning.behind_bytes = bytes(progress.end).saturating_sub(bytes(progress.learned));
            let share = learning.behind_bytes as f64 / journal_bytes.max(1) as f64;
            learning.behind_rows = (share * moment.rows as f64).ceil() as u64;
        }
        let mut renewal = lock(&self.shared.renewing).clone();
        renewal.lag_rows = progress.steps.saturating_sub(progress.renewed_steps);
        renewal.policy = self.shared.settings.renewal;
        renewal.catch_up_seconds = self.shared.settings.catch_up_after.as_secs_f64();
        Stats {
            items,
            version: moment.version,
            labels: moment.index.label_names().len(),
            journal_bytes,
            dead_bytes,
            learning,
            renewal,
            quality: lock(&self.shared.quality).quality(),
            tasks: tasks.status(),
        }
    }
}

/// Learning and re-encoding.
impl Store {
    /// Waits until everything acknowledged up to a position is learned and
    /// [searchable](Wait::Searchable). A position beyond the end of the journal, such as a position
    /// of another store, is treated as the end.
    ///
    /// # Errors
    /// Fails if learning or re-encoding fails, or if learning is turned off.
    pub fn wait(&self, position: u64) -> Result<()> {
        self.wait_until(position, Wait::Searchable, None).map(drop)
    }

    /// Waits until everything acknowledged up to a position is [learned](Wait::Learned), whether or
    /// not the codes in use reflect what was learned.
    ///
    /// # Errors
    /// Fails if learning fails or is turned off.
    pub fn wait_learned(&self, position: u64) -> Result<()> {
        self.wait_until(position, Wait::Learned, None).map(drop)
    }

    /// Waits like [`wait`](Store::wait) or [`wait_learned`](Store::wait_learned), but at most for
    /// `time`. Returns whether the state was reached.
    ///
    /// # Errors
    /// Same as [`wait`](Store::wait).
    pub fn wait_up_to(&self, position: u64, wait: Wait, time: Duration) -> Result<bool> {
        self.wait_until(position, wait, Some(Instant::now() + time))
    }

    fn wait_until(&self, position: u64, wait: Wait, end: Option<Instant>) -> Result<bool> {
        let stopped =
            |problem: String| Err(Error::Stopped { path: self.shared.directory.clone(), problem });
        if !self.shared.settings.learn {
            return stopped("it was opened not to learn".to_owned());
        }
        let mut progress = lock(&self.shared.progress);
        let position = position.min(progress.end);
        if wait == Wait::Searchable && progress.wanted < position {
            progress.wanted = position;
            self.shared.changed.notify_all();
        }
        loop {
            let (task, reached) = match wait {
                Wait::Searchable if progress.learned >= position => {
                    (Task::Renewal, progress.settled)
                }
                _ => (Task::Learning, progress.learned),
            };
            if progress.stop || progress.learned >= position && reached >= position {
                return Ok(true);
            }
            if let Some(problem) = self.shared.tasks.problem(task) {
                let failed = if task == Task::Learning { "learning" } else { "re-encoding" };
                return stopped(format!("{failed} failed and is tried again: {problem}"));
            }
            let time = match end.map(|end| end.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => return Ok(false),
                // A failure does not wake waiting threads.
                time => time.unwrap_or(Duration::MAX).min(Duration::from_secs(1)),
            };
            let woken = self.shared.changed.wait_timeout(progress, time);
            progress = woken.unwrap_or_else(|held| held.into_inner()).0;
        }
    }

    /// Re-encodes all items with what is learned now, waits until the new codes are in use, and
    /// returns their version.
    ///
    /// # Errors
    /// Fails if re-encoding fails; the codes in use stay.
    pub fn renew(&self) -> Result<u64> {
        let mut asked = 0;
        self.shared.progress(|progress| {
            progress.asked += 1;
            asked = progress.asked;
        });
        let waits = |progress: &mut shared::Progress| progress.answered < asked && !progress.stop;
        let progress = self.shared.changed.wait_while(lock(&self.shared.progress), waits);
        let progress = progress.unwrap_or_else(|held| held.into_inner());
        match &progress.renewal_problem {
            Some(problem) => Err(Error::Stopped {
                path: self.shared.directory.clone(),
                problem: format!("items were not re-encoded: {problem}"),
            }),
            None => Ok(self.shared.moment().version),
        }
    }

    /// Returns a copy of the current model.
    ///
    /// # Errors
    /// Fails if the model's file cannot be read. The file is needed when no rows are left to learn,
    /// because the model is then not in memory.
    pub fn model(&self) -> Result<Model> {
        Ok(self.shared.learner()?.model.clone())
    }
}

/// Backup, repair and verification.
impl Store {
    /// Copies the whole store, in its current version, to a directory that does not exist yet. The
    /// copy can be opened there.
    ///
    /// # Errors
    /// Fails if the directory exists or cannot be written; an incomplete copy is removed.
    pub fn snapshot(&self, to: impl AsRef<Path>) -> Result<()> {
        backup::copy(&self.shared, to.as_ref())
    }

    /// Copies the store without replaced and removed items, which otherwise occupy space for as
    /// long as the store exists ([`Stats::dead_bytes`]). The copy keeps the model, and the changes
    /// that are still to be learned or unlearned.
    ///
    /// # Errors
    /// Same as [`Store::snapshot`].
    pub fn compact_to(&self, to: impl AsRef<Path>) -> Result<()> {
        backup::into_new(to.as_ref(), |made| compacted::fill(&self.shared, made))
    }

    /// Repairs a damaged store into another directory, which must not exist yet. All sound records
    /// of the journal are copied. A damaged index or model is rebuilt from these records. The
    /// original does not change.
    ///
    /// # Errors
    /// Fails if a process has the store open ([`Error::InUse`]), if both copies of the description
    /// are lost, or if a file cannot be read or written.
    pub fn repair(dir: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<Repaired> {
        repair::repair(dir.as_ref(), Some(to.as_ref()))
    }

    /// Repairs a damaged store in place: the damaged store is moved to a directory next to it,
    /// which [`Repaired::damaged`] names.
    ///
    /// # Errors
    /// Same as [`repair`](Store::repair); the store does not change then.
    pub fn repair_in_place(dir: impl AsRef<Path>) -> Result<Repaired> {
        repair::repair(dir.as_ref(), None)
    }

    /// Reads all stored data, compares it with its checksums, and compares codes with items.
    ///
    /// # Errors
    /// Fails if anything is damaged.
    pub fn verify(&self) -> Result<()> {
        backup::verify(&self.shared)
    }
}
