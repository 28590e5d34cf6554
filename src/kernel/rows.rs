//! Operations on one row after the other: preparing, projecting and learning.

dispatched! {
    /// Centres and scales rows: the first stages of every hash function, and the input of learners.
    /// `scale` has a factor for each column. With `unit`, rows are then scaled to unit length, and
    /// rows of zeros stay zero.
    ["avx2" if Avx2]
    fn prepare(
        center: Option<&[f32]>,
        scale: Option<&[f32]>,
        unit: bool,
        dim: usize,
        rows: &[f32],
        out: &mut Vec<f32>
    ) {
        out.resize(rows.len(), 0.0);
        for (row, out) in rows.chunks_exact(dim).zip(out.chunks_exact_mut(dim)) {
            match center {
                None => out.copy_from_slice(row),
                Some(center) => {
                    for ((out, value), center) in out.iter_mut().zip(row).zip(center) {
                        *out = value - center;
                    }
                }
            }
            if let Some(scale) = scale {
                // Clamps infinite numbers: infinity times a factor of 0 would be NaN, and a row
                // with infinite numbers has no finite length.
                let finite = |value: f32| value.clamp(f32::MIN, f32::MAX);
                for (out, &scale) in out.iter_mut().zip(scale) {
                    *out = finite(finite(*out) * scale);
                }
            }
            let norm = if unit { squared_norm(out).sqrt() } else { 0.0 };
            if norm > 0.0 {
                let scale = 1.0 / norm;
                out.iter_mut().for_each(|value| *value = (f64::from(*value) * scale) as f32);
            }
        }
    }
}

/// Returns the squared length of a row, in double precision so that no finite row overflows. It is
/// computed in eight partial sums so that it is vectorised with the same result everywhere.
#[inline(always)]
pub(crate) fn squared_norm(row: &[f32]) -> f64 {
    // The square of an f32 is exact in f64, so the sum is the same with and without fusing.
    let square = |value: f32| f64::from(value) * f64::from(value);
    let mut sums = [0.0f64; 8];
    let (chunks, rest) = row.as_chunks::<8>();
    for chunk in chunks {
        sums.iter_mut().zip(chunk).for_each(|(sum, &value)| *sum += square(value));
    }
    sums.iter().sum::<f64>() + rest.iter().map(|&value| square(value)).sum::<f64>()
}

dispatched! {
    /// Writes `W^T x` to `out`, for `W` with a row of `out.len()` weights per number of `x`.
    /// Intended for learners that process one row at a time: `W` is read in place, whereas
    /// [`Panels`](super::Panels) would repack it.
    ["avx2" if Avx2]
    fn project_row(weights: &[f32], x: &[f32], out: &mut [f32]) {
        out.fill(0.0);
        for (weights, &value) in weights.chunks_exact(out.len()).zip(x) {
            // Many features are exactly zero: pixels, rectified units.
            if value != 0.0 {
                out.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += value * weight);
            }
        }
    }
}

dispatched! {
    /// Computes `W += x a^T`.
    ["avx2" if Avx2]
    fn add_outer(weights: &mut [f32], x: &[f32], a: &[f32]) {
        for (weights, &value) in weights.chunks_exact_mut(a.len()).zip(x) {
            if value != 0.0 {
                weights.iter_mut().zip(a).for_each(|(weight, a)| *weight += value * a);
            }
        }
    }
}

dispatched! {
    /// Writes the inner products of rows with `x` to `out`.
    ["avx2" if Avx2]
    fn row_products(rows: &[f32], x: &[f32], out: &mut [f32]) {
        let (chunks, tail) = x.as_chunks::<16>();
        for (row, out) in rows.chunks_exact(x.len()).zip(out) {
            let (row_chunks, row_tail) = row.as_chunks::<16>();
            let mut sums = [0.0f32; 16];
            for (left, right) in row_chunks.iter().zip(chunks) {
                for lane in 0..16 {
                    sums[lane] += left[lane] * right[lane];
                }
            }
            let rest: f32 = row_tail.iter().zip(tail).map(|(left, right)| left * right).sum();
            *out = sums.iter().sum::<f32>() + rest;
        }
    }
}
