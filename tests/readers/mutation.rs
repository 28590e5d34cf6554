//! Files with random damage: they must be read or refused, and never crash the program or make it
//! ask for absurd amounts of memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use zip::CompressionMethod;

use crate::support::{Files, Mat, features, gz, labels, npz};
use crate::wrong::samples;

/// Keeps the size of the largest piece of memory that each thread, and so each test, asked for.
struct Watched;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

fn note(size: usize) {
    LARGEST.with(|largest| largest.set(largest.get().max(size)));
}

// SAFETY: everything is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: passed on as it came to the allocator that made it, or makes it.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: passed on as it came to the allocator that made it, or makes it.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: passed on as it came to the allocator that made it, or makes it.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        // SAFETY: passed on as it came to the allocator that made it, or makes it.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// Numbers at which arithmetic tends to go wrong.
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
        // Headers are at the front, for the most part: damage there is the most telling.
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

/// Damage before a file is packed, where checksums do not give it away.
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
    // The largest row there may be, of 8 bytes per number, and some.
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
