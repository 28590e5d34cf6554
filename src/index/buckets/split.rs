//! Choice of the bit by which codes are split.

/// Maximum number of codes in the sample that determines a bit.
const SAMPLE: usize = 256;

/// Number of words in a sample, of 64 codes each.
const COLUMNS: usize = SAMPLE / 64;

/// Maximum number of nearly common bits in which a code may differ from the centre.
pub(super) const EXCEPTIONS: u32 = 3;

/// Number of candidate bits: those that split the codes most evenly.
const CANDIDATES: usize = 16;

/// A sample of codes, bit by bit: each word has the same bit of 64 codes. The sample has all codes
/// if there are at most 256.
pub(super) struct Bits {
    size: u32,
    /// For each bit, the words that have this bit of all sampled codes.
    words: Vec<[u64; COLUMNS]>,
}

impl Bits {
    pub(super) fn of(codes: &[u64], width: usize) -> Self {
        let count = codes.len() / width;
        let step = count.div_ceil(SAMPLE).max(1);
        let mut words = vec![[0; COLUMNS]; 64 * width];
        let mut size = 0;
        let mut block = [0u64; 64];
        for word in 0..width {
            size = 0;
            let mut sample = codes.chunks_exact(width).step_by(step).map(|code| code[word]);
            for column in 0..COLUMNS {
                block.fill(0);
                for (place, code) in block.iter_mut().zip(sample.by_ref()) {
                    *place = code;
                    size += 1;
                }
                transpose(&mut block);
                for (words, &of_bit) in words[64 * word..].iter_mut().zip(&block) {
                    words[column] = of_bit;
                }
            }
        }
        Bits { size, words }
    }

    /// Returns a code in the centre, and a mask of bits. No code differs from the centre in more
    /// than [`EXCEPTIONS`] of these bits.
    pub(super) fn nearly_common(&self) -> (Vec<u64>, Vec<u64>) {
        let width = self.words.len() / 64;
        let [mut centre, mut nearly] = [vec![0u64; width], vec![0u64; width]];
        let ones = |words: &[u64; COLUMNS]| words.iter().map(|word| word.count_ones()).sum::<u32>();
        // Bits in which the fewest codes differ from the majority come first.
        let mut bits: Vec<(u32, usize)> = Vec::with_capacity(self.words.len());
        for (bit, words) in self.words.iter().enumerate() {
            let ones = ones(words);
            let is_set = 2 * ones > self.size;
            centre[bit / 64] |= u64::from(is_set) << (bit % 64);
            bits.push((if is_set { self.size - ones } else { ones }, bit));
        }
        bits.sort_unstable();
        // For each code, the number of added bits in which it differs: up to three, as two binary
        // digits.
        let [mut low, mut high] = [[0u64; COLUMNS]; 2];
        let all: [u64; COLUMNS] = std::array::from_fn(|column| {
            let codes = (self.size as usize).saturating_sub(64 * column).min(64);
            if codes == 64 { u64::MAX } else { (1 << codes) - 1 }
        });
        for (_, bit) in bits {
            let set = if centre[bit / 64] >> (bit % 64) & 1 == 1 { u64::MAX } else { 0 };
            let differ: [u64; COLUMNS] =
                std::array::from_fn(|column| (self.words[bit][column] ^ set) & all[column]);
            if (0..COLUMNS).any(|column| differ[column] & low[column] & high[column] != 0) {
                continue;
            }
            for column in 0..COLUMNS {
                high[column] |= low[column] & differ[column];
                low[column] ^= differ[column];
            }
            nearly[bit / 64] |= 1 << (bit % 64);
        }
        (centre, nearly)
    }

    /// Returns the bit that is most informative about all others: if codes are split by it, the
    /// bits of each half vary least. Returns `None` if all codes of the sample are the same.
    ///
    /// The bit that splits codes most evenly is not the best. If codes lie in clusters, correlated
    /// bits separate the clusters, and a bucket of one cluster has many bits in common.
    fn best(&self) -> Option<usize> {
        let all = f64::from(self.size);
        let ones = |words: &[u64; COLUMNS]| words.iter().map(|word| word.count_ones()).sum::<u32>();
        let mut varying: Vec<(u32, usize)> = Vec::with_capacity(self.words.len());
        for (bit, words) in self.words.iter().enumerate() {
            let ones = ones(words);
            if ones != 0 && ones != self.size {
                varying.push((ones, bit));
            }
        }
        let evenness = |&(ones, bit): &(u32, usize)| (ones.abs_diff(self.size - ones), bit);
        let mut candidates = varying.clone();
        if candidates.len() > CANDIDATES {
            candidates.select_nth_unstable_by_key(CANDIDATES, evenness);
            candidates.truncate(CANDIDATES);
        }
        let gain = |&(set, bit): &(u32, usize)| {
            let (own, set) = (&self.words[bit], f64::from(set));
            let clear = all - set;
            let mut gain = 0.0;
            for &(ones, other) in &varying {
                let words = &self.words[other];
                let both: u32 = own.iter().zip(words).map(|(a, b)| (a & b).count_ones()).sum();
                let (ones, both) = (f64::from(ones), f64::from(both));
                let rest = ones - both;
                // The sums of squares of the halves, minus the sum of squares of all.
                gain += both * both / set + rest * rest / clear - ones * ones / all;
            }
            gain
        };
        let gains = candidates.iter().map(|candidate| (gain(candidate), candidate.1));
        gains
            .max_by(|left, right| left.0.total_cmp(&right.0).then(right.1.cmp(&left.1)))
            .map(|(_, bit)| bit)
    }
}

/// Transposes a matrix of bits.
fn transpose(block: &mut [u64; 64]) {
    let (mut size, mut mask) = (32, u64::MAX >> 32);
    while size != 0 {
        let mut row = 0;
        while row < 64 {
            let swapped = (block[row] >> size ^ block[row + size]) & mask;
            block[row] ^= swapped << size;
            block[row + size] ^= swapped;
            row = (row + size + 1) & !size;
        }
        size /= 2;
        mask ^= mask << size;
    }
}

/// Returns the bit to split codes by; `None` if all codes are the same.
pub(super) fn bit_to_split(codes: &[u64], width: usize) -> Option<usize> {
    Bits::of(codes, width).best().or_else(|| {
        // The codes of the sample are all the same, but other codes may differ.
        let first = &codes[..width];
        codes.chunks_exact(width).find_map(|code| {
            let differ = code.iter().zip(first).map(|(one, other)| one ^ other);
            differ
                .enumerate()
                .find(|&(_, word)| word != 0)
                .map(|(at, word)| 64 * at + word.trailing_zeros() as usize)
        })
    })
}

/// Returns true if a code has a bit set.
pub(super) fn has_bit(code: &[u64], bit: usize) -> bool {
    code[bit / 64] >> (bit % 64) & 1 == 1
}

/// Moves codes that have a bit set, together with their numbers, behind the codes without the bit.
/// Returns the number of codes without the bit.
pub(super) fn part(codes: &mut [u64], numbers: &mut [u32], width: usize, bit: usize) -> usize {
    let (mut low, mut high) = (0, numbers.len());
    while low < high {
        if !has_bit(&codes[low * width..], bit) {
            low += 1;
        } else {
            high -= 1;
            numbers.swap(low, high);
            for word in 0..width {
                codes.swap(low * width + word, high * width + word);
            }
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_of_bits_is_turned_over_its_diagonal() {
        let mut state = 1u64;
        let mut block: [u64; 64] = std::array::from_fn(|_| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            state ^ state >> 29
        });
        let before = block;
        transpose(&mut block);
        for (row, word) in before.iter().enumerate() {
            for (column, turned) in block.iter().enumerate() {
                assert_eq!(word >> column & 1, turned >> row & 1, "{row} {column}");
            }
        }
    }

    #[test]
    fn what_codes_nearly_have_in_common_has_few_exceptions() {
        let mut state = 7u64;
        let mut random = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            state ^ state >> 29
        };
        for count in [1, 2, 63, 64, 65, 128, 256] {
            let codes: Vec<u64> = (0..2 * count).map(|_| random() & random() & random()).collect();
            let (centre, nearly) = Bits::of(&codes, 2).nearly_common();
            let differ = codes.chunks_exact(2).map(|code| {
                (0..2).map(|w| ((code[w] ^ centre[w]) & nearly[w]).count_ones()).sum::<u32>()
            });
            let most = differ.max().unwrap();
            assert!(most <= EXCEPTIONS, "{most}");
            // No further bit could be added.
            for bit in (0..128).filter(|bit| nearly[bit / 64] >> (bit % 64) & 1 == 0) {
                assert!(codes.chunks_exact(2).any(|code| {
                    let differs = |w: usize| ((code[w] ^ centre[w]) & nearly[w]).count_ones();
                    differs(0) + differs(1) == EXCEPTIONS
                        && has_bit(code, bit) != has_bit(&centre, bit)
                }));
            }
        }
    }

    #[test]
    fn codes_are_split_by_the_bit_that_tells_most() {
        // Bit 9 splits the codes as evenly as bits 0 to 3, which are always equal.
        let code = |at: u64| if at.is_multiple_of(2) { 0b1111 } else { 0 } | (at / 2 % 2) << 9;
        let mut codes: Vec<u64> = (0..100).map(code).collect();
        assert_eq!(bit_to_split(&codes, 1), Some(0));
        let mut numbers: Vec<u32> = (0..100).collect();
        assert_eq!(part(&mut codes, &mut numbers, 1, 0), 50);
        assert!(codes[..50].iter().all(|code| code & 1 == 0));
        assert!(codes.iter().zip(&numbers).all(|(&found, &at)| found == code(u64::from(at))));
        assert_eq!(bit_to_split(&codes[..1], 1), None);
        // The sample misses one code in a thousand.
        let mut codes = vec![0u64; 1000];
        codes[999] = 4;
        assert_eq!(bit_to_split(&codes, 1), Some(2));
    }
}
