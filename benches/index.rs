//! Speed of the index, compared with the machine's limits and with plain loops, in one run.
//! `bench/` compares the index with other libraries.
//!
//! ```text
//! cargo bench --bench index                      # everything, some minutes
//! cargo bench --bench index -- search duplicates # some of it
//! ```
#![allow(missing_docs)]

mod codes;
#[path = "../tests/data/mod.rs"]
mod data;
mod dial;
mod rerank;

use std::hint::black_box;
use std::time::{Duration, Instant};

use codes::clustered;
use hashbrook::{Codes, Filter, Index, Kernel, Labels, SearchStructure, hamming};

fn main() {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let benches: [(&str, fn()); 11] = [
        ("ceilings", ceilings),
        ("search", search),
        ("share", share),
        ("radius", radius),
        ("threads", threads),
        ("single", single),
        ("filters", filters),
        ("dial", dial::dial),
        ("files", files),
        ("duplicates", duplicates),
        ("rerank", rerank::rerank),
    ];
    for (name, bench) in benches {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            println!("\n== {name}");
            bench();
        }
    }
}

fn index_of(codes: &Codes) -> Index {
    let mut index = Index::of_codes(codes.bits()).expect("a length there is");
    let ids: Vec<u64> = (0..codes.len() as u64).collect();
    index.add_codes(&ids, codes, None).expect("new ids");
    index
}

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(work)
}

/// Returns the median time of several runs.
fn median(rounds: usize, mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..rounds)
        .map(|_| {
            let clock = Instant::now();
            run();
            clock.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[rounds / 2]
}

fn rate(count: usize, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64() / 1e9
}

/// XORs all words with a query and counts the bits, at the machine's full speed.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn count_avx512(query: u64, words: &[u64]) -> u64 {
    use std::arch::x86_64::*;
    let query = _mm512_set1_epi64(query as i64);
    let mut sums = [_mm512_setzero_si512(); 8];
    for group in words.as_chunks::<64>().0 {
        for (at, sum) in sums.iter_mut().enumerate() {
            // SAFETY: the eight words lie within the group.
            let words = unsafe { _mm512_loadu_si512(group.as_ptr().add(8 * at).cast()) };
            *sum = _mm512_add_epi64(*sum, _mm512_popcnt_epi64(_mm512_xor_si512(words, query)));
        }
    }
    sums.iter().map(|&sum| _mm512_reduce_add_epi64(sum) as u64).sum()
}

fn count(query: u64, words: &[u64]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vpopcntdq") {
        // SAFETY: the CPU features were detected.
        return unsafe { count_avx512(query, words) };
    }
    words.iter().map(|word| u64::from((word ^ query).count_ones())).sum()
}

/// Returns the rate of XOR and popcount on words in the innermost cache, in billions per second.
fn popcount_peak() -> f64 {
    let words: Vec<u64> = (0..2048u64).map(|at| at.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
    let rounds = 20_000;
    let time = median(9, || {
        for query in 0..rounds {
            black_box(count(query, black_box(&words)));
        }
    });
    rate(words.len() * rounds as usize, time)
}

/// Returns the rate of reading words from memory, in billions per second.
fn read_rate() -> f64 {
    let words = vec![3u64; 20_000_000];
    let time = median(9, || {
        black_box(count(5, black_box(&words)));
    });
    rate(words.len(), time)
}

fn ceilings() {
    println!("one thread: XOR and popcount {:.1} G words/s in cache", popcount_peak());
    println!(
        "            {:.2} G words/s read from memory, {:.1} GB/s",
        read_rate(),
        8.0 * read_rate()
    );
}

fn search() {
    let queries_count = 1000;
    println!("1,000,000 codes, 1,000 queries at once; billions of codes compared per second");
    println!(
        "{:>10} {:>5} {:>19} {:>8} {:>8} {:>8} {:>8}",
        "codes", "bits", "kernel and threads", "k=1", "k=10", "k=100", "k=1000"
    );
    for (name, classes) in [("clustered", 100), ("random", 0)] {
        for bits in [32, 64, 128, 256] {
            let codes = clustered(bits, 1_000_000, classes, 1);
            let queries = clustered(bits, queries_count, classes, 2);
            let mut index = index_of(&codes);
            let kernels = Kernel::available();
            let scans = kernels.iter().map(|&kernel| (1, kernel, false));
            let fastest = [(2, kernels[0], false), (1, kernels[0], true), (2, kernels[0], true)];
            for (threads, kernel, structures) in scans.chain(fastest) {
                index.set_kernel(kernel);
                index.set_search_structure(structure_if(structures));
                index.build_search_structures().expect("sound");
                let work = codes.len() * queries_count;
                let of_k = |k: usize| {
                    let run = || drop(black_box(index.search_codes(&queries, k)));
                    rate(work, on_threads(threads, || median(3, run)))
                };
                let found = [1, 10, 100, 1000].map(of_k);
                let way = if structures { "any way" } else { "scan" };
                println!(
                    "{name:>10} {bits:>5} {:>19} {:>8.2} {:>8.2} {:>8.2} {:>8.2}",
                    format!("{kernel:?} x{threads} {way}"),
                    found[0],
                    found[1],
                    found[2],
                    found[3]
                );
            }
        }
    }
    let peak = popcount_peak();
    println!("the machine: XOR and popcount {peak:.1} G words/s");
}

/// Prints the speed of searches as a share of the machine's XOR and popcount rate, measured
/// alternately. Searches run as a scan, and with the search structure, which does not visit all
/// codes.
fn share() {
    let words: Vec<u64> = (0..2048u64).map(|at| at.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
    for bits in [64, 128] {
        let codes = clustered(bits, 1_000_000, 100, 1);
        let queries = clustered(bits, 256, 100, 2);
        let mut index = index_of(&codes);
        for (k, structures) in [1, 10, 100, 1000].into_iter().flat_map(|k| [(k, false), (k, true)])
        {
            index.set_search_structure(structure_if(structures));
            index.build_search_structures().expect("sound");
            let mut shares: Vec<f64> = (0..15)
                .map(|_| {
                    on_threads(1, || {
                        let clock = Instant::now();
                        black_box(index.search_codes(&queries, k)).expect("sound");
                        let search = clock.elapsed();
                        let clock = Instant::now();
                        for query in 0..20_000 {
                            black_box(count(query, black_box(&words)));
                        }
                        let peak = rate(words.len() * 20_000, clock.elapsed());
                        rate(codes.len() * queries.len() * bits / 64, search) / peak
                    })
                })
                .collect();
            shares.sort_by(f64::total_cmp);
            println!(
                "{bits:>4} bits, k={k:<4}, {:>16}: {:.0} % of the rate of XOR and popcount ({:.0} to {:.0})",
                if structures { "by the structure" } else { "by a scan" },
                100.0 * shares[7],
                100.0 * shares[3],
                100.0 * shares[11]
            );
        }
    }
    share_of_reading();
}

/// Prints the speed of a single query as a share of the rate of reading memory, measured
/// alternately.
fn share_of_reading() {
    let codes = clustered(64, 10_000_000, 100, 1);
    let query = clustered(64, 1, 100, 2);
    let mut index = index_of(&codes);
    index.set_search_structure(SearchStructure::None);
    let mut shares: Vec<f64> = (0..31)
        .map(|_| {
            on_threads(1, || {
                let clock = Instant::now();
                black_box(index.search_codes(&query, 10)).expect("sound");
                let search = clock.elapsed();
                let clock = Instant::now();
                black_box(count(5, black_box(codes.words())));
                clock.elapsed().as_secs_f64() / search.as_secs_f64()
            })
        })
        .collect();
    shares.sort_by(f64::total_cmp);
    println!(
        "  64 bits, one query over 10,000,000 codes: {:.0} % of the rate of reading ({:.0} to {:.0})",
        100.0 * shares[15],
        100.0 * shares[7],
        100.0 * shares[23]
    );
}

fn radius() {
    println!("1,000,000 codes, 1,000 queries at once, one thread; billions of codes per second");
    println!(
        "{:>10} {:>5} {:>7} {:>10} {:>10} {:>12}",
        "codes", "bits", "radius", "scan", "any way", "hits a query"
    );
    for (name, classes) in [("clustered", 100), ("clustered", 10), ("random", 0)] {
        for (bits, radius) in
            [(32, 1), (64, 0), (64, 2), (64, 4), (64, 8), (128, 2), (128, 8), (256, 8)]
        {
            let codes = clustered(bits, 1_000_000, classes, 1);
            let queries = clustered(bits, 1000, classes, 2);
            let mut index = index_of(&codes);
            let mut hits = 0;
            let mut of = |structures: bool| {
                index.set_search_structure(structure_if(structures));
                // After enough searches, the index has built the structure if it pays off.
                on_threads(1, || {
                    (0..if structures { 2 } else { 0 })
                        .for_each(|_| drop(index.within_codes(&queries, radius)))
                });
                let run = || {
                    hits =
                        black_box(index.within_codes(&queries, radius)).expect("sound").all().len()
                };
                rate(codes.len() * queries.len(), on_threads(1, || median(3, run)))
            };
            let (scan, any_way) = (of(false), of(true));
            println!(
                "{name:>10} {bits:>5} {radius:>7} {scan:>10.2} {any_way:>10.1} {:>12}",
                hits / 1000
            );
        }
    }
}

/// Prints the speedup of two threads over one, measured alternately.
fn threads() {
    for bits in [64, 128] {
        let mut index = index_of(&clustered(bits, 1_000_000, 100, 1));
        let queries = clustered(bits, 10_000, 100, 2);
        for (structures, k) in [(false, 10), (false, 100), (true, 10), (true, 100)] {
            index.set_search_structure(structure_if(structures));
            index.build_search_structures().expect("sound");
            let of = |threads: usize| {
                let run = || drop(black_box(index.search_codes(&queries, k)));
                on_threads(threads, || median(if structures { 9 } else { 1 }, run)).as_secs_f64()
            };
            let mut gains: Vec<f64> = (0..7).map(|_| of(1) / of(2)).collect();
            gains.sort_by(f64::total_cmp);
            println!(
                "{bits:>4} bits, k={k:<4}, {:>16}, 10,000 queries: {:.2} times as fast on two threads ({:.2} to {:.2})",
                if structures { "by the structure" } else { "by a scan" },
                gains[3],
                gains[1],
                gains[5]
            );
        }
    }
}

fn single() {
    for count in [1_000_000, 10_000_000] {
        let codes = clustered(64, count, 100, 1);
        let queries = clustered(64, 20, 100, 2);
        let mut index = index_of(&codes);
        let one: Vec<Codes> = (0..queries.len()).map(|at| queries.select(&[at])).collect();
        for (threads, structures) in [(1, false), (2, false), (1, true)] {
            index.set_search_structure(structure_if(structures));
            index.build_search_structures().expect("sound");
            let time = on_threads(threads, || {
                median(9, || {
                    one.iter().for_each(|query| drop(black_box(index.search_codes(query, 10))))
                })
            });
            let found = rate(count * one.len(), time);
            let micros = time.as_secs_f64() * 1e6 / one.len() as f64;
            println!(
                "{count:>9} codes of 64 bits, one query at a time, k=10, x{threads}, {}: {micros:.1} us, {found:.2} G codes/s",
                if structures { "by the structure" } else { "by a scan" },
            );
        }
    }
    println!("the machine reads {:.2} G words/s on one thread", read_rate());
}

fn filters() {
    let codes = clustered(64, 1_000_000, 100, 1);
    let queries = clustered(64, 200, 100, 2);
    let one = queries.select(&[0]);
    let mut index = Index::of_codes(64).expect("a length there is");
    let ids: Vec<u64> = (0..codes.len() as u64).collect();
    let labels: Vec<u32> =
        ids.iter().map(|id| (id.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u32 % 1000).collect();
    index.add_codes(&ids, &codes, Some(Labels::single(&labels))).expect("new ids");
    println!(
        "1,000,000 codes of 64 bits, k=10, one thread: share let through, one query, 200 queries"
    );
    for structures in [false, true] {
        index.set_search_structure(structure_if(structures));
        index.build_search_structures().expect("sound");
        println!("{}", if structures { "by the structure" } else { "by a scan" });
        for share in [1.0, 0.9, 0.5, 0.1, 0.01, 0.001] {
            let some: Vec<u32> = (0..(1000.0 * share) as u32).collect();
            let filter = if share == 1.0 { Filter::all() } else { Filter::all().labels(&some) };
            let of = |codes: &Codes| {
                let run = || drop(black_box(index.filtered(&filter).search_codes(codes, 10)));
                on_threads(1, || median(99, run)).as_secs_f64()
            };
            println!("{share:>6} {:>9.1} us {:>9.2} ms", of(&one) * 1e6, of(&queries) * 1e3);
        }
    }
}

fn files() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("ten.index");
    let codes = clustered(64, 10_000_000, 100, 1);
    let query = clustered(64, 1, 100, 2);
    index_of(&codes).save(&path).expect("room on the disk");
    drop(codes);
    let opened = median(5, || drop(black_box(Index::open(&path))));
    let answered = median(5, || {
        let index = Index::open(&path).expect("an index");
        black_box(index.search_codes(&query, 10)).expect("sound");
    });
    println!(
        "10,000,000 codes of 64 bits: opened in {opened:.2?}, opened and first answer in {answered:.2?}"
    );
    let small = clustered(64, 2_500_000, 100, 1);
    let mut index = index_of(&small);
    let mut id = 0;
    let removed = median(101, || {
        id += 20_011;
        index.remove(&[id]).expect("removable");
    });
    let statistics = index.statistics();
    println!(
        "2,500,000 codes: one removed in {removed:.2?}; memory beyond ids and codes {:.2} %",
        100.0 * statistics.extra_bytes as f64 / statistics.item_bytes as f64
    );
    let path = directory.path().join("two.index");
    index.save(&path).expect("room on the disk");
    let mut index = Index::edit(&path).expect("an index");
    let removed = median(51, || {
        id += 20_011;
        index.remove(&[id % 2_500_000]).expect("removable");
    });
    println!("                 one removed from a file in {removed:.2?}, on the disk when done");
}

fn duplicates() {
    for (name, count, classes) in [
        ("clustered", 1_000_000, 100),
        ("clustered", 10_000_000, 1000),
        ("clustered", 10_000_000, 100),
        ("random", 1_000_000, 0),
    ] {
        let codes = clustered(64, count, classes, 1);
        let index = index_of(&codes);
        let clock = Instant::now();
        let groups = index.duplicates(3).expect("in memory");
        let time = clock.elapsed();
        // Time for all pairs, estimated from a sample: each code is compared with all later codes.
        let some = codes.select(&(0..200).map(|at| at * (count / 200)).collect::<Vec<_>>());
        let mut scanned = index_of(&codes);
        scanned.set_search_structure(SearchStructure::None);
        let scan = median(3, || drop(black_box(scanned.within_codes(&some, 3))));
        let pairs = scan.as_secs_f64() / 200.0 * count as f64 / 2.0;
        let items: usize = groups.iter().map(Vec::len).sum();
        println!(
            "{count} {name} codes of {classes} classes, radius 3: {} groups of {items} items in {time:.2?}; \
             all pairs would take {pairs:.0} s, {:.0} times as long",
            groups.len(),
            pairs / time.as_secs_f64()
        );
    }
    // A plain loop shows that the scan of all pairs is a fair comparison.
    let codes = clustered(64, 20_000, 100, 1);
    let naive = median(3, || {
        let near = |at: usize| {
            (0..at).filter(|&other| hamming(codes.code(at), codes.code(other)) <= 3).count()
        };
        black_box((0..codes.len()).map(near).sum::<usize>());
    });
    println!("a plain loop compares {:.2} G pairs/s", rate(20_000 * 10_000, naive));
}

fn structure_if(wanted: bool) -> SearchStructure {
    if wanted { SearchStructure::Full } else { SearchStructure::None }
}
