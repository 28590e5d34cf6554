//! Long calls: in chunks, between which signals are looked at and progress is told.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// How often a long call looks at signals, at most: each time it must wait for its turn with Python's lock.
pub const PAUSE: Duration = Duration::from_millis(50);

/// How many long calls are under way.
static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);

/// How many long calls (`learn`, `encode`, `search`, `within`) are under way in this process, in threads that
/// do not hold Python's lock.
#[pyfunction]
pub fn under_way() -> usize {
    UNDER_WAY.load(Ordering::SeqCst)
}

/// Who wants to know how a long call goes on: the user, who may press Ctrl-C, and a progress bar.
pub struct Watch {
    /// Called with the number of rows that are done.
    progress: Option<Py<PyAny>>,
    last: Instant,
}

impl Watch {
    /// With a progress bar's function, if there is one.
    pub fn new(progress: Option<Py<PyAny>>) -> Self {
        UNDER_WAY.fetch_add(1, Ordering::SeqCst);
        Watch { progress, last: Instant::now() }
    }

    /// Tells how many rows are done, unless it was done a moment ago.
    ///
    /// # Errors
    /// What a signal raises (`KeyboardInterrupt`, most often), or the progress bar.
    pub fn done(&mut self, rows: usize) -> PyResult<()> {
        if self.last.elapsed() < PAUSE {
            return Ok(());
        }
        let looked = Python::attach(|py| {
            py.check_signals()?;
            match &self.progress {
                Some(progress) => progress.call1(py, (rows,)).map(|_| ()),
                None => Ok(()),
            }
        });
        self.last = Instant::now();
        looked
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        UNDER_WAY.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The ranges that rows are cut into, where what comes out does not depend on it: they grow until one takes as
/// long as the time between two looks at signals, so that threads seldom wait for each other.
pub struct Chunks {
    rows: usize,
    start: usize,
    at_once: usize,
    last: Option<Instant>,
}

/// Chunks of rows, the first of them so large, if there are as many. No rows are one chunk, too: what is wrong
/// with the rest should show.
pub fn chunks(rows: usize, first: usize) -> Chunks {
    Chunks { rows, start: 0, at_once: first, last: None }
}

impl Iterator for Chunks {
    type Item = std::ops::Range<usize>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.last.is_some_and(|last| last.elapsed() < PAUSE / 2) {
            self.at_once *= 2;
        }
        if self.start == self.rows && self.last.is_some() {
            return None;
        }
        self.last = Some(Instant::now());
        let start = self.start;
        self.start = self.rows.min(start.saturating_add(self.at_once));
        Some(start..self.start)
    }
}
