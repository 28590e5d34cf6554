//! `hashbrook index`: index files, from vectors or codes.

pub mod items;
mod label;
mod lock;
mod renew;
pub mod text_ids;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, bail};
use clap::{ArgAction, ArgGroup, Subcommand};
use hashbrook::{HashFunction, Index, IndexBuilder, SearchStructure, VectorFormat, VectorMetric};
use serde_json::json;

use self::items::Items;
use self::lock::Lock;
use self::text_ids::TextIds;
use crate::console::{self, count, plural, seconds};
use crate::output::Output;
use crate::{input, interrupt, output};

/// Makes, changes and checks index files, for `search`
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hashbrook index build   --model digits.model --data x.npy --labels y.npy --out digits.index
  hashbrook index build   --codes codes.npy --ids ids.npy --out digits.index
  hashbrook index add     digits.index --data more.npy --ids more-ids.npy
  hashbrook index label   digits.index --id 17,18 --label seven
  hashbrook index remove  digits.index --id 17,18
  hashbrook index renew   digits.index --model newer.model --data x.npy
  hashbrook index build   --model digits.model --data x.npy --vectors f16 --out digits.index
  hashbrook index renew   digits.index --model newer.model
  hashbrook index info    digits.index
  hashbrook index verify  digits.index
  hashbrook index compact digits.index")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Build(Build),
    Add(Add),
    Label(label::Label),
    Remove(Remove),
    Renew(renew::Renew),
    /// Tells what an index holds: items, the length of its codes, labels, bytes
    ///
    /// Looks at the beginning of the file and at its log alone, so it takes no time.
    #[command(after_help = "Example:\n  hashbrook index info digits.index")]
    Info(Named),
    /// Reads all of an index and checks it against its checksums
    ///
    /// Ends with status 1 and a message that says what is damaged, if anything is. Searches check what
    /// they look at themselves; this is for the rest, as after a copy or a crash of the machine.
    #[command(after_help = "Example:\n  hashbrook index verify digits.index")]
    Verify(Named),
    Compact(Compact),
}

/// Makes an index of vectors, which a model encodes, or of codes
///
/// The file appears whole or not at all. Items have the ids 0, 1, 2 and so on unless --ids says
/// otherwise.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hashbrook index build --model digits.model --data x.npy --labels y.npy --out digits.index
  hashbrook index build --model pets.model --data pets.csv --id name --label kind --out pets.index
  hashbrook index build --codes codes.npy --ids ids.npy --out digits.index
  hashbrook index build --model pets.model --data pets.parquet:embedding --id-column id \\
                        --labels pets.parquet:kind --out pets.index
  hashbrook index build --model digits.model --data x.npy --vectors f16 --out digits.index")]
struct Build {
    /// The model that encodes vectors, as `learn` wrote it, or the function alone, as `export` did;
    /// the index keeps the function
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,

    #[command(flatten)]
    items: Items,

    /// Keep the vectors, too, as the model prepares them, for `search --rerank` and for `index renew`
    /// without --data: f16 takes 2 bytes a number, i8 one and is less exact
    #[arg(long, value_name = "FORMAT", conflicts_with = "codes", requires = "model", value_parser = vector_format)]
    vectors: Option<VectorFormat>,

    /// Score that `search --rerank` ranks by: cosine, inner_product or l2, of the vectors as they are given
    #[arg(long, value_name = "METRIC", requires = "vectors", default_value = "cosine")]
    metric: VectorMetric,

    /// Search structure: full; small, a third of its bytes; or none, with which a search compares every code and the file
    /// is written fastest
    #[arg(long, value_name = "none|small|full", default_value = "full")]
    structure: SearchStructure,

    /// The length of the codes, where their bytes have bits to spare
    #[arg(long, value_name = "N", requires = "codes")]
    bits: Option<usize>,

    /// Where to write the index; - is the standard output
    #[arg(long, value_name = "INDEX")]
    out: PathBuf,

    /// Replace what stands there
    #[arg(long)]
    force: bool,

    /// Memory for sorting items, in MiB, beyond that of their codes; what does not fit goes through
    /// temporary files
    #[arg(long, value_name = "MIB", default_value_t = 64)]
    memory: usize,

    #[command(flatten)]
    lock: Lock,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Adds items to an index
///
/// All of them are in the file when the command ends, or none: an id that is there already is an
/// error, unless --upsert replaces its item. Without --ids they count on from the largest there is.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hashbrook index add digits.index --data more.npy --labels more-labels.npy
  hashbrook index add digits.index --data changed.npy --ids changed-ids.npy --upsert")]
struct Add {
    /// The index
    index: PathBuf,

    #[command(flatten)]
    items: Items,

    /// Replace items whose ids are there
    #[arg(long)]
    upsert: bool,

    #[command(flatten)]
    lock: Lock,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Removes items from an index; ids that are not there do no harm
#[derive(clap::Args)]
#[command(
    group = ArgGroup::new("which").args(["id", "ids"]).multiple(true).required(true),
    after_help = "\
Examples:
  hashbrook index remove digits.index --id 17,18
  hashbrook index remove digits.index --ids gone.csv:id"
)]
struct Remove {
    /// The index
    index: PathBuf,

    /// The ids: numbers, or texts where the index has such
    #[arg(long, value_name = "ID,...", value_delimiter = ',')]
    id: Vec<String>,

    /// A file of ids: an array of whole numbers, a text with one on each line, or a column of a table
    #[arg(long, value_name = "FILE", action = ArgAction::Append)]
    ids: Vec<String>,

    #[command(flatten)]
    lock: Lock,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct Named {
    /// The index
    index: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Rewrites an index without removed and replaced items
///
/// The new file takes the place of the old one at once; whoever searches sees either. Worth it after
/// many changes: the file becomes smaller, opens faster, and has a search structure of all items. `add` and `remove` do it by themselves once
/// the changes are a fourth of the file.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  hashbrook index compact digits.index")]
struct Compact {
    /// The index
    index: PathBuf,

    /// Search structure to write: none, small or full [default: that of the file]
    #[arg(long, value_name = "none|small|full")]
    structure: Option<SearchStructure>,

    #[command(flatten)]
    lock: Lock,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &mut Args) -> Result<()> {
    match &mut args.action {
        Action::Build(args) => build(args),
        Action::Add(args) => add(args),
        Action::Label(args) => label::run(args),
        Action::Remove(args) => remove(args),
        Action::Renew(args) => renew::run(args),
        Action::Info(args) => super::info::index(&args.index, args.json),
        Action::Verify(args) => verify(args),
        Action::Compact(args) => compact(args),
    }
}

/// Parses the name of a vector format.
fn vector_format(name: &str) -> Result<VectorFormat, String> {
    serde_json::from_value(json!(name)).map_err(|_| "f16 and i8 are the formats".to_owned())
}

fn build(args: &mut Build) -> Result<()> {
    let start = Instant::now();
    output::check_given_once(args.model.as_deref(), args.items.files())?;
    let outputs = args.model.as_deref().into_iter().chain([args.out.as_path()]);
    output::check_places(outputs, args.items.files())?;
    output::check_free([args.out.as_path()], args.force)?;
    output::check_json(&args.out, args.json)?;
    let target = Output::new(&args.out)?;
    let _kept = args.items.prepare()?;
    let args = &*args;
    let function = args.model.as_deref().map(input::load_function).transpose()?;
    let codes = match args.items.codes.as_slice() {
        [] => None,
        codes => {
            let bits = args.bits.or(function.as_ref().map(HashFunction::bits));
            Some(items::read_codes_all(codes, bits)?)
        }
    };
    let like = match (function, &codes) {
        (Some(function), _) => Index::new(function),
        (None, Some(codes)) => Index::of_codes(codes.bits())?,
        (None, None) => bail!("vectors need --model to be encoded; or give packed --codes"),
    };
    let path = target.path();
    let mut texts = TextIds::for_new(path)?;
    let with =
        |builder: IndexBuilder| builder.memory(args.memory << 20).search_structure(args.structure);
    let builder = match (like.function(), args.vectors) {
        (Some(function), Some(format)) => {
            let builder = IndexBuilder::with_vectors(path, function.clone(), format)?;
            let builder = builder.ranked_by(args.metric);
            args.items.build_with_vectors(&like, with(builder), &mut texts)?
        }
        (Some(function), None) => {
            let builder = IndexBuilder::new(path, function.clone())?;
            args.items.build(&like, codes, with(builder), &mut texts)?
        }
        (None, _) => {
            let builder = IndexBuilder::of_codes(path, like.bits())?;
            args.items.build(&like, codes, with(builder), &mut texts)?
        }
    };
    let (items, bits) = (builder.len(), like.bits());
    interrupt::check()?;
    if texts.in_use() && target.is_standard() {
        bail!(
            "ids that are texts are kept beside the index, which the standard output has no place for"
        );
    }
    texts.save()?;
    args.lock.finish(builder)?;
    texts.remove_unused()?;
    target.finish()?;
    let path = target.name();
    if args.json {
        return console::line(json!({
            "items": items,
            "bits": bits,
            "seconds": start.elapsed().as_secs_f64(),
            "out": path,
        }));
    }
    target.say(format_args!(
        "{} of {} written to {path} in {}",
        plural(items as u64, "item"),
        plural(bits as u64, "bit"),
        seconds(start.elapsed())
    ))
}

/// Bytes of logged changes up to which an index of any size is not compacted.
const LITTLE: u64 = 1 << 20;

/// Compacts an index if its log exceeds a quarter of its items, because every open reads the log.
fn tidy(index: &mut Index) {
    let statistics = index.statistics();
    let due = statistics.log_bytes > LITTLE + statistics.item_bytes as u64 / 4;
    if due && let Err(error) = index.compact() {
        console::note(format_args!("the change is made, but not compacted: {error}"));
    }
}

fn add(args: &mut Add) -> Result<()> {
    let start = Instant::now();
    // Pipes are read before the index is locked, because a pipe may take arbitrarily long to end.
    let _kept = args.items.prepare()?;
    let mut index = args.lock.edit(&args.index)?;
    let mut texts = TextIds::of(&index, &args.index)?;
    let added = args.items.put(&mut index, args.upsert, &mut texts)?;
    tidy(&mut index);
    changed(&index, "added", added, start, args.json)
}

fn remove(args: &Remove) -> Result<()> {
    let start = Instant::now();
    let mut index = args.lock.edit(&args.index)?;
    let texts = TextIds::of(&index, &args.index)?;
    let mut ids = Vec::new();
    for id in &args.id {
        match texts.number(id) {
            Some(id) => ids.push(id),
            None if texts.in_use() => {}
            None => {
                bail!("{id:?} is no id of this index: a whole number of 0 or more was expected")
            }
        }
    }
    for file in &args.ids {
        ids.extend(texts.read_known(file)?);
    }
    ids.sort_unstable();
    ids.dedup();
    let removed = index.remove(&ids)?;
    tidy(&mut index);
    changed(&index, "removed", removed, start, args.json)
}

/// Prints the change that was made to an index.
fn changed(index: &Index, what: &str, items: usize, start: Instant, json: bool) -> Result<()> {
    if json {
        return console::line(json!({
            what: items,
            "items": index.len(),
            "seconds": start.elapsed().as_secs_f64(),
        }));
    }
    let (some, all) = (plural(items as u64, "item"), count(index.len() as u64));
    console::line(format_args!("{some} {what}, {all} there, in {}", seconds(start.elapsed())))
}

fn verify(args: &Named) -> Result<()> {
    interrupt::nothing_to_save();
    let start = Instant::now();
    let index = Index::open(&args.index)?;
    index.verify()?;
    if args.json {
        let seconds = start.elapsed().as_secs_f64();
        return console::line(json!({ "sound": true, "items": index.len(), "seconds": seconds }));
    }
    let items = plural(index.len() as u64, "item");
    console::line(format_args!("{items}, all of it sound; read in {}", seconds(start.elapsed())))
}

fn compact(args: &Compact) -> Result<()> {
    let start = Instant::now();
    let mut index = args.lock.edit(&args.index)?;
    let before = std::fs::metadata(&args.index)?.len();
    if let Some(structure) = args.structure {
        index.set_search_structure(structure);
    }
    index.compact()?;
    let after = std::fs::metadata(&args.index)?.len();
    if args.json {
        return console::line(json!({
            "items": index.len(),
            "bytes_before": before,
            "bytes": after,
            "seconds": start.elapsed().as_secs_f64(),
        }));
    }
    console::line(format_args!(
        "{} in {}, before {}; in {}",
        plural(index.len() as u64, "item"),
        plural(after, "byte"),
        count(before),
        seconds(start.elapsed())
    ))
}
