//! Learner that is read into memory when it is needed and dropped otherwise: a model may be larger
//! than all codes.
//!
//! The model may take more memory than the codes of millions of items (3,000 x 3,000 numbers for
//! 3,000 anchors), so the learner is in memory only while there is something to learn. It is read
//! when rows arrive, and saved and dropped after 20 seconds without new rows.

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::current::Current;
use super::learner::Learner;
use crate::{Model, Result};

/// Learner that may be in memory.
pub(super) struct OnDemand {
    /// Held by the thread whose turn is next. Otherwise the learning thread would take the learner
    /// again before other threads wake up.
    turn: Mutex<()>,
    learner: Mutex<Option<Learner>>,
}

/// Exclusive access to a learner.
pub(super) struct InHand<'a>(MutexGuard<'a, Option<Learner>>);

impl OnDemand {
    pub(super) fn new(learner: Option<Learner>) -> OnDemand {
        OnDemand { turn: Mutex::default(), learner: Mutex::new(learner) }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Learner>> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.learner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the learner, which is read if it is not in memory.
    pub(super) fn get(&self, read: impl FnOnce() -> Result<Learner>) -> Result<InHand<'_>> {
        let mut held = self.lock();
        if held.as_ref().is_none_or(Learner::is_spoilt) {
            *held = None;
            *held = Some(read()?);
        }
        Ok(InHand(held))
    }

    pub(super) fn is_in_memory(&self) -> bool {
        self.lock().as_ref().is_some_and(|learner| !learner.is_spoilt())
    }

    /// Drops the learner from memory, if it is in memory, has no buffered rows, and `save`
    /// succeeds. Returns whether something was saved.
    pub(super) fn rest(&self, save: impl FnOnce(&Learner) -> Result<bool>) -> Result<bool> {
        let mut held = self.lock();
        let mut saved = false;
        let fit = |learner: &&Learner| !learner.is_waiting() && !learner.is_spoilt();
        if let Some(learner) = held.as_ref().filter(fit) {
            saved = save(learner)?;
            *held = None;
        }
        Ok(saved)
    }
}

impl Deref for InHand<'_> {
    type Target = Learner;

    fn deref(&self) -> &Learner {
        self.0.as_ref().expect("it was read")
    }
}

impl DerefMut for InHand<'_> {
    fn deref_mut(&mut self) -> &mut Learner {
        self.0.as_mut().expect("it was read")
    }
}

/// Reads the last saved learner; `steps` is the number of its learning steps.
pub(super) fn load(current: &Current, directory: &Path, steps: u64) -> Result<Learner> {
    let model = Model::load(current.model_path(directory))?;
    let (position, rows) = (current.model_position, current.model_rows);
    Ok(Learner::new(model, position, rows, current.not_unlearned, steps))
}
