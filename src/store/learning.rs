//! Learning: a thread that goes through the journal and teaches the model what was acknowledged, in that order.

use std::time::{Duration, Instant};

use super::journal::{Change, Cursor};
use super::learner::Learner;
use super::shared::{Shared, lock};
use crate::Result;
use crate::background::Background;

/// So many rows are gathered before they are learned, if they are there already.
const AT_ONCE: usize = 2048;

/// A model is saved when so many rows were learned since, or so much time went by.
const SAVE_AFTER_ROWS: u64 = 200_000;
const SAVE_AFTER: Duration = Duration::from_secs(60);

/// When nothing came for so long, what was learned is written down and taken out of memory.
const REST_AFTER: Duration = Duration::from_secs(20);

/// The thread that learns, until the store is closed.
pub(super) fn run(shared: &Shared, background: &Background) {
    if let Err(error) = background.run(|| follow(shared)) {
        shared.progress(|progress| progress.problem = Some(error.to_string()));
    }
}

fn follow(shared: &Shared) -> Result<()> {
    let mut cursor = Cursor::new(shared.files.clone(), lock(&shared.progress).learned);
    let (mut saved, mut saved_steps) = (Instant::now(), 0);
    loop {
        let (end, stop) = {
            let progress = lock(&shared.progress);
            let waited = shared.changed.wait_timeout_while(progress, REST_AFTER, |progress| {
                progress.end <= cursor.position() && !progress.stop
            });
            let progress = waited.unwrap_or_else(|held| held.into_inner()).0;
            (progress.end, progress.stop)
        };
        if stop {
            break;
        }
        if end <= cursor.position() {
            // Without it, more is learned again after a crash; it is tried again later.
            let _ = shared.learner.rest(|learner| {
                if learner.steps > saved_steps {
                    save(learner, shared)?;
                }
                (saved, saved_steps) = (Instant::now(), learner.steps);
                Ok(())
            });
            continue;
        }
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
        let (steps, learning) = {
            let mut learner = shared.learner()?;
            learner.learn(records, &shared.files, &shared.description)?;
            (learner.steps, learner.learning())
        };
        shared.progress(|progress| {
            (progress.learned, progress.steps) = (cursor.position(), steps);
            progress.learning = learning;
        });
        let due = steps - saved_steps > SAVE_AFTER_ROWS || saved.elapsed() > SAVE_AFTER;
        if due && steps > saved_steps {
            let _ = save(&*shared.learner()?, shared);
            (saved, saved_steps) = (Instant::now(), steps);
        }
    }
    if lock(&shared.progress).steps > saved_steps {
        return save(&*shared.learner()?, shared);
    }
    Ok(())
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
