//! [`SelectionCache`]: selections by label sets.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::selection::Selection;
use crate::Result;

/// Cache of selections by label sets, for queries with the same filter.
#[derive(Default)]
pub(super) struct SelectionCache(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    by_sets: HashMap<Vec<u32>, Selection>,
    bytes: usize,
}

/// The cache may take one byte for every `CACHE_PART` bytes of item memory.
const CACHE_PART: usize = 4;

/// Bytes that the cache may take even if items take little memory.
const CACHE_AT_LEAST: usize = 1 << 20;

/// Bytes of an entry in addition to its key and selection.
const ENTRY: usize = 128;

impl SelectionCache {
    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the cached selection of these label sets, or calls `find` and caches its result.
    pub(super) fn get(
        &self,
        sets: &[u32],
        memory_of_items: usize,
        find: impl FnOnce() -> Result<Selection>,
    ) -> Result<Selection> {
        if let Some(known) = self.lock().by_sets.get(sets) {
            return Ok(known.clone());
        }
        let selection = find()?;
        let bytes = ENTRY + size_of_val(sets) + selection.memory();
        let mut cache = self.lock();
        if cache.bytes + bytes > (memory_of_items / CACHE_PART).max(CACHE_AT_LEAST) {
            *cache = Entries::default();
        }
        if cache.by_sets.insert(sets.to_vec(), selection.clone()).is_none() {
            cache.bytes += bytes;
        }
        Ok(selection)
    }

    pub(super) fn memory(&self) -> usize {
        self.lock().bytes
    }
}
