//! Notes that `learn` stores in a model, so that a later run resumes where learning stopped.

use anyhow::{Result, bail};
use hashbrook::Model;
use hashbrook::dataset::Reader;

use super::Args;
use crate::console::{self, plural};
use crate::{input, interrupt};

/// Checksum of the first rows, which identifies the learned data, and the number of these rows.
const CHECKSUM: &str = "data.checksum";
const CHECKED_ROWS: &str = "data.checked_rows";
/// Number of rows of the data that are learned or skipped.
const ROWS: &str = "data.rows";
/// Number of rows per batch.
const BATCH: &str = "batch";
/// Set if the user chose the length of the warm-up.
const WARMUP: &str = "warmup.chosen";

pub fn remember_warmup(model: &mut Model, chosen: bool) {
    if chosen {
        model.notes_mut().insert(WARMUP.to_owned(), "yes".to_owned());
    }
}

pub fn warmup_was_chosen(model: &Model) -> bool {
    model.notes().contains_key(WARMUP)
}

pub fn remember_rows(model: &mut Model, rows: usize) {
    model.notes_mut().insert(ROWS.to_owned(), rows.to_string());
}

fn number(model: &Model, name: &str) -> Option<usize> {
    model.notes().get(name)?.parse().ok()
}

/// Returns the batch size: the requested one, else that of the previous run, else one that suits
/// the number of available rows. The batch size does not depend on --rows, so that a resumed run
/// gives the same result.
pub fn batch_size(args: &Args, model: &mut Model, available: Option<usize>) -> usize {
    let suited = || available.map_or(2000, |rows| rows.div_ceil(10).clamp(1, 2000));
    let before = number(model, BATCH).filter(|&batch| batch > 0);
    let batch = args.batch.or(before).unwrap_or_else(suited);
    model.notes_mut().insert(BATCH.to_owned(), batch.to_string());
    batch
}

/// Skips rows that were already learned, or as many as --skip says; returns their number.
pub fn skip_rows(
    args: &Args,
    model: &mut Model,
    reader: &mut Reader,
    total: Option<usize>,
) -> Result<usize> {
    let data = args.input.data.join(", ");
    let learned = if input::are_regular(&args.input.data) { recognise(args, model)? } else { 0 };
    let skip = args.skip.unwrap_or(learned);
    let mut left = skip;
    while left > 0 {
        interrupt::check()?;
        let Some(rows) = reader.next(left.min(input::ROWS_AT_ONCE))? else { break };
        left -= rows.len();
    }
    if left > 0 || total == Some(skip) {
        let rows = plural((skip - left) as u64, "row");
        match args.skip {
            Some(skip) => bail!("--skip {skip} leaves nothing: there are {rows}"),
            None => bail!("the model has learned all {rows} of {data}; --skip 0 learns them again"),
        }
    }
    if args.skip.is_none() && skip > 0 {
        let rows = plural(skip as u64, "row");
        console::note(format_args!(
            "the model has learned the first {rows} of {data}: going on from there"
        ));
    }
    Ok(skip)
}

/// Returns the number of rows of this data that the model has already learned. Also stores the
/// checksum of the data in the model.
fn recognise(args: &Args, model: &mut Model) -> Result<usize> {
    let checked = number(model, CHECKED_ROWS).unwrap_or(64).clamp(1, 64);
    let mut reader = args.input.open()?;
    let Some(first) = reader.next(checked)? else { return Ok(0) };
    let mut sum = crc32fast::Hasher::new();
    first.values().iter().for_each(|value| sum.update(&value.to_le_bytes()));
    let checksum = format!("{:08x}", sum.finalize());
    if model.notes().get(CHECKSUM) == Some(&checksum) {
        return Ok(number(model, ROWS).unwrap_or(0));
    }
    model.notes_mut().insert(CHECKSUM.to_owned(), checksum);
    model.notes_mut().insert(CHECKED_ROWS.to_owned(), first.len().to_string());
    Ok(0)
}
