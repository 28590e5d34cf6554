//! Learning thread: reads the journal and lets the model learn all changes in the order of
//! acknowledgement.

use std::time::{Duration, Instant};

use super::journal::Cursor;
use super::learner::{Learner, Source};
use super::shared::{Shared, lock};
use super::tasks::Task;
use crate::Result;
use crate::background::Background;

/// Maximum number of rows that are learned at once.
const AT_ONCE: usize = 2048;

/// The model is saved again after this number of rows, or this time, since the last save.
const SAVE_AFTER_ROWS: u64 = 200_000;
const SAVE_AFTER: Duration = Duration::from_secs(60);

/// Time without changes after which the model is saved and leaves memory.
const REST_AFTER: Duration = Duration::from_secs(20);

/// Runs the thread that learns, until the store is closed. Fails if what was learned last could not
/// be saved.
pub(super) fn run(shared: &Shared, background: &Background) -> Result<()> {
    let mut saved = Instant::now();
    loop {
        let (end, stop) = {
            let progress = lock(&shared.progress);
            let wait = match shared.tasks.wait(Task::Learning) {
                Duration::ZERO => REST_AFTER,
                after_failure => after_failure,
            };
            let failed = !shared.tasks.is_due(Task::Learning);
            let waited = shared.changed.wait_timeout_while(progress, wait, |progress| {
                (progress.end <= progress.learned || failed) && !progress.stop
            });
            let progress = waited.unwrap_or_else(|held| held.into_inner()).0;
            (progress.end, progress.stop)
        };
        if stop {
            return save_last(shared);
        }
        if !shared.tasks.is_due(Task::Learning) {
            continue;
        }
        if end > lock(&shared.progress).learned {
            let learned = background.run(|| learn_some(shared));
            shared.tasks.report(Task::Learning, &learned);
            // Wakes threads that wait for learning, so that they see its problem.
            shared.progress(|_| ());
            save_if_due(shared, &mut saved);
        } else {
            rest(shared, &mut saved);
        }
    }
}

/// Learns the next rows of the journal; returns whether there were any. After an error the learner
/// is discarded, and learning continues from the last saved model.
pub(super) fn learn_some(shared: &Shared) -> Result<bool> {
    let mut learner = shared.learner()?;
    let end = lock(&shared.progress).end;
    let learned = read_and_learn(&mut learner, shared, end);
    let (position, steps, learning) = match &learned {
        Ok(_) => (learner.next, learner.steps, Some(learner.learning())),
        Err(_) => {
            // The learner may have learned a part of the rows.
            let steps = learner.steps;
            learner.discard();
            (lock(&shared.current).model_position, steps, None)
        }
    };
    drop(learner);
    shared.progress(|progress| {
        (progress.learned, progress.steps) = (position, steps);
        if let Some(learning) = learning {
            progress.learning = learning;
        }
    });
    learned
}

pub(super) fn read_and_learn(learner: &mut Learner, shared: &Shared, end: u64) -> Result<bool> {
    let mut cursor = Cursor::new(shared.files.clone(), learner.next);
    let (mut records, mut rows) = (Vec::new(), 0);
    while rows < AT_ONCE
        && let Some(record) = cursor.next(end)?
    {
        rows += record.change.rows();
        records.push(record);
    }
    if records.is_empty() {
        // The journal continues in another file.
        learner.skip_to(cursor.position());
        return Ok(false);
    }
    let start = lock(&shared.current).journal_start;
    let (files, description) = (&shared.files, &shared.description);
    learner.learn(records, Source { files, start, description })?;
    Ok(true)
}

/// Saves the model if enough was learned since the last save, unless saving waits after a failure.
/// The model stays in memory.
fn save_if_due(shared: &Shared, saved: &mut Instant) {
    let (steps, saved_steps) = {
        let progress = lock(&shared.progress);
        (progress.steps, progress.saved_steps)
    };
    let due = steps > saved_steps + SAVE_AFTER_ROWS || saved.elapsed() > SAVE_AFTER;
    if due && steps > saved_steps && shared.tasks.is_due(Task::Saving) {
        let outcome = shared.learner().and_then(|learner| save(&learner, shared));
        if outcome.is_ok() {
            *saved = Instant::now();
        }
        shared.tasks.report(Task::Saving, &outcome);
    }
}

/// Saves the model and drops it from memory. If it cannot be saved, it stays in memory.
fn rest(shared: &Shared, saved: &mut Instant) {
    if !shared.tasks.is_due(Task::Saving) {
        return;
    }
    let outcome = shared.learner.rest(|learner| save(learner, shared));
    if outcome.is_ok() {
        *saved = Instant::now();
    }
    shared.tasks.report(Task::Saving, &outcome);
}

/// Saves what was learned since the last save, when the store is closed.
fn save_last(shared: &Shared) -> Result<()> {
    if !shared.learner.is_in_memory() {
        return Ok(());
    }
    let outcome = shared.learner().and_then(|learner| save(&learner, shared));
    shared.tasks.report(Task::Saving, &outcome);
    outcome.map(drop)
}

/// Saves a model with its position in the journal; returns whether there was anything new to save.
pub(super) fn save(learner: &Learner, shared: &Shared) -> Result<bool> {
    let is_saved = {
        let current = lock(&shared.current);
        (current.model_position, current.model_rows) == (learner.position, learner.rows_there)
            && lock(&shared.progress).saved_steps == learner.steps
    };
    if is_saved {
        return Ok(false);
    }
    let (path, name) = shared.new_file("model")?;
    learner.model.save(&path)?;
    shared.change_current(|current| {
        current.model = name;
        (current.model_position, current.model_rows) = (learner.position, learner.rows_there);
        (current.model_steps, current.not_unlearned) = (learner.steps, learner.not_unlearned_there);
    })?;
    let steps = learner.steps;
    shared.progress(|progress| progress.saved_steps = steps);
    Ok(true)
}
