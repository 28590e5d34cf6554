//! Matrix product for encoding.
//!
//! Every result is one chain of fused multiply-adds over the depth, in order, starting from zero.
//! So a row's projection and its code are the same alone or among millions of rows, on one thread
//! or many, and on every processor. Processors without a fused multiply-add compute the same bits
//! in software, slowly. General matrix products give no such promise: they choose the order of
//! summation by the shape of the matrices.
//!
//! # Why a matrix product of our own?
//!
//! A general product chooses its order of summation by the shape of the whole, so the code of a
//! vector encoded alone could differ from its code among others. This product computes each bit by
//! one chain of fused multiply-adds, in order, for every shape, thread count and instruction set,
//! so both codes are equal. It packs no rows and its output needs only the sign, so it is not
//! slower than the general product (`cargo bench --bench core -- encode`).
//!
//! The other loops of `kernel/` are plain Rust that the `dispatched!` macro compiles for several
//! instruction sets. Each keeps one order of summation, so the result does not depend on the
//! instruction set.

use super::instructions::Instructions;

/// Number of columns that are computed side by side.
pub(crate) const LANES: usize = 16;

type Lanes = [f32; LANES];

/// Part of the depth that is multiplied before the next rows, so that this part of the panels stays
/// in the second-level cache.
const DEPTH_BLOCK: usize = 512;

/// A matrix stored in panels of [`LANES`] columns; the last panel is padded with zeros.
#[derive(Clone, Debug)]
pub(crate) struct Panels {
    depth: usize,
    /// Panel after panel, each `depth` rows of lanes.
    lanes: Vec<Lanes>,
}

impl Panels {
    /// Packs a row-major matrix of `depth` rows and `columns` columns.
    pub(crate) fn pack(matrix: &[f32], depth: usize, columns: usize) -> Self {
        debug_assert_eq!(matrix.len(), depth * columns);
        let mut lanes = vec![[0.0; LANES]; columns.div_ceil(LANES) * depth];
        for (panel, rows) in lanes.chunks_exact_mut(depth).enumerate() {
            let first = panel * LANES;
            let width = LANES.min(columns - first);
            for (lane, row) in rows.iter_mut().zip(matrix.chunks_exact(columns)) {
                lane[..width].copy_from_slice(&row[first..first + width]);
            }
        }
        Panels { depth, lanes }
    }

    /// Packs a matrix that is given by its columns, each of `depth` numbers.
    pub(crate) fn pack_transposed(columns: &[f32], depth: usize) -> Self {
        let count = columns.len() / depth;
        let mut lanes = vec![[0.0; LANES]; count.div_ceil(LANES) * depth];
        for (at, column) in columns.chunks_exact(depth).enumerate() {
            let panel = &mut lanes[at / LANES * depth..][..depth];
            panel.iter_mut().zip(column).for_each(|(lanes, value)| lanes[at % LANES] = *value);
        }
        Panels { depth, lanes }
    }

    /// Returns the length of the rows that can be multiplied.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Returns the number of columns, including padding.
    pub(crate) fn width(&self) -> usize {
        self.lanes.len() / self.depth * LANES
    }

    /// Multiplies row-major `rows`, each of length [`depth`](Self::depth), and writes rows of
    /// length [`width`](Self::width) to `out`.
    pub(crate) fn multiply(&self, rows: &[f32], out: &mut [f32]) {
        self.multiply_with(Instructions::best(), rows, out);
    }

    fn multiply_with(&self, instructions: Instructions, rows: &[f32], out: &mut [f32]) {
        let (out, rest) = out.as_chunks_mut::<LANES>();
        debug_assert!(rest.is_empty());
        debug_assert_eq!(rows.len() * self.width(), out.len() * LANES * self.depth);
        out.fill([0.0; LANES]);
        for start in (0..self.depth).step_by(DEPTH_BLOCK) {
            let end = self.depth.min(start + DEPTH_BLOCK);
            let block = Block { panels: self, rows, start, end };
            match instructions {
                #[cfg(target_arch = "x86_64")]
                Instructions::Avx512Vnni | Instructions::Avx512 => {
                    block.add_to::<x86::Avx512, 6, 4>(out)
                }
                #[cfg(target_arch = "x86_64")]
                Instructions::Avx2 => block.add_to::<x86::Avx2, 4, 1>(out),
                Instructions::Portable => block.add_to::<Portable, 4, 1>(out),
            }
        }
    }
}

/// Product of rows and panels, over a part of the depth.
struct Block<'a> {
    panels: &'a Panels,
    rows: &'a [f32],
    start: usize,
    end: usize,
}

impl Block<'_> {
    /// Iterates over the rows `R` at a time and over the panels `V` at a time.
    fn add_to<T: Tile, const R: usize, const V: usize>(&self, out: &mut [Lanes]) {
        let rows = self.rows.len() / self.panels.depth;
        let whole = rows - rows % R;
        for row in (0..whole).step_by(R) {
            self.strip::<T, R, V>(row, out);
        }
        for row in whole..rows {
            self.strip::<T, 1, V>(row, out);
        }
    }

    fn strip<T: Tile, const R: usize, const V: usize>(&self, row: usize, out: &mut [Lanes]) {
        let panels = self.panels.lanes.len() / self.panels.depth;
        let whole = panels - panels % V;
        for panel in (0..whole).step_by(V) {
            self.tile::<T, R, V>(row, panel, out);
        }
        match panels - whole {
            1 => self.tile::<T, R, 1>(row, whole, out),
            2 => self.tile::<T, R, 2>(row, whole, out),
            3 => self.tile::<T, R, 3>(row, whole, out),
            _ => {}
        }
    }

    fn tile<T: Tile, const R: usize, const V: usize>(
        &self,
        row: usize,
        panel: usize,
        out: &mut [Lanes],
    ) {
        let Block { start, end, .. } = *self;
        let depth = self.panels.depth;
        let stride = self.panels.lanes.len() / depth;
        let rows = std::array::from_fn(|r| &self.rows[(row + r) * depth..][start..end]);
        let panels = std::array::from_fn(|v| &self.panels.lanes[(panel + v) * depth..][start..end]);
        let place = |r| (row + r) * stride + panel;
        let mut sums: [[Lanes; V]; R] =
            std::array::from_fn(|r| std::array::from_fn(|v| out[place(r) + v]));
        T::multiply_add(rows, panels, &mut sums);
        for (r, sums) in sums.iter().enumerate() {
            out[place(r)..place(r) + V].copy_from_slice(sums);
        }
    }
}

/// The innermost loops: `sums[r][v] += rows[r] * panels[v]`, all slices of one length.
trait Tile {
    fn multiply_add<const R: usize, const V: usize>(
        rows: [&[f32]; R],
        panels: [&[Lanes]; V],
        sums: &mut [[Lanes; V]; R],
    );
}

/// Plain Rust, which the compiler turns into the vector instructions of its target.
struct Portable;

impl Tile for Portable {
    #[inline(always)]
    fn multiply_add<const R: usize, const V: usize>(
        rows: [&[f32]; R],
        panels: [&[Lanes]; V],
        sums: &mut [[Lanes; V]; R],
    ) {
        let depth = panels[0].len();
        // Slices of one length, so that the bounds are checked here and not in the loop.
        let rows = rows.map(|row| &row[..depth]);
        let panels = panels.map(|panel| &panel[..depth]);
        let mut local = *sums;
        for k in 0..depth {
            for r in 0..R {
                for v in 0..V {
                    for lane in 0..LANES {
                        let sum = &mut local[r][v][lane];
                        *sum = rows[r][k].mul_add(panels[v][k][lane], *sum);
                    }
                }
            }
        }
        *sums = local;
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Lanes, Portable, Tile};

    /// The portable loops, compiled for AVX2.
    pub(super) struct Avx2;

    impl Tile for Avx2 {
        fn multiply_add<const R: usize, const V: usize>(
            rows: [&[f32]; R],
            panels: [&[Lanes]; V],
            sums: &mut [[Lanes; V]; R],
        ) {
            #[target_feature(enable = "avx2,fma")]
            fn compiled<const R: usize, const V: usize>(
                rows: [&[f32]; R],
                panels: [&[Lanes]; V],
                sums: &mut [[Lanes; V]; R],
            ) {
                Portable::multiply_add(rows, panels, sums);
            }
            // SAFETY: this kernel is chosen only where AVX2 and FMA were detected.
            unsafe { compiled(rows, panels, sums) }
        }
    }

    /// Hand-written loops, because the compiler prefers half-width vectors and gives up on this
    /// many sums.
    pub(super) struct Avx512;

    impl Tile for Avx512 {
        fn multiply_add<const R: usize, const V: usize>(
            rows: [&[f32]; R],
            panels: [&[Lanes]; V],
            sums: &mut [[Lanes; V]; R],
        ) {
            #[target_feature(enable = "avx512f")]
            fn compiled<const R: usize, const V: usize>(
                rows: [&[f32]; R],
                panels: [&[Lanes]; V],
                sums: &mut [[Lanes; V]; R],
            ) {
                let depth = panels[0].len();
                let rows = rows.map(|row| &row[..depth]);
                let panels = panels.map(|panel| &panel[..depth]);
                // SAFETY: each load and store accesses one whole `Lanes`, 16 floats, unaligned.
                let load = |lanes: &Lanes| unsafe { _mm512_loadu_ps(lanes.as_ptr()) };
                let mut local = [[_mm512_setzero_ps(); V]; R];
                for r in 0..R {
                    for v in 0..V {
                        local[r][v] = load(&sums[r][v]);
                    }
                }
                for k in 0..depth {
                    // SAFETY: `k` is below `depth`, to which all panels and rows were cut. Checking
                    // each of the ten slices again would double the time of this loop.
                    let weights = panels.map(|panel| load(unsafe { panel.get_unchecked(k) }));
                    for r in 0..R {
                        // SAFETY: as above.
                        let value = _mm512_set1_ps(unsafe { *rows[r].get_unchecked(k) });
                        for v in 0..V {
                            local[r][v] = _mm512_fmadd_ps(value, weights[v], local[r][v]);
                        }
                    }
                }
                for r in 0..R {
                    for v in 0..V {
                        // SAFETY: as for loads.
                        unsafe { _mm512_storeu_ps(sums[r][v].as_mut_ptr(), local[r][v]) };
                    }
                }
            }
            // SAFETY: this kernel is chosen only where AVX-512F was detected.
            unsafe { compiled(rows, panels, sums) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    /// Computes one chain of fused multiply-adds, as the module promises.
    fn twin(row: &[f32], matrix: &[f32], columns: usize, column: usize) -> f32 {
        let weights = matrix.iter().skip(column).step_by(columns);
        row.iter().zip(weights).fold(0.0, |sum, (x, w)| x.mul_add(*w, sum))
    }

    #[test]
    fn every_kernel_equals_the_plain_chain_bit_for_bit() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for (n, depth, columns) in
            [(1, 1, 1), (5, 3, 17), (13, 784, 64), (7, 1300, 100), (6, 512, 48), (3, 513, 33)]
        {
            let mut random =
                |n: usize| (0..n).map(|_| rng.random_range(-1.0..1.0)).collect::<Vec<f32>>();
            let (rows, matrix) = (random(n * depth), random(depth * columns));
            let panels = Panels::pack(&matrix, depth, columns);
            let transposed: Vec<f32> = (0..columns)
                .flat_map(|j| matrix.iter().skip(j).step_by(columns))
                .copied()
                .collect();
            assert_eq!(Panels::pack_transposed(&transposed, depth).lanes, panels.lanes);
            for instructions in Instructions::available() {
                let mut out = vec![f32::NAN; n * panels.width()];
                panels.multiply_with(instructions, &rows, &mut out);
                for (i, row) in rows.chunks_exact(depth).enumerate() {
                    for j in 0..columns {
                        let expected = twin(row, &matrix, columns, j);
                        let found = out[i * panels.width() + j];
                        assert_eq!(
                            found.to_bits(),
                            expected.to_bits(),
                            "{instructions:?}, {n} x {depth} x {columns}, row {i}, column {j}"
                        );
                    }
                }
            }
        }
    }
}
