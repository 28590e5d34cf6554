//! [`Store`]: a durable collection that learns from what is put in, keeps the codes of all its items current, and
//! is searched all the while.
//!
//! A store is a folder. Its journal has every change in the order in which it was acknowledged, and is the truth; the
//! model and the index follow from it, and are written down so that it opens fast. One thread changes a store,
//! one learns, and one makes codes anew; readers wait for none of them.

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

/// A collection in a folder: vectors under ids, with labels and payloads, that are durable once they are
/// acknowledged. It learns from those with labels, makes the codes of all of them anew as the function moves, and
/// finds the nearest. All its methods take `&self`: share it among threads.
///
/// ```
/// use hashbrook::dataset::{Digits, digits};
/// use hashbrook::store::{Description, ItemId, Put, Queries, Search, Settings};
/// use hashbrook::{Features, Method, Store};
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path().join("digits");
/// let mut description = Description::new(Method::named("brook")?, Digits::DIM, 32);
/// description.warmup = Some(200);
/// let store = Store::create(&folder, &description, Settings::default())?;
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
    /// The threads that learn, and that re-encode.
    threads: Vec<JoinHandle<Result<()>>>,
    writer: Option<JoinHandle<()>>,
}

/// Where it is, and not what is in it.
impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let items = self.shared.moment().index.len();
        f.debug_struct("Store")
            .field("folder", &self.shared.folder)
            .field("items", &items)
            .finish_non_exhaustive()
    }
}

/// Making and opening.
impl Store {
    /// Makes a store in a folder that is not there yet, or empty.
    ///
    /// # Errors
    /// When the folder has something in it or cannot be written, or the description is out of range.
    pub fn create(
        dir: impl AsRef<Path>,
        description: &Description,
        settings: Settings,
    ) -> Result<Store> {
        settings.check()?;
        open::create(dir.as_ref(), description)?;
        Store::open(dir, settings)
    }

    /// Opens a store, for this process alone.
    ///
    /// # Errors
    /// When there is none ([`ErrorKind::NotFound`](crate::ErrorKind::NotFound)), another process has it open
    /// ([`Error::InUse`]), or it is damaged.
    pub fn open(dir: impl AsRef<Path>, settings: Settings) -> Result<Store> {
        let Opened { shared, jobs, threads, writer } = open::open(dir.as_ref(), settings)?;
        Ok(Store { shared, jobs, threads, writer: Some(writer) })
    }

    /// Fails unless a store can be made in a folder: it is not there, or empty, or has only what is left of a store
    /// whose making was cut off.
    ///
    /// # Errors
    /// [`Error::NotEmpty`], or when the folder cannot be read.
    pub fn check_free(dir: impl AsRef<Path>) -> Result<()> {
        open::check_free(dir.as_ref())
    }

    /// Whether there is a store in a folder.
    pub fn exists(dir: impl AsRef<Path>) -> bool {
        Description::is_in(dir.as_ref())
    }

    /// What it is made of.
    pub fn description(&self) -> &Description {
        &self.shared.description
    }

    /// Ends it: what is derived is written down, so that it opens fast. Dropping a store does the same, and
    /// cannot tell of errors; nothing is lost without.
    ///
    /// # Errors
    /// When something could not be written.
    pub fn close(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        self.shared.progress(|progress| progress.stop = true);
        let mut closed = Ok(());
        for thread in self.threads.drain(..) {
            // A thread that panicked has nothing more to do either.
            closed = closed.and(thread.join().unwrap_or(Ok(())));
        }
        let Some(writer) = self.writer.take() else { return closed };
        let written = ask(&self.jobs, &self.shared, Job::Close);
        writer.join().ok();
        let (lock, folder) = (&self.shared.lock, &self.shared.folder);
        let closed = closed.and(written).and_then(|()| open::note_closed(lock, folder));
        // Readers may still hold what is shared, and must not keep others from opening the store.
        closed.and(lock.unlock().map_err(Error::io(folder)))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Changes. They are on the disk when a call returns.
impl Store {
    /// Puts items in, in the place of those with the same ids: all of them, or none. They can be found when the call
    /// returns; those with labels are learned after that.
    ///
    /// # Errors
    /// When an id is given twice or is of the wrong kind, or vectors have another dimension or are too long
    /// ([`Error::TooLong`]); nothing was changed then. When the disk is full or fails: the outcome is unknown until the
    /// store is opened again. Items may be put again under the same ids.
    pub fn put(&self, items: Put<'_>) -> Result<Acknowledged> {
        items.features.expect_dim(self.shared.description.dim)?;
        check_lengths(items.features)?;
        check_ids(items.ids, self.shared.description.ids)?;
        check_payloads(items.ids, items.payloads)?;
        ask(&self.jobs, &self.shared, |reply| Job::Put(OwnedPut::new(items), reply))
    }

    /// Gives items other labels, which are learned in the place of those they had.
    ///
    /// # Errors
    /// When an item is not there ([`Error::NoItem`]) or given twice, or the disk is full; nothing was changed then.
    pub fn label(&self, ids: &[ItemId], labels: &[Vec<String>]) -> Result<Acknowledged> {
        if ids.len() != labels.len() {
            return Err(Error::LabelCount { rows: ids.len(), labels: labels.len() });
        }
        check_ids(ids, self.shared.description.ids)?;
        let (ids, labels) = (ids.to_vec(), labels.to_vec());
        ask(&self.jobs, &self.shared, |reply| Job::Label(ids, labels, reply))
    }

    /// Removes those of the items that are there.
    ///
    /// # Errors
    /// When an id is of the wrong kind, or the disk is full; nothing was changed then.
    pub fn remove(&self, ids: &[ItemId]) -> Result<Removed> {
        let ids = ids.to_vec();
        ask(&self.jobs, &self.shared, |reply| Job::Remove(ids, reply))
    }
}

/// Searches. None of them waits for a change.
impl Store {
    /// The store of now, to read it.
    pub fn reader(&self) -> Reader {
        Reader::new(self.shared.clone())
    }

    /// The `k` nearest items to each query, in the store of now.
    ///
    /// # Errors
    /// As for [`Reader::search`].
    pub fn search(&self, queries: Queries<'_>, k: usize, search: &Search) -> Result<Answer> {
        self.reader().search(queries, k, search)
    }

    /// All items up to a distance from each query, in the store of now.
    ///
    /// # Errors
    /// As for [`Reader::within`].
    pub fn within(&self, queries: Queries<'_>, radius: u32, search: &Search) -> Result<Answer> {
        self.reader().within(queries, radius, search)
    }

    /// An item, if it is there.
    ///
    /// # Errors
    /// When what is stored is damaged.
    pub fn get(&self, id: &ItemId) -> Result<Option<StoredItem>> {
        self.reader().get(id)
    }

    /// What it holds and does, in numbers.
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
            // Positions in different files of the journal are far apart: only their bytes can be compared.
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

/// Learning, and what follows from it.
impl Store {
    /// Waits until all that was acknowledged up to a position is learned and [searchable](Wait::Searchable). A position
    /// that the store has not reached, as one of another store may be, stands for all that was acknowledged so far.
    ///
    /// # Errors
    /// When learning or re-encoding fails, or learning is turned off.
    pub fn wait(&self, position: u64) -> Result<()> {
        self.wait_until(position, Wait::Searchable, None).map(drop)
    }

    /// Waits until all that was acknowledged up to a position is [learned](Wait::Learned), whatever the codes in use know.
    ///
    /// # Errors
    /// When learning fails, or is turned off.
    pub fn wait_learned(&self, position: u64) -> Result<()> {
        self.wait_until(position, Wait::Learned, None).map(drop)
    }

    /// Waits at most for a time; returns whether the wait is over.
    ///
    /// # Errors
    /// As for [`wait`](Store::wait).
    pub fn wait_up_to(&self, position: u64, wait: Wait, time: Duration) -> Result<bool> {
        self.wait_until(position, wait, Some(Instant::now() + time))
    }

    fn wait_until(&self, position: u64, wait: Wait, end: Option<Instant>) -> Result<bool> {
        let stopped =
            |problem: String| Err(Error::Stopped { path: self.shared.folder.clone(), problem });
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
                // A failure wakes nobody by itself.
                time => time.unwrap_or(Duration::MAX).min(Duration::from_secs(1)),
            };
            let woken = self.shared.changed.wait_timeout(progress, time);
            progress = woken.unwrap_or_else(|held| held.into_inner()).0;
        }
    }

    /// Makes all codes anew by what is learned now, and waits until they are in use; the new version.
    ///
    /// # Errors
    /// When that fails; the codes in use stay.
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
                path: self.shared.folder.clone(),
                problem: format!("codes were not made anew: {problem}"),
            }),
            None => Ok(self.shared.moment().version),
        }
    }

    /// The model as it is now.
    ///
    /// # Errors
    /// When its file cannot be read: it is in memory only while there is something to learn.
    pub fn model(&self) -> Result<Model> {
        Ok(self.shared.learner()?.model.clone())
    }
}

/// Keeping it safe.
impl Store {
    /// Copies the whole store, as it is at one moment, to a folder that is not there yet; it can be opened there.
    ///
    /// # Errors
    /// When the folder is there or cannot be written; nothing is left of it then.
    pub fn snapshot(&self, to: impl AsRef<Path>) -> Result<()> {
        backup::copy(&self.shared, to.as_ref())
    }

    /// The same without items that were replaced or removed, which take room for as long as a store is
    /// ([`Stats::dead_bytes`]). What is learned stays learned, and what is still to be learned or taken back is in the copy.
    ///
    /// # Errors
    /// As for [`Store::snapshot`].
    pub fn compact_to(&self, to: impl AsRef<Path>) -> Result<()> {
        backup::into_new(to.as_ref(), |made| compacted::fill(&self.shared, made))
    }

    /// Repairs a store that is damaged, in another directory, which must not exist yet. All that the journal still has is
    /// copied, and the index and the model are rebuilt from it unless they are sound. The original stays as it is.
    ///
    /// # Errors
    /// When a process has the store open ([`Error::InUse`]), nothing says what the store is made of, or something cannot
    /// be read or written.
    pub fn repair(dir: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<Repaired> {
        repair::repair(dir.as_ref(), Some(to.as_ref()))
    }

    /// The same in place: the damaged store is moved to a directory next to it, which [`Repaired::damaged`] names.
    ///
    /// # Errors
    /// As for [`repair`](Store::repair); the store then is as it was.
    pub fn repair_in_place(dir: impl AsRef<Path>) -> Result<Repaired> {
        repair::repair(dir.as_ref(), None)
    }

    /// Reads everything that is stored and compares it with its checksums, and codes with items.
    ///
    /// # Errors
    /// When something is damaged.
    pub fn verify(&self) -> Result<()> {
        backup::verify(&self.shared)
    }
}
