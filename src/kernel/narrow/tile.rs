//! Innermost loops and their data types.

/// Number of values of a row that are multiplied side by side.
pub(super) const LANES: usize = 8;

pub(super) const SIDE: usize = 4;

pub(super) type Lanes = [f64; LANES];

/// Rows, each beginning `stride` numbers after the previous row, and rows of values, each beginning
/// `count` numbers after the previous one.
#[derive(Clone, Copy)]
pub(super) struct Strided<'a> {
    pub(super) rows: &'a [f32],
    pub(super) stride: usize,
    pub(super) values: &'a [f64],
    pub(super) count: usize,
}

/// Innermost loops.
pub(super) trait Tile {
    /// Returns the inner product of each row with each column, all of one length. Computes a sum
    /// for each lane, adds these sums in order, then adds the products of the remaining numbers.
    fn inner<const C: usize>(rows: [&[f32]; SIDE], columns: [&[f64]; C]) -> [[f64; C]; SIDE];

    /// Computes `sums[c] += values[c] row`, row after row.
    fn outer<const S: usize, const C: usize>(factors: Strided<'_>, sums: &mut [[Lanes; S]; C]);
}

/// Plain Rust, which the compiler turns into the vector instructions of its target.
pub(super) struct Portable;

impl Tile for Portable {
    #[inline(always)]
    fn inner<const C: usize>(rows: [&[f32]; SIDE], columns: [&[f64]; C]) -> [[f64; C]; SIDE] {
        // One row at a time, because there are few registers.
        rows.map(|row| {
            let (chunks, rest) = row.as_chunks::<LANES>();
            let columns = columns.map(|column| column.as_chunks::<LANES>());
            let column_chunks = columns.map(|(column, _)| &column[..chunks.len()]);
            let mut sums = [[0.0; LANES]; C];
            for (k, chunk) in chunks.iter().enumerate() {
                let x = chunk.map(f64::from);
                for c in 0..C {
                    for lane in 0..LANES {
                        let sum = &mut sums[c][lane];
                        *sum = x[lane].mul_add(column_chunks[c][k][lane], *sum);
                    }
                }
            }
            std::array::from_fn(|c| finish(&sums[c], rest, columns[c].1))
        })
    }

    #[inline(always)]
    fn outer<const S: usize, const C: usize>(factors: Strided<'_>, sums: &mut [[Lanes; S]; C]) {
        let Strided { rows, stride, values, count } = factors;
        for s in 0..S {
            let mut local: [Lanes; C] = std::array::from_fn(|c| sums[c][s]);
            for (row, values) in rows.chunks(stride).zip(values.chunks(count)) {
                let x: Lanes = std::array::from_fn(|lane| f64::from(row[s * LANES + lane]));
                for (sums, &value) in local.iter_mut().zip(&values[..C]) {
                    for (sum, x) in sums.iter_mut().zip(x) {
                        *sum = value.mul_add(x, *sum);
                    }
                }
            }
            for c in 0..C {
                sums[c][s] = local[c];
            }
        }
    }
}

/// Adds the sums of the lanes, then the products of the rest of the row.
#[inline(always)]
pub(super) fn finish(lanes: &Lanes, row: &[f32], column: &[f64]) -> f64 {
    let sum = lanes.iter().fold(0.0, |sum, lane| sum + lane);
    row.iter().zip(column).fold(sum, |sum, (x, w)| f64::from(*x).mul_add(*w, sum))
}
