//! Store without threads: background work runs when it is called, in the order of the calls.

use std::path::Path;
use std::sync::{Arc, Mutex};

use super::learning;
use super::open::note_closed;
use super::renewal::Keeper;
use super::settings::Settings;
use super::shared::{Shared, lock};
use super::writer::{Job, Jobs, ask};
use crate::Result;
use crate::background::Background;

pub(super) struct Inline {
    pub(super) shared: Arc<Shared>,
    pub(super) jobs: Jobs,
    background: Background,
}

impl Inline {
    pub(super) fn open(directory: &Path, settings: Settings) -> Result<Inline> {
        let (shared, writer) = super::open::read(directory, settings, Background::none())?;
        let (writer, for_writer) = (Mutex::new(writer), shared.clone());
        let jobs = Jobs::Inline(Arc::new(move |job| {
            lock(&writer).do_job(job, &for_writer, &mut || None);
        }));
        Ok(Inline { shared, jobs, background: Background::none() })
    }

    /// Learns the next rows; returns whether there were any.
    pub(super) fn learn(&self) -> Result<bool> {
        learning::learn_some(&self.shared)
    }

    pub(super) fn save(&self) -> Result<()> {
        let learner = self.shared.learner()?;
        learning::save(&learner, &self.shared).map(drop)
    }

    pub(super) fn keeper(&self) -> Keeper<'_> {
        Keeper::new(&self.shared, &self.jobs, &self.background)
    }

    /// Re-encodes all items with what is learned.
    pub(super) fn renew(&self) -> Result<()> {
        self.keeper().renew()
    }

    pub(super) fn close(self) -> Result<()> {
        ask(&self.jobs, &self.shared, Job::Close)?;
        note_closed(&self.shared.lock, &self.shared.directory)
    }
}
