//! Health checks for monitoring.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde_json::json;

use super::super::app::App;
use super::super::body::answer;
use super::super::errors::Problem;

pub async fn alive() -> Result<Response, Problem> {
    answer(&json!({"status": "ok"}))
}

/// Returns whether the service accepts requests, including changes. A full or failing disk makes
/// the service not ready until the disk is writable again.
pub async fn ready(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    let unavailable = |message: String| Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, message));
    if app.is_stopping() {
        return unavailable("the service is stopping".to_owned());
    }
    let stats = app.collection.store().map(|store| store.stats());
    match stats.as_ref().and_then(|stats| stats.cannot_write()) {
        Some(problem) => unavailable(format!("changes are refused: {problem}")),
        None => answer(&json!({"status": "ready"})),
    }
}

pub async fn metrics(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    let text = app.quick(|app| {
        let stats = app.collection.store().map(|store| store.stats()).unwrap_or_default();
        Ok(app.metrics.text(&stats, app.started.elapsed()))
    })?;
    let mut response = Response::new(text.into());
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}
