use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, bail};
use clap::{ArgAction, ArgGroup};
use hashbrook::Index;
use hashbrook::dataset::read_ids;
use serde_json::json;

use super::index::items::read_codes_all;
use crate::console::{self, count, plural, seconds};
use crate::{input, interrupt};

/// Lists groups of near-duplicates
///
/// Two items are in one group if a chain of items leads from one to the other, each within the
/// radius of the next. Prints a line of ids for each group; items that are near no other are left
/// out.
#[derive(clap::Args)]
#[command(
    group = ArgGroup::new("what").required(true).args(["index", "codes"]),
    after_help = "\
Examples:
  hashbrook dedup --index photos.index --radius 3 > groups.txt
  hashbrook dedup --codes codes.npy --radius 3 --json"
)]
pub struct Args {
    /// The index, as `index build` wrote it
    #[arg(long, value_name = "INDEX")]
    index: Option<PathBuf>,

    /// Packed codes, in place of an index; ids are 0, 1, 2 and so on unless --ids says otherwise
    #[arg(long, value_name = "FILE.npy", action = ArgAction::Append)]
    codes: Vec<String>,

    /// The ids of the codes
    #[arg(long, value_name = "FILE", requires = "codes")]
    ids: Option<String>,

    /// The length of the codes, where their bytes have bits to spare
    #[arg(long, value_name = "N", requires = "codes")]
    bits: Option<usize>,

    /// How far near-duplicates may be apart
    #[arg(long, value_name = "D")]
    radius: u32,

    /// Write the groups to a file, in place of printing them
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Print a JSON object for each group, unless there is --out, and one for all at the end
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<()> {
    interrupt::nothing_to_save();
    if let Some(out) = &args.out {
        let index = args.index.as_deref();
        input::check_outputs(
            index.into_iter().chain([out.as_path()]),
            args.codes.iter().chain(&args.ids),
        )?;
        hashbrook::file::check_writable(out)?;
    }
    let index = match &args.index {
        Some(path) => Index::open(path)?,
        None => {
            let codes = read_codes_all(&args.codes, args.bits)?;
            let ids = match &args.ids {
                Some(file) => read_ids(file)?,
                None => (0..codes.len() as u64).collect(),
            };
            if ids.len() != codes.len() {
                bail!(
                    "{} for {}; there must be one per code",
                    plural(ids.len() as u64, "id"),
                    plural(codes.len() as u64, "code")
                );
            }
            let mut index = Index::of_codes(codes.bits())?;
            index.add_codes(&ids, &codes, None)?;
            index
        }
    };
    let clock = Instant::now();
    let groups = index.duplicates(args.radius)?;
    let time = clock.elapsed();
    let items: usize = groups.iter().map(Vec::len).sum();
    let line = |group: &Vec<u64>| {
        let ids: Vec<String> = group.iter().map(u64::to_string).collect();
        ids.join(" ")
    };
    match &args.out {
        Some(out) => {
            let text: String = groups.iter().map(|group| line(group) + "\n").collect();
            hashbrook::file::write(out, text.as_bytes())?;
        }
        None => {
            for group in &groups {
                match args.json {
                    true => console::line(json!({ "ids": group }))?,
                    false => console::line(line(group))?,
                }
            }
        }
    }
    if args.json {
        return console::line(json!({
            "items": index.len(),
            "groups": groups.len(),
            "in_groups": items,
            "radius": args.radius,
            "seconds": time.as_secs_f64(),
        }));
    }
    // Not to the standard output, where groups are.
    console::note(format_args!(
        "{} of {} are in {} of near-duplicates, found in {}",
        count(items as u64),
        plural(index.len() as u64, "item"),
        plural(groups.len() as u64, "group"),
        seconds(time)
    ));
    Ok(())
}
