//! Search of more codes than fit in memory: each part is made, searched and dropped in turn.

use anyhow::{Result, ensure};
use hashbrook::{Codes, Hit, Index, hamming};
use rayon::prelude::*;
use serde_json::json;

use super::amount::{bytes, counted, time};
use super::clock::Clock;
use super::codes::{Items, World};
use super::model::{Asked, Rates};
use crate::console::{self, count, plural};

/// Default number of items per part.
pub const PART: u64 = 1 << 24;

/// Time spent on one kind of work.
#[derive(Clone, Copy, Default)]
struct Spent {
    /// Elapsed seconds.
    passed: f64,
    /// Seconds of processor time, summed over all threads.
    worked: f64,
}

impl Spent {
    fn add(&mut self, clock: &Clock) {
        self.passed += clock.passed();
        self.worked += clock.seconds();
    }

    fn text(self) -> String {
        format!("{:>8}, {:>8} of processor time", time(self.passed), time(self.worked))
    }
}

/// Number of queries that are also answered by a plain loop over all codes.
const CHECKED: usize = 4;

/// Searches synthetic codes for the nearest items of some queries, and prints the time next to the
/// prediction.
///
/// # Errors
/// Fails if a search returns other hits than a plain loop.
pub fn run(asked: &Asked, rates: &[(&str, Rates)], json: bool) -> Result<()> {
    let world = World::new(asked.bits)?;
    let k = usize::try_from(asked.k)?;
    let queries = world.codes(Items::Queries, 0, usize::try_from(asked.queries)?)?;
    let size = asked.items.div_ceil(asked.parts);
    // Because the size is rounded up, the last parts may be empty.
    let parts = asked.items.div_ceil(size);
    let mut found: Vec<Vec<Hit>> = vec![Vec::new(); queries.len()];
    let mut plain: Vec<Vec<Hit>> = vec![Vec::new(); queries.len().min(CHECKED)];
    let [mut made, mut added, mut searched, mut checked] = [Spent::default(); 4];
    let bar = console::steps("parts", parts as usize);
    for part in 0..parts {
        let (first, end) = (part * size, asked.items.min((part + 1) * size));
        let clock = Clock::start();
        let codes = world.codes(Items::Database, first, usize::try_from(end - first)?)?;
        made.add(&clock);

        let clock = Clock::start();
        let ids: Vec<u64> = (first..end).collect();
        let mut index = Index::of_codes(asked.bits)?;
        index.add_codes(&ids, &codes, None)?;
        drop(ids);
        added.add(&clock);

        let clock = Clock::start();
        let hits = index.search_codes(&queries, k)?;
        found.iter_mut().zip(hits.iter()).for_each(|(found, hits)| merge(found, hits, k));
        searched.add(&clock);

        let clock = Clock::start();
        plain
            .par_iter_mut()
            .enumerate()
            .for_each(|(query, best)| scan(&codes, queries.code(query), first, k, best));
        checked.add(&clock);
        bar.inc(1);
    }
    bar.finish_and_clear();
    for (query, (found, plain)) in found.iter().zip(&plain).enumerate() {
        ensure!(
            found == plain,
            "query {query}: expected the hits of a plain loop over all codes, {plain:?}, found {found:?}"
        );
    }
    let threads = rayon::current_num_threads();
    let items = asked.items as f64;
    let in_part = items / parts as f64;
    let predicted = |rates: &Rates| parts as f64 * rates.search_once(in_part, asked.queries);
    let farthest: f64 =
        found.iter().filter_map(|hits| hits.last()).map(|hit| f64::from(hit.distance)).sum();
    let farthest = farthest / found.len() as f64;
    let peak = peak();
    if json {
        let predicted: serde_json::Map<_, _> = rates
            .iter()
            .map(|(name, rates)| ((*name).to_owned(), json!(predicted(rates))))
            .collect();
        return console::line(json!({
            "items": asked.items,
            "bits": asked.bits,
            "parts": parts,
            "queries": queries.len(),
            "k": k,
            "threads": threads,
            "seconds_to_make": made.passed,
            "seconds_to_add": added.passed,
            "seconds_to_search": searched.passed,
            "core_seconds_to_make": made.worked,
            "core_seconds_to_add": added.worked,
            "core_seconds_to_search": searched.worked,
            "predicted_core_seconds_to_search": predicted,
            "peak_bytes": peak,
            "checked_queries": plain.len(),
            "seconds_to_check": checked.passed,
            "mean_distance_of_last": farthest,
            "first_hits": found.first(),
        }));
    }
    console::line(format_args!(
        "{} of {} bits in {} of at most {}; the {} nearest of {}, on {}",
        plural(asked.items, "code"),
        asked.bits,
        plural(parts, "part"),
        count(size),
        count(asked.k),
        counted(asked.queries, "query", "queries"),
        plural(threads as u64, "thread"),
    ))?;
    let mut rows = vec![
        ("made".to_owned(), made.text()),
        ("put into indexes".to_owned(), added.text()),
        ("searched".to_owned(), searched.text()),
    ];
    for (name, rates) in rates {
        rows.push((
            format!("  predicted by {name} rates"),
            format!("{:>8}  {:>8} of processor time", "", time(predicted(rates))),
        ));
    }
    rows.push((
        "peak memory".to_owned(),
        peak.map_or("not known".to_owned(), |peak| bytes(peak as f64)),
    ));
    rows.push((
        "exact".to_owned(),
        format!(
            "{} of them compared with a plain loop over all codes in {}: the same ids and distances",
            plain.len(),
            time(checked.passed)
        ),
    ));
    rows.push((
        "found".to_owned(),
        format!("number {k} of a query is {farthest:.2} bits away on average"),
    ));
    console::pairs(&rows)
}

/// Merges the hits of one more part into those of the previous parts, in order of distance and id.
fn merge(found: &mut Vec<Hit>, more: &[Hit], k: usize) {
    found.extend_from_slice(more);
    found.sort_unstable();
    found.truncate(k);
}

/// Scans every code, one after the other, as a reference for searches.
fn scan(codes: &Codes, query: &[u64], first: u64, k: usize, best: &mut Vec<Hit>) {
    for (id, code) in (first..).zip(codes.iter()) {
        let hit = Hit::new(id, hamming(query, code));
        if best.len() == k && best.last().is_some_and(|last| *last <= hit) {
            continue;
        }
        best.insert(best.partition_point(|other| *other < hit), hit);
        best.truncate(k);
    }
}

/// Returns the peak memory of this process in bytes, if the system reports it.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(1024 * kib)
}
