//! Middleware of every request: checks authorization, and records the time.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::app::App;
use super::auth::Scope;
use super::body::discard;

/// A route: its index in the list of routes, and the scope it requires.
#[derive(Clone)]
pub struct Guarded {
    pub app: Arc<App>,
    pub at: usize,
    pub scope: Scope,
}

pub async fn guard(State(route): State<Guarded>, request: Request, next: Next) -> Response {
    let start = Instant::now();
    let response = match route.app.admit(route.scope, request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => {
            discard(request.into_body());
            problem.into_response()
        }
    };
    let response = route.app.answers.counted(response).await;
    route.app.metrics.record(route.at, response.status(), start.elapsed());
    response
}
