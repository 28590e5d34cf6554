//! The scan: which of many codes are near a query.
//!
//! Codes stand in groups of 64 bytes per word: the first words of eight codes, then their second
//! words, and so on; codes of up to 32 bits stand sixteen to a group. So one vector instruction
//! works on one word of as many codes, and nothing has to be added up across a vector.
//!
//! Most codes are far. Hence the smallest distance of 256 codes is all that is looked at, and
//! single distances only where that is below the limit.

use serde::{Deserialize, Serialize};

/// The instructions that searches are done with. The fastest that the machine has is taken unless
/// another is asked for, which is for tests and comparisons: results are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kernel {
    /// 512 bits at a time, with an instruction that counts bits (VPOPCNTDQ).
    Avx512,
    /// 256 bits at a time.
    Avx2,
    /// Whatever the compiler makes of plain Rust; on ARM that is NEON.
    Portable,
}

impl Kernel {
    /// Those that this machine can run, the fastest first.
    pub fn available() -> Vec<Kernel> {
        let mut found = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vpopcntdq") {
                found.push(Kernel::Avx512);
            }
            if is_x86_feature_detected!("avx2") {
                found.push(Kernel::Avx2);
            }
        }
        found.push(Kernel::Portable);
        found
    }
}

/// How codes of a length stand in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    bits: usize,
}

/// Words to a group, per word of a code.
const GROUP: usize = 8;

impl Layout {
    pub(crate) fn new(bits: usize) -> Self {
        Layout { bits }
    }

    pub(crate) fn bits(self) -> usize {
        self.bits
    }

    fn is_narrow(self) -> bool {
        self.bits <= 32
    }

    /// How many words a code has when it stands alone.
    pub(crate) fn code_words(self) -> usize {
        self.bits.div_ceil(64)
    }

    /// How many words so many codes take, with what is left free in the last group.
    pub(crate) fn words(self, codes: usize) -> usize {
        // No division by what is not known when compiled: this is asked for every tile.
        let groups = if self.is_narrow() { codes.div_ceil(16) } else { codes.div_ceil(8) };
        groups * GROUP * self.code_words()
    }

    /// Where the word of a code stands, and by how many bits it is shifted.
    fn place(self, code: usize, word: usize) -> (usize, u32) {
        if self.is_narrow() {
            (code / 2, 32 * (code % 2) as u32)
        } else {
            let (group, lane) = (code / GROUP, code % GROUP);
            ((group * self.code_words() + word) * GROUP + lane, 0)
        }
    }

    /// Copies a code out.
    pub(crate) fn get(self, words: &[u64], code: usize, out: &mut [u64]) {
        let mask = if self.is_narrow() { u64::from(u32::MAX) } else { u64::MAX };
        for (word, out) in out.iter_mut().enumerate() {
            let (at, shift) = self.place(code, word);
            *out = words[at] >> shift & mask;
        }
    }

    /// Puts a code in, where zeros stand.
    pub(crate) fn put(self, words: &mut [u64], code: usize, value: &[u64]) {
        for (word, value) in value.iter().enumerate() {
            let (at, shift) = self.place(code, word);
            words[at] |= value << shift;
        }
    }
}

/// Codes in a row, as many as `count`, of which the first is number `first`.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) words: &'a [u64],
    pub(crate) count: usize,
    pub(crate) first: u32,
    /// A bit for each code, if not all of them are to be looked at.
    pub(crate) chosen: Option<&'a [u64]>,
}

/// A code that is near: its distance above its number, so that hits sort by both.
pub(crate) fn hit(distance: u32, number: u32) -> u64 {
    u64::from(distance) << 32 | u64::from(number)
}

/// The distance and the number of a hit.
pub(crate) fn parts(hit: u64) -> (u32, u32) {
    ((hit >> 32) as u32, hit as u32)
}

impl Kernel {
    /// Appends all codes nearer than `limit`, in order of their number.
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
        assert!(run.chosen.is_none_or(|chosen| chosen.len() * 64 >= run.count));
        match self {
            // SAFETY, here and below: the lengths were checked. That the machine has the
            // instructions is asked again, as a caller may name any kernel.
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512
                if is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512vpopcntdq") =>
            unsafe { x86::scan_avx512(layout, query, run, limit, hits) },
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 if is_x86_feature_detected!("avx2") => unsafe {
                x86::scan_avx2(layout, query, run, limit, hits);
            },
            _ => unsafe { scan::<Wide, Narrow>(layout, query, run, limit, hits) },
        }
    }
}

/// A group of codes at once.
trait Lanes {
    type Group: Copy;
    /// How many codes.
    const CODES: usize;
    /// The same number for every code.
    unsafe fn all(value: u64) -> Self::Group;
    unsafe fn load(from: *const u64) -> Self::Group;
    /// In how many bits two words differ.
    unsafe fn distance(left: Self::Group, right: Self::Group) -> Self::Group;
    unsafe fn add(left: Self::Group, right: Self::Group) -> Self::Group;
    unsafe fn min(left: Self::Group, right: Self::Group) -> Self::Group;
    /// A bit for each code that is below the limit.
    unsafe fn below(group: Self::Group, limit: Self::Group) -> u32;
    /// Writes the hits among them, which `near` has a bit for. There must be room for sixteen.
    unsafe fn append(distances: Self::Group, near: u32, first: u32, to: *mut u64);
}

#[inline(always)]
unsafe fn scan<W: Lanes, N: Lanes>(
    layout: Layout,
    query: &[u64],
    run: Run<'_>,
    limit: u32,
    hits: &mut Vec<u64>,
) {
    // SAFETY: as the caller's.
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

/// Codes whose smallest distance is looked at together.
const BLOCK: usize = 256;

/// Parts of a block whose smallest distances are known apart.
const PARTS: usize = 8;

/// The distances of a group of codes. `WORDS` is the number of words of a code, 0 if it is not known
/// to the compiler.
///
/// A function and not a closure, as are all that work on vectors: closures are not inlined into what
/// is compiled for more instructions.
#[inline(always)]
unsafe fn distances<L: Lanes, const WORDS: usize>(
    query: &[u64],
    run: &Run<'_>,
    group: usize,
) -> L::Group {
    let words = if WORDS == 0 { query.len() } else { WORDS };
    // SAFETY: `run.words` holds all groups that are asked for.
    unsafe {
        let from = run.words.as_ptr().add(group * GROUP * words);
        let mut sum = L::distance(L::load(from), L::all(query[0]));
        for (word, &own) in query[..words].iter().enumerate().skip(1) {
            let next = L::distance(L::load(from.add(word * GROUP)), L::all(own));
            sum = L::add(sum, next);
        }
        sum
    }
}

/// Appends the hits of a group. There must be room for sixteen.
#[inline(always)]
unsafe fn emit<L: Lanes, const WORDS: usize>(
    query: &[u64],
    run: &Run<'_>,
    group: usize,
    bound: L::Group,
    hits: &mut Vec<u64>,
) {
    // SAFETY: the caller's.
    unsafe {
        let found = distances::<L, WORDS>(query, run, group);
        let mut near = L::below(found, bound);
        let code = group * L::CODES;
        if let Some(chosen) = run.chosen {
            near &= (chosen[code / 64] >> (code % 64)) as u32;
        }
        let left = run.count - code;
        if left < L::CODES {
            near &= (1 << left) - 1;
        }
        // No question whether there is any: where hits are, a wrong guess costs more than writing.
        let end = hits.as_mut_ptr().add(hits.len());
        L::append(found, near, run.first + code as u32, end);
        hits.set_len(hits.len() + near.count_ones() as usize);
    }
}

/// Writes hits one by one.
#[inline(always)]
unsafe fn append(distances: &[u32; 16], mut near: u32, first: u32, mut to: *mut u64) {
    while near != 0 {
        let lane = near.trailing_zeros();
        // SAFETY: the caller's, of [`Lanes::append`].
        unsafe {
            to.write(hit(distances[lane as usize], first + lane));
            to = to.add(1);
        }
        near &= near - 1;
    }
}

/// The smallest distances of a part of a block.
#[inline(always)]
unsafe fn least<L: Lanes, const WORDS: usize>(
    query: &[u64],
    run: &Run<'_>,
    start: usize,
    bound: L::Group,
) -> L::Group {
    let mut least = bound;
    for group in start..start + BLOCK / L::CODES / PARTS {
        // SAFETY: the caller's.
        least = unsafe { L::min(least, distances::<L, WORDS>(query, run, group)) };
    }
    least
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
    // SAFETY: the caller's.
    unsafe {
        let bound = L::all(u64::from(limit));
        for block in 0..blocks {
            if let Some(chosen) = run.chosen
                && chosen[block * BLOCK / 64..][..BLOCK / 64].iter().all(|&word| word == 0)
            {
                continue;
            }
            let start = block * groups_per_block;
            // Eight variables: an array of vectors would have to go through memory.
            let a = least::<L, WORDS>(query, &run, start, bound);
            let b = least::<L, WORDS>(query, &run, start + part, bound);
            let c = least::<L, WORDS>(query, &run, start + 2 * part, bound);
            let d = least::<L, WORDS>(query, &run, start + 3 * part, bound);
            let e = least::<L, WORDS>(query, &run, start + 4 * part, bound);
            let f = least::<L, WORDS>(query, &run, start + 5 * part, bound);
            let g = least::<L, WORDS>(query, &run, start + 6 * part, bound);
            let h = least::<L, WORDS>(query, &run, start + 7 * part, bound);
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
        hits.reserve(BLOCK);
        for group in blocks * groups_per_block..run.count.div_ceil(L::CODES) {
            emit::<L, WORDS>(query, &run, group, bound, hits);
        }
    }
}

macro_rules! portable {
    ($name:ident, $number:ty, $count:literal) => {
        struct $name;

        impl Lanes for $name {
            type Group = [$number; $count];
            const CODES: usize = $count;
            #[inline(always)]
            unsafe fn all(value: u64) -> Self::Group {
                [value as $number; $count]
            }
            #[inline(always)]
            unsafe fn load(from: *const u64) -> Self::Group {
                // SAFETY: the caller's; any bits are numbers.
                unsafe { from.cast::<Self::Group>().read() }
            }
            #[inline(always)]
            unsafe fn distance(left: Self::Group, right: Self::Group) -> Self::Group {
                std::array::from_fn(|at| <$number>::from((left[at] ^ right[at]).count_ones()))
            }
            #[inline(always)]
            unsafe fn add(left: Self::Group, right: Self::Group) -> Self::Group {
                std::array::from_fn(|at| left[at] + right[at])
            }
            #[inline(always)]
            unsafe fn min(left: Self::Group, right: Self::Group) -> Self::Group {
                std::array::from_fn(|at| left[at].min(right[at]))
            }
            #[inline(always)]
            unsafe fn below(group: Self::Group, limit: Self::Group) -> u32 {
                let bits = group.iter().zip(&limit).enumerate();
                bits.map(|(at, (value, limit))| u32::from(value < limit) << at).sum()
            }
            #[inline(always)]
            unsafe fn append(distances: Self::Group, near: u32, first: u32, to: *mut u64) {
                let mut out = [0; 16];
                out.iter_mut().zip(distances).for_each(|(out, value)| *out = value as u32);
                // SAFETY: the caller's.
                unsafe { append(&out, near, first, to) }
            }
        }
    };
}

portable!(Wide, u64, 8);
portable!(Narrow, u32, 16);

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Lanes, Layout, Run, append, scan};

    #[target_feature(enable = "avx512f,avx512vpopcntdq")]
    pub(super) unsafe fn scan_avx512(
        layout: Layout,
        query: &[u64],
        run: Run<'_>,
        limit: u32,
        hits: &mut Vec<u64>,
    ) {
        // SAFETY: the caller's.
        unsafe { scan::<Avx512, Avx512Narrow>(layout, query, run, limit, hits) }
    }

    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn scan_avx2(
        layout: Layout,
        query: &[u64],
        run: Run<'_>,
        limit: u32,
        hits: &mut Vec<u64>,
    ) {
        // SAFETY: the caller's.
        unsafe { scan::<Avx2, Avx2Narrow>(layout, query, run, limit, hits) }
    }

    struct Avx512;
    struct Avx512Narrow;

    /// Writes the hits among eight codes, together: what lies behind the last is written over later.
    #[inline(always)]
    unsafe fn append_words(distances: __m512i, near: u8, first: u32, to: *mut u64) {
        unsafe {
            let lanes = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
            let numbers = _mm512_add_epi64(lanes, _mm512_set1_epi64(i64::from(first)));
            let hits = _mm512_or_si512(_mm512_slli_epi64::<32>(distances), numbers);
            _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi64(near, hits));
        }
    }

    // SAFETY, for all of the below: called from the functions above alone, which have the features.
    macro_rules! avx512 {
        ($name:ident, $codes:literal, $all:ident as $number:ty, $count:ident, $add:ident, $below:ident) => {
            impl Lanes for $name {
                type Group = __m512i;
                const CODES: usize = $codes;
                #[inline(always)]
                unsafe fn all(value: u64) -> __m512i {
                    unsafe { $all(value as $number) }
                }
                #[inline(always)]
                unsafe fn load(from: *const u64) -> __m512i {
                    unsafe { _mm512_loadu_si512(from.cast()) }
                }
                #[inline(always)]
                unsafe fn distance(left: __m512i, right: __m512i) -> __m512i {
                    unsafe { $count(_mm512_xor_si512(left, right)) }
                }
                #[inline(always)]
                unsafe fn add(left: __m512i, right: __m512i) -> __m512i {
                    unsafe { $add(left, right) }
                }
                #[inline(always)]
                unsafe fn min(left: __m512i, right: __m512i) -> __m512i {
                    // Of halves of words, too: the upper ones are zero, and this is faster.
                    unsafe { _mm512_min_epu32(left, right) }
                }
                #[inline(always)]
                unsafe fn below(group: __m512i, limit: __m512i) -> u32 {
                    unsafe { u32::from($below(group, limit)) }
                }
                #[inline(always)]
                unsafe fn append(distances: __m512i, near: u32, first: u32, to: *mut u64) {
                    unsafe {
                        if $codes == 8 {
                            append_words(distances, near as u8, first, to);
                            return;
                        }
                        let low = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(distances));
                        let high = _mm512_extracti64x4_epi64::<1>(distances);
                        append_words(low, near as u8, first, to);
                        let to = to.add((near & 255).count_ones() as usize);
                        let (high, near) = (_mm512_cvtepu32_epi64(high), (near >> 8) as u8);
                        append_words(high, near, first + 8, to);
                    }
                }
            }
        };
    }

    avx512!(
        Avx512,
        8,
        _mm512_set1_epi64 as i64,
        _mm512_popcnt_epi64,
        _mm512_add_epi64,
        _mm512_cmplt_epu64_mask
    );
    avx512!(
        Avx512Narrow,
        16,
        _mm512_set1_epi32 as i32,
        _mm512_popcnt_epi32,
        _mm512_add_epi32,
        _mm512_cmplt_epu32_mask
    );

    struct Avx2;
    struct Avx2Narrow;

    /// How many bits of each byte are set: a table of sixteen is looked up for either half.
    #[inline(always)]
    unsafe fn count_bytes(value: __m256i) -> __m256i {
        unsafe {
            let table = _mm256_setr_epi8(
                0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, //
                0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,
            );
            let half = _mm256_set1_epi8(15);
            let low = _mm256_and_si256(value, half);
            let high = _mm256_and_si256(_mm256_srli_epi16(value, 4), half);
            _mm256_add_epi8(_mm256_shuffle_epi8(table, low), _mm256_shuffle_epi8(table, high))
        }
    }

    #[inline(always)]
    unsafe fn count_words(value: __m256i) -> __m256i {
        unsafe { _mm256_sad_epu8(count_bytes(value), _mm256_setzero_si256()) }
    }

    #[inline(always)]
    unsafe fn count_halves(value: __m256i) -> __m256i {
        unsafe {
            let pairs = _mm256_maddubs_epi16(count_bytes(value), _mm256_set1_epi8(1));
            _mm256_madd_epi16(pairs, _mm256_set1_epi16(1))
        }
    }

    #[inline(always)]
    unsafe fn below_words(value: __m256i, limit: __m256i) -> u32 {
        unsafe {
            let below = _mm256_cmpgt_epi64(limit, value);
            _mm256_movemask_pd(_mm256_castsi256_pd(below)) as u32
        }
    }

    #[inline(always)]
    unsafe fn below_halves(value: __m256i, limit: __m256i) -> u32 {
        unsafe {
            let below = _mm256_cmpgt_epi32(limit, value);
            _mm256_movemask_ps(_mm256_castsi256_ps(below)) as u32
        }
    }

    macro_rules! avx2 {
        ($name:ident, $codes:literal, $all:ident as $number:ty, $count:ident, $add:ident, $below:ident) => {
            impl Lanes for $name {
                type Group = [__m256i; 2];
                const CODES: usize = $codes;
                #[inline(always)]
                unsafe fn all(value: u64) -> Self::Group {
                    unsafe { [$all(value as $number); 2] }
                }
                #[inline(always)]
                unsafe fn load(from: *const u64) -> Self::Group {
                    unsafe {
                        [_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(4).cast())]
                    }
                }
                #[inline(always)]
                unsafe fn distance(left: Self::Group, right: Self::Group) -> Self::Group {
                    unsafe {
                        [
                            $count(_mm256_xor_si256(left[0], right[0])),
                            $count(_mm256_xor_si256(left[1], right[1])),
                        ]
                    }
                }
                #[inline(always)]
                unsafe fn add(left: Self::Group, right: Self::Group) -> Self::Group {
                    unsafe { [$add(left[0], right[0]), $add(left[1], right[1])] }
                }
                #[inline(always)]
                unsafe fn min(left: Self::Group, right: Self::Group) -> Self::Group {
                    unsafe {
                        [_mm256_min_epu32(left[0], right[0]), _mm256_min_epu32(left[1], right[1])]
                    }
                }
                #[inline(always)]
                unsafe fn below(group: Self::Group, limit: Self::Group) -> u32 {
                    unsafe {
                        $below(group[0], limit[0]) | $below(group[1], limit[1]) << ($codes / 2)
                    }
                }
                #[inline(always)]
                unsafe fn append(distances: Self::Group, near: u32, first: u32, to: *mut u64) {
                    let mut out = [0; 16];
                    unsafe {
                        let room = out.as_mut_ptr().cast::<__m256i>();
                        _mm256_storeu_si256(room, distances[0]);
                        _mm256_storeu_si256(room.add(1), distances[1]);
                        if $codes == 8 {
                            for at in 1..8 {
                                out[at] = out[2 * at];
                            }
                        }
                        append(&out, near, first, to);
                    }
                }
            }
        };
    }

    avx2!(Avx2, 8, _mm256_set1_epi64x as i64, count_words, _mm256_add_epi64, below_words);
    avx2!(Avx2Narrow, 16, _mm256_set1_epi32 as i32, count_halves, _mm256_add_epi32, below_halves);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Codes, hamming};
    use proptest::prelude::*;

    /// Codes near one another, so that some are below any limit.
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
            limit in 0..80u32,
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
            let mut chosen = vec![u64::MAX; count.div_ceil(64)];
            if some {
                let pick = |at: usize| seed.rotate_left(at as u32 % 61) ^ at as u64;
                chosen = (0..chosen.len()).map(|at| if at % 3 == 0 { 0 } else { pick(at) }).collect();
            }
            let mut expected = Vec::new();
            for at in 0..count {
                let distance = hamming(query, codes.code(at));
                if distance < limit && chosen[at / 64] >> (at % 64) & 1 == 1 {
                    expected.push(hit(distance, 7 + at as u32));
                }
            }
            for kernel in Kernel::available() {
                let mut hits = Vec::new();
                let chosen = some.then_some(&chosen[..]);
                let run = Run { words: &words, count, first: 7, chosen };
                kernel.scan(layout, query, run, limit, &mut hits);
                prop_assert_eq!(&hits, &expected, "{:?}", kernel);
            }
        }
    }
}
