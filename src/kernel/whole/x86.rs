//! Hand-written loops for processors with AVX-512 VNNI or AVX2.

use std::arch::x86_64::*;

use super::tile::{LANES, Tile, Words};

/// Defines the loops for one of the instructions that multiply, add and accumulate.
macro_rules! vnni {
    ($name:ident, $instruction:ident) => {
        pub(super) struct $name;

        impl Tile for $name {
            fn multiply_add<const R: usize, const V: usize>(
                rows: [&[i32]; R],
                panels: [&[Words]; V],
                sums: &mut [[Words; V]; R],
            ) {
                #[target_feature(enable = "avx512f,avx512vnni")]
                fn compiled<const R: usize, const V: usize>(
                    rows: [&[i32]; R],
                    panels: [&[Words]; V],
                    sums: &mut [[Words; V]; R],
                ) {
                    let depth = panels[0].len();
                    let rows = rows.map(|row| &row[..depth]);
                    let panels = panels.map(|panel| &panel[..depth]);
                    let load = |words: &Words| {
                        // SAFETY: the load reads one whole `Words`, unaligned.
                        unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
                    };
                    let mut local = [[_mm512_setzero_si512(); V]; R];
                    for r in 0..R {
                        for v in 0..V {
                            local[r][v] = load(&sums[r][v]);
                        }
                    }
                    for k in 0..depth {
                        // SAFETY: `k` is below `depth`, to which all panels and rows were cut.
                        let right = panels.map(|panel| load(unsafe { panel.get_unchecked(k) }));
                        for r in 0..R {
                            // SAFETY: as above.
                            let left = _mm512_set1_epi32(unsafe { *rows[r].get_unchecked(k) });
                            for v in 0..V {
                                local[r][v] = $instruction(local[r][v], left, right[v]);
                            }
                        }
                    }
                    for r in 0..R {
                        for v in 0..V {
                            let out = sums[r][v].as_mut_ptr().cast();
                            // SAFETY: the store writes one whole `Words`, unaligned.
                            unsafe { _mm512_storeu_si512(out, local[r][v]) };
                        }
                    }
                }
                // SAFETY: this kernel is chosen only where its instructions were detected.
                unsafe { compiled(rows, panels, sums) }
            }
        }
    };
}

vnni!(VnniPairs, _mm512_dpwssd_epi32);
vnni!(VnniQuads, _mm512_dpbusd_epi32);

pub(super) struct Avx2Pairs;

impl Tile for Avx2Pairs {
    fn multiply_add<const R: usize, const V: usize>(
        rows: [&[i32]; R],
        panels: [&[Words]; V],
        sums: &mut [[Words; V]; R],
    ) {
        #[target_feature(enable = "avx2")]
        fn compiled<const R: usize, const V: usize>(
            rows: [&[i32]; R],
            panels: [&[Words]; V],
            sums: &mut [[Words; V]; R],
        ) {
            let depth = panels[0].len();
            let rows = rows.map(|row| &row[..depth]);
            for v in 0..V {
                let mut local = [[_mm256_setzero_si256(); 2]; R];
                for (k, words) in panels[v].iter().enumerate() {
                    let right = [0, LANES / 2].map(|half| {
                        // SAFETY: the two loads read the halves of one `Words`.
                        unsafe { _mm256_loadu_si256(words.as_ptr().add(half).cast()) }
                    });
                    for r in 0..R {
                        // SAFETY: `k` is below `depth`, to which all rows were cut.
                        let left = _mm256_set1_epi32(unsafe { *rows[r].get_unchecked(k) });
                        for half in 0..2 {
                            let product = _mm256_madd_epi16(left, right[half]);
                            local[r][half] = _mm256_add_epi32(local[r][half], product);
                        }
                    }
                }
                for r in 0..R {
                    let mut found = [0; LANES];
                    let out = found.as_mut_ptr();
                    // SAFETY: the two stores write the halves of one `Words`.
                    unsafe {
                        _mm256_storeu_si256(out.cast(), local[r][0]);
                        _mm256_storeu_si256(out.add(LANES / 2).cast(), local[r][1]);
                    }
                    sums[r][v].iter_mut().zip(found).for_each(|(sum, found)| *sum += found);
                }
            }
        }
        // SAFETY: this kernel is chosen only where AVX2 was detected.
        unsafe { compiled(rows, panels, sums) }
    }
}
