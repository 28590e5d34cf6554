//! Distances with weighted bits, and bounds of the distance to codes of which only some bits are
//! known.

mod groups;
mod weights;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use self::groups::{Comparison, Nearly};
use self::groups::{Plain, compare};
pub(crate) use self::weights::Weights;
#[cfg(target_arch = "x86_64")]
use super::instructions::Feature;
use super::scan::Kernel;

impl Kernel {
    /// Appends all codes whose distance is below the limit, in order of their numbers.
    pub(crate) fn compare(self, comparison: Comparison<'_>, hits: &mut Vec<u64>) {
        let Comparison { layout, query, run, known, nearly, .. } = comparison;
        assert_eq!(query.len(), layout.code_words());
        assert!(run.words.len() >= layout.words(run.count));
        let whole = |words: &[u64]| words.len() >= layout.words(run.count);
        assert!(known.is_none_or(whole));
        assert!(nearly.is_none_or(|nearly| whole(nearly.centres) && whole(nearly.bits)));
        // The instructions are checked again, because a caller may name any kernel.
        match self {
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 if Feature::Avx512AndCountBits.is_there() => {
                // SAFETY: the machine has the instructions.
                unsafe { x86::compare_avx512(comparison, hits) }
            }
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 if Feature::Avx2AndCountBits.is_there() => {
                // SAFETY: the machine has the instructions.
                unsafe { x86::compare_avx2(comparison, hits) }
            }
            // SAFETY: plain Rust needs no special instructions.
            _ => unsafe { compare::<Plain>(comparison, hits) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::scan::{Layout, Run, hit, parts};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn every_kernel_weighs_what_a_plain_loop_weighs(
            bits in prop_oneof![1..=1024usize, Just(32), Just(64), Just(128)],
            count in 0..200usize,
            largest in prop_oneof![Just(1u32), Just(2), Just(3), Just(4), Just(9), Just(300), Just(4_000_000)],
            share in 0..100u64,
            seed: u64,
            known: bool,
            weighted: bool,
            masked: bool,
            nearly: bool,
            exceptions in 0..20u32,
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
            let [centres, nearly_bits]: [Vec<Vec<u64>>; 2] = [(0..count).map(|_| code()).collect(), (0..count).map(|_| code()).collect()];
            let weights: Vec<u32> = (0..bits).map(|_| (random() % u64::from(largest)) as u32).collect();
            let mask: Vec<u64> = (0..count.div_ceil(64)).map(|_| random()).collect();
            let [mut words, mut known_words, mut centre_words, mut nearly_words] =
                [const { Vec::new() }; 4].map(|_: Vec<u64>| vec![0; layout.words(count)]);
            for at in 0..count {
                layout.put(&mut words, at, &codes[at]);
                layout.put(&mut known_words, at, &counted[at]);
                layout.put(&mut centre_words, at, &centres[at]);
                layout.put(&mut nearly_words, at, &nearly_bits[at]);
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
                let mut distance: u32 = (0..bits).filter(counts).map(weight).sum();
                if known && nearly {
                    let differs = |bit: &usize| {
                        is_set(&nearly_bits[at], *bit)
                            && is_set(query, *bit) != is_set(&centres[at], *bit)
                    };
                    let other: u32 = (0..bits).filter(differs).map(weight).sum();
                    distance = distance.max(other.saturating_sub(exceptions));
                }
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
                nearly: nearly.then_some(Nearly {
                    centres: &centre_words,
                    bits: &nearly_words,
                    exceptions,
                }),
                weights: weighted.then_some(&weights),
                limit,
            };
            for kernel in Kernel::available() {
                let mut hits = Vec::new();
                kernel.compare(comparison, &mut hits);
                if known && nearly && weighted {
                    // The second bound may be computed from levels alone, and is then lower.
                    let numbers = |hits: &[u64]| hits.iter().map(|&hit| parts(hit)).collect::<Vec<_>>();
                    let (found, expected) = (numbers(&hits), numbers(&expected));
                    let has = |(distance, number): &(u32, u32)| {
                        found.iter().any(|found| found.1 == *number && found.0 <= *distance)
                    };
                    prop_assert!(expected.iter().all(has), "{:?}", kernel);
                } else {
                    prop_assert_eq!(&hits, &expected, "{:?}", kernel);
                }
            }
            let full = (0..width).map(|at| if at == width - 1 { last } else { u64::MAX });
            prop_assert_eq!(weights.largest(), weights.of(full));
        }
    }
}
