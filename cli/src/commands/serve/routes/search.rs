//! Search for the nearest items, or for all within a distance.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use hashbrook::store::{Answer, Found, ItemId, Reader};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::super::app::App;
use super::super::body::json::payload;
use super::super::body::query::{Asked, Reach, Written};
use super::super::body::{self, answer, parse};
use super::super::errors::{Problem, is_unreadable};

/// Maximum number of hits with payloads, because payloads are read from the disk one by one.
const PAYLOADS: usize = 1000;

pub async fn nearest(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    search(app, headers, body, false).await
}

pub async fn within(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    search(app, headers, body, true).await
}

async fn search(
    app: Arc<App>,
    headers: HeaderMap,
    body: Body,
    within: bool,
) -> Result<Response, Problem> {
    let bytes = body::read_json(&app, &headers, body).await?;
    let asked = parse::<Written>(&bytes)?.read(within, &app.limits)?;
    // A small search costs less than moving it to another thread.
    match asked.is_small() {
        true => app.quick(|app| found(app, asked)),
        false => app.work(Some(app.limits.timeout), |app| found(app, asked)).await,
    }
}

fn found(app: &App, mut asked: Asked) -> Result<Response, Problem> {
    let Some(store) = app.collection.store() else { return nothing(&asked) };
    let gathered = asked.gathered(store.description())?;
    let reader = store.reader();
    asked.search.most = Some(if asked.payloads { PAYLOADS } else { app.limits.max_k });
    let found = match asked.reach {
        Reach::Nearest(k) => reader.search(gathered.queries()?, k, &asked.search)?,
        Reach::Within(radius) => reader.within(gathered.queries()?, radius, &asked.search)?,
    };
    app.done.searches.fetch_add(found.results.len() as u64, Relaxed);
    match asked.payloads {
        false => answered(&found, asked.single),
        true => with_payloads(&reader, found, asked.single, app.limits.max_answer),
    }
}

/// Returns the empty answer of a collection without items.
fn nothing(asked: &Asked) -> Result<Response, Problem> {
    match asked.single {
        true => answer(&json!({"version": 0, "results": []})),
        false => answer(&json!({"version": 0, "results": vec![[0; 0]; asked.len()]})),
    }
}

#[derive(Serialize)]
struct One<'a, T> {
    version: u64,
    results: &'a [T],
}

fn answered(found: &Answer, single: bool) -> Result<Response, Problem> {
    match found.results.first().filter(|_| single) {
        Some(results) => answer(&One { version: found.version, results }),
        None => answer(found),
    }
}

#[derive(Serialize)]
struct FoundWhole {
    id: ItemId,
    distance: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f32>,
    labels: Vec<String>,
    payload: Option<Box<RawValue>>,
    /// Reason why the payload of a damaged item cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

fn with_payloads(
    reader: &Reader,
    found: Answer,
    single: bool,
    max_answer: usize,
) -> Result<Response, Problem> {
    let total: usize = found.results.iter().map(Vec::len).sum();
    if total > PAYLOADS {
        return Err(Problem::unprocessable(format!(
            "{total} results would be given with their payloads, and up to {PAYLOADS} are; ask for fewer"
        )));
    }
    let mut bytes = 0;
    let mut whole = |found: Found| {
        let (item, error) = match reader.get(&found.id) {
            Err(error) if is_unreadable(&error) => (None, Some(error.to_string())),
            item => (item?, None),
        };
        bytes += item.as_ref().map_or(0, |item| item.payload.len());
        if bytes > max_answer {
            return Err(Problem::unprocessable(format!(
                "the payloads of {total} results have more than {max_answer} bytes (--max-answer); ask \
                 for fewer results, or for payloads by GET /items/ID"
            )));
        }
        let Found { id, distance, score, labels, .. } = found;
        let payload = item.and_then(|item| payload(item.payload));
        Ok(FoundWhole { id, distance, score, labels, payload, error })
    };
    let version = found.version;
    let mut of_query =
        |found: Vec<Found>| found.into_iter().map(&mut whole).collect::<Result<_, Problem>>();
    let results = found.results.into_iter().map(&mut of_query);
    let results = results.collect::<Result<Vec<Vec<FoundWhole>>, Problem>>()?;
    match results.first().filter(|_| single) {
        Some(results) => answer(&One { version, results }),
        None => answer(&One { version, results: &results }),
    }
}
