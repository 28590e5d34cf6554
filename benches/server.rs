//! An index in a server: latency of readers next to a writer, memory of building, compaction and
//! near-duplicate search, and time until an opened file answers.
//!
//! ```text
//! cargo bench --bench server                 # everything, some minutes
//! cargo bench --bench server -- readers      # some of it: readers, memory
//! ```
#![allow(missing_docs)]

mod codes;

use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use codes::clustered;
use hashbrook::{Index, IndexBuilder, Labels, Snapshot};

/// Number of codes in the index.
const ITEMS: usize = 10_000_000;

/// Number of codes generated at a time.
const AT_ONCE: usize = 1 << 16;

/// Environment variable with the action of a child process.
const ACTION: &str = "HASHBROOK_BENCH_ACTION";
const DIRECTORY: &str = "HASHBROOK_BENCH_FOLDER";

fn main() {
    if let (Ok(action), Ok(directory)) = (std::env::var(ACTION), std::env::var(DIRECTORY)) {
        return act(&action, &Path::new(&directory).join("ten.index"));
    }
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    type Bench = (&'static str, fn(&Path));
    let benches: [Bench; 2] = [("memory", memory), ("readers", readers)];
    let directory = tempfile::tempdir().expect("a directory");
    for (name, bench) in benches {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            println!("\n== {name}");
            bench(directory.path());
        }
    }
}

/// Builds a file of labelled codes, with ids in order or scattered.
fn build(path: &Path, scattered: bool) {
    let mut builder = IndexBuilder::of_codes(path, 64).expect("a place to write");
    for start in (0..ITEMS).step_by(AT_ONCE) {
        let count = AT_ONCE.min(ITEMS - start);
        let codes = clustered(64, count, 100, start as u64);
        let id = |at: usize| match scattered {
            // An odd factor, so that no two ids are equal.
            true => (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15),
            false => at as u64,
        };
        let ids: Vec<u64> = (start..start + count).map(id).collect();
        let labels: Vec<u32> = (0..count as u32).map(|at| at % 100).collect();
        builder.add_codes(&ids, &codes, Some(Labels::single(&labels))).expect("new ids");
    }
    builder.finish().expect("room on the disk");
}

/// Runs one action in a child process, so that the peak of memory is its own.
fn act(action: &str, path: &Path) {
    let clock = Instant::now();
    match action {
        "build" => build(path, false),
        "build of scattered ids" => build(path, true),
        "compaction after one in ten was removed" => {
            let mut index = Index::edit(path).expect("an index");
            let some = index.ids().expect("sound").into_iter().step_by(10).collect::<Vec<_>>();
            let before = peak();
            index.remove(&some).expect("removable");
            drop(some);
            println!("    before it: peak {before:.0} MB");
            index.compact().expect("room on the disk");
        }
        "compaction" => Index::edit(path).and_then(|mut it| it.compact()).expect("room"),
        "near-duplicates within 3 bits" => {
            let index = Index::open(path).expect("an index");
            let groups = index.duplicates(3).expect("sound");
            println!("    {} groups; codes take {} MB", groups.len(), 8 * index.len() / 1_000_000);
        }
        "open to first answer" => {
            let index = Index::open(path).expect("an index");
            let query = clustered(64, 1, 100, 3);
            black_box(index.search_codes(&query, 10)).expect("sound");
            println!("    {:.1?}", clock.elapsed());
        }
        other => panic!("what is {other}?"),
    }
    println!("{action}: peak {:.0} MB, {:.1?}", peak(), clock.elapsed());
}

/// Returns the peak memory of this process in MB; NaN if the system does not report it.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kib.map_or(f64::NAN, |kib| kib * 1024.0 / 1e6)
}

/// Measures the memory of large operations, each in its own process.
fn memory(directory: &Path) {
    for action in [
        "build of scattered ids",
        "build",
        "open to first answer",
        "compaction",
        "near-duplicates within 3 bits",
        "compaction after one in ten was removed",
    ] {
        let this = std::env::current_exe().expect("this program");
        let status = Command::new(this).env(ACTION, action).env(DIRECTORY, directory).status();
        assert!(status.is_ok_and(|status| status.success()), "{action} failed");
    }
}

/// Measures the latency of single queries, one after the other on one thread: without a writer, and
/// next to a running writer.
fn readers(directory: &Path) {
    let path = directory.join("ten.index");
    build(&path, false);
    let mut index = Index::edit(&path).expect("an index");
    index.build_search_structures().expect("sound");
    let queries = clustered(64, 1000, 100, 5);
    let latest = Mutex::new(index.snapshot());
    let ask = |rounds: &(dyn Fn(usize) -> bool + Sync)| -> Vec<Duration> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
        pool.install(|| {
            let mut times = Vec::new();
            let mut at = 0;
            while rounds(at) {
                let snapshot: Snapshot = latest.lock().expect("no panic").clone();
                let query = queries.select(&[at % queries.len()]);
                let clock = Instant::now();
                black_box(snapshot.search_codes(&query, 10)).expect("sound");
                times.push(clock.elapsed());
                at += 1;
            }
            times
        })
    };
    let mut next = ITEMS as u64;
    for round in 0..3 {
        let quiet = ask(&|at| at < 20_000);
        let done = AtomicBool::new(false);
        let beside_adds = std::thread::scope(|scope| {
            let reader = scope.spawn(|| ask(&|_| !done.load(Ordering::Relaxed)));
            let clock = Instant::now();
            let mut batches = 0;
            while clock.elapsed() < Duration::from_secs(4) {
                let codes = clustered(64, 1000, 100, next);
                let ids: Vec<u64> = (next..next + 1000).collect();
                next += 1000;
                batches += 1;
                index.add_codes(&ids, &codes, None).expect("new ids");
                *latest.lock().expect("no panic") = index.snapshot();
            }
            done.store(true, Ordering::Relaxed);
            println!("    {batches} batches of 1,000 in {:.1?}", clock.elapsed());
            reader.join().expect("no panic")
        });
        let quiet_again = ask(&|at| at < 20_000);
        let done = AtomicBool::new(false);
        let beside_compaction = std::thread::scope(|scope| {
            let reader = scope.spawn(|| ask(&|_| !done.load(Ordering::Relaxed)));
            let clock = Instant::now();
            index.compact().expect("room on the disk");
            println!("    compacted in {:.1?}", clock.elapsed());
            *latest.lock().expect("no panic") = index.snapshot();
            done.store(true, Ordering::Relaxed);
            reader.join().expect("no panic")
        });
        println!("round {round}: microseconds of single queries, median and 99 of 100");
        for (name, times) in [
            ("quiet", quiet),
            ("beside durable adds of 1,000", beside_adds),
            ("quiet", quiet_again),
            ("beside compaction", beside_compaction),
        ] {
            let mut times = times;
            times.sort_unstable();
            let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
            let micros = |time: Duration| time.as_secs_f64() * 1e6;
            println!(
                "  {name:30} {:8.1} {:8.1}   of {}",
                micros(at(0.5)),
                micros(at(0.99)),
                times.len()
            );
        }
    }
}
