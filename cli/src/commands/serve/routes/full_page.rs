//! Pages of complete items: read, serialised and sent in chunks, so that a page is never completely
//! in memory.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::response::Response;
use futures_util::stream;
use hashbrook::store::{ItemId, Reader};
use hashbrook::{Error, Store};
use serde::Serialize;
use tracing::warn;

use super::super::app::App;
use super::super::body::json_response;
use super::super::errors::{Problem, is_unreadable};
use super::super::log;
use super::items::Given;

/// Minimum bytes of a chunk, unless it is the last: a chunk ends after the item that reaches them.
const CHUNK: usize = 1 << 18;

/// An item of a page. An error replaces a damaged item, so that the page still has the others.
#[derive(Serialize)]
#[serde(untagged)]
enum Entry {
    Item(Given),
    Damaged { id: ItemId, error: String },
}

impl Entry {
    /// Reads an item; returns `None` if the item was removed since the ids were listed.
    fn read(reader: &Reader, id: &ItemId, bits: usize) -> Result<Option<Entry>, Error> {
        match reader.get(id) {
            Ok(item) => Ok(item.map(|item| Entry::Item(Given::new(item, bits)))),
            Err(error) if is_unreadable(&error) => {
                Ok(Some(Entry::Damaged { id: id.clone(), error: error.to_string() }))
            }
            Err(error) => Err(error),
        }
    }
}

/// A page of items that is being sent to a client.
pub struct FullPage {
    ids: Vec<ItemId>,
    /// Number of ids that have been read.
    done: usize,
    /// Number of bytes serialised so far; 0 before the first item.
    bytes: usize,
    /// True if the collection may have items after the last of `ids`.
    has_more: bool,
}

impl FullPage {
    pub fn new(ids: Vec<ItemId>, has_more: bool) -> FullPage {
        FullPage { ids, done: 0, bytes: 0, has_more }
    }

    fn is_done(&self) -> bool {
        self.done == self.ids.len()
    }

    /// Ends the page after the items that have been read; the next page continues from there.
    fn end_here(&mut self) {
        self.has_more |= !self.is_done();
        self.ids.truncate(self.done);
    }

    /// Returns the JSON that follows the last item of the page.
    fn closing(&self) -> Result<Vec<u8>, Problem> {
        let last = self.done.checked_sub(1).and_then(|last| self.ids.get(last));
        let next = last.filter(|_| self.has_more || !self.is_done());
        let mut text = if self.bytes == 0 { b"{\"items\":[".to_vec() } else { Vec::new() };
        text.extend_from_slice(b"],\"next\":");
        serde_json::to_writer(&mut text, &next).map_err(Problem::internal)?;
        text.push(b'}');
        Ok(text)
    }

    /// Serialises the next items. The page ends early if it reaches `max_answer` bytes, or if an
    /// item after the first cannot be read. The request for the next page then reports that error.
    fn chunk(&mut self, store: &Store, max_answer: usize) -> Result<Vec<u8>, Problem> {
        // Each chunk opens its own reader. A reader held for a slow client would keep an old
        // version of the index in memory.
        let reader = store.reader();
        let bits = store.description().bits;
        let mut chunk = Vec::new();
        while chunk.len() < CHUNK
            && let Some(id) = self.ids.get(self.done)
        {
            let is_first = self.bytes == 0;
            match Entry::read(&reader, id, bits) {
                Ok(None) => {}
                Ok(Some(entry)) => {
                    let start = chunk.len();
                    chunk.extend_from_slice(if is_first { b"{\"items\":[" } else { b"," });
                    serde_json::to_writer(&mut chunk, &entry).map_err(Problem::internal)?;
                    self.bytes += chunk.len() - start;
                }
                Err(error) if is_first => return Err(error.into()),
                Err(error) => {
                    warn!(target: log::SERVICE, "a page of items ends before item {id}: {error}");
                    self.end_here();
                    break;
                }
            }
            self.done += 1;
            if self.bytes >= max_answer {
                self.end_here();
            }
        }
        if self.is_done() {
            chunk.append(&mut self.closing()?);
        }
        Ok(chunk)
    }

    /// Reads the next chunk on a thread that may block.
    async fn next(mut self, app: &Arc<App>) -> Result<(FullPage, Bytes), Problem> {
        let chunk = app.work(Some(app.limits.timeout), move |app| {
            let chunk = match app.collection.store() {
                Some(store) => self.chunk(store, app.limits.max_answer)?,
                None => self.closing()?,
            };
            Ok((self, Bytes::from(chunk)))
        });
        chunk.await
    }

    /// Builds a response that streams the page. A chunk is read when the client has taken the
    /// previous ones.
    pub async fn answer(self, app: Arc<App>) -> Result<Response, Problem> {
        let (page, first) = self.next(&app).await?;
        if page.is_done() {
            return Ok(json_response(StatusCode::OK, first));
        }
        let first = app.answers.count(first)?;
        let chunks = stream::unfold((Some(first), Some(page)), move |(ready, page)| {
            let app = app.clone();
            async move {
                if let Some(ready) = ready {
                    return Some((Ok::<_, Infallible>(ready), (None, page)));
                }
                let page = page?;
                // If the service is too busy for the next chunk, the page ends after the chunks
                // already sent.
                let closing = page.closing().ok().map(Bytes::from)?;
                let read = page.next(&app).await;
                let counted = read.and_then(|(page, chunk)| Ok((page, app.answers.count(chunk)?)));
                match counted {
                    Ok((page, chunk)) => {
                        let rest = Some(page).filter(|page| !page.is_done());
                        Some((Ok(chunk), (None, rest)))
                    }
                    Err(_) => Some((Ok(closing), (None, None))),
                }
            }
        });
        Ok(json_response(StatusCode::OK, Body::from_stream(chunks)))
    }
}
