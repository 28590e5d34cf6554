//! Download of the learned function or model.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::Response;
use serde::Deserialize;

use super::super::app::App;
use super::super::errors::Problem;

/// Header with the version of the function that made the codes in use.
const VERSION: HeaderName = HeaderName::from_static("hashbrook-version");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    #[serde(default)]
    full: bool,
}

/// Answers with the function that made the codes in use, or with the whole model, which may have
/// learned more since.
pub async fn model(
    State(app): State<Arc<App>>,
    parameters: Result<Query<Parameters>, QueryRejection>,
) -> Result<Response, Problem> {
    let Query(Parameters { full }) = parameters?;
    let made = app.work(Some(app.limits.timeout), move |app| {
        let store = app.collection.store().ok_or_else(Problem::nothing_yet)?;
        let reader = store.reader();
        let bytes = match (full, reader.index().function()) {
            (true, _) => store.model()?.to_bytes(),
            (false, Some(function)) => function.to_bytes(),
            (false, None) => return Err(Problem::conflict("nothing was learned yet")),
        };
        Ok((bytes, reader.version()))
    });
    let (bytes, version) = made.await?;
    let mut response = Response::new(bytes.into());
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("application/octet-stream");
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(VERSION, HeaderValue::from(version));
    let name = if full { "hashbrook.model" } else { "hashbrook.function" };
    let name = HeaderValue::from_str(&format!("attachment; filename=\"{name}\""));
    name.into_iter().for_each(|name| drop(headers.insert(header::CONTENT_DISPOSITION, name)));
    Ok(response)
}
