//! Supervisor of background work: records what each task did, why it fails, and when it is retried.
//!
//! Learning, saving, renewal, measurement of quality, checkpoints, search structures, compaction
//! and cleanup each have a count of successes and failures, the last problem with its time, and a
//! wait after failures that doubles from half a second to a minute. Failures to write to the
//! journal are recorded in the same way: after a refused change `renewal.rs` probes the journal
//! until it can be written. Stats, metrics, `/readyz`, the page and the log read the same states. A
//! learner that failed halfway is dropped, and the last saved learner is read; a learner that
//! cannot be saved stays in memory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::answer::TaskStatus;
use crate::Result;
use crate::index::Report;

/// Kind of background work. The journal is included, although callers wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Writing changes to the journal.
    Journal,
    /// Learning from the journal.
    Learning,
    /// Saving the model.
    Saving,
    /// Re-encoding all items under a newer function.
    Renewal,
    /// Measuring the quality of search.
    Measurement,
    /// Writing the index, so that opening is fast.
    Checkpoint,
    /// Building the search structures of items in memory.
    Structures,
    /// Reclaiming dead rows of the journal.
    Compaction,
    /// Removing files that were replaced.
    Cleanup,
}

const TASKS: [(Task, &str); 9] = [
    (Task::Journal, "journal"),
    (Task::Learning, "learning"),
    (Task::Saving, "saving"),
    (Task::Renewal, "renewal"),
    (Task::Measurement, "measurement"),
    (Task::Checkpoint, "checkpoint"),
    (Task::Structures, "structures"),
    (Task::Compaction, "compaction"),
    (Task::Cleanup, "cleanup"),
];

/// First and longest wait after a failure; each further failure doubles the wait.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

#[derive(Default)]
struct State {
    done: u64,
    failures: u64,
    /// Problem of the last attempt, and the start of the current series of failures.
    problem: Option<(String, SystemTime)>,
    wait: Duration,
    not_before: Option<Instant>,
}

/// All tasks of a store. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Tasks(Arc<[Mutex<State>; TASKS.len()]>);

impl Tasks {
    fn state(&self, task: Task) -> MutexGuard<'_, State> {
        self.0[task as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records an outcome: work was done, there was nothing to do (`false`), or an error, after
    /// which the task [waits](Tasks::is_due).
    pub(super) fn report(&self, task: Task, outcome: &Result<bool>) {
        let name = TASKS[task as usize].1;
        let mut state = self.state(task);
        match outcome {
            Ok(done) => {
                state.done += u64::from(*done);
                if let Some((problem, _)) = state.problem.take() {
                    tracing::info!(target: "hashbrook::store", task = name, "recovered from: {problem}");
                } else if *done && task != Task::Journal {
                    tracing::debug!(target: "hashbrook::store", task = name, done = state.done, "done");
                }
                (state.wait, state.not_before) = (Duration::ZERO, None);
            }
            Err(error) => {
                state.failures += 1;
                state.wait = (2 * state.wait).clamp(FIRST_WAIT, LONGEST_WAIT);
                state.not_before = Some(Instant::now() + state.wait);
                let since = state.problem.take().map_or_else(SystemTime::now, |(_, since)| since);
                let wait = state.wait.as_secs_f64();
                tracing::warn!(
                    target: "hashbrook::store",
                    task = name, failures = state.failures, retry_in_seconds = wait, "failed: {error}"
                );
                state.problem = Some((error.to_string(), since));
            }
        }
    }

    /// Returns a callback for an index to report the outcome of building its search structures.
    pub(super) fn for_structures(&self) -> Report {
        let tasks = self.clone();
        Arc::new(move |built| tasks.report(Task::Structures, built))
    }

    /// Returns whether a task may be tried, that is, does not wait after a failure.
    pub(super) fn is_due(&self, task: Task) -> bool {
        self.state(task).not_before.is_none_or(|at| Instant::now() >= at)
    }

    /// Returns the time that a task still waits after a failure.
    pub(super) fn wait(&self, task: Task) -> Duration {
        let not_before = self.state(task).not_before;
        not_before.map_or(Duration::ZERO, |at| at.saturating_duration_since(Instant::now()))
    }

    /// Returns the reason why a task fails, if it does.
    pub(super) fn problem(&self, task: Task) -> Option<String> {
        self.state(task).problem.as_ref().map(|(problem, _)| problem.clone())
    }

    pub(super) fn status(&self) -> Vec<TaskStatus> {
        let status = |(task, name): (Task, &'static str)| {
            let state = self.state(task);
            let seconds = |since: &SystemTime| {
                since.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs())
            };
            TaskStatus {
                task: name,
                done: state.done,
                failures: state.failures,
                problem: state.problem.as_ref().map(|(problem, _)| problem.clone()),
                since: state.problem.as_ref().map(|(_, since)| seconds(since)),
            }
        };
        TASKS.into_iter().map(status).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn failures_are_told_waited_out_and_forgotten() {
        let tasks = Tasks::default();
        assert!(TASKS.iter().enumerate().all(|(at, (task, _))| *task as usize == at));
        assert!(tasks.is_due(Task::Saving) && tasks.problem(Task::Saving).is_none());
        let full = || Err(Error::NoFunction);
        tasks.report(Task::Saving, &full());
        let first = tasks.wait(Task::Saving);
        tasks.report(Task::Saving, &full());
        assert!(!tasks.is_due(Task::Saving) && tasks.is_due(Task::Renewal));
        assert!(tasks.wait(Task::Saving) > first);
        let saving = &tasks.status()[Task::Saving as usize];
        assert_eq!((saving.task, saving.failures, saving.done), ("saving", 2, 0));
        assert!(saving.problem.is_some() && saving.since.is_some());
        for _ in 0..20 {
            tasks.report(Task::Saving, &full());
        }
        assert!(tasks.wait(Task::Saving) <= LONGEST_WAIT);
        tasks.report(Task::Saving, &Ok(true));
        assert!(tasks.is_due(Task::Saving) && tasks.problem(Task::Saving).is_none());
        assert_eq!(tasks.status()[Task::Saving as usize].done, 1);
    }
}
