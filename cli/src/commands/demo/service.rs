//! `demo --serve`: a service that digits stream into while a browser shows its state.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use hashbrook::LabelList;
use hashbrook::dataset::{Data, Digits, digits};

use crate::commands::serve::{self, Feed};
use crate::console::{self, count};
use crate::interrupt;

/// Where and what is served.
#[derive(clap::Args)]
#[command(next_help_heading = "With --serve")]
pub struct ServiceArgs {
    /// The address to listen on; port 0 takes any that is free [default: 127.0.0.1:7878]
    #[arg(long, value_name = "ADDRESS:PORT", requires = "serve")]
    listen: Option<String>,

    /// A directory with MNIST (its four gzipped IDX files), to stream it in place of the small digits
    #[arg(long, value_name = "DIR", requires = "serve")]
    data: Option<PathBuf>,

    /// How many digits come in a second, at most [default: 30; of MNIST 300]
    #[arg(long, value_name = "N", requires = "serve", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rate: Option<u32>,

    /// The directory of the collection, which stays; without it a temporary one is used
    #[arg(long, value_name = "DIR", requires = "serve")]
    dir: Option<PathBuf>,
}

/// Method, code length and seed of the codes to learn.
pub struct Learned<'a> {
    pub method: &'a str,
    pub bits: usize,
    pub seed: u64,
}

/// Number of batches of digits inserted per second.
const STEPS: u32 = 10;

pub fn run(args: &ServiceArgs, learned: &Learned<'_>, threads: Option<u16>) -> Result<()> {
    let (data, rate, warmup) = match &args.data {
        None => (small_digits()?, 30, 200),
        Some(directory) => (mnist(directory)?, 300, 2000),
    };
    let rate = args.rate.unwrap_or(rate);
    // The temporary directory is removed when it is dropped, or by a second interruption.
    let (dir, _temporary) = match &args.dir {
        Some(dir) => (dir.clone(), None),
        None => {
            let temporary = tempfile::Builder::new().prefix("hashbrook-demo-").tempdir()?;
            interrupt::remove_at_end(temporary.path());
            (temporary.path().join("collection"), Some(temporary))
        }
    };
    let options = [
        ("--dir", dir.to_str().context("the name of the directory is not UTF-8")?.to_owned()),
        ("--listen", args.listen.clone().unwrap_or("127.0.0.1:7878".to_owned())),
        ("--method", learned.method.to_owned()),
        ("--bits", learned.bits.to_string()),
        ("--seed", learned.seed.to_string()),
        ("--warmup", warmup.to_string()),
    ];
    let seed = learned.seed;
    serve::run_fed(&options, threads, move |feed, address| {
        console::line(format_args!(
            "{} digits come in, {rate} a second: open {address} in a browser, draw one, and see what \
             is found\nCtrl-C ends it",
            count(data.len() as u64)
        ))?;
        open_browser(address);
        std::thread::spawn(move || {
            if let Err(error) = stream(&feed, &data, rate, seed) {
                console::note(format_args!("no more digits come in: {error:#}"));
            }
        });
        Ok(())
    })
}

fn small_digits() -> Result<Data> {
    let Digits { features, labels } = digits();
    Ok(Data::new(Digits::DIM, features, LabelList::single(labels))?)
}

/// Loads MNIST from a directory or its subdirectory `mnist`.
fn mnist(directory: &Path) -> Result<Data> {
    let files = |kind: &str| ["train", "t10k"].map(|part| format!("{part}-{kind}-ubyte.gz"));
    let (pictures, labels) = (files("images-idx3"), files("labels-idx1"));
    let has_all = |directory: &&PathBuf| {
        pictures.iter().chain(&labels).all(|file| directory.join(file).is_file())
    };
    let directories = [directory.to_path_buf(), directory.join("mnist")];
    let Some(found) = directories.iter().find(has_all) else {
        bail!(
            "{} has not got {} and {}",
            directory.display(),
            pictures.join(", "),
            labels.join(", ")
        );
    };
    let paths = |files: &[String]| -> Vec<String> {
        files.iter().map(|file| found.join(file).display().to_string()).collect()
    };
    Ok(Data::load(&paths(&pictures), &paths(&labels))?)
}

/// Inserts all digits that the collection does not hold yet, in an order drawn from the seed.
fn stream(feed: &Feed, data: &Data, rate: u32, seed: u64) -> Result<()> {
    let (features, labels) = (data.batch().features(), data.batch().labels());
    let order = shuffled(data.len(), seed);
    let name = |label: &u32| {
        data.label_names()
            .and_then(|names| names.name(*label))
            .map_or(label.to_string(), str::to_owned)
    };
    let start = Instant::now();
    let mut sent = 0;
    while sent < order.len() {
        // The number of digits due by now, at least one.
        let due = (start.elapsed().as_secs_f64() * f64::from(rate)) as usize + 1;
        let rows = sent..due.clamp(sent + 1, order.len()).min(sent + rate.div_ceil(STEPS) as usize);
        let mut values = Vec::with_capacity(rows.len() * data.dim());
        let mut named = Vec::with_capacity(rows.len());
        for &row in &order[rows.clone()] {
            values.extend_from_slice(features.row(row));
            let labels = labels.map_or(&[][..], |labels| labels.row(row));
            named.push(labels.iter().map(name).collect());
        }
        if !feed.put(rows.start as u64, data.dim(), &values, &named)? {
            return Ok(());
        }
        sent = rows.end;
        let next = start + Duration::from_secs_f64(sent as f64 / f64::from(rate));
        std::thread::sleep(
            next.saturating_duration_since(Instant::now()).max(Duration::from_millis(1)),
        );
    }
    Ok(())
}

/// Returns all rows in an order that depends on the seed.
fn shuffled(rows: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows).collect();
    order.sort_by_cached_key(|&row| mixed(mixed(seed) ^ row as u64));
    order
}

/// Scrambles a number, with the finaliser of SplitMix64.
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Opens an address in a browser if there is a display. Failure is not an error.
fn open_browser(address: &str) {
    let has_display = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    let opener = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ if has_display => "xdg-open",
        _ => return,
    };
    if !std::io::stdout().is_terminal() {
        return;
    }
    use std::process::{Command, Stdio};
    let quiet = Command::new(opener)
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Ok(mut opened) = quiet {
        // A child process that ended stays a zombie until its parent waits for it.
        std::thread::spawn(move || opened.wait());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_seed_has_an_order_of_its_own() {
        let (one, other) = (shuffled(1000, 1), shuffled(1000, 2));
        assert_ne!(one, other);
        assert_eq!(one, shuffled(1000, 1));
        let mut sorted = one.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..1000).collect::<Vec<_>>());
        // Few rows that are adjacent in the data are adjacent in the order.
        let near = one.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < 10).count();
        assert!(near < 60, "{near}");
    }

    #[test]
    fn a_folder_without_mnist_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let error = mnist(directory.path()).unwrap_err().to_string();
        assert!(error.contains("has not got train-images-idx3-ubyte.gz"), "{error}");
    }
}
