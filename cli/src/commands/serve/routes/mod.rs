//! All routes: their paths, scopes, and handlers.

pub mod classes;
mod full_page;
mod health;
mod items;
mod model;
mod page;
mod search;
mod wait;
mod watch;
mod whole;

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, delete, get, post};

use super::app::App;
use super::auth::Scope;
use super::errors::Problem;
use super::guard::{Guarded, guard};
use super::log::{RequestIds, observe};

/// A route of the API.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    pub method: &'static str,
    pub path: &'static str,
    pub scope: Scope,
    /// True if requests count as work; false if they only monitor the service.
    pub is_counted: bool,
}

/// Returns all routes with their handlers.
#[rustfmt::skip]
fn table() -> Vec<(Route, MethodRouter<Arc<App>>)> {
    use Scope::{Open, Read, Write};
    let route = |method, path, scope| Route { method, path, scope, is_counted: true };
    let look = |path, scope| Route { method: "GET", path, scope, is_counted: false };
    vec![
        (route("POST", "/search", Read), post(search::nearest)),
        (route("POST", "/within", Read), post(search::within)),
        (route("POST", "/items", Write), post(items::put)),
        (route("GET", "/items", Read), get(items::list)),
        (route("GET", "/items/{id}", Read), get(items::get)),
        (route("DELETE", "/items/{id}", Write), delete(items::delete)),
        (route("POST", "/remove", Write), post(items::remove)),
        (route("POST", "/labels", Write), post(items::label)),
        (route("POST", "/renew", Write), post(whole::renew)),
        (route("POST", "/snapshot", Write), post(whole::snapshot)),
        (route("GET", "/model", Read), get(model::model)),
        (look("/stats", Read), get(watch::stats)),
        (look("/history", Read), get(watch::history)),
        (look("/wait", Read), get(wait::wait)),
        (look("/classes", Read), get(classes::classes)),
        (look("/metrics", Read), get(health::metrics)),
        (look("/healthz", Open), get(health::alive)),
        (look("/readyz", Open), get(health::ready)),
        (look("/openapi.json", Open), get(page::openapi)),
        (look("/", Open), get(page::index)),
        (look("/page/{part}", Open), get(page::part)),
    ]
}

/// Returns all routes.
pub fn all() -> Vec<Route> {
    table().into_iter().map(|(route, _)| route).collect()
}

pub fn router(app: &Arc<App>) -> Router {
    let mut router = Router::new();
    for (at, (route, answers)) in table().into_iter().enumerate() {
        let guarded = Guarded { app: app.clone(), at, scope: route.scope };
        let layer = from_fn_with_state(guarded, guard);
        router = router.route(route.path, answers.route_layer(layer));
    }
    router
        .fallback(async || {
            Problem::not_found("there is nothing at this path; /openapi.json has all there are")
        })
        .method_not_allowed_fallback(async || {
            let message = "this path has no such method; /openapi.json has those that there are";
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, message)
        })
        .layer(from_fn_with_state(RequestIds::new(), observe))
        .with_state(app.clone())
}
