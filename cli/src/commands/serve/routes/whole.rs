//! Requests that iterate over all items: re-encoding, and snapshots of the store. They run one at a
//! time, without a time limit.

use std::path::PathBuf;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use hashbrook::Store;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::app::App;
use super::super::body::{self, answer, parse};
use super::super::errors::Problem;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

pub async fn renew(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let bytes = body::read_json(&app, &headers, body).await?;
    if !bytes.is_empty() {
        let Nothing {} = parse(&bytes)?;
    }
    one_at_a_time(&app, |store| Ok(json!({"version": store.renew()?}))).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
    /// Omits items that were replaced or removed.
    #[serde(default)]
    compact: bool,
}

pub async fn snapshot(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let bytes = body::read_json(&app, &headers, body).await?;
    let Named { name, compact } = parse(&bytes)?;
    let to = snapshot_folder(&app, &name)?;
    one_at_a_time(&app, move |store| {
        if let Some(directory) = to.parent() {
            std::fs::create_dir_all(directory)
                .map_err(|cause| hashbrook::Error::Io { path: directory.to_path_buf(), cause })?;
        }
        if to.symlink_metadata().is_ok() {
            return Err(Problem::conflict(format!("there is a snapshot {name:?} already")));
        }
        if compact { store.compact_to(&to) } else { store.snapshot(&to) }?;
        Ok(json!({"name": name}))
    })
    .await
}

/// Returns the directory of a snapshot of this name, which is always inside the snapshot directory.
fn snapshot_folder(app: &App, name: &str) -> Result<PathBuf, Problem> {
    let Some(directory) = &app.snapshots else {
        return Err(Problem::conflict("the service was started without --snapshots DIR"));
    };
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if name.is_empty() || name.len() > 100 || name.starts_with('.') || !name.bytes().all(allowed) {
        return Err(Problem::unprocessable(format!(
            "the name of a snapshot has 1 to 100 letters, digits, dots, dashes and underscores, and does \
             not begin with a dot; {name:?} is none"
        )));
    }
    Ok(directory.join(name))
}

async fn one_at_a_time(
    app: &Arc<App>,
    job: impl FnOnce(&Store) -> Result<Value, Problem> + Send + 'static,
) -> Result<Response, Problem> {
    let Ok(only) = app.over_all.clone().try_acquire_owned() else {
        let message = "a snapshot or a renewal is being made already";
        return Err(Problem::conflict(message).retry_after(5));
    };
    let done = app.work(None, move |app| {
        let _only = only;
        let store = app.collection.store().ok_or_else(Problem::nothing_yet)?;
        job(store)
    });
    answer(&done.await?)
}
