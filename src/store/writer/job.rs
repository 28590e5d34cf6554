//! What the writer is told.

use std::path::Path;
use std::sync::mpsc::{Sender, SyncSender, sync_channel};

use crate::store::answer::{Acknowledged, Removed};
use crate::store::item::{ItemId, Put};
use crate::store::shared::{Moment, Shared};
use crate::{Error, Index, Result};

/// Where an answer goes.
pub(in crate::store) type Reply<T> = SyncSender<Result<T>>;

/// Items to be put in, in memory of their own.
pub(in crate::store) struct OwnedPut {
    pub(super) ids: Vec<ItemId>,
    pub(super) vectors: Vec<f32>,
    pub(super) labels: Vec<Vec<String>>,
    pub(super) payloads: Vec<Vec<u8>>,
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

/// An index that is to take the place of the one in use.
pub(in crate::store) struct Swap {
    pub(in crate::store) index: Index,
    pub(in crate::store) version: u64,
}

pub(in crate::store) enum Job {
    Put(OwnedPut, Reply<Acknowledged>),
    Label(Vec<ItemId>, Vec<Vec<String>>, Reply<Acknowledged>),
    Remove(Vec<ItemId>, Reply<Removed>),
    /// An index is begun that is to take the place of the one in use: what is there now.
    Begin(Reply<Moment>),
    /// What is there now, and the ids that were changed since this was last asked.
    Round(Reply<(Moment, Vec<u64>)>),
    /// The index that was begun is ready.
    Swap(Swap, Reply<()>),
    /// It will not be.
    Abandon,
    Close(Reply<()>),
}

impl Job {
    pub(super) fn is_change(&self) -> bool {
        matches!(self, Job::Put(..) | Job::Label(..) | Job::Remove(..))
    }
}

/// Tells the writer something, and waits for its answer.
pub(in crate::store) fn ask<T>(
    jobs: &Sender<Job>,
    shared: &Shared,
    job: impl FnOnce(Reply<T>) -> Job,
) -> Result<T> {
    let (reply, answer) = sync_channel(1);
    let stopped = || Error::Stopped {
        path: shared.folder.clone(),
        problem: "the store is closed, or what changes it has ended".to_owned(),
    };
    jobs.send(job(reply)).map_err(|_| stopped())?;
    answer.recv().map_err(|_| stopped())?
}

/// Whoever waits for a change to be on the disk.
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

    /// Tells them that it is, up to this place in the journal. Whoever does not wait any more is not told.
    pub(super) fn acknowledge(self, position: u64) {
        for (answer, reply) in self.put {
            let _ = reply.send(Ok(Acknowledged { position, ..answer }));
        }
        for (answer, reply) in self.removed {
            let _ = reply.send(Ok(Removed { position, ..answer }));
        }
    }

    /// Tells them that it is not.
    pub(super) fn fail(self, error: &Error, folder: &Path) {
        for (_, reply) in self.put {
            let _ = reply.send(Err(again(error, folder)));
        }
        for (_, reply) in self.removed {
            let _ = reply.send(Err(again(error, folder)));
        }
    }
}

/// The same error once more: several may wait for what failed.
fn again(error: &Error, folder: &Path) -> Error {
    match error {
        Error::Io { path, cause } => {
            let cause = match cause.raw_os_error() {
                Some(code) => std::io::Error::from_raw_os_error(code),
                None => std::io::Error::new(cause.kind(), cause.to_string()),
            };
            Error::Io { path: path.clone(), cause }
        }
        Error::Damaged { path, problem } => Error::damaged(path, problem.clone()),
        other => Error::Stopped { path: folder.to_path_buf(), problem: other.to_string() },
    }
}
