//! Codes that follow what is learned: a thread that makes all of them anew when that pays, in an index of its own
//! that takes the place of the one in use as a whole. The same thread writes the index down from time to time, so
//! that the store opens fast and needs little memory.

use std::time::{Duration, Instant};

use super::compacted::Compaction;
use super::gain::Gain;
use super::rebuild::rebuild;
use super::settings::Renewal;
use super::shared::{Shared, lock};
use super::tasks::Task;
use super::writer::{Job, Jobs, ask};
use crate::background::Background;
use crate::{HashFunction, Result};

/// How often it looks whether there is something to do.
const LOOK: Duration = Duration::from_millis(200);

/// Rows that must be learned, at least and as a share of those before, until it is looked at again what would be
/// gained: finding the function takes as long as learning thousands of rows.
const LOOK_AFTER_ROWS: u64 = 500;
const LOOK_AFTER_SHARE: f64 = 0.05;

/// Rows of the journal that the index on the disk may not know of, at least and as a share of all.
const WRITE_AFTER_ROWS: u64 = 100_000;
const WRITE_AFTER_SHARE: f64 = 0.25;

/// While items keep coming in, so many times as many: they would have to be gone over again.
const WHILE_BUSY: u64 = 4;

/// Items keep coming in if the last came less than this ago.
const BUSY: Duration = Duration::from_secs(1);

/// Runs the thread, until the store is closed. Fails if the index could not be written at the end.
pub(super) fn run(shared: &Shared, jobs: &Jobs, background: &Background) -> Result<()> {
    let mut keeper = Keeper::new(shared, jobs, background);
    loop {
        let requested = {
            let progress = lock(&shared.progress);
            let at_once = shared.settings.renewal == Renewal::Always;
            let waited = shared.changed.wait_timeout_while(progress, LOOK, |progress| {
                let new = progress.steps > progress.renewed_steps;
                let due = at_once && new && shared.tasks.is_due(Task::Renewal);
                !progress.stop && progress.asked == progress.answered && !due
            });
            let progress = waited.unwrap_or_else(|held| held.into_inner()).0;
            if progress.stop {
                break;
            }
            (progress.asked > progress.answered).then_some(progress.asked)
        };
        match requested {
            Some(requested) => {
                let renewed = keeper.renew();
                shared.progress(|progress| {
                    progress.answered = requested;
                    progress.renewal_problem = renewed.as_ref().err().map(ToString::to_string);
                });
            }
            None => keeper.keep(),
        }
    }
    // What is rebuilt in a moment need not be written.
    match keeper.unwritten() > WRITE_AFTER_ROWS / 10 {
        true => keeper.checkpoint(),
        false => Ok(()),
    }
}

pub(super) struct Keeper<'a> {
    shared: &'a Shared,
    jobs: &'a Jobs,
    background: &'a Background,
    compaction: Compaction,
    /// Rows that were learned when it was last checked what a renewal would gain.
    looked: u64,
    /// Row count of the journal at the last check, and when it was reached.
    rows: (u64, Instant),
}

impl<'a> Keeper<'a> {
    pub(super) fn new(
        shared: &'a Shared,
        jobs: &'a Jobs,
        background: &'a Background,
    ) -> Keeper<'a> {
        let (rows, compaction) = ((shared.moment().rows, Instant::now()), Compaction::new(shared));
        Keeper { shared, jobs, background, compaction, looked: 0, rows }
    }

    /// Does what is due. Each task that fails waits before it is tried again, and holds up no other.
    fn keep(&mut self) {
        let tasks = &self.shared.tasks;
        if tasks.problem(Task::Journal).is_some() && tasks.is_due(Task::Journal) {
            let probed = ask(self.jobs, self.shared, Job::Probe);
            tasks.report(Task::Journal, &probed);
        }
        if tasks.is_due(Task::Compaction) {
            let exchanged = self.finish_exchange();
            tasks.report(Task::Compaction, &exchanged);
            if exchanged.is_err() {
                return;
            }
        }
        if tasks.is_due(Task::Renewal) {
            let due = self.due();
            let renewed = match due {
                Ok(Some(function)) => self.renew_by(function).map(|()| true),
                Ok(None) => Ok(false),
                Err(error) => Err(error),
            };
            self.report_renewal(&renewed);
        }
        if !self.shared.settings.learn {
            // It was read for its function, and is as it was saved.
            self.shared.learner.rest(|_| Ok(false)).ok();
        }
        let rows = self.shared.moment().rows;
        if rows != self.rows.0 {
            self.rows = (rows, Instant::now());
        }
        let least = WRITE_AFTER_ROWS.max((rows as f64 * WRITE_AFTER_SHARE) as u64);
        let times = if self.rows.1.elapsed() < BUSY { WHILE_BUSY } else { 1 };
        if self.unwritten() > least * times && tasks.is_due(Task::Checkpoint) {
            // The supervisor has the error.
            self.checkpoint().ok();
        }
        if tasks.problem(Task::Structures).is_some() && tasks.is_due(Task::Structures) {
            let index = &self.shared.moment().index;
            let built = self.background.run(|| index.build_search_structures());
            tasks.report(Task::Structures, &built.map(|()| true));
        }
        if tasks.is_due(Task::Compaction) {
            let compacted = self.compact();
            tasks.report(Task::Compaction, &compacted);
        }
    }

    /// Takes note of how a renewal ended, for stats and the supervisor.
    fn report_renewal(&self, renewed: &Result<bool>) {
        {
            let mut renewing = lock(&self.shared.renewing);
            renewing.progress = None;
            renewing.problem = renewed.as_ref().err().map(ToString::to_string);
        }
        self.shared.tasks.report(Task::Renewal, renewed);
    }

    /// Does the next step of compaction, if one is due.
    pub(super) fn compact(&mut self) -> Result<bool> {
        let Keeper { shared, jobs, background, compaction, .. } = self;
        background.run(|| compaction.step(shared, jobs))
    }

    pub(super) fn finish_exchange(&mut self) -> Result<bool> {
        let Keeper { shared, jobs, background, compaction, .. } = self;
        background.run(|| compaction.finish_exchange(shared, jobs))
    }

    /// Rows of the journal that the index on the disk does not know of.
    fn unwritten(&self) -> u64 {
        self.shared.moment().rows.saturating_sub(lock(&self.shared.current).rows)
    }

    /// The function by which all codes should be made anew, if they should.
    fn due(&mut self) -> Result<Option<HashFunction>> {
        let (steps, renewed, idle) = {
            let progress = lock(&self.shared.progress);
            (progress.steps, progress.renewed_steps, progress.learned >= progress.end)
        };
        let new = steps.saturating_sub(renewed);
        if new == 0 {
            return Ok(None);
        }
        match self.shared.settings.renewal {
            Renewal::Never => Ok(None),
            Renewal::Always => self.function().map(Some),
            Renewal::Every(rows) if new >= rows => self.function().map(Some),
            Renewal::Every(_) => Ok(None),
            Renewal::Gain(least) => {
                let learned = lock(&self.shared.progress).learning.rows as f64;
                let wait = LOOK_AFTER_ROWS.max((learned * LOOK_AFTER_SHARE) as u64);
                // At the end of a stream few rows are left over, which count as well.
                if steps - self.looked.min(steps) < wait && !(idle && steps > self.looked) {
                    return Ok(None);
                }
                let function = self.function()?;
                let gain = Gain::of(self.shared, &function)?;
                self.looked = steps;
                let mut renewing = lock(&self.shared.renewing);
                (renewing.would_flip, renewing.would_gain) = (Some(gain.flips), gain.information);
                Ok((gain.value() >= least).then_some(function))
            }
        }
    }

    fn function(&self) -> Result<HashFunction> {
        self.background.run(|| self.shared.learner()?.model.try_hash_function())
    }

    /// Re-encodes all items by what is learned now.
    pub(super) fn renew(&mut self) -> Result<()> {
        let renewed = self.finish_exchange().and_then(|_| self.function());
        let renewed = renewed.and_then(|function| self.renew_by(function)).map(|()| true);
        self.report_renewal(&renewed);
        renewed.map(drop)
    }

    fn renew_by(&mut self, function: HashFunction) -> Result<()> {
        let (started, steps) = (Instant::now(), lock(&self.shared.progress).steps);
        let gain = Gain::of(self.shared, &function)?;
        self.background.run(|| rebuild(self.shared, self.jobs, Some(function)))?;
        let seconds = started.elapsed().as_secs_f64();
        let mut renewing = lock(&self.shared.renewing);
        renewing.done += 1;
        (renewing.flipped, renewing.gained) = (Some(gain.flips), gain.information);
        (renewing.would_flip, renewing.would_gain) = (Some(0.0), None);
        renewing.seconds = Some(seconds);
        drop(renewing);
        tracing::info!(target: "hashbrook::store", flipped = gain.flips, seconds, "re-encoded all items");
        self.shared.progress(|progress| progress.renewed_steps = steps);
        Ok(())
    }

    /// Writes the index as it is.
    pub(super) fn checkpoint(&mut self) -> Result<()> {
        let written = self.finish_exchange();
        let written = written.and_then(|_| {
            self.background.run(|| rebuild(self.shared, self.jobs, None)).map(|()| true)
        });
        self.shared.tasks.report(Task::Checkpoint, &written);
        written.map(drop)
    }
}
