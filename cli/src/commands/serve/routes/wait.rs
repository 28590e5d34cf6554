//! Waiting until changes are learned and searchable.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use hashbrook::store::Wait;
use serde::Deserialize;
use serde_json::json;

use super::super::app::App;
use super::super::body::answer;
use super::super::body::bulk::WaitFor;
use super::super::errors::Problem;

/// Maximum duration in seconds of one request to `/wait`; clients repeat the request.
const LONGEST: f64 = 10.0;

/// Time between two checks.
const PAUSE: Duration = Duration::from_millis(10);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Position from an earlier answer; without it, everything acknowledged so far.
    position: Option<u64>,
    #[serde(default, rename = "for")]
    wait_for: WaitFor,
    seconds: Option<f64>,
}

pub async fn wait(
    State(app): State<Arc<App>>,
    parameters: Result<Query<Parameters>, QueryRejection>,
) -> Result<Response, Problem> {
    let Query(Parameters { position, wait_for, seconds }) = parameters?;
    let seconds = seconds.unwrap_or(LONGEST).clamp(0.0, LONGEST);
    let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    let done = match wait_for.as_wait() {
        Some(wait) => until(&app, position.unwrap_or(u64::MAX), wait, time).await?,
        None => true,
    };
    answer(&json!({"done": done}))
}

/// Waits without blocking a thread; returns whether the wait ended in time.
pub async fn until(
    app: &Arc<App>,
    position: u64,
    wait: Wait,
    time: Duration,
) -> Result<bool, Problem> {
    let end = Instant::now() + time;
    loop {
        let Some(store) = app.collection.store() else { return Ok(true) };
        let is_over = store.wait_up_to(position, wait, Duration::ZERO)?;
        if is_over || Instant::now() >= end || app.is_stopping() {
            return Ok(is_over);
        }
        tokio::time::sleep(PAUSE).await;
    }
}
