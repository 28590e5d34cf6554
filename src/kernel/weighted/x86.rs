//! Groups of codes, with the vector instructions of x86.

use std::arch::x86_64::*;

use super::groups::{Comparison, Lanes, Plain, compare};
use crate::kernel::scan::GROUP;

#[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
pub(super) fn compare_avx512(comparison: Comparison<'_>, hits: &mut Vec<u64>) {
    // SAFETY: this function is compiled for the instructions, and called only on machines that have
    // them.
    unsafe { compare::<Avx512>(comparison, hits) }
}

#[target_feature(enable = "avx2,popcnt")]
pub(super) fn compare_avx2(comparison: Comparison<'_>, hits: &mut Vec<u64>) {
    // SAFETY: plain Rust needs no special instructions.
    unsafe { compare::<Plain>(comparison, hits) }
}

struct Avx512;

impl Lanes for Avx512 {
    type Group = __m512i;
    #[inline(always)]
    unsafe fn zero() -> __m512i {
        // SAFETY: the caller's machine has the instructions (see `Lanes`).
        unsafe { _mm512_setzero_si512() }
    }
    #[inline(always)]
    unsafe fn wide(from: &[u64; GROUP]) -> __m512i {
        // SAFETY: as above; eight words.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }
    #[inline(always)]
    unsafe fn narrow(from: &[u64; GROUP / 2]) -> __m512i {
        // SAFETY: as above; eight half words.
        unsafe { _mm512_cvtepu32_epi64(_mm256_loadu_si256(from.as_ptr().cast())) }
    }
    #[inline(always)]
    unsafe fn differ(words: __m512i, own: u64) -> __m512i {
        // SAFETY: the caller's machine has the instructions (see `Lanes`).
        unsafe { _mm512_xor_si512(words, _mm512_set1_epi64(own as i64)) }
    }
    #[inline(always)]
    unsafe fn and(left: __m512i, right: __m512i) -> __m512i {
        // SAFETY: the caller's machine has the instructions (see `Lanes`).
        unsafe { _mm512_and_si512(left, right) }
    }
    #[inline(always)]
    unsafe fn add_bits(sums: __m512i, words: __m512i) -> __m512i {
        // SAFETY: the caller's machine has the instructions (see `Lanes`).
        unsafe { _mm512_add_epi64(sums, _mm512_popcnt_epi64(words)) }
    }
    #[inline(always)]
    unsafe fn add_level(sums: __m512i, words: __m512i, mask: u64, step: u32) -> __m512i {
        // SAFETY: the caller's machine has the instructions (see `Lanes`).
        unsafe {
            let words = _mm512_and_si512(words, _mm512_set1_epi64(mask as i64));
            // Both numbers are below 2^32.
            let step = _mm512_set1_epi64(i64::from(step));
            _mm512_add_epi64(sums, _mm512_mul_epu32(_mm512_popcnt_epi64(words), step))
        }
    }
    #[inline(always)]
    unsafe fn below(sums: __m512i, limit: u32) -> u8 {
        // SAFETY: the caller's machine has the instructions (see `Lanes`).
        unsafe { _mm512_cmplt_epu64_mask(sums, _mm512_set1_epi64(i64::from(limit))) }
    }
    #[inline(always)]
    unsafe fn numbers(sums: __m512i) -> [u64; GROUP] {
        let mut numbers = [0; GROUP];
        // SAFETY: the caller's machine has the instructions (see `Lanes`); eight words.
        unsafe { _mm512_storeu_si512(numbers.as_mut_ptr().cast(), sums) };
        numbers
    }
}
