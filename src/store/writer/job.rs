//! Jobs of the writer.

use crate::store::answer::{Acknowledged, Removed};
use crate::store::item::{ItemId, Put};
use crate::store::shared::{Moment, Shared};
use crate::{Error, Index, Result};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Sender, SyncSender, sync_channel};

/// Channel that an answer is sent to.
pub(in crate::store) type Reply<T> = SyncSender<Result<T>>;

/// Items to be inserted, in owned memory.
pub(in crate::store) struct OwnedPut {
    pub(in crate::store) ids: Vec<ItemId>,
    pub(in crate::store) vectors: Vec<f32>,
    pub(in crate::store) labels: Vec<Vec<String>>,
    pub(in crate::store) payloads: Vec<Vec<u8>>,
}

impl OwnedPut {
    pub(in crate::store) fn new(put: Put<'_>) -> Self {
        OwnedPut {
            ids: put.ids.to_vec(),
            vectors: put.features.values().to_vec(),
            labels: put.labels.to_vec(),
            payloads: put.payloads.to_vec(),
        }
    }
}

/// Index that is to replace the index in use.
pub(in crate::store) struct Swap {
    pub(in crate::store) index: Index,
    pub(in crate::store) version: u64,
    /// Number of rows that compaction removed from the journal.
    pub(in crate::store) reclaimed: u64,
}

/// Boundary between the files of a journal so far and a new file.
#[derive(Clone, Copy)]
pub(in crate::store) struct Boundary {
    /// Position of the first record of the new file.
    pub(in crate::store) position: u64,
    /// Number of the first file that compaction may write. All numbers up to the new file are free.
    pub(in crate::store) free: u32,
    /// Number of rows of the journal before the boundary.
    pub(in crate::store) rows: u64,
}

pub(in crate::store) enum Job {
    Put(OwnedPut, Reply<Acknowledged>),
    Label(Vec<ItemId>, Vec<Vec<String>>, Reply<Acknowledged>),
    Remove(Vec<ItemId>, Reply<Removed>),
    /// An index that is to replace the index in use is begun. The answer is the current snapshot.
    Begin(Reply<Moment>),
    /// Requests the current snapshot, and the ids that changed since the last `Begin` or `Round`.
    Round(Reply<(Moment, Vec<u64>)>),
    /// The index that was begun is ready. The answer is the position up to which changes refer to
    /// the old index.
    Swap(Swap, Reply<u64>),
    /// Continues the journal in another file, and leaves file numbers free for compaction.
    Roll(Reply<Boundary>),
    /// The index that was begun will not be finished.
    Abandon,
    /// Changes were refused: tests whether the journal can be written again.
    Probe(Reply<bool>),
    Close(Reply<()>),
}

impl Job {
    pub(super) fn is_change(&self) -> bool {
        matches!(self, Job::Put(..) | Job::Label(..) | Job::Remove(..))
    }
}

/// Channel to the writer.
#[derive(Clone)]
pub(in crate::store) enum Jobs {
    /// A thread does the jobs one after the other.
    Thread(Sender<Job>),
    /// A function does each job on the sending thread.
    Inline(Arc<dyn Fn(Job) + Send + Sync>),
}

impl Jobs {
    /// Sends a job; fails if the writer has ended.
    pub(in crate::store) fn send(&self, job: Job) -> std::result::Result<(), ()> {
        match self {
            Jobs::Thread(jobs) => jobs.send(job).map_err(drop),
            Jobs::Inline(run) => {
                run(job);
                Ok(())
            }
        }
    }
}

/// Sends the writer a job, and waits for its answer.
pub(in crate::store) fn ask<T>(
    jobs: &Jobs,
    shared: &Shared,
    job: impl FnOnce(Reply<T>) -> Job,
) -> Result<T> {
    let (reply, answer) = sync_channel(1);
    let stopped = || Error::Stopped {
        path: shared.directory.clone(),
        problem: "the store is closed, or what changes it has ended".to_owned(),
    };
    jobs.send(job(reply)).map_err(|()| stopped())?;
    answer.recv().map_err(|_| stopped())?
}

/// Callers that wait for changes to be durable.
#[derive(Default)]
pub(super) struct Replies {
    put: Vec<(Acknowledged, Reply<Acknowledged>)>,
    removed: Vec<(Removed, Reply<Removed>)>,
}

impl Replies {
    pub(super) fn put(&mut self, answer: Acknowledged, reply: Reply<Acknowledged>) {
        self.put.push((answer, reply));
    }

    pub(super) fn removed(&mut self, answer: Removed, reply: Reply<Removed>) {
        self.removed.push((answer, reply));
    }

    /// Acknowledges the changes, up to this position in the journal.
    pub(super) fn acknowledge(self, position: u64) {
        for (answer, reply) in self.put {
            answer_to(&reply, Ok(Acknowledged { position, ..answer }));
        }
        for (answer, reply) in self.removed {
            answer_to(&reply, Ok(Removed { position, ..answer }));
        }
    }

    /// Refuses the changes.
    pub(super) fn fail(self, error: &Error, directory: &Path) {
        for (_, reply) in self.put {
            answer_to(&reply, Err(again(error, directory)));
        }
        for (_, reply) in self.removed {
            answer_to(&reply, Err(again(error, directory)));
        }
    }
}

/// Answers a caller, who may have stopped waiting.
pub(super) fn answer_to<T>(reply: &Reply<T>, answer: Result<T>) {
    reply.send(answer).ok();
}

/// Copies an error, for several callers that wait for the same change.
pub(super) fn again(error: &Error, directory: &Path) -> Error {
    match error {
        Error::Io { path, cause } => {
            let cause = match cause.raw_os_error() {
                Some(code) => std::io::Error::from_raw_os_error(code),
                None => std::io::Error::new(cause.kind(), cause.to_string()),
            };
            Error::Io { path: path.clone(), cause }
        }
        Error::Damaged { path, problem } => Error::damaged(path, problem.clone()),
        Error::NotAsOpened { path, problem } => {
            Error::NotAsOpened { path: path.clone(), problem: problem.clone() }
        }
        other => Error::Stopped { path: directory.to_path_buf(), problem: other.to_string() },
    }
}
