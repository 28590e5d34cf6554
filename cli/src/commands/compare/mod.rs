mod cell;
mod protocol;
mod run;
mod table;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::ArgAction;
use hashbrook::dataset::{Data, without_columns};
use hashbrook::{Center, Setup};

use self::cell::Cell;
pub use self::cell::{Contender, Found, fingerprint};
pub use self::protocol::Protocol;
pub use self::run::Run;
use crate::columns::{self, Columns};
use crate::{console, input, interrupt, output, piped};

/// Runs several methods by the papers' protocol and prints one table
///
/// For each seed the data is split into queries and a database, the first rows of the database are
/// streamed through each method, and search is measured. The data is held in memory.
///
/// The papers reward one thing: the same label, among classes that were all learned. Other protocols
/// measure what else codes are searched for; lsh, itq and the cosine of the vectors themselves are in
/// each of their tables.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hashbrook compare --data x.npy --labels y.npy --methods all --bits 32,64,128 --seeds 3
  hashbrook compare --data x.npy --labels y.npy --preset mnist --bits 64 --out results/ \\
                    --methods bsodh,bsodh:order=alternating,mihash:gradient=released+bins=32
  hashbrook compare --data x.npy --labels y.npy --protocol unseen --bits 64 --methods brook,mihash
  hashbrook compare --data x.npy --labels y.npy --protocol pairs --bits 64 --methods brook,hcoh

With --out every result is kept in the directory, and a run that was stopped goes on where it was.")]
pub struct Args {
    /// Vectors, one per row; several files are read one after the other
    #[arg(long, value_name = "FILE", required = true, action = ArgAction::Append)]
    data: Vec<String>,

    /// Their labels: one per row, a 0/1 matrix of rows x labels, or text with the labels of a row
    /// separated by commas
    #[arg(long, value_name = "FILE", required_unless_present = "label", conflicts_with = "label", action = ArgAction::Append)]
    labels: Vec<String>,

    #[command(flatten)]
    columns: Columns,

    /// What is measured, and of which stream
    #[arg(long, value_name = "NAME", default_value = "paper")]
    protocol: Protocol,

    /// The methods: all, or names separated by commas, each with parameters of its own if need be
    /// (NAME:PARAMETER=VALUE+PARAMETER=VALUE)
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = "all")]
    methods: Vec<String>,

    /// The lengths of the codes
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "32,64,128")]
    bits: Vec<usize>,

    /// How many times to run each, with another split and another start
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,

    /// Takes the parameters that the papers use on a data set: mnist, cifar10 or places205
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,

    /// How many queries to draw of each class; by the protocols pairs and superclass, which draw them
    /// from all classes together, how many times as many as there are classes
    #[arg(long, value_name = "N", default_value_t = 100)]
    queries_per_class: usize,

    /// How many rows of the database to learn
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    rows: usize,

    /// How many rows to learn at a time [default: 2000, or a tenth of the rows if that is less]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    batch: Option<u64>,

    /// What to subtract from every vector: nothing, the mean of the first rows of each stream, or
    /// the mean of all rows, as the papers do
    #[arg(long, value_name = "none|first|all", default_value = "all")]
    center: CenterOn,

    /// The R of mAP@R
    #[arg(long, value_name = "R", default_value_t = 1000)]
    top: usize,

    /// The R of nDCG@R, where the gain of an item is the number of labels it shares with the query
    #[arg(long, value_name = "R", default_value_t = 100)]
    ndcg_at: usize,

    /// A directory to keep results in, and to take them from
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Print one JSON object per method and length
    #[arg(long, conflicts_with = "csv")]
    json: bool,

    /// Print comma-separated values, one line per run
    #[arg(long)]
    csv: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum CenterOn {
    None,
    First,
    All,
}

pub fn run(args: &mut Args) -> Result<()> {
    let Args { data, labels, columns, .. } = &mut *args;
    columns.name_in(data, labels)?;
    let _kept = piped::keep(&mut [data, labels], columns.id_column.is_some())?;
    let args = &*args;
    output::check_read_once(args.data.iter().chain(&args.labels))?;
    let contenders = Contender::parse_all(&args.methods, args.preset.as_deref(), args.protocol)?;
    let ids = args.columns.ids_of(&args.data)?;
    if input::are_regular(&args.data) {
        // Opening the data prints which columns of a table are used.
        columns::open(&args.data, &[("label", &args.labels), ("id", &ids)])?;
    }
    let data = Data::load(&without_columns(&args.data, &ids)?, &args.labels)?;
    let center = match args.center {
        CenterOn::None => Center::None,
        CenterOn::First => Center::First,
        CenterOn::All => Center::Given(data.mean()),
    };
    if let Some(directory) = &args.out {
        std::fs::create_dir_all(directory)
            .with_context(|| format!("{} cannot be made", directory.display()))?;
    }
    let cells = grid(args, &contenders, &data)?;
    let found = measure(args, &cells, &data, &center)?;
    table::print(args, &cells, &found)
}

/// Returns all cells, ordered by seed so that those of one split are adjacent.
fn grid<'a>(args: &Args, contenders: &'a [Contender], data: &Data) -> Result<Vec<Cell<'a>>> {
    let fingerprint = cell::fingerprint(data);
    let mut cells = Vec::new();
    for seed in 1..=args.seeds {
        for &bits in &args.bits {
            for contender in contenders {
                // Vectors have no bits, so one code length is enough.
                if contender.by_vectors && Some(&bits) != args.bits.first() {
                    continue;
                }
                // Reports an invalid method now, before hours of work on the others.
                match contender.method.start_with(data.dim(), bits, 1, Setup::default()) {
                    Ok(_) => cells.push(Cell::new(args, contender, bits, seed, &fingerprint)),
                    Err(error) if contender.asked_for => {
                        return Err(error).context(format!("{} with {bits} bits", contender.name));
                    }
                    Err(error) if seed == 1 => console::note(format_args!(
                        "{} is left out with {bits} bits: {error}",
                        contender.name
                    )),
                    Err(_) => {}
                }
            }
        }
    }
    Ok(cells)
}

/// Returns the results of all cells: reads the stored ones and runs the missing ones.
fn measure(args: &Args, cells: &[Cell<'_>], data: &Data, center: &Center) -> Result<Vec<Found>> {
    let bar = console::steps("comparing", cells.len());
    let mut split = Splits { args, data, last: None };
    let mut all = Vec::new();
    for cell in cells {
        interrupt::check()?;
        bar.set_message(format!("{}, {} bits, seed {}", cell.contender.name, cell.bits, cell.seed));
        let found = match cell.kept(args.out.as_deref())? {
            Some(found) => found,
            None => {
                let (database, queries) = split.of(cell.seed)?;
                let found = cell.run(args, database, queries, center.clone())?;
                cell.keep(args.out.as_deref(), &found)?;
                found
            }
        };
        all.push(found);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(all)
}

/// The split of the current seed.
struct Splits<'a> {
    args: &'a Args,
    data: &'a Data,
    last: Option<(u64, Data, Data)>,
}

impl Splits<'_> {
    fn of(&mut self, seed: u64) -> Result<(&Data, &Data)> {
        // Drops the old split first, because memory may suffice for only one.
        let last = self.last.take().filter(|(last, _, _)| *last == seed);
        let (_, database, queries) = match last {
            Some(last) => self.last.insert(last),
            None => {
                let (protocol, queries) = (self.args.protocol, self.args.queries_per_class);
                let (database, queries) = protocol.split(self.data, queries, seed)?;
                self.last.insert((seed, database, queries))
            }
        };
        Ok((database, queries))
    }
}
