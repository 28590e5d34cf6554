//! Groups of codes, with the vector instructions of ARM that all 64-bit ARM machines have.

use std::arch::aarch64::*;

use super::blocks::{Lanes, append, scan};
use super::layout::Layout;
use super::run::Run;

pub(super) unsafe fn scan_neon(
    layout: Layout,
    query: &[u64],
    run: Run<'_>,
    limit: u32,
    hits: &mut Vec<u64>,
) {
    // SAFETY: guaranteed by the caller.
    unsafe { scan::<Wide, Narrow>(layout, query, run, limit, hits) }
}

struct Wide;
struct Narrow;

#[inline(always)]
unsafe fn load(from: *const u64) -> [uint8x16_t; 4] {
    let from = from.cast::<u8>();
    // SAFETY: the caller guarantees 64 readable bytes.
    unsafe {
        [vld1q_u8(from), vld1q_u8(from.add(16)), vld1q_u8(from.add(32)), vld1q_u8(from.add(48))]
    }
}

/// Returns the number of differing bits in each four bytes of a group. Two rounds of pairwise sums
/// process all bytes at once.
#[inline(always)]
unsafe fn differing(left: [uint8x16_t; 4], right: [uint8x16_t; 4]) -> uint8x16_t {
    // SAFETY: all 64-bit ARM machines have the instructions.
    unsafe {
        let a = vcntq_u8(veorq_u8(left[0], right[0]));
        let b = vcntq_u8(veorq_u8(left[1], right[1]));
        let c = vcntq_u8(veorq_u8(left[2], right[2]));
        let d = vcntq_u8(veorq_u8(left[3], right[3]));
        vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d))
    }
}

// SAFETY, for all functions below: as above, and as guaranteed by the caller.
impl Lanes for Wide {
    type Words = [uint8x16_t; 4];
    type Group = uint16x8_t;
    const CODES: usize = 8;
    #[inline(always)]
    unsafe fn word(value: u64) -> Self::Words {
        // SAFETY: the caller's machine has the instructions (see `Lanes`).
        unsafe { [vreinterpretq_u8_u64(vdupq_n_u64(value)); 4] }
    }
    #[inline(always)]
    unsafe fn load(from: *const u64) -> Self::Words {
        // SAFETY: the caller's machine has the instructions (see `Lanes`).
        unsafe { load(from) }
    }
    #[inline(always)]
    unsafe fn distance(left: Self::Words, right: Self::Words) -> uint16x8_t {
        // SAFETY: the caller's machine has the instructions (see `Lanes`).
        unsafe { vpaddlq_u8(differing(left, right)) }
    }
    #[inline(always)]
    unsafe fn all(value: u32) -> uint16x8_t {
        // SAFETY: the caller's machine has the instructions (see `Lanes`).
        unsafe { vdupq_n_u16(value as u16) }
    }
    #[inline(always)]
    unsafe fn add(left: uint16x8_t, right: uint16x8_t) -> uint16x8_t {
        // SAFETY: the caller's machine has the instructions (see `Lanes`).
        unsafe { vaddq_u16(left, right) }
    }
    #[inline(always)]
    unsafe fn min(left: uint16x8_t, right: uint16x8_t) -> uint16x8_t {
        // SAFETY: the caller's machine has the instructions (see `Lanes`).
        unsafe { vminq_u16(left, right) }
    }
    #[inline(always)]
    unsafe fn below(group: uint16x8_t, limit: uint16x8_t) -> u32 {
        const BITS: [u16; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
        // SAFETY: the caller's machine has the instructions (see `Lanes`).
        unsafe {
            u32::from(vaddvq_u16(vandq_u16(vcltq_u16(group, limit), vld1q_u16(BITS.as_ptr()))))
        }
    }
    #[inline(always)]
    unsafe fn append(distances: uint16x8_t, near: u32, first: u32, to: *mut u64) {
        let mut out = [0; 16];
        // SAFETY: the caller's machine has the instructions (see `Lanes`).
        unsafe {
            vst1q_u32(out.as_mut_ptr(), vmovl_u16(vget_low_u16(distances)));
            vst1q_u32(out.as_mut_ptr().add(4), vmovl_u16(vget_high_u16(distances)));
            append(&out, near, first, to);
        }
    }
}

impl Lanes for Narrow {
    type Words = [uint8x16_t; 4];
    type Group = uint8x16_t;
    const CODES: usize = 16;
    #[inline(always)]
    unsafe fn word(value: u64) -> Self::Words {
        // SAFETY: the caller's machine has the instructions (see `Lanes`).
        unsafe { [vreinterpretq_u8_u32(vdupq_n_u32(value as u32)); 4] }
    }
    #[inline(always)]
    unsafe fn load(from: *const u64) -> Self::Words {
        // SAFETY: the caller's machine has the instructions (see `Lanes`).
        unsafe { load(from) }
    }
    #[inline(always)]
    unsafe fn distance(left: Self::Words, right: Self::Words) -> uint8x16_t {
        // SAFETY: the caller's machine has the instructions (see `Lanes`).
        unsafe { differing(left, right) }
    }
    #[inline(always)]
    unsafe fn all(value: u32) -> uint8x16_t {
        // SAFETY: the caller's machine has the instructions (see `Lanes`).
        unsafe { vdupq_n_u8(value as u8) }
    }
    #[inline(always)]
    unsafe fn add(left: uint8x16_t, right: uint8x16_t) -> uint8x16_t {
        // SAFETY: the caller's machine has the instructions (see `Lanes`).
        unsafe { vaddq_u8(left, right) }
    }
    #[inline(always)]
    unsafe fn min(left: uint8x16_t, right: uint8x16_t) -> uint8x16_t {
        // SAFETY: the caller's machine has the instructions (see `Lanes`).
        unsafe { vminq_u8(left, right) }
    }
    #[inline(always)]
    unsafe fn below(group: uint8x16_t, limit: uint8x16_t) -> u32 {
        const BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
        // SAFETY: the caller's machine has the instructions (see `Lanes`).
        unsafe {
            let bits = vandq_u8(vcltq_u8(group, limit), vld1q_u8(BITS.as_ptr()));
            let (low, high) = (vaddv_u8(vget_low_u8(bits)), vaddv_u8(vget_high_u8(bits)));
            u32::from(low) | u32::from(high) << 8
        }
    }
    #[inline(always)]
    unsafe fn append(distances: uint8x16_t, near: u32, first: u32, to: *mut u64) {
        let mut bytes = [0u8; 16];
        // SAFETY: the caller's machine has the instructions (see `Lanes`).
        unsafe {
            vst1q_u8(bytes.as_mut_ptr(), distances);
            append(&bytes.map(u32::from), near, first, to);
        }
    }
}
