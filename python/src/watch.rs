//! Long calls: in chunks, between which signals are looked at and progress is told.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// How often a long call looks at signals, at most: each time it must wait for its turn with Python's lock.
const PAUSE: Duration = Duration::from_millis(50);

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

/// The ranges that rows are cut into.
pub fn chunks(rows: usize, at_once: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..rows).step_by(at_once).map(move |start| start..rows.min(start + at_once))
}
