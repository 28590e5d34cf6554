//! Exact sum of `q q^T` over rows of small integers.
//!
//! The sum of integers does not depend on their order. So a model learned from such a sum depends
//! neither on the order of the rows, nor on the batches, nor on the machine. Rows that were added
//! can be subtracted again exactly. Processors also multiply 16-bit integers several times as fast
//! as doubles.

use rayon::prelude::*;

use super::instructions::Instructions;
use crate::memory::{NoRoom, expect_room, try_copy};

/// Number of columns that are computed side by side.
const LANES: usize = 16;

/// For each column, the numbers of two consecutive rows, packed into an `i32`. One instruction
/// multiplies two such pairs and adds the products.
type Pairs = [i32; LANES];

/// Largest absolute value that a row may hold.
pub(crate) const LARGEST: i16 = 2047;

/// Largest number of pairs of rows whose sums fit an `i32`.
const MOST_PAIRS: usize = 256;
const _: () = assert!(LARGEST as i64 * LARGEST as i64 * 2 * MOST_PAIRS as i64 <= i32::MAX as i64);

/// Rows and panels of a tile, chosen so that all sums fit the registers.
const TILE_ROWS: usize = 8;
const TILE_PANELS: usize = 3;

/// Number of rows of the matrix that one task computes; equal to the number of columns of a tile.
const BAND: usize = TILE_PANELS * LANES;

/// A symmetric matrix of integer sums, stored in `f64`, which is exact up to 2^53.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Gram {
    width: usize,
    stride: usize,
    /// Row-major values; only those on and below the diagonal are meaningful.
    values: Vec<f64>,
}

impl Gram {
    pub(crate) fn new(width: usize) -> Result<Self, NoRoom> {
        let stride = width.next_multiple_of(BAND);
        // `expect_room` fails if the memory is unavailable. The system then provides zeroed memory,
        // and does not touch the part that stays unused.
        expect_room(Gram::numbers(width))?;
        Ok(Gram { width, stride, values: vec![0.0; Gram::numbers(width)] })
    }

    /// Returns the number of values that a sum of this width stores.
    pub(crate) fn numbers(width: usize) -> usize {
        width.next_multiple_of(BAND).pow(2)
    }

    pub(crate) fn try_clone(&self) -> Result<Self, NoRoom> {
        Ok(Gram { values: try_copy(&self.values)?, ..*self })
    }

    /// Returns row `i`, up to and including the diagonal.
    pub(crate) fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.stride..][..=i]
    }

    pub(crate) fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.values[i * self.stride..][..=i]
    }

    /// Adds `q q^T` for each of the rows. No absolute value may be above [`LARGEST`]. Batches of a
    /// thousand rows or more are best, because each call reads and writes the whole sum.
    pub(crate) fn add_rows(&mut self, rows: &[i16]) {
        self.add_rows_with(Instructions::best(), rows);
    }

    fn add_rows_with(&mut self, instructions: Instructions, rows: &[i16]) {
        debug_assert!(rows.iter().all(|value| value.unsigned_abs() <= LARGEST.unsigned_abs()));
        if rows.is_empty() {
            return;
        }
        let panels = self.pack(rows);
        let depth = rows.len().div_ceil(2 * self.width);
        let stride = self.stride;
        self.values.par_chunks_mut(BAND * stride).enumerate().for_each(|(band, sums)| {
            let panel = |at: usize| &panels[at * depth..(at + 1) * depth];
            // These columns stay in the cache while the loop below iterates over the rows of the
            // band.
            for first in (0..(band + 1) * (BAND / LANES)).step_by(TILE_PANELS) {
                let right = std::array::from_fn(|p| panel(first + p));
                for (at, sums) in sums.chunks_exact_mut(TILE_ROWS * stride).enumerate() {
                    let row = band * BAND + at * TILE_ROWS;
                    let left = panel(row / LANES);
                    let mut tile = [[0.0; TILE_PANELS * LANES]; TILE_ROWS];
                    for start in (0..depth).step_by(MOST_PAIRS) {
                        let part = start..depth.min(start + MOST_PAIRS);
                        let right = right.map(|panel: &[Pairs]| &panel[part.clone()]);
                        let sums = tile_sums(instructions, &left[part], row % LANES, right);
                        for (tile, sums) in tile.iter_mut().zip(&sums) {
                            let sums = sums.as_flattened().iter();
                            tile.iter_mut().zip(sums).for_each(|(sum, v)| *sum += f64::from(*v));
                        }
                    }
                    for (sums, tile) in sums.chunks_exact_mut(stride).zip(&tile) {
                        let sums = sums[first * LANES..].iter_mut().zip(tile);
                        sums.for_each(|(sum, value)| *sum += value);
                    }
                }
            }
        });
    }

    /// Adds `q q^T` for one row of integers of any size.
    pub(crate) fn add_row(&mut self, row: &[f64]) {
        self.values.par_chunks_mut(self.stride).zip(row).enumerate().for_each(
            |(i, (sums, value))| {
                sums.iter_mut().zip(&row[..=i]).for_each(|(sum, other)| *sum += value * other);
            },
        );
    }

    /// Adds another sum of the same width, multiplied by `sign`.
    pub(crate) fn add(&mut self, other: &Gram, sign: f64) {
        debug_assert_eq!(self.width, other.width);
        self.values.iter_mut().zip(&other.values).for_each(|(sum, value)| *sum += sign * value);
    }

    pub(crate) fn scale(&mut self, factor: f64) {
        self.values.iter_mut().for_each(|value| *value *= factor);
    }

    /// Packs rows into panels of [`LANES`] columns, two rows in each number, padded with zeros.
    fn pack(&self, rows: &[i16]) -> Vec<Pairs> {
        let depth = rows.len().div_ceil(2 * self.width);
        let mut panels = vec![[0; LANES]; self.stride / LANES * depth];
        panels.par_chunks_exact_mut(depth).enumerate().for_each(|(panel, out)| {
            let columns = (panel * LANES).min(self.width)..((panel + 1) * LANES).min(self.width);
            for (out, pair) in out.iter_mut().zip(rows.chunks(2 * self.width)) {
                let (first, second) = pair.split_at(self.width);
                let second = second.get(columns.clone()).unwrap_or(&[0; LANES][..columns.len()]);
                let pairs = out.iter_mut().zip(&first[columns.clone()]).zip(second);
                pairs.for_each(|((out, &first), &second)| {
                    *out = i32::from(first) & 0xFFFF | i32::from(second) << 16;
                });
            }
        });
        panels
    }
}

/// The sums of a tile.
type Tile = [[[i32; LANES]; TILE_PANELS]; TILE_ROWS];

/// Returns the inner products of [`TILE_ROWS`] columns, from `lane` of `left` on, with the columns
/// of `right`.
fn tile_sums(
    instructions: Instructions,
    left: &[Pairs],
    lane: usize,
    right: [&[Pairs]; TILE_PANELS],
) -> Tile {
    match instructions {
        // SAFETY: a kernel is chosen only where its instructions were detected.
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512Vnni => unsafe { x86::avx512_vnni(left, lane, right) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512 | Instructions::Avx2 => unsafe { x86::avx2(left, lane, right) },
        Instructions::Portable => portable(left, lane, right),
    }
}

fn portable(left: &[Pairs], lane: usize, right: [&[Pairs]; TILE_PANELS]) -> Tile {
    let mut sums: Tile = Default::default();
    let halves = |pair: i32| (i32::from(pair as i16), pair >> 16);
    for (at, left) in left.iter().enumerate() {
        for (sums, &left) in sums.iter_mut().zip(&left[lane..lane + TILE_ROWS]) {
            let (first, second) = halves(left);
            for (sums, panel) in sums.iter_mut().zip(right) {
                for (sum, &right) in sums.iter_mut().zip(&panel[at]) {
                    let (other_first, other_second) = halves(right);
                    *sum += first * other_first + second * other_second;
                }
            }
        }
    }
    sums
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{LANES, Pairs, TILE_PANELS, TILE_ROWS, Tile};

    #[target_feature(enable = "avx512f,avx512vnni")]
    pub(super) fn avx512_vnni(left: &[Pairs], lane: usize, right: [&[Pairs]; TILE_PANELS]) -> Tile {
        let right = right.map(|panel| &panel[..left.len()]);
        let mut sums = [[_mm512_setzero_si512(); TILE_PANELS]; TILE_ROWS];
        for (at, left) in left.iter().enumerate() {
            // SAFETY: the panels were cut to the length of `left`; each load reads one whole
            // `Pairs`.
            let right = right.map(|panel| unsafe {
                _mm512_loadu_si512(panel.get_unchecked(at).as_ptr().cast())
            });
            let left = &left[lane..lane + TILE_ROWS];
            for r in 0..TILE_ROWS {
                let left = _mm512_set1_epi32(left[r]);
                for p in 0..TILE_PANELS {
                    sums[r][p] = _mm512_dpwssd_epi32(sums[r][p], left, right[p]);
                }
            }
        }
        let mut tile: Tile = Default::default();
        for (tile, sum) in tile.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
            // SAFETY: the store writes one whole row of lanes.
            unsafe { _mm512_storeu_si512(tile.as_mut_ptr().cast(), *sum) };
        }
        tile
    }

    /// Computes four rows and one panel at a time, because AVX2 has half as many registers, half as
    /// wide.
    #[target_feature(enable = "avx2")]
    pub(super) fn avx2(left: &[Pairs], lane: usize, right: [&[Pairs]; TILE_PANELS]) -> Tile {
        const ROWS: usize = 4;
        let mut tile: Tile = Default::default();
        for row in (0..TILE_ROWS).step_by(ROWS) {
            for (p, panel) in right.iter().enumerate() {
                let mut sums = [[_mm256_setzero_si256(); 2]; ROWS];
                for (left, right) in left.iter().zip(*panel) {
                    // SAFETY: the two loads read the halves of one `Pairs`.
                    let right = [0, LANES / 2]
                        .map(|half| unsafe { _mm256_loadu_si256(right.as_ptr().add(half).cast()) });
                    for (sums, &left) in sums.iter_mut().zip(&left[lane + row..lane + row + ROWS]) {
                        let left = _mm256_set1_epi32(left);
                        for (sum, right) in sums.iter_mut().zip(right) {
                            *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(left, right));
                        }
                    }
                }
                for (r, sums) in sums.iter().enumerate() {
                    let out = tile[row + r][p].as_mut_ptr();
                    // SAFETY: the two stores write the halves of one row of lanes.
                    unsafe {
                        _mm256_storeu_si256(out.cast(), sums[0]);
                        _mm256_storeu_si256(out.add(LANES / 2).cast(), sums[1]);
                    }
                }
            }
        }
        tile
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn every_kernel_adds_up_exactly() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for (n, width) in [(1, 1), (2, 3), (5, 16), (64, 49), (511, 100), (512, 97), (1300, 50)] {
            let extreme = n == 512;
            let rows: Vec<i16> = (0..n * width)
                .map(|_| if extreme { LARGEST } else { rng.random_range(-LARGEST..=LARGEST) })
                .collect();
            let mut twin = Gram::new(width).unwrap();
            for row in rows.chunks_exact(width) {
                twin.add_row(&row.iter().map(|&v| f64::from(v)).collect::<Vec<_>>());
            }
            for instructions in Instructions::available() {
                let mut gram = Gram::new(width).unwrap();
                gram.add_rows_with(instructions, &rows);
                for i in 0..width {
                    let naive = |j: usize| -> f64 {
                        let cell = |row: &[i16]| i64::from(row[i]) * i64::from(row[j]);
                        rows.chunks_exact(width).map(cell).sum::<i64>() as f64
                    };
                    let expected: Vec<f64> = (0..=i).map(naive).collect();
                    assert_eq!(gram.row(i), expected, "{instructions:?}, {n} x {width}, row {i}");
                    assert_eq!(twin.row(i), expected);
                }
                gram.add(&twin, -1.0);
                assert!((0..width).all(|i| gram.row(i).iter().all(|&sum| sum == 0.0)));
            }
        }
    }
}
