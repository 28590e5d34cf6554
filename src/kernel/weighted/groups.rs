//! Comparison of groups of codes with a query, generic over the instruction set.

use super::weights::Weights;
use crate::kernel::scan::{GROUP, Layout, Run, hit};

/// Input of a comparison: a query, the codes, and the bits and weights that count.
#[derive(Clone, Copy)]
pub(crate) struct Comparison<'a> {
    pub(crate) layout: Layout,
    pub(crate) query: &'a [u64],
    /// Codes to compare with the query.
    pub(crate) run: Run<'a>,
    /// For each code, the bits that count, laid out like the codes; `None` if all bits count.
    pub(crate) known: Option<&'a [u64]>,
    /// Second bound, in addition to the bound by known bits.
    pub(crate) nearly: Option<Nearly<'a>>,
    /// Weight of each bit; `None` if each bit weighs 1.
    pub(crate) weights: Option<&'a Weights>,
    /// Exclusive upper bound of the distances to report.
    pub(crate) limit: u32,
}

/// For each bucket of codes, a centre and a set of bits, both laid out like codes. In these bits,
/// the distance of every code of the bucket from the centre is at most `exceptions`.
#[derive(Clone, Copy)]
pub(crate) struct Nearly<'a> {
    pub(crate) centres: &'a [u64],
    pub(crate) bits: &'a [u64],
    pub(crate) exceptions: u32,
}

/// Operations on a group of codes at once.
///
/// # Safety
/// All functions need the instructions that the implementation is named after.
pub(super) trait Lanes {
    /// A number for each code.
    type Group: Copy;
    unsafe fn zero() -> Self::Group;
    /// Loads the words of eight codes.
    unsafe fn wide(from: &[u64; GROUP]) -> Self::Group;
    /// Loads the half words of eight codes.
    unsafe fn narrow(from: &[u64; GROUP / 2]) -> Self::Group;
    /// Returns the bits in which words differ from a word of the query.
    unsafe fn differ(words: Self::Group, own: u64) -> Self::Group;
    unsafe fn and(left: Self::Group, right: Self::Group) -> Self::Group;
    /// Adds the number of set bits.
    unsafe fn add_bits(sums: Self::Group, words: Self::Group) -> Self::Group;
    /// Adds the number of set bits within a mask, multiplied by `step`.
    unsafe fn add_level(sums: Self::Group, words: Self::Group, mask: u64, step: u32)
    -> Self::Group;
    /// Returns a mask with a bit set for each number below the limit.
    unsafe fn below(sums: Self::Group, limit: u32) -> u8;
    unsafe fn numbers(sums: Self::Group) -> [u64; GROUP];
}

/// Plain Rust, with the instructions that the compiler chooses.
pub(super) struct Plain;

impl Lanes for Plain {
    type Group = [u64; GROUP];
    #[inline(always)]
    unsafe fn zero() -> Self::Group {
        [0; GROUP]
    }
    #[inline(always)]
    unsafe fn wide(from: &[u64; GROUP]) -> Self::Group {
        *from
    }
    #[inline(always)]
    unsafe fn narrow(from: &[u64; GROUP / 2]) -> Self::Group {
        std::array::from_fn(|lane| from[lane / 2] >> (32 * (lane % 2)) & u64::from(u32::MAX))
    }
    #[inline(always)]
    unsafe fn differ(words: Self::Group, own: u64) -> Self::Group {
        words.map(|word| word ^ own)
    }
    #[inline(always)]
    unsafe fn and(left: Self::Group, right: Self::Group) -> Self::Group {
        std::array::from_fn(|lane| left[lane] & right[lane])
    }
    #[inline(always)]
    unsafe fn add_bits(sums: Self::Group, words: Self::Group) -> Self::Group {
        std::array::from_fn(|lane| sums[lane] + u64::from(words[lane].count_ones()))
    }
    #[inline(always)]
    unsafe fn add_level(
        sums: Self::Group,
        words: Self::Group,
        mask: u64,
        step: u32,
    ) -> Self::Group {
        std::array::from_fn(|lane| {
            sums[lane] + u64::from((words[lane] & mask).count_ones()) * u64::from(step)
        })
    }
    #[inline(always)]
    unsafe fn below(sums: Self::Group, limit: u32) -> u8 {
        let bits = sums.iter().enumerate();
        bits.fold(0, |bits, (lane, &sum)| bits | u8::from(sum < u64::from(limit)) << lane)
    }
    #[inline(always)]
    unsafe fn numbers(sums: Self::Group) -> [u64; GROUP] {
        sums
    }
}

/// Appends all codes whose distance is below the limit. Common code lengths and the number of
/// levels are compile-time constants.
///
/// # Safety
/// The machine must have the instructions of `L`.
#[inline(always)]
pub(super) unsafe fn compare<L: Lanes>(comparison: Comparison<'_>, hits: &mut Vec<u64>) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match (comparison.layout.code_words(), comparison.layout.is_narrow()) {
            (1, true) => by_known::<L, 1, true>(comparison, hits),
            (1, false) => by_known::<L, 1, false>(comparison, hits),
            (2, _) => by_known::<L, 2, false>(comparison, hits),
            _ => by_known::<L, 0, false>(comparison, hits),
        }
    }
}

#[inline(always)]
unsafe fn by_known<L: Lanes, const WORDS: usize, const NARROW: bool>(
    comparison: Comparison<'_>,
    hits: &mut Vec<u64>,
) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match (comparison.known.is_some(), comparison.nearly.is_some()) {
            (false, _) => by_levels::<L, WORDS, NARROW, false, false>(comparison, hits),
            (true, false) => by_levels::<L, WORDS, NARROW, true, false>(comparison, hits),
            (true, true) => by_levels::<L, WORDS, NARROW, true, true>(comparison, hits),
        }
    }
}

#[inline(always)]
unsafe fn by_levels<
    L: Lanes,
    const WORDS: usize,
    const NARROW: bool,
    const KNOWN: bool,
    const NEARLY: bool,
>(
    comparison: Comparison<'_>,
    hits: &mut Vec<u64>,
) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match comparison.weights.map(|weights| weights.levels().len()) {
            None => groups::<L, WORDS, NARROW, KNOWN, NEARLY, 0>(comparison, hits),
            Some(0 | 1) => groups::<L, WORDS, NARROW, KNOWN, NEARLY, 1>(comparison, hits),
            Some(2) => groups::<L, WORDS, NARROW, KNOWN, NEARLY, 2>(comparison, hits),
            Some(3) => groups::<L, WORDS, NARROW, KNOWN, NEARLY, 3>(comparison, hits),
            Some(_) => groups::<L, WORDS, NARROW, KNOWN, NEARLY, 4>(comparison, hits),
        }
    }
}

/// Loads a word of each code of a group.
#[inline(always)]
unsafe fn load<L: Lanes, const NARROW: bool>(
    words: &[u64],
    group: usize,
    stride: usize,
    word: usize,
) -> L::Group {
    const ROOM: &str = "a run has room for whole groups";
    // SAFETY: guaranteed by the caller.
    unsafe {
        if NARROW {
            let both = &words[group * GROUP / 2..][..GROUP / 2];
            L::narrow(both.try_into().expect(ROOM))
        } else {
            let from = &words[(group * stride + word) * GROUP..][..GROUP];
            L::wide(from.try_into().expect(ROOM))
        }
    }
}

/// Compares all groups of a run. `WORDS` is the number of words of a code, or 0 if it is unknown at
/// compile time. `LEVELS` is the number of levels of weights, or 0 without weights.
#[inline(always)]
unsafe fn groups<
    L: Lanes,
    const WORDS: usize,
    const NARROW: bool,
    const KNOWN: bool,
    const NEARLY: bool,
    const LEVELS: usize,
>(
    comparison: Comparison<'_>,
    hits: &mut Vec<u64>,
) {
    let Comparison { query, run, weights, known, nearly, limit, .. } = comparison;
    let words = if WORDS == 0 { query.len() } else { WORDS };
    // Without levels (all weights are 0) the steps stay 0, so masks may have any bits.
    let (mut steps, mut masks) = ([0; LEVELS], [&query[..words]; LEVELS]);
    let levels = weights.into_iter().flat_map(Weights::levels);
    for (level, (step, mask)) in levels.enumerate().take(LEVELS) {
        (steps[level], masks[level]) = (step, &mask[..words]);
    }
    for group in 0..run.count.div_ceil(GROUP) {
        // SAFETY: guaranteed by the caller.
        let (mut near, sums) = unsafe {
            let known = known.filter(|_| KNOWN);
            let sums =
                weigh::<L, WORDS, NARROW, LEVELS>(query, run.words, known, group, &masks, &steps);
            (L::below(sums, limit), sums)
        };
        if near == 0 {
            continue;
        }
        // SAFETY: guaranteed by the caller.
        let mut numbers = unsafe { L::numbers(sums) };
        if let Some(nearly) = nearly.filter(|_| NEARLY) {
            let Nearly { centres, bits, exceptions } = nearly;
            // SAFETY: guaranteed by the caller.
            let others = unsafe {
                let sums = weigh::<L, WORDS, NARROW, LEVELS>(
                    query,
                    centres,
                    Some(bits),
                    group,
                    &masks,
                    &steps,
                );
                near &= L::below(sums, limit.saturating_add(exceptions));
                L::numbers(sums)
            };
            let exceptions = u64::from(exceptions);
            numbers = std::array::from_fn(|lane| {
                numbers[lane].max(others[lane].saturating_sub(exceptions))
            });
            if near == 0 {
                continue;
            }
        }
        append(&comparison, group, near, &numbers, hits);
    }
}

/// Returns, for each code of a group, the weight of the counted bits that differ from the query.
#[inline(always)]
unsafe fn weigh<L: Lanes, const WORDS: usize, const NARROW: bool, const LEVELS: usize>(
    query: &[u64],
    codes: &[u64],
    counted: Option<&[u64]>,
    group: usize,
    masks: &[&[u64]; LEVELS],
    steps: &[u32; LEVELS],
) -> L::Group {
    let words = if WORDS == 0 { query.len() } else { WORDS };
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut sums = L::zero();
        for (word, &own) in query[..words].iter().enumerate() {
            let mut differ = L::differ(load::<L, NARROW>(codes, group, words, word), own);
            if let Some(counted) = counted {
                differ = L::and(differ, load::<L, NARROW>(counted, group, words, word));
            }
            if LEVELS == 0 {
                sums = L::add_bits(sums, differ);
            }
            for level in 0..LEVELS {
                sums = L::add_level(sums, differ, masks[level][word], steps[level]);
            }
        }
        sums
    }
}

/// Appends the hits among the codes of a group whose distance by levels is below the limit. Most
/// groups have no hits, so this function is not inlined into the loop.
#[inline(never)]
fn append(
    comparison: &Comparison<'_>,
    group: usize,
    mut near: u8,
    sums: &[u64; GROUP],
    hits: &mut Vec<u64>,
) {
    let Comparison { layout, query, run, known, weights, limit, .. } = *comparison;
    let first = group * GROUP;
    if let Some(mask) = run.mask {
        near &= (mask[first / 64] >> (first % 64)) as u8;
    }
    if run.count - first < GROUP {
        near &= (1 << (run.count - first)) - 1;
    }
    let finer = weights.filter(|weights| !weights.levels_are_exact());
    while near != 0 {
        let lane = near.trailing_zeros() as usize;
        near &= near - 1;
        let number = first + lane;
        let mut distance = sums[lane] as u32;
        if let Some(weights) = finer {
            let differ = query.iter().enumerate().map(|(word, own)| {
                let differ = own ^ layout.word(run.words, number, word);
                known.map_or(differ, |known| differ & layout.word(known, number, word))
            });
            distance = distance.max(weights.of(differ));
            if distance >= limit {
                continue;
            }
        }
        hits.push(hit(distance, run.first + number as u32));
    }
}
