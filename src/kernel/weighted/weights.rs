//! Weights of bits, in two forms for fast sums: levels, and tables for groups of four bits.

/// Weight of each bit of a code, an integer.
///
/// Weights with few distinct values are summed by levels. All bits with a weight above 0 count the
/// smallest value, heavier bits also count the step to the next value, and so on. The weight of a
/// word of differing bits then takes one population count per level. If weights have many distinct
/// values, levels end at only some of the values, and their sum is a lower bound of the weight.
/// This bound exceeds the limit for most codes. For all others, a table has the weight of each four
/// bits.
#[derive(Clone, Debug)]
pub(crate) struct Weights {
    words: usize,
    /// At most [`LEVELS`] steps, none if all weights are 0. For each step, `masks` has the bits
    /// whose weight includes the step.
    steps: Vec<u32>,
    masks: Vec<u64>,
    /// True if the levels sum to the exact weights, and not to a lower bound.
    levels_are_exact: bool,
    /// Weight of each value of four bits, for all groups of four bits of a code.
    fours: Vec<[u32; 16]>,
    largest: u32,
    least: u32,
    most: u32,
}

/// Maximum number of levels.
const LEVELS: usize = 4;

/// Maximum number of values that are tried as ends of levels.
const TRIED: usize = 24;

impl Weights {
    /// Returns weights, given one weight for each bit. Their sum must be below 2^32.
    pub(crate) fn new(weights: &[u32]) -> Self {
        let words = weights.len().div_ceil(64);
        let mut sorted: Vec<u32> = weights.iter().copied().filter(|&weight| weight > 0).collect();
        sorted.sort_unstable();
        let ends = ends(&sorted);
        let before = [0].into_iter().chain(ends.iter().copied());
        let steps = ends.iter().zip(before).map(|(end, before)| end - before).collect();
        let masks = ends.iter().flat_map(|&end| mask(weights, |weight| weight >= end)).collect();
        let levels_are_exact = sorted.iter().all(|weight| ends.contains(weight));
        let mut fours = vec![[0; 16]; 16 * words];
        for (four, weights) in fours.iter_mut().zip(weights.chunks(4)) {
            for value in 1..16usize {
                let weight = weights.get(value.trailing_zeros() as usize).copied();
                four[value] = four[value & (value - 1)] + weight.unwrap_or(0);
            }
        }
        let largest = weights.iter().fold(0u32, |sum, &weight| sum.saturating_add(weight));
        let least = weights.iter().copied().min().unwrap_or(0);
        let most = sorted.last().copied().unwrap_or(0);
        Weights { words, steps, masks, levels_are_exact, fours, largest, least, most }
    }

    /// Returns the steps, each with a mask for each word: the bits whose weight includes the step.
    pub(super) fn levels(&self) -> impl ExactSizeIterator<Item = (u32, &[u64])> {
        self.steps.iter().copied().zip(self.masks.chunks_exact(self.words.max(1)))
    }

    /// Returns true if the levels sum to the exact weights, and not to a lower bound.
    pub(super) fn levels_are_exact(&self) -> bool {
        self.levels_are_exact
    }

    /// Returns the largest distance: the weight of all bits together.
    pub(crate) fn largest(&self) -> u32 {
        self.largest
    }

    /// Returns the smallest weight of a bit.
    pub(crate) fn least(&self) -> u32 {
        self.least
    }

    /// Returns the largest weight of a bit.
    pub(crate) fn most(&self) -> u32 {
        self.most
    }

    /// Returns the total weight of the set bits.
    pub(crate) fn of(&self, words: impl Iterator<Item = u64>) -> u32 {
        let of_word = |(word, fours): (u64, &[[u32; 16]])| -> u32 {
            let four = |(at, four): (usize, &[u32; 16])| four[(word >> (4 * at) & 15) as usize];
            fours.iter().enumerate().map(four).sum()
        };
        words.zip(self.fours.chunks_exact(16)).map(of_word).sum()
    }
}

/// Returns a mask of the weights that satisfy `is`.
fn mask(weights: &[u32], is: impl Fn(u32) -> bool) -> Vec<u64> {
    let word = |weights: &[u32]| {
        weights.iter().enumerate().fold(0, |word, (bit, &of)| word | u64::from(is(of)) << bit)
    };
    weights.chunks(64).map(word).collect()
}

/// Returns the values at which levels end, ascending, for sorted weights above 0. They are chosen
/// so that the levels sum to as much as possible.
fn ends(sorted: &[u32]) -> Vec<u32> {
    // The distinct values, each with the number of weights that are at least as large.
    let mut values: Vec<(u32, u64)> = Vec::new();
    for (at, &weight) in sorted.iter().enumerate() {
        if at == 0 || weight != sorted[at - 1] {
            values.push((weight, (sorted.len() - at) as u64));
        }
    }
    if values.len() <= LEVELS {
        return values.into_iter().map(|(value, _)| value).collect();
    }
    let tried: Vec<(u32, u64)> = match values.len().div_ceil(TRIED) {
        1 => values,
        step => values.into_iter().step_by(step).collect(),
    };
    // For each end and number of levels, the largest sum of levels up to this end, and the previous
    // end.
    let gain = |from: u32, (value, count): (u32, u64)| u64::from(value - from) * count;
    let mut best: Vec<[(u64, usize); LEVELS]> = Vec::with_capacity(tried.len());
    for (at, &end) in tried.iter().enumerate() {
        let mut own = [(gain(0, end), 0); LEVELS];
        for before in 0..at {
            for level in 1..LEVELS {
                let sum = best[before][level - 1].0 + gain(tried[before].0, end);
                if sum > own[level].0 {
                    own[level] = (sum, before + 1);
                }
            }
        }
        best.push(own);
    }
    let last = (0..tried.len()).max_by_key(|&at| best[at][LEVELS - 1].0);
    let mut ends = Vec::with_capacity(LEVELS);
    let (mut next, mut level) = (last.map_or(0, |last| last + 1), LEVELS);
    while next > 0 && level > 0 {
        level -= 1;
        ends.push(tried[next - 1].0);
        next = best[next - 1][level].1;
    }
    ends.reverse();
    ends
}
