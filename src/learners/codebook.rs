//! Codewords from a Hadamard matrix, for methods that assign a codeword to each label.

use std::collections::HashMap;

use rand::RngExt;
use rand::seq::SliceRandom;

use super::random::{Purpose, random, random_projection};
use crate::learner::Loaded;
use crate::tensors::Tensors;
use crate::{Error, Result};

/// Largest order of the matrix. Its rows are computed on demand, so the matrix is never stored.
const MAX_ORDER: usize = 1 << 16;

/// Codewords of +1 and -1 for labels, in the order in which labels appear.
///
/// The codewords are rows of a Hadamard matrix, any two of which differ in half of their positions.
/// If the matrix is wider than the codes, its rows are mapped to codes by the signs of fixed random
/// projections. Labels beyond the last row have random codewords.
#[derive(Clone, Debug)]
pub(super) struct Codebook {
    bits: usize,
    seed: u64,
    order: usize,
    /// Row of the matrix for each label, in order of appearance.
    rows: Vec<usize>,
    /// Projection of rows to codes, order x bits, if the matrix is wider than the codes.
    mapping: Option<Vec<f32>>,
    places: HashMap<u32, usize>,
    labels: Vec<u32>,
    words: Vec<Vec<f32>>,
}

impl Codebook {
    /// Fails unless the matrix can have this order; 0 selects the smallest order that fits the
    /// bits.
    pub(super) fn check(order: usize, bits: usize) -> Result<()> {
        let fits = order == 0 || (order.is_power_of_two() && (bits..=MAX_ORDER).contains(&order));
        match fits {
            true => Ok(()),
            false => {
                let expected = format!("0, or a power of two from {bits} to {MAX_ORDER}");
                Err(Error::parameter("order", expected, order))
            }
        }
    }

    /// Returns a codebook without labels. The rows of the matrix are assigned in order, or
    /// permuted.
    pub(super) fn new(order: usize, bits: usize, seed: u64, permuted: bool) -> Codebook {
        let order = if order == 0 { bits.next_power_of_two() } else { order };
        let mut rows: Vec<usize> = (0..order).collect();
        if permuted {
            rows.shuffle(&mut random(seed, Purpose::Codewords, u64::MAX));
        }
        // The seed differs from that of the learner's initial projection.
        let mapping = (order != bits).then(|| random_projection(order, bits, seed ^ u64::MAX));
        let (places, labels, words) = (HashMap::new(), Vec::new(), Vec::new());
        Codebook { bits, seed, order, rows, mapping, places, labels, words }
    }

    /// Returns the number of labels with a codeword.
    pub(super) fn len(&self) -> usize {
        self.labels.len()
    }

    /// Removes all but the first `labels` labels.
    pub(super) fn truncate(&mut self, labels: usize) {
        self.labels.truncate(labels);
        self.words.truncate(labels);
        self.places.retain(|_, place| *place < labels);
    }

    /// Returns the codeword of a row with these labels. New labels are assigned codewords. For
    /// several labels, the result is the sign of the sum; where the sum is 0, bits are drawn so
    /// that half of all bits are set.
    pub(super) fn word(&mut self, labels: &[u32]) -> Vec<f32> {
        let places: Vec<usize> = labels.iter().map(|&label| self.place(label)).collect();
        if let [place] = places[..] {
            return self.words[place].clone();
        }
        let sum = |bit: usize| places.iter().map(|&place| self.words[place][bit]).sum::<f32>();
        let mut word: Vec<f32> = (0..self.bits).map(sum).map(sign_or_zero).collect();
        let mut open: Vec<usize> = (0..self.bits).filter(|&bit| word[bit] == 0.0).collect();
        let ones = word.iter().filter(|&&bit| bit > 0.0).count();
        // The key depends only on the set of labels, so that the codeword is the same in every row.
        let mut key: Vec<u32> = labels.to_vec();
        key.sort_unstable();
        let key = key.iter().fold(1u64, |key, &label| {
            (key ^ u64::from(label)).wrapping_mul(0x0100_0000_01b3).rotate_left(17)
        });
        open.shuffle(&mut random(self.seed, Purpose::Signs, key));
        let missing = (self.bits / 2).saturating_sub(ones);
        for (at, bit) in open.into_iter().enumerate() {
            word[bit] = if at < missing { 1.0 } else { -1.0 };
        }
        word
    }

    fn place(&mut self, label: u32) -> usize {
        if let Some(&place) = self.places.get(&label) {
            return place;
        }
        let place = self.words.len();
        self.words.push(self.new_word(place));
        self.places.insert(label, place);
        self.labels.push(label);
        place
    }

    fn new_word(&self, place: usize) -> Vec<f32> {
        let Some(&row) = self.rows.get(place) else {
            let mut rng = random(self.seed, Purpose::Codewords, place as u64);
            return (0..self.bits).map(|_| if rng.random_bool(0.5) { 1.0 } else { -1.0 }).collect();
        };
        let row: Vec<f32> = (0..self.order).map(|column| hadamard(row, column)).collect();
        let Some(mapping) = &self.mapping else { return row };
        let mut word = vec![0.0; self.bits];
        for (value, weights) in row.iter().zip(mapping.chunks_exact(self.bits)) {
            word.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += value * weight);
        }
        word.iter().map(|&sum| if sum > 0.0 { 1.0 } else { -1.0 }).collect()
    }

    pub(super) fn save(&self, method: &str, state: &mut Tensors) {
        state.put(&format!("{method}.labels"), 1, &self.labels);
    }

    /// Reassigns codewords to the labels that were saved.
    pub(super) fn load(mut self, method: &str, state: &mut Tensors) -> Loaded<Codebook> {
        let labels: Vec<u32> = state.take(&format!("{method}.labels"), 1)?;
        labels.iter().for_each(|&label| {
            self.place(label);
        });
        match self.labels == labels {
            true => Ok(self),
            false => Err("a label has two codewords".to_owned()),
        }
    }
}

/// Returns an entry of the Hadamard matrix in Sylvester's construction: the parity of the bits that
/// two numbers have in common.
fn hadamard(row: usize, column: usize) -> f32 {
    if (row & column).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 }
}

fn sign_or_zero(value: f32) -> f32 {
    if value == 0.0 { 0.0 } else { value.signum() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes the matrix by its definition: H of order 2n is [[H, H], [H, -H]].
    fn doubled(order: usize) -> Vec<Vec<f32>> {
        if order == 1 {
            return vec![vec![1.0]];
        }
        let half = doubled(order / 2);
        let above = half.iter().map(|row| [row.clone(), row.clone()].concat());
        let below = half.iter().map(|row| {
            let turned = row.iter().map(|value| -value).collect();
            [row.clone(), turned].concat()
        });
        above.chain(below).collect()
    }

    #[test]
    fn codewords_are_rows_of_the_matrix() {
        let matrix = doubled(32);
        let mut codebook = Codebook::new(0, 32, 3, false);
        for label in 0..32 {
            assert_eq!(codebook.word(&[label + 100]), matrix[label as usize]);
        }
        assert_eq!(codebook.word(&[100]), matrix[0], "and stay what they are");
        let mut permuted = Codebook::new(0, 32, 3, true);
        let words: Vec<Vec<f32>> = (0..32).map(|label| permuted.word(&[label])).collect();
        assert_ne!(words, matrix);
        let mut sorted = words.clone();
        sorted.sort_by(|one, other| one.partial_cmp(other).unwrap());
        let mut expected = matrix;
        expected.sort_by(|one, other| one.partial_cmp(other).unwrap());
        assert_eq!(sorted, expected);
        let beyond = permuted.word(&[77]);
        assert!(beyond.iter().all(|bit| bit.abs() == 1.0) && permuted.len() == 33);
    }

    #[test]
    fn wider_matrices_are_mapped_to_the_bits() {
        let mut codebook = Codebook::new(256, 24, 5, false);
        let matrix = doubled(256);
        let mapping = random_projection(256, 24, 5 ^ u64::MAX);
        for label in [0, 1, 2] {
            let row = &matrix[codebook.len()];
            let expected: Vec<f32> = (0..24)
                .map(|bit| {
                    let sum: f32 = (0..256).map(|at| row[at] * mapping[at * 24 + bit]).sum();
                    if sum > 0.0 { 1.0 } else { -1.0 }
                })
                .collect();
            assert_eq!(codebook.word(&[label]), expected);
        }
    }

    #[test]
    fn several_labels_have_a_balanced_sign_of_their_sum() {
        let mut codebook = Codebook::new(0, 64, 9, false);
        let (one, two) = (codebook.word(&[4]), codebook.word(&[5]));
        let both = codebook.word(&[5, 4]);
        assert_eq!(both, codebook.word(&[4, 5]), "whatever their order");
        for bit in (0..64).filter(|&bit| one[bit] == two[bit]) {
            assert_eq!(both[bit], one[bit]);
        }
        // The first row is all ones. Half of the bits are therefore decided, all to one.
        assert_eq!(both.iter().sum::<f32>(), 0.0);
    }
}
