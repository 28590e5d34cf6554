//! A small built-in data set for experiments.

use std::io::Read;

use flate2::read::GzDecoder;

/// 1,797 handwritten digits of 8 x 8 pixels, with their labels.
///
/// These are the test digits of "Optical Recognition of Handwritten Digits" by E. Alpaydin and
/// C. Kaynak, UCI Machine Learning Repository, licensed under
/// [CC BY 4.0](https://creativecommons.org/licenses/by/4.0/).
#[derive(Clone, Debug, PartialEq)]
pub struct Digits {
    /// Pixels from 0 to 16, digit after digit.
    pub features: Vec<f32>,
    /// Labels of the digits, from 0 to 9.
    pub labels: Vec<u32>,
}

impl Digits {
    /// Number of pixels of a digit.
    pub const DIM: usize = 64;
}

/// Returns the built-in handwritten [`Digits`].
pub fn digits() -> Digits {
    let mut text = String::new();
    let packed: &[u8] = include_bytes!("digits.csv.gz");
    GzDecoder::new(packed).read_to_string(&mut text).expect("the embedded digits are sound");
    let mut digits = Digits { features: Vec::new(), labels: Vec::new() };
    for line in text.lines() {
        let mut numbers = line.split(',').map(|number| number.parse::<u8>().unwrap_or_default());
        digits.features.extend(numbers.by_ref().take(Digits::DIM).map(f32::from));
        digits.labels.extend(numbers.next().map(u32::from));
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_digits_are_there() {
        let digits = digits();
        assert_eq!(digits.labels.len(), 1797);
        assert_eq!(digits.features.len(), 1797 * Digits::DIM);
        assert!(digits.features.iter().all(|pixel| (0.0..=16.0).contains(pixel)));
        let counts = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180];
        for (digit, count) in (0..).zip(counts) {
            assert_eq!(digits.labels.iter().filter(|&&label| label == digit).count(), count);
        }
        // These are the values of the first line of the file.
        assert_eq!(digits.features[..8], [0.0, 0.0, 5.0, 13.0, 9.0, 1.0, 0.0, 0.0]);
        assert_eq!(digits.labels[..3], [0, 1, 2]);
    }
}
