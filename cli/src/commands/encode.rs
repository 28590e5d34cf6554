use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use hashbrook::dataset::NpyWriter;
use serde_json::json;

use crate::args::ModelAndData;
use crate::output::Output;
use crate::{console, input, output};

/// Turns vectors into packed binary codes
///
/// The codes are an npy array of uint8, rows x ceil(bits / 8), least significant bit first: the
/// layout of numpy.packbits(bitorder="little") and of other Hamming indexes.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hashbrook encode --model digits.model --data x.npy --out codes.npy
  my-features | hashbrook encode --model digits.model --data - --out - > codes.npy")]
pub struct Args {
    #[command(flatten)]
    input: ModelAndData,

    /// Where to write the codes; - is the standard output
    #[arg(long, value_name = "FILE.npy")]
    out: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<()> {
    output::check_name(&args.out, "codes", &["npy"])?;
    output::check_json(&args.out, args.json)?;
    output::check_given_once([args.input.model.as_path()], &args.input.data)?;
    output::check_outputs([args.out.as_path(), &args.input.model], &args.input.data)?;
    let function = input::load_function(&args.input.model)?;
    let mut reader = input::open_for(&function, &args.input.data)?;
    let target = Output::new(&args.out)?;
    let mut out = NpyWriter::<u8>::create(target.path(), Some(function.bits().div_ceil(8)))?;
    let (mut rows, mut encoding) = (0u64, Duration::ZERO);
    let start = Instant::now();
    input::for_each_rows("encoding", &mut reader, |features| {
        let clock = Instant::now();
        let codes = function.encode(features)?;
        encoding += clock.elapsed();
        rows += codes.len() as u64;
        Ok(out.write(&codes.to_bytes())?)
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
