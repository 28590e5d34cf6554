//! Insertion of items into the service from within the program.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};

use anyhow::{Result, anyhow};
use hashbrook::Features;
use hashbrook::store::{ItemId, Put};

use super::app::App;

/// Weak handle to a service, which does not keep the service alive.
pub struct Feed(Weak<App>);

impl Feed {
    pub(super) fn new(app: &Arc<App>) -> Feed {
        Feed(Arc::downgrade(app))
    }

    /// Inserts vectors with consecutive ids from `first` on, skipping ids that exist. Returns
    /// `false` when the service is stopping.
    pub fn put(
        &self,
        first: u64,
        dim: usize,
        vectors: &[f32],
        labels: &[Vec<String>],
    ) -> Result<bool> {
        let Some(app) = self.0.upgrade().filter(|app| !app.is_stopping()) else {
            return Ok(false);
        };
        let ids: Vec<ItemId> = (first..).take(labels.len()).map(ItemId::Number).collect();
        let store = app.collection.store_for(dim, &ids).map_err(|problem| anyhow!("{problem}"))?;
        let reader = store.reader();
        let mut new = Vec::new();
        for (row, id) in ids.iter().enumerate() {
            if reader.get(id)?.is_none() {
                new.push(row);
            }
        }
        if new.is_empty() {
            return Ok(true);
        }
        let ids: Vec<ItemId> = new.iter().map(|&row| ids[row].clone()).collect();
        let labels: Vec<Vec<String>> = new.iter().map(|&row| labels[row].clone()).collect();
        let vectors: Vec<f32> =
            new.iter().flat_map(|&row| &vectors[row * dim..][..dim]).copied().collect();
        store.put(Put::new(&ids, Features::new(&vectors, dim)?)?.labels(&labels)?)?;
        app.done.puts.fetch_add(ids.len() as u64, Relaxed);
        Ok(true)
    }
}
