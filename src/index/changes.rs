//! What changes an index: items added, replaced, removed, renewed, compacted.

use std::sync::Arc;

use super::Index;
use super::file::Contents;
use super::segment::{Builder, Item, NewItems, Segment};
use super::state::State;
use crate::kernel::Layout;
use crate::{Codes, Error, Features, HashFunction, LabelNames, Labels, Result};

/// Changes. Snapshots that were taken before do not see them.
impl Index {
    /// Adds items with new ids: all of them, or none.
    ///
    /// # Errors
    /// When an id is there already or given twice, there are not as many ids or labels as vectors,
    /// these have another dimension, or the file cannot be written.
    pub fn add(
        &mut self,
        ids: &[u64],
        features: Features<'_>,
        labels: Option<Labels<'_>>,
    ) -> Result<()> {
        self.add_codes(ids, &self.encode(features)?, labels)
    }

    /// Like [`add`](Index::add), of items that are encoded already.
    ///
    /// # Errors
    /// As for [`add`](Index::add).
    pub fn add_codes(
        &mut self,
        ids: &[u64],
        codes: &Codes,
        labels: Option<Labels<'_>>,
    ) -> Result<()> {
        let items = NewItems { ids, codes, labels };
        let order = self.now.state.check(items)?;
        if let Some(&taken) = self.present(ids)?.first() {
            return Err(Error::IdTaken(taken));
        }
        self.file.put(items)?;
        self.change(|state| state.put(items, &order))
    }

    /// Adds items, in the place of those with the same ids: all of them, or none.
    ///
    /// # Errors
    /// As for [`add`](Index::add), but ids may be there.
    pub fn upsert(
        &mut self,
        ids: &[u64],
        features: Features<'_>,
        labels: Option<Labels<'_>>,
    ) -> Result<()> {
        self.upsert_codes(ids, &self.encode(features)?, labels)
    }

    /// Like [`upsert`](Index::upsert), of items that are encoded already.
    ///
    /// # Errors
    /// As for [`upsert`](Index::upsert).
    pub fn upsert_codes(
        &mut self,
        ids: &[u64],
        codes: &Codes,
        labels: Option<Labels<'_>>,
    ) -> Result<()> {
        let items = NewItems { ids, codes, labels };
        let order = self.now.state.check(items)?;
        // Whatever is damaged shows before anything is changed.
        self.present(ids)?;
        self.file.put(items)?;
        self.change(|state| {
            state.remove(ids)?;
            state.put(items, &order)
        })
    }

    /// Removes items, and returns how many were there.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn remove(&mut self, ids: &[u64]) -> Result<usize> {
        let there = self.present(ids)?;
        self.file.remove(&there)?;
        self.change(|state| state.remove(&there))
    }

    /// Says what the labels are called.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn set_label_names(&mut self, names: LabelNames) -> Result<()> {
        if names == *self.label_names() {
            return Ok(());
        }
        self.file.name(&names)?;
        self.change(|state| {
            state.names = Arc::new(names);
            Ok(())
        })
    }

    /// Merges all segments into one and drops removed items. The file is written anew, a block of items at a
    /// time, and takes the place of the old one at once.
    ///
    /// # Errors
    /// When the file cannot be written; it is then as it was.
    pub fn compact(&mut self) -> Result<()> {
        let now = self.now.clone();
        let once = now.to_read_once()?;
        let each = |call: &mut dyn FnMut(Item<'_>) -> Result<()>| {
            now.reading(|_| once.each_in_order(call))
        };
        // What others do to the old file is of no matter once the new one stands.
        let contents = now.reading(|_| Contents::of(&once, &each))?;
        self.replace(contents)
    }

    /// Encodes all items anew, under a newer function: `ids` and `features` are those of all items
    /// that are there, in any order. Searches see the old codes or the new ones, never both.
    ///
    /// # Errors
    /// When the ids are not those of the index, or the file cannot be written; everything is then as
    /// it was.
    pub fn renew(
        &mut self,
        function: HashFunction,
        ids: &[u64],
        features: Features<'_>,
    ) -> Result<()> {
        let codes = function.encode(features)?;
        self.renew_codes(function, ids, &codes)
    }

    /// Like [`renew`](Index::renew), with codes that the newer function has made already: vectors
    /// that do not fit in memory can be encoded in parts.
    ///
    /// # Errors
    /// As for [`renew`](Index::renew), and when the codes have another length than the function's.
    pub fn renew_codes(
        &mut self,
        function: HashFunction,
        ids: &[u64],
        codes: &Codes,
    ) -> Result<()> {
        codes.expect_bits(function.bits())?;
        let order = NewItems { ids, codes, labels: None }.order()?;
        if ids.len() != self.len() {
            let problem = format!("{} ids for {} items", ids.len(), self.len());
            return Err(Error::NotRenewed { problem });
        }
        let now = self.now.clone();
        now.reading(|state| {
            for &id in ids {
                if state.find(id)?.is_none() {
                    return Err(Error::NotRenewed { problem: format!("there is no item {id}") });
                }
            }
            Ok(())
        })?;
        let each = |call: &mut dyn FnMut(Item<'_>) -> Result<()>| {
            now.reading(|state| {
                for &at in &order {
                    let place = state.find(ids[at])?;
                    let label_set = place.map_or(Ok(0), |place| state.label_set(place))?;
                    call(Item { id: ids[at], code: codes.code(at), label_set })?;
                }
                Ok(())
            })
        };
        let labelled = now.reading(State::is_labelled)?;
        self.replace(Contents {
            state: &now.state,
            function: Some(&function),
            layout: Layout::new(function.bits()),
            count: ids.len(),
            labelled,
            each: &each,
        })
    }

    /// Puts one segment in the place of all, in the file if there is one.
    fn replace(&mut self, contents: Contents<'_>) -> Result<()> {
        let segment = match self.file.rewrite(&contents)? {
            Some(segment) => segment,
            None => {
                let mut builder = Builder::new(contents.layout, contents.count);
                (contents.each)(&mut |item| {
                    builder.push(item);
                    Ok(())
                })?;
                Segment::new(builder.finish())
            }
        };
        let (layout, function) = (contents.layout, contents.function.cloned());
        self.change(|state| {
            (state.layout, state.function) = (layout, function);
            state.replace(segment);
            Ok(())
        })
    }

    /// Makes the next state of the last one. Snapshots keep the last one.
    pub(super) fn change<T>(&mut self, change: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
        let state = Arc::make_mut(&mut self.now.state);
        let changed = change(state);
        state.log_bytes = self.file.log_bytes();
        self.now.file = self.file.file().cloned();
        changed
    }
}
