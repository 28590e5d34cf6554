//! What the threads of a store share.

use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};

use super::answer::{Learning, Renewing};
use super::current::Current;
use super::description::Description;
use super::journal::Files;
use super::on_demand::{InHand, OnDemand, load};
use super::quality::Window;
use super::settings::Settings;
use crate::background::Background;
use crate::{IdNames, Result, Snapshot};

/// What readers see: codes of one version, of all that was acknowledged up to a place in the journal.
pub(super) struct Moment {
    pub(super) version: u64,
    pub(super) index: Snapshot,
    pub(super) position: u64,
    /// Rows of the journal up to there.
    pub(super) rows: u64,
}

/// How far the threads are.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// How far the journal is acknowledged.
    pub(super) end: u64,
    /// How far it was learned.
    pub(super) learned: u64,
    /// Rows that were learned or taken back since the store was opened.
    pub(super) steps: u64,
    /// Those of them that the codes in use know of.
    pub(super) renewed_steps: u64,
    /// What is told of learning, but for how far it is behind.
    pub(super) learning: Learning,
    /// Why learning stands still.
    pub(super) problem: Option<String>,
    /// How many times someone asked for new codes, and how many of these were answered.
    pub(super) asked: u64,
    pub(super) answered: u64,
    /// Why the last renewal failed.
    pub(super) renewal_problem: Option<String>,
    pub(super) stop: bool,
}

pub(super) struct Shared {
    pub(super) folder: PathBuf,
    pub(super) description: Description,
    pub(super) settings: Settings,
    pub(super) files: Arc<Files>,
    pub(super) moment: RwLock<Arc<Moment>>,
    /// What ids stand for, where they are texts. None is ever taken out.
    pub(super) texts: RwLock<IdNames>,
    pub(super) progress: Mutex<Progress>,
    pub(super) changed: Condvar,
    pub(super) learner: OnDemand,
    pub(super) current: Mutex<Current>,
    pub(super) quality: Mutex<Window>,
    pub(super) renewing: Mutex<Renewing>,
    /// Make the codes of items that come in.
    pub(super) encoders: Background,
    /// Keeps other processes out.
    pub(super) lock: File,
}

/// The content of a mutex. A thread that panicked while it held it left what was there: nothing is changed in
/// parts.
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

    /// Changes how far something is, and wakes whoever waits for that.
    pub(super) fn progress(&self, change: impl FnOnce(&mut Progress)) {
        change(&mut lock(&self.progress));
        self.changed.notify_all();
    }

    /// The learner, read from its file if it is not in memory.
    pub(super) fn learner(&self) -> Result<InHand<'_>> {
        self.learner.get(|| {
            let steps = lock(&self.progress).steps;
            load(&lock(&self.current), &self.folder, steps)
        })
    }

    /// Makes other files count: what is changed is on the disk before anyone sees it.
    pub(super) fn change_current(&self, change: impl FnOnce(&mut Current)) -> Result<()> {
        let mut current = lock(&self.current);
        let mut next = current.clone();
        change(&mut next);
        next.save(&self.folder)?;
        let before = std::mem::replace(&mut *current, next);
        before.remove_replaced(&current, &self.folder);
        Ok(())
    }

    /// The path of a new file of a kind, and its name.
    pub(super) fn new_file(&self, kind: &str) -> (PathBuf, String) {
        let name = lock(&self.current).next_name(kind);
        (self.folder.join(&name), name)
    }
}
