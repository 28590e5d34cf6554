//! Work that searches go before: on threads of its own, of low priority.

use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// How far threads step back, where the system can tell them apart.
#[derive(Clone, Copy)]
pub(crate) enum Rank {
    /// For what somebody waits for.
    AfterSearches = 5,
    /// For what nobody waits for.
    Last = 10,
}

/// Threads for work in the background.
pub(crate) struct Background(Option<ThreadPool>);

impl Background {
    /// So many threads.
    pub(crate) fn new(name: &'static str, threads: usize, rank: Rank) -> Background {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(move |_| name.to_owned())
            .start_handler(move |_| step_back(rank));
        // Without threads of its own it is done where it stands.
        Background(pool.build().ok())
    }

    pub(crate) fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.0 {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}

/// How long work waits that is done later.
const LATER: Duration = Duration::from_secs(1);

/// Does something a second from now or later, on one thread for the whole process, which comes last. It is done by
/// nobody if there is no thread to be had, so it should be something that can be done without.
pub(crate) fn later(work: impl FnOnce() + Send + 'static) {
    type Work = (Instant, Box<dyn FnOnce() + Send>);
    static QUEUE: OnceLock<Sender<Work>> = OnceLock::new();
    let queue = QUEUE.get_or_init(|| {
        let (queue, received) = channel::<Work>();
        let all = move || {
            step_back(Rank::Last);
            for (due, work) in received {
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                work();
            }
        };
        // Without it nobody receives, and what is sent is dropped.
        let _ = std::thread::Builder::new().name("later".to_owned()).spawn(all);
        queue
    });
    let _ = queue.send((Instant::now() + LATER, Box::new(work)));
}

/// Lets other threads go before this one, and before those that it starts.
#[cfg(target_os = "linux")]
pub(crate) fn step_back(rank: Rank) {
    // Where that is not allowed it does without.
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), rank as i32);
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn step_back(_: Rank) {}
