//! Products of rows in single precision with a few columns in double precision.
//!
//! A general matrix product pays off only for many columns, and needs rows converted to double
//! precision. The functions here read the rows without conversion. Every sum consists of the same
//! chains of fused multiply-adds on every instruction set.

mod tile;
#[cfg(target_arch = "x86_64")]
mod x86;

use self::tile::{LANES, Portable, SIDE, Strided, Tile};
use super::instructions::Instructions;

/// Number of columns that are computed together with [`SIDE`] rows, or pieces of a row, so that all
/// sums fit the registers.
const COLUMNS: usize = 5;

/// Writes `X W` to `out`, row after row, for `X` with rows of `dim` numbers and `W` given by its
/// columns.
pub(crate) fn times_columns(rows: &[f32], dim: usize, columns: &[f64], out: &mut [f64]) {
    times_columns_with(Instructions::best(), rows, dim, columns, out);
}

/// Adds `X^T V` to `out`, which is stored by columns, for `X` with rows of `dim` numbers and `V`
/// with the same number of rows. Fastest if the rows fit the cache.
pub(crate) fn add_transposed_times(rows: &[f32], dim: usize, values: &[f64], out: &mut [f64]) {
    add_transposed_times_with(Instructions::best(), rows, dim, values, out);
}

fn times_columns_with(
    instructions: Instructions,
    rows: &[f32],
    dim: usize,
    columns: &[f64],
    out: &mut [f64],
) {
    match instructions {
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512Vnni | Instructions::Avx512 => {
            inner_products::<x86::Avx512>(rows, dim, columns, out)
        }
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2 => inner_products::<x86::Avx2>(rows, dim, columns, out),
        Instructions::Portable => inner_products::<Portable>(rows, dim, columns, out),
    }
}

fn add_transposed_times_with(
    instructions: Instructions,
    rows: &[f32],
    dim: usize,
    values: &[f64],
    out: &mut [f64],
) {
    match instructions {
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512Vnni | Instructions::Avx512 => {
            outer_products::<x86::Avx512>(rows, dim, values, out)
        }
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2 => outer_products::<x86::Avx2>(rows, dim, values, out),
        Instructions::Portable => outer_products::<Portable>(rows, dim, values, out),
    }
}

fn inner_products<T: Tile>(rows: &[f32], dim: usize, columns: &[f64], out: &mut [f64]) {
    let count = columns.len() / dim;
    for (rows, out) in rows.chunks(SIDE * dim).zip(out.chunks_mut(SIDE * count)) {
        // An incomplete strip repeats its first row.
        let row = |r: usize| rows.get(r * dim..(r + 1) * dim).unwrap_or(&rows[..dim]);
        let rows = std::array::from_fn(row);
        for (at, columns) in columns.chunks(COLUMNS * dim).enumerate() {
            let first = at * COLUMNS;
            match columns.len() / dim {
                1 => inner::<T, 1>(rows, columns, first, count, out),
                2 => inner::<T, 2>(rows, columns, first, count, out),
                3 => inner::<T, 3>(rows, columns, first, count, out),
                4 => inner::<T, 4>(rows, columns, first, count, out),
                _ => inner::<T, COLUMNS>(rows, columns, first, count, out),
            }
        }
    }
}

fn inner<T: Tile, const C: usize>(
    rows: [&[f32]; SIDE],
    columns: &[f64],
    first: usize,
    count: usize,
    out: &mut [f64],
) {
    let dim = columns.len() / C;
    let columns = std::array::from_fn(|c| &columns[c * dim..(c + 1) * dim]);
    let sums = T::inner::<C>(rows, columns);
    for (out, sums) in out.chunks_exact_mut(count).zip(&sums) {
        out[first..first + C].copy_from_slice(sums);
    }
}

fn outer_products<T: Tile>(rows: &[f32], dim: usize, values: &[f64], out: &mut [f64]) {
    let whole = dim / LANES * LANES;
    let mut at = 0;
    while at < whole {
        let pieces = SIDE.min((whole - at) / LANES);
        let place = Place { dim, at, width: pieces * LANES };
        match pieces {
            1 => outer::<T, 1>(&rows[at..], dim, values, place, out),
            2 => outer::<T, 2>(&rows[at..], dim, values, place, out),
            3 => outer::<T, 3>(&rows[at..], dim, values, place, out),
            _ => outer::<T, SIDE>(&rows[at..], dim, values, place, out),
        }
        at += place.width;
    }
    if whole < dim {
        // The rest of each row, padded with zeros.
        let mut rest = vec![[0.0; LANES]; rows.len() / dim];
        for (rest, row) in rest.iter_mut().zip(rows.chunks_exact(dim)) {
            rest[..dim - whole].copy_from_slice(&row[whole..]);
        }
        let place = Place { dim, at: whole, width: dim - whole };
        outer::<T, 1>(rest.as_flattened(), LANES, values, place, out);
    }
}

/// Position of a tile within the columns of the result.
#[derive(Clone, Copy)]
struct Place {
    dim: usize,
    at: usize,
    width: usize,
}

/// Adds the products of `rows`, each of which begins `stride` numbers after the previous row.
fn outer<T: Tile, const S: usize>(
    rows: &[f32],
    stride: usize,
    values: &[f64],
    place: Place,
    out: &mut [f64],
) {
    let count = out.len() / place.dim;
    for first in (0..count).step_by(COLUMNS) {
        let (values, out) = (&values[first..], &mut out[first * place.dim..]);
        let factors = Strided { rows, stride, values, count };
        match count - first {
            1 => outer_tile::<T, S, 1>(factors, place, out),
            2 => outer_tile::<T, S, 2>(factors, place, out),
            3 => outer_tile::<T, S, 3>(factors, place, out),
            4 => outer_tile::<T, S, 4>(factors, place, out),
            _ => outer_tile::<T, S, COLUMNS>(factors, place, out),
        }
    }
}

fn outer_tile<T: Tile, const S: usize, const C: usize>(
    factors: Strided<'_>,
    place: Place,
    out: &mut [f64],
) {
    let mut sums = [[[0.0; LANES]; S]; C];
    for (sums, out) in sums.iter_mut().zip(out.chunks_exact(place.dim)) {
        let out = &out[place.at..place.at + place.width];
        sums.as_flattened_mut()[..place.width].copy_from_slice(out);
    }
    T::outer(factors, &mut sums);
    for (sums, out) in sums.iter().zip(out.chunks_exact_mut(place.dim)) {
        let out = &mut out[place.at..place.at + place.width];
        out.copy_from_slice(&sums.as_flattened()[..place.width]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    /// Computes a sum for each lane, adds these sums in order, then adds the remaining products.
    fn inner_twin(row: &[f32], column: &[f64]) -> f64 {
        let whole = row.len() / LANES * LANES;
        let mut lanes = [0.0; LANES];
        for i in 0..whole {
            lanes[i % LANES] = f64::from(row[i]).mul_add(column[i], lanes[i % LANES]);
        }
        let sum = lanes.iter().fold(0.0, |sum, lane| sum + lane);
        (whole..row.len()).fold(sum, |sum, i| f64::from(row[i]).mul_add(column[i], sum))
    }

    #[test]
    fn every_kernel_equals_the_plain_chains_bit_for_bit() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for (n, dim, count) in
            [(1, 1, 1), (3, 7, 2), (4, 8, 3), (5, 45, 4), (9, 100, 5), (33, 67, 11), (64, 784, 10)]
        {
            let mut draw =
                |n: usize| (0..n).map(|_| rng.random_range(-1.0..1.0)).collect::<Vec<f64>>();
            let rows: Vec<f32> = draw(n * dim).iter().map(|&value| value as f32).collect();
            let (columns, values, start) = (draw(count * dim), draw(n * count), draw(count * dim));
            let products: Vec<f64> = (0..n * count)
                .map(|at| (&rows[at / count * dim..][..dim], &columns[at % count * dim..][..dim]))
                .map(|(row, column)| inner_twin(row, column))
                .collect();
            let mut sums = start.clone();
            for (at, sum) in sums.iter_mut().enumerate() {
                let (c, j) = (at / dim, at % dim);
                for i in 0..n {
                    *sum = values[i * count + c].mul_add(f64::from(rows[i * dim + j]), *sum);
                }
            }
            for instructions in Instructions::available() {
                let mut out = vec![f64::NAN; n * count];
                times_columns_with(instructions, &rows, dim, &columns, &mut out);
                assert!(out == products, "{instructions:?}, {n} x {dim} x {count}");
                let mut out = start.clone();
                add_transposed_times_with(instructions, &rows, dim, &values, &mut out);
                assert!(out == sums, "{instructions:?}, transposed, {n} x {dim} x {count}");
            }
        }
    }
}
