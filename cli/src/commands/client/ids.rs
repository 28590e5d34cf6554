//! Ids on the command line or in files.

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
    /// Parses an id: a number if possible, else a string.
    pub fn id(&self, text: &str) -> ItemId {
        match text.parse() {
            Ok(number) if !self.text_ids => ItemId::Number(number),
            _ => ItemId::Text(text.to_owned()),
        }
    }

    /// Reads the ids in files: numbers if all of them are numbers, else strings.
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

/// Returns an id in the JSON form that services read.
pub fn value(id: &ItemId) -> Value {
    match id {
        ItemId::Number(number) => json!(number),
        ItemId::Text(text) => json!(text),
    }
}

/// Fails unless the number of ids equals the number of rows.
pub fn check_count(files: &[String], ids: usize, rows: usize) -> Result<()> {
    if ids != rows {
        let (ids, rows) = (plural(ids as u64, "id"), plural(rows as u64, "row"));
        bail!("{} has {ids} for {rows}; there must be one per row", files.join(", "));
    }
    Ok(())
}
