//! Background work, run on dedicated low-priority threads so that it never delays searches.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// Amount by which threads lower their priority, on systems that support priorities per thread.
#[derive(Clone, Copy)]
pub(crate) enum Rank {
    /// For work that a caller waits for.
    AfterSearches = 5,
    /// For work that nobody waits for.
    Last = 10,
}

/// Thread pool for background work.
pub(crate) struct Background(Option<ThreadPool>);

impl Background {
    /// Creates a pool with this number of threads.
    pub(crate) fn new(name: &'static str, threads: usize, rank: Rank) -> Background {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(move |_| name.to_owned())
            .start_handler(move |_| step_back(rank));
        // If the pool cannot be created, the work runs on the calling thread.
        Background(pool.build().ok())
    }

    /// Returns a pool without threads: work runs on the calling thread.
    pub(crate) fn none() -> Background {
        Background(None)
    }

    pub(crate) fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.0 {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}

/// Delay of work that [`later`] runs.
const LATER: Duration = Duration::from_secs(1);

type Work = (Instant, Box<dyn FnOnce() + Send>);

/// Runs work after a delay of at least one second, on one low-priority thread for the whole
/// process. If the thread cannot be spawned, the work runs at once on the calling thread.
pub(crate) fn later(work: impl FnOnce() + Send + 'static) {
    static QUEUE: Mutex<Option<Sender<Work>>> = Mutex::new(None);
    let mut queue = QUEUE.lock().unwrap_or_else(PoisonError::into_inner);
    let sender = queue.take().or_else(spawn_queue);
    let work: Work = (Instant::now() + LATER, Box::new(work));
    let unsent = match &sender {
        Some(sender) => sender.send(work).err().map(|unsent| unsent.0),
        None => Some(work),
    };
    // A queue whose thread panicked accepts no more work; the next call spawns another.
    *queue = sender.filter(|_| unsent.is_none());
    drop(queue);
    if let Some((_, work)) = unsent {
        work();
    }
}

/// Spawns the thread of [`later`].
fn spawn_queue() -> Option<Sender<Work>> {
    let (sender, received) = channel::<Work>();
    let all = move || {
        step_back(Rank::Last);
        for (due, work) in received {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            work();
        }
    };
    match std::thread::Builder::new().name("later".to_owned()).spawn(all) {
        Ok(_) => Some(sender),
        Err(error) => {
            tracing::warn!(target: "hashbrook", "background work runs in the foreground: no thread: {error}");
            None
        }
    }
}

/// Lowers the priority of this thread and of the threads that it spawns.
#[cfg(target_os = "linux")]
pub(crate) fn step_back(rank: Rank) {
    // If the system refuses, the thread keeps its priority.
    rustix::process::setpriority_process(Some(rustix::thread::gettid()), rank as i32).ok();
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn step_back(_: Rank) {}
