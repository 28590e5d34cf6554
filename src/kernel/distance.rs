//! Hamming distances of one code to many codes, and population counts.

dispatched! {
    /// Writes the Hamming distances of a code to many codes, all given as words, to `out`.
    [
        "avx512f,avx512bw,avx512vpopcntdq,popcnt" if Avx512WordsCountBits;
        "popcnt" if CountBits
    ]
    fn distances(query: &[u64], codes: &[u64], out: &mut [u16]) {
        // Lengths of one and two words are constants, so that the compiler vectorises over codes.
        match *query {
            [first] => {
                for (out, code) in out.iter_mut().zip(codes) {
                    *out = (code ^ first).count_ones() as u16;
                }
            }
            [first, second] => {
                for (out, code) in out.iter_mut().zip(codes.as_chunks::<2>().0) {
                    *out = ((code[0] ^ first).count_ones() + (code[1] ^ second).count_ones()) as u16;
                }
            }
            _ => {
                for (out, code) in out.iter_mut().zip(codes.chunks_exact(query.len())) {
                    *out = code.iter().zip(query).map(|(c, q)| (c ^ q).count_ones()).sum::<u32>() as u16;
                }
            }
        }
    }
}

dispatched! {
    /// Adds the number of set bits of `words` to `sum`.
    ["avx512f,avx512vpopcntdq,popcnt" if Avx512AndCountBits; "popcnt" if CountBits]
    fn count_bits(words: &[u64], sum: &mut usize) {
        *sum += words.iter().map(|word| word.count_ones() as usize).sum::<usize>();
    }
}
