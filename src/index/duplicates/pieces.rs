//! Near-duplicates among scattered codes: codes that differ in `r` bits agree in one of `r + 1`
//! pieces.

use rayon::prelude::*;

use super::union::Union;
use crate::hamming;

/// Maximum number of comparisons per code and piece up to which this method is the fastest.
const FEW: u64 = 1024;

/// Average number of codes that are sorted at a time, so that their keys take little memory.
const SLICE: usize = 1 << 22;

/// Returns the connected groups of codes, each as the numbers of its codes. Returns `None` if
/// pieces have too few bits, or if too many codes agree in a piece, as codes in clusters do.
pub(super) fn join(codes: &[u64], bits: usize, radius: u32) -> Option<Vec<Vec<u32>>> {
    let (width, pieces) = (bits.div_ceil(64), radius as usize + 1);
    let count = codes.len() / width;
    // Many codes agree in pieces of few bits.
    if bits / pieces < 8 || count < 2 {
        return None;
    }
    let code = |number: u32| &codes[number as usize * width..][..width];
    let union = Union::new(count);
    let slices = count.div_ceil(SLICE) as u64;
    for piece in 0..pieces {
        let (start, end) = (piece * bits / pieces, (piece + 1) * bits / pieces);
        let key = |number: u32| bits_of(code(number), start, end.min(start + 64));
        let mut compared = 0;
        for slice in 0..slices {
            let of_slice = |number: u32| {
                let key = key(number);
                // The key modulo the number of slices determines its slice.
                (key % slices == slice).then_some((key, number))
            };
            let mut keys: Vec<(u64, u32)> =
                (0..count as u32).into_par_iter().filter_map(of_slice).collect();
            keys.par_sort_unstable();
            let runs = || keys.par_chunk_by(|left, right| left.0 == right.0);
            compared += runs().map(|run| (run.len() as u64).pow(2)).sum::<u64>();
            // Slices are similar, so the first slices predict the cost of all.
            if compared * slices > FEW * count as u64 * (slice + 1) {
                return None;
            }
            runs().for_each(|run| {
                for (at, &(_, one)) in run.iter().enumerate() {
                    for &(_, other) in &run[..at] {
                        if hamming(code(one), code(other)) <= radius {
                            union.join(one, other);
                        }
                    }
                }
            });
        }
    }
    Some(union.groups(|number| number))
}

/// Returns the bits from `start` to `end` of a code, at most 64.
fn bits_of(code: &[u64], start: usize, end: usize) -> u64 {
    let (word, shift) = (start / 64, start % 64);
    let low = code[word] >> shift;
    let high = if shift > 0 && word + 1 < code.len() { code[word + 1] << (64 - shift) } else { 0 };
    let mask = if end - start == 64 { u64::MAX } else { (1 << (end - start)) - 1 };
    (low | high) & mask
}
