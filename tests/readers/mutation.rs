//! Files with random damage are read or refused; they never crash the program or make it request
//! absurd amounts of memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use zip::CompressionMethod;

use crate::support::{Files, Mat, features, gz, labels, npz};
use crate::wrong::samples;

/// An allocator that records, for each thread and so for each test, the largest single request.
struct Watched;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
    /// Bytes that this thread has allocated and not freed, and the peak of that count.
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn note(size: usize, given_back: usize) {
    LARGEST.with(|largest| largest.set(largest.get().max(size)));
    HELD.with(|held| {
        // Absurd requests fail, and successful ones do not overflow the count.
        held.set(held.get().wrapping_add(size as isize).wrapping_sub(given_back as isize));
        PEAK.with(|peak| peak.set(peak.get().max(held.get())));
    });
}

// SAFETY: all calls are passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 0);
        // SAFETY: the arguments are passed on unchanged, and the same allocator made every pointer.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note(0, layout.size());
        // SAFETY: the arguments are passed on unchanged, and the same allocator made every pointer.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 0);
        // SAFETY: the arguments are passed on unchanged, and the same allocator made every pointer.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size, layout.size());
        // SAFETY: the arguments are passed on unchanged, and the same allocator made every pointer.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// Numbers at which arithmetic tends to fail.
const EDGES: [u64; 12] = [
    0,
    1,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x10_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    i64::MAX as u64,
    u64::MAX,
];

fn mutate(content: &mut Vec<u8>, rng: &mut ChaCha8Rng) {
    for _ in 0..rng.random_range(1..4) {
        // Most headers are at the start of a file, where damage is most likely to have an effect.
        let reach = if rng.random_bool(0.5) { content.len().min(160) } else { content.len() };
        let at = rng.random_range(0..reach.max(1));
        match rng.random_range(0..6) {
            0 if at < content.len() => content[at] ^= 1 << rng.random_range(0..8),
            1 if at < content.len() => content[at] = rng.random(),
            2 => content.insert(at.min(content.len()), rng.random()),
            3 if at < content.len() => {
                content.remove(at);
            }
            4 => content.truncate(at),
            _ => {
                let edge = EDGES[rng.random_range(0..EDGES.len())];
                let width = [1, 2, 4, 8][rng.random_range(0..4)];
                let little = edge.to_le_bytes();
                let big = edge.to_be_bytes();
                let bytes = if rng.random() { &little[..width] } else { &big[8 - width..] };
                let end = (at + width).min(content.len());
                content.splice(at.min(end)..end, bytes.iter().copied());
            }
        }
    }
}

/// Returns the peak of the memory allocated while `run` runs, in bytes beyond what was allocated
/// before.
#[cfg(any(feature = "arrow", feature = "hdf5"))]
pub fn peak(run: impl FnOnce()) -> usize {
    let before = HELD.get();
    PEAK.set(before);
    run();
    usize::try_from(PEAK.get() - before).unwrap_or(0)
}

/// Compresses a damaged file, so that the checksums of the archive match the damaged bytes.
fn pack(name: &str, content: &[u8]) -> Option<(String, Vec<u8>)> {
    let zipped = [("x.npy", content)];
    match name {
        "a.npy" => Some(("in.npz".to_owned(), npz(CompressionMethod::Deflated, &zipped))),
        "fortran.npy" => Some(("in.npz".to_owned(), npz(CompressionMethod::Stored, &zipped))),
        "a.mat" => {
            let (header, variables) = content.split_at_checked(128)?;
            let mat = Mat { big_endian: false, compressed: true };
            Some(("packed.mat".to_owned(), [header, &mat.packed(variables)].concat()))
        }
        _ if name.ends_with("gz") || name.ends_with("npz") => None,
        _ => Some((format!("{name}.gz"), gz(content))),
    }
}

#[test]
fn damaged_files_are_read_or_refused() {
    const ROUNDS: usize = 500;
    // Slightly more than the largest allowed row, with 8 bytes per number.
    const MOST_MEMORY: usize = 32 << 20;
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let files = Files::new();
    let (mut read, mut refused) = (0, 0);
    for (name, content) in samples() {
        for _ in 0..ROUNDS {
            let mut damaged = content.clone();
            mutate(&mut damaged, &mut rng);
            let packed = pack(name, &damaged);
            for (name, content) in packed.into_iter().chain([(name.to_owned(), damaged)]) {
                let spec = files.write(&name, &content);
                for spec in [spec.clone(), format!("{spec}:x"), format!("{spec}:0")] {
                    let found = [features(&spec).is_ok(), labels(&spec).is_ok()];
                    read += found.iter().filter(|ok| **ok).count();
                    refused += found.iter().filter(|ok| !**ok).count();
                }
            }
        }
    }
    assert!(read > 1000 && refused > 1000, "{read} were read, {refused} refused");
    let largest = LARGEST.get();
    assert!(largest <= MOST_MEMORY, "{largest} bytes were asked for at once");
}

/// Parquet and Arrow files are read by crates that trust some sizes in the file, up to 2^31 bytes.
/// The limit on memory therefore allows for such sizes, not only for what the data needs.
#[cfg(feature = "arrow")]
#[test]
fn damaged_tables_are_read_or_refused() {
    const ROUNDS: usize = 300;
    const MOST_MEMORY: usize = 1 << 32;
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let files = Files::new();
    let (mut read, mut refused) = (0, 0);
    for name in
        ["none.parquet", "zstd.parquet", "v2.parquet", "uncompressed.feather", "lz4.feather"]
    {
        let content = std::fs::read(crate::support::fixture(name)).unwrap();
        for _ in 0..ROUNDS {
            let mut damaged = content.clone();
            mutate(&mut damaged, &mut rng);
            if rng.random() {
                // The footer of a Parquet file is at its end.
                damaged.reverse();
                mutate(&mut damaged, &mut rng);
                damaged.reverse();
            }
            let spec = files.write(name, &damaged);
            for column in ["x", "fixed", "label", "tags"] {
                let spec = format!("{spec}:{column}");
                let found = [features(&spec).is_ok(), labels(&spec).is_ok()];
                read += found.iter().filter(|ok| **ok).count();
                refused += found.iter().filter(|ok| !**ok).count();
            }
        }
    }
    assert!(read > 300 && refused > 1000, "{read} were read, {refused} refused");
    let largest = LARGEST.get();
    assert!(largest <= MOST_MEMORY, "{largest} bytes were asked for at once");
}

/// A stream that is complete in memory is read within its memory limit, whatever sizes it claims.
#[cfg(feature = "arrow")]
#[test]
fn damaged_streams_in_memory_are_read_or_refused() {
    use hashbrook::LabelNames;
    use hashbrook::dataset::ArrowTable;

    const ROUNDS: usize = 2000;
    const MOST: usize = 1 << 20;
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let content = std::fs::read(crate::support::fixture("table.arrows")).unwrap();
    let (mut read, mut refused) = (0, 0);
    for _ in 0..ROUNDS {
        let mut damaged = content.clone();
        mutate(&mut damaged, &mut rng);
        let Ok(table) = ArrowTable::read("stream", std::io::Cursor::new(damaged), MOST) else {
            refused += 1;
            continue;
        };
        read += 1;
        for (column, _) in table.columns() {
            // Every column is read or refused.
            let _ = table.reader(&column).map(|reader| crate::support::drain(reader, 5));
            let _ = (table.ids(&column), table.id_texts(&column), table.payloads(&column));
            let _ = table.labels(&column, &mut LabelNames::new());
        }
    }
    assert!(read > 50 && refused > 100, "{read} were read, {refused} refused");
    let largest = LARGEST.get();
    assert!(largest <= 64 << 20, "{largest} bytes were asked for at once");
}

/// HDF5 files are read by a crate that trusts sizes if the file could contain that many bytes.
#[cfg(feature = "hdf5")]
#[test]
fn damaged_hdf5_is_read_or_refused() {
    const ROUNDS: usize = 300;
    const MOST_MEMORY: usize = 1 << 30;
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let files = Files::new();
    let (mut read, mut refused) = (0, 0);
    for (name, datasets) in [
        ("earliest.h5", ["train", "both", "filtered", "growing"]),
        ("modern.h5", ["train", "chunked", "filtered", "growing"]),
        ("v73.mat", ["x", "labels", "truths", "word"]),
        ("texts.h5", ["names", "chunked", "fixed", "bytes"]),
        ("modern_texts.h5", ["names", "chunked", "fixed", "bytes"]),
    ] {
        let content = std::fs::read(crate::support::fixture(name)).unwrap();
        for _ in 0..ROUNDS {
            let mut damaged = content.clone();
            mutate(&mut damaged, &mut rng);
            let spec = files.write(name, &damaged);
            for dataset in datasets {
                let spec = format!("{spec}:{dataset}");
                let found = [features(&spec).is_ok(), labels(&spec).is_ok()];
                read += found.iter().filter(|ok| **ok).count();
                refused += found.iter().filter(|ok| !**ok).count();
            }
        }
    }
    assert!(read > 100 && refused > 1000, "{read} were read, {refused} refused");
    let largest = LARGEST.get();
    assert!(largest <= MOST_MEMORY, "{largest} bytes were asked for at once");
}
