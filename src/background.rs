//! Work that searches go before: on threads of its own, of low priority.

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

/// Lets other threads go before this one, and before those that it starts.
#[cfg(target_os = "linux")]
pub(crate) fn step_back(rank: Rank) {
    // Where that is not allowed it does without.
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), rank as i32);
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn step_back(_: Rank) {}
