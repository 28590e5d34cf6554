//! Work that searches go before: on threads of its own, of low priority.

use rayon::{ThreadPool, ThreadPoolBuilder};

/// How much less than others such threads count, where the system can tell them apart.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// Threads for work in the background.
pub(super) struct Background(Option<ThreadPool>);

impl Background {
    /// So many threads.
    pub(super) fn new(name: &'static str, threads: usize) -> Background {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(move |_| name.to_owned())
            .start_handler(|_| step_back());
        // Without threads of its own it is done where it stands.
        Background(pool.build().ok())
    }

    pub(super) fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.0 {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}

/// Lets other threads go first.
#[cfg(target_os = "linux")]
fn step_back() {
    // Where that is not allowed it does without.
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICE);
}

#[cfg(not(target_os = "linux"))]
fn step_back() {}
