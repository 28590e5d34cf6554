//! Request bodies: read completely, within limits, and parsed by their content type.

pub mod bulk;
pub mod items;
pub mod json;
pub mod query;

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body as _;
use serde::{Deserialize, Serialize};

use super::app::App;
use super::errors::Problem;

/// Bodies up to this many bytes take negligible memory.
const SMALL: u64 = 1 << 16;

/// Format of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Json,
    Npy,
    Arrow,
}

/// Accepted content types, for messages.
const KINDS: &str = "application/json, application/x-npy and application/vnd.apache.arrow.stream";

/// Returns the format of a body from its content type. JSON is the default, also for the content
/// type that `curl -d` sets.
pub fn kind(headers: &HeaderMap) -> Result<Kind, Problem> {
    let Some(value) = headers.get(header::CONTENT_TYPE) else { return Ok(Kind::Json) };
    let value = value.to_str().unwrap_or("?");
    let name = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match name.as_str() {
        "" | "application/json" | "application/x-www-form-urlencoded" | "text/plain" => {
            Ok(Kind::Json)
        }
        "application/x-npy" => Ok(Kind::Npy),
        "application/vnd.apache.arrow.stream" => Ok(Kind::Arrow),
        _ => {
            let message = format!("{value:?} is not read here; {KINDS} are");
            Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message))
        }
    }
}

/// Maximum time and bytes for reading a refused body, so that its client gets to read the answer.
const DISCARDED: (Duration, usize) = (Duration::from_secs(5), 1 << 28);

/// Reads and drops the rest of a refused body while the answer is sent. If the connection closed
/// while the client still sends, the client would see a broken connection instead of the answer.
pub fn discard(mut body: Body) {
    if body.is_end_stream() {
        return;
    }
    let (time, most) = DISCARDED;
    tokio::spawn(tokio::time::timeout(time, async move {
        let mut taken = 0;
        while let Some(Ok(frame)) = body.frame().await {
            taken += frame.data_ref().map_or(0, Bytes::len);
            if taken > most {
                break;
            }
        }
    }));
}

/// Reads the whole body; fails if it is too large or too slow.
pub async fn read(app: &App, mut body: Body) -> Result<Bytes, Problem> {
    let limits = &app.limits;
    let too_large = || {
        let message = format!("the body is larger than {} bytes (--max-body)", limits.max_body);
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    };
    let size = body.size_hint();
    if size.lower() > limits.max_body as u64 {
        discard(body);
        return Err(too_large());
    }
    let _permit = match size.upper() {
        Some(..=SMALL) => None,
        _ => match app.large_bodies.try_acquire() {
            Ok(permit) => Some(permit),
            Err(_) => {
                discard(body);
                let message = "too many large bodies are being read";
                let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, message);
                return Err(problem.retry_after(1));
            }
        },
    };
    let whole = Limited::new(&mut body, limits.max_body).collect();
    match tokio::time::timeout(limits.timeout, whole).await {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            discard(body);
            Err(too_large())
        }
        Ok(Err(_)) => Err(Problem::new(StatusCode::BAD_REQUEST, "the body ended too early")),
        Err(_) => {
            let seconds = limits.timeout.as_secs_f64();
            let message = format!("the body did not come within {seconds} seconds (--timeout)");
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, message))
        }
    }
}

/// Reads the whole body; fails unless its content type is JSON.
pub async fn read_json(app: &App, headers: &HeaderMap, body: Body) -> Result<Bytes, Problem> {
    match kind(headers) {
        Ok(Kind::Json) => read(app, body).await,
        other => {
            discard(body);
            let message = "this call takes JSON";
            Err(other.err().unwrap_or(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message)))
        }
    }
}

/// Parses JSON. Malformed JSON is a bad request; JSON with unexpected content is unprocessable.
pub fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Problem> {
    serde_json::from_slice(bytes).map_err(|error| {
        // A number that is out of range for its type is well-formed JSON.
        let too_large = error.to_string().starts_with("number out of range");
        let (status, what) = match error.is_data() || too_large {
            true => (StatusCode::UNPROCESSABLE_ENTITY, "the body is not what this call takes"),
            false => (StatusCode::BAD_REQUEST, "the body is no JSON"),
        };
        Problem::new(status, format!("{what}: {error}"))
    })
}

/// Builds a response from JSON text.
pub fn json_response(status: StatusCode, text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// Builds a successful response with a value as JSON.
pub fn answer(value: &impl Serialize) -> Result<Response, Problem> {
    let text = serde_json::to_vec(value).map_err(Problem::internal)?;
    Ok(json_response(StatusCode::OK, text))
}
