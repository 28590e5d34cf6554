//! Items: insertion, reading, labelling and removal.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use axum::body::Body;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use hashbrook::store::{ItemId, StoredItem};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::super::app::{self, App};
use super::super::body::items::Items;
use super::super::body::json::{Id, Names, id_of_kind, payload};
use super::super::body::{self, Kind, answer, bulk, parse};
use super::super::errors::Problem;
use super::super::hex;
use super::full_page::FullPage;
use super::wait::until;

/// Number of ids on a page without `limit`.
const PAGE: usize = 100;

/// Maximum number of complete items on a page, because they are read from the disk.
const FULL_PAGE: usize = 1000;

pub async fn put(
    State(app): State<Arc<App>>,
    parameters: Result<Query<bulk::Parameters>, QueryRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let (parameters, kind) = match bulk::said(parameters, &headers) {
        Ok(said) => said,
        Err(problem) => {
            body::discard(body);
            return Err(problem);
        }
    };
    let bytes = body::read(&app, body).await?;
    let (started, wait) = (Instant::now(), parameters.wait());
    let done = app.work(Some(app.limits.timeout), move |app| {
        let items = match kind {
            Kind::Json => Items::from_json(&bytes, &app.limits)?,
            Kind::Npy => bulk::npy(&bytes, &parameters, &app.limits)?,
            Kind::Arrow => {
                let ids = app.collection.store().map(|store| store.description().ids);
                bulk::arrow(bytes.clone(), ids, &app.limits)?
            }
        };
        drop(bytes);
        items.features()?;
        let store = app.collection.store_for(items.dim, &items.ids)?;
        let done = items.put(store)?;
        app.done.puts.fetch_add(done.items as u64, Relaxed);
        Ok(done)
    });
    let done = done.await.map_err(Problem::of_change)?;
    if let Some(wait) = wait {
        let time = app.limits.timeout.saturating_sub(started.elapsed());
        if !until(&app, done.position, wait, time).await? {
            return Err(app::not_done_in(app.limits.timeout));
        }
    }
    answer(&done)
}

/// An item as it was inserted, with its code.
#[derive(Serialize)]
pub struct Given {
    id: ItemId,
    vector: Vec<f32>,
    labels: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<Box<RawValue>>,
    code: String,
    version: u64,
}

impl Given {
    pub fn new(item: StoredItem, bits: usize) -> Given {
        let code = hex::encode(&item.code, bits);
        let StoredItem { id, vector, labels, version, .. } = item;
        Given { id, vector, labels, payload: payload(item.payload), code, version }
    }
}

fn no_item(id: impl std::fmt::Display) -> Problem {
    Problem::not_found(format!("there is no item {id}"))
}

pub async fn get(
    State(app): State<Arc<App>>,
    path: Result<Path<String>, PathRejection>,
) -> Result<Response, Problem> {
    let Path(id) = path?;
    app.quick(|app| {
        let Some(store) = app.collection.store() else { return Err(no_item(id)) };
        let id = id_of_kind(&id, store.description().ids)?;
        let item = store.get(&id)?.ok_or_else(|| no_item(id))?;
        answer(&Given::new(item, store.description().bits))
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    after: Option<String>,
    limit: Option<usize>,
    #[serde(default)]
    full: bool,
}

pub async fn list(
    State(app): State<Arc<App>>,
    page: Result<Query<Page>, QueryRejection>,
) -> Result<Response, Problem> {
    let Query(page) = page?;
    let most = if page.full { FULL_PAGE } else { app.limits.max_batch };
    let limit = page.limit.unwrap_or(PAGE.min(most));
    if limit > most {
        let message = format!("limit: {limit} is more than the {most} that are given at once");
        return Err(Problem::unprocessable(message));
    }
    let full = page.full;
    let ids = app.work(Some(app.limits.timeout), move |app| {
        let Some(store) = app.collection.store() else { return Ok((Vec::new(), false)) };
        let after = page.after.map(|id| id_of_kind(&id, store.description().ids)).transpose()?;
        let mut ids = store.reader().ids(after.as_ref(), limit)?;
        let fit = fitting(&ids, app.limits.max_answer);
        let has_more = ids.len() == limit || fit < ids.len();
        ids.truncate(fit);
        Ok((ids, has_more))
    });
    let (ids, has_more) = ids.await?;
    match full {
        false => {
            let next = ids.last().filter(|_| has_more);
            answer(&json!({"ids": ids, "next": next}))
        }
        true => FullPage::new(ids, has_more).answer(app).await,
    }
}

/// Returns the number of ids of a page that ends with the id that reaches `max_answer` bytes.
fn fitting(ids: &[ItemId], max_answer: usize) -> usize {
    let mut bytes = 0;
    let fits = |id: &&ItemId| {
        let fits = bytes < max_answer;
        bytes += match id {
            ItemId::Number(_) => size_of::<u64>(),
            ItemId::Text(text) => text.len(),
        };
        fits
    };
    ids.iter().take_while(fits).count()
}

pub async fn delete(
    State(app): State<Arc<App>>,
    path: Result<Path<String>, PathRejection>,
) -> Result<Response, Problem> {
    let Path(id) = path?;
    let done = app.work(Some(app.limits.timeout), move |app| {
        let Some(store) = app.collection.store() else { return Err(no_item(id)) };
        let id = id_of_kind(&id, store.description().ids)?;
        let done = store.remove(std::slice::from_ref(&id))?;
        if done.removed == 0 { Err(no_item(id)) } else { Ok(done) }
    });
    answer(&done.await.map_err(Problem::of_change)?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ids {
    ids: Vec<Id>,
}

pub async fn remove(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let bytes = body::read_json(&app, &headers, body).await?;
    let done = app.work(Some(app.limits.timeout), move |app| {
        let Ids { ids } = parse(&bytes)?;
        app.limits.check_items(ids.len())?;
        let ids: Vec<ItemId> = ids.into_iter().map(|Id(id)| id).collect();
        match app.collection.store() {
            Some(store) => answer(&store.remove(&ids)?),
            None => answer(&json!({"removed": 0, "unlearned": false, "position": 0})),
        }
    });
    done.await.map_err(Problem::of_change)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Labelled {
    items: Vec<LabelledItem>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LabelledItem {
    id: Id,
    labels: Names,
}

pub async fn label(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let bytes = body::read_json(&app, &headers, body).await?;
    let done = app.work(Some(app.limits.timeout), move |app| {
        let Labelled { items } = parse(&bytes)?;
        app.limits.check_items(items.len())?;
        let Some(first) = items.first() else {
            return Err(Problem::unprocessable("there are no items"));
        };
        let Some(store) = app.collection.store() else { return Err(no_item(&first.id.0)) };
        let (ids, labels): (Vec<ItemId>, Vec<Vec<String>>) =
            items.into_iter().map(|item| (item.id.0, item.labels.0)).unzip();
        Ok(store.label(&ids, &labels)?)
    });
    answer(&done.await.map_err(Problem::of_change)?)
}
