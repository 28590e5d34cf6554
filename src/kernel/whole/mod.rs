//! Product of rows and panels of small integers: exact, and so the same on every machine.
//!
//! Processors multiply 8-bit integers four times and 16-bit integers twice as fast as
//! single-precision floats. Sums of at most [`PART`] products are exact in an `i32`; parts are
//! added up in `f32`, in order. So a result depends neither on the instruction set nor on the
//! packing of the numbers.

mod tile;
#[cfg(target_arch = "x86_64")]
mod x86;

use self::tile::{LANES, PortablePairs, PortableQuads, Tile, Words};
use super::gram;
use super::instructions::Instructions;

/// Largest absolute value that rows and panels may hold.
const LARGEST: i16 = gram::LARGEST;

/// Largest absolute value of numbers that may be packed as bytes.
pub(crate) const LARGEST_BYTE: i16 = 127;

/// Number of products that are added up before their sum is converted to an `f32`.
const PART: usize = 512;
const _: () = assert!(LARGEST as i64 * LARGEST as i64 * PART as i64 <= i32::MAX as i64);
// Biased bytes of rows are from 1 to 255. The contribution of the bias is subtracted first.
const _: () = assert!(2 * 255 * LARGEST_BYTE as i64 * PART as i64 <= i32::MAX as i64);

/// Bias that is added to a number to make it an unsigned byte.
const BIAS: i32 = 128;

/// Packing of numbers that are consecutive in depth into a word.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Packing {
    /// Two numbers of 16 bits.
    Pairs,
    /// Four numbers of 8 bits, which are unsigned in rows.
    Quads,
}

impl Packing {
    /// Returns the number of values in a word.
    const fn numbers(self) -> usize {
        match self {
            Packing::Pairs => 2,
            Packing::Quads => 4,
        }
    }

    /// Returns a word of a panel.
    fn word(self, numbers: &[i16]) -> i32 {
        let at = |place: usize| i32::from(numbers.get(place).copied().unwrap_or(0));
        match self {
            Packing::Pairs => at(0) & 0xFFFF | at(1) << 16,
            Packing::Quads => {
                at(0) & 0xFF | (at(1) & 0xFF) << 8 | (at(2) & 0xFF) << 16 | at(3) << 24
            }
        }
    }

    /// Appends the words of a row; the last word is padded with zeros.
    fn row(self, row: &[i16], words: &mut Vec<i32>) {
        match self {
            Packing::Pairs => {
                let (pairs, rest) = row.as_chunks::<2>();
                words
                    .extend(pairs.iter().map(|&[a, b]| i32::from(a) & 0xFFFF | i32::from(b) << 16));
                words.extend(rest.iter().map(|&a| i32::from(a) & 0xFFFF));
            }
            Packing::Quads => {
                let byte = |value: i16| (i32::from(value) + BIAS) & 0xFF;
                let (quads, rest) = row.as_chunks::<4>();
                words.extend(
                    quads.iter().map(|&[a, b, c, d]| {
                        byte(a) | byte(b) << 8 | byte(c) << 16 | byte(d) << 24
                    }),
                );
                if !rest.is_empty() {
                    let shifted = rest.iter().enumerate().map(|(at, &a)| byte(a) << (8 * at));
                    words.push(shifted.sum());
                }
            }
        }
    }
}

/// A matrix of integers, stored in panels of [`LANES`] columns; the last panel is padded with
/// zeros.
#[derive(Clone, Debug)]
pub(crate) struct WholePanels {
    depth: usize,
    packing: Packing,
    /// Words, panel after panel.
    words: Vec<Words>,
    /// Initial sums of each part, by panel: minus the contribution of the rows' bias.
    start: Vec<Words>,
}

impl WholePanels {
    /// Packs a matrix that is given by its columns, each of `depth` numbers. No absolute value of
    /// the matrix, or of rows to multiply, may be above [`LARGEST_BYTE`].
    pub(crate) fn pack_bytes(columns: &[i8], depth: usize) -> Self {
        WholePanels::pack_bytes_for(Instructions::best(), columns, depth)
    }

    fn pack_bytes_for(instructions: Instructions, columns: &[i8], depth: usize) -> Self {
        let packing = match instructions {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512Vnni => Packing::Quads,
            _ => Packing::Pairs,
        };
        let count = columns.len() / depth;
        let column =
            |at: usize| columns[at * depth..(at + 1) * depth].iter().map(|&v| i16::from(v));
        WholePanels::pack_with(packing, depth, count, |at, out| out.extend(column(at)))
    }

    /// Packs a row-major matrix. No absolute value of the matrix, or of rows to multiply, may be
    /// above [`LARGEST`](super::LARGEST).
    pub(crate) fn pack(matrix: &[i16], depth: usize, columns: usize) -> Self {
        let column = |at: usize| matrix.iter().skip(at).step_by(columns).copied();
        WholePanels::pack_with(Packing::Pairs, depth, columns, |at, out| out.extend(column(at)))
    }

    fn pack_with(
        packing: Packing,
        depth: usize,
        columns: usize,
        column: impl Fn(usize, &mut Vec<i16>),
    ) -> Self {
        let rows = depth.div_ceil(packing.numbers());
        let parts = depth.div_ceil(PART);
        let panels = columns.div_ceil(LANES);
        let mut words = vec![[0; LANES]; panels * rows];
        let mut start = vec![[0; LANES]; panels * parts];
        let mut numbers = Vec::with_capacity(depth);
        for at in 0..columns {
            numbers.clear();
            column(at, &mut numbers);
            let (panel, lane) = (at / LANES, at % LANES);
            let places = words[panel * rows..(panel + 1) * rows].iter_mut();
            for (place, numbers) in places.zip(numbers.chunks(packing.numbers())) {
                place[lane] = packing.word(numbers);
            }
            if packing == Packing::Quads {
                for (start, part) in start[panel * parts..].iter_mut().zip(numbers.chunks(PART)) {
                    start[lane] = -BIAS * part.iter().map(|&v| i32::from(v)).sum::<i32>();
                }
            }
        }
        WholePanels { depth, packing, words, start }
    }

    /// Returns the number of columns, including padding.
    pub(crate) fn width(&self) -> usize {
        self.start.len() / self.depth.div_ceil(PART) * LANES
    }

    /// Multiplies row-major `rows`, each of the panels' depth, and writes rows of length
    /// [`width`](Self::width) to `out`. `words` is a buffer.
    pub(crate) fn multiply(&self, rows: &[i16], words: &mut Vec<i32>, out: &mut [f32]) {
        self.multiply_with(Instructions::best(), rows, words, out);
    }

    fn multiply_with(
        &self,
        instructions: Instructions,
        rows: &[i16],
        words: &mut Vec<i32>,
        out: &mut [f32],
    ) {
        let (out, rest) = out.as_chunks_mut::<LANES>();
        debug_assert!(rest.is_empty());
        debug_assert_eq!(rows.len() * self.width(), out.len() * LANES * self.depth);
        words.clear();
        rows.chunks_exact(self.depth).for_each(|row| self.packing.row(row, words));
        let numbers = self.packing.numbers();
        let depth = self.depth.div_ceil(numbers);
        for part in 0..self.depth.div_ceil(PART) {
            let start = part * (PART / numbers);
            let end = depth.min(start + PART / numbers);
            let product = Part { panels: self, rows: words, depth, part, start, end };
            match (instructions, self.packing) {
                #[cfg(target_arch = "x86_64")]
                (Instructions::Avx512Vnni, Packing::Quads) => {
                    product.add_to::<x86::VnniQuads, 6, 4>(out)
                }
                #[cfg(target_arch = "x86_64")]
                (Instructions::Avx512Vnni, Packing::Pairs) => {
                    product.add_to::<x86::VnniPairs, 6, 4>(out)
                }
                #[cfg(target_arch = "x86_64")]
                (Instructions::Avx512 | Instructions::Avx2, Packing::Pairs) => {
                    product.add_to::<x86::Avx2Pairs, 4, 1>(out)
                }
                (_, Packing::Pairs) => product.add_to::<PortablePairs, 4, 1>(out),
                (_, Packing::Quads) => product.add_to::<PortableQuads, 4, 1>(out),
            }
        }
    }
}

/// Product of rows and panels, over a part of the depth.
struct Part<'a> {
    panels: &'a WholePanels,
    rows: &'a [i32],
    /// Number of words of a row, and of a panel.
    depth: usize,
    part: usize,
    start: usize,
    end: usize,
}

impl Part<'_> {
    /// Iterates over the rows `R` at a time and over the panels `V` at a time.
    fn add_to<T: Tile, const R: usize, const V: usize>(&self, out: &mut [[f32; LANES]]) {
        let rows = self.rows.len() / self.depth;
        let whole = rows - rows % R;
        for row in (0..whole).step_by(R) {
            self.strip::<T, R, V>(row, out);
        }
        for row in whole..rows {
            self.strip::<T, 1, V>(row, out);
        }
    }

    fn strip<T: Tile, const R: usize, const V: usize>(&self, row: usize, out: &mut [[f32; LANES]]) {
        let panels = self.panels.width() / LANES;
        let whole = panels - panels % V;
        for panel in (0..whole).step_by(V) {
            self.tile::<T, R, V>(row, panel, out);
        }
        for panel in whole..panels {
            self.tile::<T, R, 1>(row, panel, out);
        }
    }

    fn tile<T: Tile, const R: usize, const V: usize>(
        &self,
        row: usize,
        panel: usize,
        out: &mut [[f32; LANES]],
    ) {
        let Part { panels, depth, start, end, .. } = *self;
        let (stride, parts) = (panels.width() / LANES, panels.depth.div_ceil(PART));
        let rows = std::array::from_fn(|r| &self.rows[(row + r) * depth..][start..end]);
        let words = std::array::from_fn(|v| &panels.words[(panel + v) * depth..][start..end]);
        let first: [Words; V] =
            std::array::from_fn(|v| panels.start[(panel + v) * parts + self.part]);
        let mut sums = [first; R];
        T::multiply_add(rows, words, &mut sums);
        for (r, sums) in sums.iter().enumerate() {
            let out = &mut out[(row + r) * stride + panel..][..V];
            for (out, sums) in out.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
                // The first part of the depth overwrites old values in `out`.
                *out = if self.part == 0 { *sums as f32 } else { *out + *sums as f32 };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    /// Adds up each part of the depth exactly, then the parts in order.
    fn twin(row: &[i16], column: &[i16]) -> f32 {
        let parts = row.chunks(PART).zip(column.chunks(PART));
        let part = |(row, column): (&[i16], &[i16])| -> i64 {
            row.iter().zip(column).map(|(a, b)| i64::from(*a) * i64::from(*b)).sum()
        };
        parts.map(part).map(|sum| sum as f32).reduce(|sum, part| sum + part).unwrap()
    }

    #[test]
    fn every_kernel_and_packing_multiplies_exactly() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for (n, depth, columns) in
            [(1, 1, 1), (5, 3, 17), (13, 128, 64), (7, 1301, 100), (6, 512, 48), (3, 515, 33)]
        {
            for (largest, extreme) in
                [(LARGEST, false), (LARGEST, true), (LARGEST_BYTE, false), (LARGEST_BYTE, true)]
            {
                let mut random = |count: usize| -> Vec<i16> {
                    let number = |_| match extreme {
                        true => largest * if rng.random_range(0..9) == 0 { -1 } else { 1 },
                        false => rng.random_range(-largest..=largest),
                    };
                    (0..count).map(number).collect()
                };
                let (rows, by_column) = (random(n * depth), random(columns * depth));
                let column = |at: usize| &by_column[at * depth..(at + 1) * depth];
                let matrix: Vec<i16> = (0..depth)
                    .flat_map(|row| (0..columns).map(move |at| (row, at)))
                    .map(|(row, at)| column(at)[row])
                    .collect();
                for instructions in Instructions::available() {
                    let mut packed = vec![WholePanels::pack(&matrix, depth, columns)];
                    if largest == LARGEST_BYTE {
                        let bytes: Vec<i8> = by_column.iter().map(|&v| v as i8).collect();
                        // All packings, for all instruction sets.
                        packed.push(WholePanels::pack_bytes(&bytes, depth));
                        packed.push(WholePanels::pack_bytes_for(instructions, &bytes, depth));
                    }
                    for panels in packed {
                        let mut out = vec![f32::NAN; n * panels.width()];
                        panels.multiply_with(instructions, &rows, &mut Vec::new(), &mut out);
                        for (i, row) in rows.chunks_exact(depth).enumerate() {
                            for j in 0..columns {
                                let (found, expected) =
                                    (out[i * panels.width() + j], twin(row, column(j)));
                                assert_eq!(
                                    found.to_bits(),
                                    expected.to_bits(),
                                    "{instructions:?}, {:?}, {n} x {depth} x {columns}",
                                    panels.packing
                                );
                            }
                        }
                    }
                }
            }
        }
    }
}
