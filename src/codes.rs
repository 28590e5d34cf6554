//! [`Codes`]: binary codes, packed.

use crate::{Error, Result};

/// Length of the longest supported code in bits.
pub const MAX_BITS: usize = 1024;

/// Binary codes of one length, packed 64 bits to a word, least significant bit first.
///
/// Bit `r` of a code is bit `r % 64` of its word `r / 64`; all bits beyond the last bit are zero.
/// As bytes this is the layout of `numpy.packbits(bits, axis=1, bitorder="little")`, which other
/// Hamming indexes accept as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Codes {
    bits: usize,
    words: Vec<u64>,
}

impl Codes {
    /// Creates an empty list of codes of `bits` bits each.
    ///
    /// # Errors
    /// When `bits` is not from 1 to [`MAX_BITS`].
    pub fn new(bits: usize) -> Result<Self> {
        check_bits(bits)?;
        Ok(Codes { bits, words: Vec::new() })
    }

    /// Creates `rows` codes with all bits zero, for callers that fill in the words.
    pub(crate) fn zeros(bits: usize, rows: usize) -> Self {
        Codes { bits, words: vec![0; rows * bits.div_ceil(64)] }
    }

    /// Reads packed bytes, `bits.div_ceil(8)` to a code.
    ///
    /// When `bits` is out of range, the number of bytes is not a multiple of the code size, or a
    /// code has bits set beyond its last bit.
    pub fn from_bytes(bits: usize, bytes: &[u8]) -> Result<Self> {
        let mut codes = Codes::new(bits)?;
        let width = bits.div_ceil(8);
        if !bytes.len().is_multiple_of(width) {
            let problem = "the bytes are not a whole number of codes";
            return Err(Error::PackedCodes { row: 0, bits, problem });
        }
        codes.words.reserve(bytes.len() / width * codes.words_per_code());
        for (row, code) in bytes.chunks_exact(width).enumerate() {
            if !bits.is_multiple_of(8) && code[width - 1] >> (bits % 8) != 0 {
                let problem = "it has bits set beyond the last";
                return Err(Error::PackedCodes { row, bits, problem });
            }
            for word in code.chunks(8) {
                let mut le = [0; 8];
                le[..word.len()].copy_from_slice(word);
                codes.words.push(u64::from_le_bytes(le));
            }
        }
        Ok(codes)
    }

    /// Returns the codes as packed bytes, `bits.div_ceil(8)` to a code.
    pub fn to_bytes(&self) -> Vec<u8> {
        let width = self.bits.div_ceil(8);
        let mut bytes = Vec::with_capacity(self.len() * width);
        for code in self.iter() {
            let mut left = width;
            for word in code {
                let take = left.min(8);
                bytes.extend_from_slice(&word.to_le_bytes()[..take]);
                left -= take;
            }
        }
        bytes
    }

    /// Wraps packed words, `bits.div_ceil(64)` to a code. Nothing is copied.
    ///
    /// ```
    /// use hashbrook::Codes;
    ///
    /// let codes = Codes::from_words(70, vec![5, 1, 0, 32])?;
    /// assert_eq!((codes.len(), codes.words_per_code()), (2, 2));
    /// assert!(codes.bit(0, 2) && codes.bit(1, 69));
    /// assert_eq!(codes.into_words(), [5, 1, 0, 32]);
    /// // A code of 70 bits has six in its second word, and ends with a word of its own.
    /// assert!(Codes::from_words(70, vec![5, 64]).is_err());
    /// assert!(Codes::from_words(70, vec![5, 1, 0]).is_err());
    /// # Ok::<(), hashbrook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When `bits` is out of range, the number of words is not a multiple of the code size, or a
    /// code has bits set beyond its last bit.
    pub fn from_words(bits: usize, words: Vec<u64>) -> Result<Self> {
        check_bits(bits)?;
        let width = bits.div_ceil(64);
        if !words.len().is_multiple_of(width) {
            let problem = "the words are not a whole number of codes";
            return Err(Error::PackedCodes { row: words.len() / width, bits, problem });
        }
        if let Some(row) = words.chunks_exact(width).position(|code| has_more_bits(code, bits)) {
            let problem = "it has bits set beyond the last";
            return Err(Error::PackedCodes { row, bits, problem });
        }
        Ok(Codes { bits, words })
    }

    /// Returns the words of all codes, as [`words`](Codes::words) does, but owned. Nothing is
    /// copied.
    pub fn into_words(self) -> Vec<u64> {
        self.words
    }

    /// Appends a code given as words.
    ///
    /// # Errors
    /// When the number of words is not that of a code, or bits are set beyond the code's last bit.
    pub fn push(&mut self, code: &[u64]) -> Result<()> {
        let (row, bits) = (self.len(), self.bits);
        if code.len() != self.words_per_code() {
            let problem = "it has another number of words";
            return Err(Error::PackedCodes { row, bits, problem });
        }
        if has_more_bits(code, bits) {
            let problem = "it has bits set beyond the last";
            return Err(Error::PackedCodes { row, bits, problem });
        }
        self.words.extend_from_slice(code);
        Ok(())
    }

    /// Appends all codes of another list.
    ///
    /// # Errors
    /// When the code lengths differ.
    pub fn append(&mut self, other: &Codes) -> Result<()> {
        self.expect_bits(other.bits)?;
        self.words.extend_from_slice(&other.words);
        Ok(())
    }

    /// Returns the number of codes.
    pub fn len(&self) -> usize {
        self.words.len() / self.words_per_code()
    }

    /// Returns whether there are no codes.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns the length of each code in bits.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// Returns the number of 64-bit words of a code.
    pub fn words_per_code(&self) -> usize {
        self.bits.div_ceil(64)
    }

    /// Returns all words, code after code.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Returns the words of one code.
    ///
    /// # Panics
    /// When the code does not exist.
    pub fn code(&self, row: usize) -> &[u64] {
        let width = self.words_per_code();
        &self.words[row * width..(row + 1) * width]
    }

    /// Returns one bit of one code.
    ///
    /// # Panics
    /// When the code or bit does not exist.
    pub fn bit(&self, row: usize, bit: usize) -> bool {
        assert!(bit < self.bits, "bit {bit} of a code of {} bits", self.bits);
        self.code(row)[bit / 64] >> (bit % 64) & 1 == 1
    }

    /// Iterates over the codes, each as its words.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u64]> {
        self.words.chunks_exact(self.words_per_code())
    }

    /// Returns the codes of some rows, in the order given.
    ///
    /// # Panics
    /// When a row does not exist.
    pub fn select(&self, rows: &[usize]) -> Codes {
        let words = rows.iter().flat_map(|&row| self.code(row)).copied().collect();
        Codes { bits: self.bits, words }
    }

    /// Fails unless the codes have `bits` bits.
    pub(crate) fn expect_bits(&self, bits: usize) -> Result<()> {
        if self.bits == bits {
            Ok(())
        } else {
            Err(Error::CodeLength { left: self.bits, right: bits })
        }
    }
}

/// Returns whether a code has bits set beyond its last bit.
fn has_more_bits(code: &[u64], bits: usize) -> bool {
    !bits.is_multiple_of(64) && code.last().is_some_and(|last| last >> (bits % 64) != 0)
}

/// Returns the number of bits in which two codes differ. Words beyond the shorter code are ignored.
pub fn hamming(left: &[u64], right: &[u64]) -> u32 {
    left.iter().zip(right).map(|(l, r)| (l ^ r).count_ones()).sum()
}

/// Fails unless `bits` is a supported code length.
pub(crate) fn check_bits(bits: usize) -> Result<()> {
    if (1..=MAX_BITS).contains(&bits) { Ok(()) } else { Err(Error::Bits(bits)) }
}
