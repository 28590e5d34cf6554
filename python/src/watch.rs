//! Long calls, which run in chunks; between chunks, signals are checked and progress is reported.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// Minimum time between two checks for signals in a long call. Each check waits for Python's lock.
pub const PAUSE: Duration = Duration::from_millis(50);

/// Number of running long calls.
static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of long calls (`learn`, `encode`, `search`, `within`) that are running in
/// this process, in threads that do not hold Python's lock.
#[pyfunction]
pub fn under_way() -> usize {
    UNDER_WAY.load(Ordering::SeqCst)
}

/// Observer of a long call, which checks for signals such as Ctrl-C and updates a progress bar.
pub struct Watch {
    /// Function that is called with the number of processed rows.
    progress: Option<Py<PyAny>>,
    last: Instant,
}

impl Watch {
    /// Creates an observer, optionally with the function of a progress bar.
    pub fn new(progress: Option<Py<PyAny>>) -> Self {
        UNDER_WAY.fetch_add(1, Ordering::SeqCst);
        Watch { progress, last: Instant::now() }
    }

    /// Checks for signals and reports the number of processed rows, at most once per [`PAUSE`].
    ///
    /// # Errors
    /// The exception that a signal (usually `KeyboardInterrupt`) or the progress bar raises.
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

/// Ranges of rows, for calls whose result does not depend on the split. Ranges grow until a range
/// takes as long as [`PAUSE`], so that threads seldom wait for each other.
pub struct Chunks {
    rows: usize,
    start: usize,
    at_once: usize,
    last: Option<Instant>,
}

/// Splits `rows` rows into chunks, the first of up to `first` rows. Zero rows form one empty chunk,
/// so that the other arguments are still checked.
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
