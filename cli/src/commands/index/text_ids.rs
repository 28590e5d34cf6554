//! Ids that are texts, which are kept beside an index.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use hashbrook::dataset::{read_id_texts, read_ids};
use hashbrook::{IdNames, Index};
use serde_json::{Value, json};

use super::items::read_ids_all;
use crate::console::plural;

/// The texts of an index, if its ids are texts.
pub struct TextIds {
    path: PathBuf,
    names: IdNames,
    /// Whether ids are texts; otherwise they are numbers.
    in_use: bool,
    /// How many texts the file has.
    saved: usize,
}

impl TextIds {
    /// Those of an index in a file. A file of texts beside an index with numbers is not its own.
    pub fn of(index: &Index, path: &Path) -> Result<TextIds> {
        if !index.has_text_ids() {
            return Ok(TextIds::with(path, IdNames::new()));
        }
        Ok(TextIds { in_use: true, ..TextIds::with(path, IdNames::load_beside(path)?) })
    }

    /// Ids that are numbers.
    pub fn none() -> TextIds {
        TextIds::with(Path::new(""), IdNames::new())
    }

    /// For an index that is to be made. Texts of one that stands there stay what they are until it is replaced.
    pub fn for_new(index: &Path) -> Result<TextIds> {
        let names = match IdNames::path_beside(index).exists() {
            true => IdNames::load_beside(index)?,
            false => IdNames::new(),
        };
        Ok(TextIds::with(index, names))
    }

    fn with(index: &Path, names: IdNames) -> TextIds {
        let saved = names.len();
        TextIds { path: IdNames::path_beside(index), names, in_use: false, saved }
    }

    /// Whether ids are texts.
    pub fn in_use(&self) -> bool {
        self.in_use
    }

    /// The numbers of the ids in some files, of which there must be as many as items. Ids that are no
    /// numbers become texts, if they may: in an index that is new, and where a column was named as that of the ids.
    pub fn read(&mut self, files: &[String], items: usize, may_begin: bool) -> Result<Vec<u64>> {
        if !self.in_use {
            match read_ids_all(files, items) {
                // Files of ids may be far longer than the data, and are not read again for nothing.
                Err(error) if may_begin => match read_id_texts(files) {
                    Ok(_) => self.in_use = true,
                    Err(_) => return Err(error),
                },
                ids => return ids,
            }
        }
        let texts = read_id_texts(files)?;
        if texts.len() != items {
            let (ids, items) = (plural(texts.len() as u64, "id"), plural(items as u64, "item"));
            bail!("{} has {ids} for {items}; there must be one per item", files.join(", "));
        }
        let mut rows = HashMap::new();
        for (row, text) in texts.iter().enumerate() {
            if let Some(first) = rows.insert(text, row) {
                bail!(
                    "{}: id {text:?} is given more than once, in rows {first} and {row}, counted from 0; \
                     nothing was changed",
                    files.join(", ")
                );
            }
        }
        Ok(texts.iter().map(|text| self.names.number(text)).collect())
    }

    /// The numbers of those ids in a file that there are.
    pub fn read_known(&self, file: &str) -> Result<Vec<u64>> {
        if !self.in_use {
            return Ok(read_ids(file)?);
        }
        let texts = read_id_texts(&[file])?;
        Ok(texts.iter().filter_map(|text| self.names.find(text)).collect())
    }

    /// The number of an id as it is written, if it may be one.
    pub fn number(&self, id: &str) -> Option<u64> {
        match self.in_use {
            true => self.names.find(id),
            false => id.trim().parse().ok(),
        }
    }

    /// An id as people see it.
    pub fn text(&self, id: u64) -> String {
        match self.names.name(id).filter(|_| self.in_use) {
            Some(name) => name.to_owned(),
            None => id.to_string(),
        }
    }

    /// An id as programs see it.
    pub fn value(&self, id: u64) -> Value {
        match self.in_use {
            true => json!(self.text(id)),
            false => json!(id),
        }
    }

    /// All texts, in order of their numbers.
    pub fn names(&self) -> Vec<&str> {
        self.names.iter().collect()
    }

    /// Writes new texts, which must be there before their items are.
    pub fn save(&mut self) -> Result<()> {
        if self.in_use && self.names.len() > self.saved {
            self.names.save(&self.path)?;
            self.saved = self.names.len();
        }
        Ok(())
    }

    /// Removes the texts of an index whose place was taken by one with numbers.
    pub fn remove_unused(&self) -> Result<()> {
        if !self.in_use && self.path.is_file() {
            std::fs::remove_file(&self.path)?;
        }
        Ok(())
    }
}
