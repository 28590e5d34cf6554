//! Codes that follow what is learned: a thread that makes all of them anew when that pays, in an index of its own
//! that takes the place of the one in use as a whole. The same thread writes the index down from time to time, so
//! that the store opens fast and needs little memory.

use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use super::gain::Gain;
use super::rebuild::rebuild;
use super::settings::Renewal;
use super::shared::{Shared, lock};
use super::writer::Job;
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

/// After something failed it is tried again after a while.
const AFTER_FAILURE: Duration = Duration::from_secs(5);

/// The thread, until the store is closed.
pub(super) fn run(shared: &Shared, jobs: &Sender<Job>, background: &Background) {
    let now = Instant::now();
    let rows = (shared.moment().rows, now);
    let mut keeper = Keeper { shared, jobs, background, looked: 0, rows, not_before: now };
    loop {
        let asked = {
            let progress = lock(&shared.progress);
            let at_once = shared.settings.renewal == Renewal::Always;
            let waited = shared.changed.wait_timeout_while(progress, LOOK, |progress| {
                let due = at_once && progress.steps > progress.renewed_steps;
                !progress.stop && progress.asked == progress.answered && !due
            });
            let progress = waited.unwrap_or_else(|held| held.into_inner()).0;
            if progress.stop {
                break;
            }
            (progress.asked > progress.answered).then_some(progress.asked)
        };
        if let Some(asked) = asked {
            let done = keeper.renew();
            shared.progress(|progress| {
                progress.answered = asked;
                progress.renewal_problem = done.as_ref().err().map(ToString::to_string);
            });
        } else if Instant::now() >= keeper.not_before {
            let _ = keeper.keep();
        }
    }
    // What is derived anew in a moment need not be written down.
    if keeper.unwritten() > WRITE_AFTER_ROWS / 10 {
        let _ = keeper.write_down();
    }
}

struct Keeper<'a> {
    shared: &'a Shared,
    jobs: &'a Sender<Job>,
    background: &'a Background,
    /// Rows that were learned when it was last looked at what would be gained.
    looked: u64,
    /// Rows of the journal when it was last looked at, and since when there are so many.
    rows: (u64, Instant),
    not_before: Instant,
}

impl Keeper<'_> {
    /// Does what is due.
    fn keep(&mut self) -> Result<()> {
        if let Some(function) = self.due()? {
            return self.renew_by(function);
        }
        if !self.shared.settings.learn {
            // It was read to be looked at, and is as it was written down.
            self.shared.learner.rest(|_| Ok(()))?;
        }
        let rows = self.shared.moment().rows;
        if rows != self.rows.0 {
            self.rows = (rows, Instant::now());
        }
        let least = WRITE_AFTER_ROWS.max((rows as f64 * WRITE_AFTER_SHARE) as u64);
        let times = if self.rows.1.elapsed() < BUSY { WHILE_BUSY } else { 1 };
        if self.unwritten() > least * times {
            return self.write_down();
        }
        Ok(())
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
                self.looked = steps;
                let function = self.function()?;
                let gain = Gain::of(self.shared, &function)?;
                let mut renewing = lock(&self.shared.renewing);
                (renewing.would_flip, renewing.would_gain) = (Some(gain.flips), gain.information);
                Ok((gain.value() >= least).then_some(function))
            }
        }
    }

    fn function(&self) -> Result<HashFunction> {
        self.background.run(|| self.shared.learner()?.model.try_hash_function())
    }

    /// Makes all codes anew by what is learned now.
    fn renew(&mut self) -> Result<()> {
        let function = self.function()?;
        self.renew_by(function)
    }

    fn renew_by(&mut self, function: HashFunction) -> Result<()> {
        let (started, steps) = (Instant::now(), lock(&self.shared.progress).steps);
        let gain = Gain::of(self.shared, &function)?;
        let done = self.background.run(|| rebuild(self.shared, self.jobs, Some(function)));
        let mut renewing = lock(&self.shared.renewing);
        renewing.progress = None;
        match &done {
            Ok(()) => {
                renewing.done += 1;
                (renewing.flipped, renewing.gained) = (Some(gain.flips), gain.information);
                (renewing.would_flip, renewing.would_gain) = (Some(0.0), None);
                renewing.seconds = Some(started.elapsed().as_secs_f64());
                renewing.problem = None;
                drop(renewing);
                self.shared.progress(|progress| progress.renewed_steps = steps);
            }
            Err(error) => {
                renewing.problem = Some(error.to_string());
                self.not_before = Instant::now() + AFTER_FAILURE;
            }
        }
        done
    }

    /// Writes the index down as it is.
    fn write_down(&mut self) -> Result<()> {
        let done = self.background.run(|| rebuild(self.shared, self.jobs, None));
        if done.is_err() {
            self.not_before = Instant::now() + AFTER_FAILURE;
        }
        done
    }
}
