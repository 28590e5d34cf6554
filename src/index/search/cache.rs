//! A cache of selections by label sets.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::selection::Selection;
use crate::Result;

/// A cache of selections by label sets, for queries with the same filter.
#[derive(Default)]
pub(super) struct SelectionCache(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    by_sets: HashMap<Vec<u32>, Selection>,
    bytes: usize,
}

/// What part of the items' memory may be taken by what is kept...
const CACHE_PART: usize = 4;

/// ...and how many bytes in any case.
const CACHE_AT_LEAST: usize = 1 << 20;

/// Bytes of an entry itself.
const ENTRY: usize = 128;

impl SelectionCache {
    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was kept of these label sets, or else what is found and then kept.
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
