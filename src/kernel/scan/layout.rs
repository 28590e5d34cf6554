//! Memory layout of codes for the scan.

/// Memory layout of codes of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    bits: usize,
}

/// Number of words that a group has for each word of a code.
pub(in crate::kernel) const GROUP: usize = 8;

impl Layout {
    pub(crate) fn new(bits: usize) -> Self {
        Layout { bits }
    }

    pub(crate) fn bits(self) -> usize {
        self.bits
    }

    pub(in crate::kernel) fn is_narrow(self) -> bool {
        self.bits <= 32
    }

    /// Returns the number of words of a single code.
    pub(crate) fn code_words(self) -> usize {
        self.bits.div_ceil(64)
    }

    /// Returns the number of words that `codes` codes take, including free space in the last group.
    pub(crate) fn words(self, codes: usize) -> usize {
        // Divides only by constants, because this is called for every tile.
        let groups = if self.is_narrow() { codes.div_ceil(16) } else { codes.div_ceil(8) };
        groups * GROUP * self.code_words()
    }

    /// Returns the index of the word in which a code's word is stored, and the number of bits by
    /// which the code's word is shifted.
    fn place(self, code: usize, word: usize) -> (usize, u32) {
        if self.is_narrow() {
            (code / 2, 32 * (code % 2) as u32)
        } else {
            let (group, lane) = (code / GROUP, code % GROUP);
            ((group * self.code_words() + word) * GROUP + lane, 0)
        }
    }

    /// Returns a word of a code.
    pub(in crate::kernel) fn word(self, words: &[u64], code: usize, word: usize) -> u64 {
        let mask = if self.is_narrow() { u64::from(u32::MAX) } else { u64::MAX };
        let (at, shift) = self.place(code, word);
        words[at] >> shift & mask
    }

    /// Copies a code to `out`.
    pub(crate) fn get(self, words: &[u64], code: usize, out: &mut [u64]) {
        for (word, out) in out.iter_mut().enumerate() {
            *out = self.word(words, code, word);
        }
    }

    /// Writes a code. Its place in `words` must be zero.
    pub(crate) fn put(self, words: &mut [u64], code: usize, value: &[u64]) {
        for (word, value) in value.iter().enumerate() {
            let (at, shift) = self.place(code, word);
            words[at] |= value << shift;
        }
    }
}
