//! The innermost loops for AVX2 and AVX-512.

use std::arch::x86_64::*;

use super::tile::{LANES, Lanes, Portable, SIDE, Strided, Tile, finish};

/// The portable loops, compiled for AVX2.
pub(super) struct Avx2;

impl Tile for Avx2 {
    fn inner<const C: usize>(rows: [&[f32]; SIDE], columns: [&[f64]; C]) -> [[f64; C]; SIDE] {
        #[target_feature(enable = "avx2,fma")]
        fn compiled<const C: usize>(
            rows: [&[f32]; SIDE],
            columns: [&[f64]; C],
        ) -> [[f64; C]; SIDE] {
            Portable::inner(rows, columns)
        }
        // SAFETY: this kernel is chosen only where AVX2 and FMA were detected.
        unsafe { compiled(rows, columns) }
    }

    fn outer<const S: usize, const C: usize>(factors: Strided<'_>, sums: &mut [[Lanes; S]; C]) {
        #[target_feature(enable = "avx2,fma")]
        fn compiled<const S: usize, const C: usize>(
            factors: Strided<'_>,
            sums: &mut [[Lanes; S]; C],
        ) {
            Portable::outer(factors, sums);
        }
        // SAFETY: as above.
        unsafe { compiled(factors, sums) }
    }
}

/// Hand-written loops, because the compiler prefers half-width vectors and gives up on this many
/// sums.
pub(super) struct Avx512;

impl Tile for Avx512 {
    fn inner<const C: usize>(rows: [&[f32]; SIDE], columns: [&[f64]; C]) -> [[f64; C]; SIDE] {
        #[target_feature(enable = "avx512f,fma")]
        fn compiled<const C: usize>(
            rows: [&[f32]; SIDE],
            columns: [&[f64]; C],
        ) -> [[f64; C]; SIDE] {
            let rows = rows.map(|row| row.as_chunks::<LANES>());
            let columns = columns.map(|column| column.as_chunks::<LANES>());
            let depth = rows[0].0.len();
            let row_chunks = rows.map(|(chunks, _)| &chunks[..depth]);
            let column_chunks = columns.map(|(chunks, _)| &chunks[..depth]);
            let mut sums = [[_mm512_setzero_pd(); C]; SIDE];
            for k in 0..depth {
                // SAFETY: `k` is below `depth`, to which all slices were cut; each load reads one
                // chunk.
                let weights = column_chunks
                    .map(|chunks| unsafe { _mm512_loadu_pd(chunks.get_unchecked(k).as_ptr()) });
                for r in 0..SIDE {
                    // SAFETY: as above.
                    let x = unsafe { _mm256_loadu_ps(row_chunks[r].get_unchecked(k).as_ptr()) };
                    let x = _mm512_cvtps_pd(x);
                    for c in 0..C {
                        sums[r][c] = _mm512_fmadd_pd(x, weights[c], sums[r][c]);
                    }
                }
            }
            // Loops, because closures would keep the sums in memory.
            let mut lanes = [[[0.0; LANES]; C]; SIDE];
            for r in 0..SIDE {
                for c in 0..C {
                    // SAFETY: the store writes all lanes.
                    unsafe { _mm512_storeu_pd(lanes[r][c].as_mut_ptr(), sums[r][c]) };
                }
            }
            let mut out = [[0.0; C]; SIDE];
            for r in 0..SIDE {
                for c in 0..C {
                    out[r][c] = finish(&lanes[r][c], rows[r].1, columns[c].1);
                }
            }
            out
        }
        // SAFETY: this kernel is chosen only where AVX-512F and FMA were detected.
        unsafe { compiled(rows, columns) }
    }

    fn outer<const S: usize, const C: usize>(factors: Strided<'_>, sums: &mut [[Lanes; S]; C]) {
        #[target_feature(enable = "avx512f")]
        fn compiled<const S: usize, const C: usize>(
            factors: Strided<'_>,
            sums: &mut [[Lanes; S]; C],
        ) {
            let Strided { rows, stride, values, count } = factors;
            let mut local = [[_mm512_setzero_pd(); S]; C];
            for c in 0..C {
                for s in 0..S {
                    // SAFETY: the load reads all lanes.
                    local[c][s] = unsafe { _mm512_loadu_pd(sums[c][s].as_ptr()) };
                }
            }
            for (row, values) in rows.chunks(stride).zip(values.chunks(count)) {
                let (row, values) = (&row[..S * LANES], &values[..C]);
                let mut x = [_mm512_setzero_pd(); S];
                for (x, piece) in x.iter_mut().zip(row.as_chunks::<LANES>().0) {
                    // SAFETY: the load reads one piece, which has all lanes.
                    *x = _mm512_cvtps_pd(unsafe { _mm256_loadu_ps(piece.as_ptr()) });
                }
                for c in 0..C {
                    let value = _mm512_set1_pd(values[c]);
                    for s in 0..S {
                        local[c][s] = _mm512_fmadd_pd(value, x[s], local[c][s]);
                    }
                }
            }
            for c in 0..C {
                for s in 0..S {
                    // SAFETY: the store writes all lanes.
                    unsafe { _mm512_storeu_pd(sums[c][s].as_mut_ptr(), local[c][s]) };
                }
            }
        }
        // SAFETY: this kernel is chosen only where AVX-512F was detected.
        unsafe { compiled(factors, sums) }
    }
}
