//! Groups of codes, with the vector instructions of x86.

use std::arch::x86_64::*;

use super::blocks::{Lanes, append, scan};
use super::layout::Layout;
use super::run::Run;

#[target_feature(enable = "avx512f,avx512vpopcntdq")]
pub(super) unsafe fn scan_avx512(
    layout: Layout,
    query: &[u64],
    run: Run<'_>,
    limit: u32,
    hits: &mut Vec<u64>,
) {
    // SAFETY: guaranteed by the caller.
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
    // SAFETY: guaranteed by the caller.
    unsafe { scan::<Avx2, Avx2Narrow>(layout, query, run, limit, hits) }
}

struct Avx512;
struct Avx512Narrow;

/// Writes the hits among eight codes with one store. The words after the last hit are overwritten
/// later.
#[inline(always)]
unsafe fn append_words(distances: __m512i, near: u8, first: u32, to: *mut u64) {
    // SAFETY: the caller's machine has the instructions (see `Lanes`).
    unsafe {
        let lanes = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
        let numbers = _mm512_add_epi64(lanes, _mm512_set1_epi64(i64::from(first)));
        let hits = _mm512_or_si512(_mm512_slli_epi64::<32>(distances), numbers);
        _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi64(near, hits));
    }
}

macro_rules! avx512 {
    ($name:ident, $codes:literal, $all:ident as $number:ty, $count:ident, $add:ident, $below:ident) => {
        impl Lanes for $name {
            type Words = __m512i;
            type Group = __m512i;
            const CODES: usize = $codes;
            #[inline(always)]
            unsafe fn word(value: u64) -> __m512i {
                // SAFETY: the caller's machine has the instructions (see `Lanes`).
                unsafe { $all(value as $number) }
            }
            #[inline(always)]
            unsafe fn all(value: u32) -> __m512i {
                // SAFETY: the caller's machine has the instructions (see `Lanes`).
                unsafe { $all(value as $number) }
            }
            #[inline(always)]
            unsafe fn load(from: *const u64) -> __m512i {
                // SAFETY: the caller's machine has the instructions (see `Lanes`).
                unsafe { _mm512_loadu_si512(from.cast()) }
            }
            #[inline(always)]
            unsafe fn distance(left: __m512i, right: __m512i) -> __m512i {
                // SAFETY: the caller's machine has the instructions (see `Lanes`).
                unsafe { $count(_mm512_xor_si512(left, right)) }
            }
            #[inline(always)]
            unsafe fn add(left: __m512i, right: __m512i) -> __m512i {
                // SAFETY: the caller's machine has the instructions (see `Lanes`).
                unsafe { $add(left, right) }
            }
            #[inline(always)]
            unsafe fn min(left: __m512i, right: __m512i) -> __m512i {
                // Words are also compared as 32-bit halves, which is faster: their upper halves are
                // zero.
                // SAFETY: the caller's machine has the instructions (see `Lanes`).
                unsafe { _mm512_min_epu32(left, right) }
            }
            #[inline(always)]
            unsafe fn below(group: __m512i, limit: __m512i) -> u32 {
                // SAFETY: the caller's machine has the instructions (see `Lanes`).
                unsafe { u32::from($below(group, limit)) }
            }
            #[inline(always)]
            unsafe fn append(distances: __m512i, near: u32, first: u32, to: *mut u64) {
                // SAFETY: the caller's machine has the instructions (see `Lanes`).
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

/// Counts the set bits of each byte: both halves are looked up in a table of sixteen entries.
#[inline(always)]
unsafe fn count_bytes(value: __m256i) -> __m256i {
    // SAFETY: the caller's machine has the instructions (see `Lanes`).
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
    // SAFETY: the caller's machine has the instructions (see `Lanes`).
    unsafe { _mm256_sad_epu8(count_bytes(value), _mm256_setzero_si256()) }
}

#[inline(always)]
unsafe fn count_halves(value: __m256i) -> __m256i {
    // SAFETY: the caller's machine has the instructions (see `Lanes`).
    unsafe {
        let pairs = _mm256_maddubs_epi16(count_bytes(value), _mm256_set1_epi8(1));
        _mm256_madd_epi16(pairs, _mm256_set1_epi16(1))
    }
}

#[inline(always)]
unsafe fn below_words(value: __m256i, limit: __m256i) -> u32 {
    // SAFETY: the caller's machine has the instructions (see `Lanes`).
    unsafe {
        let below = _mm256_cmpgt_epi64(limit, value);
        _mm256_movemask_pd(_mm256_castsi256_pd(below)) as u32
    }
}

#[inline(always)]
unsafe fn below_halves(value: __m256i, limit: __m256i) -> u32 {
    // SAFETY: the caller's machine has the instructions (see `Lanes`).
    unsafe {
        let below = _mm256_cmpgt_epi32(limit, value);
        _mm256_movemask_ps(_mm256_castsi256_ps(below)) as u32
    }
}

macro_rules! avx2 {
    ($name:ident, $codes:literal, $all:ident as $number:ty, $count:ident, $add:ident, $below:ident) => {
        impl Lanes for $name {
            type Words = [__m256i; 2];
            type Group = [__m256i; 2];
            const CODES: usize = $codes;
            #[inline(always)]
            unsafe fn word(value: u64) -> Self::Words {
                // SAFETY: the caller's machine has the instructions (see `Lanes`).
                unsafe { [$all(value as $number); 2] }
            }
            #[inline(always)]
            unsafe fn all(value: u32) -> Self::Group {
                // SAFETY: the caller's machine has the instructions (see `Lanes`).
                unsafe { [$all(value as $number); 2] }
            }
            #[inline(always)]
            unsafe fn load(from: *const u64) -> Self::Group {
                // SAFETY: the caller's machine has the instructions (see `Lanes`).
                unsafe { [_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(4).cast())] }
            }
            #[inline(always)]
            unsafe fn distance(left: Self::Group, right: Self::Group) -> Self::Group {
                // SAFETY: the caller's machine has the instructions (see `Lanes`).
                unsafe {
                    [
                        $count(_mm256_xor_si256(left[0], right[0])),
                        $count(_mm256_xor_si256(left[1], right[1])),
                    ]
                }
            }
            #[inline(always)]
            unsafe fn add(left: Self::Group, right: Self::Group) -> Self::Group {
                // SAFETY: the caller's machine has the instructions (see `Lanes`).
                unsafe { [$add(left[0], right[0]), $add(left[1], right[1])] }
            }
            #[inline(always)]
            unsafe fn min(left: Self::Group, right: Self::Group) -> Self::Group {
                // SAFETY: the caller's machine has the instructions (see `Lanes`).
                unsafe {
                    [_mm256_min_epu32(left[0], right[0]), _mm256_min_epu32(left[1], right[1])]
                }
            }
            #[inline(always)]
            unsafe fn below(group: Self::Group, limit: Self::Group) -> u32 {
                // SAFETY: the caller's machine has the instructions (see `Lanes`).
                unsafe { $below(group[0], limit[0]) | $below(group[1], limit[1]) << ($codes / 2) }
            }
            #[inline(always)]
            unsafe fn append(distances: Self::Group, near: u32, first: u32, to: *mut u64) {
                let mut out = [0; 16];
                // SAFETY: the caller's machine has the instructions (see `Lanes`).
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
