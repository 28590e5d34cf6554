//! Learning: a thread that goes through the journal and teaches the model what was acknowledged, in that order.

use std::time::{Duration, Instant};

use super::background::Background;
use super::journal::{Change, Cursor};
use super::learner::Learner;
use super::shared::{Shared, lock};
use crate::Result;

/// So many rows are gathered before they are learned, if they are there already.
const AT_ONCE: usize = 2048;

/// A model is saved when so many rows were learned since, or so much time went by.
const SAVE_AFTER_ROWS: u64 = 200_000;
const SAVE_AFTER: Duration = Duration::from_secs(60);

/// The thread that learns, until the store is closed.
pub(super) fn run(shared: &Shared, background: &Background) {
    if let Err(error) = background.run(|| follow(shared)) {
        shared.progress(|progress| progress.problem = Some(error.to_string()));
    }
}

fn follow(shared: &Shared) -> Result<()> {
    let mut cursor = Cursor::new(shared.files.clone(), lock(&shared.learner).position);
    let (mut saved, mut saved_steps) = (Instant::now(), 0);
    loop {
        let end = {
            let mut progress = lock(&shared.progress);
            while progress.end <= cursor.position() && !progress.stop {
                progress = shared.changed.wait(progress).unwrap_or_else(|held| held.into_inner());
            }
            if progress.stop {
                break;
            }
            progress.end
        };
        let (mut records, mut rows) = (Vec::new(), 0);
        while rows < AT_ONCE
            && let Some(record) = cursor.next(end)?
        {
            rows += match &record.change {
                Change::Put(rows) => rows.len(),
                Change::Remove(items) => items.len(),
                Change::LabelNames(..) => 0,
            };
            records.push(record);
        }
        let steps = {
            let mut learner = lock(&shared.learner);
            learner.learn(records, &shared.files, &shared.description)?;
            learner.steps
        };
        shared.progress(|progress| {
            (progress.learned, progress.steps) = (cursor.position(), steps);
        });
        let due = steps - saved_steps > SAVE_AFTER_ROWS || saved.elapsed() > SAVE_AFTER;
        if due && steps > saved_steps {
            // Without it, more is learned again after a crash; it is tried again later.
            let _ = save(&lock(&shared.learner), shared);
            (saved, saved_steps) = (Instant::now(), steps);
        }
    }
    let learner = lock(&shared.learner);
    if learner.steps > saved_steps { save(&learner, shared) } else { Ok(()) }
}

/// Writes a model down, so that what it learned need not be learned again.
fn save(learner: &Learner, shared: &Shared) -> Result<()> {
    let (path, name) = shared.new_file("model");
    learner.model.save(&path)?;
    shared.change_current(|current| {
        current.model = name;
        (current.model_position, current.model_rows) = (learner.position, learner.rows_there);
        current.not_unlearned = learner.not_unlearned;
    })
}
