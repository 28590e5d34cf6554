use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;
use clap::{ArgAction, ArgGroup};
use hashbrook::Index;
use hashbrook::dataset::read_ids_for;
use serde_json::{Value, json};

use super::index::items::read_codes_all;
use super::index::text_ids::TextIds;
use super::search::filter::quoted;
use super::search::results::label_names;
use crate::console::{self, count, plural, seconds};
use crate::output::Output;
use crate::{interrupt, output};

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
  hashbrook dedup --index photos.index --radius 3 --out groups.csv
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

    /// Write the groups to a file, in place of printing them: a line of ids each, or as its name says:
    /// .csv (a line for each item, with the number of its group) or .jsonl (an object a line)
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Print a JSON object for each group, with the labels of its items, unless there is --out, and one for all at the end
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<()> {
    interrupt::nothing_to_save();
    let outputs = [args.index.as_deref(), args.out.as_deref()].into_iter().flatten();
    output::check_outputs(outputs, args.codes.iter().chain(&args.ids))?;
    let out = match &args.out {
        Some(out) => {
            output::check_name(out, "groups", &["txt", "csv", "jsonl"])?;
            output::check_json(out, args.json)?;
            Some(Output::new(out)?)
        }
        None => None,
    };
    let index = match &args.index {
        Some(path) => Index::open(path)?,
        None => {
            let codes = read_codes_all(&args.codes, args.bits)?;
            let ids = match &args.ids {
                Some(file) => read_ids_for(&[file], codes.len())?,
                None => (0..codes.len() as u64).collect(),
            };
            let mut index = Index::of_codes(codes.bits())?;
            index.add_codes(&ids, &codes, None)?;
            index
        }
    };
    let texts = match &args.index {
        Some(path) => TextIds::of(&index, path)?,
        None => TextIds::none(),
    };
    let clock = Instant::now();
    let groups = index.duplicates(args.radius)?;
    let time = clock.elapsed();
    let items: usize = groups.iter().map(Vec::len).sum();
    let form = match args.out.as_deref().and_then(Path::extension) {
        Some(ending) if ending.eq_ignore_ascii_case("csv") => Form::Csv,
        Some(ending) if ending.eq_ignore_ascii_case("jsonl") => Form::Json,
        None if args.json && args.out.is_none() => Form::Json,
        _ => Form::Ids,
    };
    match &out {
        Some(out) => {
            let mut text = if form == Form::Csv { "id,group\n".to_owned() } else { String::new() };
            for (number, group) in groups.iter().enumerate() {
                text += &(form.of(&index, &texts, number, group)? + "\n");
            }
            hashbrook::file::write(out.path(), text.as_bytes())?;
            out.finish()?;
        }
        None => {
            for (number, group) in groups.iter().enumerate() {
                console::line(form.of(&index, &texts, number, group)?)?;
            }
        }
    }
    if args.json {
        console::line(json!({
            "items": index.len(),
            "groups": groups.len(),
            "in_groups": items,
            "radius": args.radius,
            "seconds": time.as_secs_f64(),
        }))?;
    } else {
        // Not to the standard output, which may receive the groups.
        console::note(format_args!(
            "{} of {} are in {} of near-duplicates, found in {}",
            count(items as u64),
            plural(index.len() as u64, "item"),
            plural(groups.len() as u64, "group"),
            seconds(time)
        ));
    }
    // Near-duplicates form small groups; groups of hundreds are classes.
    if 2 * items > index.len() && items > 20 * groups.len() {
        console::note(
            "most items share few codes: these tell labels apart, and hardly the items of one label, so \
             the groups are classes rather than near-duplicates. For those, encode with a method that \
             keeps neighbours (learn --method frosh, sketchhash or lsh)",
        );
    }
    Ok(())
}

/// Output format of the groups.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Ids,
    Csv,
    Json,
}

impl Form {
    fn of(self, index: &Index, texts: &TextIds, number: usize, group: &[u64]) -> Result<String> {
        let values: Vec<Value> = group.iter().map(|&id| texts.value(id)).collect();
        let ids = |line: &dyn Fn(&u64) -> String| group.iter().map(line).collect::<Vec<_>>();
        Ok(match self {
            Form::Ids => ids(&|&id| texts.text(id)).join(" "),
            Form::Csv => ids(&|&id| format!("{},{number}", quoted(&texts.text(id)))).join("\n"),
            Form::Json if index.label_bound() == 0 => json!({ "ids": values }).to_string(),
            Form::Json => {
                json!({ "ids": values, "labels": label_names(index, group)? }).to_string()
            }
        })
    }
}
