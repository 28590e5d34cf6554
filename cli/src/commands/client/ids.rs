//! Ids as they are written on a command line or in files.

use anyhow::{Result, bail};
use hashbrook::dataset::{read_id_texts, read_ids};
use hashbrook::store::ItemId;
use serde_json::{Value, json};

use crate::console::plural;

#[derive(clap::Args)]
pub struct IdArgs {
    /// Ids are texts, also where they look like numbers
    #[arg(long)]
    text_ids: bool,
}

impl IdArgs {
    /// An id: a number, if it is one.
    pub fn id(&self, text: &str) -> ItemId {
        match text.parse() {
            Ok(number) if !self.text_ids => ItemId::Number(number),
            _ => ItemId::Text(text.to_owned()),
        }
    }

    /// The ids in files: numbers, if all of them are.
    pub fn read(&self, files: &[String]) -> Result<Vec<ItemId>> {
        let mut numbers = Vec::new();
        let read = files.iter().try_for_each(|file| {
            numbers.extend(read_ids(file)?.into_iter().map(ItemId::Number));
            Ok::<_, hashbrook::Error>(())
        });
        match read {
            Ok(()) if !self.text_ids => Ok(numbers),
            _ => Ok(read_id_texts(files)?.into_iter().map(ItemId::Text).collect()),
        }
    }
}

/// An id as services read it.
pub fn value(id: &ItemId) -> Value {
    match id {
        ItemId::Number(number) => json!(number),
        ItemId::Text(text) => json!(text),
    }
}

/// Fails unless there is one id for each row.
pub fn check_count(files: &[String], ids: usize, rows: usize) -> Result<()> {
    if ids != rows {
        let (ids, rows) = (plural(ids as u64, "id"), plural(rows as u64, "row"));
        bail!("{} has {ids} for {rows}; there must be one per row", files.join(", "));
    }
    Ok(())
}
