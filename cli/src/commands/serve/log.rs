//! Logs on the standard error: events of the service and its store, and a line for each request.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Instant;

use anyhow::{Context as _, Result};
use axum::body::{Body, Bytes};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;

/// Log target for events of the service as a whole.
pub const SERVICE: &str = "hashbrook::serve";

/// Log target for request lines.
const REQUEST: &str = "hashbrook::request";

/// Default filter without RUST_LOG. Requests are logged at level `debug`, failed ones as warnings.
const DEFAULT_FILTER: &str = "hashbrook=info,warn";

/// How lines of the log are written.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum LogFormat {
    /// A line of text for people
    Text,
    /// A line of JSON for programs
    Json,
}

/// Starts logging.
pub fn start(format: LogFormat) -> Result<()> {
    let filter = match std::env::var("RUST_LOG") {
        Ok(text) if !text.trim().is_empty() => filter(&text)?,
        _ => filter(DEFAULT_FILTER)?,
    };
    // Reporting a failed write would write to the standard error again, and panic there.
    let lines =
        tracing_subscriber::fmt::layer().with_writer(std::io::stderr).log_internal_errors(false);
    let lines = match format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    tracing_subscriber::registry().with(filter).with(lines).try_init().context("cannot start logs")
}

fn filter(text: &str) -> Result<Targets> {
    text.parse().with_context(|| {
        format!("RUST_LOG: expected levels of targets, as in hashbrook=debug,warn, found {text:?}")
    })
}

/// Name of the header with the id of a request.
const ID: HeaderName = HeaderName::from_static("x-request-id");

/// Ids of requests: the id that the client sent, or a number that is unique within this process.
pub struct RequestIds {
    first: u64,
    count: AtomicU64,
}

impl RequestIds {
    pub fn new() -> Arc<RequestIds> {
        // The standard library has no other source of random numbers.
        let first = RandomState::new().build_hasher().finish();
        Arc::new(RequestIds { first, count: AtomicU64::new(0) })
    }

    fn of(&self, headers: &HeaderMap) -> HeaderValue {
        let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
        let is_usable =
            |id: &&HeaderValue| (1..=64).contains(&id.len()) && id.as_bytes().iter().all(allowed);
        if let Some(id) = headers.get(ID).filter(is_usable) {
            return id.clone();
        }
        let count = self.count.fetch_add(1, Relaxed);
        // Multiplication by an odd factor is a bijection, and makes consecutive ids differ widely.
        let number = self.first.wrapping_add(count.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        HeaderValue::from_str(&format!("{number:016x}"))
            .unwrap_or_else(|_| HeaderValue::from_static("0"))
    }
}

/// Message of a failure for the operator, passed from the handler to the log.
#[derive(Clone)]
pub struct Failure(pub String);

/// Gives each request an id, and logs the request once its answer is sent. Headers, paths and
/// bodies are not logged: headers may contain a token, paths and bodies contain user data.
pub async fn observe(State(ids): State<Arc<RequestIds>>, request: Request, next: Next) -> Response {
    let start = Instant::now();
    let id = ids.of(request.headers());
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let mut response = next.run(request).await;
    response.headers_mut().insert(ID, id.clone());
    let status = response.status();
    if !status.is_server_error() && !tracing::enabled!(target: REQUEST, Level::DEBUG) {
        return response;
    }
    let failure = response.extensions_mut().remove::<Failure>();
    let entry = Entry { id, method, route, status, start, failure, bytes: 0 };
    response.map(|body| Body::new(Reported { body, entry }))
}

/// Log entry of a request.
struct Entry {
    id: HeaderValue,
    method: Method,
    route: Option<MatchedPath>,
    status: StatusCode,
    start: Instant,
    failure: Option<Failure>,
    /// Number of bytes of the answer that were passed to the connection.
    bytes: u64,
}

impl Drop for Entry {
    fn drop(&mut self) {
        let id = self.id.to_str().unwrap_or_default();
        let method = self.method.as_str();
        let route = self.route.as_ref().map_or("unknown", |route| route.as_str());
        let (status, bytes) = (self.status.as_u16(), self.bytes);
        let seconds = self.start.elapsed().as_secs_f64();
        if self.status.is_server_error() {
            let error = self.failure.as_ref().map_or("", |Failure(message)| message);
            tracing::warn!(target: REQUEST, id, method, route, status, seconds, bytes, error, "request failed");
        } else {
            tracing::debug!(target: REQUEST, id, method, route, status, seconds, bytes, "request");
        }
    }
}

/// A response body whose request is logged when the whole body is sent or the client disconnects.
struct Reported {
    body: Body,
    entry: Entry,
}

impl HttpBody for Reported {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &frame {
            self.entry.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_their_own_ids() {
        let ids = RequestIds::new();
        let of = |id: Option<&str>| {
            let mut headers = HeaderMap::new();
            id.map(|id| headers.insert(ID, HeaderValue::from_str(id).unwrap()));
            ids.of(&headers).to_str().unwrap().to_owned()
        };
        assert_eq!(of(Some("abc-1_2.Z")), "abc-1_2.Z");
        let long = "x".repeat(65);
        let mut made: Vec<String> =
            [None, Some(""), Some("a b"), Some("{}"), Some(&long)].map(of).to_vec();
        assert!(made.iter().all(|id| id.len() == 16 && u64::from_str_radix(id, 16).is_ok()));
        made.sort();
        made.dedup();
        assert_eq!(made.len(), 5);
    }

    #[test]
    fn filters_are_levels_of_targets() {
        assert!(filter(DEFAULT_FILTER).unwrap().would_enable("hashbrook::store", &Level::INFO));
        assert!(!filter(DEFAULT_FILTER).unwrap().would_enable(REQUEST, &Level::DEBUG));
        assert!(filter("hashbrook=nonsense").is_err());
    }
}
