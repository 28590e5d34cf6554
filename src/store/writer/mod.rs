//! The one thread that changes a store. Changes that come while it is busy are brought to the disk together.

mod apply;
mod group;
mod job;

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use self::apply::Applied;
use self::group::Group;
pub(super) use self::group::{check_ids, check_payloads, find};
pub(super) use self::job::{Job, OwnedPut, Swap, ask};
use super::journal::{Change, Journal, Record};
use super::part::Part;
use super::shared::{Moment, Shared};
use crate::background::{Rank, step_back};
use crate::{Error, IdNames, Index, Result};

/// As many bytes of changes are brought to the disk together at most.
const GROUP_BYTES: usize = 64 << 20;

/// What is there, and how it is changed.
pub(super) struct Writer {
    journal: Journal,
    index: Index,
    version: u64,
    /// Rows of the journal.
    rows: u64,
    /// Ids that were changed since another index was begun that is to take the place of this one.
    touched: Option<Vec<u64>>,
}

impl Writer {
    pub(super) fn new(journal: Journal, index: Index, version: u64, rows: u64) -> Writer {
        Writer { journal, index, version, rows, touched: None }
    }

    /// What readers see of it.
    pub(super) fn moment(&self) -> Moment {
        let (index, position) = (self.index.snapshot(), self.journal.end());
        Moment { version: self.version, index, position, rows: self.rows }
    }

    pub(super) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Does what it is told until the store is closed.
    pub(super) fn run(mut self, shared: &Arc<Shared>, jobs: &Receiver<Job>) {
        step_back(Rank::AfterSearches);
        while let Ok(first) = jobs.recv() {
            let mut next = Some(first);
            while let Some(job) = next.take() {
                match job {
                    Job::Close(reply) => {
                        let _ = reply.send(self.journal.close());
                        return;
                    }
                    Job::Begin(reply) => {
                        self.touched = Some(Vec::new());
                        let _ = reply.send(Ok(self.moment()));
                    }
                    Job::Round(reply) => {
                        let touched = self.touched.replace(Vec::new()).unwrap_or_default();
                        let _ = reply.send(Ok((self.moment(), touched)));
                    }
                    Job::Swap(swap, reply) => {
                        let swapped = self.swap(swap, shared);
                        let _ = reply.send(swapped);
                    }
                    Job::Abandon => self.touched = None,
                    change => next = self.change_together(change, shared, jobs),
                }
            }
        }
    }

    /// Makes a change, and others that wait; the first job that is none, if there is one.
    fn change_together(
        &mut self,
        first: Job,
        shared: &Arc<Shared>,
        jobs: &Receiver<Job>,
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
                next = jobs.try_recv().ok();
            }
        }
        self.commit(group, shared);
        left
    }

    /// Brings changes to the disk, makes them, shows them to readers, and tells whoever waits for them.
    fn commit(&mut self, group: Group, shared: &Arc<Shared>) {
        if group.is_empty() {
            return;
        }
        let (bytes, changes, replies) = group.finish();
        if let Err(error) = self.journal.append(&bytes) {
            replies.fail(&error, &shared.folder);
            return;
        }
        let applied = self.apply(changes, shared);
        shared.publish(self.moment());
        let end = self.journal.end();
        shared.progress(|progress| progress.end = end);
        match applied {
            Ok(()) => replies.acknowledge(end),
            // They are on the disk, and are made when it is opened anew.
            Err(error) => replies.fail(&error, &shared.folder),
        }
    }

    /// Makes changes that are on the disk.
    fn apply(&mut self, changes: Vec<Applied>, shared: &Shared) -> Result<()> {
        for change in apply::together(changes) {
            if let Some(touched) = &mut self.touched {
                touched.extend(change.ids());
            }
            self.rows += change.make(&mut self.index, Some(shared))?;
        }
        Ok(())
    }

    /// Puts another index in the place of this one, once it knows of all that was changed meanwhile.
    fn swap(&mut self, swap: Swap, shared: &Shared) -> Result<()> {
        let touched = self.touched.take().unwrap_or_default();
        let Swap { mut index, version } = swap;
        catch_up(&mut index, version, &self.moment(), touched, shared)?;
        index.build_in_background(true);
        (self.index, self.version) = (index, version);
        shared.publish(self.moment());
        Ok(())
    }
}

/// Makes items of an index, whose version this is, what they are at a moment.
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

/// Makes a change of the journal in an index that does not know of it; how many rows it has.
pub(super) fn replay(index: &mut Index, record: Record, texts: &mut IdNames) -> Result<u64> {
    match record.change {
        Change::Put(rows) => {
            let rows: Vec<_> = rows.into_iter().map(|(at, row)| (record.at + at, row)).collect();
            for (_, row) in rows.iter().filter(|(_, row)| !row.text.is_empty()) {
                texts.number(&row.text);
            }
            Applied::of_rows(rows).make(index, None)
        }
        Change::Remove(items) => {
            Applied::Remove(items.into_iter().map(|(id, _)| id).collect()).make(index, None)
        }
        Change::LabelNames(_, new) => Applied::LabelNames(new).make(index, None),
    }
}
