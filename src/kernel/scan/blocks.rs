//! Scan of blocks of codes, generic over the instruction set.

use super::layout::{GROUP, Layout};
use super::run::{Run, hit};

/// Operations on a group of codes at once.
///
/// # Safety
/// All functions need the instructions that the implementation is named after. Callers must be
/// compiled for these instructions, and the machine must have them. Further requirements are stated
/// at each function.
pub(super) trait Lanes {
    /// A word of every code.
    type Words: Copy;
    /// A distance for every code.
    type Group: Copy;
    /// Number of codes in a group.
    const CODES: usize;
    /// Returns the same word for every code.
    unsafe fn word(value: u64) -> Self::Words;
    /// Loads the words of all codes. There must be eight words to read.
    unsafe fn load(from: *const u64) -> Self::Words;
    /// Returns the number of bits in which words differ.
    unsafe fn distance(left: Self::Words, right: Self::Words) -> Self::Group;
    /// Returns the same distance for every code. `value` may be at most one more than the number of
    /// bits of a code.
    unsafe fn all(value: u32) -> Self::Group;
    unsafe fn add(left: Self::Group, right: Self::Group) -> Self::Group;
    unsafe fn min(left: Self::Group, right: Self::Group) -> Self::Group;
    /// Returns a mask with a bit set for each code whose distance is below the limit.
    unsafe fn below(group: Self::Group, limit: Self::Group) -> u32;
    /// Writes the hits: the codes with a bit in `near`. There must be space for sixteen hits.
    unsafe fn append(distances: Self::Group, near: u32, first: u32, to: *mut u64);
}

/// Appends all codes of a run that are nearer than `limit`, in order of their numbers.
///
/// # Safety
/// - The machine must have the instructions of `W` and `N`.
/// - The query must have as many words as a code of the layout.
/// - The run must contain all words of its codes, and its bitmap, if any, a bit for each code.
#[inline(always)]
pub(super) unsafe fn scan<W: Lanes, N: Lanes>(
    layout: Layout,
    query: &[u64],
    run: Run<'_>,
    limit: u32,
    hits: &mut Vec<u64>,
) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match layout.code_words() {
            _ if layout.is_narrow() => scan_words::<N, 1>(query, run, limit, hits),
            1 => scan_words::<W, 1>(query, run, limit, hits),
            2 => scan_words::<W, 2>(query, run, limit, hits),
            4 => scan_words::<W, 4>(query, run, limit, hits),
            _ => scan_words::<W, 0>(query, run, limit, hits),
        }
    }
}

/// Number of codes whose smallest distance is checked at once.
const BLOCK: usize = 256;

/// Number of parts of a block whose smallest distances are computed separately.
const PARTS: usize = 8;

/// Returns the distances of a group of codes. `WORDS` is the number of words of a code, or 0 if it
/// is unknown at compile time.
///
/// All code that works on vectors is in functions, not closures: closures are not inlined into
/// functions that are compiled for more instructions.
#[inline(always)]
unsafe fn distances<L: Lanes, const WORDS: usize>(
    query: &[u64],
    run: &Run<'_>,
    group: usize,
) -> L::Group {
    let words = if WORDS == 0 { query.len() } else { WORDS };
    // SAFETY: `run.words` holds all requested groups.
    unsafe {
        let from = run.words.as_ptr().add(group * GROUP * words);
        let mut sum = L::distance(L::load(from), L::word(query[0]));
        for (word, &own) in query[..words].iter().enumerate().skip(1) {
            let next = L::distance(L::load(from.add(word * GROUP)), L::word(own));
            sum = L::add(sum, next);
        }
        sum
    }
}

/// Appends the hits of a group. There must be space for sixteen hits.
#[inline(always)]
unsafe fn emit<L: Lanes, const WORDS: usize>(
    query: &[u64],
    run: &Run<'_>,
    group: usize,
    bound: L::Group,
    hits: &mut Vec<u64>,
) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let found = distances::<L, WORDS>(query, run, group);
        let mut near = L::below(found, bound);
        let code = group * L::CODES;
        if let Some(mask) = run.mask {
            near &= (mask[code / 64] >> (code % 64)) as u32;
        }
        let left = run.count - code;
        if left < L::CODES {
            near &= (1 << left) - 1;
        }
        // There is no branch on whether the group has hits: near hits, a misprediction costs more
        // than writing.
        let end = hits.as_mut_ptr().add(hits.len());
        L::append(found, near, run.first + code as u32, end);
        hits.set_len(hits.len() + near.count_ones() as usize);
    }
}

/// Writes hits one by one.
#[inline(always)]
pub(super) unsafe fn append(distances: &[u32; 16], mut near: u32, first: u32, mut to: *mut u64) {
    while near != 0 {
        let lane = near.trailing_zeros();
        // SAFETY: guaranteed by the caller of [`Lanes::append`].
        unsafe {
            to.write(hit(distances[lane as usize], first + lane));
            to = to.add(1);
        }
        near &= near - 1;
    }
}

/// Returns the smallest distances of a part of a block.
#[inline(always)]
unsafe fn least<L: Lanes, const WORDS: usize>(
    query: &[u64],
    run: &Run<'_>,
    start: usize,
) -> L::Group {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut least = distances::<L, WORDS>(query, run, start);
        for group in start + 1..start + BLOCK / L::CODES / PARTS {
            least = L::min(least, distances::<L, WORDS>(query, run, group));
        }
        least
    }
}

#[inline(always)]
unsafe fn scan_words<L: Lanes, const WORDS: usize>(
    query: &[u64],
    run: Run<'_>,
    limit: u32,
    hits: &mut Vec<u64>,
) {
    let query = if WORDS == 0 { query } else { &query[..WORDS] };
    let groups_per_block = BLOCK / L::CODES;
    let part = groups_per_block / PARTS;
    let blocks = run.count / BLOCK;
    // SAFETY: guaranteed by the caller.
    unsafe {
        let bound = L::all(limit);
        for block in 0..blocks {
            if let Some(mask) = run.mask
                && mask[block * BLOCK / 64..][..BLOCK / 64].iter().all(|&word| word == 0)
            {
                continue;
            }
            let start = block * groups_per_block;
            // Eight variables, because an array of vectors would have to be stored in memory.
            let a = least::<L, WORDS>(query, &run, start);
            let b = least::<L, WORDS>(query, &run, start + part);
            let c = least::<L, WORDS>(query, &run, start + 2 * part);
            let d = least::<L, WORDS>(query, &run, start + 3 * part);
            let e = least::<L, WORDS>(query, &run, start + 4 * part);
            let f = least::<L, WORDS>(query, &run, start + 5 * part);
            let g = least::<L, WORDS>(query, &run, start + 6 * part);
            let h = least::<L, WORDS>(query, &run, start + 7 * part);
            let (ab, cd, ef, gh) = (L::min(a, b), L::min(c, d), L::min(e, f), L::min(g, h));
            if L::below(L::min(L::min(ab, cd), L::min(ef, gh)), bound) == 0 {
                continue;
            }
            let mut parts = u32::from(L::below(a, bound) != 0)
                | u32::from(L::below(b, bound) != 0) << 1
                | u32::from(L::below(c, bound) != 0) << 2
                | u32::from(L::below(d, bound) != 0) << 3
                | u32::from(L::below(e, bound) != 0) << 4
                | u32::from(L::below(f, bound) != 0) << 5
                | u32::from(L::below(g, bound) != 0) << 6
                | u32::from(L::below(h, bound) != 0) << 7;
            hits.reserve(BLOCK);
            while parts != 0 {
                let first = start + parts.trailing_zeros() as usize * part;
                for group in first..first + part {
                    emit::<L, WORDS>(query, &run, group, bound, hits);
                }
                parts &= parts - 1;
            }
        }
        // Fewer codes than a block remain.
        hits.reserve(BLOCK);
        let (mut group, whole) = (blocks * groups_per_block, run.count / L::CODES);
        while group + part <= whole {
            if L::below(least::<L, WORDS>(query, &run, group), bound) != 0 {
                for group in group..group + part {
                    emit::<L, WORDS>(query, &run, group, bound, hits);
                }
            }
            group += part;
        }
        for group in group..run.count.div_ceil(L::CODES) {
            emit::<L, WORDS>(query, &run, group, bound, hits);
        }
    }
}
