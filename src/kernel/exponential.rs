//! Exponential function of many numbers at once, with the same result on every machine.

/// Returns `e^x` for `-80 <= x <= 80`, accurate to about the last digit.
///
/// `e^x = 2^k e^r`, with an integer `k` and `|r| <= ln(2) / 2`. Adding and subtracting 1.5 * 2^23
/// rounds to an integer, and leaves `k` in the last bits of the sum. All of this is plain
/// arithmetic that vectorises.
#[inline(always)]
fn exp(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0;
    // ln 2 in two parts, the first with so few digits that its product with k is exact.
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let k = shifted - ROUND;
    let r = (x - k * LN_2_HIGH) - k * LN_2_LOW;
    // 1/n!, for Horner's rule: the first omitted term is below 1e-8 of the sum.
    const TERMS: [f32; 8] =
        [1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0];
    let mut sum = TERMS[0];
    for term in &TERMS[1..] {
        sum = sum * r + term;
    }
    sum * f32::from_bits(shifted.to_bits().wrapping_add(127) << 23)
}

dispatched! {
    /// Replaces each number `x` by `e^x`. No number may be above 80; numbers below -80 count as
    /// -80.
    ["avx512f" if Avx512; "avx2" if Avx2]
    fn exp_in_place(values: &mut [f32]) {
        values.iter_mut().for_each(|value| *value = exp(value.max(-80.0)));
    }
}

dispatched! {
    /// Replaces each number `x` by `1 / (1 + e^-x)`. Numbers beyond +-42 count as +-42.
    ["avx512f" if Avx512; "avx2" if Avx2]
    fn sigmoid_in_place(values: &mut [f32]) {
        values.iter_mut().for_each(|value| *value = 1.0 / (1.0 + exp(-value.clamp(-42.0, 42.0))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_exponential_function() {
        for at in -8000..=8000 {
            let x = at as f32 * 0.01 + 1e-3;
            let near = |found: f32, expected: f64| (f64::from(found) / expected - 1.0).abs() < 3e-7;
            let x = x.min(80.0);
            let mut values = [x];
            exp_in_place(&mut values);
            assert!(near(values[0], f64::from(x.max(-80.0)).exp()), "{x}: {}", values[0]);
            let mut values = [x];
            sigmoid_in_place(&mut values);
            let clipped = f64::from(x.clamp(-42.0, 42.0));
            assert!(near(values[0], 1.0 / (1.0 + (-clipped).exp())), "{x}: {}", values[0]);
        }
        assert_eq!(exp(0.0), 1.0);
    }
}
