//! Datasets of strings, of a fixed or a variable length.

use std::path::{Path, PathBuf};

use hdf5_pure::{Dataset, Datatype};

use super::super::extent::shape;
use super::super::guard::guarded;
use super::super::texts::Texts;
use super::fix::named_fix;
use crate::{Error, Result};

/// Number of strings that are read at a time.
const AT_ONCE: u64 = 1 << 14;

/// Dataset of strings.
pub(in crate::dataset) struct Strings {
    path: PathBuf,
    dataset: Dataset,
    rows: usize,
}

/// Returns whether a type is a string type.
pub(super) fn are_strings(kind: &Datatype) -> bool {
    matches!(kind, Datatype::String { .. } | Datatype::VariableLength { is_string: true, .. })
}

impl Strings {
    pub(super) fn new(path: &Path, dataset: Dataset, sizes: &[u64]) -> Result<Strings> {
        let rows = match *sizes {
            [rows] | [rows, 1] => usize::try_from(rows).ok(),
            _ => None,
        };
        let Some(rows) = rows else {
            let held = if sizes.is_empty() { "one text".into() } else { shape(sizes) + " texts" };
            let problem = format!("holds {held}; a column of them is read");
            return Err(Error::malformed(path, problem));
        };
        Ok(Strings { path: path.to_path_buf(), dataset, rows })
    }
}

impl Texts for Strings {
    fn path(&self) -> &Path {
        &self.path
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn for_each(&mut self, each: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        let mut row = 0;
        while row < self.rows as u64 {
            let count = AT_ONCE.min(self.rows as u64 - row);
            let texts = guarded(&self.path, || self.dataset.read_string_rows(row, count));
            let texts = texts.map_err(named_fix)?;
            if texts.len() as u64 != count {
                let problem = format!("has fewer texts than it says (after row {row})");
                return Err(Error::malformed(&self.path, problem));
            }
            for (text, row) in texts.iter().zip(row..) {
                // The reader replaces invalid bytes by this character.
                if text.contains(char::REPLACEMENT_CHARACTER) {
                    let problem = format!("the text of row {row} is not Unicode");
                    return Err(Error::malformed(&self.path, problem + " (rows count from 0)"));
                }
                each(text)?;
            }
            row += count;
        }
        Ok(())
    }
}
