//! Distances in which bits have weights, and how near a query can be to codes of which some bits are
//! known.

#[cfg(target_arch = "x86_64")]
use super::instructions::Feature;
use super::scan::{GROUP, Kernel, Layout, Run, hit};

/// What each bit of a code weighs: a whole number, cut into its binary digits. Then what a word of
/// differing bits weighs is a few counts of bits, shifted and added up.
#[derive(Clone, Debug)]
pub(crate) struct Weights {
    words: usize,
    /// For each digit that any weight has: by how much it is shifted, and behind all of them the bits
    /// whose weights have it.
    shifts: Vec<u32>,
    planes: Vec<u64>,
    largest: u32,
    least: u32,
    most: u32,
}

impl Weights {
    /// One weight for each bit. Their sum must be below 2^32.
    pub(crate) fn new(weights: &[u32]) -> Self {
        let words = weights.len().div_ceil(64);
        let (mut shifts, mut planes) = (Vec::new(), Vec::new());
        for shift in 0..32 {
            let mut plane = vec![0u64; words];
            for (bit, weight) in weights.iter().enumerate() {
                plane[bit / 64] |= u64::from(weight >> shift & 1) << (bit % 64);
            }
            if plane.iter().any(|&word| word != 0) {
                shifts.push(shift);
                planes.extend(plane);
            }
        }
        let largest = weights.iter().fold(0u32, |sum, &weight| sum.saturating_add(weight));
        let least = weights.iter().copied().min().unwrap_or(0);
        let most = weights.iter().copied().max().unwrap_or(0);
        Weights { words, shifts, planes, largest, least, most }
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
    pub(crate) fn of(&self, words: impl Iterator<Item = u64> + Clone) -> u32 {
        let planes = self.shifts.iter().zip(self.planes.chunks_exact(self.words));
        planes
            .map(|(&shift, plane)| {
                let set = words.clone().zip(plane).map(|(word, plane)| (word & plane).count_ones());
                set.sum::<u32>() << shift
            })
            .sum()
    }
}

/// What a query is compared with, and how.
#[derive(Clone, Copy)]
pub(crate) struct Comparison<'a> {
    pub(crate) layout: Layout,
    pub(crate) query: &'a [u64],
    /// The codes.
    pub(crate) run: Run<'a>,
    /// For each code the bits of it that count, laid out like the codes; all if there are none.
    pub(crate) known: Option<&'a [u64]>,
    /// What each bit weighs; 1 if nothing is said.
    pub(crate) weights: Option<&'a Weights>,
    /// Distances from this on are not wanted.
    pub(crate) limit: u32,
}

impl Kernel {
    /// Appends all codes whose distance is below the limit, in order of their number.
    pub(crate) fn compare(self, comparison: Comparison<'_>, hits: &mut Vec<u64>) {
        // That the machine has the instructions is asked again, as a caller may name any kernel.
        match self {
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 if Feature::Avx512AndCountBits.is_there() => {
                // SAFETY: the instructions are there.
                unsafe { compare_avx512(comparison, hits) }
            }
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 if Feature::Avx2AndCountBits.is_there() => {
                // SAFETY: the instructions are there.
                unsafe { compare_avx2(comparison, hits) }
            }
            _ => compare(comparison, hits),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
fn compare_avx512(comparison: Comparison<'_>, hits: &mut Vec<u64>) {
    compare(comparison, hits);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
fn compare_avx2(comparison: Comparison<'_>, hits: &mut Vec<u64>) {
    compare(comparison, hits);
}

/// Lengths that are common are known to the compiler.
#[inline(always)]
fn compare(comparison: Comparison<'_>, hits: &mut Vec<u64>) {
    match (comparison.layout.code_words(), comparison.layout.is_narrow()) {
        (1, true) => by_known::<1, true>(comparison, hits),
        (1, false) => by_known::<1, false>(comparison, hits),
        (2, _) => by_known::<2, false>(comparison, hits),
        _ => by_known::<0, false>(comparison, hits),
    }
}

#[inline(always)]
fn by_known<const WORDS: usize, const NARROW: bool>(
    comparison: Comparison<'_>,
    hits: &mut Vec<u64>,
) {
    match (comparison.known.is_some(), comparison.weights.is_some()) {
        (false, false) => groups::<WORDS, NARROW, false, false>(comparison, hits),
        (false, true) => groups::<WORDS, NARROW, false, true>(comparison, hits),
        (true, false) => groups::<WORDS, NARROW, true, false>(comparison, hits),
        (true, true) => groups::<WORDS, NARROW, true, true>(comparison, hits),
    }
}

/// A word of each code of a group.
#[inline(always)]
fn load<const NARROW: bool>(
    words: &[u64],
    group: usize,
    stride: usize,
    word: usize,
) -> [u64; GROUP] {
    if NARROW {
        let both = &words[group * GROUP / 2..][..GROUP / 2];
        std::array::from_fn(|lane| both[lane / 2] >> (32 * (lane % 2)) & u64::from(u32::MAX))
    } else {
        let from = &words[(group * stride + word) * GROUP..][..GROUP];
        std::array::from_fn(|lane| from[lane])
    }
}

/// `WORDS` is the number of words of a code, 0 if it is not known to the compiler.
#[inline(always)]
fn groups<const WORDS: usize, const NARROW: bool, const KNOWN: bool, const WEIGHTED: bool>(
    comparison: Comparison<'_>,
    hits: &mut Vec<u64>,
) {
    let Comparison { query, run, known, weights, limit, .. } = comparison;
    let words = if WORDS == 0 { query.len() } else { WORDS };
    for group in 0..run.count.div_ceil(GROUP) {
        let mut distances = [0u64; GROUP];
        for (word, &own) in query[..words].iter().enumerate() {
            let mut differ =
                load::<NARROW>(run.words, group, words, word).map(|theirs| theirs ^ own);
            if let Some(known) = known.filter(|_| KNOWN) {
                let known = load::<NARROW>(known, group, words, word);
                differ = std::array::from_fn(|lane| differ[lane] & known[lane]);
            }
            if let Some(weights) = weights.filter(|_| WEIGHTED) {
                for (&shift, plane) in weights.shifts.iter().zip(weights.planes.chunks_exact(words))
                {
                    let plane = plane[word];
                    for lane in 0..GROUP {
                        distances[lane] += u64::from((differ[lane] & plane).count_ones()) << shift;
                    }
                }
            } else {
                for lane in 0..GROUP {
                    distances[lane] += u64::from(differ[lane].count_ones());
                }
            }
        }
        let least = distances.iter().fold(u64::MAX, |least, &distance| least.min(distance));
        if least < u64::from(limit) {
            append(&distances, group * GROUP, run, limit, hits);
        }
    }
}

/// Appends the hits of a group. Most groups have none, so this is kept out of the loop.
#[inline(never)]
fn append(distances: &[u64; GROUP], first: usize, run: Run<'_>, limit: u32, hits: &mut Vec<u64>) {
    for (number, &distance) in (first..run.count).zip(distances) {
        let masked = run.mask.is_some_and(|mask| mask[number / 64] >> (number % 64) & 1 == 0);
        if distance < u64::from(limit) && !masked {
            hits.push(hit(distance as u32, run.first + number as u32));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn every_kernel_weighs_what_a_plain_loop_weighs(
            bits in prop_oneof![1..=1024usize, Just(32), Just(64), Just(128)],
            count in 0..200usize,
            largest in prop_oneof![Just(1u32), Just(5), Just(4_000_000)],
            share in 0..100u64,
            seed: u64,
            known: bool,
            weighted: bool,
            masked: bool,
        ) {
            let mut state = seed | 1;
            let mut random = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state
            };
            let layout = Layout::new(bits);
            let width = layout.code_words();
            let last = if bits.is_multiple_of(64) { u64::MAX } else { (1 << (bits % 64)) - 1 };
            let mut code = || -> Vec<u64> {
                let word = |at| random() & if at == width - 1 { last } else { u64::MAX };
                (0..width).map(word).collect()
            };
            let codes: Vec<Vec<u64>> = (0..=count).map(|_| code()).collect();
            let counted: Vec<Vec<u64>> = (0..count).map(|_| code()).collect();
            let weights: Vec<u32> = (0..bits).map(|_| (random() % u64::from(largest)) as u32).collect();
            let mask: Vec<u64> = (0..count.div_ceil(64)).map(|_| random()).collect();
            let (mut words, mut known_words) = (vec![0; layout.words(count)], vec![0; layout.words(count)]);
            for at in 0..count {
                layout.put(&mut words, at, &codes[at]);
                layout.put(&mut known_words, at, &counted[at]);
            }
            let query = &codes[count];
            let weight = |bit: usize| if weighted { weights[bit] } else { 1 };
            let all: u64 = (0..bits).map(|bit| u64::from(weight(bit))).sum();
            let limit = (all * share / 100) as u32;
            let mut expected = Vec::new();
            for at in 0..count {
                let is_set = |words: &[u64], bit: usize| words[bit / 64] >> (bit % 64) & 1 == 1;
                let counts = |&bit: &usize| {
                    let differs = is_set(query, bit) != is_set(&codes[at], bit);
                    differs && (!known || is_set(&counted[at], bit))
                };
                let distance: u32 = (0..bits).filter(counts).map(weight).sum();
                if distance < limit && (!masked || is_set(&mask, at)) {
                    expected.push(hit(distance, 7 + at as u32));
                }
            }
            let weights = Weights::new(&weights);
            let comparison = Comparison {
                layout,
                query,
                run: Run { words: &words, count, first: 7, mask: masked.then_some(&mask[..]) },
                known: known.then_some(&known_words[..]),
                weights: weighted.then_some(&weights),
                limit,
            };
            for kernel in Kernel::available() {
                let mut hits = Vec::new();
                kernel.compare(comparison, &mut hits);
                prop_assert_eq!(&hits, &expected, "{:?}", kernel);
            }
            let full = (0..width).map(|at| if at == width - 1 { last } else { u64::MAX });
            prop_assert_eq!(weights.largest(), weights.of(full));
        }
    }
}
