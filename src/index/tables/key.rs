//! Keys: the bits by which codes are looked up in a table.

/// Maximum number of words of a code: tables of longer codes would take too much space.
pub(super) const WORDS: usize = 2;

/// Key of a table: some bits of a code, in order, as a number.
pub(super) struct Key {
    pub(super) mask: [u64; WORDS],
    pub(super) bits: u32,
    /// Contribution of each byte of a code to the number, byte after byte.
    bytes: Vec<[u32; 256]>,
}

impl Key {
    /// Returns the key of the bits that are set in a mask.
    pub(super) fn new(mask: [u64; WORDS], width: usize) -> Self {
        let mut bytes = vec![[0; 256]; 8 * width];
        let mut bits = 0;
        for bit in (0..64 * width).filter(|bit| mask[bit / 64] >> (bit % 64) & 1 == 1) {
            for (value, of) in bytes[bit / 8].iter_mut().enumerate() {
                *of |= ((value >> (bit % 8) & 1) as u32) << bits;
            }
            bits += 1;
        }
        Key { mask, bits, bytes }
    }

    /// Returns the number of a code.
    pub(super) fn of(&self, code: &[u64]) -> u32 {
        let mut key = 0;
        for (word, bytes) in code.iter().zip(self.bytes.chunks_exact(8)) {
            for (byte, of) in word.to_le_bytes().into_iter().zip(bytes) {
                key |= of[usize::from(byte)];
            }
        }
        key
    }

    /// Returns true if two codes differ in fewer than `limit` of the key's bits. `differ` has the
    /// bits set in which the codes differ.
    #[inline]
    pub(super) fn is_within(&self, differ: [u64; WORDS], limit: u32) -> bool {
        let [mut low, mut high] = [differ[0] & self.mask[0], differ[1] & self.mask[1]];
        // Limits are small, so clearing single bits is faster than counting all without a popcount
        // instruction. No branch depends on the codes: half of such branches would be mispredicted.
        for _ in 1..limit {
            let of_high = if low == 0 { high.wrapping_sub(1) } else { u64::MAX };
            low &= low.wrapping_sub(1);
            high &= of_high;
        }
        limit > 0 && (low | high) == 0
    }
}

/// Divides bits into `keys` keys of at most `size` bits, such that few codes of a sample agree in
/// any key. At each step, the key in which the largest number of pairs of codes agree takes the bit
/// that separates the largest number of these pairs.
///
/// Bits of learned codes are correlated. A key of correlated bits would be the same for a tenth of
/// all codes.
pub(super) fn choose(
    sample: &[u64],
    width: usize,
    bits: usize,
    keys: usize,
    size: usize,
) -> Vec<Key> {
    let count = sample.len() / width;
    let is_set =
        |code: usize, bit: usize| (sample[code * width + bit / 64] >> (bit % 64) & 1) as usize;
    // For each key, a number for each code. Codes that agree in the key so far have the same
    // number.
    let mut same = vec![vec![0u32; count]; keys];
    let mut groups = vec![1usize; keys];
    let mut pairs = vec![u64::MAX; keys];
    let mut masks = vec![[0u64; WORDS]; keys];
    let mut free: Vec<usize> = (0..bits).collect();
    let mut halves: Vec<[u32; 2]> = Vec::new();
    while !free.is_empty() {
        let set = |mask: &[u64; WORDS]| mask.iter().map(|word| word.count_ones() as usize).sum();
        let open = (0..keys).filter(|&key| size > set(&masks[key]));
        let Some(key) = open.max_by_key(|&key| (pairs[key], keys - key)) else { break };
        let mut best = (u64::MAX, 0);
        for (at, &bit) in free.iter().enumerate() {
            halves.clear();
            halves.resize(groups[key], [0; 2]);
            for (code, &group) in same[key].iter().enumerate() {
                halves[group as usize][is_set(code, bit)] += 1;
            }
            let squares = |half: &[u32; 2]| half.iter().map(|&n| u64::from(n).pow(2)).sum::<u64>();
            best = best.min((halves.iter().map(squares).sum(), at));
        }
        let bit = free.remove(best.1);
        (pairs[key], masks[key][bit / 64]) = (best.0, masks[key][bit / 64] | 1 << (bit % 64));
        let mut numbers = vec![[u32::MAX; 2]; groups[key]];
        let mut next = 0;
        for (code, group) in same[key].iter_mut().enumerate() {
            let number = &mut numbers[*group as usize][is_set(code, bit)];
            if *number == u32::MAX {
                *number = next;
                next += 1;
            }
            *group = *number;
        }
        groups[key] = next as usize;
    }
    masks.into_iter().map(|mask| Key::new(mask, width)).collect()
}
