//! Items that are inserted into a store, and items that it returns.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Error, Features, Result};

/// Id of an item: a number or a string. All ids of a store are of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ItemId {
    /// Number chosen by the caller.
    Number(u64),
    /// String chosen by the caller.
    Text(String),
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ItemId::Number(number) => number.fmt(f),
            ItemId::Text(text) => fmt::Debug::fmt(text, f),
        }
    }
}

impl From<u64> for ItemId {
    fn from(number: u64) -> Self {
        ItemId::Number(number)
    }
}

impl From<&str> for ItemId {
    fn from(text: &str) -> Self {
        ItemId::Text(text.to_owned())
    }
}

/// Items to insert into a store: ids and vectors, optionally with labels and payloads.
///
/// ```
/// use hashbrook::Features;
/// use hashbrook::store::{ItemId, Put};
///
/// let ids: Vec<ItemId> = vec![1.into(), 2.into()];
/// let vectors = [0.5, 1.0, -0.5, 2.0];
/// let labels = vec![vec!["cat".to_owned()], vec![]];
/// let put = Put::new(&ids, Features::new(&vectors, 2)?)?.labels(&labels)?;
/// assert_eq!(put.len(), 2);
/// # Ok::<(), hashbrook::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Put<'a> {
    pub(super) ids: &'a [ItemId],
    pub(super) features: Features<'a>,
    pub(super) labels: &'a [Vec<String>],
    pub(super) payloads: &'a [Vec<u8>],
}

impl<'a> Put<'a> {
    /// Creates items from ids and vectors, one vector per id.
    ///
    /// # Errors
    /// Fails if the numbers of ids and vectors differ.
    pub fn new(ids: &'a [ItemId], features: Features<'a>) -> Result<Self> {
        let items = features.len();
        if ids.len() != items {
            return Err(Error::IdCount { ids: ids.len(), items });
        }
        Ok(Put { ids, features, labels: &[], payloads: &[] })
    }

    /// Sets the labels of each item, by name; an item may have none.
    ///
    /// # Errors
    /// Fails if the numbers of label lists and items differ.
    pub fn labels(mut self, labels: &'a [Vec<String>]) -> Result<Self> {
        if labels.len() != self.len() {
            return Err(Error::LabelCount { rows: self.len(), labels: labels.len() });
        }
        self.labels = labels;
        Ok(self)
    }

    /// Sets the payloads: bytes that are stored with each item and returned unchanged; they may be
    /// empty.
    ///
    /// # Errors
    /// Fails if the numbers of payloads and items differ.
    pub fn payloads(mut self, payloads: &'a [Vec<u8>]) -> Result<Self> {
        if payloads.len() != self.len() {
            return Err(Error::PayloadCount { items: self.len(), payloads: payloads.len() });
        }
        self.payloads = payloads;
        Ok(self)
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

/// Item as a store holds it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StoredItem {
    /// Id of the item.
    pub id: ItemId,
    /// Vector as it was inserted; rounded if the store uses [half
    /// precision](super::VectorPrecision).
    pub vector: Vec<f32>,
    /// Labels of the item, by name.
    pub labels: Vec<String>,
    /// Payload that was inserted with the item.
    pub payload: Vec<u8>,
    /// Code of the item, 64 bits per word, made by the function of `version`.
    pub code: Vec<u64>,
    /// Version of the function that made the code.
    pub version: u64,
}
