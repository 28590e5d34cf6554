//! The learner, which is read into memory when it is needed, and dropped when it is not: what it has learned may be
//! larger than all codes.

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::current::Current;
use super::learner::Learner;
use crate::{Model, Result};

/// A learner that may be in memory.
pub(super) struct OnDemand {
    /// Held by who is next to have it: the thread that learns would else have it again before others wake up.
    turn: Mutex<()>,
    learner: Mutex<Option<Learner>>,
}

/// A learner that nobody else has meanwhile.
pub(super) struct InHand<'a>(MutexGuard<'a, Option<Learner>>);

impl OnDemand {
    pub(super) fn new(learner: Option<Learner>) -> OnDemand {
        OnDemand { turn: Mutex::default(), learner: Mutex::new(learner) }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Learner>> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.learner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The learner, which is read if it is not in memory.
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

    /// Takes the learner out of memory, if it is there, no rows wait in it, and `save` has saved it; returns whether
    /// something was saved.
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

/// The learner as it was last written down, after so many steps.
pub(super) fn load(current: &Current, folder: &Path, steps: u64) -> Result<Learner> {
    let model = Model::load(current.model_path(folder))?;
    let (position, rows) = (current.model_position, current.model_rows);
    Ok(Learner::new(model, position, rows, current.not_unlearned, steps))
}
