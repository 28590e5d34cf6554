//! Products of a query and rows, with x86-64 instructions.

use std::arch::x86_64::*;

use super::super::instructions::Feature;
use super::rows::{Given, LANES, VectorFormat};

/// Number of rows to prefetch ahead, because rows of a large column are rarely in a cache. These
/// rows have more lines than the innermost cache can wait for at a time, so they are prefetched
/// into the second-level cache.
const AHEAD: usize = 16;

/// Prefetches a row that is needed soon.
#[inline(always)]
fn prefetch(row: &[u8]) {
    for line in row.chunks(64) {
        // SAFETY: the hint reads nothing, and every x86-64 processor supports it.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(line.as_ptr().cast()) };
    }
    // A row that begins in the middle of a cache line may end in one more line.
    if let Some(end) = row.last() {
        // SAFETY: as above.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(std::ptr::from_ref(end).cast()) };
    }
}

/// Pads the bytes of a row's incomplete last step with zeros.
#[inline(always)]
fn rest<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut rest = [0; N];
    rest[..bytes.len()].copy_from_slice(bytes);
    rest
}

pub(super) fn products_avx512(given: &Given<'_>, places: &[u32], out: &mut [f32]) {
    if Feature::Avx512.is_there() {
        // SAFETY: the processor has the instructions.
        unsafe { avx512(given, places, out) }
    } else {
        given.products(places, out);
    }
}

#[target_feature(enable = "avx512f")]
fn avx512(given: &Given<'_>, places: &[u32], out: &mut [f32]) {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn halves(bytes: &[u8; 2 * LANES]) -> __m512 {
        // SAFETY: the array has all bytes that are read.
        _mm512_cvtph_ps(unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) })
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn whole(bytes: &[u8; LANES]) -> __m512 {
        // SAFETY: the array has all bytes that are read.
        let bytes = unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) };
        _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes))
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn add(sum: __m512, query: &[f32; LANES], numbers: __m512) -> __m512 {
        // SAFETY: the array has all numbers that are read.
        let query = unsafe { _mm512_loadu_ps(query.as_ptr()) };
        _mm512_add_ps(sum, _mm512_mul_ps(query, numbers))
    }
    let (query, numbers) = (given.query, given.rows.numbers());
    for (at, (&place, out)) in places.iter().zip(out).enumerate() {
        if let Some(&next) = places.get(at + AHEAD) {
            prefetch(given.row(next));
        }
        let row = given.row(place);
        let mut sum = _mm512_setzero_ps();
        match given.rows.format {
            VectorFormat::F16 => {
                let (steps, tail) = row[..numbers].as_chunks::<{ 2 * LANES }>();
                for (query, step) in query.iter().zip(steps) {
                    sum = add(sum, query, halves(step));
                }
                if let Some(query) = query.get(steps.len()) {
                    sum = add(sum, query, halves(&rest(tail)));
                }
            }
            VectorFormat::I8 => {
                let (steps, tail) = row[..numbers].as_chunks::<LANES>();
                for (query, step) in query.iter().zip(steps) {
                    sum = add(sum, query, whole(step));
                }
                if let Some(query) = query.get(steps.len()) {
                    sum = add(sum, query, whole(&rest(tail)));
                }
            }
        }
        let upper = _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(sum)));
        *out =
            by_halves(_mm256_add_ps(_mm512_castps512_ps256(sum), upper)) * given.rows.factor(row);
    }
}

/// Returns the sum of eight numbers: adds the upper half to the lower half, repeatedly.
#[inline]
#[target_feature(enable = "avx")]
fn by_halves(sums: __m256) -> f32 {
    let four = _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps::<1>(sums));
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
}

pub(super) fn products_avx2(given: &Given<'_>, places: &[u32], out: &mut [f32]) {
    if Feature::Avx2Halves.is_there() {
        // SAFETY: the processor has the instructions.
        unsafe { avx2(given, places, out) }
    } else {
        given.products(places, out);
    }
}

#[target_feature(enable = "avx2,f16c")]
fn avx2(given: &Given<'_>, places: &[u32], out: &mut [f32]) {
    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    fn halves(bytes: &[u8; 2 * LANES]) -> [__m256; 2] {
        // SAFETY: the array has twice 16 bytes.
        let half = |at: usize| unsafe { _mm_loadu_si128(bytes.as_ptr().add(16 * at).cast()) };
        [_mm256_cvtph_ps(half(0)), _mm256_cvtph_ps(half(1))]
    }
    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    fn whole(bytes: &[u8; LANES]) -> [__m256; 2] {
        // SAFETY: the array has twice 8 bytes.
        let half = |at: usize| unsafe { _mm_loadl_epi64(bytes.as_ptr().add(8 * at).cast()) };
        [0, 1].map(|at| _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(half(at))))
    }
    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    fn add(sums: &mut [__m256; 2], query: &[f32; LANES], numbers: [__m256; 2]) {
        for at in 0..2 {
            // SAFETY: the array has twice 8 numbers.
            let query = unsafe { _mm256_loadu_ps(query.as_ptr().add(8 * at)) };
            sums[at] = _mm256_add_ps(sums[at], _mm256_mul_ps(query, numbers[at]));
        }
    }
    let (query, numbers) = (given.query, given.rows.numbers());
    for (at, (&place, out)) in places.iter().zip(out).enumerate() {
        if let Some(&next) = places.get(at + AHEAD) {
            prefetch(given.row(next));
        }
        let row = given.row(place);
        let mut sums = [_mm256_setzero_ps(); 2];
        match given.rows.format {
            VectorFormat::F16 => {
                let (steps, tail) = row[..numbers].as_chunks::<{ 2 * LANES }>();
                for (query, step) in query.iter().zip(steps) {
                    add(&mut sums, query, halves(step));
                }
                if let Some(query) = query.get(steps.len()) {
                    add(&mut sums, query, halves(&rest(tail)));
                }
            }
            VectorFormat::I8 => {
                let (steps, tail) = row[..numbers].as_chunks::<LANES>();
                for (query, step) in query.iter().zip(steps) {
                    add(&mut sums, query, whole(step));
                }
                if let Some(query) = query.get(steps.len()) {
                    add(&mut sums, query, whole(&rest(tail)));
                }
            }
        }
        *out = by_halves(_mm256_add_ps(sums[0], sums[1])) * given.rows.factor(row);
    }
}
