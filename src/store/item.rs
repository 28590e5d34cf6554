//! What is put into a store, and what it gives back.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Error, Features, Result};

/// The id of an item: a number, or a text. A store has ids of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ItemId {
    /// A number of one's own.
    Number(u64),
    /// A text of one's own.
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

/// Items to be put into a store: ids and vectors, with labels and payloads if there are any.
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
    /// Vectors under ids, one for each.
    ///
    /// # Errors
    /// When there are not as many ids as vectors.
    pub fn new(ids: &'a [ItemId], features: Features<'a>) -> Result<Self> {
        let items = features.len();
        if ids.len() != items {
            return Err(Error::IdCount { ids: ids.len(), items });
        }
        Ok(Put { ids, features, labels: &[], payloads: &[] })
    }

    /// The labels of each item, by name; an item may have none.
    ///
    /// # Errors
    /// When there are not as many as items.
    pub fn labels(mut self, labels: &'a [Vec<String>]) -> Result<Self> {
        if labels.len() != self.len() {
            return Err(Error::LabelCount { rows: self.len(), labels: labels.len() });
        }
        self.labels = labels;
        Ok(self)
    }

    /// Bytes that are kept with each item and given back as they are; they may be empty.
    ///
    /// # Errors
    /// When there are not as many as items.
    pub fn payloads(mut self, payloads: &'a [Vec<u8>]) -> Result<Self> {
        if payloads.len() != self.len() {
            return Err(Error::PayloadCount { items: self.len(), payloads: payloads.len() });
        }
        self.payloads = payloads;
        Ok(self)
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

/// An item as a store holds it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StoredItem {
    /// Its id.
    pub id: ItemId,
    /// Its vector, as it was put in; rounded if the store keeps [half precision](super::VectorPrecision).
    pub vector: Vec<f32>,
    /// Its labels, by name.
    pub labels: Vec<String>,
    /// The bytes that were put in with it.
    pub payload: Vec<u8>,
    /// Its code, 64 bits to a word, by the function of `version`.
    pub code: Vec<u64>,
    /// The version of the function that made its code.
    pub version: u64,
}
