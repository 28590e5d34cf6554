//! `hashbrook index renew`: re-encodes the items of an index.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, bail};
use clap::ArgAction;
use hashbrook::Features;

use super::changed;
use super::lock::Lock;
use super::text_ids::TextIds;
use crate::columns::{Columns, Role};
use crate::console::plural;
use crate::{input, interrupt, piped};

/// Re-encodes all items with a newer model
///
/// For when the model has learned on, or for another one. The new codes take the place of the old
/// ones at once; whoever searches sees either. Ids and labels stay. An index that keeps vectors needs no
/// --data, if the newer model prepares vectors as the older did: with the same centre, scale and unit
/// length, as a model does that has learned on.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hashbrook index renew digits.index --model newer.model --data x.npy
  hashbrook index renew digits.index --model newer.model --data x.npy --ids ids.npy
  hashbrook index renew digits.index --model newer.model")]
pub struct Renew {
    /// The index
    index: PathBuf,

    /// The newer model, or its function alone
    #[arg(long, value_name = "MODEL")]
    model: PathBuf,

    /// The vectors of all items: one row for each, in the order of their ids unless --ids says
    /// otherwise. Not needed where the index keeps vectors
    #[arg(long, value_name = "FILE", action = ArgAction::Append)]
    data: Vec<String>,

    /// The id of each row
    #[arg(long, value_name = "FILE", action = ArgAction::Append, requires = "data", conflicts_with = "id_column")]
    ids: Vec<String>,

    #[command(flatten)]
    columns: Columns,

    #[command(flatten)]
    lock: Lock,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &mut Renew) -> Result<()> {
    let start = Instant::now();
    let Renew { data, ids, columns, .. } = &mut *args;
    ids.extend(columns.ids_of(data)?);
    columns.name_features(data)?;
    // Pipes are read before the index is locked, because a pipe may take arbitrarily long to end.
    let _kept = piped::keep(&mut [data, ids], columns.label.is_some())?;
    let args = &*args;
    let mut index = args.lock.edit(&args.index)?;
    let function = input::load_function(&args.model)?;
    if args.data.is_empty() {
        if index.vector_format().is_none() {
            bail!("the index keeps no vectors; give those of all items with --data");
        }
        index.renew_kept(function)?;
        return changed(&index, "renewed", index.len(), start, args.json);
    }
    let labels = args.columns.labels_of(&args.data)?;
    let roles: [Role<'_>; 2] = [("label", &labels), ("id", &args.ids)];
    let mut reader = input::open_for(&function, &args.data, &roles)?;
    // An index that stores no vectors needs only the codes.
    let (mut vectors, mut codes) = (Vec::new(), None);
    match index.vector_format() {
        None => codes = Some(input::encode_all("encoding", &function, &mut reader)?),
        Some(_) => input::for_each_rows("reading", &mut reader, |rows| {
            vectors.extend_from_slice(rows.values());
            Ok(())
        })?,
    }
    let rows = codes.as_ref().map_or(vectors.len() / function.dim(), |codes| codes.len());
    let mut texts = TextIds::of(&index, &args.index)?;
    let ids =
        if args.ids.is_empty() { index.ids()? } else { texts.read(&args.ids, rows, false)? };
    if ids.len() != rows {
        let (rows, items) = (plural(rows as u64, "row"), plural(ids.len() as u64, "item"));
        bail!(
            "{} has {rows}, the index {items}; there must be one row for each item",
            args.data.join(", ")
        );
    }
    interrupt::check()?;
    match codes {
        Some(codes) => index.renew_codes(function, &ids, &codes)?,
        None => {
            let features = Features::new(&vectors, function.dim())?;
            index.renew(function, &ids, features)?;
        }
    }
    changed(&index, "renewed", rows, start, args.json)
}
