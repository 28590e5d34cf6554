//! The only thread that changes a store. Changes that arrive while this thread is busy are written
//! to disk together.

mod apply;
mod group;
mod job;

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use self::apply::Applied;
use self::group::Group;
pub(super) use self::group::{check_ids, check_lengths, check_payloads, find};
pub(super) use self::job::{Boundary, Job, Jobs, OwnedPut, Swap, ask};
use self::job::{again, answer_to};
use super::journal::{Change, FILE_BYTES, Journal, LAST_FILE, Record, file_of};
use super::part::Part;
use super::shared::{Moment, Shared};
use super::tasks::Task;
use crate::background::{Rank, step_back};
use crate::{Error, IdNames, Index, Result};

/// Maximum number of bytes of changes that are written to disk together.
const GROUP_BYTES: usize = 64 << 20;

/// Writer of a store, with the store's current state.
pub(super) struct Writer {
    journal: Journal,
    index: Index,
    version: u64,
    /// Number of rows of the journal.
    rows: u64,
    /// Ids that changed since the last `Job::Begin` or `Job::Round`; `None` if no index is being
    /// built.
    touched: Option<Vec<u64>>,
}

impl Writer {
    pub(super) fn new(journal: Journal, index: Index, version: u64, rows: u64) -> Writer {
        Writer { journal, index, version, rows, touched: None }
    }

    /// Returns the snapshot that readers see.
    pub(super) fn moment(&self) -> Moment {
        let (index, position) = (self.index.snapshot(), self.journal.end());
        let _files = self.journal.files().pinned();
        Moment { version: self.version, index, position, rows: self.rows, _files }
    }

    pub(super) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Does jobs until the store is closed.
    pub(super) fn run(mut self, shared: &Arc<Shared>, jobs: &Receiver<Job>) {
        step_back(Rank::AfterSearches);
        while let Ok(first) = jobs.recv() {
            let mut next = Some(first);
            while let Some(job) = next.take() {
                if let Job::Close(reply) = job {
                    answer_to(&reply, self.journal.close());
                    return;
                }
                next = self.do_job(job, shared, &mut || jobs.try_recv().ok());
            }
        }
    }

    /// Does a job. A change is combined with waiting changes; returns the first waiting job that is
    /// not a change.
    pub(super) fn do_job(
        &mut self,
        job: Job,
        shared: &Arc<Shared>,
        waiting: &mut dyn FnMut() -> Option<Job>,
    ) -> Option<Job> {
        match job {
            Job::Close(reply) => answer_to(&reply, self.journal.close()),
            Job::Begin(reply) => {
                self.touched = Some(Vec::new());
                answer_to(&reply, Ok(self.moment()));
            }
            Job::Round(reply) => {
                let touched = self.touched.replace(Vec::new()).unwrap_or_default();
                answer_to(&reply, Ok((self.moment(), touched)));
            }
            Job::Swap(swap, reply) => {
                let swapped = self.swap(swap, shared);
                answer_to(&reply, swapped);
            }
            Job::Roll(reply) => {
                let rolled = self.roll(shared);
                answer_to(&reply, rolled);
            }
            Job::Abandon => self.touched = None,
            Job::Probe(reply) => {
                let probed = shared.check_place().and_then(|()| self.journal.probe());
                answer_to(&reply, probed.map(|()| false));
            }
            change => return self.change_together(change, shared, waiting),
        }
        None
    }

    /// Commits a change together with waiting changes; returns the first job that is not a change.
    fn change_together(
        &mut self,
        first: Job,
        shared: &Arc<Shared>,
        waiting: &mut dyn FnMut() -> Option<Job>,
    ) -> Option<Job> {
        let mut group = Group::default();
        let mut next = Some(first);
        let mut left = None;
        while let Some(job) = next.take() {
            if !job.is_change() {
                left = Some(job);
                break;
            }
            if group.must_come_before(&job) {
                self.commit(std::mem::take(&mut group), shared);
            }
            group.push(job, &mut self.journal, &self.index, shared);
            if group.bytes() < GROUP_BYTES {
                next = waiting();
            }
        }
        self.commit(group, shared);
        left
    }

    /// Makes changes durable, applies them, shows them to readers, and acknowledges them.
    fn commit(&mut self, group: Group, shared: &Arc<Shared>) {
        let (bytes, changes, replies) = group.finish();
        if bytes.is_empty() {
            replies.acknowledge(self.journal.end());
            return;
        }
        let written = shared.check_place().and_then(|()| self.journal.append(&bytes));
        if let Err(error) = written {
            // The error is reported first, so that refused callers find the reason in the
            // statistics.
            shared.tasks.report(Task::Journal, &Err(again(&error, &shared.directory)));
            replies.fail(&error, &shared.directory);
            return;
        }
        // If the directory was moved or replaced meanwhile, the changes in it are unreachable. If
        // the check fails for another reason, the changes count, because they are synced.
        let is_there = match shared.check_place() {
            Err(error @ Error::NotAsOpened { .. }) => Err(error),
            _ => Ok(()),
        };
        let applied = self.apply(changes, shared);
        shared.publish(self.moment());
        let end = self.journal.end();
        shared.progress(|progress| progress.end = end);
        // The changes are durable even if applying them failed: reopening the store applies them.
        let outcome = is_there.and(applied);
        let problem = outcome.as_ref().err().or(self.journal.unmarked());
        let reported = problem.map_or(Ok(true), |error| Err(again(error, &shared.directory)));
        shared.tasks.report(Task::Journal, &reported);
        match outcome {
            Ok(()) => replies.acknowledge(end),
            Err(error) => replies.fail(&error, &shared.directory),
        }
    }

    /// Begins another file of the journal, and leaves enough numbers free to compact all files
    /// before it.
    fn roll(&mut self, shared: &Shared) -> Result<Boundary> {
        shared.check_place()?;
        let end = self.journal.end();
        let files = shared.files.bytes_up_to(end) / FILE_BYTES + 2;
        let free = file_of(end) + 1;
        let number = u32::try_from(files).ok().and_then(|files| free.checked_add(files));
        let number = number.filter(|&number| number < LAST_FILE).ok_or_else(|| Error::Stopped {
            path: shared.directory.clone(),
            problem: "the journal has used up the numbers of its files; copy it with compact_to"
                .to_owned(),
        })?;
        self.journal.roll(number)?;
        shared.publish(self.moment());
        let position = self.journal.end();
        shared.progress(|progress| progress.end = position);
        Ok(Boundary { position, free, rows: self.rows })
    }

    /// Applies durable changes to the index.
    fn apply(&mut self, changes: Vec<Applied>, shared: &Shared) -> Result<()> {
        for change in apply::together(changes) {
            if let Some(touched) = &mut self.touched {
                touched.extend(change.ids());
            }
            self.rows += change.make(&mut self.index, Some(shared))?;
        }
        Ok(())
    }

    /// Applies the changes that were made meanwhile to a new index, and puts the new index in use.
    fn swap(&mut self, swap: Swap, shared: &Shared) -> Result<u64> {
        let touched = self.touched.take().unwrap_or_default();
        let Swap { mut index, version, reclaimed } = swap;
        catch_up(&mut index, version, &self.moment(), touched, shared)?;
        index.report_structures(Some(shared.tasks.for_structures()));
        (self.index, self.version) = (index, version);
        self.rows -= reclaimed.min(self.rows);
        shared.publish(self.moment());
        Ok(self.journal.end())
    }
}

/// Updates the touched items of an index, whose version is `version`, to their state in a snapshot.
pub(super) fn catch_up(
    index: &mut Index,
    version: u64,
    moment: &Moment,
    mut touched: Vec<u64>,
    shared: &Shared,
) -> Result<()> {
    touched.sort_unstable();
    touched.dedup();
    let function = index.function().cloned().ok_or(Error::NoFunction)?;
    let names = moment.index.label_names();
    if names.len() > index.label_names().len() {
        index.set_label_names(names.clone())?;
    }
    for ids in touched.chunks(4096) {
        let (mut gone, mut part) = (Vec::new(), Part::default());
        moment.index.look_up(ids, |id, item| match item {
            Some(item) => part.push(item),
            None => gone.push(id),
        })?;
        index.remove(&gone)?;
        let codes = part.codes(shared, &function, version != moment.version)?;
        index.put_places(&part.ids, &codes, part.labels.view(), &part.places)?;
    }
    Ok(())
}

/// Applies a change of the journal to an index that lacks it; returns the number of its rows.
pub(super) fn replay(
    index: &mut Index,
    record: Record,
    texts: &mut IdNames,
    path: &Path,
) -> Result<u64> {
    match record.change {
        Change::Put(put) => {
            Applied::LabelNames(put.first, put.names).make(index, None)?;
            let rows: Vec<_> =
                put.rows.into_iter().map(|(offset, row)| (record.at + offset, row)).collect();
            for (_, row) in rows.iter().filter(|(_, row)| !row.text.is_empty()) {
                let number = texts.number(&row.text);
                if number != row.id {
                    let problem = format!(
                        "is damaged: expected number {} for the id {:?}, found {number}",
                        row.id, row.text
                    );
                    return Err(Error::damaged(path, problem));
                }
            }
            Applied::of_rows(rows).make(index, None)
        }
        Change::Remove(items) => {
            Applied::Remove(items.into_iter().map(|(id, _)| id).collect()).make(index, None)
        }
    }
}
