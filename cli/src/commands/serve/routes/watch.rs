//! Statistics of the service.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use hashbrook::store::{Description, Stats};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::super::app::App;
use super::super::body::answer;
use super::super::errors::Problem;
use super::super::history;

#[derive(Serialize)]
struct Numbers<'a> {
    #[serde(flatten)]
    stats: Stats,
    /// Description of the collection; `None` before the first items.
    description: Option<&'a Description>,
    /// Current time of the server in seconds since 1970, to compute ages from the other times.
    time: f64,
    /// Number of requests since the start.
    requests: u64,
    uptime_seconds: f64,
}

pub async fn stats(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    app.quick(|app| {
        let store = app.collection.store();
        answer(&Numbers {
            stats: store.map(|store| store.stats()).unwrap_or_default(),
            description: store.map(|store| store.description()),
            time: history::now(),
            requests: app.metrics.requests(),
            uptime_seconds: app.started.elapsed().as_secs_f64(),
        })
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Span {
    #[serde(default)]
    after: f64,
    limit: Option<usize>,
}

pub async fn history(
    State(app): State<Arc<App>>,
    span: Result<Query<Span>, QueryRejection>,
) -> Result<Response, Problem> {
    let Query(Span { after, limit }) = span?;
    answer(&json!({"samples": app.history.after(after, limit.unwrap_or(600))}))
}
