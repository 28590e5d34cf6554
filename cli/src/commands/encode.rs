use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use hashbrook::dataset::NpyWriter;
use serde_json::json;

use crate::args::ModelAndData;
use crate::{console, input};

/// Turns vectors into packed binary codes
///
/// The codes are an npy array of uint8, rows x ceil(bits / 8), least significant bit first: the
/// layout of numpy.packbits(bitorder="little") and of other Hamming indexes.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  hashbrook encode --model digits.model --data x.npy --out codes.npy"
)]
pub struct Args {
    #[command(flatten)]
    input: ModelAndData,

    /// Where to write the codes
    #[arg(long, value_name = "FILE.npy")]
    out: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<()> {
    input::check_outputs([args.out.as_path(), &args.input.model], &args.input.data)?;
    let function = input::load_function(&args.input.model)?;
    let mut reader = input::open_for(&function, &args.input.data)?;
    let mut out = NpyWriter::<u8>::create(&args.out, Some(function.bits().div_ceil(8)))?;
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
    let (bits, path) = (function.bits(), args.out.display());
    if args.json {
        return console::line(json!({
            "rows": rows,
            "bits": bits,
            "encode_seconds": encoding.as_secs_f64(),
            "seconds": start.elapsed().as_secs_f64(),
            "out": path.to_string(),
        }));
    }
    let (codes, bits) = (console::plural(rows, "code"), console::plural(bits as u64, "bit"));
    let time = console::seconds(start.elapsed());
    console::line(format_args!("{codes} of {bits} written to {path} in {time}"))
}
