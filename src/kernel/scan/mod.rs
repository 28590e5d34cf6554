//! Scan of many codes for those near a query.
//!
//! Codes are stored in groups of 64 bytes per word: the first words of eight codes, then their
//! second words, and so on. Codes of up to 32 bits are stored sixteen to a group. So one vector
//! instruction processes one word of all codes of a group, and no sums across a vector are needed.
//!
//! Most codes are far from the query. So the scan first checks only the smallest distance of 256
//! codes, and checks single distances only if the smallest is below the limit.
//!
//! # How is the scan fast, and exact?
//!
//! Codes are stored in groups: the first words of eight codes, then their second words (sixteen
//! codes of up to 32 bits), one cache line per word. One vector instruction processes one word of
//! all codes of a group, and nothing is summed across a vector. Of 256 codes only the smallest
//! distance is checked; single distances are checked only if the smallest is below the query's
//! limit. A hit is a number of 64 bits, distance above slot, so hits sort by distance, then slot.
//! There are kernels for AVX-512, AVX2 and NEON, and a portable one; `tests/on-arm` runs the tests
//! of kernels and index in an ARM emulator.

mod blocks;
mod layout;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
mod run;
#[cfg(target_arch = "x86_64")]
mod x86;

use serde::{Deserialize, Serialize};

pub(super) use self::layout::GROUP;
pub(crate) use self::layout::Layout;
pub(crate) use self::run::{Run, hit, parts};
#[cfg(target_arch = "x86_64")]
use super::instructions::Feature;

/// Instructions that searches use. The default is the fastest kernel that the machine has. Other
/// kernels are meant for tests and comparisons, and give the same results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kernel {
    /// 512 bits at a time, with an instruction that counts bits (VPOPCNTDQ).
    Avx512,
    /// 256 bits at a time.
    Avx2,
    /// 128 bits at a time, on ARM.
    Neon,
    /// Plain Rust, with the instructions that the compiler chooses.
    Portable,
}

impl Kernel {
    /// Returns the kernels that this machine can run, the fastest first.
    pub fn available() -> Vec<Kernel> {
        let mut found = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if Feature::Avx512CountBits.is_there() {
                found.push(Kernel::Avx512);
            }
            if Feature::Avx2.is_there() {
                found.push(Kernel::Avx2);
            }
        }
        #[cfg(target_arch = "aarch64")]
        found.push(Kernel::Neon);
        found.push(Kernel::Portable);
        found
    }
}

impl Kernel {
    /// Appends all codes nearer than `limit`, in order of their numbers.
    pub(crate) fn scan(
        self,
        layout: Layout,
        query: &[u64],
        run: Run<'_>,
        limit: u32,
        hits: &mut Vec<u64>,
    ) {
        assert_eq!(query.len(), layout.code_words());
        assert!(run.words.len() >= layout.words(run.count));
        assert!(run.mask.is_none_or(|mask| mask.len() * 64 >= run.count));
        // All distances are below this bound.
        let limit = limit.min(layout.bits() as u32 + 1);
        // The instructions are checked again, because a caller may name any kernel.
        match self {
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 if Feature::Avx512CountBits.is_there() => {
                // SAFETY: the machine has the instructions, and the lengths were checked above.
                unsafe { x86::scan_avx512(layout, query, run, limit, hits) }
            }
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 if Feature::Avx2.is_there() => {
                // SAFETY: as above.
                unsafe { x86::scan_avx2(layout, query, run, limit, hits) }
            }
            #[cfg(target_arch = "aarch64")]
            Kernel::Neon => {
                // SAFETY: every 64-bit ARM machine has the instructions; the lengths were checked
                // above.
                unsafe { neon::scan_neon(layout, query, run, limit, hits) }
            }
            _ => {
                // SAFETY: plain Rust needs no special instructions, and the lengths were checked
                // above.
                unsafe {
                    blocks::scan::<portable::Wide, portable::Narrow>(
                        layout, query, run, limit, hits,
                    )
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Codes, hamming};
    use proptest::prelude::*;

    /// Returns codes near one another, so that some distances are below any limit.
    fn codes(bits: usize, count: usize, seed: u64) -> Codes {
        let mut state = seed | 1;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let mut codes = Codes::new(bits).unwrap();
        let words = bits.div_ceil(64);
        let last = if bits.is_multiple_of(64) { u64::MAX } else { (1 << (bits % 64)) - 1 };
        for _ in 0..count {
            let mut code: Vec<u64> = (0..words).map(|_| random() & random() & random()).collect();
            code[words - 1] &= last;
            codes.push(&code).unwrap();
        }
        codes
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn every_kernel_finds_what_a_plain_loop_finds(
            bits in prop_oneof![1..=1024usize, Just(32), Just(64), Just(128), Just(256)],
            count in 0..700usize,
            limit in prop_oneof![8 => 0..80u32, 1 => Just(u32::MAX)],
            seed: u64,
            some: bool,
        ) {
            let codes = codes(bits, count + 1, seed);
            let query = codes.code(count);
            let layout = Layout::new(bits);
            let mut words = vec![0; layout.words(count)];
            (0..count).for_each(|at| layout.put(&mut words, at, codes.code(at)));
            let mut out = vec![0; layout.code_words()];
            for at in 0..count {
                layout.get(&words, at, &mut out);
                prop_assert_eq!(&out, codes.code(at));
            }
            let mut mask = vec![u64::MAX; count.div_ceil(64)];
            if some {
                let pick = |at: usize| seed.rotate_left(at as u32 % 61) ^ at as u64;
                mask = (0..mask.len()).map(|at| if at % 3 == 0 { 0 } else { pick(at) }).collect();
            }
            let mut expected = Vec::new();
            for at in 0..count {
                let distance = hamming(query, codes.code(at));
                if distance < limit && mask[at / 64] >> (at % 64) & 1 == 1 {
                    expected.push(hit(distance, 7 + at as u32));
                }
            }
            for kernel in Kernel::available() {
                let mut hits = Vec::new();
                let mask = some.then_some(&mask[..]);
                let run = Run { words: &words, count, first: 7, mask };
                kernel.scan(layout, query, run, limit, &mut hits);
                prop_assert_eq!(&hits, &expected, "{:?}", kernel);
            }
        }
    }
}
