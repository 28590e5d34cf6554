//! The command line: one struct per command.

use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::Result;
use clap::{ArgAction, Args as ClapArgs, CommandFactory, FromArgMatches, Parser, Subcommand};
use hashbrook::dataset::Reader;

use crate::columns::{self, Columns};
use crate::commands::{
    advise, client, compare, dedup, demo, encode, eval, export, index, info, learn, merge, methods,
    reproduce, search, serve, size, split, store, unlearn,
};
use crate::piped::{self, Kept};
use crate::{output, pattern};

/// Learns compact binary codes from a labelled stream of vectors, and measures search by them.
#[derive(Parser)]
#[command(name = "hashbrook", version, max_term_width = 100, after_long_help = AFTER)]
pub struct Args {
    /// How many threads to use; all cores unless said. Results do not depend on it
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,

    #[command(subcommand)]
    pub command: Command,
}

const AFTER: &str = "\
A first look, on data that the program carries:
  hashbrook demo

From vectors to codes:
  hashbrook advise --data x.npy --labels y.npy
  hashbrook split  --data x.npy --labels y.npy --queries 100 --out split/
  hashbrook learn  --bits 64 --data split/db.npy --labels split/db-labels.npy --out digits.model
  hashbrook eval   --model digits.model --data split/db.npy --labels split/db-labels.npy \\
                   --queries split/queries.npy --query-labels split/query-labels.npy
  hashbrook encode --model digits.model --data x.npy --out codes.npy
  hashbrook export --model digits.model --out digits.function

From codes to neighbours:
  hashbrook index build --model digits.model --data x.npy --labels y.npy --out digits.index
  hashbrook search --index digits.index --queries split/queries.npy -k 10
  hashbrook dedup  --index digits.index --radius 3

Learning in parts, and forgetting:
  hashbrook learn   --like digits.model --data more.npy --labels more-labels.npy --out more.model
  hashbrook merge   digits.model more.model --out all.model
  hashbrook unlearn --model all.model --data gone.npy --labels gone-labels.npy --out all.model

As a service, that learns while it answers:
  hashbrook serve  --dir collection/ --listen 127.0.0.1:7878
  hashbrook client http://127.0.0.1:7878 put --data x.npy --labels y.npy
  hashbrook client http://127.0.0.1:7878 search --data queries.npy -k 10

What it takes at other numbers:
  hashbrook size --items 1e9 --dim 128 --bits 64 --cores 16

Files: npy, npz, IDX, CSV, fvecs/bvecs/ivecs, HDF5, MATLAB, Parquet and Arrow (Feather, or a
stream) are told apart by their content, gzipped or not. FILE:NAME picks an array of an npz,
HDF5 or mat file, FILE:COLUMNS columns of a CSV, Parquet or Arrow file: names, places from 0,
ranges (digits.csv:0-63, t.csv:px0..px63) or all but some ('t.csv:!id,!target'). A column of
labels or ids is no feature: --data t.csv --labels t.csv:target learns from all others. In short:
--data t.csv --label target --id item. --data and --labels may be given several times, or as
patterns ('corpus/*.parquet'): the files are read one after the other. Rows sorted by label
cost brook time and memory, and most other methods quality: mix them if you can.

Exit status: 0 done; 1 failed, with one message that says why; 2 the command line was wrong;
130 interrupted.";

impl Args {
    /// Reads the command line. If it is invalid, ends the program with a message and exit status 2.
    pub fn read() -> Args {
        let read = values_may_be_negative(Args::command())
            .try_get_matches_from(pattern::expanded(std::env::args_os()))
            .and_then(|matches| Args::from_arg_matches(&matches));
        read.unwrap_or_else(|error| {
            if !error.use_stderr() {
                error.exit();
            }
            let text = error.render();
            let text = match std::io::stderr().is_terminal() {
                true => text.ansi().to_string(),
                false => text.to_string(),
            };
            eprint!("{}", in_sentences(text));
            std::process::exit(2)
        })
    }
}

/// Makes `-3` parse as a (possibly invalid) value rather than as an unknown option.
fn values_may_be_negative(command: clap::Command) -> clap::Command {
    let takes_values = |arg: &clap::Arg| arg.get_action().takes_values();
    command
        .mut_args(|arg| if takes_values(&arg) { arg.allow_negative_numbers(true) } else { arg })
        .mut_subcommands(values_may_be_negative)
}

/// Replaces the messages of number parsers by plain sentences.
fn in_sentences(text: String) -> String {
    [
        ("invalid digit found in string", "a whole number of 0 or more was expected"),
        ("cannot parse integer from empty string", "a whole number was expected"),
        ("number too large to fit in target type", "the number is too large"),
        ("invalid float literal", "a number was expected"),
        ("is not in ", "is not from "),
        ("..=", " to "),
    ]
    .iter()
    .fold(text, |text, (theirs, ours)| text.replace(theirs, ours))
}

#[derive(Subcommand)]
pub enum Command {
    Demo(demo::Args),
    Split(split::Args),
    Advise(advise::Args),
    Learn(Box<learn::Args>),
    Merge(merge::Args),
    Unlearn(unlearn::Args),
    Encode(encode::Args),
    Export(export::Args),
    Index(index::Args),
    Search(search::Args),
    Dedup(dedup::Args),
    Serve(Box<serve::Args>),
    Client(client::Args),
    Store(store::Args),
    Eval(eval::Args),
    Compare(compare::Args),
    Reproduce(reproduce::Args),
    Info(info::Args),
    Size(size::Args),
    Methods(methods::Args),
    Completions(Completions),
    Man(Man),
}

/// Prints completions for a shell
#[derive(ClapArgs)]
#[command(
    after_help = "Example:\n  hashbrook completions bash > ~/.local/share/bash-completion/completions/hashbrook"
)]
pub struct Completions {
    /// bash, zsh, fish, elvish or powershell
    pub shell: clap_complete::Shell,
}

/// Writes manual pages, one for each command
#[derive(ClapArgs)]
#[command(after_help = "Example:\n  hashbrook man ~/.local/share/man/man1 && man hashbrook-learn")]
pub struct Man {
    /// Where to write them; it is made if it is not there
    #[arg(value_name = "DIRECTORY")]
    pub directory: PathBuf,
}

/// Vectors and their labels.
#[derive(ClapArgs)]
pub struct LabelledData {
    /// Vectors, one per row; several files are read one after the other
    #[arg(long, value_name = "FILE", required = true, num_args = 1.., action = ArgAction::Append)]
    pub data: Vec<String>,

    /// Their labels: one per row, a 0/1 matrix of rows x labels, or text with the labels of a row
    /// separated by commas; a column of a table is no feature then
    #[arg(long, value_name = "FILE", action = ArgAction::Append, conflicts_with = "label")]
    pub labels: Vec<String>,

    #[command(flatten)]
    pub columns: Columns,
}

impl LabelledData {
    /// Adds the column options to the file names. Stores pipes that are read more than once in
    /// files.
    pub fn prepare(&mut self) -> Result<Option<Kept>> {
        let LabelledData { data, labels, columns } = self;
        columns.name_in(data, labels)?;
        let kept = piped::keep(&mut [data, labels], columns.id_column.is_some())?;
        output::check_read_once(self.data.iter().chain(&self.labels))?;
        Ok(kept)
    }

    /// Opens the vectors, without the columns of labels and ids.
    pub fn open(&self) -> Result<Reader> {
        let ids = self.columns.ids_of(&self.data)?;
        columns::open(&self.data, &[("label", &self.labels), ("id", &ids)])
    }
}

/// A model and vectors to put through it.
#[derive(ClapArgs)]
pub struct ModelAndData {
    /// The model, as `learn` wrote it, or the function alone, as `export` did
    #[arg(long, value_name = "MODEL")]
    pub model: PathBuf,

    /// Vectors, one per row; several files are read one after the other
    #[arg(long, value_name = "FILE", required = true, num_args = 1.., action = ArgAction::Append)]
    pub data: Vec<String>,

    #[command(flatten)]
    pub columns: Columns,
}
