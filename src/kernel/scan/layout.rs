//! How codes stand in memory for the scan.

/// How codes of a length stand in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    bits: usize,
}

/// Words to a group, per word of a code.
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

    /// How many words a code has when it stands alone.
    pub(crate) fn code_words(self) -> usize {
        self.bits.div_ceil(64)
    }

    /// How many words so many codes take, with what is left free in the last group.
    pub(crate) fn words(self, codes: usize) -> usize {
        // No division by what is not known when compiled: this is asked for every tile.
        let groups = if self.is_narrow() { codes.div_ceil(16) } else { codes.div_ceil(8) };
        groups * GROUP * self.code_words()
    }

    /// Where the word of a code stands, and by how many bits it is shifted.
    fn place(self, code: usize, word: usize) -> (usize, u32) {
        if self.is_narrow() {
            (code / 2, 32 * (code % 2) as u32)
        } else {
            let (group, lane) = (code / GROUP, code % GROUP);
            ((group * self.code_words() + word) * GROUP + lane, 0)
        }
    }

    /// A word of a code.
    pub(in crate::kernel) fn word(self, words: &[u64], code: usize, word: usize) -> u64 {
        let mask = if self.is_narrow() { u64::from(u32::MAX) } else { u64::MAX };
        let (at, shift) = self.place(code, word);
        words[at] >> shift & mask
    }

    /// Copies a code out.
    pub(crate) fn get(self, words: &[u64], code: usize, out: &mut [u64]) {
        for (word, out) in out.iter_mut().enumerate() {
            *out = self.word(words, code, word);
        }
    }

    /// Puts a code in, where zeros stand.
    pub(crate) fn put(self, words: &mut [u64], code: usize, value: &[u64]) {
        for (word, value) in value.iter().enumerate() {
            let (at, shift) = self.place(code, word);
            words[at] |= value << shift;
        }
    }
}
