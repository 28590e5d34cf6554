//! What bits weigh, in the two forms in which it is added up.

/// What each bit of a code weighs: a whole number.
///
/// Weights of few values are added up by levels: all bits that weigh anything count the smallest value,
/// those that weigh more than it the step to the next, and so on. So what a word of differing bits weighs
/// is a few counts of bits. Of weights of many values there are levels that reach up to some of them,
/// which gives a bound; most codes are beyond it. The others are looked up, four bits at a time.
#[derive(Clone, Debug)]
pub(crate) struct Weights {
    words: usize,
    /// At most [`LEVELS`] steps, and behind all of them the bits that weigh so much more; none if no bit
    /// weighs anything.
    steps: Vec<u32>,
    masks: Vec<u64>,
    /// Whether the levels add up to the weights, and not to less.
    levels_are_exact: bool,
    /// What each value of four bits weighs, for all fours of all words.
    fours: Vec<[u32; 16]>,
    largest: u32,
    least: u32,
    most: u32,
}

/// Levels that there may be.
const LEVELS: usize = 4;

/// Values that are tried as ends of levels, where weights have more.
const TRIED: usize = 24;

impl Weights {
    /// One weight for each bit. Their sum must be below 2^32.
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

    /// The steps, each with the bits that weigh so much more, which are a mask of each word.
    pub(super) fn levels(&self) -> impl ExactSizeIterator<Item = (u32, &[u64])> {
        self.steps.iter().copied().zip(self.masks.chunks_exact(self.words.max(1)))
    }

    /// Whether the levels add up to the weights, and not to less.
    pub(super) fn levels_are_exact(&self) -> bool {
        self.levels_are_exact
    }

    /// What a code weighs that differs in all bits: the largest distance.
    pub(crate) fn largest(&self) -> u32 {
        self.largest
    }

    /// What a bit weighs at least.
    pub(crate) fn least(&self) -> u32 {
        self.least
    }

    /// What a bit weighs at most.
    pub(crate) fn most(&self) -> u32 {
        self.most
    }

    /// What the bits that are set weigh together.
    pub(crate) fn of(&self, words: impl Iterator<Item = u64>) -> u32 {
        let of_word = |(word, fours): (u64, &[[u32; 16]])| -> u32 {
            let four = |(at, four): (usize, &[u32; 16])| four[(word >> (4 * at) & 15) as usize];
            fours.iter().enumerate().map(four).sum()
        };
        words.zip(self.fours.chunks_exact(16)).map(of_word).sum()
    }
}

/// A bit for each weight that is of a kind.
fn mask(weights: &[u32], is: impl Fn(u32) -> bool) -> Vec<u64> {
    let word = |weights: &[u32]| {
        weights.iter().enumerate().fold(0, |word, (bit, &of)| word | u64::from(is(of)) << bit)
    };
    weights.chunks(64).map(word).collect()
}

/// The values up to which levels reach, ascending, of sorted weights that are not 0: those by which the
/// levels add up to as much as they can.
fn ends(sorted: &[u32]) -> Vec<u32> {
    // Of equal values the first, with how many weights are at least as large.
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
    // The most that so many levels add up to, of which the last ends at a value; and the one before.
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
