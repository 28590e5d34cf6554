//! [`Store`]: a durable collection that learns from what is put in, keeps the codes of all its items current, and
//! is searched all the while.

mod answer;
mod description;
mod item;
mod settings;

use std::path::Path;

pub use self::answer::{
    Acknowledged, Answer, Found, Learning, Quality, Queries, Removed, Renewing, Search, Stats,
};
pub use self::description::{Description, IdKind, VectorPrecision};
pub use self::item::{ItemId, Put, StoredItem};
pub use self::settings::{Renewal, Settings};
use crate::{Model, Result, Snapshot};

/// A collection in a folder. All its methods take `&self`: share it among threads.
pub struct Store {}

/// A store at one moment: one version of the function, and the codes that it made. It never waits for the writer.
#[derive(Clone)]
pub struct Reader {}

impl Store {
    /// Makes a store in a folder, which is not there yet or empty.
    ///
    /// # Errors
    /// When the folder has something in it or cannot be written, or the description is out of range.
    pub fn create(dir: impl AsRef<Path>, description: &Description, settings: Settings) -> Result<Store> {
        todo!()
    }

    /// Opens a store, for this process alone.
    ///
    /// # Errors
    /// When there is none ([`ErrorKind::NotFound`](crate::ErrorKind::NotFound)), another process has it open
    /// ([`Error::InUse`](crate::Error::InUse)), or it is damaged.
    pub fn open(dir: impl AsRef<Path>, settings: Settings) -> Result<Store> {
        todo!()
    }

    /// Whether there is a store in a folder.
    pub fn exists(dir: impl AsRef<Path>) -> bool {
        todo!()
    }

    /// What it is made of.
    pub fn description(&self) -> &Description {
        todo!()
    }

    /// Puts items in, in the place of those with the same ids: all of them, or none. They are on the disk and can
    /// be found when the call returns; those with labels are learned after that.
    ///
    /// # Errors
    /// When an id is given twice or is of the wrong kind, vectors have another dimension, or the disk is full;
    /// nothing was changed then.
    pub fn put(&self, items: Put<'_>) -> Result<Acknowledged> {
        todo!()
    }

    /// Gives items other labels, which are learned in the place of those they had.
    ///
    /// # Errors
    /// When an item is not there ([`Error::NoItem`](crate::Error::NoItem)) or given twice, or the disk is full;
    /// nothing was changed then.
    pub fn label(&self, ids: &[ItemId], labels: &[Vec<String>]) -> Result<Acknowledged> {
        todo!()
    }

    /// Removes those of the items that are there.
    ///
    /// # Errors
    /// When the disk is full; nothing was changed then.
    pub fn remove(&self, ids: &[ItemId]) -> Result<Removed> {
        todo!()
    }

    /// The store of now, to read it.
    pub fn reader(&self) -> Reader {
        todo!()
    }

    /// The `k` nearest items to each query, in the store of now.
    ///
    /// # Errors
    /// As for [`Reader::search`].
    pub fn search(&self, queries: Queries<'_>, k: usize, search: &Search) -> Result<Answer> {
        self.reader().search(queries, k, search)
    }

    /// All items up to a distance from each query, in the store of now.
    ///
    /// # Errors
    /// As for [`Reader::within`].
    pub fn within(&self, queries: Queries<'_>, radius: u32, search: &Search) -> Result<Answer> {
        self.reader().within(queries, radius, search)
    }

    /// An item, if it is there.
    ///
    /// # Errors
    /// When what is stored is damaged.
    pub fn get(&self, id: &ItemId) -> Result<Option<StoredItem>> {
        self.reader().get(id)
    }

    /// What it holds and does, in numbers.
    pub fn stats(&self) -> Stats {
        todo!()
    }

    /// Waits until all that was acknowledged up to a position is learned, or cannot be.
    ///
    /// # Errors
    /// When learning has come to a standstill.
    pub fn wait_learned(&self, position: u64) -> Result<()> {
        todo!()
    }

    /// Makes all codes anew by what is learned now, and waits until they are in use; the new version.
    ///
    /// # Errors
    /// When that fails; the codes in use stay.
    pub fn renew(&self) -> Result<u64> {
        todo!()
    }

    /// The model as it is now.
    pub fn model(&self) -> Model {
        todo!()
    }

    /// Copies the whole store, as it is at one moment, to a folder that is not there yet; it can be opened there.
    ///
    /// # Errors
    /// When the folder is there or cannot be written; nothing is left of it then.
    pub fn snapshot(&self, to: impl AsRef<Path>) -> Result<()> {
        todo!()
    }

    /// Reads everything that is stored and compares it with its checksums, and codes with items.
    ///
    /// # Errors
    /// When something is damaged.
    pub fn verify(&self) -> Result<()> {
        todo!()
    }

    /// Ends it: what is derived is written down, so that it opens fast. Dropping a store does the same, and
    /// cannot tell of errors; nothing is lost without.
    ///
    /// # Errors
    /// When something could not be written.
    pub fn close(self) -> Result<()> {
        todo!()
    }
}

impl Reader {
    /// The version of the function that all its codes are of.
    pub fn version(&self) -> u64 {
        todo!()
    }

    /// Its codes and labels, under numbers: for stores whose ids are texts these are their own.
    pub fn index(&self) -> &Snapshot {
        todo!()
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.index().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The `k` nearest items to each query.
    ///
    /// # Errors
    /// When queries have another dimension or length, an item to search with is not there, or what is stored is
    /// damaged.
    pub fn search(&self, queries: Queries<'_>, k: usize, search: &Search) -> Result<Answer> {
        todo!()
    }

    /// All items up to a distance from each query, which is included; with a dial it is a sum of weights.
    ///
    /// # Errors
    /// As for [`search`](Reader::search).
    pub fn within(&self, queries: Queries<'_>, radius: u32, search: &Search) -> Result<Answer> {
        todo!()
    }

    /// An item, if it is there.
    ///
    /// # Errors
    /// When what is stored is damaged.
    pub fn get(&self, id: &ItemId) -> Result<Option<StoredItem>> {
        todo!()
    }

    /// Some ids, from the smallest on, after one if it is given: to go through all items in pages.
    ///
    /// # Errors
    /// When what is stored is damaged.
    pub fn ids(&self, after: Option<&ItemId>, most: usize) -> Result<Vec<ItemId>> {
        todo!()
    }
}
