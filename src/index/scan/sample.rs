//! Sample of codes, which shows the bits that codes have in common.

/// Maximum number of codes in a sample.
const SAMPLE: usize = 256;

/// Sample of codes, with the number of codes that have each bit set.
pub(in crate::index) struct Sample {
    pub(in crate::index) size: usize,
    /// Number of codes with a bit set, for each bit.
    pub(in crate::index) ones: Vec<usize>,
}

impl Sample {
    pub(in crate::index) fn new(codes: &[u64], width: usize) -> Self {
        let step = (codes.len() / width).div_ceil(SAMPLE).max(1);
        let (mut size, mut ones) = (0, vec![0usize; 64 * width]);
        for code in codes.chunks_exact(width).step_by(step) {
            size += 1;
            for (word, ones) in code.iter().zip(ones.chunks_exact_mut(64)) {
                let bits = ones.iter_mut().enumerate();
                bits.for_each(|(bit, ones)| *ones += (word >> bit & 1) as usize);
            }
        }
        Sample { size, ones }
    }

    /// Returns the code whose bits are those of the majority of the sample.
    pub(in crate::index) fn centre(&self) -> Vec<u64> {
        let word = |ones: &[usize]| {
            let bits = ones.iter().enumerate();
            bits.fold(0, |word, (bit, &ones)| word | u64::from(2 * ones > self.size) << bit)
        };
        self.ones.chunks_exact(64).map(word).collect()
    }
}
