//! Codes for benchmarks.

use hashbrook::Codes;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// Returns codes similar to those of supervised hashing: each code is the centre of its class, with
/// each bit flipped with probability 0.05. With `classes` = 0, the codes are random.
pub fn clustered(bits: usize, count: usize, classes: usize, seed: u64) -> Codes {
    let words = bits.div_ceil(64);
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let last = if bits.is_multiple_of(64) { u64::MAX } else { (1 << (bits % 64)) - 1 };
    let draw = |rng: &mut ChaCha8Rng| -> Vec<u64> {
        let mut code: Vec<u64> = (0..words).map(|_| rng.random()).collect();
        code[words - 1] &= last;
        code
    };
    let centers: Vec<Vec<u64>> = (0..classes).map(|_| draw(&mut rng)).collect();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut codes = Codes::new(bits).expect("a length there is");
    for _ in 0..count {
        if classes == 0 {
            codes.push(&draw(&mut rng)).expect("fits");
            continue;
        }
        let mut code = centers[rng.random_range(0..classes)].clone();
        // Skip directly from one flipped bit to the next.
        let mut bit = 0usize;
        loop {
            bit += (rng.random::<f64>().ln() / 0.95f64.ln()) as usize;
            if bit >= bits {
                break;
            }
            code[bit / 64] ^= 1 << (bit % 64);
            bit += 1;
        }
        codes.push(&code).expect("fits");
    }
    codes
}
