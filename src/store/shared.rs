//! State that the threads of a store share.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};

use super::answer::{Learning, Renewing};
use super::current::{Current, LOCK};
use super::description::Description;
use super::held_out::HeldOut;
use super::journal::{Files, OpenFiles};
use super::on_demand::{InHand, OnDemand, load};
use super::quality::Measurement;
use super::settings::Settings;
use super::tasks::{Task, Tasks};
use crate::background::Background;
use crate::disk::{self, File, Identity};
use crate::{Error, IdNames, Result, Snapshot};

/// Snapshot that readers see: everything acknowledged up to a journal position, with codes of one
/// version.
pub(super) struct Moment {
    pub(super) version: u64,
    pub(super) index: Snapshot,
    pub(super) position: u64,
    /// Number of rows of the journal up to `position`.
    pub(super) rows: u64,
    /// Journal files that positions in the index refer to; they stay open as long as the snapshot.
    pub(super) _files: OpenFiles,
}

/// Progress of the threads.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    /// Journal position up to which changes are acknowledged.
    pub(super) end: u64,
    /// Journal position up to which changes are learned.
    pub(super) learned: u64,
    /// Number of rows that were learned or unlearned since the store was created.
    pub(super) steps: u64,
    /// Number of these steps that the codes in use reflect.
    pub(super) renewed_steps: u64,
    /// Number of these steps that the saved model reflects.
    pub(super) saved_steps: u64,
    /// State of learning for the statistics, without the amount that is still to be learned.
    pub(super) learning: Learning,
    /// Number of requests to re-encode, and number of requests that were answered.
    pub(super) asked: u64,
    pub(super) answered: u64,
    /// Journal position up to which everything is learned, and up to which the codes are as current
    /// as the policy demands.
    pub(super) settled: u64,
    /// Highest journal position up to which a caller waits for everything to be settled.
    pub(super) wanted: u64,
    /// Reason why the last re-encoding failed.
    pub(super) renewal_problem: Option<String>,
    pub(super) stop: bool,
}

pub(super) struct Shared {
    pub(super) directory: PathBuf,
    pub(super) description: Description,
    pub(super) settings: Settings,
    pub(super) files: Arc<Files>,
    pub(super) moment: RwLock<Arc<Moment>>,
    /// Strings that ids stand for, where ids are strings. Strings are never removed.
    pub(super) texts: RwLock<IdNames>,
    pub(super) progress: Mutex<Progress>,
    pub(super) changed: Condvar,
    pub(super) learner: OnDemand,
    pub(super) current: Mutex<Current>,
    pub(super) quality: Mutex<Measurement>,
    pub(super) renewing: Mutex<Renewing>,
    /// Threads that encode inserted items.
    pub(super) encoders: Background,
    pub(super) tasks: Tasks,
    /// Held while positions of rows change, and while positions are compared with the journal.
    pub(super) layout: Mutex<()>,
    /// Keeps other processes out.
    pub(super) lock: File,
    /// Device and inode of the lock file.
    pub(super) lock_identity: Option<Identity>,
    /// Part of the names of new files; see [`Current::next_name`].
    pub(super) mark: u32,
}

impl Progress {
    /// Returns whether a caller waits only for the policy to decide, because all its rows are
    /// learned.
    pub(super) fn is_decision_wanted(&self) -> bool {
        self.wanted > self.settled && self.learned >= self.wanted
    }
}

/// Locks a mutex, even if a thread panicked while it held the lock: no value is ever left partly
/// changed.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(super) fn moment(&self) -> Arc<Moment> {
        self.moment.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn publish(&self, moment: Moment) {
        *self.moment.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(moment);
    }

    /// Changes the progress, and wakes all threads that wait for progress.
    pub(super) fn progress(&self, change: impl FnOnce(&mut Progress)) {
        change(&mut lock(&self.progress));
        self.changed.notify_all();
    }

    /// Returns the estimated number of bytes of the journal that no item needs.
    pub(super) fn dead_bytes(&self, moment: &Moment) -> u64 {
        let dead = moment.rows.saturating_sub(moment.index.len() as u64);
        let bytes = self.files.bytes_up_to(moment.position) as f64;
        (bytes * dead as f64 / moment.rows.max(1) as f64) as u64
    }

    /// Returns the given ids whose items are held out.
    pub(super) fn held_out(&self, ids: &[u64]) -> Vec<u64> {
        let held_out = HeldOut::new(self.description.held_out);
        let texts = self.texts.read().unwrap_or_else(PoisonError::into_inner);
        let is_held_out = |id: &u64| held_out.contains(*id, texts.name(*id).unwrap_or_default());
        ids.iter().copied().filter(is_held_out).collect()
    }

    /// Returns the learner, read from its file if it is not in memory.
    pub(super) fn learner(&self) -> Result<InHand<'_>> {
        self.learner.get(|| {
            let steps = lock(&self.progress).steps;
            load(&lock(&self.current), &self.directory, steps)
        })
    }

    /// Fails if the directory is no longer the one that was opened: it was moved or deleted, or
    /// another directory took its name.
    pub(super) fn check_place(&self) -> Result<()> {
        let path = self.directory.join(LOCK);
        let found = match disk::identity_at(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            found => Some(found.map_err(Error::io(&path))?),
        };
        if found == Some(self.lock_identity) {
            return Ok(());
        }
        Err(Error::NotAsOpened {
            path: self.directory.clone(),
            problem: "another program moved, deleted or replaced the directory".to_owned(),
        })
    }

    /// Changes the files in use. The change is durable before any thread sees it.
    pub(super) fn change_current(&self, change: impl FnOnce(&mut Current)) -> Result<()> {
        self.change_current_and(change, || ())
    }

    /// Changes the files in use; `then` runs once the change is durable and before any thread sees
    /// it.
    pub(super) fn change_current_and(
        &self,
        change: impl FnOnce(&mut Current),
        then: impl FnOnce(),
    ) -> Result<()> {
        let mut current = lock(&self.current);
        let mut next = current.clone();
        change(&mut next);
        self.check_place()?;
        next.save(&self.directory)?;
        then();
        let before = std::mem::replace(&mut *current, next);
        // Files that cannot be removed only take up space; they are removed when the store is next
        // opened.
        let removed = before.remove_replaced(&current, &self.directory).map(|()| true);
        self.tasks.report(Task::Cleanup, &removed);
        Ok(())
    }

    /// Returns the path and the name of a new file of a kind.
    pub(super) fn new_file(&self, kind: &str) -> Result<(PathBuf, String)> {
        self.check_place()?;
        let name = lock(&self.current).next_name(kind, self.mark);
        Ok((self.directory.join(&name), name))
    }
}
