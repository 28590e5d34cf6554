//! State shared by all requests.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, StatusCode};
use tokio::sync::Semaphore;

use super::answers::AnswerMemory;
use super::auth::{self, Scope, Tokens};
use super::collection::Collection;
use super::errors::Problem;
use super::history::{Done, History};
use super::limits::Limits;
use super::metrics::Metrics;
use super::routes::classes::Classes;

/// Maximum number of large bodies read concurrently, because each takes memory until it is
/// complete.
const LARGE_BODIES: usize = 32;

pub struct App {
    pub collection: Collection,
    pub limits: Limits,
    pub metrics: Metrics,
    pub history: History,
    pub done: Done,
    pub classes: Classes,
    /// Directory for snapshots of the store, if enabled.
    pub snapshots: Option<PathBuf>,
    pub started: Instant,
    /// Each request that runs on a blocking thread takes one permit.
    working: Arc<Semaphore>,
    /// Each large body takes one permit.
    pub large_bodies: Semaphore,
    /// Counts answers that clients have not read yet.
    pub answers: AnswerMemory,
    /// Permit of requests that iterate over all items, one at a time.
    pub over_all: Arc<Semaphore>,
    tokens: Option<Tokens>,
    stopping: AtomicBool,
}

impl App {
    pub fn new(
        collection: Collection,
        tokens: Option<Tokens>,
        limits: Limits,
        snapshots: Option<PathBuf>,
    ) -> App {
        App {
            collection,
            metrics: Metrics::new(super::routes::all()),
            history: History::default(),
            done: Done::default(),
            classes: Classes::default(),
            snapshots,
            started: Instant::now(),
            working: Arc::new(Semaphore::new(limits.max_concurrent)),
            large_bodies: Semaphore::new(LARGE_BODIES),
            answers: AnswerMemory::new(limits.max_answer),
            over_all: Arc::new(Semaphore::new(1)),
            limits,
            tokens,
            stopping: AtomicBool::new(false),
        }
    }

    /// Fails unless the headers permit this scope.
    pub fn admit(&self, scope: Scope, headers: &HeaderMap) -> Result<(), Problem> {
        match &self.tokens {
            Some(tokens) => tokens.check(scope, headers),
            None => auth::check_local(headers),
        }
    }

    /// Marks the service as stopping, after which it takes no more requests.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Runs a short job on the current thread.
    pub fn quick<T>(&self, job: impl FnOnce(&App) -> Result<T, Problem>) -> Result<T, Problem> {
        catch_unwind(AssertUnwindSafe(|| job(self))).unwrap_or_else(|_| Err(panicked()))
    }

    /// Runs a job that may take longer on a blocking thread. If the job exceeds `time`, it
    /// continues, and the client gets an error that says so.
    pub async fn work<T: Send + 'static>(
        self: &Arc<App>,
        time: Option<Duration>,
        job: impl FnOnce(&App) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let Ok(permit) = self.working.clone().try_acquire_owned() else {
            let most = self.limits.max_concurrent;
            let message = format!("{most} requests are being worked on (--max-concurrent)");
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, message).retry_after(1));
        };
        let app = self.clone();
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            job(&app)
        });
        let done = match time {
            None => task.await,
            Some(time) => tokio::time::timeout(time, task).await.map_err(|_| not_done_in(time))?,
        };
        done.unwrap_or_else(|_| Err(panicked()))
    }
}

/// Returns the answer to a request that exceeds its time limit but continues.
pub fn not_done_in(time: Duration) -> Problem {
    let seconds = time.as_secs_f64();
    let message = format!("not done in {seconds} seconds; it goes on, and may yet be");
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, message).retry_after(5)
}

/// Returns the answer to a request that panicked. The panic message goes to the standard error.
fn panicked() -> Problem {
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "an internal error; the service goes on")
}
