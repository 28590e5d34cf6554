//! String ids, which are stored in a file next to an index.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use hashbrook::dataset::{read_id_texts, read_ids};
use hashbrook::{IdNames, Index};
use serde_json::{Value, json};

use super::items::read_ids_all;
use crate::console::plural;

/// The string ids of an index, if its ids are strings.
pub struct TextIds {
    path: PathBuf,
    names: IdNames,
    /// True if ids are strings, false if they are numbers.
    in_use: bool,
    /// Number of strings in the file.
    saved: usize,
}

impl TextIds {
    /// Loads the string ids of an index file. A file of strings next to an index with number ids is
    /// ignored.
    pub fn of(index: &Index, path: &Path) -> Result<TextIds> {
        if !index.has_text_ids() {
            return Ok(TextIds::with(path, IdNames::new()));
        }
        Ok(TextIds { in_use: true, ..TextIds::with(path, IdNames::load_beside(path)?) })
    }

    /// Returns the state for an index whose ids are numbers.
    pub fn none() -> TextIds {
        TextIds::with(Path::new(""), IdNames::new())
    }

    /// Prepares string ids for a new index. If it replaces an index at that path, strings of the
    /// old index keep their numbers, because that index is readable until then.
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

    /// Returns whether ids are strings.
    pub fn in_use(&self) -> bool {
        self.in_use
    }

    /// Reads the ids in some files, and returns their numbers; fails unless there is one id per
    /// item. If `may_begin` is true, ids that are not numbers switch the index to string ids.
    /// Callers set it for a new index, and if the user named an id column.
    pub fn read(&mut self, files: &[String], items: usize, may_begin: bool) -> Result<Vec<u64>> {
        if !self.in_use {
            match read_ids_all(files, items) {
                // Id files may be far longer than the data. They are read again only if strings are
                // allowed.
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

    /// Returns the numbers of the ids in a file; unknown string ids are skipped.
    pub fn read_known(&self, file: &str) -> Result<Vec<u64>> {
        if !self.in_use {
            return Ok(read_ids(file)?);
        }
        let texts = read_id_texts(&[file])?;
        Ok(texts.iter().filter_map(|text| self.names.find(text)).collect())
    }

    /// Parses an id, and returns its number, or `None` if it is unknown or invalid.
    pub fn number(&self, id: &str) -> Option<u64> {
        match self.in_use {
            true => self.names.find(id),
            false => id.trim().parse().ok(),
        }
    }

    /// Returns an id as a string for display.
    pub fn text(&self, id: u64) -> String {
        match self.names.name(id).filter(|_| self.in_use) {
            Some(name) => name.to_owned(),
            None => id.to_string(),
        }
    }

    /// Returns an id as JSON: a string or a number.
    pub fn value(&self, id: u64) -> Value {
        match self.in_use {
            true => json!(self.text(id)),
            false => json!(id),
        }
    }

    /// Returns all strings, in order of their numbers.
    pub fn names(&self) -> Vec<&str> {
        self.names.iter().collect()
    }

    /// Saves new strings. Must run before the items with these ids are written.
    pub fn save(&mut self) -> Result<()> {
        if self.in_use && self.names.len() > self.saved {
            self.names.save(&self.path)?;
            self.saved = self.names.len();
        }
        Ok(())
    }

    /// Removes the file of strings after an index with number ids has replaced their index.
    pub fn remove_unused(&self) -> Result<()> {
        if !self.in_use && self.path.is_file() {
            std::fs::remove_file(&self.path)?;
        }
        Ok(())
    }
}
