//! What is sent: read whole, within limits, and as what it says it is.

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

/// Bodies up to this many bytes take no memory to speak of.
const SMALL: u64 = 1 << 16;

/// What a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Json,
    Npy,
    Arrow,
}

/// The content types that are taken, for messages.
const KINDS: &str = "application/json, application/x-npy and application/vnd.apache.arrow.stream";

/// What a body says it is. JSON is also what says nothing, or only what `curl -d` says of itself.
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

/// Refused bodies are read this long, and up to so many bytes, for their clients to come to the answer.
const DISCARDED: (Duration, usize) = (Duration::from_secs(5), 1 << 28);

/// Takes what is left of a body that nobody wants, while the answer is sent. Who is still sending when the
/// connection is closed sees a broken one, and not the answer.
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

/// The whole body, if it is not too large and comes in time.
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

/// The whole body as JSON, where nothing else is taken.
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

/// Reads JSON. What is no JSON at all is a bad request, other than JSON with something else in it.
pub fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Problem> {
    serde_json::from_slice(bytes).map_err(|error| {
        // A number that is too large for any type is well written.
        let too_large = error.to_string().starts_with("number out of range");
        let (status, what) = match error.is_data() || too_large {
            true => (StatusCode::UNPROCESSABLE_ENTITY, "the body is not what this call takes"),
            false => (StatusCode::BAD_REQUEST, "the body is no JSON"),
        };
        Problem::new(status, format!("{what}: {error}"))
    })
}

/// An answer in JSON, which is given as text.
pub fn json_response(status: StatusCode, text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// What was asked for, in JSON.
pub fn answer(value: &impl Serialize) -> Result<Response, Problem> {
    let text = serde_json::to_vec(value).map_err(Problem::internal)?;
    Ok(json_response(StatusCode::OK, text))
}
