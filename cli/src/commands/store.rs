//! `hashbrook store`: maintenance of collections on the disk while no service has them open.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use hashbrook::Store;
use hashbrook::store::{Renewal, Repaired, Settings};
use serde_json::json;

use crate::console::{self, count, plural};

/// Verifies and repairs collections that no service has open
///
/// A collection is a directory that `hashbrook serve` or the library writes. Its journal has every change that was
/// acknowledged; the index and the model follow from it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hashbrook store verify collection/
  hashbrook store repair collection/ --to repaired/
  hashbrook store repair collection/ --in-place")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    Verify(Verify),
    Repair(Repair),
}

/// Reads all of a collection and compares it with its checksums, and codes with vectors
#[derive(clap::Args)]
struct Verify {
    /// Directory of the collection
    #[arg(value_name = "DIR")]
    dir: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Rebuilds a collection from what its journal still has
///
/// Damaged parts of the journal are skipped and reported. The index, and the model if it is damaged or missing, are
/// rebuilt. The original stays as it is; with --in-place it is moved to a directory next to it.
#[derive(clap::Args)]
struct Repair {
    /// Directory of the collection
    #[arg(value_name = "DIR")]
    dir: PathBuf,

    /// Directory to write the repaired collection to, which must not exist
    #[arg(long, value_name = "DIR", required_unless_present = "in_place")]
    to: Option<PathBuf>,

    /// Move the damaged collection aside and put the repaired one in its place
    #[arg(long, conflicts_with = "to")]
    in_place: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<()> {
    match &args.action {
        Action::Verify(args) => verify(args),
        Action::Repair(args) => repair(args),
    }
}

fn verify(args: &Verify) -> Result<()> {
    let dir = args.dir.display();
    let mut settings = Settings::default();
    (settings.learn, settings.renewal, settings.compaction) = (false, Renewal::Never, 1.0);
    let checked = || -> hashbrook::Result<usize> {
        let store = Store::open(&args.dir, settings)?;
        store.verify()?;
        let items = store.stats().items;
        store.close()?;
        Ok(items)
    };
    let items = checked().map_err(anyhow::Error::from).with_context(|| {
        format!(
            "{dir} is not sound; `hashbrook store repair {dir} --to DIR` saves what can be saved"
        )
    })?;
    match args.json {
        true => console::line(json!({ "items": items, "sound": true })),
        false => console::line(format_args!("{dir}: {}, all sound", plural(items as u64, "item"))),
    }
}

fn repair(args: &Repair) -> Result<()> {
    let repaired = match &args.to {
        Some(to) => Store::repair(&args.dir, to)?,
        None => Store::repair_in_place(&args.dir)?,
    };
    match args.json {
        true => console::line(serde_json::to_string(&repaired)?)?,
        false => print(&repaired)?,
    }
    match repaired.losses.len() as u64 {
        0 => Ok(()),
        // The repaired collection has all data that could be read. The exit status reports the
        // losses to scripts.
        losses => bail!("{} of the journal could not be read", plural(losses, "part")),
    }
}

fn print(repaired: &Repaired) -> Result<()> {
    let Repaired { directory, items, .. } = repaired;
    console::line(format_args!("{}: {}", directory.display(), plural(*items as u64, "item")))?;
    for rebuilt in &repaired.rebuilt {
        console::line(format_args!("rebuilt {rebuilt}"))?;
    }
    if repaired.unfinished_bytes > 0 {
        let bytes = count(repaired.unfinished_bytes);
        console::line(format_args!(
            "cut off {bytes} bytes of a change that was never acknowledged"
        ))?;
    }
    if let Some(damaged) = &repaired.damaged {
        console::line(format_args!("the damaged collection is in {}", damaged.display()))?;
    }
    if repaired.lost_label_names > 0 {
        let names = repaired.lost_label_names as u64;
        console::line(format_args!(
            "{} lost: items have `lost label N` instead",
            plural(names, "label name")
        ))?;
    }
    for loss in &repaired.losses {
        let (path, offset, bytes) = (loss.path.display(), loss.offset, count(loss.bytes));
        console::line(format_args!(
            "lost {bytes} bytes at byte {offset} of {path}: {}",
            loss.problem
        ))?;
    }
    Ok(())
}
