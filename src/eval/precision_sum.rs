//! Sum of precisions for mAP, which does not depend on the order of its summands.

/// Number of units that make 1. Any `f64` in `1..2` is an integer number of units.
const UNITS: u64 = 1 << (f64::MANTISSA_DIGITS - 1);

/// Number of sums that are computed in parallel. `ROUNDS` precisions are added to each sum before
/// the sums are merged, which is few enough that no sum overflows 64 bits.
const LANES: usize = 8;
const ROUNDS: usize = 1 << 11;

/// A sum of precisions, each rounded to an integer multiple of 2^-52. Sums of integers are exact,
/// so the result does not depend on the order or the grouping of the summands. Rounding changes a
/// precision, and therefore also a mean of precisions, by 2^-53 at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PrecisionSum(u128);

impl PrecisionSum {
    /// Adds a precision, a number from 0 to 1.
    pub(super) fn add(&mut self, precision: f64) {
        self.0 += u128::from(units(precision));
    }

    /// Adds the precisions of some items. Several sums are computed at once so that the loop is
    /// vectorised.
    pub(super) fn add_all<T>(&mut self, items: &[T], precision: impl Fn(&T) -> f64) {
        for block in items.chunks(LANES * ROUNDS) {
            let (rounds, rest) = block.as_chunks::<LANES>();
            let mut sums = [0u64; LANES];
            for round in rounds {
                for (sum, item) in sums.iter_mut().zip(round) {
                    *sum += units(precision(item));
                }
            }
            self.0 += sums.iter().map(|&sum| u128::from(sum)).sum::<u128>();
            rest.iter().for_each(|item| self.add(precision(item)));
        }
    }

    /// Adds another sum.
    pub(super) fn merge(&mut self, other: PrecisionSum) {
        self.0 += other.0;
    }

    /// Returns the sum, rounded once.
    pub(super) fn value(self) -> f64 {
        self.0 as f64 / UNITS as f64
    }

    /// Returns whether this can be a sum of at most `items` precisions.
    pub(super) fn is_of(self, items: u64) -> bool {
        self.0 <= u128::from(items) * u128::from(UNITS)
    }

    /// Returns the sum as two numbers, the lower one first.
    pub(super) fn words(self) -> [u64; 2] {
        [self.0 as u64, (self.0 >> 64) as u64]
    }

    /// Restores a sum from its [`words`](Self::words).
    pub(super) fn from_words([low, high]: [u64; 2]) -> PrecisionSum {
        PrecisionSum(u128::from(high) << 64 | u128::from(low))
    }
}

/// Converts a number from 0 to 1 to units, rounded. The bits of an `f64` between 1 and 2 count
/// units. So adding 1 rounds the number, and the bits of the sum are the result.
fn units(precision: f64) -> u64 {
    debug_assert!((0.0..=1.0).contains(&precision), "{precision}");
    (precision + 1.0).to_bits().wrapping_sub(1f64.to_bits())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::rngs::ChaCha8Rng;
    use rand::seq::SliceRandom;
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn sum(precisions: &[f64]) -> PrecisionSum {
        let mut sum = PrecisionSum::default();
        sum.add_all(precisions, |&precision| precision);
        sum
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

        /// Counts up to 50,000 cover sums of more than one block.
        #[test]
        fn any_order_and_any_cut_come_to_the_same(count in 0..50_000usize, seed: u64) {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let ratio = |rng: &mut ChaCha8Rng| {
                let most = 1u64 << rng.random_range(1..40);
                let rank = rng.random_range(1..=most);
                rng.random_range(1..=rank) as f64 / rank as f64
            };
            let mut precisions: Vec<f64> = (0..count).map(|_| ratio(&mut rng)).collect();
            let whole = sum(&precisions);
            let naive: f64 = precisions.iter().sum();
            prop_assert!((whole.value() - naive).abs() <= 1e-13 * count as f64, "{naive}");
            prop_assert!(whole.is_of(count as u64));
            prop_assert_eq!(PrecisionSum::from_words(whole.words()), whole);

            precisions.shuffle(&mut rng);
            let (left, right) = precisions.split_at(rng.random_range(0..=count));
            let mut parts = sum(right);
            parts.merge(sum(left));
            let mut one_by_one = PrecisionSum::default();
            precisions.iter().for_each(|&precision| one_by_one.add(precision));
            prop_assert_eq!(parts, whole);
            prop_assert_eq!(one_by_one, whole);
        }
    }

    #[test]
    fn the_largest_and_the_smallest_fit() {
        let ones = vec![1.0; 3 * LANES * ROUNDS + 5];
        assert_eq!(sum(&ones).value(), ones.len() as f64);
        assert!(sum(&ones).is_of(ones.len() as u64) && !sum(&ones).is_of(ones.len() as u64 - 1));
        assert_eq!(sum(&[]).value(), 0.0);
        let unit = 1.0 / UNITS as f64;
        assert_eq!(sum(&[unit, 0.4 * unit, 1.6 * unit]).words(), [3, 0]);
    }
}
