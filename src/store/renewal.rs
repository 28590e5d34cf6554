//! Background maintenance of codes and index. A thread re-encodes all items when that pays off,
//! into a separate index that then replaces the index in use as a whole. The same thread saves the
//! index from time to time, so that the store opens fast and needs little memory.

use std::time::{Duration, Instant};

use super::answer::Renewing;
use super::compacted::Compaction;
use super::gain::Gain;
use super::quality;
use super::rebuild::{Candidate, rebuild};
use super::settings::Renewal;
use super::shared::{Shared, lock};
use super::tasks::Task;
use super::writer::{Job, Jobs, ask};
use crate::background::Background;
use crate::learner::MeasuredTargets;
use crate::{Result, advice};

/// Interval between checks for work.
const LOOK: Duration = Duration::from_millis(200);

/// Number of rows that must be learned before the gain is measured again: a minimum, and a share of
/// the rows learned before. Computing the function takes as long as learning thousands of rows.
const LOOK_AFTER_ROWS: u64 = 500;
const LOOK_AFTER_SHARE: f64 = 0.05;

/// Once nothing is left to learn, all items are re-encoded regardless of the gain if the codes in
/// use do not reflect at least this share of all rows.
const BEHIND_WHILE_IDLE: f64 = 0.05;

/// Number of rows of the journal that the saved index may lack: a minimum, and a share of all rows.
const WRITE_AFTER_ROWS: u64 = 100_000;
const WRITE_AFTER_SHARE: f64 = 0.25;

/// Factor on the number of rows that the saved index may lack, while items keep arriving: items
/// changed during a checkpoint must be processed a second time.
const WHILE_BUSY: u64 = 4;

/// Items count as arriving if the last one arrived less than this time ago.
const BUSY: Duration = Duration::from_secs(1);

/// Runs the thread until the store is closed. Fails if the index could not be saved at the end.
pub(super) fn run(shared: &Shared, jobs: &Jobs, background: &Background) -> Result<()> {
    let mut keeper = Keeper::new(shared, jobs, background);
    loop {
        let requested = {
            let progress = lock(&shared.progress);
            let at_once = shared.settings.renewal == Renewal::Always;
            let waited = shared.changed.wait_timeout_while(progress, LOOK, |progress| {
                let new = at_once && progress.steps > progress.renewed_steps;
                let due =
                    (new || progress.is_decision_wanted()) && shared.tasks.is_due(Task::Renewal);
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
    // An index that lacks few rows need not be saved: opening the store catches it up quickly.
    match keeper.unwritten() > WRITE_AFTER_ROWS / 10 {
        true => keeper.checkpoint(),
        false => Ok(()),
    }
}

/// Outcome of a check whether all items should be re-encoded.
enum Decision {
    Renew(Candidate),
    /// The codes in use are good enough for everything learned up to a journal position.
    Settled(u64),
    /// The check is repeated once more rows are learned.
    Wait,
}

pub(super) struct Keeper<'a> {
    shared: &'a Shared,
    jobs: &'a Jobs,
    background: &'a Background,
    compaction: Compaction,
    /// Number of learning steps when the gain of re-encoding was last measured.
    looked: u64,
    /// Number of learning steps at the last check, and when this count was reached.
    steps: (u64, Instant),
    /// Row count of the journal at the last check, and when this count was reached.
    rows: (u64, Instant),
}

impl<'a> Keeper<'a> {
    pub(super) fn new(
        shared: &'a Shared,
        jobs: &'a Jobs,
        background: &'a Background,
    ) -> Keeper<'a> {
        let (now, compaction) = (Instant::now(), Compaction::new(shared));
        let (rows, steps) = (shared.moment().rows, lock(&shared.progress).steps);
        let (rows, steps) = ((rows, now), (steps, now));
        Keeper { shared, jobs, background, compaction, looked: 0, steps, rows }
    }

    /// Does the work that is due. A task that fails waits before it is retried, and does not delay
    /// other tasks.
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
            let renewed = self.decide().and_then(|decision| match decision {
                Decision::Renew(candidate) => self.renew_by(candidate).map(|()| true),
                Decision::Settled(position) => {
                    self.settle(position);
                    Ok(false)
                }
                Decision::Wait => Ok(false),
            });
            self.report_renewal(&renewed);
        }
        let moment = self.shared.moment();
        if lock(&self.shared.quality).is_due(moment.version, moment.position) {
            self.measure();
        }
        if !self.shared.settings.learn {
            // With learning off, the learner was only read for its function, and does not differ
            // from its file.
            self.shared.learner.rest(|_| Ok(false)).ok();
        }
        let rows = self.shared.moment().rows;
        if rows != self.rows.0 {
            self.rows = (rows, Instant::now());
        }
        let least = WRITE_AFTER_ROWS.max((rows as f64 * WRITE_AFTER_SHARE) as u64);
        let times = if self.rows.1.elapsed() < BUSY { WHILE_BUSY } else { 1 };
        if self.unwritten() > least * times && tasks.is_due(Task::Checkpoint) {
            // The error is already reported to the supervisor.
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

    /// Records the outcome of a re-encoding, for statistics and the supervisor.
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

    /// Returns the number of rows of the journal that the saved index lacks.
    fn unwritten(&self) -> u64 {
        self.shared.moment().rows.saturating_sub(lock(&self.shared.current).rows)
    }

    /// Decides whether all items should be re-encoded now.
    fn decide(&mut self) -> Result<Decision> {
        let now = lock(&self.shared.progress).clone();
        if now.steps != self.steps.0 {
            self.steps = (now.steps, Instant::now());
        }
        if now.steps <= now.renewed_steps {
            return Ok(Decision::Settled(now.learned));
        }
        let (new, idle) = (now.steps - now.renewed_steps, now.learned >= now.end);
        // Before the warm-up is complete, each function is computed from all warm-up rows.
        if !now.learning.warm && !idle {
            return Ok(Decision::Wait);
        }
        let is_stale = idle && self.steps.1.elapsed() >= self.shared.settings.catch_up_after;
        let renew = match self.shared.settings.renewal {
            Renewal::Never => false,
            Renewal::Always => true,
            Renewal::Every(rows) => new >= rows || is_stale,
            Renewal::Gain(_) => {
                let rests = now.is_decision_wanted() || self.steps.1.elapsed() >= BUSY;
                let far_behind = new as f64 >= BEHIND_WHILE_IDLE * now.steps as f64;
                is_stale || now.renewed_steps < new || idle && rests && far_behind
            }
        };
        let Renewal::Gain(least) = self.shared.settings.renewal else {
            return match renew {
                true => self.candidate().map(Decision::Renew),
                false => Ok(Decision::Settled(now.learned)),
            };
        };
        if renew {
            return self.candidate().map(Decision::Renew);
        }
        let unseen = now.steps.saturating_sub(self.looked);
        if unseen == 0 {
            return Ok(Decision::Settled(now.learned));
        }
        let enough = LOOK_AFTER_ROWS.max((now.learning.rows as f64 * LOOK_AFTER_SHARE) as u64);
        // At the end of a stream, the gain is measured even if few rows are new.
        if unseen < enough && !idle && !now.is_decision_wanted() {
            return Ok(Decision::Wait);
        }
        let candidate = self.candidate()?;
        let gain = Gain::of(self.shared, &candidate.function)?;
        self.looked = candidate.steps;
        let mut renewing = lock(&self.shared.renewing);
        (renewing.would_flip, renewing.would_gain) = (Some(gain.flips), gain.information);
        Ok(match gain.value() >= least {
            true => Decision::Renew(candidate),
            false => Decision::Settled(candidate.position),
        })
    }

    /// Computes the function of the current model.
    fn candidate(&self) -> Result<Candidate> {
        self.background.run(|| {
            let learner = self.shared.learner()?;
            let function = learner.model.try_hash_function()?;
            let mut renewing = lock(&self.shared.renewing);
            renewing.note_targets(&learner.model);
            let Renewing { measured_targets, not_distinguished, .. } = &*renewing;
            if let Some(MeasuredTargets { made_of, candidates, .. }) = measured_targets {
                tracing::info!(
                    target: "hashbrook::store", ?made_of, ?candidates, ?not_distinguished, "made a function"
                );
            }
            drop(renewing);
            Ok(Candidate { function, steps: learner.steps, position: learner.next })
        })
    }

    /// Records that codes are settled up to a position, and wakes the threads that wait for this.
    fn settle(&self, position: u64) {
        if lock(&self.shared.progress).settled < position {
            self.shared.progress(|progress| progress.settled = position);
        }
    }

    /// Re-encodes all items with what is learned now.
    pub(super) fn renew(&mut self) -> Result<()> {
        let renewed = self.finish_exchange().and_then(|_| self.candidate());
        let renewed = renewed.and_then(|candidate| self.renew_by(candidate)).map(|()| true);
        self.report_renewal(&renewed);
        if renewed.is_ok() {
            self.measure();
        }
        renewed.map(drop)
    }

    /// Measures the quality of the codes in use, unless the last attempt failed recently.
    fn measure(&self) {
        if self.shared.tasks.is_due(Task::Measurement) {
            let (shared, moment) = (self.shared, self.shared.moment());
            let is_stopped = || lock(&shared.progress).stop;
            let at = (moment.version, moment.position);
            let held_out = |ids: &[u64]| shared.held_out(ids);
            let measured =
                self.background.run(|| quality::measure(&moment.index, at, held_out, is_stopped));
            let noted = measured.map(|measured| {
                let Some(measured) = measured else { return false };
                *lock(&shared.quality) = measured;
                true
            });
            shared.tasks.report(Task::Measurement, &noted);
        }
    }

    fn renew_by(&mut self, candidate: Candidate) -> Result<()> {
        let started = Instant::now();
        let Candidate { steps, position, .. } = candidate;
        let gain = Gain::of(self.shared, &candidate.function)?;
        self.background.run(|| rebuild(self.shared, self.jobs, Some(candidate)))?;
        let seconds = started.elapsed().as_secs_f64();
        let mut renewing = lock(&self.shared.renewing);
        renewing.done += 1;
        (renewing.flipped, renewing.gained) = (Some(gain.flips), gain.information);
        (renewing.would_flip, renewing.would_gain) = (Some(0.0), None);
        renewing.seconds = Some(seconds);
        drop(renewing);
        tracing::info!(target: "hashbrook::store", flipped = gain.flips, seconds, "re-encoded all items");
        let (bits, labels) =
            (self.shared.description.bits, self.shared.moment().index.label_names().len());
        if advice::is_short(bits, labels) {
            tracing::info!(
                target: "hashbrook::store",
                bits,
                labels,
                "codes are short for the number of labels; `hashbrook advise` measures what longer ones give"
            );
        }
        self.shared.progress(|progress| progress.renewed_steps = steps);
        self.settle(position);
        Ok(())
    }

    /// Saves the index in use.
    pub(super) fn checkpoint(&mut self) -> Result<()> {
        let written = self.finish_exchange();
        let written = written.and_then(|_| {
            self.background.run(|| rebuild(self.shared, self.jobs, None)).map(|()| true)
        });
        self.shared.tasks.report(Task::Checkpoint, &written);
        written.map(drop)
    }
}
