use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use hashbrook::Codes;
use hashbrook::dataset::{CodesWriter, NpyWriter};
use serde_json::json;

use crate::args::ModelAndData;
use crate::columns::{self, Role};
use crate::output::Output;
use crate::{console, input, output, piped};

/// Turns vectors into packed binary codes
///
/// The codes are an npy array of uint8, rows x ceil(bits / 8), least significant bit first: the
/// layout of numpy.packbits(bitorder="little") and of other Hamming indexes. Or they are a Parquet file,
/// if --out ends in .parquet, with the columns id and code: the same bytes, of a fixed length.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hashbrook encode --model digits.model --data x.npy --out codes.npy
  hashbrook encode --model pets.model --data 'corpus/*.parquet:embedding' --id-column id \\
                   --out codes.parquet
  hashbrook encode --model pets.model --data 'pets.csv:!name,!kind' --out codes.npy
  my-features | hashbrook encode --model digits.model --data - --out - > codes.npy")]
pub struct Args {
    #[command(flatten)]
    input: ModelAndData,

    /// Where to write the codes; - is the standard output
    #[arg(long, value_name = "FILE.npy")]
    out: PathBuf,

    /// Other columns to keep in a Parquet file, such as those of labels; they are no features. Ids are
    /// those of --id-column, and row numbers without it
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    keep: Vec<String>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &mut Args) -> Result<()> {
    output::check_name(&args.out, "codes", &["npy", "parquet"])?;
    output::check_json(&args.out, args.json)?;
    output::check_given_once([args.input.model.as_path()], &args.input.data)?;
    output::check_outputs([args.out.as_path(), &args.input.model], &args.input.data)?;
    if takes_columns(args) && !is_parquet(args) {
        bail!(
            "--id-column and --keep need a Parquet file, as in --out codes.parquet; {} holds codes alone",
            args.out.display()
        );
    }
    let function = input::load_function(&args.input.model)?;
    let target = Output::new(&args.out)?;
    // Id and label columns are read separately from the vectors.
    let again = takes_columns(args) || args.input.columns.label.is_some();
    args.input.columns.name_features(&mut args.input.data)?;
    let _kept = piped::keep(&mut [&mut args.input.data], again)?;
    let args = &*args;
    let ModelAndData { data, columns: named, .. } = &args.input;
    let kept = match args.keep.as_slice() {
        [] => Vec::new(),
        columns => columns::of_files(data, &columns.join(","))?,
    };
    let (ids, labels) = (named.ids_of(data)?, named.labels_of(data)?);
    let roles: [Role<'_>; 3] = [("label", &labels), ("id", &ids), ("kept", &kept)];
    let mut reader = input::open_for(&function, data, &roles)?;
    let mut out = Out::create(args, target.path(), function.bits())?;
    let (mut rows, mut encoding) = (0u64, Duration::ZERO);
    let start = Instant::now();
    input::for_each_rows("encoding", &mut reader, |features| {
        let clock = Instant::now();
        let codes = function.encode(features)?;
        encoding += clock.elapsed();
        rows += codes.len() as u64;
        out.write(&codes)
    })?;
    out.finish()?;
    target.finish()?;
    let (bits, path) = (function.bits(), target.name());
    if args.json {
        return console::line(json!({
            "rows": rows,
            "bits": bits,
            "encode_seconds": encoding.as_secs_f64(),
            "seconds": start.elapsed().as_secs_f64(),
            "out": path,
        }));
    }
    let (codes, bits) = (console::plural(rows, "code"), console::plural(bits as u64, "bit"));
    let time = console::seconds(start.elapsed());
    target.say(format_args!("{codes} of {bits} written to {path} in {time}"))
}

/// Returns whether columns of the input are copied to the output.
fn takes_columns(args: &Args) -> bool {
    args.input.columns.id_column.is_some() || !args.keep.is_empty()
}

fn is_parquet(args: &Args) -> bool {
    args.out.extension().unwrap_or_default().eq_ignore_ascii_case("parquet")
}

/// Output file of codes.
enum Out {
    Npy(NpyWriter<u8>),
    Parquet(Box<CodesWriter>),
}

impl Out {
    fn create(args: &Args, path: &Path, bits: usize) -> Result<Out> {
        let Args { keep, input, .. } = args;
        if !is_parquet(args) {
            return Ok(Out::Npy(NpyWriter::create(path, Some(bits.div_ceil(8)))?));
        }
        let writer = CodesWriter::create(path, bits)?;
        if !takes_columns(args) {
            return Ok(Out::Parquet(Box::new(writer)));
        }
        let id_column = input.columns.id_column.as_deref();
        let writer = writer.with_columns(&input.data, id_column, keep)?;
        Ok(Out::Parquet(Box::new(writer)))
    }

    fn write(&mut self, codes: &Codes) -> Result<()> {
        match self {
            Out::Npy(out) => Ok(out.write(&codes.to_bytes())?),
            Out::Parquet(out) => Ok(out.write(codes)?),
        }
    }

    fn finish(self) -> Result<()> {
        match self {
            Out::Npy(out) => Ok(out.finish()?),
            Out::Parquet(out) => Ok(out.finish()?),
        }
    }
}
