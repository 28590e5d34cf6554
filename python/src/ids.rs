//! Item ids: numbers, or strings that the index maps to numbers.

use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use hashbrook::IdNames;
use hashbrook::store::ItemId;
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::{broken, exception};

/// Number of a string id that does not exist. No string has this number, because numbers count up
/// from 0.
const NOBODY: u64 = u64::MAX;

/// Ids as passed by the Python part.
#[derive(FromPyObject)]
pub enum Ids<'py> {
    Numbers(PyReadonlyArray1<'py, u64>),
    Texts(Vec<String>),
}

/// Ids that can be used without Python's lock.
#[derive(Clone)]
pub enum GivenIds {
    Numbers(Vec<u64>),
    Texts(Vec<String>),
}

/// One id.
#[derive(FromPyObject)]
pub enum Id {
    Number(u64),
    Text(String),
}

impl Ids<'_> {
    pub fn given(self) -> GivenIds {
        match self {
            Ids::Numbers(ids) => GivenIds::Numbers(ids.as_array().to_vec()),
            Ids::Texts(ids) => GivenIds::Texts(ids),
        }
    }
}

impl From<Id> for GivenIds {
    fn from(id: Id) -> GivenIds {
        match id {
            Id::Number(id) => GivenIds::Numbers(vec![id]),
            Id::Text(id) => GivenIds::Texts(vec![id]),
        }
    }
}

/// Converts the ids to the type that a store takes.
impl From<GivenIds> for Vec<ItemId> {
    fn from(ids: GivenIds) -> Vec<ItemId> {
        match ids {
            GivenIds::Numbers(ids) => ids.into_iter().map(ItemId::Number).collect(),
            GivenIds::Texts(ids) => ids.into_iter().map(ItemId::Text).collect(),
        }
    }
}

impl From<Id> for ItemId {
    fn from(id: Id) -> ItemId {
        match id {
            Id::Number(id) => ItemId::Number(id),
            Id::Text(id) => ItemId::Text(id),
        }
    }
}

/// String ids of an index with their numbers, shared by the index and its snapshots. Empty if ids
/// are numbers. Entries are only ever added, so the numbers of older snapshots stay valid.
#[derive(Clone)]
pub struct Texts {
    names: Arc<RwLock<IdNames>>,
    /// Index file next to which string ids are stored, if the index is edited in a file.
    beside: Option<PathBuf>,
}

impl Texts {
    /// Creates the string ids of an index. New strings are written next to the index file `beside`.
    pub fn new(names: IdNames, beside: Option<PathBuf>) -> Texts {
        Texts { names: Arc::new(RwLock::new(names)), beside }
    }

    /// Reads the string ids of an index file; returns none if its ids are numbers.
    pub fn read(index: &hashbrook::Snapshot, path: &Path) -> hashbrook::Result<IdNames> {
        match index.has_text_ids() {
            true => IdNames::load_beside(path),
            false => Ok(IdNames::new()),
        }
    }

    /// Replaces the string ids by those of a newer version of the file.
    pub fn replace(&self, names: IdNames) -> PyResult<()> {
        *self.names.write().map_err(broken)? = names;
        Ok(())
    }

    /// Returns the numbers of ids that are put into an index. New strings are written to their file
    /// before the items are put. If the put then fails, the file only has strings that no item has.
    pub fn put(&self, texts: bool, ids: GivenIds) -> PyResult<Vec<u64>> {
        let ids = match (texts, ids) {
            (true, GivenIds::Texts(ids)) => ids,
            (texts, ids) => return same_kind(texts, ids),
        };
        let mut names = self.names.write().map_err(broken)?;
        let before = names.len();
        let numbers = ids.iter().map(|id| names.number(id)).collect();
        if let Some(index) = self.beside.as_ref().filter(|_| names.len() > before) {
            names.save(IdNames::path_beside(index)).map_err(exception)?;
        }
        Ok(numbers)
    }

    /// Returns the numbers of ids, which need not be in the index; `NOBODY` for unknown strings.
    pub fn find(&self, texts: bool, ids: GivenIds) -> PyResult<Vec<u64>> {
        match (texts, ids) {
            (true, GivenIds::Texts(ids)) => {
                let names = self.names.read().map_err(broken)?;
                Ok(ids.iter().map(|id| names.find(id).unwrap_or(NOBODY)).collect())
            }
            (texts, ids) => same_kind(texts, ids),
        }
    }

    /// Returns the numbers of ids; the items must be in the index.
    ///
    /// # Errors
    /// `KeyError` if an item does not exist.
    pub fn find_items(&self, index: &hashbrook::Snapshot, ids: GivenIds) -> PyResult<Vec<u64>> {
        let numbers = self.find(index.has_text_ids(), ids.clone())?;
        let present = index.present(&numbers).map_err(exception)?;
        let same = numbers.iter().zip(&present).take_while(|(number, there)| number == there);
        match <Vec<ItemId>>::from(ids).get(same.count()) {
            Some(absent) => Err(exception(hashbrook::Error::NoItem(absent.to_string()))),
            None => Ok(numbers),
        }
    }

    /// Returns the string ids with these numbers.
    pub fn of(&self, ids: &[u64]) -> PyResult<Vec<Option<String>>> {
        let names = self.names.read().map_err(broken)?;
        Ok(ids.iter().map(|&id| names.name(id).map(str::to_owned)).collect())
    }

    /// Converts an error to an exception that names the string id instead of its number.
    pub fn told(&self, error: hashbrook::Error) -> PyErr {
        let (id, problem) = match &error {
            hashbrook::Error::IdTwice(id) => (*id, "is given more than once; nothing was changed"),
            hashbrook::Error::IdTaken(id) => {
                (*id, "is there already; upsert replaces items. Nothing was changed")
            }
            _ => return exception(error),
        };
        match self.of(&[id]).map(|mut names| names.pop().flatten()) {
            Ok(Some(name)) => PyValueError::new_err(format!("id {name:?} {problem}")),
            _ => exception(error),
        }
    }

    /// Writes the string ids next to an index file that is about to be written. Fails if this would
    /// overwrite string ids that an existing index needs.
    pub fn save_beside(&self, index: &Path) -> PyResult<()> {
        let path = IdNames::path_beside(index);
        let names = self.names.read().map_err(broken)?;
        if let Ok(old) = hashbrook::Index::open(index)
            && old.has_text_ids()
            && IdNames::load(&path).is_ok_and(|old| !old.iter().eq(names.iter().take(old.len())))
        {
            let problem = format!(
                "{} has other texts as ids, and would be without them if this were interrupted; remove it first, \
                 or save to another place",
                index.display()
            );
            return Err(PyValueError::new_err(problem));
        }
        names.save(path).map_err(exception)
    }
}

/// Returns the ids of an index with number ids. Fails for string ids, except for an empty list,
/// whose kind does not matter.
fn same_kind(texts: bool, ids: GivenIds) -> PyResult<Vec<u64>> {
    let problem = match (texts, ids) {
        (false, GivenIds::Numbers(ids)) => return Ok(ids),
        (true, GivenIds::Numbers(ids)) => match ids.first() {
            None => return Ok(ids),
            Some(id) => format!("the ids of this index are texts, and {id} is a number"),
        },
        (_, GivenIds::Texts(ids)) => match ids.first() {
            None => return Ok(Vec::new()),
            Some(id) => format!("the ids of this index are numbers, and {id:?} is a text"),
        },
    };
    Err(PyValueError::new_err(problem))
}
