//! Innermost loops and their data types.

/// Number of columns that are computed side by side.
pub(super) const LANES: usize = 16;

/// One word of each column of a panel.
pub(super) type Words = [i32; LANES];

/// The innermost loops: `sums[r][v] += rows[r] * panels[v]`, all slices of one length.
pub(super) trait Tile {
    fn multiply_add<const R: usize, const V: usize>(
        rows: [&[i32]; R],
        panels: [&[Words]; V],
        sums: &mut [[Words; V]; R],
    );
}

/// Defines the plain loops for the products of two words.
macro_rules! portable {
    ($name:ident, $product:expr) => {
        pub(super) struct $name;

        impl Tile for $name {
            #[inline(always)]
            fn multiply_add<const R: usize, const V: usize>(
                rows: [&[i32]; R],
                panels: [&[Words]; V],
                sums: &mut [[Words; V]; R],
            ) {
                let depth = panels[0].len();
                let rows = rows.map(|row| &row[..depth]);
                let panels = panels.map(|panel| &panel[..depth]);
                for k in 0..depth {
                    for r in 0..R {
                        for v in 0..V {
                            for lane in 0..LANES {
                                sums[r][v][lane] += $product(rows[r][k], panels[v][k][lane]);
                            }
                        }
                    }
                }
            }
        }
    };
}

portable!(PortablePairs, |left: i32, right: i32| {
    i32::from(left as i16) * i32::from(right as i16) + (left >> 16) * (right >> 16)
});
// Used only to check the kernel that has an instruction for this product.
portable!(PortableQuads, |left: i32, right: i32| {
    let pairs = left.to_le_bytes().into_iter().zip(right.to_le_bytes());
    pairs.map(|(left, right)| i32::from(left) * i32::from(right as i8)).sum::<i32>()
});
