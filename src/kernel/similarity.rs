//! Rows rounded to integers, and similarities as integers from products of such rows.

use super::gram::LARGEST;
use super::whole::LARGEST_BYTE;

/// Adding this number to a float rounds it to an integer, and leaves the integer in the lowest
/// bits. This is several times as fast as rounding numbers one by one.
const MAGIC: f32 = 12_582_912.0;

/// Returns the nearest integer, ties to even, clamped to the range of [`i16::MIN`] to [`i16::MAX`].
#[inline(always)]
pub(crate) fn nearest(value: f32) -> i16 {
    let value = value.clamp(-32768.0, 32767.0) + MAGIC;
    (value.to_bits() as i32 - MAGIC.to_bits() as i32) as i16
}

/// Rounds a row to integer multiples of a step, and returns the step: the row's largest absolute
/// value divided by 127. Numbers that are not finite count as 0. A row too small to be squared
/// becomes all zeros, with a step of 0.
#[inline(always)]
pub(crate) fn round_row(row: &[f32], out: &mut Vec<i16>) -> f32 {
    let finite = |value: f32| if value.abs() <= f32::MAX { value } else { 0.0 };
    let mut largest = [0.0f32; 16];
    let (chunks, rest) = row.as_chunks::<16>();
    for chunk in chunks {
        for (largest, &value) in largest.iter_mut().zip(chunk) {
            *largest = largest.max(finite(value).abs());
        }
    }
    let values = largest.into_iter().chain(rest.iter().map(|&value| finite(value).abs()));
    let largest = values.fold(0.0, f32::max);
    if largest < 1e-30 {
        out.extend(std::iter::repeat_n(0, row.len()));
        return 0.0;
    }
    let most = f32::from(LARGEST_BYTE);
    let scale = most / largest;
    out.extend(row.iter().map(|&value| nearest((finite(value) * scale).clamp(-most, most))));
    largest / most
}

/// Parameters that convert products of a row with anchors into similarities.
pub(crate) struct Similarities<'a> {
    /// Step of each anchor: the value that the integer 1 stands for.
    pub(crate) steps: &'a [f32],
    /// The squared length of each anchor.
    pub(crate) squared_norms: &'a [f32],
    /// Offset subtracted from each similarity, in units of 1/2048.
    pub(crate) center: &'a [i16],
    pub(crate) gamma: f32,
    /// Step of the row: the value that the integer 1 stands for.
    pub(crate) step: f32,
    /// The squared length of the row.
    pub(crate) squared_norm: f32,
}

/// Returns `2048 x 2^y` for `-30 <= y <= 0`, accurate to 3 parts in a million: a hundredth of the
/// error of the subsequent rounding.
#[inline(always)]
fn exp2_times_2048(y: f32) -> f32 {
    let shifted = y + MAGIC;
    let f = y - (shifted - MAGIC);
    // ln(2)^n / n!, for Horner's rule.
    const TERMS: [f32; 6] =
        [1.333_355_8e-3, 9.618_129e-3, 5.550_411e-2, 2.402_265e-1, std::f32::consts::LN_2, 1.0];
    let mut sum = TERMS[0];
    for term in &TERMS[1..] {
        sum = sum * f + term;
    }
    sum * f32::from_bits(shifted.to_bits().wrapping_add(127 + 11) << 23)
}

dispatched! {
    /// Writes `2048 (exp(-gamma ||x - a||^2) - center)` for each anchor to `out`, computed from
    /// products of integers and rounded. All results are within +-2047.
    ["avx512f,avx512bw,avx512vl" if Avx512Words; "avx2" if Avx2]
    fn whole_similarities(products: &[f32], given: &Similarities<'_>, out: &mut [i16]) {
        let Similarities { steps, squared_norms, center, gamma, step, squared_norm } = *given;
        let count = out.len();
        // Slices of one length, so that the bounds are checked here and not in the loop.
        let (products, steps) = (&products[..count], &steps[..count]);
        let (squared_norms, center) = (&squared_norms[..count], &center[..count]);
        // The factor is finite, so that a distance of 0 stays 0 for every gamma.
        let factor = (-gamma * std::f32::consts::LOG2_E).max(f32::MIN);
        let twice = 2.0 * step;
        for at in 0..count {
            let product = products[at] * twice * steps[at];
            let distance = (squared_norm + squared_norms[at] - product).max(0.0);
            let similarity = exp2_times_2048((distance * factor).max(-30.0));
            out[at] = nearest(similarity.min(f32::from(LARGEST))) - center[at];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similarities_are_those_of_the_exponential_function() {
        let distances: Vec<f32> = (0..4000).map(|at| at as f32 * 0.01).collect();
        let count = distances.len();
        let given = Similarities {
            steps: &vec![0.0; count],
            squared_norms: &distances,
            center: &vec![7; count],
            gamma: 0.7,
            step: 1.0,
            squared_norm: 0.0,
        };
        let mut out = vec![0; count];
        whole_similarities(&vec![1.0; count], &given, &mut out);
        for (found, distance) in out.iter().zip(&distances) {
            let expected = 2048.0 * (-0.7 * f64::from(*distance)).exp();
            let off = (f64::from(*found + 7) - expected.min(2047.0)).abs();
            assert!(off < 0.51, "{distance}: {found} for {expected}");
        }
    }

    #[test]
    fn rows_are_rounded_to_127_steps_whatever_they_hold() {
        let mut out = Vec::new();
        assert_eq!(round_row(&[0.5, -1.0, 0.25, 0.0], &mut out), 1.0 / 127.0);
        assert_eq!(out, [64, -127, 32, 0]);
        for (row, expected) in [
            (vec![0.0; 5], vec![0; 5]),
            (vec![1e-38; 3], vec![0; 3]),
            (vec![f32::NAN, 1.0, f32::INFINITY], vec![0, 127, 0]),
            (vec![f32::MAX, f32::MIN, 1.0], vec![127, -127, 0]),
        ] {
            out.clear();
            let step = round_row(&row, &mut out);
            assert!(step.is_finite());
            assert_eq!(out, expected, "{row:?}");
        }
        let long: Vec<f32> = (0..100).map(|at| (at as f32 * 0.7).sin() * 3.0).collect();
        out.clear();
        let step = round_row(&long, &mut out);
        for (value, whole) in long.iter().zip(&out) {
            assert!((value - f32::from(*whole) * step).abs() <= 0.501 * step);
        }
    }
}
