//! Changes of an index: adding, replacing, removing and compacting items.

use std::sync::Arc;

use super::Index;
use super::file::Contents;
use super::search::SearchSegment;
use super::segment::{Builder, Item, NewItems, Segment, Shape};
use super::state::State;
use crate::{Codes, Error, Features, LabelNames, Labels, Result};

/// Changes, which do not affect earlier snapshots.
impl Index {
    /// Adds items with new ids: all of them, or none.
    ///
    /// # Errors
    /// When an id already exists or is given twice, the numbers of ids, labels and vectors differ,
    /// the vectors have another dimension, or the file cannot be written.
    pub fn add(
        &mut self,
        ids: &[u64],
        features: Features<'_>,
        labels: Option<Labels<'_>>,
    ) -> Result<()> {
        let encoded = self.now.state.encode(features)?;
        self.add_items(encoded.items(ids, labels))
    }

    /// Like [`add`](Index::add), for items that are already encoded.
    ///
    /// # Errors
    /// As for [`add`](Index::add), and when the index stores vectors ([`Error::VectorsMissing`]).
    pub fn add_codes(
        &mut self,
        ids: &[u64],
        codes: &Codes,
        labels: Option<Labels<'_>>,
    ) -> Result<()> {
        self.add_items(NewItems { ids, codes, labels, vectors: None })
    }

    fn add_items(&mut self, items: NewItems<'_>) -> Result<()> {
        let order = self.now.state.check(items)?;
        let ids = items.ids;
        if let Some(&taken) = self.present(ids)?.first() {
            return Err(Error::IdTaken(taken));
        }
        self.file.put(items)?;
        self.change(|state| state.put(items, &order))
    }

    /// Adds items and replaces existing items with the same ids: all of them, or none.
    ///
    /// # Errors
    /// As for [`add`](Index::add), but ids may already exist.
    pub fn upsert(
        &mut self,
        ids: &[u64],
        features: Features<'_>,
        labels: Option<Labels<'_>>,
    ) -> Result<()> {
        let encoded = self.now.state.encode(features)?;
        self.upsert_items(encoded.items(ids, labels))
    }

    /// Like [`upsert`](Index::upsert), for items that are already encoded.
    ///
    /// # Errors
    /// As for [`upsert`](Index::upsert), and when the index stores vectors
    /// ([`Error::VectorsMissing`]).
    pub fn upsert_codes(
        &mut self,
        ids: &[u64],
        codes: &Codes,
        labels: Option<Labels<'_>>,
    ) -> Result<()> {
        self.upsert_items(NewItems { ids, codes, labels, vectors: None })
    }

    pub(super) fn upsert_items(&mut self, items: NewItems<'_>) -> Result<()> {
        let order = self.now.state.check(items)?;
        let ids = items.ids;
        // Looking up the ids reports damage before anything is changed.
        self.present(ids)?;
        self.file.put(items)?;
        self.change(|state| {
            state.remove(ids)?;
            state.put(items, &order)
        })
    }

    /// Replaces the labels of all given items, or of none if the call fails. Codes and vectors do
    /// not change. An empty set removes all labels of an item.
    ///
    /// ```
    /// use hashbrook::{Codes, Index, Labels};
    ///
    /// let mut index = Index::of_codes(8)?;
    /// index.add_codes(&[10, 20], &Codes::from_bytes(8, &[0, 1])?, Some(Labels::single(&[1, 1])))?;
    /// index.set_labels(&[20], Labels::single(&[5]))?;
    /// assert_eq!(index.labels_of(&[10, 20])?, [[1], [5]]);
    /// # Ok::<(), hashbrook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When an item does not exist ([`Error::NoItem`]) or is given twice, the numbers of labels and
    /// ids differ, or the file cannot be written.
    pub fn set_labels(&mut self, ids: &[u64], labels: Labels<'_>) -> Result<()> {
        if labels.len() != ids.len() {
            return Err(Error::LabelCount { rows: ids.len(), labels: labels.len() });
        }
        let (codes, vectors) = self.now.reading(|state| state.codes_and_vectors(ids))?;
        let vectors = self.now.state.vectors.map(|beside| (beside, &vectors[..]));
        self.upsert_items(NewItems { ids, codes: &codes, labels: Some(labels), vectors })
    }

    /// Removes items, and returns the number of items that existed.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn remove(&mut self, ids: &[u64]) -> Result<usize> {
        let there = self.present(ids)?;
        self.file.remove(&there)?;
        self.change(|state| state.remove(&there))
    }

    /// Sets the names of the labels.
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

    /// Adds names of labels in memory; the first name gets the number `first`. Fails if a name
    /// already has a different number.
    pub(crate) fn add_label_names(&mut self, first: u32, new: &[String]) -> Result<()> {
        if new.is_empty() {
            return Ok(());
        }
        self.change(|state| {
            let names = Arc::make_mut(&mut state.names);
            for (number, name) in (first..).zip(new) {
                let found = names.id(name);
                if found != number {
                    let expected = format!("number {number} for {name:?}");
                    return Err(Error::parameter("names of labels", &expected, found));
                }
            }
            Ok(())
        })
    }

    /// Records whether ids stand for strings, which [`IdNames`](crate::IdNames) stores beside the
    /// file. Readers of the file call [`has_text_ids`](crate::Snapshot::has_text_ids). Call this
    /// function before adding the first item.
    ///
    /// # Errors
    /// When the file, which is rewritten, cannot be written.
    pub fn set_text_ids(&mut self, texts: bool) -> Result<()> {
        if texts == self.has_text_ids() {
            return Ok(());
        }
        self.change(|state| {
            state.text_ids = texts;
            Ok(())
        })?;
        let written = self.compact();
        if written.is_err() {
            self.change(|state| {
                state.text_ids = !texts;
                Ok(())
            })?;
        }
        written
    }

    /// Merges all segments into one and drops removed items. A new file is written, a block of
    /// items at a time, and atomically replaces the old file.
    ///
    /// # Errors
    /// When the file cannot be written; the old file is then unchanged.
    pub fn compact(&mut self) -> Result<()> {
        let now = self.now.clone();
        let once = now.to_read_once()?;
        let each = |call: &mut dyn FnMut(Item<'_>) -> Result<()>| {
            now.reading(|_| once.each_in_order(call))
        };
        // The old file is checked only while it is read: once the new file has replaced it, changes
        // to the old file do not matter.
        let contents = now.reading(|_| Contents::of(&once, &each))?;
        self.replace(contents)
    }

    /// Replaces all segments by one, also in the file if the index has one.
    pub(super) fn replace(&mut self, contents: Contents<'_>) -> Result<()> {
        let segment = match self.file.rewrite(&contents)? {
            Some(segment) => segment,
            None => {
                let Shape { layout, vectors, .. } = contents.shape;
                let mut builder = Builder::new(layout, vectors, contents.count);
                (contents.each)(&mut |item| {
                    builder.push(item);
                    Ok(())
                })?;
                SearchSegment::new(Segment::new(builder.finish()))
            }
        };
        let (Shape { layout, vectors, .. }, function) =
            (contents.shape, contents.function.cloned());
        self.change(|state| {
            (state.layout, state.vectors, state.function) = (layout, vectors, function);
            state.replace(segment);
            Ok(())
        })
    }

    /// Changes the state. Snapshots keep the state from before the change.
    pub(super) fn change<T>(&mut self, change: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
        let state = Arc::make_mut(&mut self.now.state);
        let changed = change(state);
        state.log_bytes = self.file.log_bytes();
        self.now.file = self.file.file().cloned();
        changed
    }
}
