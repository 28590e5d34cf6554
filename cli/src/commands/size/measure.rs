//! Measures each step on one thread and on synthetic items.

use std::hint::black_box;

use anyhow::Result;
use hashbrook::{Codes, Compact, Features, HashFunction, HashParts, Index, Lift, SearchStructure};
use serde::Serialize;

use super::clock::Clock;
use super::codes::{Items, Random, World};
use super::growth::Growth;
use super::model::{Asked, Function, Rates};

/// Number of items with which rates are measured.
const SAMPLE: u64 = 500_000;

/// Minimum processor time of a measurement in seconds; faster steps are repeated.
const LONG_ENOUGH: f64 = 0.25;

/// Number of queries per search with the search structure.
const QUERIES: usize = 1000;
/// Number of queries per search by scan.
const SCANNED: usize = 64;

/// Maximum number of hits per search, which limits its memory.
const MOST_HITS: usize = 10_000_000;

/// Bytes of the vectors that are encoded repeatedly: more than fit in a processor cache.
const VECTOR_BYTES: usize = 64 << 20;

/// Processor time of each step in seconds. `queries` and `scanned` are the numbers of queries in
/// `search` and `scan`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Times {
    pub items: u64,
    /// Number of vectors that were encoded.
    pub rows: u64,
    pub encode: f64,
    pub build: f64,
    pub queries: u64,
    pub search: f64,
    pub scanned: u64,
    pub scan: f64,
    pub dedup: f64,
    /// Seconds of re-encoding all items, if requested.
    pub renew: Option<f64>,
    /// Bytes of ids and codes; `structure_bytes` are those of the search structure.
    pub item_bytes: u64,
    pub structure_bytes: u64,
    pub distinct: f64,
}

/// Measures the rates for these parameters. Their growth with the number of items is taken from
/// `known`.
///
/// # Errors
/// Fails if the function or the codes cannot be made, which valid parameters prevent.
pub fn rates(asked: &Asked, known: &Rates) -> Result<(Rates, Times)> {
    let times = run(asked, SAMPLE, None)?;
    let items = times.items as f64;
    // Multiplies the known growth by a factor that is the same for every number of items.
    let scaled = |known: Growth, seconds: f64| known.times(seconds / known.at(items));
    let rates = Rates {
        encode: times.encode / times.rows as f64,
        compare: times.scan / (items * times.scanned as f64),
        query: scaled(known.query, times.search / times.queries as f64),
        build: scaled(known.build, times.build / items),
        group: scaled(known.group, times.dedup / items),
    };
    Ok((rates, times))
}

/// Runs all steps with `items` items, on one thread. With `renewed`, all items are encoded and
/// later re-encoded; otherwise only some are encoded.
///
/// # Errors
/// Fails as [`rates`] does.
pub fn run(asked: &Asked, items: u64, renewed: Option<()>) -> Result<Times> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    pool.install(|| steps(asked, items, renewed.is_some()))
}

fn steps(asked: &Asked, items: u64, renew: bool) -> Result<Times> {
    let world = World::new(asked.bits)?;
    let count = usize::try_from(items)?;
    let function = function(asked)?;
    let vectors = Vectors::new(asked.dim);
    let (rows, encode) = match renew {
        true => (items, vectors.encode(&function, items)?),
        false => {
            let (times, seconds) =
                repeated(|| Ok(vectors.encode_block(&function, vectors.rows)?.len()))?;
            (times * vectors.rows as u64, seconds)
        }
    };

    let codes = world.codes(Items::Database, 0, count)?;
    let ids: Vec<u64> = (0..items).collect();
    let clock = Clock::start();
    let mut index = Index::new(function.clone());
    index.add_codes(&ids, &codes, None)?;
    index.build_search_structures()?;
    let build = clock.seconds();
    let statistics = index.statistics();

    let k = usize::try_from(asked.k.min(items))?;
    let at_once = (MOST_HITS / k).clamp(1, QUERIES);
    let queries = world.codes(Items::Queries, 0, at_once)?;
    let (times, search) = repeated(|| Ok(index.search_codes(&queries, k)?.all().len()))?;
    let answered = times * at_once as u64;

    let clock = Clock::start();
    black_box(index.duplicates(asked.radius)?);
    let dedup = clock.seconds();

    let renewal = match renew {
        false => None,
        true => {
            let encode = vectors.encode(&function, items)?;
            let clock = Clock::start();
            index.renew_codes(function, &ids, &codes)?;
            index.build_search_structures()?;
            Some(encode + clock.seconds())
        }
    };

    index.set_search_structure(SearchStructure::None);
    let at_once = at_once.min(SCANNED);
    let queries = queries.select(&(0..at_once).collect::<Vec<_>>());
    let (times, scan) = repeated(|| Ok(index.search_codes(&queries, k)?.all().len()))?;
    Ok(Times {
        items,
        rows,
        encode,
        build,
        queries: answered,
        search,
        scanned: times * at_once as u64,
        scan,
        dedup,
        renew: renewal,
        item_bytes: statistics.item_bytes as u64,
        structure_bytes: statistics.structure_bytes as u64,
        distinct: distinct(codes),
    })
}

/// Returns the number of distinct codes as a share of all codes.
fn distinct(codes: Codes) -> f64 {
    let (count, stride) = (codes.len(), codes.words_per_code());
    let words = codes.into_words();
    let mut codes: Vec<&[u64]> = words.chunks_exact(stride).collect();
    codes.sort_unstable();
    codes.dedup();
    codes.len() as f64 / count as f64
}

/// Repeats a step for at least [`LONG_ENOUGH`]. Returns the number of repetitions and the processor
/// time in seconds.
fn repeated(mut run: impl FnMut() -> Result<usize>) -> Result<(u64, f64)> {
    // Warms up caches, and touches pages for the first time.
    black_box(run()?);
    let (clock, mut times) = (Clock::start(), 0);
    loop {
        black_box(run()?);
        times += 1;
        let seconds = clock.seconds();
        if seconds >= LONG_ENOUGH {
            return Ok((times, seconds));
        }
    }
}

/// Returns a function of the requested shape; its values do not affect the time.
fn function(asked: &Asked) -> hashbrook::Result<HashFunction> {
    let (dim, bits) = (asked.dim, asked.bits);
    let mut random = Random::new(3, 0);
    let mut floats = |count: usize| (0..count).map(|_| random.float()).collect::<Vec<f32>>();
    let gamma = 1.0;
    let lift = match asked.function {
        Function::None => Lift::Identity,
        Function::Full { anchors } => {
            Lift::Rbf { anchors: unit(floats(anchors * dim), dim), gamma }
        }
        Function::Compact { anchors, depth } => {
            let directions = if depth < dim { unit(floats(depth * dim), dim) } else { Vec::new() };
            Lift::Compact(Compact::new(&unit(floats(anchors * dim), dim), directions, dim, gamma)?)
        }
    };
    let linear_weights = (lift != Lift::Identity).then(|| floats(dim * bits));
    HashFunction::new(HashParts {
        center: Some(floats(dim)),
        unit: true,
        weights: floats(lift.width(dim) * bits),
        offset: Some(floats(bits)),
        linear_weights,
        lift,
        ..HashParts::linear(dim, bits, Vec::new())
    })
}

/// Scales random rows to approximately unit length, like anchors.
fn unit(mut rows: Vec<f32>, dim: usize) -> Vec<f32> {
    // The mean square of a number uniform between -1 and 1 is 1/3.
    let scale = (3.0 / dim as f32).sqrt();
    rows.iter_mut().for_each(|value| *value *= scale);
    rows
}

/// Vectors that are encoded repeatedly.
struct Vectors {
    values: Vec<f32>,
    dim: usize,
    rows: usize,
}

impl Vectors {
    fn new(dim: usize) -> Vectors {
        let rows = (VECTOR_BYTES / (4 * dim)).clamp(256, 1 << 14);
        let mut random = Random::new(4, 0);
        Vectors { values: (0..rows * dim).map(|_| random.float()).collect(), dim, rows }
    }

    fn encode_block(&self, function: &HashFunction, rows: usize) -> hashbrook::Result<Codes> {
        function.encode(Features::new(&self.values[..rows * self.dim], self.dim)?)
    }

    /// Returns the seconds to encode `items` vectors.
    fn encode(&self, function: &HashFunction, items: u64) -> Result<f64> {
        let clock = Clock::start();
        let mut left = items;
        while left > 0 {
            let rows = self.rows.min(usize::try_from(left)?);
            black_box(self.encode_block(function, rows)?);
            left -= rows as u64;
        }
        Ok(clock.seconds())
    }
}
